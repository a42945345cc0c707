// The detectors that are compared, each at many values of the one parameter that trades speed for mistakes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/detector_quality/contender.h"
#include "bench/detector_quality/trace.h"

namespace nekton::quality {

struct Setting {
  std::string detector;   // "fixed", "chen", "phi" or "phi-loss-aware"
  std::string parameter;  // "timeout_ms", "margin_ms" or "threshold"
  double value = 0;
  std::function<std::unique_ptr<Contender>()> make;
};

// Of each detector in turn, the values rising. Times follow from the interval of the trace.
//   fixed           FixedDeadline: silence since the last beat
//   chen            ChenEstimator over the last 1000 beats, and a safety margin
//   phi             PhiHeartbeat by its deadline, classic phi; it is not told of losses
//   phi-loss-aware  PhiHeartbeat by its level
// Both phi have the defaults of the library: a window of 128, a deviation of at least 5 % of the mean.
std::vector<Setting> Settings(const Trace& trace);

}  // namespace nekton::quality
