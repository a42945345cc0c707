// Those who are gone: forged and replayed leaves, late gossip, and how long a tombstone stands.
//
// Who hears a leave by gossip cannot tell whether its subject has said it: the key of a life can be copied, and what
// authenticates members lies below the protocol. So what is promised of a leave: of an earlier key it changes nothing;
// of the present one, or of one not yet reached, it is undone by the member itself as soon as it hears of it.
#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cluster.h"
#include "tests/engine_rig.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

enum class End : std::uint8_t { kLeft, kDead };

// Brings m1 to its end, as of its key.
void Finish(Rig& rig, End end) {
  if (end == End::kLeft) {
    rig.Gossip(rig[1], {Left(rig[1])});
    rig[1].answers = rig[1].answers_relays = false;
    ASSERT_EQ(rig.StateOf(rig[1]).substr(0, 4), "LEFT");
    return;
  }
  rig[1].answers = rig[1].answers_relays = false;
  for (int i = 0; i < 60 && !rig.StateOf(rig[1]).starts_with("INACTIVE"); ++i) rig.Run(1s);
  ASSERT_TRUE(rig.StateOf(rig[1]).starts_with("INACTIVE"));
}

TEST(EngineTombstone, LateGossipOfThatLifeRevivesNobody) {
  for (const End end : {End::kLeft, End::kDead}) {
    Rig rig;
    rig.NewPeer().key.incarnation = 5;
    rig.Know(6);
    Finish(rig, end);
    const std::string gone = rig.StateOf(rig[1]);
    rig.Clear();
    for (int second = 0; second < 60; ++second) {
      Peer former = rig[1];
      former.key = {Rig::kGeneration - 1, 99};
      rig.Gossip(rig[2], {Alive(rig[1]), Alive(rig[1], 4), Suspect(rig[1], {&rig[3]}), Alive(former)});
      rig.Serve(rig[3], Rig::Of(FrameType::kSync), {Alive(rig[3]), Alive(rig[1])});
      EXPECT_EQ(rig.StateOf(rig[1]), gone);
      rig.Run(1s);
    }
    EXPECT_EQ(rig.Events(), "") << static_cast<int>(end);
  }
}

// What is heard of it meanwhile does not make it last; and it ends for the left and the dead alike.
TEST(EngineTombstone, EndsInTimeWhateverIsHeard) {
  for (const End end : {End::kLeft, End::kDead}) {
    Rig rig;
    rig.Know(6);
    Finish(rig, end);
    const Instant from = rig.now.boot;
    rig.Clear();
    const auto talk = [&] {
      Update left = Left(rig[1]);
      Update dead = Dead(rig[1], {&rig[3]});
      rig.Gossip(rig[2], {left, dead, Alive(rig[1]), Suspect(rig[1], {&rig[3]})});
    };
    while (rig.now.boot < from + rig.config.forget_after - 2s) {
      talk();
      rig.Run(500ms);
    }
    EXPECT_NE(rig.StateOf(rig[1]), "") << static_cast<int>(end);
    rig.Run(3s);
    EXPECT_EQ(rig.StateOf(rig[1]), "") << static_cast<int>(end);
    EXPECT_EQ(rig.engine->size(), 6u);
    EXPECT_THAT(rig.Events(), testing::EndsWith("forgotten m1"));
    // Who still has the tombstone tells its age, and does not bring it back.
    Update left = Left(rig[1]);
    Update dead = Dead(rig[1], {&rig[3]});
    left.age = dead.age = rig.config.forget_after;
    rig.Gossip(rig[2], {left});
    rig.Gossip(rig[2], {dead});
    EXPECT_EQ(rig.StateOf(rig[1]), "");
    dead.age -= 5s;
    rig.Gossip(rig[2], {dead});
    EXPECT_NE(rig.StateOf(rig[1]), "");
    rig.Run(6s);
    EXPECT_EQ(rig.StateOf(rig[1]), "") << "with all others, and not a whole time later";
  }
}

TEST(EngineTombstone, ALeaveOfAnEarlierLifeOrIncarnationChangesNothing) {
  Rig rig;
  rig.NewPeer().key = {Rig::kGeneration, 3};
  rig.Know(4);
  const Update recorded = Left(rig[1]);
  rig.Gossip(rig[1], {recorded});
  Peer again = rig[1];
  again.key = {Rig::kGeneration + 1, 0};
  rig.Gossip(rig[2], {Alive(again)});
  ASSERT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
  rig.Clear();
  const std::uint32_t digest = rig.engine->digest();
  rig.Gossip(rig[2], {recorded});         // replayed after it came back
  rig.Gossip(again, {recorded});          // by its own address and id, too
  rig.Gossip(rig[3], {Left(rig[1], 9)});  // of the old life, with an incarnation that it never had
  rig.Serve(rig[3], Rig::Of(FrameType::kSync), {Alive(rig[3]), recorded});
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
  EXPECT_EQ(rig.engine->digest(), digest);
  EXPECT_EQ(rig.Events(), "");
  EXPECT_EQ(rig.Count(Counter::kUpdatesStale), 4u);
  EXPECT_FALSE(rig.Spread("m1", UpdateKind::kLeft)) << "nor is it passed on";
}

TEST(EngineTombstone, ALeaveBeyondWhatIsPlausibleChangesNothing) {
  Rig rig;
  rig.Know(4);
  rig.Gossip(rig[2], {Left(rig[1], kIncarnationJumpMax + 1)});
  Peer far = rig[1];
  far.key.generation += kGenerationAheadMax + 1;
  rig.Gossip(rig[2], {Left(far)});
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
  EXPECT_EQ(rig.Count(Counter::kUpdatesRefused), 2u);
  EXPECT_EQ(rig.Events(), "");
}

// A leave that the member did not say, sent by another to one of the group: it spreads, is refuted, and nothing is left
// of it but an incarnation more.
TEST(EngineTombstone, AForgedLeaveIsUndoneByItsVictimWithinTwoPeriods) {
  for (const std::uint64_t ahead : {0u, 7u}) {
    Cluster c({.nodes = 24});
    ASSERT_TRUE(c.Converge());
    c.RunFor(20s);
    Frame frame = Rig::Of(FrameType::kGossip);
    frame.label = LabelTag("");
    frame.sender = MemberId("n3", c.sim().generation(3));
    Update forged;
    forged.kind = UpdateKind::kLeft;
    forged.name = "n5";
    forged.address = c.sim().address(5);
    forged.key = {c.sim().generation(5), ahead};
    const Duration from = c.now();
    c.sim().Inject(9, c.sim().address(3), Encode(frame, {forged}));
    EXPECT_EQ(c.Sees(9, 5), MemberStatus::kLeft);
    EXPECT_TRUE(c.RunUntil([&] { return c.AllSee(5, MemberStatus::kActive) && c.sim().Converged(); }, 60s));
    EXPECT_LE(c.now() - from, 2s) << ahead;
    EXPECT_EQ(c.member(0).Members().size(), 24u);
    EXPECT_EQ(c.member(5).Self()->key.incarnation, ahead + 1);
    c.RunFor(150s);
    EXPECT_EQ(c.Count({.kind = EventKind::kForgotten}), 0u) << "no timer of the tombstone is left";
    EXPECT_EQ(c.Count({.kind = EventKind::kFailed}), 0u);
  }
}

// Who is dead when it is first heard of is told by one event: when it is forgotten. So is who has left.
TEST(EngineTombstone, OneThatIsLearntAsSuchRaisesNoEventButItsEnd) {
  Rig rig;
  rig.Know(3);
  Peer& dead = rig.NewPeer();
  Peer& gone = rig.NewPeer();
  rig.Gossip(rig[1], {Dead(dead, {&rig[2]}), Left(gone)});
  ASSERT_NE(rig.Member(dead.name), nullptr);
  ASSERT_NE(rig.Member(gone.name), nullptr);
  EXPECT_EQ(rig.Events(), "");
  rig.Gossip(rig[2], {Dead(dead, {&rig[2], &rig[3]}), Left(gone)});
  rig.Run(rig.config.forget_after - std::chrono::seconds(1));
  EXPECT_EQ(rig.Events(), "");
  rig.Run(std::chrono::seconds(2));
  EXPECT_THAT(rig.Events(), testing::AnyOf("forgotten m4, forgotten m5", "forgotten m5, forgotten m4"));
}

}  // namespace
}  // namespace nekton
