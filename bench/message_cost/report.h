// What was measured, as text and as JSON.
#pragma once

#include <cstdint>
#include <string>

#include "bench/message_cost/cost.h"

namespace nekton::bench {

struct CostRow {
  std::string protocol;  // or "mesh": heartbeats of each to every other
  std::string detector;
  std::string probing;
  std::uint32_t nodes = 0;
  double loss = 0;
  std::uint64_t seed = 1;
  double mistake = 0;     // of the floor (floor.h); its T is a period
  bool computed = false;  // not measured: what the rule says
  Cost cost;
};

// A line each, with its line feed. The table leaves out the purposes.
std::string JsonLine(const CostRow& row);
std::string TableLine(const CostRow& row);
std::string TableHead();

// What a full mesh of heartbeats sends by its definition: one to every other member in each period.
CostRow ComputedMesh(std::uint32_t nodes);

}  // namespace nekton::bench
