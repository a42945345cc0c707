// How long the two leases of a home last. A value.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "lease/lease_clock.h"
#include "phi/time.h"

namespace nekton {

struct LeaseTerms {
  Duration read = std::chrono::seconds(120);  // a home serves reads
  Duration write = std::chrono::seconds(6);   // and commits
  std::int64_t drift_ppm = kDriftPpm;         // by which the clocks of two machines run apart at most

  constexpr Duration read_usable() const { return UsableOf(read, drift_ppm); }
  constexpr Duration write_usable() const { return UsableOf(write, drift_ppm); }
  constexpr Duration write_wait() const { return WaitOf(write, drift_ppm); }
  // A holder asks for its leases to be renewed so often: two answers may be lost.
  constexpr Duration renew_every() const { return write / 3; }
};

// Between two that send each other heartbeats an old home has stopped before the other can have been declared dead, even
// if the clocks of both run wrong: (beat + write) * (1 + drift) < failure window * (1 - drift).
constexpr bool FitsWindow(Duration beat, const LeaseTerms& terms, Duration window) {
  return WaitOf(beat + terms.write, terms.drift_ppm) < window;
}
static_assert(FitsWindow(std::chrono::seconds(5), LeaseTerms{}, std::chrono::seconds(12)));

// Everything that is wrong with the terms, one mistake each; none: empty.
std::vector<std::string> ProblemsOf(const LeaseTerms& terms);

}  // namespace nekton
