// The phi-accrual detector for probes: an answer is overdue when its lateness is improbable, given this peer's answers.
//
// Source: Hayashibara et al., "The phi accrual failure detector" (SRDS 2004); round trips are taken as lognormal, as
// they are never below the wire and a long way above it. Of each peer a decayed mean and deviation are kept (8 bytes),
// drawn toward those of all peers together, for in a large group one pair meets once in N periods (phi/pool.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "phi/detector.h"
#include "phi/distribution.h"
#include "phi/pool.h"

namespace nekton {

class PhiProbe final : public Detector {
 public:
  struct Options {
    double threshold = 3;  // > 0: one answer in 10^threshold comes later than its deadline
    Duration mean{};       // of an answer from a peer of which nothing is known, and its deviation; > 0
    Duration deviation{};
    Duration deviation_min = std::chrono::milliseconds(1);  // no deviation is taken to be less than this,
    double deviation_share = 0.1;                           // nor than this share of the mean
  };
  // So many samples beyond the point of suspicion in a row are a new normal: the peer begins anew from them.
  static constexpr std::uint32_t kClippedMax = 8;

  explicit PhiProbe(const Options& options);

  Instant DeadlineFor(std::uint32_t peer, Instant opened) const override;
  // A sample beyond the deadline is taken as if it had come just then: one outage must not blunt the detector. Late
  // answers are samples too, else what is learned would only ever shrink.
  void Heard(std::uint32_t peer, Instant opened, Instant now, std::uint32_t beats) override;
  double Level(std::uint32_t peer, Instant opened, Instant now) const override;
  Instant ReachedAt(std::uint32_t peer, Instant opened, double level) const override;
  double threshold() const override { return options_.threshold; }
  void SetThreshold(double threshold) override { options_.threshold = threshold; }
  void Reserve(std::uint32_t peers) override;
  void Forget(std::uint32_t peer) override;

  // As it is expected now.
  Distribution Expected(std::uint32_t peer) const;

 private:
  Moments Known(std::uint32_t peer) const;

  Options options_;
  Pool pool_;
  std::vector<CompactStats> peers_;  // each tallies the clipped samples in a row
  static_assert(kClippedMax <= CompactStats::kTallyMax + 1);
};

}  // namespace nekton
