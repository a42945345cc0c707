// Order statistics of a sample.
#pragma once

#include <optional>
#include <vector>

namespace nekton::bench {

// The smallest value that at least `share` (in (0, 1]) of the sample does not exceed; nullopt of an empty sample.
std::optional<double> Quantile(std::vector<double> sample, double share);

}  // namespace nekton::bench
