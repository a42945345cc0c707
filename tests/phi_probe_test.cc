// The phi-accrual detector of probes: what it learns, and that it forgives a change of the network.
#include "phi/phi_probe.h"

#include <chrono>
#include <random>

#include <gtest/gtest.h>

#include "phi/fixed_deadline.h"
#include "tests/count_allocations.h"

namespace nekton {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr Instant kOpened{std::chrono::seconds(1000)};
constexpr PhiProbe::Options kOptions{.threshold = 3, .mean = milliseconds(50), .deviation = milliseconds(50)};

void Feed(Detector& detector, std::uint32_t peer, Duration answer, int times) {
  for (int i = 0; i < times; ++i) detector.Heard(peer, kOpened, kOpened + answer, 1);
}

TEST(PhiProbeTest, APeerThatNeverSpokeHasTheDeadlineOfThePrior) {
  const PhiProbe detector(kOptions);
  const Distribution prior(Law::kLogNormal, 50e6, 50e6);
  EXPECT_EQ(detector.DeadlineFor(7, kOpened), kOpened + prior.SilenceFor(3));
  EXPECT_EQ(detector.threshold(), 3);
}

TEST(PhiProbeTest, TheDeadlineIsTheFirstInstantThatConvicts) {
  PhiProbe detector(kOptions);
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    Feed(detector, static_cast<std::uint32_t>(random() % 4), microseconds(random() % 20'000), 1);
    const auto peer = static_cast<std::uint32_t>(random() % 5);
    const Instant deadline = detector.DeadlineFor(peer, kOpened);
    EXPECT_GE(detector.Level(peer, kOpened, deadline), 3);
    EXPECT_LT(detector.Level(peer, kOpened, deadline - nanoseconds(1)), 3);
  }
}

TEST(PhiProbeTest, EveryLevelIsReachedAtExactlyItsInstant) {
  PhiProbe detector(kOptions);
  std::mt19937_64 random(2);
  for (int i = 0; i < 20'000 && !HasFailure(); ++i) {
    Feed(detector, static_cast<std::uint32_t>(random() % 4), microseconds(random() % 20'000), 1);
    const auto peer = static_cast<std::uint32_t>(random() % 5);
    const double level = 0.001 * static_cast<double>(1 + random() % 30'000);
    const Instant at = detector.ReachedAt(peer, kOpened, level);
    EXPECT_GE(detector.Level(peer, kOpened, at), level);
    EXPECT_LT(detector.Level(peer, kOpened, at - nanoseconds(1)), level);
    EXPECT_EQ(detector.ReachedAt(peer, kOpened, 3), detector.DeadlineFor(peer, kOpened));
  }
}

TEST(PhiProbeTest, LevelsThatAreNoneOrNeverReached) {
  const PhiProbe detector(kOptions);
  EXPECT_EQ(detector.ReachedAt(1, kOpened, 0), kOpened);
  EXPECT_EQ(detector.ReachedAt(1, kOpened, -1), kOpened);
  EXPECT_EQ(detector.ReachedAt(1, kOpened, 1e300), kNever);
  EXPECT_EQ(detector.ReachedAt(1, kOpened, std::numeric_limits<double>::quiet_NaN()), kNever);
  EXPECT_EQ(detector.ReachedAt(1, kNever - nanoseconds(5), 3), kNever);
}

TEST(PhiProbeTest, APeerIsLearnedAndOthersAreDrawnTowardIt) {
  PhiProbe detector(kOptions);
  const Duration before = detector.DeadlineFor(2, kOpened) - kOpened;
  Feed(detector, 1, milliseconds(2), 5000);
  const Duration learned = detector.DeadlineFor(1, kOpened) - kOpened;
  EXPECT_LT(learned, milliseconds(20));
  EXPECT_GT(learned, milliseconds(2));
  EXPECT_LT(detector.DeadlineFor(2, kOpened) - kOpened, before / 4) << "of whom nothing is known, but the pool";
}

TEST(PhiProbeTest, NoDeviationIsLessThanItsFloors) {
  PhiProbe quick(kOptions);
  Feed(quick, 1, milliseconds(1), 20'000);
  EXPECT_EQ(quick.Expected(1).deviation(), 1e6);
  PhiProbe slow(kOptions);
  Feed(slow, 1, milliseconds(100), 20'000);
  EXPECT_NEAR(slow.Expected(1).deviation(), 0.1 * slow.Expected(1).mean(), 1e6);
}

TEST(PhiProbeTest, OneOutageDoesNotBluntIt) {
  PhiProbe detector(kOptions);
  Feed(detector, 1, milliseconds(2), 1000);
  const Duration before = detector.DeadlineFor(1, kOpened) - kOpened;
  Feed(detector, 1, std::chrono::seconds(60), 1);
  EXPECT_LT(detector.DeadlineFor(1, kOpened) - kOpened, 3 * before);
}

TEST(PhiProbeTest, EightBeyondTheDeadlineInARowAreANewNormal) {
  PhiProbe detector(kOptions);
  Feed(detector, 1, milliseconds(2), 1000);
  const Duration outage = std::chrono::minutes(15);
  Feed(detector, 1, outage, PhiProbe::kClippedMax - 1);
  const double before = detector.Expected(1).mean();
  EXPECT_LT(before, 30e9);
  Feed(detector, 1, outage, 1);
  EXPECT_GT(detector.Expected(1).mean(), 2 * before) << "begun anew from it";
}

// Round trips go from 1 ms to 80 ms and back. A deadline of 50 ms is right for the first and wrong for ever after.
TEST(PhiProbeTest, AdaptsWhereAFixedDeadlineIsWrong) {
  PhiProbe phi(kOptions);
  const FixedDeadline fixed(milliseconds(50), 3);
  std::mt19937_64 random(7);
  const auto late = [&](Duration round_trip, int times) {
    int by_phi = 0;
    int by_fixed = 0;
    for (int i = 0; i < times; ++i) {
      const Duration answer = round_trip + microseconds(random() % 1000);
      by_phi += phi.DeadlineFor(1, kOpened) <= kOpened + answer ? 1 : 0;
      by_fixed += fixed.DeadlineFor(1, kOpened) <= kOpened + answer ? 1 : 0;
      phi.Heard(1, kOpened, kOpened + answer, 1);
    }
    return std::pair(by_phi, by_fixed);
  };
  EXPECT_EQ(late(milliseconds(1), 1000), std::pair(0, 0));
  const auto [by_phi, by_fixed] = late(milliseconds(80), 1000);
  EXPECT_LE(by_phi, PhiProbe::kClippedMax);  // of one member's rounds, which have further attempts
  EXPECT_EQ(by_fixed, 1000);
  EXPECT_EQ(late(milliseconds(1), 10'000), std::pair(0, 0));
  EXPECT_LT(phi.DeadlineFor(1, kOpened) - kOpened, milliseconds(50)) << "and back";
}

TEST(PhiProbeTest, AStepBackIsNoTimeAndForgettingIsForgetting) {
  PhiProbe detector(kOptions);
  detector.Heard(1, kOpened, kOpened - std::chrono::seconds(5), 1);
  EXPECT_GT(detector.DeadlineFor(1, kOpened), kOpened);
  Feed(detector, 1, milliseconds(30), 100);
  const Instant stranger = detector.DeadlineFor(99, kOpened);
  EXPECT_NE(detector.DeadlineFor(1, kOpened), stranger);
  detector.Forget(1);
  detector.Forget(98);
  EXPECT_EQ(detector.DeadlineFor(1, kOpened), stranger);
}

TEST(PhiProbeTest, HearingAllocatesNothingOnceThereIsRoom) {
  PhiProbe detector(kOptions);
  detector.Reserve(1000);
  const std::size_t before = allocations;
  for (std::uint32_t peer = 0; peer < 1000; ++peer) Feed(detector, peer, milliseconds(1), 3);
  EXPECT_EQ(allocations, before);
}

}  // namespace
}  // namespace nekton
