// Figure 4 of the SWIM paper (Das, Gupta, Motivala, DSN 2002, section 5.3): a group that ought to grow, on a network that
// loses.
#pragma once

#include <cstdint>
#include <vector>

#include "swim/config.h"

namespace nekton::bench {

struct ShrinkPlan {
  Config config;               // with the period of the paper, 2 s
  std::uint32_t joiners = 17;  // one after the other, `apart`, through the first of them
  double loss = 0.1;           // at the receiver, of each datagram and each segment of a stream
  Duration apart = std::chrono::seconds(4);
  Duration length = std::chrono::seconds(175);
  std::uint64_t seed = 1;
};

// The configuration of the protocol as the paper ran it: T' 2 s; and "swim" with k = 1 and a suspicion that lasts
// 3 ln(N + 1) periods.
Config ShrinkConfig(std::string_view protocol, const Config& config);

struct Shrink {
  std::vector<double> sizes;  // every 5 s: the median of what those that run count
  double smallest = 0;        // counted by anyone in the end
  double median = 0;
  double largest = 0;
  // Whom nobody ever declared dead. In the paper a member that was declared dead is out for good; here it may come back.
  std::uint32_t spared = 0;
  std::uint64_t death_events = 0;  // each observer's
};

Shrink MeasureShrink(const ShrinkPlan& plan);

}  // namespace nekton::bench
