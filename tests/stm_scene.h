// A StateTransitionManager, a clock and short words for what is said to it.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "stm/stm.h"

namespace nekton {

class Scene {
 public:
  static constexpr PeerId kPeer = 1;
  static constexpr PeerId kUs = 100;
  static constexpr LifeKey kKey{5, 3};

  // Thresholds 3 / 2 as in heartbeat-and-stm, whose observers' rumours weigh 1.
  static StmConfig Mesh() {
    return {.demote_threshold = 3,
            .promote_threshold = 2,
            .recovery_threshold = 1,
            .recovery_hold = std::chrono::seconds(90),
            .rumour_weight = 1,
            .revive = Revive::kHealthy};
  }
  // One rumour commits, as in the SWIM paper.
  static StmConfig Swim() {
    return {.demote_threshold = 5,
            .promote_threshold = 2,
            .recovery_threshold = 1,
            .recovery_hold = {},
            .rumour_weight = 5,
            .revive = Revive::kRefutation};
  }

  explicit Scene(const StmConfig& config) : stm(config) {}

  void At(Duration since_start) { now.boot = kStart + since_start; }

  Outcome Say(Signal signal, PeerId peer = kPeer) { return Apply({.peer = peer, .observer = kUs, .signal = signal}); }
  // `what` gets the epoch of `key` if it has none.
  Outcome Apply(Observation what) {
    if (what.epoch == 0) what.epoch = key.generation;
    return stm.Apply(now, what, key, terms, changes);
  }
  Outcome Healthy(PeerId peer = kPeer) { return Say(Signal::kHealthy, peer); }
  Outcome Suspect(PeerId peer = kPeer) { return Say(Signal::kSuspect, peer); }
  Outcome Dead(PeerId peer = kPeer) { return Say(Signal::kDead, peer); }
  Outcome Rumour(PeerId observer, LifeKey at = kKey, std::uint32_t confidence = 1) {
    return stm.Rumour(now, kPeer, at, observer, confidence, terms, changes);
  }
  Outcome Verdict(PeerId observer, LifeKey at = kKey, std::uint32_t confidence = 1) {
    return stm.Verdict(now, kPeer, at, observer, confidence, terms, changes);
  }
  Outcome Refute(LifeKey at) { return stm.Refute(now, kPeer, at, changes); }
  void Advance() { stm.Advance(now, changes); }

  // Brings a peer that is ACTIVE to SUSPECT, or further to INACTIVE at the end of its hold, and forgets the changes.
  void MakeSuspect(PeerId peer = kPeer) {
    Dead(peer);
    changes.clear();
  }
  void MakeInactive(PeerId peer = kPeer) {
    Dead(peer);
    now.boot = stm.NextDeadline();
    Advance();
    changes.clear();
  }

  // What was committed since the last call: "ACTIVE>SUSPECT gossip" and so on, separated by ", ".
  std::string Changes() {
    std::string text;
    for (const StateChange& change : changes) {
      if (!text.empty()) text += ", ";
      text += std::string(Name(change.from)) + ">" + std::string(Name(change.to)) + " ";
      text += Name(change.transition);
    }
    changes.clear();
    return text;
  }

  State state(PeerId peer = kPeer) const { return stm.StateOf(peer); }
  // The end of the hold of kPeer, from the start of the scene; kNever - kStart while it is cancelled.
  Duration HoldEnd() const { return stm.HoldOf(kPeer).value().end - kStart; }
  Duration NextDeadline() const { return stm.NextDeadline() - kStart; }

  static constexpr Instant kStart{std::chrono::seconds(1000)};
  static constexpr Duration kNone = kNever - kStart;

  Stm stm;
  Tick now{.boot = kStart};
  LifeKey key = kKey;
  HoldTerms terms{.min = std::chrono::seconds(90), .max = std::chrono::seconds(90)};
  std::vector<StateChange> changes;
};

}  // namespace nekton
