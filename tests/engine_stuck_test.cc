// A prober that is stuck in a send: one round at most, no gossip, and suspicions that run out all the same.
#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine_holds.h"

namespace nekton {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::IsEmpty;
using testing::SizeIs;

// SWIM: one ping, at half time three relays.
Config Swim() {
  Config config = Rig::Lan();
  config.attempts = config.rumour_weight = 1;
  config.relays = 3;
  config.relay_after = 0.5;
  config.stream_ping = false;
  config.tolerated_pause = Duration{};
  config.hearer_margin = Duration{};
  config.hold_alpha = 5;
  config.hold_beta = 1;
  config.confirmers = 0;
  config.promote_threshold = 1;
  config.rules = {.void_deaf_rounds = false,
                  .excuse_deafness = false,
                  .confirm_is_a_word = false,
                  .refutation_ends_round = false,
                  .accusers_go_on = false,
                  .answer_stale_news = false,
                  .gossip_at_once = false,
                  .doubt_the_doubted = false,
                  .back_off = false,
                  .tell_the_suspect = false};
  return config;
}

TEST(EngineStuck, OneRoundBeginsAndFailsWhenTheHoldEnds) {
  Rig rig(Swim());
  rig.Know(7);
  rig.Run(seconds(3));
  rig.Silence();
  rig.Clear();
  rig.HoldProbes(true);
  rig.Run(seconds(20));
  ASSERT_THAT(rig.sent, SizeIs(1));
  const Said ping = rig.sent[0];
  EXPECT_TRUE(ping.is_round());
  EXPECT_THAT(rig.events, IsEmpty());

  rig.HoldProbes(false);
  const Peer& target = *rig.Find(ping.to);
  EXPECT_THAT(rig.Sent(FrameType::kPingReq), SizeIs(3));
  EXPECT_EQ(rig.Events(), "suspected " + target.name);
  const std::uint64_t late = rig.Count(Counter::kAcksLate);
  rig.Ack(target, ping.frame.sequence);
  EXPECT_EQ(rig.StateOf(target), "SUSPECT 0");
  EXPECT_EQ(rig.Count(Counter::kAcksLate), late + 1);
  rig.Clear();
  rig.Run(seconds(3));
  EXPECT_THAT(rig.Rounds(), SizeIs(3));
}

// What graded rounds make of the same: all relays were silent, so it proves nothing.
TEST(EngineStuck, WithTheRulesTheRoundIsVoid) {
  Rig rig;
  rig.Know(7);
  rig.Run(seconds(3));
  rig.Silence();
  rig.Clear();
  rig.HoldProbes(true);
  rig.Run(milliseconds(2100));
  ASSERT_THAT(rig.sent, SizeIs(1));
  rig.HoldProbes(false);
  EXPECT_THAT(rig.Sent(FrameType::kPingReq), SizeIs(rig.config.relays));
  EXPECT_EQ(rig.Events(), "");
  EXPECT_EQ(rig.Count(Counter::kRoundsVoid), 1U);
}

TEST(EngineStuck, AHoldThatEndsInTimeFailsNoRound) {
  Rig rig(Swim());
  rig.Know(7);
  rig.Silence();
  rig.HoldProbes(true);
  const Said ping = rig.NextRound();
  rig.Run(milliseconds(300));
  rig.HoldProbes(false);
  rig.Ack(*rig.Find(ping.to), ping.frame.sequence);
  rig.Run(milliseconds(600));
  EXPECT_EQ(rig.Events(), "");
  EXPECT_THAT(rig.Sent(FrameType::kPingReq), IsEmpty());
}

TEST(EngineStuck, ARoundBegunEarlierWaitsWithItsRelays) {
  Rig rig(Swim());
  rig.Know(7);
  rig.Silence();
  const Said ping = rig.NextRound();
  rig.Run(milliseconds(100));
  rig.Clear();
  rig.HoldProbes(true);
  rig.Run(seconds(5));
  EXPECT_THAT(rig.sent, IsEmpty());
  EXPECT_THAT(rig.events, IsEmpty());
  rig.HoldProbes(false);
  EXPECT_THAT(rig.Sent(FrameType::kPingReq), SizeIs(3));
  EXPECT_EQ(rig.Events(), "suspected " + rig.Find(ping.to)->name);
}

TEST(EngineStuck, ARoundThatHasSaidAllEndsInTheHoldAndOneMoreBegins) {
  Rig rig(Swim());
  rig.Know(7);
  rig.Silence();
  const Said ping = rig.NextRound();
  rig.Run(milliseconds(600));
  ASSERT_THAT(rig.Sent(FrameType::kPingReq), SizeIs(3));
  rig.Clear();
  rig.HoldProbes(true);
  rig.Run(milliseconds(400));
  EXPECT_EQ(rig.Events(), "suspected " + rig.Find(ping.to)->name);
  rig.Run(seconds(3));
  EXPECT_THAT(rig.sent, SizeIs(1));
  EXPECT_THAT(rig.Rounds(), SizeIs(1));
}

TEST(EngineStuck, SuspicionsRunOutAndTheVerdictWaits) {
  Rig rig(Swim());
  rig.Know(7);
  rig.Run(seconds(1));
  rig.Clear();
  rig.Gossip(rig[2], {Suspect(rig[1], {&rig[2]})});
  rig.HoldProbes(true);
  EXPECT_EQ(rig.Events(), "suspected m1");
  rig.Silence();
  rig.Clear();
  rig.Run(seconds(8));
  EXPECT_EQ(rig.Events(), "failed m1");
  EXPECT_FALSE(rig.Spread("m1", UpdateKind::kDead));
  EXPECT_THAT(rig.Sent(FrameType::kGossip), IsEmpty());
  rig.HoldProbes(false);
  EXPECT_TRUE(rig.Spread("m1", UpdateKind::kDead));
}

}  // namespace
}  // namespace nekton
