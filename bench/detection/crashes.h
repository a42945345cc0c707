// How long a group takes to notice that one of its members died.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "bench/common/crasher.h"

namespace nekton::bench {

struct CrashPlan {
  Config config;
  std::uint32_t nodes = 0;
  Port port = Port::kSilent;
  double loss = 0;  // of each datagram, and of each segment of a stream, on its own
  std::uint64_t crashes = 0;
  std::uint64_t seed = 1;
  std::function<void(std::uint64_t done)> progress;
};

struct CrashSample {
  // In seconds, each of the crashes that all survivors learned of; sorted.
  std::vector<double> suspected;
  std::vector<double> confirmed;
  std::vector<double> known;
  std::uint64_t unknown = 0;  // crashes that someone did not learn of within two minutes
  std::uint64_t broken = 0;   // groups that were given up, since a victim could not come back
  std::uint64_t false_suspicions = 0;
  std::uint64_t false_deaths = 0;
};

// Crashes follow each other in one group (crasher.h): the next is 15 to 16 periods after all have learned that the last
// victim is back. After 500 of them a new group begins, with another seed.
CrashSample MeasureCrashes(const CrashPlan& plan);

}  // namespace nekton::bench
