// What a group makes of a bad network while all of its members run.
#pragma once

#include <cstdint>
#include <functional>

#include "bench/common/spending.h"
#include "swim/config.h"

namespace nekton::bench {

struct SoakPlan {
  Config config;
  std::uint32_t nodes = 0;
  // Of each datagram and of each segment of a stream, on its own. Or bursts (Gilbert, 1960): each direction of each
  // member is bad for 5 % of the time, 1 s long on average, and loses 70 % then, and 1 % else.
  double loss = 0;
  bool bursts = false;
  double member_hours = 1;
  std::uint64_t seed = 1;
  std::function<void(double share)> progress;
};

// Each is false, for all members run all the time.
struct SoakCounts {
  bool complete = false;  // all members came to know each other at the beginning
  double member_hours = 0;
  std::uint64_t suspicions = 0;    // that a member committed by evidence of its own
  std::uint64_t death_events = 0;  // a live member INACTIVE, at each observer
  std::uint64_t deaths = 0;        // lives and incarnations of members that anyone held for dead
  Spending spent;                  // per member and period
};

// The first minute is not measured.
SoakCounts MeasureSoak(const SoakPlan& plan);

}  // namespace nekton::bench
