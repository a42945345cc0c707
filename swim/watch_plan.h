// How members are watched: the interval, the thresholds, and the detectors that judge them. Watches that are alike share
// one, so that a watch costs little beyond its samples.
//
// Each of its members has a seat, under whose number the detectors know it; what is learned of one changes nothing for
// another. Allocates when a member sits down where nobody sat before. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "phi/detector.h"
#include "phi/fixed_deadline.h"
#include "phi/phi_heartbeat.h"
#include "phi/time.h"
#include "swim/config.h"

namespace nekton {

class WatchPlan {
 public:
  static constexpr std::size_t kSeats = 64;

  // `thresholds`: distinct ones, above 0, in any order.
  WatchPlan(Duration interval, std::vector<double> thresholds);
  WatchPlan(const WatchPlan&) = delete;
  WatchPlan& operator=(const WatchPlan&) = delete;

  Duration interval() const { return interval_; }
  const std::vector<double>& thresholds() const { return thresholds_; }  // ascending
  bool Is(Duration interval, const std::vector<double>& thresholds) const;

  // There must be a free one. Who sits down is a stranger.
  std::uint8_t Sit();
  void Rise(std::uint8_t seat) { taken_ &= ~(std::uint64_t{1} << seat); }

  const Detector& detector(DetectorKind kind) const {
    if (kind == DetectorKind::kPhi) return phi_;
    return fixed_;
  }
  // Both are fed, so that one can be asked in place of the other at any time.
  void Heard(std::uint8_t seat, Instant opened, Instant now, std::uint32_t beats) {
    fixed_.Heard(seat, opened, now, beats);
    phi_.Heard(seat, opened, now, beats);
  }
  void Forget(std::uint8_t seat) {
    fixed_.Forget(seat);
    phi_.Forget(seat);
  }

 private:
  const Duration interval_;
  std::vector<double> thresholds_;
  FixedDeadline fixed_;
  PhiHeartbeat phi_;
  std::uint64_t taken_ = 0;  // a bit for each seat
};

}  // namespace nekton
