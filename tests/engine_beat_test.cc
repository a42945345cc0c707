// Heartbeats among three and more: what is sent and when, what convicts, what commits, and what takes it back.
#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine_beats.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Instant kStart = Rig::kStart;

// ---- What is sent. ----

TEST(EngineBeat, TheFirstGoesOutAtOnce) {
  BeatRig rig;
  rig.Know(3);
  EXPECT_LE(rig.engine->NextWake(), rig.now.boot);
  rig.Wake();
  for (const Peer& peer : rig.peers) {
    const std::vector<Said> beats = rig.BeatsTo(peer);
    ASSERT_THAT(beats, SizeIs(1)) << peer.name;
    EXPECT_EQ(beats[0].frame.sequence, 1u);
    EXPECT_EQ(beats[0].frame.watermark, 0u) << "none of its own was heard";
    EXPECT_EQ(beats[0].frame.flags, 0u) << "in the mesh nothing is asked as long as all is well";
    EXPECT_EQ(beats[0].frame.digest, rig.engine->digest());
  }
  EXPECT_TRUE(rig.Sent(FrameType::kPing).empty());
}

TEST(EngineBeat, ANewcomerIsNotWaitedFor) {
  BeatRig rig;
  rig.Meet(3);
  rig.Pass(3s);
  Peer& newcomer = rig.NewPeer();
  rig.Gossip(rig[1], {Alive(newcomer)});
  rig.Wake();
  EXPECT_THAT(rig.BeatsTo(newcomer), SizeIs(1));
  EXPECT_THAT(rig.BeatsTo(rig[1]), IsEmpty()) << "the others have a rhythm of their own";
}

TEST(EngineBeat, EveryIntervalIsRolledAnewForEveryDestination) {
  BeatRig rig;
  rig.Meet(3);
  rig.Live(1000s, {&rig[1], &rig[2], &rig[3]});
  std::set<std::vector<Duration>> rhythms;
  std::vector<int> quarters(4);
  for (const Peer& peer : rig.peers) {
    const std::vector<Said> beats = rig.BeatsTo(peer);
    ASSERT_GE(beats.size(), 95u);
    EXPECT_LE(beats.size(), 105u);
    Instant last = kStart;
    std::uint32_t sequence = 1;
    for (const Said& beat : beats) {
      EXPECT_EQ(beat.frame.sequence, ++sequence);
      const Duration interval = beat.at - last;
      last = beat.at;
      EXPECT_GE(interval, 8s);
      EXPECT_LE(interval, 12s);
      ++quarters[std::min<std::size_t>(3, static_cast<std::size_t>((interval - 8s) / 1s))];
    }
    rhythms.insert(BeatRig::Times(beats, kStart));
  }
  EXPECT_THAT(rhythms, SizeIs(3)) << "each destination has its own";
  // Uniform: about 75 of the 300 in each quarter, whose deviation is 7.5.
  for (const int count : quarters) EXPECT_NEAR(count, 75, 38);
  EXPECT_EQ(rig.Events(), "");
}

TEST(EngineBeat, WithoutJitterTheyAreRegular) {
  Config config = MeshConfig();
  config.jitter = 0s;
  BeatRig rig(config);
  rig.Meet(2);
  rig.Run(30s);
  EXPECT_THAT(BeatRig::Times(rig.BeatsTo(rig[1]), kStart), ElementsAre(10s, 20s, 30s));
}

TEST(EngineBeat, TheWatermarkIsTheHighestSequenceHeardFromTheReceiver) {
  BeatRig rig;
  rig.Know(2);
  rig.Beat(rig[1], {.sequence = 7});
  rig.Beat(rig[2], {.sequence = 3});
  rig.Beat(rig[1], {.sequence = 4});  // it was overtaken
  rig.Wake();
  EXPECT_EQ(rig.BeatsTo(rig[1]).back().frame.watermark, 7u);
  EXPECT_EQ(rig.BeatsTo(rig[2]).back().frame.watermark, 3u);
}

TEST(EngineBeat, WhoAsksIsAnsweredAtOnceAndOutsideTheRhythm) {
  BeatRig rig;
  rig.Meet(2);
  const Instant next = rig.engine->NextWake();
  rig.Pass(1s);
  rig.Beat(rig[1]);
  EXPECT_THAT(rig.sent, IsEmpty()) << "an ordinary one needs no answer";
  rig.Pass(1s);
  rig.Beat(rig[1], {.flags = kFlagAsks});
  ASSERT_THAT(rig.sent, SizeIs(1));
  const Said answer = rig.sent[0];
  EXPECT_EQ(answer.frame.type, FrameType::kHeartbeat);
  EXPECT_EQ(answer.to, rig[1].address);
  EXPECT_EQ(answer.frame.flags, kFlagExtra) << "and does not ask back";
  EXPECT_EQ(answer.frame.sequence, 2u);
  EXPECT_EQ(answer.frame.watermark, 3u) << "it acknowledges the very one that asked";
  EXPECT_EQ(rig.engine->NextWake(), next) << "our rhythm does not move";
}

// Tables that stay different are made equal, after a minute of patience.
TEST(EngineBeat, ADigestThatStaysDifferentCausesASync) {
  BeatRig rig;
  rig.Meet(2);
  const std::vector<Peer*> both = {&rig[1], &rig[2]};
  rig.Live(200s, both);
  EXPECT_THAT(rig.requests, IsEmpty());
  rig.Gossip(rig[2], {Alive(rig[2], 1)});
  rig[2].key.incarnation = 1;
  for (int i = 0; i < 6; ++i) {  // the first one finds the table changed
    rig.Live(10s, {&rig[2]});
    rig.Beat(rig[1], {.differs = true});
    EXPECT_THAT(rig.requests, IsEmpty()) << "the news may be on its way";
  }
  rig.Live(10s, {&rig[2]});
  rig.Beat(rig[1], {.differs = true});
  ASSERT_THAT(rig.requests, SizeIs(1));
  EXPECT_EQ(rig.requests[0].to, rig[1].address);
}

TEST(EngineBeat, WhoLeavesSendsNoMoreOfThem) {
  BeatRig rig;
  rig.Meet(3);
  for (Peer& peer : rig.peers) peer.answers = false;
  rig.Live(7s, {});
  rig.Clear();
  ASSERT_TRUE(rig.Order(Leave{.timeout = 60s}).ok());
  rig.Run(59s);
  EXPECT_THAT(rig.Sent(FrameType::kHeartbeat), IsEmpty());
  EXPECT_EQ(rig.Events(), "") << "and judges nobody";
}

TEST(EngineBeat, WeAnswerAStrangerThatWeDoNotKnowIt) {
  BeatRig rig;
  rig.Meet(2);
  Peer& stranger = rig.NewPeer();
  rig.Beat(stranger, {.flags = kFlagAsks});
  ASSERT_THAT(rig.sent, SizeIs(1));
  EXPECT_EQ(rig.sent[0].frame.type, FrameType::kGossip);
  EXPECT_EQ(rig.sent[0].frame.flags, kFlagStranger);
  EXPECT_EQ(rig.engine->size(), 3u);
}

// ---- What convicts, and what follows. ----

TEST(EngineBeat, SilenceConvictsAtOneNanosecondBeyondThirtySeconds) {
  BeatRig rig;
  rig.Meet(3);
  rig.Live(30s, {&rig[2], &rig[3]});
  EXPECT_THAT(rig.AsksTo(rig[1]), IsEmpty());
  EXPECT_THAT(rig.Signals(rig[1]), IsEmpty()) << "30 s are within the deadline";
  rig.Live(1ns, {&rig[2], &rig[3]});
  EXPECT_THAT(BeatRig::Times(rig.AsksTo(rig[1]), kStart), ElementsAre(kMeshDeadline));
  const std::vector<Testimony> signals = rig.Signals(rig[1]);
  ASSERT_THAT(signals, SizeIs(1));
  EXPECT_EQ(signals[0].signal, Signal::kSuspect);
  EXPECT_EQ(signals[0].reason, Reason::kDeadline);
  EXPECT_EQ(signals[0].weight, 1u);
  EXPECT_EQ(rig.Events(), "") << "a signal commits nothing yet";
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
}

TEST(EngineBeat, ItIsAskedEveryHalfIntervalAndTheThirdSilenceCommits) {
  BeatRig rig;
  rig.Meet(3);
  rig.Live(40s, {&rig[2], &rig[3]});
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
  rig.Live(1ns, {&rig[2], &rig[3]});
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  const Event event = rig.Only(EventKind::kSuspected);
  EXPECT_EQ(event.at, kStart + 40s + 1ns);
  EXPECT_EQ(event.cause.transition, Transition::kDemotionThreshold);
  EXPECT_EQ(event.cause.reason, Reason::kDeadline);
  EXPECT_TRUE(event.cause.own);
  EXPECT_EQ(event.cause.silence, 40s + 1ns);
  EXPECT_THAT(event.cause.observers, ElementsAre("self"));
  EXPECT_THAT(BeatRig::Times(rig.AsksTo(rig[1]), kStart), ElementsAre(30s + 1ns, 35s + 1ns, 40s + 1ns));
  rig.Live(20s, {&rig[2], &rig[3]});
  EXPECT_THAT(rig.AsksTo(rig[1]), SizeIs(7)) << "and on while it is SUSPECT";
}

TEST(EngineBeat, TheHoldIsNinetySecondsAndTheOneKDeadEndsNothing) {
  BeatRig rig;
  rig.Meet(3);
  std::vector<Duration> dead;
  while (rig.now.boot < kStart + 130s) {
    const Instant before = rig.now.boot;
    rig.Live(std::min<Duration>(500ms, kStart + 130s - before), {&rig[2], &rig[3]}, 250ms);
    for (const Testimony& said : rig.Signals(rig[1])) {
      if (said.signal == Signal::kDead && said.at > before) dead.push_back(said.at - kStart);
    }
  }
  EXPECT_THAT(dead, ElementsAre(120s + 1ns)) << "once, when the silence is the deadline and the hold long";
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  rig.events.clear();
  rig.RunUntil(kStart + 130s + 1ns);
  EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
  const Event event = rig.Only(EventKind::kFailed);
  EXPECT_EQ(event.at, kStart + 130s + 1ns) << "90 s after the commit of SUSPECT";
  EXPECT_EQ(event.cause.transition, Transition::kConfirmDeadHoldElapsed);
  EXPECT_EQ(event.cause.lasted, 90s);
}

TEST(EngineBeat, HeartbeatsGoOnToTheDeadAndNothingIsAsked) {
  BeatRig rig;
  rig.Meet(3);
  rig.Live(131s, {&rig[2], &rig[3]});
  ASSERT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
  rig.Clear();
  rig.Live(600s, {&rig[2], &rig[3]});
  EXPECT_THAT(rig.AsksTo(rig[1]), IsEmpty());
  EXPECT_NEAR(static_cast<double>(rig.BeatsTo(rig[1]).size()), 60, 6);
  EXPECT_EQ(rig.Events(), "") << "it is dead, and stays it";
}

TEST(EngineBeat, OneHeartbeatCancelsTheHoldAndTwoInARowPromote) {
  BeatRig rig;
  rig.Meet(3);
  rig.Live(41s, {&rig[2], &rig[3]});
  ASSERT_EQ(rig.Events(), "suspected m1");
  rig.Beat(rig[1], {.flags = kFlagExtra});
  const Instant heard = rig.now.boot;
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  EXPECT_FALSE(rig.HoldRuns(rig[1]));
  // It falls silent again: the first signal after that begins the hold anew.
  rig.Clear();
  rig.Live(120s, {&rig[2], &rig[3]});
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0") << "130 s of silence in all, but not in one";
  EXPECT_EQ(BeatRig::Times(rig.AsksTo(rig[1]), heard).front(), kMeshDeadline);
  rig.Live(1ns, {&rig[2], &rig[3]});
  EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");

  BeatRig again;
  again.Meet(3);
  again.Live(41s, {&again[2], &again[3]});
  ASSERT_EQ(again.Events(), "suspected m1");
  again.Beat(again[1], {.flags = kFlagExtra});
  again.Beat(again[1]);
  EXPECT_EQ(again.StateOf(again[1]), "ACTIVE 0");
  EXPECT_EQ(again.Only(EventKind::kRecovered).cause.transition, Transition::kPromotionThreshold);
  again.Clear();
  again.Live(30s, {&again[2], &again[3]});
  EXPECT_THAT(again.AsksTo(again[1]), IsEmpty()) << "the conviction is over, too";
}

TEST(EngineBeat, AnAnswerBetweenTwoQuestionsKeepsTheSignalsApart) {
  BeatRig rig;
  rig.Meet(3);
  rig.Live(36s, {&rig[2], &rig[3]});
  ASSERT_THAT(rig.Signals(rig[1]), SizeIs(2));
  rig.Beat(rig[1], {.flags = kFlagExtra});
  rig.Live(36s, {&rig[2], &rig[3]});
  EXPECT_EQ(rig.Events(), "") << "two and two, never three in a row";
}

// A pause that is granted comes on top of the deadline, and the hold stays what it is.
TEST(EngineBeat, AGrantedPauseIsAddedToTheDeadline) {
  Config config = MeshConfig();
  config.acceptable_pause = 5s;
  BeatRig rig(config);
  rig.Meet(3);
  rig.Live(35s, {&rig[2], &rig[3]});
  EXPECT_THAT(rig.AsksTo(rig[1]), IsEmpty());
  rig.Live(1ns, {&rig[2], &rig[3]});
  EXPECT_THAT(rig.AsksTo(rig[1]), SizeIs(1));
  rig.Live(100s, {&rig[2], &rig[3]});
  EXPECT_EQ(rig.Only(EventKind::kSuspected).at, kStart + 45s + 1ns);
  EXPECT_EQ(rig.Only(EventKind::kFailed).at, kStart + 135s + 1ns);
}

// ---- What proves life. ----

TEST(EngineBeat, AnyFrameOfItProvesLife) {
  BeatRig rig;
  rig.Meet(3);
  rig.Live(30s, {&rig[2], &rig[3]});
  rig.Gossip(rig[1], {});
  rig.Live(30s, {&rig[2], &rig[3]});
  EXPECT_THAT(rig.AsksTo(rig[1]), IsEmpty());
  rig.Live(1ns, {&rig[2], &rig[3]});
  EXPECT_THAT(rig.AsksTo(rig[1]), SizeIs(1)) << "and the deadline counts from it";
}

// Only heartbeats are healthy signals; another frame just ends the conviction.
TEST(EngineBeat, OtherFramesEndAConvictionAndPromoteNobody) {
  BeatRig rig;
  rig.Meet(3);
  rig.Live(41s, {&rig[2], &rig[3]});
  ASSERT_EQ(rig.Events(), "suspected m1");
  rig.Clear();
  for (int i = 0; i < 5; ++i) rig.Gossip(rig[1], {});
  EXPECT_FALSE(rig.HoldRuns(rig[1]));
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  rig.Live(29s, {&rig[2], &rig[3]});
  EXPECT_THAT(rig.AsksTo(rig[1]), IsEmpty());
  rig.Beat(rig[1]);
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
}

TEST(EngineBeat, ACopyOrAnOldHeartbeatProvesNothing) {
  BeatRig rig;
  rig.Meet(3);
  rig.Live(10s, {&rig[1], &rig[2], &rig[3]});
  const std::uint64_t before = rig.Count(Counter::kHeartbeatsOld);
  rig.Live(20s, {&rig[2], &rig[3]});
  rig.Beat(rig[1], {.sequence = 2});  // its newest
  rig.Beat(rig[1], {.flags = kFlagExtra, .sequence = 1});
  EXPECT_EQ(rig.Count(Counter::kHeartbeatsOld) - before, 2u);
  rig.Live(10s, {&rig[2], &rig[3]});
  EXPECT_THAT(rig.AsksTo(rig[1]), IsEmpty());
  rig.Live(1ns, {&rig[2], &rig[3]});
  EXPECT_THAT(rig.AsksTo(rig[1]), SizeIs(1)) << "the silence counts from the first time that it was heard";
  rig.Live(10s, {&rig[2], &rig[3]});
  ASSERT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  rig.Beat(rig[1], {.sequence = 2});
  EXPECT_TRUE(rig.HoldRuns(rig[1])) << "a replay cancels no hold";
}

// A replay of what it sent before it refuted proves nothing; 16 bits of the incarnation travel, in a circle.
TEST(EngineBeat, AStaleIncarnationIsNoProofOfLife) {
  struct Case {
    std::uint64_t known;
    std::uint64_t sent;
    bool proof;
  };
  for (const Case& test : {Case{5, 4, false}, Case{5, 5, true}, Case{5, 6, true}, Case{65536, 65535, false},
                           Case{65535, 65536, true}, Case{65536, 65536, true}, Case{40000, 10000, false}}) {
    for (const bool heartbeat : {true, false}) {
      BeatRig rig;
      rig.NewPeer().key.incarnation = test.known;
      rig.Meet(3);
      rig.Live(20s, {&rig[2], &rig[3]});
      rig[1].key.incarnation = test.sent;
      if (heartbeat) {
        rig.Beat(rig[1]);
      } else {
        rig.Gossip(rig[1], {});
      }
      rig.Live(10s + 1ns, {&rig[2], &rig[3]});
      EXPECT_EQ(rig.AsksTo(rig[1]).empty(), test.proof) << test.known << " " << test.sent << " " << heartbeat;
    }
  }
}

TEST(EngineBeat, AFrameOfAFormerLifeIsAStrangers) {
  BeatRig rig;
  rig.Meet(3);
  rig.Reborn(rig[1]);
  rig.Gossip(rig[2], {Alive(rig[1])});
  ASSERT_EQ(rig.Events(), "restarted m1");
  rig.Live(20s, {&rig[2], &rig[3]});
  rig.Clear();
  Peer former = rig[1];
  --former.key.generation;
  Frame frame = Rig::Of(FrameType::kHeartbeat, 1000);
  frame.flags = kFlagAsks;
  rig.Receive(former, frame);
  ASSERT_THAT(rig.sent, SizeIs(1));
  EXPECT_EQ(rig.sent[0].frame.type, FrameType::kGossip);
  EXPECT_EQ(rig.sent[0].frame.flags, kFlagStranger);
  rig.Live(10s + 1ns, {&rig[2], &rig[3]});
  EXPECT_THAT(rig.AsksTo(rig[1]), SizeIs(1)) << "silent for 30 s";
}

// A new life is not judged by the silence of the one before, and its sequences begin anew.
TEST(EngineBeat, ANewLifeHasItsGraceAndItsOwnSequences) {
  BeatRig rig;
  rig.Meet(3);
  rig.Live(300s, {&rig[1], &rig[2], &rig[3]});
  rig.Live(29s, {&rig[2], &rig[3]});
  rig.Reborn(rig[1]);
  rig.Gossip(rig[2], {Alive(rig[1])});
  const Instant born = rig.now.boot;
  rig.Clear();
  rig.Wake();
  ASSERT_THAT(rig.BeatsTo(rig[1]), SizeIs(1)) << "at once";
  EXPECT_EQ(rig.BeatsTo(rig[1])[0].frame.watermark, 0u);
  rig.Live(20s, {&rig[2], &rig[3]});
  rig.Beat(rig[1], {.sequence = 1});
  rig.Live(20s, {&rig[2], &rig[3]});
  EXPECT_THAT(rig.AsksTo(rig[1]), IsEmpty()) << "heard 20 s after its birth";
  rig.Live(10s + 1ns, {&rig[2], &rig[3]});
  EXPECT_THAT(BeatRig::Times(rig.AsksTo(rig[1]), born), ElementsAre(50s + 1ns));
}

}  // namespace
}  // namespace nekton
