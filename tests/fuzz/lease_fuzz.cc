// Any bytes as what members say to each other of views and leases: judged without harm; what is taken is written as it was
// read; and no difference makes a view but the one whose digest it bears.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "lease/fetched_view.h"
#include "lease/lease_message.h"
#include "lease/view.h"
#include "lease/view_delta.h"

namespace {

using namespace nekton;
using Bytes = std::vector<std::byte>;

void Require(bool condition) {
  if (!condition) std::abort();
}

View Base() {
  static const View base = [] {
    View view;
    view.head.epoch = 3;
    for (const char* name : {"alpha", "beta", "gamma"}) view.members.push_back({name, 1, Address::V4(10, 0, 0, 1, 1)});
    view.head.digest = DigestOf(3, view.members);
    return view;
  }();
  return base;
}

// No search finds digests: the same again with the right one.
void JudgeRight(const ViewDelta& delta) {
  View made;
  made.head = delta.head;
  made.ends_moves = delta.ends_moves;
  for (const ViewDelta::Change& change : delta.changes) {
    if (!change.gone) made.members.push_back(change.member);
  }
  if (made.members.size() > kViewMembersMax) return;
  made.head.digest = DigestOf(made.head.epoch, made.members, made.ends_moves);
  const Bytes whole = EncodeView(made);
  const absl::StatusOr<View> read = DecodeView(whole);
  Require(read.ok() && EncodeView(*read) == whole);
  ViewDelta right = delta;
  right.head = made.head;
  View nobody;
  nobody.head.epoch = delta.base;
  const absl::StatusOr<View> view = Apply(nobody, right);
  Require(view.ok() && EncodeView(*view) == whole);
}

void JudgeDelta(const Bytes& bytes) {
  const absl::StatusOr<ViewDelta> delta = DecodeViewDelta(bytes);
  if (!delta.ok()) return;
  Require(EncodeViewDelta(*delta) == bytes);
  ViewDelta on_base = *delta;
  on_base.base = Base().epoch();
  const absl::StatusOr<View> view = Apply(Base(), on_base);
  if (view.ok()) Require(DigestOf(view->epoch(), view->members, view->ends_moves) == view->head.digest);
  JudgeRight(*delta);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(size);
  if (size != 0) std::memcpy(bytes.data(), data, size);
  const absl::StatusOr<LeaseMessage> message = DecodeLeaseMessage(bytes);
  if (message.ok()) Require(Encode(*message) == bytes);
  const absl::StatusOr<View> view = DecodeView(bytes);
  if (view.ok()) Require(EncodeView(*view) == bytes);
  const absl::StatusOr<FetchedView> fetched = DecodeFetched(bytes);
  if (fetched.ok()) Require(EncodeFetched(*fetched) == bytes);
  if (size >= kViewHeadSize) Require(DecodeViewHead(bytes).ok());
  JudgeDelta(bytes);
  return 0;
}
