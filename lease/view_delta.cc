#include "lease/view_delta.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lease/view_bytes.h"
#include "swim/bytes.h"
#include "swim/message.h"

namespace nekton {
namespace {

constexpr std::size_t kChangesMax = 2 * kViewMembersMax;

absl::Status Broken(std::string_view why) {
  return absl::DataLossError(absl::StrCat("difference of views: ", absl::string_view(why.data(), why.size())));
}

std::size_t SizeOf(const ViewDelta::Change& change) {
  const std::string& name = change.member.name;
  return 1 + (change.gone ? VarintSize(name.size()) + name.size() : SizeOf(change.member));
}

// Both in order of names: what changed goes in the place of what was.
std::vector<ViewMember> Merge(std::span<const ViewMember> members, std::span<const ViewDelta::Change> changes) {
  std::vector<ViewMember> merged;
  merged.reserve(members.size() + changes.size());
  auto at = members.begin();
  for (const ViewDelta::Change& change : changes) {
    for (; at != members.end() && at->name < change.member.name; ++at) merged.push_back(*at);
    if (at != members.end() && at->name == change.member.name) ++at;
    if (!change.gone) merged.push_back(change.member);
  }
  merged.insert(merged.end(), at, members.end());
  return merged;
}

}  // namespace

absl::StatusOr<View> Apply(const View& base, const ViewDelta& delta) {
  if (base.epoch() != delta.base) return Broken(absl::StrCat("from epoch ", delta.base, ", not ", base.epoch()));
  View view;
  view.head = delta.head;
  view.ends_moves = delta.ends_moves;
  view.members = Merge(base.members, delta.changes);
  if (view.members.size() > kViewMembersMax) return Broken("too many members come of it");
  if (DigestOf(view.epoch(), view.members, view.ends_moves) != view.head.digest) {
    return Broken("the digest is not that of the members that come of it");
  }
  return view;
}

std::vector<std::byte> EncodeViewDelta(const ViewDelta& delta) {
  std::size_t size = 8 + kViewHeadSize + 1 + VarintSize(delta.changes.size());
  for (const ViewDelta::Change& change : delta.changes) size += SizeOf(change);
  std::vector<std::byte> bytes(size);
  ByteWriter writer(bytes.data());
  writer.Fixed(delta.base);
  WriteHead(writer, delta.head);
  writer.Fixed(static_cast<std::uint8_t>(delta.ends_moves ? 1 : 0));
  writer.Varint(delta.changes.size());
  for (const ViewDelta::Change& change : delta.changes) {
    writer.Fixed(static_cast<std::uint8_t>(change.gone ? 1 : 0));
    if (!change.gone) {
      WriteMember(writer, change.member);
      continue;
    }
    writer.Varint(change.member.name.size());
    writer.Text(change.member.name);
  }
  return bytes;
}

absl::StatusOr<ViewDelta> DecodeViewDelta(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  ViewDelta delta;
  delta.base = reader.Fixed<std::uint64_t>();
  delta.head = ReadHead(reader);
  const auto flags = reader.Fixed<std::uint8_t>();
  const std::uint64_t count = reader.Varint();
  if (flags > 1) return Broken("unknown flags");
  if (count > kChangesMax) return Broken(absl::StrCat(count, " changes, at most ", kChangesMax));
  delta.ends_moves = flags == 1;
  for (std::uint64_t i = 0; i < count && reader.ok(); ++i) {
    ViewDelta::Change change;
    const auto gone = reader.Fixed<std::uint8_t>();
    if (gone > 1) return Broken("an unknown change");
    change.gone = gone == 1;
    if (change.gone) {
      change.member.name = std::string(reader.Text(reader.Varint()));
    } else {
      change.member = ReadMember(reader);
    }
    if (!reader.ok()) break;
    const std::string& name = change.member.name;
    if (name.empty() || name.size() > kNameMax) return Broken("a name of 0 or too many bytes");
    if (i != 0 && name <= delta.changes.back().member.name) return Broken("names out of order");
    delta.changes.push_back(std::move(change));
  }
  if (!reader.ok()) return Broken("too short");
  if (reader.left() != 0) return Broken("more bytes than it has changes");
  return delta;
}

}  // namespace nekton
