#include "bench/detector_quality/chen_estimator.h"

namespace nekton::quality {

Duration ChenEstimator::Scheduled(std::uint64_t sequence) const {
  return interval_ * static_cast<Duration::rep>(sequence - first_);
}

void ChenEstimator::Heard(std::uint64_t sequence, Instant arrived) {
  if (count_ == 0) {
    first_ = sequence;
    begin_ = arrived;
  }
  last_ = sequence;
  const Duration shift = arrived - begin_ - Scheduled(sequence);
  if (count_ == shifts_.size()) {
    sum_ -= shifts_[next_];
  } else {
    ++count_;
  }
  shifts_[next_] = shift;
  sum_ += shift;
  next_ = next_ + 1 == shifts_.size() ? 0 : next_ + 1;
}

Instant ChenEstimator::Expected() const {
  return begin_ + Scheduled(last_ + 1) + sum_ / static_cast<Duration::rep>(count_);
}

}  // namespace nekton::quality
