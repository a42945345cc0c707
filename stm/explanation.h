// Why a peer is in its state: what the StateTransitionManager knows of it, as a value and in words.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "phi/time.h"
#include "stm/life_key.h"
#include "stm/observation.h"
#include "stm/state.h"
#include "stm/stm_config.h"
#include "stm/witnesses.h"

namespace nekton {

// What was said of a peer, as it is remembered.
struct Testimony {
  enum class Kind : std::uint8_t { kSignal, kRumour, kVerdict, kRefutation };
  Kind kind = Kind::kSignal;
  Signal signal = Signal::kHealthy;  // kSignal
  Reason reason = Reason::kHeard;    // kSignal
  PeerId observer = kNoPeer;         // kNoPeer: the peer itself (kRefutation); kForgottenPeer
  std::uint32_t weight = 1;          // kSignal; of several alike at one instant: their sum
  Instant at{};                      // when it was applied
};
std::string_view Name(Testimony::Kind kind);  // "signal", "rumour", "verdict", "refutation"

struct Explanation {
  PeerId peer = kNoPeer;
  Instant at{};  // of this explanation; what is said of times left counts from here
  State state = State::kActive;
  bool departed = false;  // left, or another name took its address: nothing counts until a higher key
  bool recorded = false;  // false: ACTIVE with nothing pending, and all below is empty
  LifeKey key;

  // The last transition, none where there was none that is remembered: why, by whose evidence, how long ago.
  std::optional<Transition> transition;
  PeerId observer = kNoPeer;
  Duration since{};

  // ACTIVE: kSuspect towards SUSPECT, rumours included. SUSPECT, INACTIVE: kHealthy towards ACTIVE.
  std::uint64_t count = 0;
  std::uint32_t threshold = 0;
  Revive revive = Revive::kRefutation;  // INACTIVE: what brings it back,
  Duration recovery_left{};             // and how long that still does nothing

  // SUSPECT. A hold that was cancelled by a kHealthy does not run.
  struct Hold {
    bool running = false;
    bool own = false;            // our own evidence stands behind it; else we only heard of it,
    bool outside = false;        // or others' observations that the application handed in began it
    bool awaits_signal = false;  // we paused: it does not end before one more kSuspect of ours
    Duration left{};             // until INACTIVE, as things stand; 0 if it does not run
    std::uint32_t confirmations = 0;
    std::uint32_t confirmers = 0;  // so many make it as short as it gets; 0: nobody could
    std::uint32_t refusals = 0;    // observers whose connection its port refused
    bool condemned = false;        // verdicts of others have made it as short as it gets
  };
  std::optional<Hold> hold;

  std::vector<Witness> witnesses;  // other members that spoke against it at this key
  std::uint32_t flaps = 0;         // returns from SUSPECT to ACTIVE in this life and since the record began
  std::vector<Testimony> recent;   // the last that were applied, the newest first
};

// In words, several lines without a newline at the end. `name` gives a peer's name.
std::string Describe(const Explanation& explanation, const std::function<std::string(PeerId)>& name);

}  // namespace nekton
