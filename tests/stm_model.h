// The StateTransitionManager once more, slow and obvious: every accusation is a line in a list, every hold is computed
// anew when it is asked for, and nothing is kept in any order.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "stm/stm.h"

namespace nekton {

class StmModel {
 public:
  explicit StmModel(const StmConfig& config) : config_(config) {}

  Outcome Apply(Instant now, const Observation& said, LifeKey key, const HoldTerms& terms) {
    const auto outcome = [&] {
      if (said.peer == kNoPeer || said.observer == kNoPeer) return Outcome::kInvalid;
      if (static_cast<int>(said.signal) > 2) return Outcome::kInvalid;
      if (said.weight == 0) return Outcome::kZeroWeight;
      const bool known = Known(said.peer);
      Peer& peer = peers_[said.peer];
      if (said.epoch < key.generation || said.epoch < peer.key.generation) return Outcome::kOldEpoch;
      const LifeKey spoken = said.epoch > key.generation ? LifeKey{said.epoch, 0} : key;
      if (peer.departed && !(spoken > peer.key)) return Outcome::kLeft;
      Learn(peer, spoken);
      if (said.signal == Signal::kHealthy) {
        return Good(now, said.peer, said.observer, said.weight, false, known);
      }
      const bool at_once = said.signal == Signal::kDead;
      const auto why = said.reason == Reason::kRefused ? Transition::kRefused : Transition::kDemotionThreshold;
      return Bad(now, said.peer, said.observer, {true, said.observer, said.weight}, at_once, why, terms);
    }();
    return Done(outcome);
  }

  Outcome Rumour(Instant now, PeerId id, LifeKey key, PeerId observer, std::uint32_t confidence,
                 const HoldTerms& terms) {
    return Done(Told(now, id, key, observer, confidence, terms, false));
  }

  Outcome Verdict(Instant now, PeerId id, LifeKey key, PeerId observer, std::uint32_t confidence,
                  const HoldTerms& terms) {
    return Done(Told(now, id, key, observer, confidence, terms, true));
  }

  Outcome Refute(Instant now, PeerId id, LifeKey key) {
    const auto outcome = [&] {
      if (id == kNoPeer) return Outcome::kInvalid;
      if (!Known(id)) return Outcome::kNoEffect;
      Peer& peer = peers_[id];
      if (!(key > peer.key)) return peer.departed ? Outcome::kLeft : Outcome::kOutranked;
      Learn(peer, key);
      if (peer.state == State::kInactive && config_.revive == Revive::kRefutation) {
        Go(now, id, State::kActive, Transition::kRefuted, kNoPeer);
        return Outcome::kApplied;
      }
      return Good(now, id, kNoPeer, config_.promote_threshold, true, true);
    }();
    return Done(outcome);
  }

  void Depart(Instant now, PeerId id, LifeKey key, Transition why) {
    Peer& peer = peers_[id];
    if (key < peer.key) {
      Done(Outcome::kOutranked);
      return;
    }
    Learn(peer, key);
    const bool again = peer.departed;
    peer.departed = true;
    if (peer.state != State::kInactive) Go(now, id, State::kInactive, why, kNoPeer);
    Done(again ? Outcome::kNoEffect : Outcome::kApplied);
  }

  void Restarted(Instant now, PeerId id, LifeKey key) {
    Peer& peer = peers_[id];
    if (peer.departed && !(key > peer.key)) {
      Done(Outcome::kLeft);
      return;
    }
    peer.key = key;
    Go(now, id, State::kActive, Transition::kRestarted, kNoPeer);
    Done(Outcome::kApplied);
  }

  void Bury(Instant now, PeerId id, LifeKey key) {
    const bool known = Known(id);
    if (!known) peers_[id] = Peer{.key = key, .state = State::kInactive, .since = now};
    Done(known ? Outcome::kNoEffect : Outcome::kApplied);
  }

  void Forget(PeerId id) { peers_.erase(id); }

  void Paused(Duration overshoot) {
    for (auto& [id, peer] : peers_) {
      if (!peer.hold || overshoot <= Duration::zero()) continue;
      peer.hold->excused += overshoot;
      if (peer.hold->ours) peer.hold->needs_suspect = true;
    }
  }

  void Advance(Instant now) {
    for (;;) {  // the earliest of all that are due, and look again
      std::optional<std::pair<Instant, PeerId>> first;
      for (const auto& [id, peer] : peers_) {
        const std::pair<Instant, PeerId> due{Deadline(peer), id};
        if (due.first <= now && (!first || due < *first)) first = due;
      }
      if (!first) return;
      const bool confirmed = peers_[first->second].hold->confirmed;
      Go(now, first->second, State::kInactive, confirmed ? Transition::kGossip : Transition::kConfirmDeadHoldElapsed,
         kNoPeer);
    }
  }

  Instant NextDeadline() const {
    Instant next = kNever;
    for (const auto& [id, peer] : peers_) next = std::min(next, Deadline(peer));
    return next;
  }

  State StateOf(PeerId id) const { return Known(id) ? peers_.at(id).state : State::kActive; }

  std::optional<Stm::Hold> HoldOf(PeerId id) const {
    if (StateOf(id) != State::kSuspect) return std::nullopt;
    const Peer& peer = peers_.at(id);
    return Stm::Hold{peer.since, peer.hold ? peer.hold->End() : kNever, peer.hold.has_value(), peer.key};
  }

  std::size_t records() const { return peers_.size(); }
  std::uint64_t count(Outcome outcome) const { return counts_[static_cast<std::size_t>(outcome)]; }

  std::vector<StateChange> changes;

 private:
  struct Accusation {
    bool ours;
    PeerId observer;
    std::uint64_t weight;
  };
  struct Hold {
    Instant started;
    Duration length;
    bool ours;
    Duration excused{};
    bool needs_suspect = false;
    bool confirmed = false;
    Duration shortest{};
    Instant End() const { return started + (confirmed ? shortest : length) + excused; }
  };
  struct Peer {
    LifeKey key;
    State state = State::kActive;
    Instant since{};
    bool departed = false;
    std::vector<Accusation> accusations{};
    std::uint64_t praise = 0;
    HoldTerms terms{};
    std::optional<Hold> hold{};
  };

  bool Known(PeerId id) const { return peers_.count(id) > 0; }

  static Instant Deadline(const Peer& peer) {
    return !peer.hold || peer.hold->needs_suspect ? kNever : peer.hold->End();
  }

  static void DropAccusations(Peer& peer, bool ours) {
    auto& list = peer.accusations;
    list.erase(std::remove_if(list.begin(), list.end(), [ours](const Accusation& a) { return a.ours == ours; }),
               list.end());
  }

  static void Learn(Peer& peer, LifeKey key) {
    if (!(key > peer.key)) return;
    peer.key = key;
    peer.departed = false;
    DropAccusations(peer, false);
  }

  static Hold NewHold(Instant now, const HoldTerms& terms, bool ours) {
    return {.started = now,
            .length = (terms.confirmers > 0 ? terms.min : terms.max) + terms.margin,
            .ours = ours,
            .shortest = terms.min};
  }

  void Go(Instant now, PeerId id, State to, Transition why, PeerId observer) {
    Peer& peer = peers_[id];
    const Duration lasted = peer.state == State::kActive ? Duration::zero() : now - peer.since;
    changes.push_back({id, peer.state, to, why, observer, peer.key, now, lasted});
    if (to == State::kActive) peer = Peer{};
    peer.state = to;
    peer.since = now;
    peer.praise = 0;
    peer.hold.reset();
    DropAccusations(peer, true);
  }

  // The column kHealthy.
  Outcome Good(Instant now, PeerId id, PeerId observer, std::uint64_t weight, bool refuted, bool known) {
    Peer& peer = peers_[id];
    if (peer.state == State::kActive) {
      peer = Peer{};
      return known ? Outcome::kApplied : Outcome::kNoEffect;
    }
    if (peer.state == State::kInactive && config_.revive != Revive::kHealthy) return Outcome::kNoEffect;
    peer.praise += weight;
    if (peer.state == State::kSuspect) {
      peer.hold.reset();
      if (peer.praise < config_.promote_threshold) return Outcome::kApplied;
      Go(now, id, State::kActive, refuted ? Transition::kRefuted : Transition::kPromotionThreshold, observer);
    } else if (peer.praise >= config_.recovery_threshold && now - peer.since >= config_.recovery_hold) {
      Go(now, id, State::kActive, refuted ? Transition::kRefuted : Transition::kRecoveryWindowElapsed, observer);
    }
    return Outcome::kApplied;
  }

  // The columns kSuspect and kDead, for our own signals.
  Outcome Bad(Instant now, PeerId id, PeerId observer, const Accusation& accusation, bool at_once, Transition why,
              const HoldTerms& terms) {
    Peer& peer = peers_[id];
    const bool praised = peer.praise > 0;
    peer.praise = 0;
    if (peer.state == State::kActive) {
      peer.accusations.push_back(accusation);
      if (at_once || Total(peer) >= config_.demote_threshold) Demote(now, id, observer, why, terms, true);
      return Outcome::kApplied;
    }
    if (peer.state == State::kInactive) return praised ? Outcome::kApplied : Outcome::kNoEffect;
    if (!peer.hold) {
      peer.hold = NewHold(now, peer.terms, true);
      return Outcome::kApplied;
    }
    if (!peer.hold->needs_suspect) return Outcome::kNoEffect;
    peer.hold->needs_suspect = false;
    // Not earlier than now; a later pause adds to that.
    peer.hold->excused += std::max(Duration::zero(), now - peer.hold->End());
    return Outcome::kApplied;
  }

  Outcome Told(Instant now, PeerId id, LifeKey key, PeerId observer, std::uint32_t confidence, const HoldTerms& terms,
               bool verdict) {
    if (id == kNoPeer || confidence > 1) return Outcome::kInvalid;
    if (confidence == 0) return Outcome::kZeroWeight;
    if (observer == kNoPeer) return Outcome::kInvalid;
    if (Known(id)) {
      Peer& peer = peers_[id];
      if (peer.departed && key <= peer.key) return Outcome::kLeft;
      if (key < peer.key) return Outcome::kOutranked;
      if (verdict && peer.state == State::kSuspect && peer.key == key && peer.hold) {
        if (peer.hold->confirmed && !peer.hold->needs_suspect) return Outcome::kDuplicate;
        peer.hold->confirmed = true;
        peer.hold->needs_suspect = false;
        if (peer.hold->End() <= now) Go(now, id, State::kInactive, Transition::kGossip, observer);
        return Outcome::kApplied;
      }
    }
    if (config_.rumour_weight == 0) return Outcome::kZeroWeight;
    Peer& peer = peers_[id];
    const bool newer = key > peer.key;
    Learn(peer, key);
    std::size_t heard = 0;
    for (const Accusation& earlier : peer.accusations) {
      if (earlier.ours) continue;
      if (earlier.observer == observer) return Outcome::kDuplicate;
      ++heard;
    }
    if (heard >= 8) return Outcome::kZeroWeight;
    peer.accusations.push_back({false, observer, config_.rumour_weight});
    peer.praise = 0;
    if (peer.state == State::kActive && Total(peer) >= config_.demote_threshold) {
      Demote(now, id, observer, Transition::kGossip, terms, false);
    } else if (peer.state == State::kSuspect && (newer || !peer.hold)) {
      peer.hold = NewHold(now, peer.terms, false);
    }
    return Outcome::kApplied;
  }

  void Demote(Instant now, PeerId id, PeerId observer, Transition why, const HoldTerms& terms, bool ours) {
    Go(now, id, State::kSuspect, why, observer);
    peers_[id].terms = terms;
    peers_[id].hold = NewHold(now, terms, ours);
  }

  static std::uint64_t Total(const Peer& peer) {
    std::uint64_t total = 0;
    for (const Accusation& accusation : peer.accusations) total += accusation.weight;
    return total;
  }

  // Forgets whoever is ACTIVE with nothing pending.
  Outcome Done(Outcome outcome) {
    for (auto it = peers_.begin(); it != peers_.end();) {
      const bool idle = it->second.state == State::kActive && it->second.accusations.empty();
      it = idle ? peers_.erase(it) : std::next(it);
    }
    ++counts_[static_cast<std::size_t>(outcome)];
    return outcome;
  }

  StmConfig config_;
  std::map<PeerId, Peer> peers_;
  std::array<std::uint64_t, kOutcomes> counts_{};
};

}  // namespace nekton
