#include "phi/distribution.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "phi/tail.h"
#include "swim/random.h"
#include "tests/count_allocations.h"

namespace nekton {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr Law kLaws[] = {Law::kNormal, Law::kLogNormal, Law::kExponential, Law::kGamma};
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kMs = 1e6;  // ns

// Means from 1 us to 1 h, deviations from 1 % to 200 %.
Distribution RandomDistribution(Random& random) {
  const double mean = 1e3 * std::exp(random.Unit() * std::log(3.6e9));
  return {kLaws[random.Below(4)], mean, mean * 0.01 * std::exp(random.Unit() * std::log(200))};
}

// The silence is the first one that convicts.
testing::AssertionResult IsExact(const Distribution& distribution, double level) {
  const Duration silence = distribution.SilenceFor(level);
  const auto state = [&] {
    return testing::Message() << "law " << static_cast<int>(distribution.law()) << ", mean " << distribution.mean()
                              << ", deviation " << distribution.deviation() << ", level " << level << ": "
                              << silence.count() << " ns";
  };
  if (silence < Duration::zero()) return testing::AssertionFailure(state());
  const double at = distribution.Phi(silence);
  if (silence == Duration::max()) {
    return at < level || distribution.Phi(silence - nanoseconds(1)) < level ? testing::AssertionSuccess()
                                                                            : testing::AssertionFailure(state());
  }
  if (!(at >= level)) return testing::AssertionFailure(state() << ", where phi is " << at);
  if (silence == Duration::zero()) return testing::AssertionSuccess();
  const double before = distribution.Phi(silence - nanoseconds(1));
  return before < level ? testing::AssertionSuccess()
                        : testing::AssertionFailure(state() << ", but 1 ns before phi is " << before);
}

TEST(DistributionTest, SilenceForIsExactToTheNanosecond) {
  Random random(1);
  int found = 0;
  for (int i = 0; i < 100'000 && !testing::Test::HasFailure(); ++i) {
    const Distribution distribution = RandomDistribution(random);
    const double level = std::exp(random.Unit() * 12 - 6);  // 0.0025 to 400
    const Duration silence = distribution.SilenceFor(level);
    EXPECT_TRUE(IsExact(distribution, level));
    if (silence < Duration::max()) ++found;
    // The level that a silence has leads back to the first silence that has it.
    EXPECT_TRUE(IsExact(distribution, distribution.Phi(silence)));
    EXPECT_LE(distribution.SilenceFor(distribution.Phi(silence)), silence);
  }
  EXPECT_GT(found, 95'000);  // some lognormal laws reach their level in centuries
}

TEST(DistributionTest, SilenceForIsExactForAnyParametersAndLevels) {
  Random random(2);
  const auto any = [&] { return std::exp(random.Unit() * 60 - 20); };
  for (int i = 0; i < 30'000 && !testing::Test::HasFailure(); ++i) {
    const Distribution distribution(kLaws[random.Below(4)], any(), any());
    EXPECT_TRUE(IsExact(distribution, any()));
    EXPECT_TRUE(IsExact(distribution, std::exp(-any())));
  }
}

TEST(DistributionTest, PhiNeverFallsAsSilenceGrows) {
  Random random(3);
  for (int i = 0; i < 100'000 && !testing::Test::HasFailure(); ++i) {
    const Distribution distribution = RandomDistribution(random);
    const auto silence = nanoseconds(static_cast<std::int64_t>(distribution.mean() * random.Unit() * 20));
    const auto longer = nanoseconds(static_cast<std::int64_t>(random.Next() >> (1 + random.Below(62))));
    const double phi = distribution.Phi(silence);
    EXPECT_GE(phi, 0);
    EXPECT_LE(phi, distribution.Phi(silence + nanoseconds(1)));
    EXPECT_LE(phi, distribution.Phi(std::max(silence, longer)));
    EXPECT_LE(distribution.Phi(std::max(silence, longer)), kMaxPhi);
  }
}

TEST(DistributionTest, HasTheMeanAndTheDeviationAskedFor) {
  // The mean is the area under the tail; the mean square is that under 2 t P(X > t).
  for (const Law law : {Law::kLogNormal, Law::kGamma, Law::kNormal}) {
    const Distribution distribution(law, 100 * kMs, 30 * kMs);
    double area = 0;
    double moment = 0;
    constexpr double kStep = 0.01 * kMs;
    for (double t = kStep / 2; t < 2000 * kMs; t += kStep) {
      const double tail = std::pow(10, -distribution.Phi(nanoseconds(std::llround(t))));
      area += tail * kStep;
      moment += 2 * t * tail * kStep;
    }
    EXPECT_NEAR(area, 100 * kMs, 0.1 * kMs) << static_cast<int>(law);
    EXPECT_NEAR(std::sqrt(moment - area * area), 30 * kMs, 0.1 * kMs) << static_cast<int>(law);
  }
}

TEST(DistributionTest, KnownValues) {
  const Distribution beats(Law::kNormal, 1000 * kMs, 50 * kMs);
  EXPECT_NEAR(beats.Phi(milliseconds(1200)), 4.4993349075564789, 1e-13);
  EXPECT_NEAR(static_cast<double>(beats.SilenceFor(8).count()), 1000 * kMs + 50 * kMs * 5.6120012441747887, 2);
  const Distribution memoryless(Law::kExponential, 100 * kMs, 1);
  EXPECT_DOUBLE_EQ(memoryless.Phi(milliseconds(1000)), 4.3429448190325183);
  EXPECT_EQ(memoryless.SilenceFor(1), nanoseconds(230'258'510));
  // A gamma law of shape 1 is the exponential one; a lognormal one reaches log10 2 at its median.
  const Distribution gamma(Law::kGamma, 100 * kMs, 100 * kMs);
  EXPECT_NEAR(gamma.Phi(milliseconds(1000)), 4.3429448190325183, 1e-13);
  const Distribution trips(Law::kLogNormal, 100 * kMs, 100 * kMs);
  EXPECT_NEAR(static_cast<double>(trips.SilenceFor(std::log10(2)).count()), 100 * kMs / std::sqrt(2), 2);
}

// Where a deviation is held the mean is still the one asked for.
TEST(DistributionTest, HeldDeviationsMoveNoMean) {
  for (const Law law : {Law::kNormal, Law::kLogNormal, Law::kGamma}) {
    const Distribution distribution(law, 100 * kMs, 0);
    const auto median = static_cast<double>(distribution.SilenceFor(std::log10(2)).count());
    EXPECT_NEAR(median, 100 * kMs, 0.01 * kMs) << static_cast<int>(law);
  }
}

TEST(DistributionTest, NegativeSilenceIsNone) {
  for (const Law law : kLaws) {
    const Distribution distribution(law, 100 * kMs, 50 * kMs);
    EXPECT_EQ(distribution.Phi(nanoseconds(-1)), distribution.Phi(nanoseconds(0)));
    EXPECT_EQ(distribution.Phi(Duration::min()), distribution.Phi(nanoseconds(0)));
  }
}

TEST(DistributionTest, LevelsThatNeedNoSilenceOrNoneSuffices) {
  for (const Law law : kLaws) {
    const Distribution distribution(law, 100 * kMs, 50 * kMs);
    for (const double level : {0.0, -1.0, -kInfinity}) EXPECT_EQ(distribution.SilenceFor(level), Duration::zero());
    for (const double level : {kNan, kInfinity, kMaxPhi}) EXPECT_EQ(distribution.SilenceFor(level), Duration::max());
  }
  // The normal law grants times below zero: there is some phi already at none.
  EXPECT_EQ(Distribution(Law::kNormal, 100 * kMs, 100 * kMs).SilenceFor(0.07), Duration::zero());
  EXPECT_GT(Distribution(Law::kNormal, 100 * kMs, 100 * kMs).SilenceFor(0.08), Duration::zero());
}

TEST(DistributionTest, ParametersAreHeld) {
  for (const Law law : kLaws) {
    EXPECT_EQ(Distribution(law, kNan, kNan).mean(), 1);
    EXPECT_EQ(Distribution(law, -5, 1).mean(), 1);
    EXPECT_EQ(Distribution(law, kInfinity, 1).mean(), 0x1p53);
    const double least = law == Law::kGamma ? 10 : 1;
    EXPECT_EQ(Distribution(law, 1000, 0).deviation(), least);
    EXPECT_EQ(Distribution(law, 1000, kNan).deviation(), least);
    EXPECT_EQ(Distribution(law, 1000, kInfinity).deviation(), 3160);
    EXPECT_EQ(Distribution(law, 1000, 77).deviation(), 77);
    for (const double mean : {0.0, kInfinity}) {
      for (const double deviation : {0.0, kInfinity}) {
        for (const double level : {1e-3, 8.0, 300.0}) EXPECT_TRUE(IsExact({law, mean, deviation}, level));
      }
    }
  }
}

TEST(DistributionTest, AllocatesNothing) {
  Random random(4);
  const std::uint64_t before = allocations;
  double sum = 0;
  for (int i = 0; i < 1000; ++i) {
    const Distribution distribution = RandomDistribution(random);
    sum += distribution.Phi(distribution.SilenceFor(8)) + distribution.Phi(distribution.SilenceFor(1000));
  }
  EXPECT_EQ(allocations, before);
  EXPECT_GT(sum, 0);
}

static_assert(sizeof(Distribution) <= 40);

}  // namespace
}  // namespace nekton
