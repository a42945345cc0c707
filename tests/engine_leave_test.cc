// Saying goodbye.
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine_rig.h"

namespace nekton {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using testing::IsEmpty;
using testing::SizeIs;

bool IsFarewell(const Said& said) {
  const Update* self = said.Of("self");
  return said.frame.type == FrameType::kPing && said.frame.sequence == kFarewellSequence && self != nullptr &&
         self->kind == UpdateKind::kLeft;
}

TEST(EngineLeave, EveryoneIsToldAndItIsDoneWhenAllHaveHeard) {
  Rig rig;
  rig.Know(7);
  ASSERT_TRUE(rig.Order(Leave{}).ok());
  ASSERT_THAT(rig.sent, SizeIs(7));
  std::set<Address> told;
  for (const Said& said : rig.sent) {
    EXPECT_TRUE(IsFarewell(said));
    EXPECT_EQ(said.Of("self")->key, rig.self.key);
    told.insert(said.to);
  }
  EXPECT_THAT(told, SizeIs(7));
  ASSERT_THAT(rig.events, SizeIs(1));
  EXPECT_EQ(rig.events[0].kind, EventKind::kLeaveDone);
  EXPECT_EQ(rig.events[0].heard_by, 7u);
  EXPECT_TRUE(rig.events[0].status.ok());
  EXPECT_EQ(rig.events[0].member->status, MemberStatus::kLeft);
  EXPECT_EQ(rig.engine->Self()->status, MemberStatus::kLeft);
}

TEST(EngineLeave, DoneItIsSilentForGood) {
  Rig rig;
  rig.Know(3);
  ASSERT_TRUE(rig.Order(Leave{}).ok());
  rig.Clear();
  EXPECT_EQ(rig.engine->NextWake(), kNever);
  rig.Run(seconds(30));
  rig.Wake();
  rig.Receive(rig[1], Rig::Of(FrameType::kPing, 77), {Suspect(rig[2], {&rig[1]})});
  rig.Report(rig[1].address, Trouble::kRefused);
  EXPECT_THAT(rig.sent, IsEmpty());
  EXPECT_EQ(rig.Events(), "");
  EXPECT_EQ(rig.Order(Leave{}).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(rig.Order(Join{{rig[1].address}}).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(rig.Serve(rig[1], Rig::Of(FrameType::kSync), {Alive(rig[1])}).empty);
}

TEST(EngineLeave, AloneItIsDoneAtOnce) {
  Rig rig;
  ASSERT_TRUE(rig.Order(Leave{}).ok());
  ASSERT_THAT(rig.events, SizeIs(1));
  EXPECT_EQ(rig.events[0].kind, EventKind::kLeaveDone);
  EXPECT_EQ(rig.events[0].heard_by, 0u);
  EXPECT_TRUE(rig.events[0].status.ok());
}

TEST(EngineLeave, WhoDoesNotAnswerIsToldAgainUntilTheDeadline) {
  for (const Duration timeout : {Duration{}, Duration(milliseconds(700))}) {
    Rig rig;
    rig.Know(5);
    rig[1].answers = rig[2].answers = false;
    const Instant from = rig.now.boot;
    ASSERT_TRUE(rig.Order(Leave{timeout}).ok());
    const Duration limit = timeout == Duration{} ? rig.config.leave_timeout : timeout;
    rig.RunUntil(from + limit - nanoseconds(1));
    EXPECT_EQ(rig.Events(), "");
    const std::size_t times = static_cast<std::size_t>((limit - nanoseconds(1)) / milliseconds(200)) + 1;
    EXPECT_THAT(rig.SentTo(rig[1], FrameType::kPing), SizeIs(times));
    EXPECT_THAT(rig.SentTo(rig[3], FrameType::kPing), SizeIs(1)) << "it has heard";
    rig.RunUntil(from + limit);
    ASSERT_THAT(rig.events, SizeIs(1));
    EXPECT_EQ(rig.events[0].kind, EventKind::kLeaveDone);
    EXPECT_EQ(rig.events[0].heard_by, 3u);
    EXPECT_EQ(rig.events[0].status.code(), absl::StatusCode::kDeadlineExceeded);
    EXPECT_THAT(std::string(rig.events[0].status.message()), testing::HasSubstr("3 of 5"));
    EXPECT_EQ(rig.engine->NextWake(), kNever);
  }
}

TEST(EngineLeave, AnAckCountsOnceAndOnlyFromWhomItWasTold) {
  Rig rig;
  rig.Know(2);
  rig.Silence();
  ASSERT_TRUE(rig.Order(Leave{}).ok());
  Peer& stranger = rig.NewPeer();
  for (int i = 0; i < 3; ++i) rig.Ack(rig[1], kFarewellSequence);
  rig.Ack(stranger, kFarewellSequence);
  rig.Ack(rig[2], 77);
  EXPECT_EQ(rig.Events(), "");
  rig.Ack(rig[2], kFarewellSequence);
  ASSERT_THAT(rig.events, SizeIs(1));
  EXPECT_EQ(rig.events[0].heard_by, 2u);
}

TEST(EngineLeave, InALargeGroupSoManyAreToldDirectly) {
  Rig rig;
  rig.Know(100);
  ASSERT_TRUE(rig.Order(Leave{}).ok());
  std::set<Address> told;
  for (const Said& said : rig.Sent(FrameType::kPing)) told.insert(said.to);
  EXPECT_GE(told.size(), 30u);
  EXPECT_LE(told.size(), 40u);
  ASSERT_THAT(rig.events, SizeIs(1));
  EXPECT_EQ(rig.events[0].heard_by, told.size());
}

// It answers for as long as it is there: nobody takes it for dead meanwhile. It begins nothing of its own any more.
TEST(EngineLeave, LeavingItAnswersPingsAndProbesNobody) {
  Rig rig;
  rig.Know(5);
  const Said first = rig.NextRound();
  rig.Silence();
  rig.RunUntil(first.at + milliseconds(900));
  ASSERT_TRUE(rig.Order(Leave{seconds(10)}).ok());
  rig.Clear();
  rig.Run(seconds(5));
  for (const Said& said : rig.sent) EXPECT_TRUE(IsFarewell(said) || said.frame.type == FrameType::kGossip);
  EXPECT_THAT(rig.requests, IsEmpty());
  EXPECT_EQ(rig.Events(), "") << "its own last round accuses nobody";
  rig.Clear();
  rig.Receive(rig[1], Rig::Of(FrameType::kPing, 77));
  ASSERT_FALSE(rig.sent.empty());
  EXPECT_EQ(rig.sent[0].frame.type, FrameType::kAck);
  EXPECT_EQ(rig.sent[0].frame.sequence, 77u);
}

TEST(EngineLeave, LeavingItRefutesNothing) {
  Rig rig;
  rig.Know(5);
  rig.Silence();
  ASSERT_TRUE(rig.Order(Leave{}).ok());
  rig.Gossip(rig[1], {Left(rig.self), Suspect(rig.self, {&rig[1]}), Dead(rig.self, {&rig[1]})});
  EXPECT_EQ(rig.engine->Self()->key, rig.self.key);
  EXPECT_EQ(rig.engine->Self()->status, MemberStatus::kLeft);
  EXPECT_EQ(rig.Events(), "");
}

// A hold that runs out, or an attempt to join that ends, is no reason to look for seeds now.
TEST(EngineLeave, LeavingItTriesNoSeedAndServesNoSync) {
  Config config = Rig::Lan();
  config.rules.await_answers = false;  // nobody answers here
  Rig rig(config);
  rig.Know(5);
  rig.Gossip(rig[2], {Suspect(rig[1], {&rig[2]})});
  ASSERT_TRUE(rig.Order(Join{{Rig::At(200), rig[1].address}}).ok());
  ASSERT_THAT(rig.requests, SizeIs(1));
  rig.Silence();
  ASSERT_TRUE(rig.Order(Leave{seconds(30)}).ok());
  rig.AnswerBytes(rig.requests[0].id, absl::UnavailableError("no"), {});
  rig.Clear();
  rig.Run(seconds(29));
  EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
  EXPECT_THAT(rig.requests, IsEmpty());
  const Said reply = rig.Serve(rig[2], Rig::Of(FrameType::kSync), {Alive(rig[2])});
  EXPECT_EQ(reply.frame.type, FrameType::kRefusal);
  EXPECT_EQ(reply.frame.refusal, Refusal::kBusy);
}

TEST(EngineLeave, WrongOrdersAreRefusedWithAReason) {
  Rig rig;
  rig.Know(2);
  rig.Silence();
  const absl::Status negative = rig.Order(Leave{milliseconds(-1)});
  EXPECT_EQ(negative.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(negative.message()), testing::HasSubstr("timeout"));
  EXPECT_EQ(rig.engine->Self()->status, MemberStatus::kActive);
  ASSERT_TRUE(rig.Order(Leave{}).ok());
  EXPECT_EQ(rig.Order(Leave{}).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(rig.Order(Join{{Rig::At(9)}}).code(), absl::StatusCode::kFailedPrecondition);
}

// Seen in the field: a leave is believed only of the member itself; what another says of it is refuted.
TEST(EngineLeave, AForgedOrReplayedLeaveIsRefuted) {
  Rig victim;
  victim.Know(3);
  victim.Gossip(victim[2], {Left(victim.self)});
  EXPECT_EQ(victim.engine->Self()->status, MemberStatus::kActive);
  EXPECT_EQ(victim.engine->Self()->key.incarnation, 1u);
  EXPECT_EQ(victim.Count(Counter::kRefutations), 1u);

  Rig other;  // hears the forgery, then the refutation
  other.Know(3);
  other.Gossip(other[2], {Left(other[1])});
  other.Gossip(other[1], {Alive(other[1], 1)});
  EXPECT_EQ(other.StateOf(other[1]), "ACTIVE 1");
  other.Clear();
  // And a recorded leave of a former life or incarnation is stale.
  Peer former = other[1];
  former.key = {Rig::kGeneration - 1, 9};
  other.Gossip(other[2], {Left(former)});
  other.Gossip(other[2], {Left(other[1], 0)});
  EXPECT_EQ(other.StateOf(other[1]), "ACTIVE 1");
  EXPECT_EQ(other.Events(), "");
  EXPECT_EQ(other.Count(Counter::kUpdatesStale), 2u);
}

// Whatever says whom it probes next.
TEST(EngineLeave, WhoLeavesBeginsNoRound) {
  for (const Probing probing : {Probing::kRandom, Probing::kStaggered}) {
    Config config = Rig::Lan();
    config.probing = probing;
    Rig rig(config);
    rig.Know(8);
    rig.Run(seconds(12));
    EXPECT_GE(rig.Rounds().size(), 10u);
    for (std::size_t i = 1; i <= 8; ++i) rig[i].answers = false;  // nobody hears its farewell
    rig.Clear();
    ASSERT_TRUE(rig.Order(Leave{.timeout = seconds(20)}).ok());
    rig.Run(seconds(15));
    EXPECT_EQ(rig.Rounds().size(), 0u) << static_cast<int>(probing);
  }
}

}  // namespace
}  // namespace nekton
