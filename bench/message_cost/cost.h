// What a group sends while all is well, and what one crash adds to it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "bench/common/spending.h"
#include "swim/config.h"

namespace nekton::bench {

struct CostPlan {
  std::string protocol;  // a name for the rows
  Config config;
  std::uint32_t nodes = 0;
  double loss = 0;  // of each datagram, and of each segment of a stream, on its own
  std::uint64_t seed = 1;
  std::uint32_t periods = 60;  // of the steady measurement
  std::uint32_t crashes = 5;   // one after the other; 0: none
  std::function<void(std::string_view what)> progress;
};

struct Cost {
  bool complete = false;  // all came to know each other, and came back after every crash
  Spending steady;        // per member and period
  // One silent crash: what the survivors sent until all of them knew, less what they send in that time anyway. An
  // average over the crashes that all learned of.
  Spending crash;
  double crash_seconds = 0;   // until all knew, on average
  std::uint32_t crashes = 0;  // that all learned of
  double wall_seconds = 0;    // of this machine
};

Cost MeasureCost(const CostPlan& plan);

}  // namespace nekton::bench
