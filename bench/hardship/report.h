// What was measured, as text and as JSON.
#pragma once

#include <cstdint>
#include <string>

#include "bench/hardship/outcome.h"

namespace nekton::bench {

struct HardshipRow {
  std::string hardship;
  std::string protocol;
  std::uint64_t seed = 0;  // of the first run
  Outcome outcome;
};

// A line each, with its line feed; below a line of the table stand the runs with a violation, ten at most.
std::string JsonLine(const HardshipRow& row);
std::string TableLine(const HardshipRow& row);
std::string TableHead();

}  // namespace nekton::bench
