#include "swim/watched_member.h"

#include <algorithm>
#include <utility>

namespace nekton {
namespace {

// What the fixed detector grants, and the level that it has then.
constexpr int kFixedIntervals = 3;
constexpr double kConvicts = 8;

// A clock sends the pulses, so they are expected to be regular; the network makes some of them late, and loses some.
PhiHeartbeat::Options Expectation(Duration interval) {
  return {.threshold = kConvicts,
          .mean = interval,
          .deviation = interval / 4,
          .deviation_min = std::max<Duration>(std::chrono::milliseconds(1), interval / 100),
          .deviation_share = 0.1,
          .loss_aware = true};
}

}  // namespace

WatchedMember::WatchedMember(Duration interval, std::vector<double> thresholds, DetectorKind detector,
                             std::uint32_t sequence, Instant now)
    : interval_(interval),
      thresholds_(std::move(thresholds)),
      detector_(detector),
      fixed_(kFixedIntervals * interval, kConvicts),
      opened_(now),
      asked_at_(now),
      sequence_(sequence),
      asked_sequence_(sequence) {
  std::sort(thresholds_.begin(), thresholds_.end());
  Restarted(now);
}

const Detector& WatchedMember::asked() const {
  if (detector_ == DetectorKind::kPhi) return *phi_;
  return fixed_;
}

bool WatchedMember::Heard(std::uint32_t sequence, bool first, Instant now) {
  const auto ahead = static_cast<std::int32_t>(sequence - sequence_);
  if (ahead <= 0) return false;
  sequence_ = sequence;
  dead_ = false;
  if (in_rhythm_ && !first) Learn(now, static_cast<std::uint32_t>(ahead));
  in_rhythm_ = true;
  opened_ = now;
  Rearm();
  return true;
}

void WatchedMember::Learn(Instant now, std::uint32_t beats) {
  fixed_.Heard(0, opened_, now, beats);
  phi_->Heard(0, opened_, now, beats);
}

void WatchedMember::Restarted(Instant now) {
  phi_.emplace(Expectation(interval_));
  phi_->Reserve(1);
  in_rhythm_ = dead_ = false;
  opened_ = now;
  Rearm();
}

void WatchedMember::Excuse(Duration pause) {
  opened_ = Later(opened_, pause);
  Rearm();
}

void WatchedMember::Use(DetectorKind detector) {
  detector_ = detector;
  Rearm();
}

void WatchedMember::Rearm() {
  next_level_ = reached_ < thresholds_.size() ? asked().ReachedAt(0, opened_, thresholds_[reached_]) : kNever;
}

Instant WatchedMember::NextAsk() const {
  if (dead_) return Later(asked_at_, std::max(interval_, kDeadInterval));
  const Instant overdue = Later(opened_, interval_ + interval_ / 2);
  const Instant doubted = reached_ > 0 ? asked_at_ : std::min(overdue, next_level_);
  return std::min(Later(asked_at_, kRenewal * interval_), std::max(Later(asked_at_, interval_), doubted));
}

void WatchedMember::Asked(Instant now) {
  asked_at_ = now;
  asked_sequence_ = sequence_;
}

}  // namespace nekton
