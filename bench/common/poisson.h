// How sure a count of rare events is.
#pragma once

#include <cstdint>

namespace nekton::bench {

struct Interval {
  double low = 0;
  double high = 0;
};

// Exact two-sided interval of the mean of a Poisson distribution of which `count` was seen (Garwood, Biometrika 28,
// 1936): a mean below `low` gives `count` or more, and one above `high` gives `count` or fewer, with a probability of
// at most (1 - confidence) / 2. `confidence` is in (0, 1).
Interval PoissonInterval(std::uint64_t count, double confidence = 0.95);

}  // namespace nekton::bench
