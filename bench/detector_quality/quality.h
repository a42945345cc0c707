// How good a failure detector is on a trace.
//
// Source: Chen, Toueg, Aguilera, "On the quality of service of failure detectors" (IEEE ToC 51(5), 2002), section 2:
// detection time T_D, average mistake rate lambda_M, average mistake duration T_M, query accuracy probability P_A.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "bench/detector_quality/contender.h"
#include "bench/detector_quality/trace.h"

namespace nekton::quality {

// From a crash to the suspicion that stays; zero if the peer was suspected already.
struct DetectionTimes {
  std::uint64_t crashes = 0;     // that were detected
  std::uint64_t undetected = 0;  // for ever
  double mean = 0;               // seconds, of the detected ones; all zero if there are none
  double p99 = 0;                // 99 % are at most this long
  double max = 0;
};

struct Quality {
  DetectionTimes detection;
  std::uint64_t mistakes = 0;  // how often the live peer came to be suspected
  Duration suspected{};        // how long it was, in all
  Duration watched{};

  double MistakesPerHour() const;                // lambda_M
  std::optional<double> MistakeSeconds() const;  // T_M; nothing without a mistake
  double QueryAccuracy() const;                  // P_A: the share of the time in which it was trusted
};

// Runs `contender`, which must be fresh, over the whole trace. Measured is from the arrival of beat number `warmup` (from
// 0) to that of the last one; what is due at the very instant a beat arrives is no mistake. `crashes` are instants in
// order; those outside the sending of these two beats are left out. A crash loses what was not yet sent.
Quality Measure(const Trace& trace, Contender* contender, std::size_t warmup, std::span<const Instant> crashes);

}  // namespace nekton::quality
