// What was measured, as text and as JSON: a line each, with its line feed. In the table figures are rounded.
#pragma once

#include <cstdint>
#include <string>

#include "bench/detection/crashes.h"
#include "bench/detection/soak.h"

namespace nekton::bench {

struct RowName {
  std::string protocol;
  std::string detector;
  std::string probing;
  std::uint32_t nodes = 0;
  std::string network;  // of the soak: a loss, or "bursts"
  std::uint64_t seed = 1;
};

std::string CrashJsonLine(const RowName& name, const CrashPlan& plan, const CrashSample& sample);
std::string CrashTableLine(const RowName& name, const CrashPlan& plan, const CrashSample& sample);
std::string CrashTableHead();

std::string SoakJsonLine(const RowName& name, const SoakCounts& counts);
std::string SoakTableLine(const RowName& name, const SoakCounts& counts);
std::string SoakTableHead();

}  // namespace nekton::bench
