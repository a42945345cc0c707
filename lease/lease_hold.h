// One acquisition of a named lease, as those who act under it see it: is it still ours, now?
//
// Any thread may ask, at any time, also after everything else of nekton is gone (then: no). An answer is two clock
// readings of the asker's and two loads: no lock, no wait. Who renews the lease writes the two instants up to which it
// counts, by either clock; the earlier one decides (lease/lease_clock.h). A reader may see one of them before the other:
// both only ever bound the lease from above, so that is safe.
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
    if (boot == kEnded || raw == kEnded) return Duration(-1);
    return Duration(std::min(boot - now.boot.time_since_epoch().count(), raw - now.raw.time_since_epoch().count()));
  }

  // For the one who renews it.
  void Extend(const Tick& now, Duration left) {
    if (ended_) return;
    boot_until_.store((now.boot + left).time_since_epoch().count(), std::memory_order_release);
    raw_until_.store((now.raw + left).time_since_epoch().count(), std::memory_order_release);
  }
  // For good.
  void End() {
    ended_ = true;
    boot_until_.store(kEnded, std::memory_order_release);
    raw_until_.store(kEnded, std::memory_order_release);
  }

 private:
  static constexpr std::int64_t kEnded = std::numeric_limits<std::int64_t>::min();
  const FencingToken token_;
  bool ended_ = false;  // the writer's own
  std::atomic<std::int64_t> boot_until_{kEnded};
  std::atomic<std::int64_t> raw_until_{kEnded};
};

}  // namespace nekton
