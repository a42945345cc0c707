#include "phi/window.h"

#include <chrono>
#include <cmath>
#include <deque>

#include <gtest/gtest.h>

#include "phi/distribution.h"
#include "swim/random.h"
#include "tests/count_allocations.h"

namespace nekton {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// The two passes of a textbook, over whole microseconds.
Moments Slow(const std::deque<std::int64_t>& samples) {
  if (samples.empty()) return {};
  long double sum = 0;
  for (const std::int64_t sample : samples) sum += static_cast<long double>(sample);
  const long double mean = sum / static_cast<long double>(samples.size());
  long double squares = 0;
  for (const std::int64_t sample : samples) {
    const long double difference = static_cast<long double>(sample) - mean;
    squares += difference * difference;
  }
  return {.count = static_cast<std::uint32_t>(samples.size()),
          .mean = static_cast<double>(mean * 1000),
          .variance = static_cast<double>(squares / static_cast<long double>(samples.size()) * 1e6L)};
}

void ExpectSame(const Moments& got, const Moments& want) {
  EXPECT_EQ(got.count, want.count);
  EXPECT_NEAR(got.mean, want.mean, 1e-15 * want.mean);
  EXPECT_NEAR(got.variance, want.variance, 1e-14 * want.variance);
}

TEST(WindowTest, EmptyHasNoMoments) {
  const Window window;
  EXPECT_EQ(window.count(), 0U);
  ExpectSame(window.moments(), {});
}

template <std::size_t kCapacity>
void CompareWithSlow(std::uint64_t seed) {
  Random random(seed);
  WindowOf<kCapacity> window;
  std::deque<std::int64_t> slow;
  for (int i = 0; i < 5000; ++i) {
    // Up to the largest a window can hold.
    const auto us = static_cast<std::int64_t>(random.Next() >> (32 + random.Below(32)));
    window.Add(microseconds(us));
    slow.push_back(us);
    if (slow.size() > kCapacity) slow.pop_front();
    ASSERT_EQ(window.count(), slow.size());
    ExpectSame(window.moments(), Slow(slow));
  }
}

TEST(WindowTest, AgreesWithASlowComputation) {
  CompareWithSlow<1>(1);
  CompareWithSlow<2>(2);
  CompareWithSlow<100>(3);
  CompareWithSlow<kDefaultWindow>(4);
}

TEST(WindowTest, AnOutageLeavesNoTrace) {
  Window calm;
  Window troubled;
  for (int i = 0; i < 1000; ++i) {
    calm.Add(milliseconds(1000) + microseconds(i % 7));
    troubled.Add(milliseconds(1000) + microseconds(i % 7));
    if (i == 500) troubled.Add(seconds(60));
    if (i == 501) troubled.Add(hours(1));
  }
  EXPECT_EQ(troubled.moments().mean, calm.moments().mean);
  EXPECT_EQ(troubled.moments().variance, calm.moments().variance);
  EXPECT_GT(calm.moments().variance, 0);
  EXPECT_LT(std::sqrt(calm.moments().variance), 3000);  // ns
}

TEST(WindowTest, EqualSamplesHaveNoVariance) {
  Window window;
  for (int i = 0; i < 300; ++i) window.Add(hours(1));
  EXPECT_EQ(window.moments().variance, 0);
  EXPECT_EQ(window.moments().mean, 3.6e12);
}

TEST(WindowTest, SamplesAreRoundedAndHeld) {
  EXPECT_EQ(ToSample(nanoseconds(0)), 0U);
  EXPECT_EQ(ToSample(nanoseconds(-1)), 0U);
  EXPECT_EQ(ToSample(Duration::min()), 0U);
  EXPECT_EQ(ToSample(nanoseconds(499)), 0U);
  EXPECT_EQ(ToSample(nanoseconds(500)), 1U);
  EXPECT_EQ(ToSample(nanoseconds(1499)), 1U);
  EXPECT_EQ(ToSample(microseconds(4294967294)), 4294967294U);
  EXPECT_EQ(ToSample(microseconds(4294967295)), 4294967295U);
  EXPECT_EQ(ToSample(microseconds(4294967296)), 4294967295U);
  EXPECT_EQ(ToSample(Duration::max()), 4294967295U);
}

TEST(WindowTest, TheLargestSamplesDoNotOverflow) {
  WindowOf<65536> window;
  for (int i = 0; i < 70'000; ++i) window.Add(i % 2 == 0 ? Duration::max() : Duration::zero());
  EXPECT_EQ(window.moments().mean, 4294967295e3 / 2);
  EXPECT_DOUBLE_EQ(std::sqrt(window.moments().variance), 4294967295e3 / 2);
}

TEST(WindowTest, ClearForgetsAll) {
  Window window;
  for (int i = 0; i < 200; ++i) window.Add(seconds(i));
  window.Clear();
  EXPECT_EQ(window.count(), 0U);
  window.Add(seconds(5));
  ExpectSame(window.moments(), {.count = 1, .mean = 5e9, .variance = 0});
}

TEST(WindowTest, AllocatesNothing) {
  const std::uint64_t before = allocations;
  Window window;
  double sum = 0;
  for (int i = 0; i < 1000; ++i) {
    window.Add(milliseconds(i));
    sum += window.moments().mean;
  }
  EXPECT_EQ(allocations, before);
  EXPECT_GT(sum, 0);
}

// What is kept of one monitored peer, and 100 bytes for the rest of its detector.
static_assert(sizeof(Window) + sizeof(Distribution) + 100 <= 700);

}  // namespace
}  // namespace nekton
