#include "phi/pool.h"

#include <chrono>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "swim/random.h"
#include "tests/count_allocations.h"

namespace nekton {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::nanoseconds;

double Deviation(const Moments& moments) { return std::sqrt(moments.variance); }

// Mean and variance of weighted values.
Moments Weighted(const std::vector<double>& values, const std::vector<double>& weights) {
  double all = 0;
  double mean = 0;
  for (std::size_t i = 0; i < values.size(); ++i) all += weights[i], mean += weights[i] * values[i];
  mean /= all;
  double variance = 0;
  for (std::size_t i = 0; i < values.size(); ++i) variance += weights[i] * (values[i] - mean) * (values[i] - mean);
  return {.count = 0, .mean = mean, .variance = variance / all};
}

TEST(PoolTest, BeginsWithThePrior) {
  const Pool pool(milliseconds(50), milliseconds(20));
  EXPECT_EQ(pool.moments().count, Pool::kPriorWeight);
  EXPECT_EQ(pool.moments().mean, 50e6);
  EXPECT_EQ(Deviation(pool.moments()), 20e6);
}

TEST(PoolTest, ThePriorIsEightSamples) {
  Random random(1);
  Pool pool(milliseconds(50), milliseconds(20));
  // Eight samples with that mean and deviation, then the real ones.
  std::vector<double> values = {30e6, 30e6, 30e6, 30e6, 70e6, 70e6, 70e6, 70e6};
  for (int i = 0; i < 1000; ++i) {
    const auto sample = microseconds(random.Below(10'000));
    pool.Add(sample);
    values.push_back(static_cast<double>(nanoseconds(sample).count()));
    const Moments want = Weighted(values, std::vector<double>(values.size(), 1));
    ASSERT_NEAR(pool.moments().mean, want.mean, 1e-12 * want.mean);
    ASSERT_NEAR(pool.moments().variance, want.variance, 1e-12 * want.variance);
  }
}

TEST(PoolTest, OldSamplesDecay) {
  Pool pool(milliseconds(50), milliseconds(20));
  for (int i = 0; i < 5000; ++i) pool.Add(milliseconds(10));
  EXPECT_EQ(pool.moments().count, Pool::kMemory);
  for (int i = 0; i < 10'000; ++i) pool.Add(milliseconds(i % 2 == 0 ? 1 : 3));
  EXPECT_NEAR(pool.moments().mean, 2e6, 0.01e6);
  EXPECT_NEAR(Deviation(pool.moments()), 1e6, 0.03e6);
}

TEST(PoolTest, AStrangerIsLikeThePool) {
  const Pool pool(milliseconds(50), milliseconds(20));
  const Moments moments = pool.Shrink({});
  EXPECT_EQ(moments.count, 0U);
  EXPECT_EQ(moments.mean, 50e6);
  EXPECT_EQ(Deviation(moments), 20e6);
}

TEST(PoolTest, ShrinksAsIfTheSamplesWereTakenTogether) {
  const Pool pool(milliseconds(50), milliseconds(20));
  std::vector<double> values = {30e6, 30e6, 30e6, 30e6, 70e6, 70e6, 70e6, 70e6};
  std::vector<double> own;
  for (const double sample : {5e6, 9e6, 100e6, 1e6, 3e6}) {
    own.push_back(sample);
    values.push_back(sample);
    Moments peer = Weighted(own, std::vector<double>(own.size(), 1));
    peer.count = static_cast<std::uint32_t>(own.size());
    const Moments want = Weighted(values, std::vector<double>(values.size(), 1));
    EXPECT_NEAR(pool.Shrink(peer).mean, want.mean, 1e-12 * want.mean);
    EXPECT_NEAR(pool.Shrink(peer).variance, want.variance, 1e-12 * want.variance);
    EXPECT_EQ(pool.Shrink(peer).count, peer.count);
  }
}

TEST(PoolTest, AWellKnownPeerIsItself) {
  const Pool pool(milliseconds(50), milliseconds(20));
  const Moments moments = pool.Shrink({.count = 1'000'000, .mean = 5e6, .variance = 1e12});
  EXPECT_NEAR(moments.mean, 5e6, 1e3);
  EXPECT_NEAR(Deviation(moments), 1e6, 1e4);
}

TEST(PoolTest, NegativeSamplesAreZero) {
  Pool pool(milliseconds(8), milliseconds(1));
  pool.Add(Duration::min());
  EXPECT_NEAR(pool.moments().mean, 8e6 * 8 / 9, 1);
}

TEST(CompactStatsTest, BeginsWithNothing) {
  const CompactStats stats;
  EXPECT_EQ(stats.moments().count, 0U);
  EXPECT_EQ(stats.moments().mean, 0);
  EXPECT_EQ(stats.moments().variance, 0);
}

TEST(CompactStatsTest, AgreesWithASlowComputation) {
  Random random(2);
  CompactStats stats;
  std::vector<double> values;
  std::vector<double> weights;
  for (int i = 0; i < 3000; ++i) {
    const auto sample = nanoseconds(500'000 + random.Below(1'000'000));
    stats.Add(sample);
    values.push_back(static_cast<double>(sample.count()));
    // The first ones weigh alike, then a new one has 1/memory of the whole.
    double all = 0;
    for (const double weight : weights) all += weight;
    weights.push_back(weights.size() < CompactStats::kMemory ? 1 : all / (CompactStats::kMemory - 1));
    const Moments want = Weighted(values, weights);
    // A rounding to 250 ns at every step, of which the decay keeps some fifteen.
    ASSERT_NEAR(stats.moments().mean, want.mean, 125 * 15);
    ASSERT_NEAR(Deviation(stats.moments()), Deviation(want), 250 * 15);
    if (weights.size() > 400) weights.erase(weights.begin()), values.erase(values.begin());
  }
  EXPECT_EQ(stats.moments().count, CompactStats::kMemory);
}

TEST(CompactStatsTest, TheFirstSampleCountsWhole) {
  CompactStats stats;
  stats.Add(milliseconds(70));
  EXPECT_EQ(stats.moments().count, 1U);
  EXPECT_EQ(stats.moments().mean, 70e6);
  EXPECT_EQ(stats.moments().variance, 0);
  stats.Add(milliseconds(90));
  EXPECT_EQ(stats.moments().mean, 80e6);
  EXPECT_EQ(Deviation(stats.moments()), 10e6);
}

TEST(CompactStatsTest, ForgetsAnOutage) {
  CompactStats stats;
  for (int i = 0; i < 100; ++i) stats.Add(milliseconds(1));
  stats.Add(minutes(10));
  EXPECT_GT(stats.moments().mean, 30e9);
  for (int i = 0; i < 600; ++i) stats.Add(milliseconds(1));
  // To within the rounding: a step of less than half a quarter of a microsecond is none.
  EXPECT_NEAR(stats.moments().mean, 1e6, 2000);
  EXPECT_LT(Deviation(stats.moments()), 10'000);
}

TEST(CompactStatsTest, IsHeldWithinItsRange) {
  CompactStats stats;
  stats.Add(Duration::min());
  EXPECT_EQ(stats.moments().mean, 0);
  for (int i = 0; i < 1000; ++i) {
    stats.Add(i % 2 == 0 ? Duration::max() : Duration::zero());
    EXPECT_LE(stats.moments().mean, 4294967295 * 250.0);
    EXPECT_LE(Deviation(stats.moments()), 33554431 * 250.0);
  }
  EXPECT_EQ(Deviation(stats.moments()), 33554431 * 250.0);
  stats.Clear();
  for (int i = 0; i < 100; ++i) stats.Add(hours(10));
  EXPECT_EQ(stats.moments().mean, 4294967295 * 250.0);
}

TEST(CompactStatsTest, TheTallyStandsApart) {
  CompactStats with;
  CompactStats without;
  for (int i = 0; i < 1000; ++i) {
    with.SetTally(static_cast<std::uint32_t>(i) % (CompactStats::kTallyMax + 1));
    with.Add(i % 2 == 0 ? Duration::max() : Duration::zero());
    without.Add(i % 2 == 0 ? Duration::max() : Duration::zero());
    ASSERT_EQ(with.tally(), static_cast<std::uint32_t>(i) % (CompactStats::kTallyMax + 1));
    ASSERT_EQ(with.moments().count, without.moments().count);
    ASSERT_EQ(with.moments().mean, without.moments().mean);
    ASSERT_EQ(with.moments().variance, without.moments().variance);
  }
  with.Clear();
  EXPECT_EQ(with.tally(), 0U);
}

TEST(CompactStatsTest, ClearForgetsAll) {
  CompactStats stats;
  stats.Add(milliseconds(70));
  stats.Clear();
  EXPECT_EQ(stats.moments().count, 0U);
  stats.Add(milliseconds(3));
  EXPECT_EQ(stats.moments().mean, 3e6);
}

TEST(PoolTest, AllocatesNothing) {
  const std::uint64_t before = allocations;
  Pool pool(milliseconds(50), milliseconds(20));
  CompactStats stats;
  double sum = 0;
  for (int i = 0; i < 1000; ++i) {
    pool.Add(milliseconds(i));
    stats.Add(milliseconds(i));
    sum += pool.Shrink(stats.moments()).mean;
  }
  EXPECT_EQ(allocations, before);
  EXPECT_GT(sum, 0);
}

}  // namespace
}  // namespace nekton
