// When the next heartbeat is expected, as Chen, Toueg and Aguilera estimate it. For comparison; no part of the library.
//
// Source: "On the quality of service of failure detectors" (IEEE ToC 51(5), 2002), section 6, NFD-E: the last n arrivals,
// each moved on by the intervals that have been sent since, are averaged. It knows the interval and the numbers of
// the beats, so losses do not mislead it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "phi/time.h"

namespace nekton::quality {

class ChenEstimator {
 public:
  // `interval` > 0 between the sendings of two beats; the average is of the last `window` >= 1 beats.
  ChenEstimator(Duration interval, std::size_t window) : interval_(interval), shifts_(window) {}

  // Sequence numbers must rise; they may leave some out.
  void Heard(std::uint64_t sequence, Instant arrived);
  // The arrival of the beat after the one that was heard last; at least one has been heard.
  Instant Expected() const;

 private:
  Duration Scheduled(std::uint64_t sequence) const;

  Duration interval_;
  // How far each arrival was behind a schedule that begins with the first one. Integers: what leaves the window leaves
  // no trace in the sum.
  std::vector<Duration> shifts_;
  Duration sum_{};
  std::size_t count_ = 0;
  std::size_t next_ = 0;
  std::uint64_t first_ = 0;
  std::uint64_t last_ = 0;
  Instant begin_{};
};

}  // namespace nekton::quality
