// What a new view cut off: a route or a lease that is used no more. Told to the application and as evidence; nothing is
// sent for it, and nobody is asked. A value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lease/object_id.h"

namespace nekton {

enum class FenceReason : std::uint8_t {
  kLeftView,       // a cached route whose home is no member any more
  kLeaseLeftView,  // a lease of ours on an object that has another home now
};
std::string_view Name(FenceReason reason);  // "left-view", "lease-left-view"

// Two kinds of epochs: stale_home_epoch is the one that had assigned the old home (a view's, or that of a lease move),
// home_epoch the view's by which the new one was worked out. They may be equal: what tells is that the home changed.
struct Fence {
  ObjectId object;
  std::string stale_home;
  std::uint64_t stale_home_epoch = 0;
  std::string home;  // empty: nobody is
  std::uint64_t home_epoch = 0;
  FenceReason reason = FenceReason::kLeftView;
  friend bool operator==(const Fence&, const Fence&) = default;
};

}  // namespace nekton
