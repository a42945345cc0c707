#include "stm/stm.h"

#include <algorithm>
#include <limits>

namespace nekton {
namespace {

std::uint32_t Sum(std::uint32_t a, std::uint32_t b) {
  constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
  return a > kMost - b ? kMost : a + b;
}

// Without corroborators nothing can shorten a hold, and only the longest is safe.
Duration Length(const HoldTerms& terms) { return terms.confirmers == 0 ? terms.max : terms.min; }

}  // namespace

Stm::Stm(const StmConfig& config) : config_(config) {}

// ---- The inputs: gates first, the cheap ones in front; then one column of the table. ----

Outcome Stm::Apply(const Tick& now, const Observation& observation, LifeKey key, const HoldTerms& terms,
                   std::vector<StateChange>& changes) {
  return Count(Judge({now.boot, observation.peer, observation.observer, changes}, observation, key, terms));
}

Outcome Stm::Rumour(const Tick& now, PeerId peer, LifeKey key, PeerId observer, std::uint32_t confidence,
                    const HoldTerms& terms, std::vector<StateChange>& changes) {
  return Count(Hear({now.boot, peer, observer, changes}, key, confidence, false, terms));
}

Outcome Stm::Verdict(const Tick& now, PeerId peer, LifeKey key, PeerId observer, std::uint32_t confidence,
                     const HoldTerms& terms, std::vector<StateChange>& changes) {
  return Count(Hear({now.boot, peer, observer, changes}, key, confidence, true, terms));
}

Outcome Stm::Refute(const Tick& now, PeerId peer, LifeKey key, std::vector<StateChange>& changes) {
  return Count(Admit({now.boot, peer, kNoPeer, changes}, key));
}

void Stm::Left(const Tick& now, PeerId peer, LifeKey key, std::vector<StateChange>& changes) {
  Count(Depart({now.boot, peer, kNoPeer, changes}, key, Transition::kLeft));
}

void Stm::Replaced(const Tick& now, PeerId peer, LifeKey key, std::vector<StateChange>& changes) {
  Count(Depart({now.boot, peer, kNoPeer, changes}, key, Transition::kReplaced));
}

void Stm::Restarted(const Tick& now, PeerId peer, LifeKey key, std::vector<StateChange>& changes) {
  Count(Restart({now.boot, peer, kNoPeer, changes}, key));
}

void Stm::Bury(const Tick& now, PeerId peer, LifeKey key) { Count(Entomb(now.boot, peer, key)); }

Outcome Stm::Judge(const Input& in, const Observation& observation, LifeKey key, const HoldTerms& terms) {
  // Gate 1: malformed.
  if (in.peer == kNoPeer || in.observer == kNoPeer || observation.signal > Signal::kDead) return Outcome::kInvalid;
  if (observation.weight == 0) return Outcome::kZeroWeight;

  // Gate 3: about an earlier life than the newest known.
  const auto found = records_.find(in.peer);
  const bool known = found != records_.end();
  const LifeKey newest = known ? std::max(key, found->second.key) : key;
  if (observation.epoch < newest.generation) return Outcome::kOldEpoch;
  key = std::max(newest, LifeKey{observation.epoch, 0});
  if (known && found->second.gone && key == found->second.key) return Outcome::kLeft;

  const bool healthy = observation.signal == Signal::kHealthy;
  if (healthy && !known) return Outcome::kNoEffect;
  Record& record = known ? found->second : records_[in.peer];
  record.Raise(key);
  if (healthy) return Healthy(in, record, observation.weight, false);
  return Suspect(in, record, observation, terms);
}

Outcome Stm::Hear(const Input& in, LifeKey key, std::uint32_t confidence, bool verdict, const HoldTerms& terms) {
  if (in.peer == kNoPeer || confidence > 1) return Outcome::kInvalid;
  // Before the observer is looked at: one that is unknown here has no handle, and no weight either.
  if (confidence == 0) return Outcome::kZeroWeight;
  if (in.observer == kNoPeer) return Outcome::kInvalid;

  if (const auto found = records_.find(in.peer); found != records_.end()) {
    Record& record = found->second;
    if (record.gone && key <= record.key) return Outcome::kLeft;
    if (key < record.key) return Outcome::kOutranked;
    if (verdict && record.running && key == record.key) return Confirm(in, record);
  }
  if (config_.rumour_weight == 0) return Outcome::kZeroWeight;
  Record& record = records_[in.peer];
  const bool newer = record.Raise(key);
  return Rumoured(in, record, newer, terms);
}

Outcome Stm::Admit(const Input& in, LifeKey key) {
  if (in.peer == kNoPeer) return Outcome::kInvalid;
  const auto found = records_.find(in.peer);
  if (found == records_.end()) return Outcome::kNoEffect;
  Record& record = found->second;
  if (key <= record.key) return record.gone ? Outcome::kLeft : Outcome::kOutranked;
  record.Raise(key);
  return Healthy(in, record, config_.promote_threshold, true);
}

Outcome Stm::Depart(const Input& in, LifeKey key, Transition transition) {
  if (in.peer == kNoPeer) return Outcome::kInvalid;
  Record& record = records_[in.peer];
  if (key < record.key) return Outcome::kOutranked;
  record.Raise(key);
  if (record.gone) return Outcome::kNoEffect;
  record.gone = true;
  if (record.state != State::kInactive) CommitInactive(in, record, transition);
  return Outcome::kApplied;
}

Outcome Stm::Restart(const Input& in, LifeKey key) {
  if (in.peer == kNoPeer) return Outcome::kInvalid;
  Record& record = records_[in.peer];
  if (record.gone && key <= record.key) return Outcome::kLeft;
  record.key = key;
  CommitActive(in, record, Transition::kRestarted);
  return Outcome::kApplied;
}

Outcome Stm::Entomb(Instant now, PeerId peer, LifeKey key) {
  if (peer == kNoPeer) return Outcome::kInvalid;
  const auto [found, fresh] = records_.try_emplace(peer);
  if (!fresh) return Outcome::kNoEffect;
  found->second.key = key;
  found->second.state = State::kInactive;
  found->second.since = now;
  return Outcome::kApplied;
}

void Stm::Forget(PeerId peer) {
  holds_.Cancel(peer);
  records_.erase(peer);
}

// ---- The columns of the transition table. ----

Outcome Stm::Healthy(const Input& in, Record& record, std::uint32_t weight, bool refuted) {
  switch (record.state) {
    case State::kActive:
      records_.erase(in.peer);  // no demotion is pending any more
      return Outcome::kApplied;
    case State::kSuspect:
      record.promote = Sum(record.promote, weight);
      if (record.promote >= config_.promote_threshold) {
        CommitActive(in, record, refuted ? Transition::kRefuted : Transition::kPromotionThreshold);
      } else {
        StopHold(in.peer, record);
      }
      return Outcome::kApplied;
    case State::kInactive:
      if (config_.revive == Revive::kRefutation && refuted) {
        CommitActive(in, record, Transition::kRefuted);
        return Outcome::kApplied;
      }
      if (config_.revive != Revive::kHealthy) return Outcome::kNoEffect;
      record.promote = Sum(record.promote, weight);
      if (record.promote >= config_.recovery_threshold && in.now >= Later(record.since, config_.recovery_hold)) {
        CommitActive(in, record, refuted ? Transition::kRefuted : Transition::kRecoveryWindowElapsed);
      }
      return Outcome::kApplied;
  }
  return Outcome::kInvalid;
}

Outcome Stm::Suspect(const Input& in, Record& record, const Observation& observation, const HoldTerms& terms) {
  const bool promoting = record.promote > 0;
  record.promote = 0;
  switch (record.state) {
    case State::kActive:
      record.demote = Sum(record.demote, observation.weight);
      if (observation.signal == Signal::kDead || Demotes(record)) {
        const bool refused = observation.reason == Reason::kRefused;
        CommitSuspect(in, record, refused ? Transition::kRefused : Transition::kDemotionThreshold, terms, true);
      }
      return Outcome::kApplied;
    case State::kSuspect:
      if (!record.running) {
        StartHold(in, record, true);
        return Outcome::kApplied;
      }
      if (!record.awaits_signal) return Outcome::kNoEffect;
      record.awaits_signal = false;
      record.end = std::max(record.end, in.now);
      holds_.Set(in.peer, record.end);
      return Outcome::kApplied;
    case State::kInactive:
      return promoting ? Outcome::kApplied : Outcome::kNoEffect;
  }
  return Outcome::kInvalid;
}

Outcome Stm::Rumoured(const Input& in, Record& record, bool newer, const HoldTerms& terms) {
  const auto heard = record.observers.begin() + record.rumours;
  if (std::find(record.observers.begin(), heard, in.observer) != heard) return Outcome::kDuplicate;
  if (record.rumours == kMaxRumours) return Outcome::kZeroWeight;
  record.observers[record.rumours++] = in.observer;
  record.promote = 0;
  if (record.state == State::kActive && Demotes(record)) {
    CommitSuspect(in, record, Transition::kGossip, terms, false);
  } else if (record.state == State::kSuspect && (newer || !record.running)) {
    StartHold(in, record, false);
  }
  return Outcome::kApplied;
}

// Copies of the same news must change nothing, nor may their order: so a verdict does not bury at once. It takes away
// what our hold has beyond its shortest length, and everyone has had that long to refute, here too.
Outcome Stm::Confirm(const Input& in, Record& record) {
  if (record.confirmed && !record.awaits_signal) return Outcome::kDuplicate;
  if (!record.confirmed) record.end -= Length(record.terms) + record.terms.margin - record.terms.min;
  record.confirmed = true;
  record.awaits_signal = false;
  if (record.end <= in.now) {
    CommitInactive(in, record, Transition::kGossip);
  } else {
    holds_.Set(in.peer, record.end);
  }
  return Outcome::kApplied;
}

bool Stm::Demotes(const Record& record) const {
  const std::uint64_t rumoured = std::uint64_t{record.rumours} * config_.rumour_weight;
  return record.demote + rumoured >= config_.demote_threshold;
}

// A refutation or a new life makes what was said at the older key void.
bool Stm::Record::Raise(LifeKey newer) {
  if (newer <= key) return false;
  key = newer;
  rumours = 0;
  gone = false;
  return true;
}

// ---- Holds and commits. ----

void Stm::StartHold(const Input& in, Record& record, bool by_us) {
  record.running = true;
  record.by_us = by_us;
  record.confirmed = false;
  record.awaits_signal = false;
  record.end = Later(Later(in.now, Length(record.terms)), record.terms.margin);
  holds_.Set(in.peer, record.end);
}

void Stm::StopHold(PeerId peer, Record& record) {
  record.running = false;
  holds_.Cancel(peer);
}

void Stm::Emit(const Input& in, const Record& record, State to, Transition transition) {
  // An ACTIVE record began with the first doubt, not with the state.
  const bool dated = record.state != State::kActive && in.now > record.since;
  in.changes.push_back({.peer = in.peer,
                        .from = record.state,
                        .to = to,
                        .transition = transition,
                        .observer = in.observer,
                        .key = record.key,
                        .at = in.now,
                        .lasted = dated ? in.now - record.since : Duration::zero()});
}

void Stm::CommitSuspect(const Input& in, Record& record, Transition transition, const HoldTerms& terms, bool by_us) {
  Emit(in, record, State::kSuspect, transition);
  record.state = State::kSuspect;
  record.since = in.now;
  record.terms = terms;
  StartHold(in, record, by_us);
}

void Stm::CommitInactive(const Input& in, Record& record, Transition transition) {
  Emit(in, record, State::kInactive, transition);
  record.state = State::kInactive;
  record.since = in.now;
  record.promote = 0;
  StopHold(in.peer, record);
}

void Stm::CommitActive(const Input& in, const Record& record, Transition transition) {
  Emit(in, record, State::kActive, transition);
  Forget(in.peer);
}

// ---- Time. ----

void Stm::Paused(const Tick& /*now*/, Duration overshoot) {
  if (overshoot <= Duration::zero()) return;
  paused_.clear();
  for (const Deadlines::Entry& hold : holds_.entries()) paused_.push_back(hold.id);
  for (const PeerId peer : paused_) {
    Record& record = records_.find(peer)->second;
    record.end = Later(record.end, overshoot);
    record.awaits_signal = record.by_us;
    holds_.Set(peer, record.by_us ? kNever : record.end);
  }
}

void Stm::Advance(const Tick& now, std::vector<StateChange>& changes) {
  while (NextDeadline() <= now.boot && NextDeadline() != kNever) {
    const PeerId peer = holds_.top().id;
    Record& record = records_.find(peer)->second;
    CommitInactive({now.boot, peer, kNoPeer, changes}, record,
                   record.confirmed ? Transition::kGossip : Transition::kConfirmDeadHoldElapsed);
  }
}

Instant Stm::NextDeadline() const { return holds_.empty() ? kNever : holds_.top().when; }

// ---- What is known. ----

State Stm::StateOf(PeerId peer) const {
  const auto found = records_.find(peer);
  return found == records_.end() ? State::kActive : found->second.state;
}

std::optional<Stm::Hold> Stm::HoldOf(PeerId peer) const {
  const auto found = records_.find(peer);
  if (found == records_.end() || found->second.state != State::kSuspect) return std::nullopt;
  const Record& record = found->second;
  return Hold{record.since, record.running ? record.end : kNever, record.running, record.key};
}

std::size_t Stm::records() const { return records_.size(); }

std::uint64_t Stm::count(Outcome outcome) const { return counts_[static_cast<std::size_t>(outcome)]; }

Outcome Stm::Count(Outcome outcome) {
  ++counts_[static_cast<std::size_t>(outcome)];
  return outcome;
}

}  // namespace nekton
