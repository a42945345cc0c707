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

// Where a nanosecond matters: every one of them, over beats that are due, polynomials that end and beats that are lost.
TEST(PhiHeartbeatLevelTest, NeighboursAreInOrderToo) {
  Random random(9);
  for (int i = 0; i < 60 && !HasFailure(); ++i) {
    PhiHeartbeat::Options options = kOptions;
    options.loss_aware = i % 4 != 0;
    options.mean = Duration(100 + random.Below(3000));
    options.deviation = Duration(1 + static_cast<Duration::rep>(static_cast<double>(options.mean.count()) *
                                                                std::exp(-6 + 7 * random.Unit())));  // up to 270 %
    options.deviation_min = std::min(options.deviation, options.mean);
    options.deviation_share = 0;
    options.acceptable_pause = Duration(random.Below(2) * random.Below(500));
    const PhiHeartbeat detector(options);
    double last = 0;
    for (int ns = 0; ns < 60'000; ++ns) {
      const double level = LevelAfter(detector, nanoseconds(ns));
      ASSERT_GE(level, last) << ns << " ns, mean " << options.mean.count() << ", deviation "
                             << options.deviation.count();
      last = level;
    }
  }
}

// The same where it matters little, of peers that were heard and lost messages: where a beat is due, be it the first or
// one of more than can be summed in 64 bits, where a polynomial ends, and where a beat is surely lost.
TEST(PhiHeartbeatLevelTest, NeighboursAreInOrderWhereSomethingChanges) {
  Random random(10);
  for (int i = 0; i < 150 && !HasFailure(); ++i) {
    PhiHeartbeat::Options options = RandomOptions(random);
    options.loss_aware = true;
    PhiHeartbeat detector(options);
    for (int n = 0; n < 50; ++n) FeedAny(detector, options, random);
    const Distribution expected = detector.Expected(kPeer);
    for (int n = 0; n < 40; ++n) {
      const double beats = random.Below(3) == 0 ? 4090 + random.Below(70) : random.Below(70);
      const double scores[] = {-expected.mean() / expected.deviation(), 8, random.Below(257) / 16.0 - 8};
      const double at =
          std::round(expected.mean()) * beats + expected.mean() + scores[random.Below(3)] * expected.deviation();
      const auto around = options.acceptable_pause + Duration(static_cast<Duration::rep>(at));
      double last = 0;
      for (int ns = -60; ns < 60; ++ns) {
        const double level = LevelAfter(detector, around + nanoseconds(ns));
        ASSERT_GE(level, last) << (around + nanoseconds(ns)).count();
        last = level;
      }
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

// The plain formula, each awaited by itself.
TEST(PhiHeartbeatLevelTest, TheLevelIsTheSumOverWhatIsAwaited) {
  constexpr long double kSqrtHalf = 0.70710678118654752440084436210485L;
  Random random(6);
  for (int i = 0; i < 4000 && !HasFailure(); ++i) {
    PhiHeartbeat::Options options = RandomOptions(random);
    options.loss_aware = true;
    PhiHeartbeat detector(options);
    for (int n = 0; n < 50; ++n) FeedAny(detector, options, random);
    const Distribution expected = detector.Expected(kPeer);
    const auto interval = Duration(static_cast<Duration::rep>(std::round(expected.mean())));
    const long double loss = detector.Loss(kPeer);
    const auto tail = [&](Duration waited) {
      if (options.law != Law::kNormal) return std::pow(10.0L, -static_cast<long double>(expected.Phi(waited)));
      const long double score = (static_cast<long double>(waited.count()) - expected.mean()) / expected.deviation();
      return std::erfc(score * kSqrtHalf) / 2;
    };
    for (int n = 0; n < 10; ++n) {
      const Duration silence(1 +
                             static_cast<Duration::rep>(random.Unit() * std::exp(4 * random.Unit()) * expected.mean()));
      long double want = 0;
      for (Duration s = silence - options.acceptable_pause; s > Duration::zero(); s -= interval) {
        want -= std::log10(loss + (1 - loss) * tail(s));
      }
      EXPECT_NEAR(LevelAfter(detector, silence), static_cast<double>(want),
                  std::max(1e-13, 1e-12 * static_cast<double>(want)));
    }
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
