// Another period while members run: what follows it, what stays as it was, and that nobody healthy notices.
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "swim/message.h"
#include "swim/reconfigure.h"
#include "swim/terms.h"
#include "tests/cluster.h"
#include "tests/engine_rig.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::size_t RoundsIn(Rig& rig, Duration time) {
  const std::uint64_t before = rig.Count(Counter::kRounds);
  rig.Run(time);
  return rig.Count(Counter::kRounds) - before;
}

TEST(ReconfigurePeriod, RoundsFollowAndTheOpenOneEndsAsItWasPlanned) {
  Rig rig;
  rig.Know(6);
  rig.Run(5s);
  EXPECT_EQ(RoundsIn(rig, 20s), 20u);
  ASSERT_TRUE(rig.Order(Reconfigure{.period = 500ms}).ok());
  rig.Run(2s);
  EXPECT_EQ(RoundsIn(rig, 20s), 40u);
  ASSERT_TRUE(rig.Order(Reconfigure{.period = 2s}).ok());
  rig.Run(2s);
  EXPECT_EQ(RoundsIn(rig, 20s), 10u);
  EXPECT_EQ(rig.Count(Counter::kSuspicionsOwn), 0u);
}

// Attempts of a round that is open go on as they were planned, whether the period became longer or shorter.
TEST(ReconfigurePeriod, AnOpenRoundHasAllItsAttempts) {
  const auto attempts = [](Duration period) {
    Rig rig;
    rig.Know(6);
    rig[1].answers = rig[1].answers_relays = false;
    const Said first = rig.NextRound(&rig[1]);
    rig.Run(50ms);
    EXPECT_TRUE(rig.Order(Reconfigure{.period = period}).ok());
    rig.Run(949ms);
    std::vector<Duration> times;
    for (const Said& said : rig.Sent(FrameType::kPing)) {
      if (said.serial() == first.serial()) times.push_back(said.at - first.at);
    }
    return times;
  };
  EXPECT_EQ(attempts(500ms), attempts(1s));
  EXPECT_EQ(attempts(2s), attempts(1s));
}

TEST(ReconfigurePeriod, WhatCannotBeIsRefusedWithTheReason) {
  Rig rig;
  const auto text = [&rig](Duration period) { return std::string(rig.Order(Reconfigure{.period = period}).message()); };
  EXPECT_THAT(text(3500ms), HasSubstr("tolerated_pause"));
  EXPECT_THAT(text(1ms), HasSubstr("period = 0.001 s: must be from 0.01 s"));
  EXPECT_THAT(text(300ms), HasSubstr("max_local_pause"));
  EXPECT_EQ(rig.engine->config().period, 1s);
  Config wan = Rig::Lan();
  wan.period = 5s;
  wan.tolerated_pause = 12s;
  wan.hearer_margin = 3s;
  wan.forget_after = 300s;
  Rig far(wan);
  EXPECT_THAT(std::string(far.Order(Reconfigure{.period = 1s}).message()),
              HasSubstr("period = 1 s: must not be more than 3.5 s below the 5 s that hold now; go in steps"));
  EXPECT_TRUE(far.Order(Reconfigure{.period = 1500ms}).ok());
  EXPECT_TRUE(far.Order(Reconfigure{.period = 1s}).ok());
  Config staggered = Rig::Lan();
  staggered.probing = Probing::kStaggered;
  EXPECT_THAT(std::string(Changed(staggered, Reconfigure{.period = 2s}).status().message()), HasSubstr("staggered"));
  Config mesh = Config::Mesh();
  mesh.name = "alpha";
  EXPECT_THAT(std::string(Changed(mesh, Reconfigure{.period = 11s}).status().message()), HasSubstr("heartbeats"));
  EXPECT_TRUE(Changed(mesh, Reconfigure{.period = mesh.period}).ok());
}

// A hold of ours is as long as the longer of both periods would have it.
TEST(ReconfigurePeriod, HoldsAreAsLongAsBothPeriodsNeed) {
  const auto shortest = [](std::vector<Duration> periods) {
    Rig rig;
    rig.Know(12);
    for (const Duration period : periods) EXPECT_TRUE(rig.Order(Reconfigure{.period = period}).ok());
    rig.Gossip(rig[2], {Suspect(rig[1], {&rig[2], &rig[3], &rig[4], &rig[5]})});
    const auto why = rig.engine->Explain(rig.now, "m1");
    return why->why.hold->left - rig.config.hearer_margin;
  };
  EXPECT_EQ(shortest({}), 2500ms);
  EXPECT_EQ(shortest({500ms}), 3000ms) << "a round is shorter, so the hold is longer";
  EXPECT_EQ(shortest({2s}), 2500ms) << "others still have rounds of 1 s";
  EXPECT_EQ(shortest({500ms, 2s}), 3000ms);
}

// Who joins is let in with the period that holds here, or the one before.
TEST(ReconfigurePeriod, WhoJoinsMayHaveEither) {
  const auto refused = [](const Config& newcomer, std::vector<Duration> periods) {
    Config config = newcomer;
    config.name = "x";
    Config ours = Config::Lan();
    Duration before{};
    for (const Duration period : periods) before = std::exchange(ours.period, period);
    return DifferentTerms(EncodeTerms(config), EncodeTerms(ours, before));
  };
  Config half = Config::Lan();
  half.period = 500ms;
  Config twice = Config::Lan();
  twice.period = 2s;
  EXPECT_THAT(refused(half, {1s}), HasSubstr("period: 1 s here, 0.5 s there"));
  EXPECT_EQ(refused(half, {500ms}), "");
  EXPECT_EQ(refused(Config::Lan(), {500ms}), "") << "started with the file of before";
  EXPECT_EQ(refused(half, {500ms, 2s}), "");
  EXPECT_EQ(refused(twice, {500ms, 2s}), "");
  EXPECT_THAT(refused(Config::Lan(), {500ms, 2s}), HasSubstr("period: 2 s here, 1 s there"));
  // One that was changed itself comes back to who was not, and to who is a step ahead.
  EXPECT_EQ(DifferentTerms(EncodeTerms(half, 1s), EncodeTerms(Config::Lan())), "");
  EXPECT_EQ(DifferentTerms(EncodeTerms(half, 1s), EncodeTerms(twice, 500ms)), "");
  EXPECT_THAT(DifferentTerms(EncodeTerms(half, 1s), EncodeTerms(twice)), HasSubstr("period"));
  EXPECT_LE(EncodeTerms(half, 24h).size(), kTermsMax);
}

// One member after the other, while datagrams are lost and members are started again: nobody healthy is suspected, nobody
// is kept out, and who dies on the way is found.
TEST(ReconfigureScenario, ThePeriodRollsThroughAGroup) {
  for (const Duration loss : {0s, 1s}) {
    Cluster c({.nodes = 32, .seed = 9});
    ASSERT_TRUE(c.Converge());
    c.Lose(loss == 0s ? 0 : 0.02);
    c.RunFor(20s);
    c.sim().ClearLog();
    const auto roll = [&](Duration period) {
      for (SimId id = 0; id < c.size(); ++id) {
        ASSERT_TRUE(c.sim().Order(id, Reconfigure{.period = period}).ok());
        c.RunFor(700ms);
      }
      c.RunFor(20s);
    };
    roll(500ms);
    roll(2s);
    EXPECT_EQ(c.Count(EventKind::kSuspected), 0u);
    EXPECT_EQ(c.Count(EventKind::kAccused), 0u);
    EXPECT_EQ(c.Count(EventKind::kFailed), 0u);
    // Half of them have another period again when one dies.
    for (SimId id = 0; id < 16; ++id) ASSERT_TRUE(c.sim().Order(id, Reconfigure{.period = 1s}).ok());
    c.Crash(20);
    EXPECT_TRUE(c.RunUntil([&] { return static_cast<bool>(c.AllSee(20, MemberStatus::kInactive)); }, 40s));
  }
}

// The promise of tolerated_pause, while the period rolls. Half a second less of a period is the half second that it has in
// reserve, so a pause has to be a little shorter then.
TEST(ReconfigureScenario, APauseIsToleratedWhileMembersDiffer) {
  for (const Duration period : {Duration(500ms), Duration(2s)}) {
    Cluster c({.nodes = 32, .seed = 3});
    ASSERT_TRUE(c.Converge());
    c.RunFor(20s);
    c.sim().ClearLog();
    for (SimId id = 0; id < c.size(); ++id) {
      ASSERT_TRUE(c.sim().Order(id, Reconfigure{.period = period}).ok());
      const SimId frozen = (id * 7 + 5) % 32;
      c.Pause(frozen);
      c.RunFor(period < 1s ? 2900ms : 3s);
      c.Resume(frozen);
      c.RunFor(3s);
    }
    EXPECT_EQ(c.Count(EventKind::kFailed), 0u) << c.Story();
  }
}

}  // namespace
}  // namespace nekton
