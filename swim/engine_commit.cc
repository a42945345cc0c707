// What the STM has committed, carried out: events, timers, dissemination; and how long a hold is.
#include <algorithm>
#include <cmath>
#include <utility>

#include "swim/engine_impl.h"

namespace nekton {

// Lifeguard, section IV-B, with the floor that tolerates a pause (stm/hold.h).
HoldTerms Engine::Impl::Terms(bool own) const {
  const std::uint32_t n = table_.alive();
  if (config_.beats()) return FixedHold(config_.fail_after - config_.suspect_after);
  HoldTerms terms;
  // Where the period was changed while we ran others may have either: then the longer hold of both.
  const auto [shorter, longer] = std::minmax(config_.period, period_before_);
  // Nobody shortens a hold below one period's worth; and who does not trust itself takes more time.
  const double periods = config_.hold_alpha * std::max(1.0, std::log10(static_cast<double>(n)));
  const Duration scaled(static_cast<Duration::rep>(periods * static_cast<double>(longer.count())));
  const Duration floor =
      config_.tolerated_pause == Duration{} ? Duration{} : config_.tolerated_pause - shorter + kHoldSlack;
  terms.min = std::max(floor, scaled);
  if (own) terms.min *= 1 + health_.score();
  terms.max = Duration(static_cast<Duration::rep>(config_.hold_beta * static_cast<double>(terms.min.count())));
  terms.confirmers = std::min(config_.confirmers, n > 2 ? n - 2 : 0);
  terms.margin = config_.hearer_margin;
  terms.refused = longer;
  return terms;
}

void Engine::Impl::Commit(Outbox& out, const Cause* own_cause) {
  for (std::size_t i = 0; i < changes_.size(); ++i) {
    const StateChange change = changes_[i];
    Committed(out, change, own_cause);
  }
  changes_.clear();
}

void Engine::Impl::Committed(Outbox& out, const StateChange& change, const Cause* own_cause) {
  const PeerId row = change.peer;
  const MemberStatus before = table_[row].status;
  Cause cause = own_cause != nullptr ? *own_cause : Cause{};
  cause.transition = change.transition;
  cause.lasted = change.lasted;
  if (own_cause == nullptr && out.wants_events()) cause.observers = AccuserNames(row);
  EventKind kind = EventKind::kRecovered;
  questions_.Forget(row);
  switch (change.to) {
    case State::kActive:
      table_.SetStatus(row, MemberStatus::kActive, random_);
      row_timers_.Cancel(row);
      suspicions_.Forget(row);
      std::erase(dead_, row);
      if (change.transition == Transition::kRestarted && former_generation_ != table_[row].key.generation) {
        kind = EventKind::kRestarted;
      }
      if (config_.beats() && !beat_timers_.Get(row).has_value()) OpenLink(row);
      if (change.from == State::kInactive) Unsettle();
      if (config_.beats() && change.from == State::kInactive) RenewLink(row);
      // A suspicion that acks alone ended is told to nobody: only the member itself refutes.
      if (change.transition == Transition::kPromotionThreshold) news_.Drop(row);
      if (change.transition == Transition::kRefuted && change.from == State::kSuspect) {
        refutations_.Refuted(row, now_.boot);
      }
      if (change.from == State::kInactive && kind == EventKind::kRecovered) {
        RepairWith(out, row, /*reconnect=*/true);
        ResumeWatches(out, row);
      }
      break;
    case State::kSuspect: {
      kind = EventKind::kSuspected;
      ++counters_[own_cause != nullptr && own_cause->own ? Counter::kSuspicionsOwn : Counter::kSuspicionsHeard];
      table_.SetStatus(row, MemberStatus::kSuspect, random_);
      suspicions_.Withdraw(table_[row].id);
      if (own_cause == nullptr) ScheduleQuestion(row);
      Spread(row);
      break;
    }
    case State::kInactive:
      kind = change.transition == Transition::kReplaced ? EventKind::kReplaced : EventKind::kFailed;
      table_.SetStatus(row, MemberStatus::kInactive, random_);
      suspicions_.Withdraw(table_[row].id);
      rounds_.Forget(row);
      suspicions_.Settle(row);
      SetTombstone(row, AgeOfVerdict(row));
      SuspendWatches(row);
      if (kind == EventKind::kFailed) dead_.push_back(row);
      if (change.transition != Transition::kExpelled) Spread(row);  // of that the notice tells
      next_contact_ = std::min(next_contact_, now_.boot);           // it may have been the last seed
      break;
  }
  Emit(out, kind, row, before, std::move(cause));
}

void Engine::Impl::SetTombstone(PeerId row, Duration age) {
  row_timers_.Set(row, now_.boot + std::max(Duration{}, config_.forget_after - age));
}

// Tombstones of one death end everywhere together: a verdict that comes late here begins when the others' did.
Duration Engine::Impl::AgeOfVerdict(PeerId row) const {
  const Suspicion* suspicion = suspicions_.Find(row);
  return suspicion == nullptr || suspicion->verdict == kNever ? Duration{} : now_.boot - suspicion->verdict;
}

void Engine::Impl::NoticeAge(PeerId row, const Update& update) {
  if (!IsOld(update)) return;
  if (table_[row].status == MemberStatus::kSuspect) return suspicions_.NoteVerdict(row, now_.boot - update.age);
  const auto forget = row_timers_.Get(row);
  const Instant end = now_.boot + std::max(Duration{}, config_.forget_after - update.age);
  if (!table_.IsAlive(row) && forget.has_value() && end < *forget) row_timers_.Set(row, end);
}

void Engine::Impl::TimersOfRows(Outbox& out) {
  while (!row_timers_.empty() && row_timers_.top().when <= now_.boot) {
    const PeerId row = row_timers_.top().id;
    if (table_[row].status == MemberStatus::kSuspect) {
      QuestionTimer(out, row);
    } else {
      ForgetRow(out, row);
    }
  }
}

void Engine::Impl::ForgetRow(Outbox& out, PeerId row) {
  Emit(out, EventKind::kForgotten, row, table_[row].status, {});
  if (table_[row].status == MemberStatus::kInactive) isolation_.Forgot();
  CloseWatches(out, row, "it was forgotten");
  row_timers_.Cancel(row);
  rounds_.Forget(row);
  Unlearn(row);
  suspicions_.Forget(row);
  questions_.Forget(row);
  stm_.Forget(row);
  refutations_.Forget(row);
  companions_.Forget(row);
  CloseLink(row);
  news_.Drop(row);
  stream_only_.Forget(row);
  conflicts_.Forget(row);
  std::erase(dead_, row);
  looks_.erase(std::remove(looks_.begin(), looks_.end(), row), looks_.end());
  table_.Remove(row);
}

std::vector<std::string> Engine::Impl::AccuserNames(PeerId row) const {
  std::vector<std::string> names;
  const Suspicion* suspicion = suspicions_.Find(row);
  if (suspicion == nullptr) return names;
  for (const Accuser& accuser : suspicion->accusers) {
    const PeerId by = table_.FindId(accuser.id);
    if (by != kNoPeer) names.push_back(table_[by].who->name);
  }
  return names;
}

void Engine::Impl::Emit(Outbox& out, EventKind kind, PeerId row, MemberStatus before, Cause cause,
                        const Address& address) {
  MixFingerprint(static_cast<std::uint64_t>(kind) << 56 ^ table_[row].id);
  MixFingerprint(static_cast<std::uint64_t>(now_.boot.time_since_epoch().count()) ^ table_[row].key.incarnation);
  if (!out.wants_events()) return;
  Event event;
  event.kind = kind;
  event.at = now_.boot;
  event.member = table_.MakeInfo(row);
  event.before = before;
  event.cause = std::move(cause);
  event.address = address;
  if (kind == EventKind::kRestarted) event.generation_before = former_generation_;
  if (kind == EventKind::kIsolated || kind == EventKind::kRejoined) event.contact = isolation_.contact();
  out.Add(std::move(event));
}

}  // namespace nekton
