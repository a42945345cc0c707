// What makes one view into a later one: who went, and who came or is there anew. Where most stay it is far smaller than the
// later view; and since that view's digest is signed, nothing but exactly that view can be made with it.
//
// Pure values, thread-safe as such. Bytes: lease/FORMAT.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "lease/view.h"

namespace nekton {

struct ViewDelta {
  struct Change {
    ViewMember member;  // of one that went the name alone counts
    bool gone = false;
    friend bool operator==(const Change&, const Change&) = default;
  };

  std::uint64_t base = 0;  // the epoch of the earlier view
  ViewHead head;           // of the later one
  bool ends_moves = false;
  std::vector<Change> changes;  // in ascending order of their names, each name once; at most 2 * kViewMembersMax

  friend bool operator==(const ViewDelta&, const ViewDelta&) = default;
};

// The later view. DataLoss: `base` is another view than the one that this was made from, or the members that come of it
// are not those of the head's digest, or too many. The signature is not looked at.
absl::StatusOr<View> Apply(const View& base, const ViewDelta& delta);

std::vector<std::byte> EncodeViewDelta(const ViewDelta& delta);
// DataLoss says what is wrong: too short, too long, unknown flags, a bad name, or names out of order.
absl::StatusOr<ViewDelta> DecodeViewDelta(std::span<const std::byte> bytes);

}  // namespace nekton
