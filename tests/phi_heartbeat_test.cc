// The phi-accrual detector of heartbeats: what it learns, and what it forgives.
#include "phi/phi_heartbeat.h"

#include <chrono>

#include <gtest/gtest.h>

#include "swim/random.h"
#include "tests/count_allocations.h"
#include "tests/phi_heartbeat_inputs.h"

namespace nekton {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(PhiHeartbeatTest, APeerThatNeverSpokeIsSuspectedByThePrior) {
  PhiHeartbeat detector(kClassic);
  const Distribution prior(Law::kNormal, 1e9, 250e6);
  EXPECT_EQ(detector.DeadlineFor(kPeer, kOpened), kOpened + prior.SilenceFor(8));
  EXPECT_GE(LevelAfter(detector, prior.SilenceFor(8)), 8);
  detector.Reserve(10);
  EXPECT_EQ(detector.DeadlineFor(kPeer, kOpened), kOpened + prior.SilenceFor(8));
  EXPECT_EQ(detector.Loss(kPeer), PhiHeartbeat::kLossMin);
  EXPECT_EQ(detector.threshold(), 8);
}

TEST(PhiHeartbeatTest, StrangersAreDrawnTowardThePool) {
  PhiHeartbeat detector(kOptions);
  const Duration before = DeadlineOf(detector, kPeer);
  for (std::uint32_t peer = 10; peer < 20; ++peer) Feed(detector, peer, milliseconds(500), 500);
  EXPECT_LT(DeadlineOf(detector, kPeer), before / 2);
  // The first samples of its own say little yet, many say all.
  Feed(detector, kPeer, milliseconds(700), 1);
  EXPECT_LT(detector.Expected(kPeer).mean(), 550e6);
  Feed(detector, kPeer, milliseconds(700), 127);
  EXPECT_GT(detector.Expected(kPeer).mean(), 680e6);
}

TEST(PhiHeartbeatTest, WithoutAPoolNoPeerHasAnyInfluenceOnAnother) {
  PhiHeartbeat::Options apart = kOptions;
  apart.pooled = false;
  PhiHeartbeat detector(apart);
  PhiHeartbeat alone(apart);
  const Duration before = DeadlineOf(detector, kPeer);
  for (std::uint32_t peer = 10; peer < 20; ++peer) Feed(detector, peer, milliseconds(500), 500);
  EXPECT_EQ(DeadlineOf(detector, kPeer), before);
  for (const int samples : {1, 7, 120}) {
    Feed(detector, kPeer, milliseconds(700), samples);
    Feed(alone, kPeer, milliseconds(700), samples);
    EXPECT_EQ(DeadlineOf(detector, kPeer), DeadlineOf(alone, kPeer));
    EXPECT_EQ(detector.Expected(kPeer).mean(), alone.Expected(kPeer).mean());
  }
  EXPECT_NEAR(alone.Expected(kPeer).mean(), (128 * 700e6 + 8 * 1000e6) / 136, 1)
      << "its own 128, and eight of the prior";
}

TEST(PhiHeartbeatTest, WhatIsExpectedOfAPeerChangesOnlyWhenItIsHeard) {
  PhiHeartbeat detector(kOptions);
  Feed(detector, kPeer, seconds(1), 3);
  PhiHeartbeat asked(detector);
  const Instant deadline = asked.DeadlineFor(kPeer, kOpened);
  for (PhiHeartbeat* each : {&detector, &asked}) Feed(*each, 9, milliseconds(200), 2000);
  EXPECT_EQ(asked.DeadlineFor(kPeer, kOpened), deadline);
  EXPECT_EQ(detector.DeadlineFor(kPeer, kOpened), deadline) << "whether anybody asked or not";
  Feed(detector, kPeer, seconds(1), 1);
  EXPECT_NE(detector.DeadlineFor(kPeer, kOpened), deadline);
}

TEST(PhiHeartbeatTest, DeviationAndMeanHaveFloors) {
  PhiHeartbeat steady(kOptions);
  Feed(steady, kPeer, seconds(1), 20'000);
  EXPECT_NEAR(steady.Expected(kPeer).deviation(), 0.05 * 1e9, 1e3);
  PhiHeartbeat quick(kOptions);
  Feed(quick, kPeer, milliseconds(100), 20'000);
  EXPECT_EQ(quick.Expected(kPeer).deviation(), 20e6);
  Feed(quick, kPeer, Duration(0), 20'000);
  EXPECT_EQ(quick.Expected(kPeer).mean(), 20e6);
  EXPECT_GT(DeadlineOf(quick, kPeer), milliseconds(100)) << "a flood of heartbeats makes nobody impatient";
}

TEST(PhiHeartbeatTest, TheAcceptablePauseIsGrantedOnTop) {
  PhiHeartbeat::Options options = kClassic;
  PhiHeartbeat without(options);
  options.acceptable_pause = seconds(3);
  PhiHeartbeat with(options);
  options.loss_aware = true;
  PhiHeartbeat aware(options);
  for (PhiHeartbeat* detector : {&without, &with, &aware}) Feed(*detector, kPeer, seconds(1), 200);
  EXPECT_EQ(DeadlineOf(with, kPeer), DeadlineOf(without, kPeer) + seconds(3));
  EXPECT_EQ(LevelAfter(with, seconds(3)), 0);
  EXPECT_EQ(LevelAfter(with, milliseconds(4100)), LevelAfter(without, milliseconds(1100)));
  EXPECT_EQ(LevelAfter(aware, seconds(3)), 0);
  EXPECT_GT(LevelAfter(aware, milliseconds(4100)), 1);
}

TEST(PhiHeartbeatTest, OneOutageDoesNotBluntIt) {
  PhiHeartbeat detector(kOptions);
  Random random(5);
  FeedJittered(detector, kPeer, seconds(1), 500, random);
  PhiHeartbeat undisturbed(detector);
  Feed(detector, kPeer, seconds(60), 1);
  EXPECT_GT(DeadlineOf(detector, kPeer), DeadlineOf(undisturbed, kPeer)) << "it is a sample, though a clipped one";
  EXPECT_LT(DeadlineOf(detector, kPeer), DeadlineOf(undisturbed, kPeer) * 12 / 10);
}

// Whatever is later than the deadline counts as if it had come just then, be it by a little.
TEST(PhiHeartbeatTest, ClippingIsToTheDeadlineThatWasArmed) {
  Random random(8);
  for (int i = 0; i < 3000 && !HasFailure(); ++i) {
    const PhiHeartbeat::Options options = RandomOptions(random);
    PhiHeartbeat detector(options);
    if (random.Below(2) == 0) {
      for (int samples = 0; samples < 60; ++samples) FeedAny(detector, options, random);
    } else {
      Feed(detector, kPeer, options.mean, 200);  // so steady that the floors decide
    }
    const Duration deadline = DeadlineOf(detector, kPeer);
    if (deadline > std::chrono::hours(1)) continue;  // more than a window can hold
    Feed(detector, kPeer, deadline, 1);              // ends any run of clipped ones
    if (random.Below(2) == 0) Feed(detector, kPeer, options.mean, 200);
    PhiHeartbeat same(detector);
    const Duration armed = DeadlineOf(detector, kPeer);
    const auto late = static_cast<Duration::rep>(static_cast<double>(armed.count()) * 0.3 * random.Unit());
    Feed(detector, kPeer, armed + Duration(1 + late), 1);
    Feed(same, kPeer, armed, 1);
    EXPECT_EQ(DeadlineOf(detector, kPeer), DeadlineOf(same, kPeer));
  }
}

TEST(PhiHeartbeatTest, ANewRateIsTheNewNormalAfterEight) {
  PhiHeartbeat detector(kOptions);
  for (std::uint32_t peer = 10; peer < 20; ++peer) Feed(detector, peer, seconds(1), 200);
  Feed(detector, kPeer, seconds(1), 200);
  Feed(detector, kPeer, seconds(10), PhiHeartbeat::kClippedMax - 1);
  EXPECT_LT(DeadlineOf(detector, kPeer), seconds(10));
  Feed(detector, kPeer, seconds(10), 1);
  EXPECT_GT(DeadlineOf(detector, kPeer), seconds(10));
  Feed(detector, kPeer, seconds(10), 200);
  EXPECT_NEAR(detector.Expected(kPeer).mean(), 10e9, 0.6e9);
}

TEST(PhiHeartbeatTest, OneInTimeEndsARunOfClippedOnes) {
  PhiHeartbeat detector(kOptions);
  Feed(detector, kPeer, seconds(1), 500);
  Feed(detector, kPeer, seconds(60), PhiHeartbeat::kClippedMax - 1);
  Feed(detector, kPeer, seconds(1), 1);
  Feed(detector, kPeer, seconds(60), PhiHeartbeat::kClippedMax - 1);
  EXPECT_LT(detector.Expected(kPeer).mean(), 3e9);
  Feed(detector, kPeer, seconds(60), 1);
  EXPECT_GT(detector.Expected(kPeer).mean(), 20e9);
}

// Else the window would keep the quick ones alone and ratchet down.
TEST(PhiHeartbeatTest, LateOnesAreSamplesToo) {
  PhiHeartbeat detector(kClassic);
  Feed(detector, kPeer, seconds(1), 200);
  const double before = detector.Expected(kPeer).mean();
  const Duration deadline = DeadlineOf(detector, kPeer);
  for (int i = 0; i < 40; ++i) {
    Feed(detector, kPeer, deadline - milliseconds(1), 1);
    Feed(detector, kPeer, deadline + milliseconds(1), 1);
  }
  EXPECT_GT(detector.Expected(kPeer).mean(), before + 0.1e9);
  EXPECT_GT(DeadlineOf(detector, kPeer), deadline + milliseconds(100));
}

TEST(PhiHeartbeatTest, LostOnesAreCountedAndShareTheTime) {
  PhiHeartbeat detector(kOptions);
  Feed(detector, kPeer, seconds(1), 200);
  const double before = detector.Expected(kPeer).mean();
  Feed(detector, kPeer, seconds(3), 1, 3);
  EXPECT_EQ(detector.Expected(kPeer).mean(), before) << "three intervals of one second";
  EXPECT_NEAR(detector.Loss(kPeer), 2.0 / 128, 0.0005);
  for (int i = 0; i < 1000; ++i) Feed(detector, kPeer, seconds(1), 1, i % 5 == 4 ? 2 : 1);
  EXPECT_NEAR(detector.Loss(kPeer), 1.0 / 6, 0.02);
  Feed(detector, kPeer, seconds(1000), 1, 4'000'000'000);
  EXPECT_NEAR(detector.Loss(kPeer), PhiHeartbeat::kLossMax, 0.005);
  Feed(detector, kPeer, seconds(1), 2000);
  EXPECT_EQ(detector.Loss(kPeer), PhiHeartbeat::kLossMin);
  Feed(detector, kPeer, seconds(1), 1, 0);  // no beat at all is one
  EXPECT_EQ(detector.Loss(kPeer), PhiHeartbeat::kLossMin);
}

TEST(PhiHeartbeatTest, AStepBackIsNoTimeAndForgettingIsForgetting) {
  PhiHeartbeat detector(kOptions);
  EXPECT_EQ(detector.Level(kPeer, kOpened, kOpened), 0);
  EXPECT_EQ(detector.Level(kPeer, kOpened, kOpened - seconds(5)), 0);
  PhiHeartbeat same(kOptions);
  detector.Heard(kPeer, kOpened, kOpened - seconds(5), 1);
  same.Heard(kPeer, kOpened, kOpened, 1);
  EXPECT_EQ(detector.DeadlineFor(kPeer, kOpened), same.DeadlineFor(kPeer, kOpened));
  Feed(detector, kPeer, milliseconds(1300), 100, 2);
  const Instant stranger = detector.DeadlineFor(99, kOpened);
  EXPECT_NE(detector.DeadlineFor(kPeer, kOpened), stranger);
  detector.Forget(kPeer);
  detector.Forget(98);
  EXPECT_EQ(detector.DeadlineFor(kPeer, kOpened), stranger);
  EXPECT_EQ(detector.Loss(kPeer), PhiHeartbeat::kLossMin);
}

TEST(PhiHeartbeatTest, NothingAllocatesOnceThereIsRoom) {
  PhiHeartbeat reserved(kOptions);
  reserved.Reserve(64);
  PhiHeartbeat heard(kOptions);
  Feed(heard, 63, seconds(1), 1);
  for (PhiHeartbeat* detector : {&reserved, &heard}) {
    const std::uint64_t before = allocations;
    double sum = 0;
    for (std::uint32_t peer = 0; peer < 64; ++peer) {
      Feed(*detector, peer, seconds(1), 200);
      Feed(*detector, peer, seconds(60), 8, 2);
      sum += detector->Level(peer, kOpened, kOpened + seconds(9));
      sum += static_cast<double>(detector->ReachedAt(peer, kOpened, 8).time_since_epoch().count());
      detector->Forget(peer);
    }
    EXPECT_EQ(allocations, before);
    EXPECT_GT(sum, 0);
  }
}

}  // namespace
}  // namespace nekton
