// Holds, commits and time of the StateTransitionManager.
#include <algorithm>

#include "stm/stm.h"

namespace nekton {
namespace {

Duration Longer(Duration a, Duration b) { return a > Duration::max() - b ? Duration::max() : a + b; }

}  // namespace

// ---- Holds. ----

// Observers that stand behind the hold, ourselves among them.
std::uint32_t Stm::Named(const Record& record) { return record.witnesses.counting() + (record.own ? 1 : 0); }

// One member's verdict is only its word; with another witness beside it the group has had its say.
bool Stm::Condemned(const Record& record) { return record.witnesses.verdict() && Named(record) >= 2; }

Stm::End Stm::HoldEnd(const Record& record) const {
  const HoldTerms& terms = record.terms;
  const Duration excused = Longer(record.excused, SparedTime(record));
  const std::uint32_t named = Named(record);
  const Duration length = HoldLength(terms, named > 0 ? named - 1 : 0);
  End end{Later(Later(record.start, length), record.own || record.outside ? Duration::zero() : terms.margin)};
  if (Condemned(record) && Later(record.start, terms.min) <= end.when) {
    end = {Later(record.start, terms.min), Transition::kGossip};
  }
  end.when = Later(end.when, excused);
  if (record.refused_at != kNever) {
    const Instant refused = std::max(Later(Later(record.start, terms.refused), excused), record.refused_at);
    if (refused < end.when) end = {refused, Transition::kRefused};
  }
  if (const auto spared = spared_.find(record.peer); spared != spared_.end()) {
    end.when = std::max(end.when, spared->second.until);  // whatever brought the end forward
  }
  return end;
}

// Of the time since the hold began.
Duration Stm::SparedTime(const Record& record) const {
  const auto found = spared_.find(record.peer);
  if (found == spared_.end()) return Duration::zero();
  const Instant from = std::max(found->second.from, record.start);
  return from < found->second.until ? found->second.until - from : Duration::zero();
}

bool Stm::IsSpared(Instant now, PeerId peer) const {
  const auto found = spared_.find(peer);
  return found != spared_.end() && now < found->second.until;
}

void Stm::Spare(const Tick& now, PeerId peer, Instant until) {
  last_ = std::max(last_, now.boot);
  absl::erase_if(spared_, [&](const auto& entry) {
    if (entry.second.until > now.boot) return false;
    const Record* record = Find(entry.first);
    return record == nullptr || !record->running || record->start >= entry.second.until;
  });
  Record* record = Find(peer);
  const bool running = record != nullptr && record->running;
  const auto found = spared_.find(peer);
  if (found != spared_.end() && found->second.until > now.boot) {
    found->second.until = std::max(until, now.boot);
  } else if (until > now.boot) {
    if (running) record->excused = Longer(record->excused, SparedTime(*record));
    spared_[peer] = {now.boot, until};
  }
  if (!running) return;
  Rehold(now.boot, *record);
  versions_.Changed(peer);
}

void Stm::StartHold(Instant now, Record& record, Voice by, bool refused) {
  record.running = true;
  record.own = by == Voice::kOwn;
  record.own_refused = by == Voice::kOwn && refused;
  record.outside = by == Voice::kOutside;
  record.awaits_signal = false;
  record.start = now;
  record.refused_at = kNever;
  record.excused = Duration::zero();
  Rehold(now, record);
}

// A signal has made it SUSPECT, alone or with what was said before. Whose word it is now does not depend on which came
// last: it is our own if ours alone would have done, else that of the members who spoke, else that of outsiders.
void Stm::BeginHold(const Input& in, Record& record, const Observation& said) {
  const bool refused = said.reason == Reason::kRefused;
  const bool own = !said.timestamp.has_value();
  if ((own && said.signal == Signal::kDead) || record.against >= config_.demote_threshold) {
    return StartHold(in.now.boot, record, Voice::kOwn, own && refused);
  }
  if (record.witnesses.counting() > 0 && !trails_.OutsideAgainst(record.trails)) {
    StartHold(in.now.boot, record, Voice::kOthers, false);
  } else {
    StartHold(in.now.boot, record, trails_.OutsideAgainst(record.trails) ? Voice::kOutside : Voice::kOwn, false);
  }
  record.own_refused = own && refused;
}

// One more kSuspect or kDead of our own. We stand behind what others began when it is as much as would have begun it.
void Stm::Confirm(Instant now, Record& record, const Observation& said) {
  record.against = Sum(record.against, said.weight);
  if (said.signal == Signal::kDead || record.against >= config_.demote_threshold) record.own = true;
  record.own_refused |= said.reason == Reason::kRefused;
  if (!record.own) return;
  record.awaits_signal = false;
  Rehold(now, record);
}

void Stm::StopHold(Record& record) {
  record.running = record.own = record.own_refused = record.outside = record.awaits_signal = false;
  holds_.Cancel(record.peer);
}

// Something that the end depends on has changed. Never earlier than now.
void Stm::Rehold(Instant now, Record& record) {
  if (Named(record) == 0 && !record.outside) return StopHold(record);
  const HoldTerms& terms = record.terms;
  const std::uint32_t refused = record.witnesses.refused() + (record.own && record.own_refused ? 1 : 0);
  if (terms.confirmers == 0 || terms.refused == Duration::zero() || refused <= terms.confirmers) {
    record.refused_at = kNever;
  } else if (record.refused_at == kNever) {
    record.refused_at = now;
  }
  record.end = std::max(HoldEnd(record).when, now);
  holds_.Set(record.peer, record.awaits_signal ? kNever : record.end);
}

void Stm::Paused(const Tick& now, Duration overshoot) {
  last_ = std::max(last_, now.boot);
  if (overshoot > Duration::zero()) Excuse(now.boot, now.boot - overshoot, now.boot);
}

void Stm::Deaf(const Tick& now, Instant from, Instant to) {
  last_ = std::max(last_, now.boot);
  if (from < std::min(to, now.boot)) Excuse(now.boot, from, std::min(to, now.boot));
}

void Stm::Prolong(const Tick& now, PeerId peer, Duration by) {
  last_ = std::max(last_, now.boot);
  Record* record = Find(peer);
  if (record == nullptr || !record->running || by <= Duration::zero()) return;
  // A verdict, or refused ports, are answer enough.
  if (HoldEnd(*record).why != Transition::kConfirmDeadHoldElapsed) return;
  record->excused = Longer(record->excused, by);
  Rehold(now.boot, *record);
  versions_.Changed(peer);
}

void Stm::Excuse(Instant now, Instant from, Instant to) {
  held_.clear();
  bool any = false;
  for (const Deadlines::Entry& hold : holds_.entries()) held_.push_back(hold.id);
  for (const PeerId peer : held_) {
    Record& record = *Find(peer);
    Instant begin = std::max(from, record.start);
    // What it is spared is excused already.
    const auto spared = spared_.find(peer);
    if (spared != spared_.end() && spared->second.from <= begin) begin = std::max(begin, spared->second.until);
    if (std::max(from, record.start) >= to) continue;
    any = true;
    if (begin < to) record.excused = Longer(record.excused, to - begin);
    record.awaits_signal = record.own;
    Rehold(now, record);
  }
  if (!any) return;
  ++counters_.pauses;
  versions_.AllChanged();
}

// We were due at NextDeadline(), or at once if that had passed when we last ran.
void Stm::NoticePause(const Tick& now) {
  const Instant due = std::max(NextDeadline(), last_);
  last_ = std::max(last_, now.boot);
  if (due == kNever || config_.max_local_pause == StmConfig::kForEver) return;
  if (now.boot > Later(due, config_.max_local_pause)) Excuse(now.boot, due, now.boot);
}

// ---- Commits. ----

void Stm::Emit(const Input& in, Record& record, State to, Transition transition) {
  // An ACTIVE record began with the first doubt, not with the state.
  const bool dated = record.state != State::kActive && in.now.boot > record.since;
  in.changes.push_back({.peer = in.peer,
                        .from = record.state,
                        .to = to,
                        .transition = transition,
                        .observer = in.observer,
                        .key = record.key,
                        .at = in.now.boot,
                        .lasted = dated ? in.now.boot - record.since : Duration::zero()});
  record.state = to;
  record.since = in.now.boot;
  record.transition = transition;
  record.by = in.observer;
}

void Stm::CommitSuspect(const Input& in, Record& record, Transition transition, const HoldTerms& terms) {
  Emit(in, record, State::kSuspect, transition);
  IdleOf(record).Cancel(record.peer);
  ClearCount(record);
  record.terms = terms;
  if (config_.doubt_the_doubted) Withdraw(in.now.boot, in.peer);
}

void Stm::CommitInactive(const Input& in, Record& record, Transition transition) {
  Emit(in, record, State::kInactive, transition);
  IdleOf(record).Cancel(record.peer);
  ClearCount(record);
  StopHold(record);
  if (config_.doubt_the_doubted) Withdraw(in.now.boot, in.peer);
}

void Stm::CommitActive(const Input& in, Record& record, Transition transition) {
  if (record.state == State::kSuspect && transition != Transition::kRestarted) {
    ++record.flaps;
    ++counters_.flaps;
  }
  Emit(in, record, State::kActive, transition);
  ResetCounts(record);
  StopHold(record);
  record.gone = false;
  IdleOf(record).Set(record.peer, record.expires);
}

// ---- Time. ----

void Stm::Advance(const Tick& now, std::vector<StateChange>& changes) {
  NoticePause(now);
  while (!holds_.empty() && holds_.top().when <= now.boot && holds_.top().when != kNever) {
    Record& record = *Find(holds_.top().id);
    versions_.Changed(record.peer);
    CommitInactive({now, record.peer, kNoPeer, changes}, record, HoldEnd(record).why);
  }
  for (Deadlines* idle : {&idle_, &idle_strangers_}) {
    while (!idle->empty() && idle->top().when <= now.boot) Release(*Find(idle->top().id));
  }
}

Instant Stm::NextDeadline() const {
  Instant next = kNever;
  for (const Deadlines* deadlines : {&holds_, &idle_, &idle_strangers_}) {
    if (!deadlines->empty()) next = std::min(next, deadlines->top().when);
  }
  return next;
}

}  // namespace nekton
