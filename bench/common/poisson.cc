#include "bench/common/poisson.h"

#include <algorithm>
#include <cmath>

namespace nekton::bench {
namespace {

constexpr double kNegligible = 1e-17;  // beside the terms before

// P(X = k), through its logarithm, for k! is soon too large.
double Mass(double k, double mean) { return std::exp(k * std::log(mean) - mean - std::lgamma(k + 1)); }

// P(X <= count) for a mean above the count: terms fall from the first on.
double AtMost(double count, double mean) {
  double term = Mass(count, mean);
  double sum = 0;
  for (double k = count; k >= 0 && term > kNegligible * sum; --k) {
    sum += term;
    term *= k / mean;
  }
  return sum;
}

// P(X >= count) for a mean below the count.
double AtLeast(double count, double mean) {
  double term = Mass(count, mean);
  double sum = 0;
  for (double k = count + 1; term > kNegligible * sum; ++k) {
    sum += term;
    term *= mean / k;
  }
  return sum;
}

// The mean in [low, high] at which `probability`, monotonic in it, is `wanted`.
template <typename Probability>
double Solve(double low, double high, bool rises, double wanted, Probability probability) {
  for (int i = 0; i < 200 && high - low > 1e-12 * high; ++i) {
    const double middle = (low + high) / 2;
    ((probability(middle) < wanted) == rises ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

Interval PoissonInterval(std::uint64_t count, double confidence) {
  const double tail = (1 - confidence) / 2;
  const auto k = static_cast<double>(count);
  // Both ends are well within this: a mean of 0 has its upper end at -log(tail), and the spread grows as its root.
  const double beyond = k + 20 * std::sqrt(k + 1) - 2 * std::log(tail);
  Interval interval;
  interval.high = Solve(k, beyond, /*rises=*/false, tail, [k](double mean) { return AtMost(k, mean); });
  if (count > 0) interval.low = Solve(0, k, /*rises=*/true, tail, [k](double mean) { return AtLeast(k, mean); });
  return interval;
}

}  // namespace nekton::bench
