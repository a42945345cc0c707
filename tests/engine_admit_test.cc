// Who may have a name: the one that is alive under it, and nobody needs to wait for a timeout to find that out.
#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine_rig.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::SizeIs;

Frame JoinFrame() {
  Frame frame = Rig::Of(FrameType::kSync);
  frame.flags = kFlagJoin;
  return frame;
}

// A process of m1's name at another address asks to join; its answer comes later.
struct Newcomer {
  explicit Newcomer(Rig* rig, std::uint64_t later = 9, std::uint32_t host = 200) : peer((*rig)[1]) {
    peer.address = Rig::At(host);
    peer.key = {Rig::kGeneration + later, 0};
    peer.answers = peer.answers_relays = peer.relays = true;
  }
  void Ask(Rig* rig) {
    Frame join = JoinFrame();
    join.label_text = rig->config.label;
    rig->ServeLater(peer, join, {Alive(peer)});
  }
  Peer peer;
};

void Fall(Rig* rig, std::size_t number) { (*rig)[number].answers = (*rig)[number].answers_relays = false; }

TEST(EngineAdmit, WhoAnswersKeepsItsName) {
  Rig rig;
  rig.Know(4);
  Newcomer newcomer(&rig);
  newcomer.Ask(&rig);
  ASSERT_THAT(rig.replies, SizeIs(1)) << "it answered at once";
  EXPECT_EQ(rig.replies[0].frame.refusal, Refusal::kNameInUse);
  EXPECT_THAT(std::string(rig.replies[0].frame.text), HasSubstr(rig[1].address.ToString()));
  EXPECT_EQ(rig.Events(), "name_conflict m1");
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
}

TEST(EngineAdmit, WhoDoesNotAnswerLosesItWithinAPeriod) {
  for (const bool later : {true, false}) {
    Rig rig;
    rig.Know(6);
    Fall(&rig, 1);
    Newcomer newcomer(&rig, later ? 9 : 0);
    newcomer.Ask(&rig);
    EXPECT_THAT(rig.replies, SizeIs(0)) << "the round runs";
    const Instant from = rig.now.boot;
    while (rig.replies.empty() && rig.now.boot < from + 10s) rig.Step();
    ASSERT_THAT(rig.replies, SizeIs(1));
    EXPECT_EQ(rig.replies[0].frame.type, FrameType::kSyncReply);
    EXPECT_LE(rig.now.boot - from, rig.config.period);
    if (!later) continue;  // it is told of the life before it, and takes a generation above that
    EXPECT_EQ(rig.Member("m1")->address, newcomer.peer.address);
    EXPECT_EQ(rig.Member("m1")->key, newcomer.peer.key);
    EXPECT_EQ(rig.Member("m1")->status, MemberStatus::kActive);
  }
}

// Nobody at all answers us: then it may be we who are deaf.
TEST(EngineAdmit, AVoidRoundSaysComeAgain) {
  Rig rig;
  rig.Know(6);
  rig.Silence();
  Newcomer newcomer(&rig);
  newcomer.Ask(&rig);
  const Instant from = rig.now.boot;
  while (rig.replies.empty() && rig.now.boot < from + 10s) rig.Step();
  ASSERT_THAT(rig.replies, SizeIs(1));
  EXPECT_EQ(rig.replies[0].frame.type, FrameType::kRefusal);
  EXPECT_EQ(rig.replies[0].frame.refusal, Refusal::kBusy);
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
}

TEST(EngineAdmit, AnEndThatComesMeanwhileFreesTheName) {
  Rig rig;
  rig.Know(6);
  Fall(&rig, 1);
  Newcomer newcomer(&rig);
  newcomer.Ask(&rig);
  rig.Gossip(rig[2], {Left(rig[1])});
  ASSERT_THAT(rig.replies, SizeIs(1));
  EXPECT_EQ(rig.replies[0].frame.type, FrameType::kSyncReply);
  EXPECT_EQ(rig.Member("m1")->address, newcomer.peer.address);
}

TEST(EngineAdmit, OnlySoManyWaitAtOnce) {
  Rig rig;
  rig.Know(6);
  Fall(&rig, 1);
  for (std::uint32_t i = 0; i < 9; ++i) Newcomer(&rig, 9, 200 + i).Ask(&rig);
  ASSERT_THAT(rig.replies, SizeIs(1)) << "the ninth";
  EXPECT_EQ(rig.replies[0].frame.refusal, Refusal::kBusy);
  rig.Run(2s);
  EXPECT_THAT(rig.replies, SizeIs(9)) << "each gets an answer";
}

TEST(EngineAdmit, WhoLeavesMeanwhileSaysBusy) {
  Rig rig;
  rig.Know(6);
  Fall(&rig, 1);
  Newcomer(&rig).Ask(&rig);
  ASSERT_TRUE(rig.Order(Leave{}).ok());
  ASSERT_THAT(rig.replies, SizeIs(1));
  EXPECT_EQ(rig.replies[0].frame.refusal, Refusal::kBusy);
}

TEST(EngineAdmit, OurOwnNameIsNotForTheTaking) {
  Rig rig;
  rig.Know(3);
  Peer thief = rig.self;
  thief.address = Rig::At(200);
  thief.key.generation += 9;
  const Said reply = rig.Serve(thief, JoinFrame(), {Alive(thief)});
  EXPECT_EQ(reply.frame.refusal, Refusal::kNameInUse);
  EXPECT_EQ(rig.engine->Self()->address, rig.self.address);
}

// The other side of it: what the group knew was our former life.
TEST(EngineAdmit, ANewcomerTakesAGenerationAboveThatOfItsNamesake) {
  Rig rig;
  rig.NewPeer();
  ASSERT_TRUE(rig.Order(Join{{rig[1].address}}).ok());
  Peer former = rig.self;
  former.address = Rig::At(77);
  former.key = {Rig::kGeneration + 5, 3};
  rig.Answer(rig.requests[0], rig[1], Rig::Of(FrameType::kSyncReply), {Alive(rig[1]), Alive(former)});
  EXPECT_EQ(rig.engine->Self()->key, (LifeKey{Rig::kGeneration + 6, 0}));
  EXPECT_EQ(rig.Events().find("displaced"), std::string::npos);
}

TEST(EngineAdmit, OfTwoThatStartedAtOnceTheLargerAddressStays) {
  for (const bool larger : {false, true}) {
    Rig rig;
    rig.Know(3);
    Peer twin = rig.self;
    twin.address = larger ? Rig::At(77) : Address::V4(9, 0, 0, 1, 7946);
    rig.Gossip(rig[1], {Alive(twin)});
    EXPECT_EQ(rig.Events(), larger ? "displaced self" : "") << larger;
  }
}

}  // namespace
}  // namespace nekton
