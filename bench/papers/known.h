// Failures that users of memberlist met in the field.
#pragma once

#include <cstdint>
#include <optional>

#include "swim/config.h"

namespace nekton::bench {

// A group is cut into halves for a while, longer than it takes each half to declare the other dead. Are they one group
// again after the cut?
struct HealPlan {
  Config config;
  std::uint32_t nodes = 0;
  Duration cut = std::chrono::seconds(75);
  double loss = 0;
  std::uint64_t seed = 1;
};
struct Heal {
  bool begun = false;             // all knew each other before, and nobody of the other half at the end of the cut
  std::optional<double> whole_s;  // since the end of the cut; nothing: not within two minutes
  std::uint64_t wrong = 0;        // pairs, one of which does not hold the other ACTIVE then
  // Failure events since the end of the cut. In its first period they are those of holds that the cut had begun, and that
  // run out before anything can arrive.
  std::uint64_t deaths_first_period = 0;
  std::uint64_t deaths = 0;  // later
  bool right() const { return begun && whole_s.has_value() && deaths == 0; }
};
Heal MeasureHeal(const HealPlan& plan);

// One member hears only 30 % of the others, and all hear it.
struct SemiPlan {
  Config config;
  std::uint32_t nodes = 0;
  double hears = 0.3;
  Duration length = std::chrono::minutes(15);
  std::uint64_t seed = 1;
};
struct Semi {
  bool begun = false;
  // Events at members that are well, about members that are well: failures, and suspicions, each one observer's.
  std::uint64_t failed_healthy = 0;
  std::uint64_t suspected_healthy = 0;
  std::uint32_t accused_healthy = 0;  // members that are well and were suspected by anyone
  std::uint64_t failed_by_semi = 0;   // members that are well, as the one that hears little sees them
  std::uint64_t failed_semi = 0;      // it, at members that are well
  std::uint64_t returned_semi = 0;    // and back again
  double idle_datagrams = 0;          // per member and second, before
  double datagrams = 0;               // and then
  double suspicions_per_s = 0;        // at members that are well, about members that are well, of the whole group
};
Semi MeasureSemi(const SemiPlan& plan);

}  // namespace nekton::bench
