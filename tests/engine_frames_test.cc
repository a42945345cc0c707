// Single frames: what is answered, and what is done for others.
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "swim/relays.h"
#include "tests/engine_rig.h"

namespace nekton {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using testing::IsEmpty;
using testing::SizeIs;

// ---- Answers. ----

TEST(EngineFrames, APingIsAckedToWhereItCameFrom) {
  Rig rig;
  rig.Know(2);
  Frame ping = Rig::Of(FrameType::kPing, 0x12345678);
  ping.digest = rig.engine->digest();
  ping.label = LabelTag("");
  ping.sender = rig[1].id();
  rig.ReceiveBytes(Rig::At(500), Encode(ping, {}));
  ASSERT_THAT(rig.sent, SizeIs(1));
  EXPECT_EQ(rig.sent[0].to, Rig::At(500));
  EXPECT_EQ(rig.sent[0].frame.type, FrameType::kAck);
  EXPECT_EQ(rig.sent[0].frame.sequence, 0x12345678u);
  EXPECT_EQ(rig.sent[0].frame.sender, rig.self.id());
  EXPECT_EQ(rig.sent[0].frame.incarnation, 0u);
  EXPECT_EQ(rig.sent[0].frame.flags, 0u);
  EXPECT_EQ(rig.Count(Counter::kDatagramsReceived), 1u);
}

TEST(EngineFrames, AnAckSaysWhetherTheTablesDiffer) {
  Rig rig;
  rig.Know(2);
  Frame ping = Rig::Of(FrameType::kPing, 77);
  ping.digest = rig.engine->digest() + 1;
  rig.Receive(rig[1], ping);
  ASSERT_THAT(rig.sent, SizeIs(1));
  EXPECT_EQ(rig.sent[0].frame.flags, kFlagDiffers);
}

TEST(EngineFrames, AnUnknownSenderHearsThatItIsAStranger) {
  Rig rig;
  rig.Know(2);
  Peer& fresh = rig.NewPeer();
  rig.Receive(fresh, Rig::Of(FrameType::kPing, 77));
  ASSERT_THAT(rig.sent, SizeIs(1));
  EXPECT_NE(rig.sent[0].frame.flags & kFlagStranger, 0);
  EXPECT_EQ(rig.engine->size(), 3u) << "a ping makes no member";
  rig.Clear();
  rig.Receive(fresh, Rig::Of(FrameType::kPing, 78), {Alive(fresh)});
  ASSERT_FALSE(rig.sent.empty());
  EXPECT_EQ(rig.sent[0].frame.flags & kFlagStranger, 0) << "the frame introduced its sender";
  EXPECT_EQ(rig.engine->size(), 4u);
}

TEST(EngineFrames, CalledAStrangerWeIntroduceOurselvesOnce) {
  Rig rig;
  rig.Know(3);
  for (Peer& peer : rig.peers) peer.stranger = true;
  const Said first = rig.NextRound();
  std::vector<Said> gossip = rig.Sent(FrameType::kGossip);
  ASSERT_THAT(gossip, SizeIs(1));
  EXPECT_EQ(gossip[0].to, first.to);
  ASSERT_NE(gossip[0].Of("self"), nullptr);
  EXPECT_EQ(gossip[0].Of("self")->kind, UpdateKind::kAlive);
  Frame ack = Rig::Of(FrameType::kAck, kQuestionSequence);
  ack.flags = kFlagStranger;
  for (std::size_t i = 1; i <= 3; ++i) rig.Receive(rig[i], ack);
  EXPECT_THAT(rig.Sent(FrameType::kGossip), SizeIs(1)) << "not once per answer";
  EXPECT_EQ(rig.engine->Self()->key, rig.self.key) << "and not as a newer life";
}

TEST(EngineFrames, AStrangerThatCallsUsOneIsNotAnswered) {
  Rig rig;
  rig.Know(1);
  Frame ack = Rig::Of(FrameType::kAck, kQuestionSequence);
  ack.flags = kFlagStranger;
  rig.Receive(rig.NewPeer(), ack);
  EXPECT_THAT(rig.sent, IsEmpty());
}

TEST(EngineFrames, OurOwnFrameComeBackIsIgnored) {
  Rig rig;
  rig.Know(2);
  const std::uint64_t fingerprint = rig.engine->Fingerprint();
  rig.Receive(rig.self, Rig::Of(FrameType::kPing, 77), {Left(rig[1])});
  EXPECT_THAT(rig.sent, IsEmpty());
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
  EXPECT_EQ(rig.engine->Fingerprint(), fingerprint);
}

TEST(EngineFrames, NewsRidesOnWhateverIsSent) {
  Rig rig;
  rig.Know(30);
  Peer& fresh = rig.NewPeer();
  rig.Gossip(rig[1], {Alive(fresh)});
  rig.Clear();
  rig.Receive(rig[2], Rig::Of(FrameType::kPing, 77));
  Frame request = Rig::Of(FrameType::kPingReq, 78);
  request.target = rig[3].id();
  request.target_address = rig[3].address;
  request.budget = milliseconds(500);
  rig[3].answers = false;
  rig.Receive(rig[2], request);
  ASSERT_THAT(rig.sent, SizeIs(2));
  for (const Said& said : rig.sent) EXPECT_NE(said.Of(fresh.name), nullptr);
}

// The rig checks each datagram against datagram_max.
TEST(EngineFrames, NoDatagramIsAboveItsBoundHoweverMuchThereIsToTell) {
  Config config = Rig::Lan();
  config.datagram_max = 512;
  Rig rig(config);
  rig.Know(2);
  std::vector<Update> rows;
  while (rows.size() < 200) rows.push_back(Alive(rig.NewPeer()));
  rig.Gossip(rig[1], rows);
  rig.Run(seconds(30));
  std::set<std::string_view> told;
  for (const Said& said : rig.sent) {
    for (const Update& update : said.updates) told.insert(update.name);
  }
  EXPECT_THAT(told, SizeIs(200)) << "and nothing is left out for it";
}

// ---- Work for others. ----

class EngineRelay : public testing::Test {
 protected:
  EngineRelay() {
    rig.Know(4);
    rig[1].answers = false;
  }
  void Ask(Duration budget, std::uint32_t sequence = 501) {
    Frame request = Rig::Of(FrameType::kPingReq, sequence);
    request.target = rig[1].id();
    request.target_address = rig[1].address;
    request.budget = budget;
    rig.Receive(rig[2], request);
  }
  // The ping that the request caused.
  Said Ping() const { return rig.SentTo(*Target(), FrameType::kPing).at(0); }
  const Peer* Target() const { return &rig.peers.front(); }
  Rig rig;
};

TEST_F(EngineRelay, AskedItPingsAndPassesTheAckBack) {
  Ask(milliseconds(500));
  ASSERT_THAT(rig.sent, SizeIs(1));
  EXPECT_EQ(Ping().frame.sequence & Relays::kMark, Relays::kMark) << "apart from our own rounds";
  EXPECT_EQ(Ping().frame.digest, rig.engine->digest());
  rig.Pass(milliseconds(100));
  rig.Ack(rig[1], Ping().frame.sequence);
  ASSERT_THAT(rig.sent, SizeIs(2));
  EXPECT_EQ(rig.sent[1].to, rig[2].address);
  EXPECT_EQ(rig.sent[1].frame.type, FrameType::kRelayedAck);
  EXPECT_EQ(rig.sent[1].frame.sequence, 501u);
  EXPECT_EQ(rig.sent[1].frame.target, rig[1].id());
  rig.Ack(rig[1], Ping().frame.sequence);
  EXPECT_THAT(rig.sent, SizeIs(2)) << "once";
  EXPECT_EQ(rig.Count(Counter::kAcksStray), 1u);
}

TEST_F(EngineRelay, ANackComesAtFourFifthsOfTheBudget) {
  Ask(milliseconds(500));
  const Instant asked = rig.now.boot;
  rig.RunUntil(asked + milliseconds(400) - nanoseconds(1));
  EXPECT_THAT(rig.Sent(FrameType::kNack), IsEmpty());
  EXPECT_EQ(rig.engine->NextWake(), asked + milliseconds(400));
  rig.RunUntil(asked + milliseconds(400));
  const std::vector<Said> nacks = rig.Sent(FrameType::kNack);
  ASSERT_THAT(nacks, SizeIs(1));
  EXPECT_EQ(nacks[0].to, rig[2].address);
  EXPECT_EQ(nacks[0].frame.sequence, 501u);
}

TEST_F(EngineRelay, AnAckAfterTheNackIsStillPassedBackUntilTheBudgetEnds) {
  for (const bool in_time : {true, false}) {
    rig.Clear();
    Ask(milliseconds(100));
    const std::uint32_t sequence = Ping().frame.sequence;
    rig.RunUntil(rig.now.boot + milliseconds(100) - nanoseconds(in_time ? 1 : 0));
    ASSERT_THAT(rig.Sent(FrameType::kNack), SizeIs(1));
    rig.Ack(rig[1], sequence);
    EXPECT_THAT(rig.Sent(FrameType::kRelayedAck), SizeIs(in_time ? 1 : 0)) << "no work past the budget";
  }
}

TEST_F(EngineRelay, AnotherMembersAckIsNotPassedBack) {
  Ask(milliseconds(500));
  rig.Ack(rig[3], Ping().frame.sequence);
  EXPECT_THAT(rig.Sent(FrameType::kRelayedAck), IsEmpty());
  EXPECT_EQ(rig.Count(Counter::kAcksStray), 1u);
}

TEST_F(EngineRelay, WithoutTimeLeftOrRoomTheNackComesAtOnce) {
  Ask(Duration{});
  EXPECT_THAT(rig.SentTo(rig[1], FrameType::kPing), IsEmpty());
  EXPECT_THAT(rig.Sent(FrameType::kNack), SizeIs(1));
  EXPECT_EQ(rig.Count(Counter::kRelaysRefused), 1u);
  rig.Clear();
  for (std::uint32_t i = 0; i < Relays::kSlots; ++i) Ask(milliseconds(500), 1000 + i);
  EXPECT_THAT(rig.Sent(FrameType::kNack), IsEmpty());
  Ask(milliseconds(500), 2000);
  ASSERT_THAT(rig.Sent(FrameType::kNack), SizeIs(1));
  EXPECT_EQ(rig.Sent(FrameType::kNack)[0].frame.sequence, 2000u);
  EXPECT_EQ(rig.Count(Counter::kRelaysRefused), 2u);
}

TEST_F(EngineRelay, ATargetUnknownHereIsPingedAllTheSame) {
  Frame request = Rig::Of(FrameType::kPingReq, 501);
  request.target = 12345;
  request.target_address = Rig::At(200);
  request.budget = milliseconds(500);
  rig.Receive(rig[2], request);
  ASSERT_THAT(rig.sent, SizeIs(1));
  EXPECT_EQ(rig.sent[0].to, Rig::At(200));
}

// The asker's suspicion travels with the request, on to the suspect, and its refutation comes back with the ack.
TEST_F(EngineRelay, ASuspicionGoesOutAndItsRefutationComesBack) {
  Frame request = Rig::Of(FrameType::kPingReq, 501);
  request.target = rig[1].id();
  request.target_address = rig[1].address;
  request.budget = milliseconds(500);
  rig.Receive(rig[2], request, {Suspect(rig[1], {&rig[2]})});
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  ASSERT_TRUE(Ping().Accuses("m1"));
  const std::uint32_t sequence = Ping().frame.sequence;
  rig.Run(milliseconds(250));
  rig.Clear();
  rig[1].key.incarnation = 1;
  rig.Ack(rig[1], sequence, {Alive(rig[1])});
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 1");
  const std::vector<Said> passed = rig.SentTo(rig[2], FrameType::kRelayedAck);
  ASSERT_THAT(passed, SizeIs(1));
  ASSERT_NE(passed[0].Of("m1"), nullptr);
  EXPECT_EQ(passed[0].Of("m1")->kind, UpdateKind::kAlive);
  EXPECT_EQ(passed[0].Of("m1")->key.incarnation, 1u);
}

}  // namespace
}  // namespace nekton
