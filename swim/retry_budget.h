// How often a member may repeat itself: so many repetitions a second, and no more than one second's at once.
//
// Backoff spreads the repetitions of one request; it does not bound those of a thousand that a dead switch holds up
// together. This does: what finds the budget spent waits for its next turn. A token bucket, kept as the instant at which
// it would be full again (GCRA, as in ITU-T I.371), so that it is exact and needs no timer.
#pragma once

#include <chrono>
#include <cstdint>

#include "phi/time.h"

namespace nekton {

class RetryBudget {
 public:
  // 0: nothing is ever repeated.
  explicit RetryBudget(std::uint32_t per_second) : per_second_(per_second) {}

  void SetRate(std::uint32_t per_second) { per_second_ = per_second; }
  // Takes one if there is one. `now` does not go back.
  bool Take(Instant now) {
    if (per_second_ == 0) return false;
    const Instant full = (full_ > now ? full_ : now) + kSecond / per_second_;
    if (full > now + kSecond) return false;
    full_ = full;
    return true;
  }

 private:
  static constexpr Duration kSecond = std::chrono::seconds(1);

  std::uint32_t per_second_;
  Instant full_{};
};

}  // namespace nekton
