// What the members of groups made of each other while some of them suffered.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/common/group.h"

namespace nekton::bench {

struct Outcome {
  std::uint64_t runs = 0;
  std::uint64_t ungathered = 0;  // of them, whose group never came together: nothing was measured
  std::uint64_t sick = 0;        // members that suffered, of all runs

  // Failure events, each observer's its own.
  std::uint64_t dead_healthy = 0;             // about members that suffered nothing
  std::uint64_t dead_healthy_at_healthy = 0;  // of these, at observers that suffered nothing
  std::uint64_t dead_sick = 0;                // about the others
  std::uint64_t sick_condemned = 0;           // members that suffered and were declared dead by anyone
  std::uint64_t rejoins = 0;                  // a dead member that suffers is ACTIVE again, at one observer
  std::uint64_t comebacks = 0;                // of these, each incarnation of a member counted once
  std::uint64_t gone = 0;  // members that suffered and are dead or forgotten at all that did not, in the end
  std::uint64_t changes =
      0;  // the most deaths and rejoins of one that suffers at one observer in one minute, of all runs

  // Suspicions, each observer's its own.
  std::uint64_t suspicions_healthy = 0;
  std::uint64_t suspicions_sick = 0;
  std::uint64_t accusations_by_sick = 0;  // from probe rounds of a member that suffered, about others that did not
  std::uint64_t accusations_healthy = 0;  // from anyone's own probe rounds, about members that suffered nothing
  std::uint64_t healthy_accused = 0;      // members that suffered nothing and were suspected by anyone

  std::vector<double> times;  // s, of what the case waits for
  std::uint64_t never = 0;    // it did not come
  double member_hours = 0;
  Load load;
  std::vector<std::string> violations;  // one for each run with a failure event about a healthy member, or none in time

  Outcome& operator+=(const Outcome& other);
  double PerRun(std::uint64_t count) const;
};

}  // namespace nekton::bench
