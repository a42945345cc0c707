#include "phi/histogram.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "swim/random.h"
#include "tests/count_allocations.h"

namespace nekton {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// With this expectation a unit is 2^20 ns, and buckets 0 to 15 are one unit wide.
constexpr Duration kExpected = milliseconds(100);
constexpr Duration kUnit{1 << 20};

double ShareLonger(double phi) { return std::pow(10, -phi); }

TEST(HistogramTest, EmptyKnowsNothing) {
  const Histogram histogram(kExpected);
  EXPECT_TRUE(histogram.empty());
  EXPECT_EQ(histogram.Phi(hours(1)), 0);
  EXPECT_EQ(histogram.SilenceFor(0), Duration::zero());
  EXPECT_EQ(histogram.SilenceFor(1), Duration::max());
}

TEST(HistogramTest, PhiIsTheShareOfLongerSamples) {
  // Few samples, so that the decay does not show: two modes, three short ones to a long one.
  Histogram histogram(kExpected);
  for (int i = 0; i < 4; ++i) histogram.Add(i % 4 == 3 ? 64 * kUnit : 8 * kUnit);
  EXPECT_FALSE(histogram.empty());
  EXPECT_EQ(histogram.Phi(8 * kUnit), 0);  // all are as long as that
  EXPECT_NEAR(ShareLonger(histogram.Phi(9 * kUnit)), 0.25, 0.01);
  // Between the modes nothing changes.
  EXPECT_EQ(histogram.Phi(9 * kUnit), histogram.Phi(60 * kUnit));
  EXPECT_EQ(histogram.Phi(9 * kUnit), histogram.Phi(64 * kUnit));
  EXPECT_GT(histogram.Phi(66 * kUnit), histogram.Phi(64 * kUnit));
}

// The edges of the buckets, found from outside by the obvious rule: eight to a power of two, from 16 units on.
std::vector<Duration> Edges() {
  std::vector<Duration> edges;
  for (int i = 0; i < 16; ++i) edges.push_back(i * kUnit);
  for (Duration width = 2 * kUnit; width <= 64 * kUnit; width *= 2) {
    for (int i = 8; i < 16; ++i) edges.push_back(i * width);
  }
  return edges;
}

TEST(HistogramTest, AgreesWithASlowComputationAtTheEdges) {
  Random random(1);
  const std::vector<Duration> edges = Edges();
  ASSERT_EQ(edges.size(), 64U);
  for (int round = 0; round < 50; ++round) {
    Histogram histogram(kExpected);
    std::vector<Duration> samples;
    const auto count = 1 + static_cast<int>(random.Below(300));
    for (int i = 0; i < count; ++i) {
      const double ms = (random.Below(5) == 0 ? 400 : 60) * std::exp(random.Unit() - 0.5);
      samples.emplace_back(static_cast<std::int64_t>(ms * 1e6));
      histogram.Add(samples.back());
    }
    // The end of the last bucket that holds a sample: up to there phi is the share, beyond it is the tail.
    const Duration longest = *std::max_element(samples.begin(), samples.end());
    for (const Duration edge : edges) {
      if (edge > longest) break;
      double all = 0;
      double longer = 0;
      double weight = 1;
      for (const Duration sample : samples) {
        all += weight;
        if (sample >= edge) longer += weight;
        weight *= 1 + 1.0 / 128;
      }
      EXPECT_NEAR(histogram.Phi(edge), -std::log10(longer / all), 1e-4) << count << " samples, at " << edge.count();
    }
  }
}

TEST(HistogramTest, TailIsExponential) {
  Histogram histogram(kExpected);
  for (int i = 0; i < 4; ++i) histogram.Add(40 * kUnit);  // a bucket from 40 to 44 units
  // All samples in one bucket: the tail is as wide as the bucket.
  for (const int excess : {0, 1, 4, 40, 4000}) {
    EXPECT_NEAR(histogram.Phi((40 + excess) * kUnit), excess / 4.0 * std::log10(std::exp(1)), 1e-9 * (1 + excess));
  }
  EXPECT_TRUE(std::isfinite(histogram.Phi(Duration::max())));
}

TEST(HistogramTest, TailIsAsWideAsTheUpperEighth) {
  // More than an eighth in the last bucket, from 80 to 88 units: the modes below do not matter.
  Histogram modes(kExpected);
  for (const int units : {10, 10, 10, 40, 40, 80}) modes.Add(units * kUnit);
  EXPECT_NEAR(modes.Phi(88 * kUnit) - modes.Phi(80 * kUnit), std::log10(std::exp(1)), 1e-12);
  // Less than that: what is above 40 units counts, and it exceeds them by far more than the width of a bucket.
  for (int i = 0; i < 12; ++i) modes.Add((i == 0 ? 40 : 10) * kUnit);
  EXPECT_LT(modes.Phi(88 * kUnit) - modes.Phi(80 * kUnit), 0.6 * std::log10(std::exp(1)));
}

TEST(HistogramTest, TailOfExponentialSamplesHasTheirMean) {
  Random random(2);
  Histogram histogram(kExpected);
  double sum = 0;
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < 128; ++i) {
      histogram.Add(nanoseconds(static_cast<std::int64_t>(-std::log(1 - random.Unit()) * 100e6)));
    }
    const double phi = histogram.Phi(seconds(4));
    sum += (histogram.Phi(seconds(5)) - phi) / (10 * std::log10(std::exp(1)));
  }
  EXPECT_NEAR(sum / 200, 1, 0.15);
}

TEST(HistogramTest, ForgetsAnOutage) {
  Histogram histogram(kExpected);
  for (int i = 0; i < 1000; ++i) histogram.Add(milliseconds(100));
  const Duration before = histogram.SilenceFor(8);
  EXPECT_LT(before, milliseconds(300));
  histogram.Add(seconds(60));
  EXPECT_GT(histogram.SilenceFor(8), seconds(1));
  for (int i = 0; i < 355; ++i) histogram.Add(milliseconds(100));
  EXPECT_GT(histogram.SilenceFor(8), milliseconds(700));
  for (int i = 0; i < 356; ++i) histogram.Add(milliseconds(100));
  EXPECT_EQ(histogram.SilenceFor(8), before);
}

TEST(HistogramTest, ClearForgetsAll) {
  Histogram histogram(kExpected);
  for (int i = 0; i < 1000; ++i) histogram.Add(milliseconds(i));
  histogram.Clear();
  EXPECT_TRUE(histogram.empty());
  Histogram fresh(kExpected);
  for (Histogram* one : {&histogram, &fresh}) {
    one->Add(milliseconds(70));
    one->Add(milliseconds(90));
  }
  for (int ms = 0; ms < 1000; ++ms) EXPECT_EQ(histogram.Phi(milliseconds(ms)), fresh.Phi(milliseconds(ms)));
}

TEST(HistogramTest, OddTimes) {
  for (const Duration expected : {Duration::min(), Duration::zero(), Duration::max()}) {
    Histogram histogram(expected);
    histogram.Add(Duration::min());
    histogram.Add(Duration::max());
    EXPECT_EQ(histogram.Phi(Duration::min()), 0);
    EXPECT_EQ(histogram.Phi(Duration::zero()), 0);
    const double phi = histogram.Phi(Duration::max());
    EXPECT_TRUE(std::isfinite(phi) && phi > 0) << phi;
    for (const double level : {kNan, kInfinity}) EXPECT_EQ(histogram.SilenceFor(level), Duration::max());
    for (const double level : {0.0, -1.0, -kInfinity}) EXPECT_EQ(histogram.SilenceFor(level), Duration::zero());
  }
}

TEST(HistogramTest, NeverFallsAndItsInverseIsExact) {
  Random random(3);
  for (int round = 0; round < 2000 && !testing::Test::HasFailure(); ++round) {
    const auto expected = nanoseconds(static_cast<std::int64_t>(std::exp(random.Unit() * 25 + 3)));
    Histogram histogram(expected);
    const int samples = 1 + static_cast<int>(random.Below(1500));
    const double spread = random.Unit() * 6;
    const auto any = [&] {
      return nanoseconds(
          static_cast<std::int64_t>(static_cast<double>(expected.count()) * std::exp((random.Unit() - 0.5) * spread)));
    };
    for (int i = 0; i < samples; ++i) histogram.Add(any());
    for (int i = 0; i < 50; ++i) {
      const Duration silence = any();
      const double phi = histogram.Phi(silence);
      EXPECT_GE(phi, 0);
      EXPECT_LE(phi, histogram.Phi(silence + nanoseconds(1)));
      EXPECT_LE(phi, histogram.Phi(silence + any()));
      for (const double level : {phi, random.Unit() * 2, std::exp(random.Unit() * 10 - 5)}) {
        const Duration convicts = histogram.SilenceFor(level);
        EXPECT_GE(histogram.Phi(convicts), level);
        if (convicts > Duration::zero()) {
          EXPECT_LT(histogram.Phi(convicts - nanoseconds(1)), level);
        }
      }
    }
  }
}

TEST(HistogramTest, AllocatesNothing) {
  const std::uint64_t before = allocations;
  Histogram histogram(kExpected);
  Duration sum{};
  for (int i = 0; i < 2000; ++i) {
    histogram.Add(milliseconds(i));
    sum += histogram.SilenceFor(8);
  }
  EXPECT_EQ(allocations, before);
  EXPECT_GT(sum, Duration::zero());
}

static_assert(sizeof(Histogram) < 300);

}  // namespace
}  // namespace nekton
