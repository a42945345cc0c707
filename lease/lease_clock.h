// How long a lease has lasted, by clocks of two machines that do not run alike.
//
// Linux slews CLOCK_MONOTONIC and CLOCK_BOOTTIME while it corrects the wall clock, by up to 10 %; CLOCK_MONOTONIC_RAW is
// never slewed, but stands still while the machine is suspended. So whoever holds a lease counts the longer of the two
// times, and whoever waits for it to end counts the shorter; what is left between two machines is the drift of their
// oscillators, at most `drift_ppm`. A holder that stops after UsableOf(T) and a grantor that waits WaitOf(T), both counted
// from the same event or the holder's from an earlier one, never overlap: UsableOf(T) <= T <= WaitOf(T) by true time.
//
// The two times are summed up from reading to reading, for over a span that was slewed first and suspended then neither
// clock alone shows the whole of it. So a clock should be read at least about once a second; and where one of these spans
// holds a suspend (of a third of a second and more; shorter ones there are none), what may have been slewed away before it is
// added to the longer time.
//
// Pure. The functions are thread-safe, a LeaseClock is not, but any number of threads may read one that nobody advances.
#pragma once

#include <algorithm>
#include <cstdint>

#include "phi/time.h"

namespace nekton {

inline constexpr std::int64_t kDriftPpm = 10'000;      // 1 %
inline constexpr std::int64_t kDriftPpmMax = 200'000;  // clocks that are worse than 20 % are no clocks

namespace lease_clock {
// floor(time * to / from), without overflow, for times and factors that are not negative.
constexpr Duration Scaled(Duration time, std::int64_t to, std::int64_t from) {
  const Duration::rep whole = time.count() / from;
  const Duration::rep rest = time.count() % from;
  return Duration(whole * to + rest * to / from);
}
}  // namespace lease_clock

class LeaseClock {
 public:
  // What holders count, from before they asked for a lease; and what grantors and observers count, from after they granted
  // it or saw it renewed. Both since the first reading; never less at a later reading, whatever the clocks do.
  Duration Longer(const Tick& now) const {
    const Duration raw = std::max(Duration::zero(), Raw(now));
    const Duration slewed = std::clamp(Boot(now) - raw - raw / 10, Duration::zero(), raw / 10);
    return longer_ + std::max({raw, Boot(now) + slewed, Duration::zero()});
  }
  Duration Shorter(const Tick& now) const {
    return shorter_ + std::max(Duration::zero(), std::min(Boot(now), Raw(now)));
  }

  // Takes a reading, not older than the last.
  void Advance(const Tick& now) {
    if (begun_) {
      longer_ = Longer(now);
      shorter_ = Shorter(now);
    }
    begun_ = true;
    last_ = now;
  }

 private:
  Duration Boot(const Tick& now) const { return begun_ ? now.boot - last_.boot : Duration::zero(); }
  Duration Raw(const Tick& now) const { return begun_ ? now.raw - last_.raw : Duration::zero(); }

  bool begun_ = false;
  Tick last_;
  Duration longer_{};
  Duration shorter_{};
};

// So long, by its own clock, a holder may use a lease of `lease`: lease * (1 - drift) / (1 + drift), rounded down.
constexpr Duration UsableOf(Duration lease, std::int64_t drift_ppm = kDriftPpm) {
  return lease_clock::Scaled(lease, 1'000'000 - drift_ppm, 1'000'000 + drift_ppm);
}

// So long, by its own clock, a grantor waits before it gives the lease to another: lease * (1 + drift) / (1 - drift),
// rounded up.
constexpr Duration WaitOf(Duration lease, std::int64_t drift_ppm = kDriftPpm) {
  return lease_clock::Scaled(lease, 1'000'000 + drift_ppm, 1'000'000 - drift_ppm) + Duration(1);
}

}  // namespace nekton
