// How far a member trusts itself: a score that rises when its own probing goes wrong (Lifeguard, section IV-A).
//
// The probe period and all that follows from it stretch by 1 + score. Not thread-safe; a plain value.
#pragma once

#include <algorithm>
#include <cstdint>

namespace nekton {

class LocalHealth {
 public:
  // `max`: the highest score; 0: it never rises.
  explicit LocalHealth(std::uint32_t max) : max_(max) {}
  void SetMax(std::uint32_t max) {
    max_ = max;
    score_ = std::min(score_, max_);
  }
  void Worse() { score_ = std::min(score_ + 1, max_); }
  void Better() { score_ -= score_ > 0 ? 1 : 0; }
  void Reset() { score_ = 0; }
  std::uint32_t score() const { return score_; }

 private:
  std::uint32_t max_;
  std::uint32_t score_ = 0;
};

}  // namespace nekton
