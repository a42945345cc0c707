// How many messages a group really needs for what the lower bound asks for (bench/message_cost/floor.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bench/common/poisson.h"
#include "bench/papers/progress.h"
#include "swim/config.h"

namespace nekton::bench {

// Finds the longest protocol period, and so the smallest load, with which the `quantile` of the time from a silent crash to
// somebody's first suspicion is at most T = 1 s. Periods are T / 2^(i / 4), i from 0 to 20.
struct LoadFloorPlan {
  Config config;
  std::uint32_t nodes = 0;
  double loss = 0;        // of each datagram, and of each segment of a stream, on its own
  double quantile = 0.5;  // of the crashes
  double mistake = 1e-5;  // PM: false suspicions per member and T, at the most
  std::uint64_t crashes = 2000;
  double member_seconds = 1e6;  // for the mistakes and the load, while all run
  std::uint64_t seed = 1;
  Progress progress;
};

struct LoadFloor {
  std::optional<double> period_s;  // nothing: none of them is short enough, and the rest is empty
  double first_suspicion_s = 0;    // the quantile at that period
  std::uint64_t crashes = 0;       // that it is of
  double load = 0;                 // datagrams per member and T
  double bound = 0;                // L*: of the same
  double ratio = 0;                // load / bound
  std::uint64_t mistakes = 0;      // suspicions by a member's own evidence, while all run
  double mistake_rate = 0;         // per member and T
  Interval mistake_interval;       // 95 %
  bool accurate = false;           // the rate is at most PM
};

LoadFloor MeasureLoadFloor(const LoadFloorPlan& plan);

}  // namespace nekton::bench
