#include "lease/view.h"

#include <algorithm>
#include <utility>

#include <sodium.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "lease/view_bytes.h"
#include "swim/bytes.h"
#include "swim/message.h"

namespace nekton {
namespace {

std::size_t SizeOf(std::span<const ViewMember> members) {
  std::size_t size = 1 + VarintSize(members.size());
  for (const ViewMember& member : members) size += SizeOf(member);
  return size;
}

void WriteBody(ByteWriter& writer, std::span<const ViewMember> members, bool ends_moves) {
  writer.Fixed(static_cast<std::uint8_t>(ends_moves ? 1 : 0));
  writer.Varint(members.size());
  for (const ViewMember& member : members) WriteMember(writer, member);
}

// What the authority signs.
std::vector<std::byte> Statement(std::string_view label, const ViewHead& head) {
  std::vector<std::byte> bytes(VarintSize(label.size()) + label.size() + 8 + head.digest.bytes.size());
  ByteWriter writer(bytes.data());
  writer.Varint(label.size());
  writer.Text(label);
  writer.Fixed(head.epoch);
  writer.Bytes(head.digest.bytes.data(), head.digest.bytes.size());
  return bytes;
}

absl::Status Broken(std::string_view why) {
  return absl::DataLossError(absl::StrCat("view: ", absl::string_view(why.data(), why.size())));
}

constexpr std::string_view kKind = "view";

}  // namespace

std::string ToHex(const ViewDigest& digest) {
  return absl::BytesToHexString({reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size()});
}

const ViewMember* View::Find(std::string_view name) const {
  const auto at = std::lower_bound(members.begin(), members.end(), name,
                                   [](const ViewMember& member, std::string_view n) { return member.name < n; });
  return at != members.end() && at->name == name ? &*at : nullptr;
}

ViewDigest DigestOf(std::uint64_t epoch, std::span<const ViewMember> members, bool ends_moves) {
  std::vector<std::byte> bytes(8 + SizeOf(members));
  ByteWriter writer(bytes.data());
  writer.Fixed(epoch);
  WriteBody(writer, members, ends_moves);
  ViewDigest digest;
  crypto_generichash(reinterpret_cast<unsigned char*>(digest.bytes.data()), digest.bytes.size(),
                     reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), nullptr, 0);
  return digest;
}

View SignView(const SigningKey& authority, std::string_view label, std::uint64_t epoch, std::vector<ViewMember> members,
              bool ends_moves) {
  std::sort(members.begin(), members.end(), [](const ViewMember& a, const ViewMember& b) { return a.name < b.name; });
  View view;
  view.head.epoch = epoch;
  view.head.digest = DigestOf(epoch, members, ends_moves);
  view.head.signature = authority.Sign(kKind, Statement(label, view.head));
  view.members = std::move(members);
  view.ends_moves = ends_moves;
  return view;
}

bool VerifyHead(const PublicKey& authority, std::string_view label, const ViewHead& head) {
  return Verify(authority, kKind, Statement(label, head), head.signature);
}

std::vector<std::byte> EncodeView(const View& view) {
  std::vector<std::byte> bytes(kViewHeadSize + SizeOf(view.members));
  ByteWriter writer(bytes.data());
  WriteHead(writer, view.head);
  WriteBody(writer, view.members, view.ends_moves);
  return bytes;
}

absl::StatusOr<View> DecodeView(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  View view;
  view.head = ReadHead(reader);
  const auto flags = reader.Fixed<std::uint8_t>();
  if (flags > 1) return Broken("unknown flags");
  view.ends_moves = flags == 1;
  const std::uint64_t count = reader.Varint();
  if (count > kViewMembersMax) return Broken(absl::StrCat(count, " members, at most ", kViewMembersMax));
  for (std::uint64_t i = 0; i < count && reader.ok(); ++i) {
    view.members.push_back(ReadMember(reader));
    const ViewMember& member = view.members.back();
    if (!reader.ok()) break;
    if (member.name.empty() || member.name.size() > kNameMax) return Broken("a name of 0 or too many bytes");
    if (i != 0 && member.name <= view.members[i - 1].name) return Broken("names out of order");
  }
  if (!reader.ok()) return Broken("too short");
  if (reader.left() != 0) return Broken("more bytes than it has members");
  if (DigestOf(view.head.epoch, view.members, view.ends_moves) != view.head.digest)
    return Broken("the digest is not its members'");
  return view;
}

std::array<std::byte, kViewHeadSize> EncodeViewHead(const ViewHead& head) {
  std::array<std::byte, kViewHeadSize> bytes{};
  ByteWriter writer(bytes.data());
  WriteHead(writer, head);
  return bytes;
}

absl::StatusOr<ViewHead> DecodeViewHead(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  const ViewHead head = ReadHead(reader);
  if (!reader.ok()) return Broken("too short for a head");
  return head;
}

}  // namespace nekton
