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
  }
  return "unknown";
}

}  // namespace nekton
