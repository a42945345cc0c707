// The times of a peer that is watched by its heartbeats, and the order in which they must stand.
//
// Source: heartbeat-and-stm (HB), "ordering invariant"; the pair's numbers are those of the ADR on leases.
#pragma once

#include <chrono>

#include "phi/time.h"

namespace nekton {

// All count from the last heartbeat that was heard. HB convicts beyond its 30 s, the ADR at its 6 s.
struct HeartbeatTiming {
  Duration interval{};       // between two heartbeats, on average
  Duration jitter{};         // each is sent up to this much earlier or later
  Duration suspect_after{};  // the first silence that is suspect
  Duration fail_after{};     // silence after which the peer is given up: suspect_after and the hold
};

// A live peer's next heartbeat is due before it is suspected, and it is suspected before it is given up.
constexpr bool IsOrdered(const HeartbeatTiming& t) {
  return Duration::zero() <= t.jitter && t.jitter < t.interval && t.interval + t.jitter < t.suspect_after &&
         t.suspect_after < t.fail_after;
}

inline constexpr HeartbeatTiming kMeshTiming{std::chrono::seconds(10), std::chrono::seconds(2),
                                             std::chrono::seconds(30) + Duration(1),
                                             std::chrono::seconds(120) + Duration(1)};
inline constexpr HeartbeatTiming kPairTiming{std::chrono::seconds(5), Duration::zero(), std::chrono::seconds(6),
                                             std::chrono::seconds(12)};
static_assert(IsOrdered(kMeshTiming) && IsOrdered(kPairTiming));

}  // namespace nekton
