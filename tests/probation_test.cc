// When a member that is held dead may say that it lives: at once, unless it was so before and its own link is bad.
#include "swim/probation.h"

#include <algorithm>
#include <chrono>

#include <gtest/gtest.h>

#include "swim/tags.h"
#include "tests/engine_holds.h"

namespace nekton {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr Instant kStart{seconds(1000)};

TEST(ProbationTest, TheFirstReturnIsFreeAndTheOthersWaitEverLonger) {
  Probation probation;
  Instant now = kStart;
  std::uint64_t incarnation = 3;
  for (const int wait : {0, 30, 60, 120, 240, 240}) {
    now += seconds(100);
    probation.Condemned(now, ++incarnation);
    probation.Condemned(now, incarnation);  // heard twice
    probation.Trouble(now);
    if (wait > 0) {
      EXPECT_TRUE(probation.Waits(now + seconds(wait) - Duration(1))) << wait;
    }
    now += seconds(wait);
    EXPECT_FALSE(probation.Waits(now)) << wait;
    EXPECT_TRUE(probation.condemned());
    probation.Refuted(now);
    probation.Condemned(now, incarnation);  // and once more, by one that is slow to learn
    EXPECT_FALSE(probation.condemned());
  }
}

TEST(ProbationTest, TroubleBeginsTheWaitAnew) {
  Probation probation;
  for (std::uint64_t i = 0; i < 2; ++i) {
    probation.Condemned(kStart + i * seconds(20), i);
    if (i == 0) probation.Refuted(kStart);
  }
  EXPECT_FALSE(probation.Waits(kStart + seconds(20))) << "it never had any: the others were wrong";
  probation.Trouble(kStart);
  EXPECT_TRUE(probation.Waits(kStart + seconds(29)));
  probation.Trouble(kStart + seconds(29));
  EXPECT_TRUE(probation.Waits(kStart + seconds(58)));
  EXPECT_FALSE(probation.Waits(kStart + seconds(59)));
}

TEST(ProbationTest, FiveQuietMinutesAreANewBeginning) {
  for (const Duration later : {Duration(minutes(5)), Duration(minutes(5)) + Duration(1)}) {
    Probation probation;
    probation.Condemned(kStart, 0);
    probation.Refuted(kStart);
    probation.Condemned(kStart + later, 1);
    probation.Trouble(kStart + later);
    EXPECT_EQ(probation.Waits(kStart + later), later == minutes(5));
  }
}

// ---- In the engine. ----

std::uint64_t Incarnation(const Rig& rig) { return rig.engine->Self()->key.incarnation; }

// No relay answers and nobody acks until one round was void.
void SufferAVoidRound(Rig& rig) {
  const std::uint64_t before = rig.Count(Counter::kRoundsVoid);
  rig.Silence();
  while (rig.Count(Counter::kRoundsVoid) == before) rig.Step();
  for (Peer& peer : rig.peers) peer.answers = peer.answers_relays = peer.relays = true;
}

TEST(EngineProbation, ASecondDeathInTroubleIsRefutedOnceTheLinkHasBeenGoodForAWhile) {
  for (const bool rule : {true, false}) {
    Config config = Rig::Lan();
    config.rules.earn_the_return = rule;
    Rig rig(config);
    rig.Know(6);
    SufferAVoidRound(rig);
    rig.Gossip(rig[1], {Dead(rig.self, {&rig[1], &rig[2]})});
    EXPECT_EQ(Incarnation(rig), 1u) << "the first time at once";
    rig.Run(seconds(15));
    SufferAVoidRound(rig);
    const Instant trouble = rig.now.boot;
    rig.Gossip(rig[1], {Dead(rig.self, {&rig[1], &rig[2]}, 1)});
    EXPECT_EQ(Incarnation(rig), rule ? 1u : 2u);
    if (!rule) continue;
    rig.Clear();
    rig.Run(seconds(20));
    // What is said of it meanwhile is not answered, old or new; and it tells nobody that it lives.
    for (const Update& said : {Dead(rig.self, {&rig[1]}, 1), Suspect(rig.self, {&rig[2]}, 1), Dead(rig.self, {}, 0)}) {
      rig.Receive(rig[2], Rig::Of(FrameType::kPing, 77), {said});
    }
    Frame ack = Rig::Of(FrameType::kAck, 3);
    ack.flags |= kFlagStranger;
    rig.Receive(rig[3], ack);
    EXPECT_EQ(Incarnation(rig), 1u);
    EXPECT_FALSE(rig.Spread("self", UpdateKind::kAlive));
    EXPECT_GE(rig.Count(Counter::kRefutationsHeldBack), 4u);
    EXPECT_TRUE(rig.engine->contact().isolated) << "it is dead to the others";
    rig.RunUntil(trouble + seconds(30) - Duration(1));
    EXPECT_EQ(Incarnation(rig), 1u);
    rig.Run(seconds(2));  // then by itself, with its next period
    EXPECT_EQ(Incarnation(rig), 2u);
    EXPECT_TRUE(rig.Spread("self", UpdateKind::kAlive));
    rig.Run(seconds(6));
    EXPECT_FALSE(rig.engine->contact().isolated);
  }
}

// One that can hear and cannot speak refutes a suspicion in vain, and then hears of its death at the incarnation before.
TEST(EngineProbation, ADeathThatItsRefutationCameTooLateForCountsAsWell) {
  Rig rig;
  rig.Know(6);
  for (const std::uint64_t i : {0u, 1u}) {
    rig.Run(seconds(10));
    SufferAVoidRound(rig);
    rig.Gossip(rig[1], {Suspect(rig.self, {&rig[1]}, i)});
    EXPECT_EQ(Incarnation(rig), i + 1);
    rig.Run(seconds(5));
    rig.Clear();
    rig.Receive(rig[1], Rig::Of(FrameType::kPing, 77), {Dead(rig.self, {&rig[1], &rig[2]}, i)});
    EXPECT_EQ(rig.Spread("self", UpdateKind::kAlive), i == 0) << "the second time it is silent";
  }
  rig.Run(seconds(40));
  EXPECT_EQ(Incarnation(rig), 3u);
}

// Its tags change at once, and others learn that when it comes back: they would take it for a refutation.
TEST(EngineProbation, AChangeOfTagsRevivesNobody) {
  Rig rig;
  rig.Know(6);
  for (const std::uint64_t i : {0u, 1u}) {
    rig.Run(seconds(15));
    SufferAVoidRound(rig);
    rig.Gossip(rig[1], {Dead(rig.self, {&rig[1], &rig[2]}, i)});
  }
  ASSERT_EQ(Incarnation(rig), 1u);
  rig.Clear();
  ASSERT_TRUE(rig.Order(SetTag{"zone", "b"}).ok());
  EXPECT_EQ(rig.Events(), "updated self");
  EXPECT_EQ(rig.engine->Self()->tags.at("zone"), "b");
  rig.Run(seconds(10));
  EXPECT_EQ(Incarnation(rig), 1u);
  EXPECT_FALSE(rig.Spread("self", UpdateKind::kAlive));
  rig.Run(seconds(40));
  EXPECT_EQ(Incarnation(rig), 2u);
  const auto told =
      std::find_if(rig.sent.begin(), rig.sent.end(), [](const Said& s) { return s.Of("self") != nullptr; });
  ASSERT_NE(told, rig.sent.end());
  EXPECT_EQ(told->Of("self")->key.incarnation, 2u);
  EXPECT_EQ(told->Of("self")->tags, EncodeTags({{"zone", "b"}}).value());
}

// What it says is spread; the sync that would compare what all hold carries its own row, and so waits.
TEST(EngineProbation, BroadcastsAreSpreadAndComparedLater) {
  Rig rig;
  rig.Know(6);
  for (const std::uint64_t i : {0u, 1u}) {
    rig.Run(seconds(10));
    SufferAVoidRound(rig);
    rig.Gossip(rig[1], {Suspect(rig.self, {&rig[1]}, i)});
    rig.Run(seconds(5));
    rig.Gossip(rig[1], {Dead(rig.self, {&rig[1], &rig[2]}, i)});
  }
  ASSERT_EQ(Incarnation(rig), 2u) << "above that death";
  rig.Clear();
  const auto differ = [&] {
    Frame ack = Rig::Of(FrameType::kAck, 3);
    ack.flags |= kFlagOtherBroadcasts;
    for (int i = 0; i < 10; ++i) {
      rig.Receive(rig[3], ack);
      rig.Run(std::chrono::milliseconds(100));
    }
  };
  EXPECT_GT(rig.Count(Counter::kRefutationsHeldBack), 0u);
  ASSERT_TRUE(rig.Order(Broadcast{"k", "v"}).ok());
  differ();
  EXPECT_EQ(rig.Count(Counter::kBroadcastSyncsSent), 0u);
  for (const Said& request : rig.requests) EXPECT_EQ(request.Of("self"), nullptr);
  EXPECT_FALSE(rig.Spread("self", UpdateKind::kAlive));
  EXPECT_GT(rig.Count(Counter::kBroadcastBytesSent), 0u);
  rig.Run(seconds(40));
  EXPECT_EQ(Incarnation(rig), 3u);
  differ();
  EXPECT_EQ(rig.Count(Counter::kBroadcastSyncsSent), 1u);
}

TEST(EngineProbation, AGoodbyeIsSaidAtOnce) {
  Rig rig;
  rig.Know(6);
  for (const std::uint64_t i : {0u, 1u}) {
    rig.Run(seconds(15));
    SufferAVoidRound(rig);
    rig.Gossip(rig[1], {Dead(rig.self, {&rig[1], &rig[2]}, i)});
  }
  EXPECT_EQ(Incarnation(rig), 1u);
  rig.Clear();
  ASSERT_TRUE(rig.Order(Leave{}).ok());
  rig.Gossip(rig[1], {Dead(rig.self, {&rig[1], &rig[2]}, 1)});
  rig.Run(seconds(1));
  EXPECT_TRUE(rig.Spread("self", UpdateKind::kLeft));
}

TEST(EngineProbation, WhoseLinkIsGoodRefutesHoweverOften) {
  Rig rig;
  rig.Know(6);
  for (std::uint64_t i = 0; i < 8; ++i) {
    rig.Run(seconds(10));
    rig.Gossip(rig[1], {Dead(rig.self, {&rig[1], &rig[2]}, i)});
    EXPECT_EQ(Incarnation(rig), i + 1);
  }
}

TEST(EngineProbation, ASuspicionIsRefutedAtOnceHoweverBadTheLink) {
  Rig rig;
  rig.Know(6);
  for (std::uint64_t i = 0; i < 5; ++i) {
    SufferAVoidRound(rig);
    rig.Gossip(rig[1], {Suspect(rig.self, {&rig[1]}, i)});
    EXPECT_EQ(Incarnation(rig), i + 1);
  }
}

}  // namespace
}  // namespace nekton
