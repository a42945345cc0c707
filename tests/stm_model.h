// The StateTransitionManager once more, slow and obvious: everything said is a line in a list, and counts, confirmations
// and the ends of holds are worked out anew whenever somebody asks for them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "stm/stm.h"
#include "tests/stm_model_peer.h"

namespace nekton {

class StmModel {
 public:
  explicit StmModel(const StmConfig& config, StmMistake mistake = StmMistake::kNone)
      : config_(config), mistake_(mistake) {}

  Outcome Apply(const Tick& now, const Observation& said, LifeKey key, const HoldTerms& terms) {
    Begin(now);
    return Done(Signalled(said, key, terms));
  }
  Outcome Rumour(const Tick& now, PeerId id, LifeKey key, const Word& word, const HoldTerms& terms) {
    Begin(now);
    return Done(Told(id, key, word, false, terms));
  }
  Outcome Verdict(const Tick& now, PeerId id, LifeKey key, const Word& word, const HoldTerms& terms) {
    Begin(now);
    return Done(Told(id, key, word, true, terms));
  }
  Outcome Refute(const Tick& now, PeerId id, LifeKey key) {
    Begin(now);
    return Done(Refuted(id, key));
  }
  void Depart(const Tick& now, PeerId id, LifeKey key, Transition why) {
    Begin(now);
    Done(Departed(id, key, why));
  }
  void Restarted(const Tick& now, PeerId id, LifeKey key) {
    Begin(now);
    Done(Restart(id, key));
  }
  void Bury(const Tick& now, PeerId id, LifeKey key) {
    Begin(now);
    Done(Buried(id, key));
  }
  void Forget(PeerId id) {
    if (id == kNoPeer) return;  // here the name of whoever is not remembered
    peers_.erase(id);
    TakeBack(id);
    for (auto& [other, peer] : peers_) {
      if (peer.by == id) peer.by = kForgottenPeer;
    }
  }

  void Paused(const Tick& now, Duration overshoot) { Deaf(now, now.boot - overshoot, now.boot); }
  void Deaf(const Tick& now, Instant from, Instant to) {
    now_ = now;  // whoever tells us of a gap has noticed it, so this is none by itself
    Gap(from, std::min(to, now.boot));
  }

  void Advance(const Tick& now) {
    Begin(now);
    for (;;) {  // the earliest of all that are due, and look again
      std::optional<std::pair<Instant, PeerId>> first;
      for (const auto& [id, peer] : peers_) {
        if (!peer.hold || peer.hold->awaits) continue;
        const std::pair due{EndOf(peer).first, id};
        const bool is_due = mistake_ == StmMistake::kLateBoundary ? due.first < now_.boot : due.first <= now_.boot;
        if (is_due && (!first || due < *first)) first = due;
      }
      if (!first) break;
      Go(first->second, State::kInactive, EndOf(peers_[first->second]).second, kNoPeer);
    }
    std::erase_if(peers_, [this](const auto& entry) { return entry.second.Idle() <= now_.boot; });
  }

  Instant NextDeadline() const {
    Instant next = kNever;
    for (const auto& [id, peer] : peers_) {
      next = std::min(next, peer.Idle());
      if (peer.hold && !peer.hold->awaits) next = std::min(next, EndOf(peer).first);
    }
    return next;
  }

  State StateOf(PeerId id) const { return Known(id) ? peers_.at(id).state : State::kActive; }

  std::optional<Stm::Hold> HoldOf(PeerId id) const {
    if (StateOf(id) != State::kSuspect) return std::nullopt;
    const Peer& peer = peers_.at(id);
    if (!peer.hold) return Stm::Hold{.since = peer.since, .key = peer.key};
    return Stm::Hold{peer.since, EndOf(peer).first, true, peer.hold->own, peer.key};
  }

  Explanation Explain(PeerId id) const {
    Explanation told;
    told.peer = id;
    if (!Known(id)) return told;
    const Peer& peer = peers_.at(id);
    told.state = peer.state;
    told.departed = peer.gone;
    told.recorded = true;
    told.key = peer.key;
    told.transition = peer.why;
    told.observer = peer.by;
    told.count = Total(peer);
    told.witnesses = peer.witnesses;
    told.flaps = peer.flaps;
    if (peer.state != State::kSuspect) return told;
    told.hold = Explanation::Hold{.running = peer.hold.has_value(), .confirmers = peer.terms.confirmers};
    if (!peer.hold) return told;
    told.hold->own = peer.hold->own;
    told.hold->outside = peer.hold->outside;
    told.hold->awaits_signal = peer.hold->awaits;
    told.hold->confirmations = peer.Confirmations();
    told.hold->refusals = peer.Marks();
    told.hold->condemned = peer.Condemned();
    return told;
  }

  std::size_t records() const { return peers_.size(); }
  const StmCounters& counters() const { return counters_; }

  std::vector<StateChange> changes;

 private:
  using Peer = StmModelPeer;

  bool Known(PeerId id) const { return peers_.count(id) > 0; }

  // --- time and room

  void Begin(const Tick& now) {
    const Instant last = std::exchange(now_, now).boot;
    if (config_.max_local_pause == StmConfig::kForEver || now.boot - last <= config_.max_local_pause) return;
    const Instant due = std::max(NextDeadline(), last);
    if (due < now.boot && now.boot - due > config_.max_local_pause) Gap(due, now.boot);
  }

  void Gap(Instant from, Instant to) {
    if (to <= from) return;
    bool any = false;
    for (auto& [id, peer] : peers_) {
      if (!peer.hold) continue;
      const Duration missed = to - std::max(from, peer.hold->start);
      if (missed <= Duration::zero() || mistake_ == StmMistake::kGapsForgotten) continue;
      any = true;
      peer.hold->gaps.push_back(missed);
      peer.hold->awaits |= peer.hold->own;
      peer.HoldChanged(now_.boot);
    }
    counters_.pauses += any ? 1 : 0;
  }

  void Touch(Peer& peer, const std::optional<WallTime>& stamp = std::nullopt) {
    if (!stamp) peer.stranger = false;
    const Duration ahead = stamp ? std::max(Duration::zero(), *stamp - now_.wall) : Duration::zero();
    // One nanosecond after the last instant at which a replay of it would not be too old.
    peer.expires = std::max(peer.expires, now_.boot + config_.max_age + ahead + Duration(1));
  }

  // A stranger displaces strangers alone; another displaces strangers first.
  bool Make(PeerId id, bool stranger) {
    const auto strangers = static_cast<std::size_t>(
        std::count_if(peers_.begin(), peers_.end(), [](const auto& entry) { return entry.second.stranger; }));
    const bool room = peers_.size() < config_.max_records && (!stranger || strangers < config_.max_records / 2);
    if (!room && !Displace(true) && (stranger || !Displace(false))) return false;
    peers_[id].stranger = stranger;
    peers_[id].born = now_.wall;
    return true;
  }

  bool Displace(bool stranger) {
    std::optional<std::pair<Instant, PeerId>> first;
    for (const auto& [id, peer] : peers_) {
      const std::pair idle{peer.Idle(), id};
      if (peer.stranger == stranger && idle.first != kNever && (!first || idle < *first)) first = idle;
    }
    if (!first) return false;
    peers_.erase(first->second);
    ++counters_.records_displaced;
    return true;
  }

  std::uint64_t Total(const Peer& peer) const { return peer.Total(config_.rumour_weight); }
  std::pair<Instant, Transition> EndOf(const Peer& peer) const { return peer.EndOfHold(mistake_); }

  // All that `observer` said of anybody is void.
  void TakeBack(PeerId observer) {
    if (mistake_ == StmMistake::kNothingTakenBack) return;
    for (auto& [id, peer] : peers_) {
      if (peer.TakeBack(now_.boot, observer)) ++counters_.taken_back;
    }
  }

  // --- the inputs

  Outcome Signalled(const Observation& said, LifeKey key, const HoldTerms& terms) {
    if (said.peer == kNoPeer || said.observer == kNoPeer || said.signal > Signal::kDead) return Outcome::kInvalid;
    if (said.weight == 0) return Outcome::kZeroWeight;
    if (said.timestamp && *said.timestamp > now_.wall + config_.max_future_skew) return Outcome::kFuture;
    if (said.timestamp && *said.timestamp < now_.wall - config_.max_age) return Outcome::kStale;
    const bool known = Known(said.peer);
    if (said.epoch < key.generation || (known && said.epoch < peers_[said.peer].key.generation)) {
      return Outcome::kOldEpoch;
    }
    const LifeKey spoken = std::max(key, LifeKey{said.epoch, 0});
    if (known && peers_[said.peer].gone && spoken <= peers_[said.peer].key) return Outcome::kLeft;
    if (said.timestamp && StateOf(said.observer) != State::kActive) return Outcome::kZeroWeight;
    if (!known && said.signal == Signal::kHealthy) return Outcome::kNoEffect;
    if (!known && !Make(said.peer, said.timestamp.has_value())) return Outcome::kFull;

    Peer& peer = peers_[said.peer];
    bool displaced = false;
    const Outcome replayed = peer.Replayed(said, now_.wall, mistake_, displaced);
    counters_.observers_displaced += displaced ? 1 : 0;
    if (replayed != Outcome::kApplied && replayed != Outcome::kSuperseded) return replayed;
    Touch(peer, said.timestamp);
    if (replayed == Outcome::kSuperseded) return replayed;
    const bool reborn = known && spoken.generation > peer.key.generation;
    const bool newer = peer.Learn(spoken);
    if (said.signal != Signal::kHealthy) {
      Bad(said, newer, terms);
    } else if (reborn && config_.revive != Revive::kJoinOnly) {
      Go(said.peer, State::kActive, Transition::kRestarted, said.observer);
    } else {
      Good(said.peer, said.observer, said.weight, Transition::kPromotionThreshold);
    }
    return Outcome::kApplied;
  }

  // The column kHealthy.
  void Good(PeerId id, PeerId observer, std::uint64_t weight, Transition why) {
    Peer& peer = peers_[id];
    if (peer.state == State::kActive) {
      peer.counted.clear();
      peer.ours.clear();
      peer.StopHold();
      return;
    }
    if (peer.state == State::kInactive && config_.revive != Revive::kHealthy) return;
    peer.counted.push_back({observer, weight});
    if (peer.state == State::kSuspect) {
      peer.StopHold();
      if (Total(peer) >= config_.promote_threshold) Go(id, State::kActive, why, observer);
    } else if (Total(peer) >= config_.recovery_threshold && now_.boot - peer.since >= config_.recovery_hold) {
      if (why == Transition::kPromotionThreshold) why = Transition::kRecoveryWindowElapsed;
      Go(id, State::kActive, why, observer);
    }
  }

  // The columns kSuspect and kDead.
  void Bad(const Observation& said, bool newer, const HoldTerms& terms) {
    Peer& peer = peers_[said.peer];
    const bool own = !said.timestamp;
    const bool refused = said.reason == Reason::kRefused;
    Peer::Hold begun{.start = {}, .own = own, .own_refused = own && refused, .outside = !own};
    if (peer.state == State::kActive) {
      peer.counted.push_back({said.observer, said.weight});
      if (own) peer.ours.push_back(said.weight);
      if (said.signal != Signal::kDead && Total(peer) < config_.demote_threshold) return;
      Go(said.peer, State::kSuspect, refused ? Transition::kRefused : Transition::kDemotionThreshold, said.observer);
      peer.terms = terms;
      // Ours if ours alone would have done; else theirs who spoke; else that of outsiders; somebody's it must be.
      begun.own = (own && said.signal == Signal::kDead) || peer.Ours() >= config_.demote_threshold;
      begun.outside = !begun.own && peer.OutsideAgainst();
      if (!begun.outside && peer.Voices() == 0) begun.own = true;
      peer.StartHold(now_.boot, begun);
      return;
    }
    peer.counted.clear();
    if (peer.state == State::kInactive) return;
    if (newer || !peer.hold) {
      peer.ours.clear();
      if (own) peer.ours.push_back(said.weight);
      peer.StartHold(now_.boot, begun);
    } else if (own) {
      Confirm(peer, said);
    }
  }

  // We stand behind what others began once we have seen as much as would have begun it.
  void Confirm(Peer& peer, const Observation& said) {
    Peer::Hold& hold = *peer.hold;
    peer.ours.push_back(said.weight);
    hold.own |= said.signal == Signal::kDead || peer.Ours() >= config_.demote_threshold;
    hold.own_refused |= said.reason == Reason::kRefused;
    if (!hold.own) return;
    hold.awaits = false;
    peer.HoldChanged(now_.boot);
  }

  Outcome Told(PeerId id, LifeKey key, const Word& word, bool verdict, const HoldTerms& terms) {
    if (id == kNoPeer) return Outcome::kInvalid;
    if (config_.rumour_weight == 0 || (verdict && !config_.verdicts)) return Outcome::kZeroWeight;
    if (word.observer == kNoPeer || word.observer == id) return Outcome::kZeroWeight;
    if (StateOf(word.observer) != State::kActive) return Outcome::kZeroWeight;
    if (Known(id) && peers_[id].gone && key <= peers_[id].key) return Outcome::kLeft;
    if (Known(id) && key < peers_[id].key) return Outcome::kOutranked;
    if (!Known(id) && !Make(id, false)) return Outcome::kFull;

    Peer& peer = peers_[id];
    peer.stranger = false;
    const bool newer = peer.Learn(key);
    bool displaced = false;
    const Outcome outcome = peer.Witnessed(word, verdict, displaced);
    counters_.witnesses_displaced += displaced ? 1 : 0;
    if (outcome != Outcome::kApplied) return outcome;
    Touch(peer);
    if (!peer.Counts(word.observer)) return Outcome::kApplied;  // a mark of one that is only remembered
    const Peer::Hold begun{.start = {}, .own = false, .own_refused = false, .outside = false};
    if (peer.state == State::kActive) {
      if (Total(peer) < config_.demote_threshold) return Outcome::kApplied;
      Go(id, State::kSuspect, Transition::kGossip, word.observer);
      peer.terms = terms;
      peer.StartHold(now_.boot, begun);
      return Outcome::kApplied;
    }
    peer.counted.clear();
    if (peer.state == State::kInactive) return Outcome::kApplied;
    if (newer || !peer.hold) {
      peer.ours.clear();
      peer.StartHold(now_.boot, begun);
      return Outcome::kApplied;
    }
    if (verdict) peer.hold->awaits = false;
    peer.HoldChanged(now_.boot);
    return Outcome::kApplied;
  }

  Outcome Refuted(PeerId id, LifeKey key) {
    if (id == kNoPeer) return Outcome::kInvalid;
    if (!Known(id)) return Outcome::kNoEffect;
    Peer& peer = peers_[id];
    if (key <= peer.key) return peer.gone ? Outcome::kLeft : Outcome::kOutranked;
    peer.Learn(key);
    Touch(peer);
    if (peer.state == State::kInactive && config_.revive == Revive::kRefutation) {
      Go(id, State::kActive, Transition::kRefuted, kNoPeer);
      return Outcome::kApplied;
    }
    Good(id, kNoPeer, config_.promote_threshold, Transition::kRefuted);
    return Outcome::kApplied;
  }

  Outcome Departed(PeerId id, LifeKey key, Transition why) {
    if (id == kNoPeer) return Outcome::kInvalid;
    if (Known(id) && key < peers_[id].key) return Outcome::kOutranked;
    if (Known(id) && key == peers_[id].key && peers_[id].gone) return Outcome::kNoEffect;
    if (!Known(id) && !Make(id, false)) return Outcome::kFull;
    Peer& peer = peers_[id];
    peer.Learn(key);
    Touch(peer);
    peer.gone = true;
    if (peer.state != State::kInactive) Go(id, State::kInactive, why, kNoPeer);
    return Outcome::kApplied;
  }

  Outcome Restart(PeerId id, LifeKey key) {
    if (id == kNoPeer) return Outcome::kInvalid;
    if (!Known(id)) {
      changes.push_back({id, State::kActive, State::kActive, Transition::kRestarted, kNoPeer, key, now_.boot, {}});
      TakeBack(id);
      return Outcome::kApplied;
    }
    Peer& peer = peers_[id];
    if (key < peer.key) return Outcome::kOutranked;
    if (key == peer.key && peer.gone) return Outcome::kLeft;
    peer.Learn(key);
    Touch(peer);
    Go(id, State::kActive, Transition::kRestarted, kNoPeer);
    return Outcome::kApplied;
  }

  Outcome Buried(PeerId id, LifeKey key) {
    if (id == kNoPeer) return Outcome::kInvalid;
    if (Known(id)) return Outcome::kNoEffect;
    if (!Make(id, false)) return Outcome::kFull;
    Peer& peer = peers_[id];
    peer.key = key;
    peer.state = State::kInactive;
    peer.since = now_.boot;
    Touch(peer);
    TakeBack(id);
    return Outcome::kApplied;
  }

  void Go(PeerId id, State to, Transition why, PeerId observer) {
    Peer& peer = peers_[id];
    const Duration lasted = peer.state == State::kActive ? Duration::zero() : now_.boot - peer.since;
    changes.push_back({id, peer.state, to, why, observer, peer.key, now_.boot, lasted});
    if (peer.state == State::kSuspect && to == State::kActive && why != Transition::kRestarted) {
      ++peer.flaps;
      ++counters_.flaps;
    }
    peer.state = to;
    peer.since = now_.boot;
    peer.why = why;
    peer.by = observer;
    peer.counted.clear();
    if (to == State::kActive) {
      peer.ours.clear();
      peer.StopHold();
    } else {
      peer.hold.reset();
    }
    if (to != State::kActive || why == Transition::kRestarted) TakeBack(id);
  }

  Outcome Done(Outcome outcome) {
    ++counters_.outcomes[static_cast<std::size_t>(outcome)];
    return outcome;
  }

  const StmConfig config_;
  const StmMistake mistake_;
  std::map<PeerId, Peer> peers_;
  Tick now_;  // of the last input
  StmCounters counters_;
};

}  // namespace nekton
