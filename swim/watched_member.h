// A member that we watch: how suspicious the silence since its last pulse is, and which thresholds that level has
// reached.
//
// It feeds both detectors and asks one, so that they can be swapped while it runs. It sends nothing and tells nobody:
// the engine does (swim/engine_watch.cc). Allocates nothing (its plan may, when it is made). Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "phi/detector.h"
#include "phi/phi_heartbeat.h"
#include "phi/time.h"
#include "swim/config.h"
#include "swim/watch_plan.h"

namespace nekton {

class WatchedMember {
 public:
  static constexpr Duration kIntervalMin = std::chrono::milliseconds(10);
  static constexpr Duration kIntervalMax = std::chrono::hours(1);
  static constexpr std::size_t kThresholdsMax = 8;
  static constexpr double kThresholdMax = 1000;
  static constexpr int kRenewal = 4;  // pulses are asked for again after so many intervals
  static constexpr Duration kDeadInterval = std::chrono::seconds(5);

  // `plan`: with a free seat; its thresholds are 1 to kThresholdsMax in (0, kThresholdMax]. `sequence`: its pulses have
  // higher ones. The first pulse is awaited from `now` on.
  WatchedMember(std::shared_ptr<WatchPlan> plan, DetectorKind detector, std::uint32_t sequence, Instant now);
  ~WatchedMember() { plan_->Rise(seat_); }
  WatchedMember(const WatchedMember&) = delete;
  WatchedMember& operator=(const WatchedMember&) = delete;

  const std::shared_ptr<WatchPlan>& plan() const { return plan_; }
  Duration interval() const { return plan_->interval(); }
  const std::vector<double>& thresholds() const { return plan_->thresholds(); }  // ascending
  std::size_t reached() const { return reached_; }                               // so many of them, as last settled

  // Evidence. A pulse came; `first`: of a series, so that no interval ends with it. False: it is not newer than all
  // before (in serial arithmetic: numbers may wrap), and nothing changes.
  bool Heard(std::uint32_t sequence, bool first, Instant now);
  std::uint32_t sequence() const { return sequence_; }  // the highest that was heard
  // It was declared dead: the gap up to its next pulse is no interval, and until then it is asked at most each
  // kDeadInterval.
  void GiveUp() {
    in_rhythm_ = false;
    dead_ = true;
  }
  // It is not dead after all, and may be asked as ever.
  void Resume() { dead_ = false; }
  // A new life of it: nothing is known, and its first pulse is awaited from now on.
  void Restarted(Instant now);
  // We did not run for so long: that time does not count.
  void Excuse(Duration pause);
  void Use(DetectorKind detector);

  double Level(Instant now) const { return plan_->detector(detector_).Level(seat_, opened_, now); }
  // The first instant at which one more threshold is reached: 1 ns before, it is not. kNever: all are.
  Instant NextLevel() const { return next_level_; }
  // Calls told(threshold, rose, level) for each threshold that was reached since the last call, in ascending order, or
  // is no longer, in descending order.
  template <typename Told>
  void Settle(Instant now, Told told) {
    const double level = Level(now);
    const std::size_t before = reached_;
    const std::vector<double>& all = thresholds();
    while (reached_ < all.size() && level >= all[reached_]) told(all[reached_++], true, level);
    while (reached_ > 0 && level < all[reached_ - 1]) told(all[--reached_], false, level);
    if (reached_ != before) Rearm();
  }

  // When pulses are to be asked for (again): each kRenewal intervals; each interval while a threshold is reached or the
  // next pulse is overdue by half an interval.
  Instant NextAsk() const;
  void Asked(Instant now);
  // The sequence of the last request: what a refusal of it repeats.
  std::uint32_t asked_sequence() const { return asked_sequence_; }

 private:
  void Rearm();

  const std::shared_ptr<WatchPlan> plan_;
  Instant opened_;  // the next pulse is awaited since then
  Instant asked_at_;
  Instant next_level_ = kNever;
  std::uint32_t sequence_;
  std::uint32_t asked_sequence_;
  const std::uint8_t seat_;
  std::uint8_t reached_ = 0;
  DetectorKind detector_;
  bool in_rhythm_ = false;  // the next pulse ends an interval
  bool dead_ = false;
};

}  // namespace nekton
