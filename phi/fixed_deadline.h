// The classic detector: an answer is overdue after a fixed time. It learns nothing and costs nothing.
#pragma once

#include "phi/detector.h"

namespace nekton {

class FixedDeadline final : public Detector {
 public:
  // `limit` > 0: the silence that convicts. `threshold` > 0: the level reached at that instant.
  FixedDeadline(Duration limit, double threshold) : limit_(limit), threshold_(threshold) {}

  // `opened` + limit, held at kNever.
  Instant DeadlineFor(std::uint32_t peer, Instant opened) const override;
  void Heard(std::uint32_t peer, Instant opened, Instant now, std::uint32_t beats) override;
  // Grows linearly with the silence: 0 until `opened`, exactly threshold() at the deadline, and on beyond it.
  double Level(std::uint32_t peer, Instant opened, Instant now) const override;
  Instant ReachedAt(std::uint32_t peer, Instant opened, double level) const override;
  double threshold() const override { return threshold_; }
  void SetThreshold(double threshold) override { threshold_ = threshold; }
  void SetLimit(Duration limit) { limit_ = limit; }  // > 0
  void Reserve(std::uint32_t peers) override;
  void Forget(std::uint32_t peer) override;

 private:
  Duration limit_;
  double threshold_;
};

}  // namespace nekton
