// How long a peer stays SUSPECT before it is INACTIVE.
//
// Source: Lifeguard (arXiv 1707.00788), section IV-B, "local health aware suspicion": the timeout falls from max to min
// with the logarithm of the independent confirmations. That a refused port shortens it is nekton's own.
#pragma once

#include <cstdint>

#include "phi/time.h"

namespace nekton {

// Fixed when SUSPECT is committed and kept for as long as the peer is SUSPECT. No duration is negative; min <= max.
struct HoldTerms {
  Duration min{};                // the shortest hold, reached with `confirmers` confirmations
  Duration max{};                // the longest, without one
  std::uint32_t confirmers = 0;  // K_eff = min(K, N - 2); 0: nobody could confirm, the hold is always max
  Duration margin{};             // hearer_margin: so much longer for who only heard of it
  // With confirmers > 0: when the port refused confirmers + 1 named observers, the hold ends this long after it began,
  // and not before the last of them was heard of. One refusal alone shortens nothing. Zero: refusals are only told.
  Duration refused{};
};

// Of one length, whoever confirms (heartbeat mesh and pair).
constexpr HoldTerms FixedHold(Duration length) { return {.min = length, .max = length}; }

// max - (max - min) * log(c + 1) / log(confirmers + 1), to the nearest nanosecond; c beyond `confirmers` counts as
// that. The margin is not in it.
Duration HoldLength(const HoldTerms& terms, std::uint32_t confirmations);

}  // namespace nekton
