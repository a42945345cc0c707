// What we hear of ourselves: only the member itself refutes; a former life of ours; another process with our name.
#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine_rig.h"

namespace nekton {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::SizeIs;

LifeKey KeyOf(const Rig& rig) { return rig.engine->Self()->key; }

TEST(EngineSelf, AnAccusationIsRefutedInTheAckAndSpread) {
  for (const UpdateKind kind : {UpdateKind::kSuspect, UpdateKind::kDead, UpdateKind::kLeft}) {
    Rig rig;
    rig.Know(8);
    const Accusers by = kind == UpdateKind::kLeft ? Accusers{} : Accusers{&rig[3]};
    rig.Receive(rig[2], Rig::Of(FrameType::kPing, 77), {Accused(kind, rig.self, by, 0)});
    EXPECT_EQ(KeyOf(rig).incarnation, 1u);
    EXPECT_EQ(rig.engine->Self()->status, MemberStatus::kActive);
    ASSERT_FALSE(rig.sent.empty());
    EXPECT_EQ(rig.sent[0].frame.type, FrameType::kAck);
    EXPECT_EQ(rig.sent[0].to, rig[2].address);
    EXPECT_EQ(rig.sent[0].frame.incarnation, 1u);
    ASSERT_NE(rig.sent[0].Of("self"), nullptr);
    EXPECT_EQ(rig.sent[0].Of("self")->kind, UpdateKind::kAlive);
    EXPECT_EQ(rig.sent[0].Of("self")->key.incarnation, 1u);
    EXPECT_EQ(rig.Count(Counter::kRefutations), 1u);
    ASSERT_THAT(rig.events, SizeIs(1));
    EXPECT_EQ(rig.events[0].kind, EventKind::kAccused);
    EXPECT_EQ(rig.events[0].cause.observers.size(), by.size());
    rig.Run(seconds(1));
    EXPECT_FALSE(rig.Sent(FrameType::kGossip).empty());
    for (const Said& gossip : rig.Sent(FrameType::kGossip)) EXPECT_NE(gossip.Of("self"), nullptr);
  }
}

TEST(EngineSelf, ARefutationIsAboveWhateverWasClaimed) {
  Rig rig;
  rig.Know(3);
  rig.Gossip(rig[1], {Suspect(rig.self, {&rig[2]}, 40)});
  EXPECT_EQ(KeyOf(rig), (LifeKey{Rig::kGeneration, 41}));
}

TEST(EngineSelf, AStaleAccusationIsAnsweredAndRaisesNothing) {
  Rig rig;
  rig.Know(3);
  rig.Gossip(rig[1], {Suspect(rig.self, {&rig[2]}, 4)});
  rig.Run(seconds(5));
  rig.Clear();
  for (const Update& stale : {Suspect(rig.self, {&rig[2]}, 4), Dead(rig.self, {&rig[2]}, 0), Left(rig.self, 3)}) {
    rig.Receive(rig[1], Rig::Of(FrameType::kPing, 77), {stale});
    ASSERT_THAT(rig.sent, SizeIs(1));
    ASSERT_NE(rig.sent[0].Of("self"), nullptr);
    EXPECT_EQ(rig.sent[0].Of("self")->key.incarnation, 5u);
    rig.Clear();
  }
  EXPECT_EQ(KeyOf(rig).incarnation, 5u);
  EXPECT_EQ(rig.Count(Counter::kRefutations), 1u);
}

TEST(EngineSelf, TheSameAccusationFromManyIsRefutedOnce) {
  Rig rig;
  rig.Know(6);
  for (std::size_t i = 1; i <= 6; ++i) rig.Gossip(rig[i], {Suspect(rig.self, {&rig[i]}, 0)});
  EXPECT_EQ(KeyOf(rig).incarnation, 1u);
  EXPECT_EQ(rig.Events(), "accused self");
}

TEST(EngineSelf, OurOwnAliveComeBackIsNothingNew) {
  Rig rig;
  rig.Know(3);
  rig.Gossip(rig[1], {Alive(rig.self)});
  EXPECT_EQ(KeyOf(rig), rig.self.key);
  EXPECT_TRUE(rig.sent.empty());
  EXPECT_EQ(rig.Events(), "");
}

// An accusation over the stream is refuted in its answer.
TEST(EngineSelf, AStreamPingIsAnsweredLikeAnyOther) {
  Rig rig;
  rig.Know(3);
  const Said ack = rig.Serve(rig[1], Rig::Of(FrameType::kPing, 99), {Suspect(rig.self, {&rig[1]}, 0)});
  EXPECT_EQ(ack.frame.type, FrameType::kAck);
  EXPECT_EQ(ack.frame.sequence, 99u);
  ASSERT_NE(ack.Of("self"), nullptr);
  EXPECT_EQ(ack.Of("self")->key.incarnation, 1u);
}

// ---- Our own restart. ----

// A clock that went back while we were down: the group knows a later life of ours than this one.
TEST(EngineSelf, AGenerationBelowWhatTheGroupKnowsIsRaisedAboveIt) {
  for (const UpdateKind kind : {UpdateKind::kAlive, UpdateKind::kSuspect, UpdateKind::kDead, UpdateKind::kLeft}) {
    Rig rig;
    rig.Know(3);
    Peer former = rig.self;
    former.key = {Rig::kGeneration + 500, 7};
    rig.Receive(rig[1], Rig::Of(FrameType::kPing, 77), {Accused(kind, former, {}, 7)});
    EXPECT_EQ(KeyOf(rig), (LifeKey{Rig::kGeneration + 501, 0}));
    ASSERT_FALSE(rig.sent.empty());
    ASSERT_NE(rig.sent[0].Of("self"), nullptr);
    EXPECT_EQ(rig.sent[0].Of("self")->kind, UpdateKind::kAlive);
    EXPECT_EQ(rig.sent[0].Of("self")->key, KeyOf(rig));
    EXPECT_EQ(rig.sent[0].frame.sender, MemberId("self", Rig::kGeneration + 501));
    EXPECT_FALSE(rig.Sent(FrameType::kGossip).empty()) << "everyone must hear of it";
  }
}

// A stored counter that was lost: the group knows this very generation, further on than we are.
TEST(EngineSelf, AGenerationThatTheGroupKnowsAlreadyIsRaisedAboveIt) {
  Rig rig;
  Peer& peer = rig.NewPeer();
  ASSERT_TRUE(rig.Order(Join{{peer.address}}).ok());
  rig.Answer(rig.requests[0], peer, Rig::Of(FrameType::kSyncReply), {Alive(peer), Alive(rig.self, 7)});
  EXPECT_EQ(KeyOf(rig), (LifeKey{Rig::kGeneration + 1, 0})) << "known + 1, so that all see a restart";
}

// Once a member it knows what it has said: a number that it never took is only outdone, and nobody sees a restart.
TEST(EngineSelf, AMemberThatIsClaimedToBeFurtherOnOutdoesIt) {
  Rig rig;
  rig.Know(3);
  rig.Gossip(rig[1], {Alive(rig.self, 7)});
  EXPECT_EQ(KeyOf(rig), (LifeKey{Rig::kGeneration, 8}));
}

// ---- Another process with our name. ----

TEST(EngineSelf, AHigherGenerationOfOurNameElsewhereDisplacesUs) {
  Rig rig;
  rig.Know(3);
  Peer other = rig.self;
  other.address = Rig::At(99);
  other.key.generation += 1;
  rig.Receive(rig[1], Rig::Of(FrameType::kPing, 77), {Alive(other)});
  ASSERT_THAT(rig.events, SizeIs(1));
  EXPECT_EQ(rig.events[0].kind, EventKind::kDisplaced);
  EXPECT_EQ(rig.events[0].address, other.address);
  EXPECT_TRUE(rig.sent.empty()) << "it stops, and never refutes";
  EXPECT_EQ(rig.engine->NextWake(), kNever);
  EXPECT_EQ(rig.Order(Leave{}).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(rig.Order(Join{{Rig::At(5)}}).code(), absl::StatusCode::kFailedPrecondition);

  const std::uint64_t fingerprint = rig.engine->Fingerprint();
  rig.Run(seconds(10));
  rig.Wake();
  rig.Receive(rig[1], Rig::Of(FrameType::kPing, 78), {Suspect(rig.self, {&rig[2]}, 0)});
  EXPECT_TRUE(rig.ServeBytes(rig[1].address, {}).empty);
  EXPECT_TRUE(rig.sent.empty());
  EXPECT_EQ(rig.engine->Fingerprint(), fingerprint);
  EXPECT_THAT(rig.events, SizeIs(1));
}

TEST(EngineSelf, DisplacedByAStreamItAnswersNothing) {
  for (const bool sync : {true, false}) {
    Rig rig;
    rig.Know(3);
    Peer other = rig.self;
    other.address = Rig::At(99);
    other.key.generation += 1;
    const Said reply = sync ? rig.Serve(rig[1], Rig::Of(FrameType::kSync), {Alive(rig[1]), Alive(other)})
                            : rig.Serve(rig[1], Rig::Of(FrameType::kPing, 5), {Alive(other)});
    EXPECT_EQ(rig.Events(), "displaced self");
    EXPECT_TRUE(reply.empty);
    EXPECT_TRUE(rig.sent.empty());
  }
}

TEST(EngineSelf, ALowerGenerationOfOurNameElsewhereIsAnsweredWithOurs) {
  Rig rig;
  rig.Know(3);
  Peer other = rig.self;
  other.address = Rig::At(99);
  other.key.generation -= 1;
  rig.Gossip(rig[1], {Alive(other)});
  ASSERT_THAT(rig.sent, SizeIs(1));
  EXPECT_EQ(rig.sent[0].Of("self")->key, rig.self.key);
  EXPECT_EQ(rig.Events(), "");
}

}  // namespace
}  // namespace nekton
