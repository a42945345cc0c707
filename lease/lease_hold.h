// One acquisition of a named lease, as those who act under it see it: is it still ours, now?
//
// Any thread may ask, at any time, also after everything else of nekton is gone (then: no). An answer is two clock
// readings of the asker's and three loads: no lock, no wait. Who renews the lease writes the instants up to which it
// counts, by either clock and by both together; the earliest decides. A reader may see one of them before the others:
// each bounds the lease from above by itself, so that is safe.
//
// Both together, for a boot clock that was slewed down first and a machine that was suspended then: over such a span
// neither clock alone shows all of the time that passed, but boot + raw / 10 does, for no clock is slewed by more than a
// tenth. Where nothing of that happened this is too careful by a tenth of the time since the last Extend(), so that is
// to be called twice a second (lease/named_lease.h does).
//
// A yes is true at the instant of the two readings and not an instant longer: a process can be paused between its check
// and its write. No margin covers that; only a resource that compares tokens does (lease/fenced_resource.h).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

#include "lease/fencing_token.h"
#include "phi/time.h"

namespace nekton {

// The longest time that may have passed between two readings of a machine's clocks, by what they moved. LeaseClock's
// Longer() holds while a clock is read about once a second; this also where it was not, and through suspends (of a third
// of that second and more; shorter ones there are none).
constexpr Duration LongestBetween(Duration boot, Duration raw) {
  const Duration longer = std::max({Duration::zero(), boot, raw});
  const Duration tenth = std::max(Duration::zero(), raw) / 10;
  // Suspended for certain, or nobody has looked for long.
  const Duration doubt = std::max<Duration>(boot - raw - tenth, raw - std::chrono::seconds(1));
  return std::max(longer, boot + std::clamp(doubt, Duration::zero(), tenth));
}

class LeaseHold {
 public:
  explicit LeaseHold(FencingToken token) : token_(token) {}

  FencingToken token() const { return token_; }
  // The boundary itself is still inside.
  bool Held(const Tick& now) const { return Left(now) >= Duration::zero(); }
  // Until it ends; negative once it has.
  Duration Left(const Tick& now) const {
    const std::int64_t boot = boot_until_.load(std::memory_order_acquire);
    const std::int64_t raw = raw_until_.load(std::memory_order_acquire);
    const std::int64_t both = both_until_.load(std::memory_order_acquire);
    if (boot == kEnded || raw == kEnded || both == kEnded) return Duration(-1);
    return Duration(std::min(
        {boot - now.boot.time_since_epoch().count(), raw - now.raw.time_since_epoch().count(), both - Both(now)}));
  }

  // For the one who renews it.
  void Extend(const Tick& now, Duration left) {
    if (ended_) return;
    boot_until_.store((now.boot + left).time_since_epoch().count(), std::memory_order_release);
    raw_until_.store((now.raw + left).time_since_epoch().count(), std::memory_order_release);
    both_until_.store(Both(now) + left.count(), std::memory_order_release);
  }
  // For good.
  void End() {
    ended_ = true;
    boot_until_.store(kEnded, std::memory_order_release);
    raw_until_.store(kEnded, std::memory_order_release);
    both_until_.store(kEnded, std::memory_order_release);
  }

 private:
  static constexpr std::int64_t kEnded = std::numeric_limits<std::int64_t>::min();
  static std::int64_t Both(const Tick& now) {
    return now.boot.time_since_epoch().count() + now.raw.time_since_epoch().count() / 10;
  }
  const FencingToken token_;
  bool ended_ = false;  // the writer's own
  std::atomic<std::int64_t> boot_until_{kEnded};
  std::atomic<std::int64_t> raw_until_{kEnded};
  std::atomic<std::int64_t> both_until_{kEnded};
};

}  // namespace nekton
