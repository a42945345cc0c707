// A StateTransitionManager, a clock and short words for what is said to it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
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

  // Thresholds 3 / 2 as in heartbeat-and-stm, whose observers' rumours weigh 1. Time is lost only if a test says so.
  static StmConfig Mesh() {
    StmConfig config = kMeshStm;
    config.max_local_pause = StmConfig::kForEver;
    return config;
  }
  // One rumour commits, as in the SWIM paper. Thresholds 5 / 2.
  static StmConfig Swim() { return {}; }

  explicit Scene(const StmConfig& config) : stm(config) {}

  void At(Duration since_start) {
    now.boot = kStart + since_start;
    now.wall = kWall + jumped + since_start;
  }
  // The wall clock steps, time does not.
  void Jump(Duration by) {
    jumped += by;
    now.wall += by;
  }

  // `what` gets the epoch of `key` if it has none, and a sequence and a nonce of its own if it has no nonce.
  Observation Numbered(Observation what) {
    if (what.epoch == 0) what.epoch = key.generation;
    if (what.nonce == 0) what.sequence = what.nonce = ++said;
    return what;
  }
  Outcome Apply(const Observation& what) { return stm.Apply(now, Numbered(what), key, terms, changes); }
  Outcome Say(Signal signal, PeerId peer = kPeer) { return Apply({.peer = peer, .observer = kUs, .signal = signal}); }
  Outcome Healthy(PeerId peer = kPeer) { return Say(Signal::kHealthy, peer); }
  Outcome Suspect(PeerId peer = kPeer) { return Say(Signal::kSuspect, peer); }
  Outcome Dead(PeerId peer = kPeer) { return Say(Signal::kDead, peer); }
  Outcome Refused() {
    return Apply({.peer = kPeer, .observer = kUs, .signal = Signal::kSuspect, .reason = Reason::kRefused, .weight = 5});
  }
  // An observation that the application hands in, made now.
  Outcome Outside(PeerId observer, Signal signal) {
    return Apply({.peer = kPeer, .observer = observer, .signal = signal, .timestamp = now.wall});
  }
  // One letter each: h, s, d. Returns what became of each: a applied, - no effect, ? anything else.
  std::string Batch(std::string_view letters) {
    std::string outcomes;
    for (const char letter : letters) {
      const Outcome outcome = letter == 'h' ? Healthy() : letter == 's' ? Suspect() : Dead();
      outcomes += outcome == Outcome::kApplied ? 'a' : outcome == Outcome::kNoEffect ? '-' : '?';
    }
    return outcomes;
  }

  Outcome Rumour(PeerId observer, LifeKey at = kKey, bool refused = false) {
    return stm.Rumour(now, kPeer, at, {observer, refused}, terms, changes);
  }
  Outcome Verdict(PeerId observer, LifeKey at = kKey, bool refused = false) {
    return stm.Verdict(now, kPeer, at, {observer, refused}, terms, changes);
  }
  Outcome Refute(LifeKey at) { return stm.Refute(now, kPeer, at, changes); }
  void Left(PeerId peer = kPeer, LifeKey at = kKey) { stm.Left(now, peer, at, changes); }
  void Replaced(PeerId peer = kPeer, LifeKey at = kKey) { stm.Replaced(now, peer, at, changes); }
  void Restarted(PeerId peer, LifeKey at) { stm.Restarted(now, peer, at, changes); }
  void Advance() { stm.Advance(now, changes); }
  // Whether Advance commits nothing one nanosecond before `when` and something at it.
  bool EndsExactlyAt(Duration when) {
    changes.clear();
    At(when - std::chrono::nanoseconds(1));
    Advance();
    const bool early = !changes.empty();
    At(when);
    Advance();
    return !early && !changes.empty();
  }

  // Brings a peer that is ACTIVE to SUSPECT, or further to INACTIVE at the end of its hold, and forgets the changes.
  void MakeSuspect(PeerId peer = kPeer) {
    Dead(peer);
    changes.clear();
  }
  void MakeInactive(PeerId peer = kPeer) {
    Dead(peer);
    At(stm.HoldOf(peer).value().end - kStart);
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
  // The demote count of an ACTIVE kPeer, rumours included, else its promote count.
  std::uint64_t count() const { return stm.Explain(now, kPeer).count; }
  // The end of the hold of kPeer, from the start of the scene; kNone while it is cancelled.
  Duration HoldEnd() const { return stm.HoldOf(kPeer).value().end - kStart; }
  bool Running() const { return stm.HoldOf(kPeer).value().running; }
  Duration NextDeadline() const { return stm.NextDeadline() - kStart; }

  static constexpr Instant kStart{std::chrono::seconds(1000)};
  static constexpr WallTime kWall{std::chrono::hours(24 * 365 * 50)};
  static constexpr Duration kNone = kNever - kStart;

  Stm stm;
  Tick now{.boot = kStart, .wall = kWall};
  Duration jumped{};
  std::uint64_t said = 0;
  LifeKey key = kKey;
  HoldTerms terms = kMeshHold;
  std::vector<StateChange> changes;
};

}  // namespace nekton
