// The configuration changed while we run: what follows from a field follows it.
#include <algorithm>
#include <utility>

#include "swim/engine_impl.h"
#include "swim/engine_mail.h"

namespace nekton {

absl::Status Engine::Impl::TakeConfig(Outbox& out, const Reconfigure& order) {
  absl::StatusOr<Config> changed = Changed(config_, order);
  if (!changed.ok()) return changed.status();
  const bool other_period = changed->period != config_.period;
  if (other_period) period_before_ = config_.period;
  config_ = *std::move(changed);
  if (other_period) {
    terms_ = EncodeTerms(config_, period_before_);
    fixed_.SetLimit(config_.period / config_.attempts);
  }
  table_.RaiseMax(config_.members_max);
  stm_.RaiseMaxRecords(config_.members_max);
  health_.SetMax(config_.local_health_max);
  isolation_.Change(config_.isolation_share, config_.isolation_after);
  if (mail_ != nullptr) mail_->SetLimits(config_.mail);
  // The detector is another, or convicts at another level.
  Detector* const next = DetectorOf(config_.detector);
  const bool other_level = config_.phi_threshold != next->threshold();
  const bool moved = detector_ != next || (other_level && next == phi_.get());
  fixed_.SetThreshold(config_.phi_threshold);
  phi_->SetThreshold(config_.phi_threshold);
  if (!moved) return absl::OkStatus();
  swapped_at_ = now_.boot;
  detector_ = next;
  rounds_.ForEachOpen([&](ProbeRound& round) {
    if (round.last_sent) return;
    round.next_attempt =
        std::min(round.end, std::max(round.next_attempt, AttemptDue(round, round.sent_at[round.attempts - 1])));
  });
  rounds_.Reschedule();
  ScheduleBeats();
  SwapWatches(out, config_.detector);
  return absl::OkStatus();
}

}  // namespace nekton
