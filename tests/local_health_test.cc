// A member's trust in itself: the score, and what it stretches.
#include "swim/local_health.h"

#include <algorithm>
#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine_holds.h"

namespace nekton {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(LocalHealthTest, TheScoreHasABoundAtBothEnds) {
  LocalHealth health(2);
  health.Better();
  EXPECT_EQ(health.score(), 0u);
  for (int i = 0; i < 5; ++i) health.Worse();
  EXPECT_EQ(health.score(), 2u);
  health.Better();
  EXPECT_EQ(health.score(), 1u);
  health.Reset();
  EXPECT_EQ(health.score(), 0u);
  LocalHealth off(0);
  off.Worse();
  EXPECT_EQ(off.score(), 0u);
}

Config Healthy() {
  Config config = Rig::Lan();
  config.local_health_max = 7;
  return config;
}

// The time between the last two rounds that began.
Duration NextPeriod(Rig& rig) {
  const Instant last = rig.NextRound().at;
  return rig.NextRound().at - last;
}

TEST(EngineLocalHealth, RoundsWithoutNacksStretchThePeriodAndSuccessesShrinkIt) {
  Rig rig(Healthy());
  rig.Know(6);
  EXPECT_EQ(NextPeriod(rig), seconds(1));
  rig.Silence();
  // Each void round is one more.
  rig.NextRound();
  Instant last = rig.NextRound().at;
  for (int score = 2; score <= 7; ++score) {
    const Instant next = rig.NextRound().at;
    EXPECT_EQ(next - last, score * seconds(1)) << score;
    last = next;
  }
  for (Peer& peer : rig.peers) peer.answers = peer.answers_relays = peer.relays = true;
  rig.NextRound();  // the last one that had no answer ends with this
  last = rig.NextRound().at;
  for (int score = 6; score >= 1; --score) {
    const Instant next = rig.NextRound().at;
    EXPECT_EQ(next - last, score * seconds(1));
    last = next;
  }
  EXPECT_EQ(NextPeriod(rig), seconds(1));
}

// With half of the relays heard it is the target that is dead.
TEST(EngineLocalHealth, ARoundWithItsNacksSaysNothingAboutUs) {
  Rig rig(Healthy());
  rig.Know(6);
  Kill(rig[1]);
  rig.NextRound(&rig[1]);
  rig.RunUntil(rig.now.boot + seconds(1));
  EXPECT_EQ(rig.Events(), "suspected m1");
  EXPECT_EQ(NextPeriod(rig), seconds(1));
}

TEST(EngineLocalHealth, AnOwnRefutationAndAPauseCount) {
  Rig rig(Healthy());
  rig.Know(6);
  const Instant first = rig.NextRound().at;
  rig.Gossip(rig[2], {Suspect(rig.self, {&rig[2]})});
  EXPECT_EQ(rig.NextRound().at - first, seconds(1)) << "the period that runs is what it was";
  const Instant second = rig.NextRound().at;
  EXPECT_GE(second - first, seconds(2));
  Rig paused(Healthy());
  paused.Know(6);
  paused.NextRound();
  paused.SetTime(paused.engine->NextWake() + milliseconds(600));
  paused.Wake();
  EXPECT_EQ(paused.Count(Counter::kPauses), 1u);
  const Instant third = paused.now.boot;
  EXPECT_EQ(paused.NextRound().at - third, seconds(2));
}

TEST(EngineLocalHealth, AHoldThatItStartsIsLonger) {
  Config config = Healthy();
  Rig rig(config);
  rig.Know(1);  // in a group of two nobody is asked, so no round of its own makes it doubt itself
  rig.Gossip(rig[1], {Suspect(rig.self, {&rig[1]})});  // but an accusation does
  Kill(rig[1]);
  while (rig.StateOf(rig[1]) != "SUSPECT 0") rig.Step();
  const Instant since = rig.now.boot;
  while (rig.StateOf(rig[1]) != "INACTIVE 0") rig.Step();
  EXPECT_GE(rig.now.boot - since, 2 * kLongest);
}

}  // namespace
}  // namespace nekton
