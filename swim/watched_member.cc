#include "swim/watched_member.h"

#include <algorithm>
#include <utility>

namespace nekton {
WatchedMember::WatchedMember(std::shared_ptr<WatchPlan> plan, DetectorKind detector, std::uint32_t sequence,
                             Instant now)
    : plan_(std::move(plan)),
      opened_(now),
      asked_at_(now),
      sequence_(sequence),
      asked_sequence_(sequence),
      seat_(plan_->Sit()),
      detector_(detector) {
  Rearm();
}

bool WatchedMember::Heard(std::uint32_t sequence, bool first, Instant now) {
  const auto ahead = static_cast<std::int32_t>(sequence - sequence_);
  if (ahead <= 0) return false;
  sequence_ = sequence;
  dead_ = false;
  if (in_rhythm_ && !first) plan_->Heard(seat_, opened_, now, static_cast<std::uint32_t>(ahead));
  in_rhythm_ = true;
  opened_ = now;
  Rearm();
  return true;
}

void WatchedMember::Restarted(Instant now) {
  plan_->Forget(seat_);
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
  next_level_ = reached_ < thresholds().size()
                    ? plan_->detector(detector_).ReachedAt(seat_, opened_, thresholds()[reached_])
                    : kNever;
}

Instant WatchedMember::NextAsk() const {
  if (dead_) return Later(asked_at_, std::max(interval(), kDeadInterval));
  const Instant overdue = Later(opened_, interval() + interval() / 2);
  const Instant doubted = reached_ > 0 ? asked_at_ : std::min(overdue, next_level_);
  return std::min(Later(asked_at_, kRenewal * interval()), std::max(Later(asked_at_, interval()), doubted));
}

void WatchedMember::Asked(Instant now) {
  asked_at_ = now;
  asked_sequence_ = sequence_;
}

}  // namespace nekton
