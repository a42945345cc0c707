// What was measured, as text and as JSON.
#pragma once

#include <string>

#include "bench/detector_quality/quality.h"
#include "bench/detector_quality/trace.h"

namespace nekton::quality {

struct Row {
  std::string trace;
  std::string detector;
  std::string parameter;
  double value = 0;
  Quality quality;
};

// A line each, with its line feed. The same figures are in both; in the table they are rounded.
std::string JsonLine(const Row& row);
std::string TableLine(const Row& row);
// Stands above the lines of one trace: what it is, and the names of the columns.
std::string TableHead(const Trace& trace);

}  // namespace nekton::quality
