// The three states of a peer, and why one changed.
#pragma once

#include <cstdint>
#include <string_view>

#include "phi/time.h"
#include "stm/life_key.h"

namespace nekton {

// A small dense handle of a peer, chosen by the caller (swim: the row in its member table). The caller reuses one only
// after Stm::Forget. A handle never travels on the wire.
using PeerId = std::uint32_t;
inline constexpr PeerId kNoPeer = 0xffffffff;
inline constexpr PeerId kForgottenPeer = 0xfffffffe;  // in explanations: somebody whose handle has been given up

enum class State : std::uint8_t { kActive, kSuspect, kInactive };

// Why a StateChange was committed.
enum class Transition : std::uint8_t {
  kDemotionThreshold,       // enough kSuspect (or one kDead) of our own: ACTIVE -> SUSPECT
  kPromotionThreshold,      // enough kHealthy: SUSPECT -> ACTIVE
  kRecoveryWindowElapsed,   // INACTIVE -> ACTIVE after recovery_hold
  kConfirmDeadHoldElapsed,  // SUSPECT -> INACTIVE: the hold ran out
  kGossip,                  // a rumour or a verdict of another member
  kRefuted,                 // the subject's own alive at a higher key
  kRestarted,               // a higher generation of the name (also ACTIVE -> ACTIVE)
  kReplaced,                // another name took its address
  kLeft,                    // the subject said goodbye
  kRefused,                 // its port refused our connection
  kExpelled,                // somebody who may removed it by hand
};

// One committed transition. from == to only for kRestarted.
struct StateChange {
  PeerId peer = kNoPeer;
  State from = State::kActive;
  State to = State::kActive;
  Transition transition = Transition::kDemotionThreshold;
  PeerId observer = kNoPeer;  // whose evidence completed it; kNoPeer: time alone, or the subject itself
  LifeKey key;                // the key of the subject it is about
  Instant at{};               // when it was committed
  Duration lasted{};          // how long the peer had been in `from`; zero where unknown
};

std::string_view Name(State state);            // "ACTIVE", "SUSPECT", "INACTIVE"
std::string_view Name(Transition transition);  // "demotion_threshold", ...
// The same for people, of a transition into `to`: "its hold ran out". The wording may change.
std::string_view InWords(Transition transition, State to);

}  // namespace nekton
