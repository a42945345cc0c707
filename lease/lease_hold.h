// What those who act under a named lease see of it: is it ours, now, and under which token?
//
// Any thread may ask, at any time, also after everything else of nekton is gone (then: no). An answer is two clock
// readings of the asker's and five loads: no lock, no wait, no loop. Who renews the lease writes the instants up to which
// it counts, by either clock and by both together; the earliest decides. A reader may see one of them before the others:
// each bounds the lease from above by itself, so that is safe; and a reader that sees another token at the end than at the
// beginning says no.
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
#include <optional>

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
  // The token under which it is held. The boundary itself is still inside.
  std::optional<FencingToken> Check(const Tick& now) const {
    const std::uint64_t token = token_.load(std::memory_order_acquire);
    const Duration left = Left(now);
    if (left < Duration::zero() || token_.load(std::memory_order_acquire) != token) return std::nullopt;
    return FencingToken{token};
  }
  // Whether this acquisition is the one that is held.
  bool Holds(FencingToken token, const Tick& now) const { return Check(now) == token; }
  // Until it ends; negative when nothing is held.
  Duration Left(const Tick& now) const {
    const std::int64_t boot = boot_until_.load(std::memory_order_acquire);
    const std::int64_t raw = raw_until_.load(std::memory_order_acquire);
    const std::int64_t both = both_until_.load(std::memory_order_acquire);
    if (boot == kEnded || raw == kEnded || both == kEnded) return Duration(-1);
    return Duration(std::min(
        {boot - now.boot.time_since_epoch().count(), raw - now.raw.time_since_epoch().count(), both - Both(now)}));
  }

  // For the one thread that renews it. A new acquisition:
  void Begin(FencingToken token, const Tick& now, Duration left) {
    End();
    token_.store(token.value, std::memory_order_release);
    Extend(now, left);
  }
  void Extend(const Tick& now, Duration left) {
    boot_until_.store((now.boot + left).time_since_epoch().count(), std::memory_order_release);
    raw_until_.store((now.raw + left).time_since_epoch().count(), std::memory_order_release);
    both_until_.store(Both(now) + left.count(), std::memory_order_release);
  }
  void End() {
    boot_until_.store(kEnded, std::memory_order_release);
    raw_until_.store(kEnded, std::memory_order_release);
    both_until_.store(kEnded, std::memory_order_release);
  }

 private:
  static constexpr std::int64_t kEnded = std::numeric_limits<std::int64_t>::min();
  static std::int64_t Both(const Tick& now) {
    return now.boot.time_since_epoch().count() + now.raw.time_since_epoch().count() / 10;
  }
  std::atomic<std::uint64_t> token_{0};
  std::atomic<std::int64_t> boot_until_{kEnded};
  std::atomic<std::int64_t> raw_until_{kEnded};
  std::atomic<std::int64_t> both_until_{kEnded};
};

}  // namespace nekton
