// The mesh: what others say of a member, what transports say, who is told what, and who comes back when.
#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine_beats.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;
using testing::SizeIs;

// ---- A transport that closed or was refused. ----

TEST(EngineBeatNews, AClosedTransportSuspectsAtOnceAndKillsAfterTheHold) {
  for (const Trouble trouble : {Trouble::kClosed, Trouble::kRefused}) {
    BeatRig rig;
    rig.Meet(3);
    rig.Live(5s, {});
    rig.Report(rig[1].address, trouble);
    const Instant reported = rig.now.boot;
    const Event event = rig.Only(EventKind::kSuspected);
    EXPECT_EQ(event.at, reported);
    EXPECT_EQ(event.cause.reason, trouble == Trouble::kClosed ? Reason::kTransportClosed : Reason::kRefused);
    for (int i = 0; i < 5; ++i) rig.Report(rig[1].address, trouble);
    EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0") << "however often";
    rig.Live(90s - 1ns, {&rig[2], &rig[3]});
    EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
    rig.RunUntil(reported + 90s);
    EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
  }
}

TEST(EngineBeatNews, AClosedTransportOfALiveMemberIsForgiven) {
  BeatRig rig;
  rig.Meet(3);
  rig.Report(rig[1].address, Trouble::kClosed);
  ASSERT_EQ(rig.Events(), "suspected m1");
  rig.Live(20s, {&rig[1], &rig[2], &rig[3]});
  EXPECT_EQ(rig.Events(), "recovered m1");
}

TEST(EngineBeatNews, OtherTroublesAndStrangersAreNoEvidence) {
  BeatRig rig;
  rig.Meet(2);
  rig.Report(rig[1].address, Trouble::kSendFailed);
  rig.Report(rig[1].address, Trouble::kTooBig);
  rig.Report(Rig::At(77), Trouble::kClosed);
  rig.Report(rig.self.address, Trouble::kClosed);
  EXPECT_EQ(rig.Events(), "");
  EXPECT_THAT(rig.Signals(rig[1]), IsEmpty());
}

// ---- What others say. ----

TEST(EngineBeatNews, OneRumourWeighsOneOfThree) {
  BeatRig rig;
  rig.Meet(5);
  rig.Gossip(rig[2], {Suspect(rig[1], {&rig[2]})});
  rig.Gossip(rig[2], {Suspect(rig[1], {&rig[2]})});
  rig.Gossip(rig[3], {Suspect(rig[1], {&rig[2], &rig[3]})});
  EXPECT_EQ(rig.Events(), "") << "two members have spoken, however often";
  rig.Gossip(rig[4], {Suspect(rig[1], {&rig[4]})});
  EXPECT_EQ(rig.Events(), "suspected m1");
  const Instant committed = rig.now.boot;
  rig.Live(90s - 1ns, {&rig[2], &rig[3], &rig[4], &rig[5]});
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  rig.RunUntil(committed + 90s);
  EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 0") << "the hold is the same";
}

TEST(EngineBeatNews, ARumourAddsToOurOwnSilence) {
  BeatRig rig;
  rig.Meet(3);
  rig.Gossip(rig[2], {Suspect(rig[1], {&rig[2]})});
  rig.Live(35s, {&rig[2], &rig[3]});
  EXPECT_EQ(rig.Events(), "");
  rig.Live(1ns, {&rig[2], &rig[3]});
  EXPECT_EQ(rig.Events(), "suspected m1") << "one rumour and two signals of ours";
}

TEST(EngineBeatNews, AHeartbeatVoidsTheRumoursBeforeIt) {
  BeatRig rig;
  rig.Meet(5);
  rig.Gossip(rig[2], {Suspect(rig[1], {&rig[2], &rig[3]})});
  rig.Beat(rig[1]);
  rig.Gossip(rig[4], {Suspect(rig[1], {&rig[4]})});
  EXPECT_EQ(rig.Events(), "");
}

TEST(EngineBeatNews, VerdictsOfOthersChangeNoKnownMember) {
  BeatRig rig;
  rig.Meet(6);
  rig.Gossip(rig[2], {Dead(rig[1], {&rig[2], &rig[3], &rig[4], &rig[5]})});
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
  EXPECT_THAT(rig.engine->Explain(rig.now, "m1")->why.recent, IsEmpty());
  rig.Report(rig[1].address, Trouble::kClosed);
  const Instant begun = rig.now.boot;
  rig.Gossip(rig[2], {Dead(rig[1], {&rig[2], &rig[3], &rig[4], &rig[5]})});
  rig.Live(90s - 1ns, {&rig[2], &rig[3], &rig[4], &rig[5], &rig[6]});
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0") << "nor does it shorten a hold";
  rig.RunUntil(begun + 90s);
  EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
}

TEST(EngineBeatNews, WhoIsFirstHeardOfAsDeadIsATombstoneWithHeartbeats) {
  BeatRig rig;
  rig.Meet(3);
  Peer& fourth = rig.NewPeer();
  rig.Gossip(rig[2], {Dead(fourth, {&rig[2]})});
  EXPECT_EQ(rig.Events(), "");
  EXPECT_EQ(rig.StateOf(fourth), "INACTIVE 0");
  rig.Wake();
  EXPECT_THAT(rig.BeatsTo(fourth), SizeIs(1));
  const std::vector<Peer*> all = {&rig[1], &rig[2], &rig[3], &fourth};
  rig.Live(89s, all);
  EXPECT_EQ(rig.StateOf(fourth), "INACTIVE 0");
  rig.Live(20s, all);
  EXPECT_EQ(rig.StateOf(fourth), "ACTIVE 0") << "it lives, and it has been long enough";
}

TEST(EngineBeatNews, LeftIsBelieved) {
  BeatRig rig;
  rig.Meet(3);
  rig.Gossip(rig[2], {Left(rig[1])});
  EXPECT_EQ(rig.Events(), "left m1");
  rig.Clear();
  rig.Live(300s, {&rig[2], &rig[3]});
  EXPECT_THAT(rig.BeatsTo(rig[1]), IsEmpty()) << "nothing is due from it, and nothing owed to it";
  EXPECT_EQ(rig.Events(), "");
  rig.Beat(rig[1]);
  EXPECT_EQ(rig.StateOf(rig[1]), "LEFT 0") << "a late heartbeat brings nobody back";
}

// ---- Who is told what. ----

TEST(EngineBeatNews, OurSuspicionIsSpreadInOurName) {
  BeatRig rig;
  rig.Meet(3);
  rig.Live(40s + 1ns, {&rig[2], &rig[3]});
  ASSERT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  const std::vector<Said> gossip = rig.Sent(FrameType::kGossip);
  ASSERT_THAT(gossip, testing::Not(IsEmpty())) << "at once";
  for (const Said& said : gossip) {
    ASSERT_TRUE(said.Accuses("m1"));
    ASSERT_EQ(said.Of("m1")->accuser_count, 1u);
    EXPECT_EQ(said.Of("m1")->accusers[0], (Accuser{rig.self.id(), false}));
  }
  BeatRig refused;
  refused.Meet(3);
  refused.Report(refused[1].address, Trouble::kRefused);
  ASSERT_TRUE(refused.Spread("m1", UpdateKind::kSuspect));
  EXPECT_EQ(refused.Sent(FrameType::kGossip)[0].Of("m1")->accusers[0], (Accuser{refused.self.id(), true}));
}

TEST(EngineBeatNews, AWaveringSuspicionIsTakenBack) {
  BeatRig rig;
  rig.Meet(3);
  rig.Live(40s + 1ns, {&rig[2], &rig[3]});
  ASSERT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  rig.Clear();
  rig.Beat(rig[1]);  // the hold is cancelled
  const std::vector<Said> sent = rig.SentTo(rig[1], FrameType::kGossip);
  ASSERT_THAT(sent, SizeIs(1)) << "it is told, though it did not ask";
  const Update* told = sent[0].Of("m1");
  ASSERT_NE(told, nullptr);
  EXPECT_EQ(told->accuser_count, 0u) << "we do not accuse it any more";
  rig.Clear();
  rig.Live(5s, {&rig[2], &rig[3]});
  for (const Said& said : rig.sent) EXPECT_EQ(said.Of("m1"), nullptr) << "and the others hear no more of it";
}

TEST(EngineBeatNews, ASuspectIsToldAndRefutes) {
  BeatRig rig;
  rig.Meet(3);
  rig.Live(41s, {&rig[2], &rig[3]});
  ASSERT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  EXPECT_TRUE(rig.Spread("m1", UpdateKind::kSuspect));
  rig.Clear();
  rig.Beat(rig[1]);
  ASSERT_THAT(rig.sent, SizeIs(1));
  EXPECT_TRUE(rig.sent[0].Accuses("m1"));
  rig[1].key.incarnation = 1;
  rig.Gossip(rig[1], {Alive(rig[1])});
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 1") << "a refutation counts as much as promotes";
}

TEST(EngineBeatNews, WeRefuteAnAccusationOfOurselves) {
  BeatRig rig;
  rig.Meet(3);
  rig.Beat(rig[1], {.tells = {Suspect(rig.self, {&rig[1]})}});
  EXPECT_EQ(rig.engine->Self()->key.incarnation, 1u);
  ASSERT_THAT(rig.sent, testing::Not(IsEmpty()));
  ASSERT_NE(rig.sent[0].Of("self"), nullptr);
  EXPECT_EQ(rig.sent[0].Of("self")->key.incarnation, 1u);
}

TEST(EngineBeatNews, TheDeadOfTheMeshIsNotTold) {
  BeatRig rig;
  rig.Meet(3);
  rig.Live(131s, {&rig[2], &rig[3]});
  ASSERT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
  rig.Clear();
  rig.Beat(rig[1], {.flags = kFlagAsks});
  rig.Gossip(rig[1], {});
  rig.Beat(rig[1]);
  for (const Said& said : rig.sent) {
    if (said.to == rig[1].address) {
      EXPECT_EQ(said.Of("m1"), nullptr);
    }
  }
}

// ---- Coming back from the dead. ----

class MeshRecovery : public testing::Test {
 protected:
  MeshRecovery() {
    rig.Meet(3);
    rig.Live(130s, Others());
    rig.Live(1ns, Others());
    EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
    verdict = rig.now.boot;
    rig.Clear();
  }
  std::vector<Peer*> Others() { return {&rig[2], &rig[3]}; }

  BeatRig rig;
  Instant verdict{};
};

TEST_F(MeshRecovery, TakesNinetySecondsAndOneHeartbeat) {
  rig.Live(80s, {&rig[1], &rig[2], &rig[3]});
  rig.Live(10s - 1ns, Others());
  rig.Beat(rig[1]);
  EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
  rig.RunUntil(verdict + 90s);
  EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 0") << "time alone revives nobody";
  rig.Beat(rig[1]);
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
  EXPECT_EQ(rig.Only(EventKind::kRecovered).cause.transition, Transition::kRecoveryWindowElapsed);
  rig.Live(30s, Others());
  EXPECT_THAT(rig.AsksTo(rig[1]), IsEmpty()) << "and it is monitored as ever: silence counts from that heartbeat";
  rig.Live(1ns, Others());
  EXPECT_THAT(rig.AsksTo(rig[1]), SizeIs(1));
}

TEST_F(MeshRecovery, OneHeartbeatIsEnoughLongAfter) {
  rig.Live(2000s, Others());
  EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
  rig.Beat(rig[1]);
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
}

TEST_F(MeshRecovery, NeitherGossipNorARefutationNorAJoinDoesItSooner) {
  rig.Live(60s, Others());
  rig[1].key.incarnation = 3;
  rig.Gossip(rig[1], {Alive(rig[1])});
  Frame sync = Rig::Of(FrameType::kSync);
  sync.flags = kFlagJoin;
  rig.Serve(rig[1], sync, {Alive(rig[1])});
  EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 3");
  rig.Live(60s, Others());
  rig.Gossip(rig[1], {});
  EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 3") << "a frame that is no heartbeat is no healthy signal of the dead";
}

TEST_F(MeshRecovery, AReplayRevivesNobody) {
  rig.Live(100s, Others());
  rig.Beat(rig[1], {.sequence = 1});
  rig[1].key.incarnation = 65535;  // one below, in a circle
  rig.Beat(rig[1], {.sequence = 500});
  EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
}

TEST_F(MeshRecovery, ARestartDoesNotWait) {
  rig.Reborn(rig[1]);
  rig.Gossip(rig[2], {Alive(rig[1])});
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
  EXPECT_EQ(rig.Events(), "restarted m1");
}

}  // namespace
}  // namespace nekton
