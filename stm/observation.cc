#include "stm/observation.h"

namespace nekton {

std::string_view Name(Signal signal) {
  switch (signal) {
    case Signal::kHealthy:
      return "HEALTHY";
    case Signal::kSuspect:
      return "SUSPECT";
    case Signal::kDead:
      return "DEAD";
  }
  return "unknown";
}

std::string_view Name(Reason reason) {
  switch (reason) {
    case Reason::kHeard:
      return "heard";
    case Reason::kProbeTimeout:
      return "probe_timeout";
    case Reason::kDeadline:
      return "deadline";
    case Reason::kPhi:
      return "phi";
    case Reason::kAsymmetric:
      return "asymmetric";
    case Reason::kTransportClosed:
      return "transport_closed";
    case Reason::kRefused:
      return "refused";
    case Reason::kApplication:
      return "application";
  }
  return "unknown";
}

std::string_view Name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kApplied:
      return "applied";
    case Outcome::kInvalid:
      return "invalid";
    case Outcome::kFuture:
      return "future";
    case Outcome::kStale:
      return "stale";
    case Outcome::kOldEpoch:
      return "old_epoch";
    case Outcome::kDuplicate:
      return "duplicate";
    case Outcome::kOutOfOrder:
      return "out_of_order";
    case Outcome::kSuperseded:
      return "superseded";
    case Outcome::kZeroWeight:
      return "zero_weight";
    case Outcome::kLeft:
      return "left";
    case Outcome::kOutranked:
      return "outranked";
    case Outcome::kNoEffect:
      return "no_effect";
    case Outcome::kFull:
      return "full";
  }
  return "unknown";
}

}  // namespace nekton
