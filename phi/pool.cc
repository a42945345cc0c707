#include "phi/pool.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace nekton {
namespace {

constexpr double kQuarter = 250;  // ns
constexpr double kQuarters = 1 / kQuarter;

// 1/1, 1/2 and so on: a division costs more than all the rest of CompactStats::Add.
constexpr auto kGains = [] {
  std::array<double, CompactStats::kMemory> gains{};
  for (std::size_t i = 0; i < gains.size(); ++i) gains[i] = 1.0 / static_cast<double>(i + 1);
  return gains;
}();

double Nanoseconds(Duration sample) { return static_cast<double>(std::max(sample, Duration::zero()).count()); }

// Adds `sample` to a mean and a variance in which it weighs `gain` (West 1979).
void Update(double sample, double gain, double& mean, double& variance) {
  const double difference = sample - mean;
  const double step = difference * gain;
  mean += step;
  variance = (1 - gain) * (variance + difference * step);
}

std::uint32_t Rounded(double quarters, std::uint32_t most) {
  return quarters < static_cast<double>(most) ? static_cast<std::uint32_t>(quarters + 0.5) : most;
}

}  // namespace

Pool::Pool(Duration mean, Duration deviation)
    : mean_(Nanoseconds(mean)), variance_(Nanoseconds(deviation) * Nanoseconds(deviation)) {}

void Pool::Add(Duration sample) {
  constexpr double kLeastGain = 1.0 / kMemory;
  double gain = kLeastGain;
  if (count_ < kMemory) gain = 1.0 / ++count_;  // in the long run no division
  Update(Nanoseconds(sample), gain, mean_, variance_);
}

Moments Pool::Shrink(const Moments& peer, const Moments& pool) {
  const double n = peer.count;
  const double share = n / (n + kPriorWeight);
  const double apart = peer.mean - pool.mean;
  return {.count = peer.count,
          .mean = pool.mean + share * apart,
          .variance = share * peer.variance + (1 - share) * (pool.variance + share * apart * apart)};
}

void CompactStats::Add(Duration sample) {
  constexpr std::uint32_t kMostMean = UINT32_MAX;
  constexpr std::uint32_t kMostDeviation = UINT32_MAX >> (32 - kDeviationBits);
  const std::uint32_t count = std::min(count_ + 1U, kMemory);
  double mean = mean_;
  double variance = static_cast<double>(deviation_) * static_cast<double>(deviation_);
  Update(std::min(Nanoseconds(sample) * kQuarters, static_cast<double>(kMostMean)), kGains[count - 1], mean, variance);
  count_ = count & ((1U << kCountBits) - 1);
  mean_ = Rounded(mean, kMostMean);
  deviation_ = Rounded(std::sqrt(variance), kMostDeviation) & kMostDeviation;
}

Moments CompactStats::moments() const {
  const double deviation = deviation_ * kQuarter;
  return {.count = count_, .mean = mean_ * kQuarter, .variance = deviation * deviation};
}

}  // namespace nekton
