// The level of the heartbeat detector: exact, in order, and aware of loss.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "phi/phi_function.h"
#include "phi/phi_heartbeat.h"
#include "swim/random.h"
#include "tests/phi_heartbeat_inputs.h"

namespace nekton {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(PhiHeartbeatLevelTest, InstantsAreExactToTheNanosecond) {
  Random random(1);
  int never = 0;
  for (int i = 0; i < 1000 && !HasFailure(); ++i) {
    const PhiHeartbeat::Options options = RandomOptions(random);
    PhiHeartbeat detector(options);
    for (int n = 0; n < 100; ++n) {
      for (int samples = 0; samples < 5; ++samples) FeedAny(detector, options, random);
      const std::uint32_t peer = random.Below(9);            // of the last nothing is known
      const double level = std::exp(random.Unit() * 9 - 5);  // 0.007 to 54
      EXPECT_TRUE(IsFirst(detector, peer, level));
      never += detector.ReachedAt(peer, kOpened, level) == kNever ? 1 : 0;
      if (!options.loss_aware) {
        EXPECT_EQ(detector.ReachedAt(peer, kOpened, options.threshold), detector.DeadlineFor(peer, kOpened));
      }
    }
  }
  EXPECT_LT(never, 1000);
}

TEST(PhiHeartbeatLevelTest, TheLevelOfASilenceLeadsBackToTheFirstThatHasIt) {
  Random random(7);
  for (int i = 0; i < 20'000 && !HasFailure(); ++i) {
    const PhiHeartbeat::Options options = RandomOptions(random);
    PhiHeartbeat detector(options);
    for (int samples = 0; samples < 20; ++samples) FeedAny(detector, options, random);
    const Duration silence(1 + static_cast<Duration::rep>(random.Next() >> (20 + random.Below(40))));
    const double has = LevelAfter(detector, silence);
    EXPECT_LE(detector.ReachedAt(kPeer, kOpened, has), kOpened + silence);
    if (has > 0) {
      EXPECT_TRUE(IsFirst(detector, kPeer, has));
    }
  }
}

TEST(PhiHeartbeatLevelTest, TheDeadlineIsTheFirstInstantOfTheClassicLevel) {
  Random random(2);
  for (int i = 0; i < 300 && !HasFailure(); ++i) {
    PhiHeartbeat::Options options = RandomOptions(random);
    options.loss_aware = false;
    PhiHeartbeat classic(options);
    options.loss_aware = true;
    PhiHeartbeat aware(options);
    for (int n = 0; n < 100; ++n) {
      Random same = random;
      FeedAny(classic, options, same);
      FeedAny(aware, options, random);
      const std::uint32_t peer = random.Below(9);
      const Instant deadline = classic.DeadlineFor(peer, kOpened);
      EXPECT_GE(classic.Level(peer, kOpened, deadline), options.threshold);
      EXPECT_LT(classic.Level(peer, kOpened, deadline - nanoseconds(1)), options.threshold);
      EXPECT_EQ(aware.DeadlineFor(peer, kOpened), deadline) << "only the level knows of loss";
    }
  }
}

TEST(PhiHeartbeatLevelTest, TheLevelIsFiniteAndNeverFallsAsSilenceGrows) {
  Random random(3);
  for (int i = 0; i < 2000 && !HasFailure(); ++i) {
    const PhiHeartbeat::Options options = RandomOptions(random);
    PhiHeartbeat detector(options);
    for (int n = 0; n < 50; ++n) FeedAny(detector, options, random);
    std::vector<Duration> silences = {Duration(0), Duration(1), std::chrono::hours(1), std::chrono::hours(30 * 24),
                                      Duration::max() / 2};
    for (int n = 0; n < 40; ++n) {
      silences.emplace_back(static_cast<Duration::rep>(random.Next() >> (11 + random.Below(40))));
      silences.push_back(silences.back() + nanoseconds(1));
      // Where a further beat is due, and where one becomes surely lost.
      const auto mean = static_cast<Duration::rep>(std::round(detector.Expected(kPeer).mean()));
      const Duration due = options.acceptable_pause + Duration(mean * random.Below(200));
      for (int step = -1; step <= 2; ++step) silences.push_back(due + nanoseconds(step));
    }
    std::sort(silences.begin(), silences.end());
    double last = 0;
    for (const Duration silence : silences) {
      const double level = LevelAfter(detector, silence);
      EXPECT_TRUE(std::isfinite(level));
      EXPECT_GE(level, last) << silence.count();
      last = level;
    }
    EXPECT_GT(last, 0);
  }
}

TEST(PhiHeartbeatLevelTest, NeighboursAreInOrderToo) {
  for (const bool loss_aware : {false, true}) {
    PhiHeartbeat::Options options = kOptions;
    options.loss_aware = loss_aware;
    options.deviation_min = Duration(10);  // a nanosecond matters
    options.mean = Duration(1000);
    options.deviation = Duration(10);
    options.deviation_share = 0;
    const PhiHeartbeat detector(options);
    double last = 0;
    for (int i = 0; i < 100'000; ++i) {
      const double level = LevelAfter(detector, nanoseconds(i));
      ASSERT_GE(level, last) << i;
      last = level;
    }
  }
}

TEST(PhiHeartbeatLevelTest, SeveralThresholdsAreCrossedInOrderEachAtItsInstant) {
  for (const PhiHeartbeat::Options& options : {kOptions, kClassic}) {
    PhiHeartbeat detector(options);
    Random random(4);
    FeedJittered(detector, kPeer, seconds(1), 500, random);
    Instant last = kOpened + seconds(1);
    for (const double level : {3.0, 8.0, 12.0}) {
      EXPECT_TRUE(IsFirst(detector, kPeer, level));
      const Instant at = detector.ReachedAt(kPeer, kOpened, level);
      EXPECT_GT(at, last);
      EXPECT_LT(at, kOpened + seconds(10));
      last = at;
    }
  }
}

TEST(PhiHeartbeatLevelTest, LevelsThatAreNoneOrNeverReached) {
  for (const PhiHeartbeat::Options& options : {kOptions, kClassic}) {
    PhiHeartbeat detector(options);
    Feed(detector, kPeer, seconds(1), 100);
    EXPECT_EQ(detector.ReachedAt(kPeer, kOpened, 0), kOpened);
    EXPECT_EQ(detector.ReachedAt(kPeer, kOpened, -1), kOpened);
    EXPECT_EQ(detector.ReachedAt(kPeer, kOpened, kNan), kNever);
    EXPECT_EQ(detector.ReachedAt(kPeer, kOpened, std::numeric_limits<double>::infinity()), kNever);
    EXPECT_EQ(detector.ReachedAt(kPeer, kNever - seconds(1), 8), kNever);
    EXPECT_EQ(detector.DeadlineFor(kPeer, kNever - seconds(1)), kNever);
  }
}

TEST(PhiHeartbeatLevelTest, OneLostHeartbeatWeighsNoMoreThanItsLikelihood) {
  PhiHeartbeat detector(kOptions);
  Feed(detector, kPeer, seconds(1), 1000);
  ASSERT_EQ(detector.Loss(kPeer), 0.01);
  // 1.9 s: the first is lost for sure, the second not due yet. Classic phi is far beyond conviction.
  PhiHeartbeat classic(kClassic);
  Feed(classic, kPeer, seconds(1), 1000);
  EXPECT_GT(LevelAfter(classic, milliseconds(1900)), 60);
  EXPECT_NEAR(LevelAfter(detector, milliseconds(1900)), 2, 0.02);
  for (int ms = 0; ms <= 2000; ++ms) EXPECT_LT(LevelAfter(detector, milliseconds(ms)), 2.31);
  EXPECT_NEAR(LevelAfter(detector, milliseconds(2900)), 4, 0.02);
  EXPECT_GE(LevelAfter(detector, milliseconds(4500)), 8) << "four in a row convict";
  EXPECT_LT(detector.DeadlineFor(kPeer, kOpened), kOpened + milliseconds(1500)) << "what convicts asks again first";
}

// LossAwareSum is the plain formula: what is awaited, each by itself.
TEST(PhiHeartbeatLevelTest, TheLevelIsTheSumOverWhatIsAwaited) {
  Random random(6);
  for (int i = 0; i < 3000 && !HasFailure(); ++i) {
    PhiHeartbeat::Options options = RandomOptions(random);
    options.loss_aware = true;
    PhiHeartbeat detector(options);
    for (int n = 0; n < 50; ++n) FeedAny(detector, options, random);
    const Distribution expected = detector.Expected(kPeer);
    const auto interval = Duration(static_cast<Duration::rep>(std::round(expected.mean())));
    const Duration silence(1 + static_cast<Duration::rep>(random.Unit() * 60 * expected.mean()));
    std::vector<double> phis;
    for (Duration s = silence - options.acceptable_pause; s > Duration::zero(); s -= interval) {
      phis.push_back(expected.Phi(s));
    }
    const double want = LossAwareSum(phis, detector.Loss(kPeer)).value();
    EXPECT_NEAR(LevelAfter(detector, silence), want, 1e-12 * (1 + static_cast<double>(phis.size())));
  }
}

// With no loss at all, and the oldest alone, the formula is classic phi: what loss_aware = false computes.
TEST(PhiHeartbeatLevelTest, WithoutLossAndOfTheOldestAloneItIsClassicPhi) {
  PhiHeartbeat detector(kClassic);
  Feed(detector, kPeer, seconds(1), 200);
  for (int ms = 1; ms < 5000; ms += 7) {
    const double phi = detector.Expected(kPeer).Phi(milliseconds(ms));
    EXPECT_EQ(LevelAfter(detector, milliseconds(ms)), LossAwareSum(std::vector<double>{phi}, 0).value());
    EXPECT_NEAR(LevelAfter(detector, milliseconds(ms)),
                Phi(ms, detector.Expected(kPeer).mean() / 1e6, detector.Expected(kPeer).deviation() / 1e6).value(),
                1e-11 * (1 + phi));
  }
}

TEST(PhiHeartbeatLevelTest, ThirtyDaysOfSilenceAreCountedAtOnce) {
  PhiHeartbeat detector(kOptions);
  Feed(detector, kPeer, seconds(1), 1000);
  constexpr auto kMonth = std::chrono::hours(30 * 24);
  const double due = 30.0 * 24 * 3600e9 / detector.Expected(kPeer).mean();
  EXPECT_NEAR(LevelAfter(detector, kMonth), 2 * due, 4);
  EXPECT_TRUE(IsFirst(detector, kPeer, LevelAfter(detector, kMonth)));
}

}  // namespace
}  // namespace nekton
