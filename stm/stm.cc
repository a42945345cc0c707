// The inputs of the StateTransitionManager and the columns of its transition table.
#include "stm/stm.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "stm/mistakes.h"

namespace nekton {

Stm::Stm(const StmConfig& config) : config_(config) {}

Outcome Stm::Apply(const Tick& now, const Observation& observation, LifeKey key, const HoldTerms& terms,
                   std::vector<StateChange>& changes) {
  NoticePause(now);
  return Count(observation.peer,
               Judge({now, observation.peer, observation.observer, changes}, observation, key, terms));
}

Outcome Stm::Rumour(const Tick& now, PeerId peer, LifeKey key, const Word& word, const HoldTerms& terms,
                    std::vector<StateChange>& changes) {
  NoticePause(now);
  return Count(peer, Hear({now, peer, word.observer, changes}, key, word, false, terms));
}

Outcome Stm::Verdict(const Tick& now, PeerId peer, LifeKey key, const Word& word, const HoldTerms& terms,
                     std::vector<StateChange>& changes) {
  NoticePause(now);
  return Count(peer, Hear({now, peer, word.observer, changes}, key, word, true, terms));
}

Outcome Stm::Refute(const Tick& now, PeerId peer, LifeKey key, std::vector<StateChange>& changes) {
  NoticePause(now);
  return Count(peer, Admit({now, peer, kNoPeer, changes}, key));
}

void Stm::Left(const Tick& now, PeerId peer, LifeKey key, std::vector<StateChange>& changes) {
  NoticePause(now);
  Count(peer, Depart({now, peer, kNoPeer, changes}, key, Transition::kLeft));
}

void Stm::Replaced(const Tick& now, PeerId peer, LifeKey key, std::vector<StateChange>& changes) {
  NoticePause(now);
  Count(peer, Depart({now, peer, kNoPeer, changes}, key, Transition::kReplaced));
}

void Stm::Expelled(const Tick& now, PeerId peer, LifeKey key, std::vector<StateChange>& changes) {
  NoticePause(now);
  Count(peer, Depart({now, peer, kNoPeer, changes}, key, Transition::kExpelled));
}

void Stm::Restarted(const Tick& now, PeerId peer, LifeKey key, std::vector<StateChange>& changes) {
  NoticePause(now);
  Count(peer, Restart({now, peer, kNoPeer, changes}, key));
}

void Stm::Bury(const Tick& now, PeerId peer, LifeKey key) {
  NoticePause(now);
  std::vector<StateChange> none;
  Count(peer, Entomb({now, peer, kNoPeer, none}, key));
}

// Gates 1 and 2: what needs nothing but the observation and the clock.
Outcome Stm::Gate(const Tick& now, const Observation& observation) const {
  if (observation.peer == kNoPeer || observation.observer == kNoPeer) return Outcome::kInvalid;
  if (observation.signal > Signal::kDead) return Outcome::kInvalid;
  if (observation.weight == 0) return Outcome::kZeroWeight;
  if (!observation.timestamp.has_value()) return Outcome::kApplied;
  if (*observation.timestamp > now.wall + config_.max_future_skew) return Outcome::kFuture;
  if (*observation.timestamp < now.wall - config_.max_age) return Outcome::kStale;
  return Outcome::kApplied;
}

absl::Status Stm::Check(const Tick& now, const Observation& observation) const {
  Mistakes mistakes;
  if (observation.peer == kNoPeer) mistakes.Add("peer", "none", "an observation must name the peer that it is about");
  if (observation.observer == kNoPeer) mistakes.Add("observer", "none", "an observation must name its observer");
  if (observation.signal > Signal::kDead) {
    mistakes.Add("signal", absl::StrCat(static_cast<unsigned>(observation.signal)), "no such signal");
  }
  if (observation.timestamp.has_value() && *observation.timestamp > now.wall + config_.max_future_skew) {
    mistakes.Add("timestamp", DurationText(observation.timestamp->time_since_epoch()),
                 absl::StrCat("must not be further ahead of our clock, ", DurationText(now.wall.time_since_epoch()),
                              ", than max_future_skew = ", DurationText(config_.max_future_skew)));
  }
  return mistakes.status();
}

Outcome Stm::Judge(const Input& in, const Observation& observation, LifeKey key, const HoldTerms& terms) {
  if (const Outcome outcome = Gate(in.now, observation); outcome != Outcome::kApplied) return outcome;

  // Gate 3: about an earlier life than the newest known, or one that has said goodbye.
  Record* record = Find(in.peer);
  const LifeKey newest = record != nullptr ? std::max(key, record->key) : key;
  if (observation.epoch < newest.generation) return Outcome::kOldEpoch;
  key = std::max(newest, LifeKey{observation.epoch, 0});
  if (record != nullptr && record->gone && key == record->key) return Outcome::kLeft;

  const bool outside = observation.timestamp.has_value();
  if (outside && !Counts(in.observer)) return Outcome::kZeroWeight;
  const bool healthy = observation.signal == Signal::kHealthy;
  if (healthy && record == nullptr) return Outcome::kNoEffect;
  if (record == nullptr) record = Make(in.now, in.peer, outside);
  if (record == nullptr) return Outcome::kFull;

  // Gates 4 and 5. Recorded from here on, whatever comes of it.
  const WallTime stamp = observation.timestamp.value_or(in.now.wall);
  PeerId displaced;
  bool added;
  const Outcome replay = trails_.Admit(record->trails, observation, stamp, &displaced, &added);
  if (added) Mention(in.observer);
  if (displaced != kNoPeer) {
    Unmention(displaced);
    ++counters_.observers_displaced;
  }
  if (replay != Outcome::kApplied && replay != Outcome::kSuperseded) return replay;
  if (!outside) Befriend(*record);
  Touch(in.now, *record, stamp);
  if (replay == Outcome::kSuperseded) return replay;

  Remember(*record, {.at = in.now.boot,
                     .observer = in.observer,
                     .weight = observation.weight,
                     .kind = Testimony::Kind::kSignal,
                     .signal = observation.signal,
                     .reason = observation.reason});
  const bool reborn = key.generation > record->key.generation;
  const bool newer = Raise(*record, key);
  if (!healthy) {
    Suspect(in, *record, observation, newer, terms);
  } else if (reborn && config_.revive != Revive::kJoinOnly) {
    CommitActive(in, *record, Transition::kRestarted);
    Withdraw(in.now.boot, in.peer);
  } else {
    Healthy(in, *record, observation.weight, false);
  }
  return Outcome::kApplied;
}

Outcome Stm::Hear(const Input& in, LifeKey key, const Word& word, bool verdict, const HoldTerms& terms) {
  if (in.peer == kNoPeer) return Outcome::kInvalid;
  if (config_.rumour_weight == 0 || (verdict && !config_.verdicts)) return Outcome::kZeroWeight;
  if (word.observer == in.peer || !Counts(word.observer)) return Outcome::kZeroWeight;
  Record* record = Find(in.peer);
  if (record != nullptr && record->gone && key <= record->key) return Outcome::kLeft;
  if (record != nullptr && key < record->key) return Outcome::kOutranked;
  if (record == nullptr) record = Make(in.now, in.peer, false);
  if (record == nullptr) return Outcome::kFull;

  Befriend(*record);
  const bool newer = Raise(*record, key);
  PeerId displaced;
  const bool known = record->witnesses.Has(word.observer);
  const Witnesses::News news = record->witnesses.Add(word, verdict, &displaced);
  if (news == Witnesses::News::kNone) return Outcome::kDuplicate;
  if (news == Witnesses::News::kFull) return Outcome::kFull;
  if (!known) Mention(word.observer);
  if (displaced != kNoPeer) {
    Unmention(displaced);
    ++counters_.witnesses_displaced;
  }
  Touch(in.now, *record, in.now.wall);
  Remember(*record, {.at = in.now.boot,
                     .observer = word.observer,
                     .weight = config_.rumour_weight,
                     .kind = verdict ? Testimony::Kind::kVerdict : Testimony::Kind::kRumour});
  if (verdict && config_.obey_verdicts && record->state != State::kInactive && !IsSpared(in.now.boot, in.peer)) {
    CommitInactive(in, *record, Transition::kGossip);
    return Outcome::kApplied;
  }
  if (record->witnesses.Counts(word.observer)) Rumoured(in, *record, newer, verdict, terms);
  return Outcome::kApplied;
}

Outcome Stm::Admit(const Input& in, LifeKey key) {
  if (in.peer == kNoPeer) return Outcome::kInvalid;
  Record* record = Find(in.peer);
  if (record == nullptr) return Outcome::kNoEffect;
  if (key <= record->key) return record->gone ? Outcome::kLeft : Outcome::kOutranked;
  Befriend(*record);
  Raise(*record, key);
  Touch(in.now, *record, in.now.wall);
  Remember(*record, {.at = in.now.boot, .weight = config_.promote_threshold, .kind = Testimony::Kind::kRefutation});
  Healthy(in, *record, config_.promote_threshold, true);
  return Outcome::kApplied;
}

Outcome Stm::Depart(const Input& in, LifeKey key, Transition transition) {
  if (in.peer == kNoPeer) return Outcome::kInvalid;
  Record* record = Find(in.peer);
  if (record != nullptr && key < record->key) return Outcome::kOutranked;
  if (record == nullptr) record = Make(in.now, in.peer, false);
  if (record == nullptr) return Outcome::kFull;
  Befriend(*record);
  Raise(*record, key);
  if (record->gone) return Outcome::kNoEffect;
  record->gone = true;
  Touch(in.now, *record, in.now.wall);
  if (record->state != State::kInactive) CommitInactive(in, *record, transition);
  return Outcome::kApplied;
}

Outcome Stm::Restart(const Input& in, LifeKey key) {
  if (in.peer == kNoPeer) return Outcome::kInvalid;
  Record* record = Find(in.peer);
  if (record == nullptr) {  // nothing to remember, but whoever holds a lease of the life before must hear of it
    Withdraw(in.now.boot, in.peer);
    Record fresh;
    fresh.key = key;
    Emit(in, fresh, State::kActive, Transition::kRestarted);
    return Outcome::kApplied;
  }
  if (key < record->key) return Outcome::kOutranked;
  if (record->gone && key == record->key) return Outcome::kLeft;
  Befriend(*record);
  Raise(*record, key);
  Touch(in.now, *record, in.now.wall);
  CommitActive(in, *record, Transition::kRestarted);
  Withdraw(in.now.boot, in.peer);
  return Outcome::kApplied;
}

Outcome Stm::Entomb(const Input& in, LifeKey key) {
  if (in.peer == kNoPeer) return Outcome::kInvalid;
  if (Find(in.peer) != nullptr) return Outcome::kNoEffect;
  Record* record = Make(in.now, in.peer, false);
  if (record == nullptr) return Outcome::kFull;
  record->key = key;
  record->state = State::kInactive;
  record->since = in.now.boot;
  Touch(in.now, *record, in.now.wall);
  if (config_.doubt_the_doubted) Withdraw(in.now.boot, in.peer);
  return Outcome::kApplied;
}

// ---- The columns of the transition table. ----

void Stm::Healthy(const Input& in, Record& record, std::uint32_t weight, bool refuted) {
  switch (record.state) {
    case State::kActive:
      return ResetCounts(record);
    case State::kSuspect:
      Add(record, weight, !refuted);
      if (record.count >= config_.promote_threshold) {
        return CommitActive(in, record, refuted ? Transition::kRefuted : Transition::kPromotionThreshold);
      }
      StopHold(record);
      return EndDoubt(record);
    case State::kInactive:
      if (config_.revive == Revive::kRefutation && refuted) return CommitActive(in, record, Transition::kRefuted);
      if (config_.revive != Revive::kHealthy) return;
      Add(record, weight, !refuted);
      if (record.count >= config_.recovery_threshold && in.now.boot >= Later(record.since, config_.recovery_hold)) {
        CommitActive(in, record, refuted ? Transition::kRefuted : Transition::kRecoveryWindowElapsed);
      }
      return;
  }
}

// kSuspect and kDead.
void Stm::Suspect(const Input& in, Record& record, const Observation& said, bool newer, const HoldTerms& terms) {
  const bool own = !said.timestamp.has_value();
  const bool refused = said.reason == Reason::kRefused;
  switch (record.state) {
    case State::kActive:
      Add(record, said.weight, true);
      if (own) record.against = Sum(record.against, said.weight);
      if (said.signal != Signal::kDead && !Demotes(record)) return;
      CommitSuspect(in, record, refused ? Transition::kRefused : Transition::kDemotionThreshold, terms);
      return BeginHold(in, record, said);
    case State::kSuspect:
      ClearCount(record);
      if (newer || !record.running) {
        record.against = own ? said.weight : 0;
        return StartHold(in.now.boot, record, own ? Voice::kOwn : Voice::kOutside, refused);
      }
      if (own) Confirm(in.now.boot, record, said);
      return;
    case State::kInactive:
      return ClearCount(record);
  }
}

void Stm::Rumoured(const Input& in, Record& record, bool newer, bool verdict, const HoldTerms& terms) {
  if (record.state == State::kActive) {
    if (!Demotes(record)) return;
    CommitSuspect(in, record, Transition::kGossip, terms);
    return StartHold(in.now.boot, record, Voice::kOthers, false);
  }
  ClearCount(record);
  if (record.state != State::kSuspect) return;
  if (newer || !record.running) {
    record.against = 0;
    return StartHold(in.now.boot, record, Voice::kOthers, false);
  }
  if (verdict) record.awaits_signal = false;
  Rehold(in.now.boot, record);
}

std::uint32_t Stm::Sum(std::uint32_t a, std::uint32_t b) {
  constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
  return a > kMost - b ? kMost : a + b;
}

void Stm::Add(Record& record, std::uint32_t weight, bool signalled) {
  record.count = Sum(record.count, weight);
  if (!signalled) return;
  std::uint32_t& part = trails_.Part(record.trails, record.round);
  part = Sum(part, weight);
}

bool Stm::Demotes(const Record& record) const {
  return record.count + std::uint64_t{record.witnesses.counting()} * config_.rumour_weight >= config_.demote_threshold;
}

Outcome Stm::Count(PeerId peer, Outcome outcome) {
  ++counters_.outcomes[static_cast<std::size_t>(outcome)];
  if (outcome == Outcome::kApplied || outcome == Outcome::kSuperseded || outcome == Outcome::kFull) {
    versions_.Changed(peer);
  }
  return outcome;
}

}  // namespace nekton
