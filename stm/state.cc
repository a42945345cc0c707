#include "stm/state.h"

namespace nekton {

std::string_view Name(State state) {
  switch (state) {
    case State::kActive:
      return "ACTIVE";
    case State::kSuspect:
      return "SUSPECT";
    case State::kInactive:
      return "INACTIVE";
  }
  return "unknown";
}

std::string_view Name(Transition transition) {
  switch (transition) {
    case Transition::kDemotionThreshold:
      return "demotion_threshold";
    case Transition::kPromotionThreshold:
      return "promotion_threshold";
    case Transition::kRecoveryWindowElapsed:
      return "recovery_window_elapsed";
    case Transition::kConfirmDeadHoldElapsed:
      return "confirm_dead_hold_elapsed";
    case Transition::kGossip:
      return "gossip";
    case Transition::kRefuted:
      return "refuted";
    case Transition::kRestarted:
      return "restarted";
    case Transition::kReplaced:
      return "replaced";
    case Transition::kLeft:
      return "left";
    case Transition::kRefused:
      return "refused";
    case Transition::kExpelled:
      return "expelled";
  }
  return "unknown";
}

std::string_view InWords(Transition transition, State to) {
  switch (transition) {
    case Transition::kDemotionThreshold:
      return "enough evidence against it here";
    case Transition::kPromotionThreshold:
      return "it answers again";
    case Transition::kRecoveryWindowElapsed:
      return "healthy after the recovery window";
    case Transition::kConfirmDeadHoldElapsed:
      return "its hold ran out";
    case Transition::kGossip:
      return to == State::kSuspect ? "another member suspects it" : "a verdict of the group";
    case Transition::kRefuted:
      return "refuted";
    case Transition::kRestarted:
      return "restarted";
    case Transition::kReplaced:
      return "replaced";
    case Transition::kLeft:
      return "it left";
    case Transition::kRefused:
      return "its port refused the connection";
    case Transition::kExpelled:
      return "expelled";
  }
  return "?";
}

}  // namespace nekton
