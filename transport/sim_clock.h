// The clocks of one simulated machine: how virtual time looks from there.
//
// Virtual time is a Duration since the simulation began. A machine's boot, raw and wall clock all run at its rate; the
// raw clock stands still while the machine is suspended; the wall clock may be stepped. Integers only, so that no
// rounding can differ between compilers.
#pragma once

#include <cstdint>

#include "phi/time.h"

namespace nekton {

class SimClock {
 public:
  SimClock(Instant boot, WallTime wall) : boot_(boot), raw_(boot.time_since_epoch()), wall_(wall) {}

  Tick At(Duration now) const {
    const Duration passed = Passed(now - since_);
    return {boot_ + passed, suspended_ ? raw_ : raw_ + passed, wall_ + passed};
  }

  // The first virtual time at which the boot clock shows `boot` or more, as far as is known now. Duration::max() for
  // kNever and for what lies more than 10 years ahead.
  Duration When(Instant boot) const {
    if (boot <= boot_) return since_;
    const Duration ahead = boot - boot_;
    if (ahead > kHorizon) return Duration::max();
    if (ppm_ == 0) return since_ + ahead;
    const std::int64_t rate = kMillion + ppm_;
    const std::int64_t whole = ahead.count() / rate;
    const std::int64_t rest = ahead.count() % rate;
    return since_ + Duration(whole * kMillion + (rest * kMillion + rate - 1) / rate);
  }

  // From `now` on all clocks run ppm millionths faster (slower if negative). ppm in [-900'000, 1'000'000].
  void SetRate(Duration now, std::int64_t ppm) {
    Anchor(now);
    ppm_ = ppm;
  }
  void StepWall(Duration by) { wall_ += by; }
  void Suspend(Duration now) {
    Anchor(now);
    suspended_ = true;
  }
  void Resume(Duration now) {
    Anchor(now);
    suspended_ = false;
  }

 private:
  static constexpr std::int64_t kMillion = 1'000'000;
  static constexpr Duration kHorizon = std::chrono::hours(24 * 365 * 10);

  // floor(time * (1 + ppm / 10^6)); `time` is not negative.
  Duration Passed(Duration time) const {
    if (ppm_ == 0) return time;
    const std::int64_t whole = time.count() / kMillion;
    const std::int64_t rest = time.count() % kMillion;
    return Duration(whole * (kMillion + ppm_) + rest * (kMillion + ppm_) / kMillion);
  }

  void Anchor(Duration now) {
    const Tick tick = At(now);
    boot_ = tick.boot;
    raw_ = tick.raw;
    wall_ = tick.wall;
    since_ = now;
  }

  // What the clocks showed at `since_`.
  Duration since_{};
  Instant boot_;
  RawInstant raw_;
  WallTime wall_;
  std::int64_t ppm_ = 0;
  bool suspended_ = false;
};

}  // namespace nekton
