#include "phi/window.h"

namespace nekton {

Moments SampleSums::Of(std::uint32_t count) const {
  if (count == 0) return {};
  constexpr double kNanoseconds = 1000;
  const auto n = static_cast<double>(count);
  // n * sum(x^2) - sum(x)^2 in integers: as a difference of doubles nothing would be left of a small variance.
  const Wide spread = squares_ * count - static_cast<Wide>(sum_) * sum_;
  return {.count = count,
          .mean = static_cast<double>(sum_) * kNanoseconds / n,
          .variance = static_cast<double>(spread) / (n * n) * (kNanoseconds * kNanoseconds)};
}

}  // namespace nekton
