#include "bench/common/quantiles.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace nekton::bench {

std::optional<double> Quantile(std::vector<double> sample, double share) {
  if (sample.empty()) return std::nullopt;
  const double rank = std::ceil(share * static_cast<double>(sample.size()) - 1e-9);
  const auto index = static_cast<std::ptrdiff_t>(std::max(rank, 1.0)) - 1;
  std::nth_element(sample.begin(), sample.begin() + index, sample.end());
  return sample[static_cast<std::size_t>(index)];
}

}  // namespace nekton::bench
