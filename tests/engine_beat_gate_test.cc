// Among two, both directions must be proven: heartbeat-and-stm's table, and where it does not hold. What a heartbeat of
// the other says of ours stands until its next one.
#include <chrono>
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

// m1 beats every ten seconds and answers nothing; what it has seen of ours stays what it is now.
void Deafen(BeatRig& rig, Duration time, std::uint32_t watermark) {
  const Instant end = rig.now.boot + time;
  for (Instant next = rig.now.boot + 10s; next <= end; next += 10s) {
    rig.RunUntil(next);
    rig.Beat(rig[1], {.watermark = watermark});
  }
  rig.RunUntil(end);
}

// HB: received yes, acknowledged yes: HEALTHY.
TEST(EngineBeatGate, BothDirectionsProvenIsHealthy) {
  BeatRig rig;
  rig.Meet(1);
  rig.Report(rig[1].address, Trouble::kClosed);
  ASSERT_EQ(rig.Events(), "suspected m1");
  rig.Clear();
  rig.Beat(rig[1]);
  EXPECT_FALSE(rig.HoldRuns(rig[1])) << "the first healthy signal cancels the hold";
  rig.Beat(rig[1]);
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
  rig.Clear();
  rig.Live(3600s, {&rig[1]});
  EXPECT_THAT(rig.AsksTo(rig[1]), IsEmpty());
  EXPECT_EQ(rig.Events(), "");
}

// HB: received yes, acknowledged no (or a stale one): SUSPECT, asymmetric: forward-only.
TEST(EngineBeatGate, HeardButNotHearingIsSuspectedAsAsymmetric) {
  BeatRig rig;
  rig.Meet(1);
  Deafen(rig, 30s, 1);
  EXPECT_THAT(rig.AsksTo(rig[1]), IsEmpty());
  EXPECT_THAT(rig.Signals(rig[1]), IsEmpty());
  rig.Run(1ns);
  rig.Beat(rig[1], {.watermark = 1});
  EXPECT_THAT(BeatRig::Times(rig.AsksTo(rig[1]), kStart), ElementsAre(kMeshDeadline));
  ASSERT_THAT(rig.Signals(rig[1]), SizeIs(1));
  EXPECT_EQ(rig.Signals(rig[1])[0].reason, Reason::kAsymmetric);
  Deafen(rig, 10s, 1);
  EXPECT_EQ(rig.Only(EventKind::kSuspected).at, kStart + 40s + 1ns);
  EXPECT_EQ(rig.Only(EventKind::kSuspected).cause.reason, Reason::kAsymmetric);
  EXPECT_LE(rig.Only(EventKind::kSuspected).cause.silence, 10s) << "it is heard all the time";
  EXPECT_THAT(BeatRig::Times(rig.AsksTo(rig[1]), kStart), ElementsAre(30s + 1ns, 35s + 1ns, 40s + 1ns))
      << "a heartbeat that acknowledges nothing ends no conviction, and is no question of ours either";
  rig.events.clear();
  for (int i = 0; i < 9; ++i) {
    Deafen(rig, i == 8 ? 10s - 1ns : 10s, 1);
    EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0") << i;
    for (const Testimony& said : rig.Signals(rig[1])) {
      EXPECT_EQ(said.signal, Signal::kSuspect) << "it is not silent";
      EXPECT_EQ(said.reason, Reason::kAsymmetric);
    }
  }
  rig.Run(1ns);
  EXPECT_EQ(rig.Only(EventKind::kFailed).at, kStart + 130s + 1ns);
}

// HB: not received: SUSPECT, and DEAD in the end, whatever was acknowledged. Who dies stops acknowledging, too; that is
// not told as a broken way there.
TEST(EngineBeatGate, NotHeardIsSilence) {
  BeatRig rig;
  rig.Meet(1);
  rig.Live(20s, {&rig[1]});
  const Instant heard = rig.now.boot;
  rig.Clear();
  rig.Run(30s);
  EXPECT_THAT(rig.Signals(rig[1]), IsEmpty());
  rig.Run(1ns);
  ASSERT_THAT(rig.Signals(rig[1]), SizeIs(1));
  EXPECT_EQ(rig.Signals(rig[1])[0].reason, Reason::kDeadline);
  rig.Run(10s);
  EXPECT_EQ(rig.Only(EventKind::kSuspected).cause.reason, Reason::kDeadline);
  EXPECT_EQ(rig.Only(EventKind::kSuspected).at, heard + 40s + 1ns);
  rig.Run(80s);
  std::vector<Testimony> dead = rig.Signals(rig[1]);
  std::erase_if(dead, [](const Testimony& said) { return said.signal != Signal::kDead; });
  ASSERT_THAT(dead, SizeIs(1));
  EXPECT_EQ(dead[0].at, heard + 120s + 1ns);
}

TEST(EngineBeatGate, WhoWasDeafAndFallsSilentIsSilent) {
  BeatRig rig;
  rig.Meet(1);
  Deafen(rig, 40s, 1);
  const Instant heard = rig.now.boot;
  ASSERT_THAT(rig.Signals(rig[1]), SizeIs(1));
  rig.RunUntil(heard + 30s);
  EXPECT_EQ(rig.Signals(rig[1]).back().reason, Reason::kAsymmetric);
  rig.Run(5s);
  EXPECT_EQ(rig.Signals(rig[1]).back().reason, Reason::kDeadline);
}

// Not when the acknowledgement came counts, but when what it acknowledges was sent.
TEST(EngineBeatGate, TheAcknowledgedOneMustBeOfTheLastThirtySeconds) {
  BeatRig rig;
  rig.Meet(1);
  rig.Run(12s);
  ASSERT_THAT(rig.BeatsTo(rig[1]), SizeIs(1));
  const Instant second = rig.BeatsTo(rig[1])[0].at;
  rig.Run(15s);
  rig.Beat(rig[1], {.watermark = 2});  // late, but it is in time
  rig.RunUntil(second + 30s);
  rig.Beat(rig[1], {.watermark = 2});
  EXPECT_THAT(rig.AsksTo(rig[1]), IsEmpty());
  rig.Run(1ns);
  rig.Beat(rig[1], {.watermark = 2});
  EXPECT_THAT(BeatRig::Times(rig.AsksTo(rig[1]), second), ElementsAre(kMeshDeadline));
}

// An acknowledgement that comes so late that what it acknowledges is old already proves nothing any more.
TEST(EngineBeatGate, AnAcknowledgementOfSomethingOldIsNone) {
  for (const Duration late : {30s + 0ns, 30s + 1ns}) {
    BeatRig rig;
    rig.Meet(1);
    rig.Run(12s);
    const Instant second = rig.BeatsTo(rig[1])[0].at;
    rig.Report(rig[1].address, Trouble::kClosed);
    ASSERT_TRUE(rig.HoldRuns(rig[1]));
    rig.Run(8s);
    rig.Gossip(rig[1], {});  // so that it is not silent
    rig.RunUntil(second + late);
    ASSERT_TRUE(rig.HoldRuns(rig[1]));
    rig.Beat(rig[1], {.watermark = 2});
    EXPECT_EQ(rig.HoldRuns(rig[1]), late > 30s) << "that it is heard alone cancels nothing";
  }
}

TEST(EngineBeatGate, AGrantedPauseIsGrantedToBothDirections) {
  Config config = MeshConfig();
  config.acceptable_pause = 5s;
  BeatRig rig(config);
  rig.Meet(1);
  Deafen(rig, 30s, 1);
  rig.RunUntil(kStart + 35s);
  rig.Beat(rig[1], {.watermark = 1});
  EXPECT_THAT(rig.AsksTo(rig[1]), IsEmpty());
  rig.Run(1ns);
  rig.Beat(rig[1], {.watermark = 1});
  EXPECT_THAT(rig.AsksTo(rig[1]), SizeIs(1));
}

TEST(EngineBeatGate, NeverHealthyByDefault) {
  for (const std::uint32_t watermark : {0u, 1000u}) {  // none of ours; of a former life of ours
    BeatRig rig;
    rig.Know(1);
    rig.Wake();
    rig.Report(rig[1].address, Trouble::kClosed);
    ASSERT_TRUE(rig.HoldRuns(rig[1]));
    rig.Beat(rig[1], {.watermark = watermark});
    rig.Beat(rig[1], {.watermark = watermark});
    EXPECT_TRUE(rig.HoldRuns(rig[1])) << "within its grace, and nothing was ever acknowledged";
    rig.Beat(rig[1], {.watermark = 1});
    EXPECT_FALSE(rig.HoldRuns(rig[1]));
  }
}

TEST(EngineBeatGate, AmongThreeHearingItIsEnough) {
  BeatRig rig;
  rig.Meet(2);
  for (int i = 0; i < 30; ++i) {
    rig.Run(10s);
    rig.Beat(rig[1], {.watermark = 0});
    rig.Beat(rig[2], {.watermark = 0});
  }
  EXPECT_THAT(rig.AsksTo(rig[1]), IsEmpty());
  rig.Report(rig[1].address, Trouble::kClosed);
  rig.Beat(rig[1], {.watermark = 0});
  EXPECT_FALSE(rig.HoldRuns(rig[1]));
}

TEST(EngineBeatGate, TheDeathOfAThirdDoesNotSwitchItOn) {
  BeatRig rig;
  rig.Meet(2);
  Deafen(rig, 300s, 1);
  ASSERT_EQ(rig.StateOf(rig[2]), "INACTIVE 0");
  EXPECT_THAT(rig.AsksTo(rig[1]), IsEmpty());
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
}

TEST(EngineBeatGate, TheLeaveOfAThirdSwitchesItOn) {
  BeatRig rig;
  rig.Meet(2);
  Deafen(rig, 100s, 1);
  rig.Gossip(rig[2], {Left(rig[2])});
  rig.Clear();
  rig.Beat(rig[1], {.watermark = 1});
  EXPECT_THAT(rig.AsksTo(rig[1]), SizeIs(1));
  ASSERT_THAT(rig.Signals(rig[1]), SizeIs(1));
  EXPECT_EQ(rig.Signals(rig[1])[0].reason, Reason::kAsymmetric);
}

// What is proven is kept at every size.
TEST(EngineBeatGate, TheLeaveOfAThirdBringsNoDoubtWhereAllIsProven) {
  BeatRig rig;
  rig.Meet(2);
  rig.Live(100s, {&rig[1], &rig[2]});
  rig.Gossip(rig[2], {Left(rig[2])});
  rig.Clear();
  rig.Live(100s, {&rig[1]});
  EXPECT_THAT(rig.AsksTo(rig[1]), IsEmpty());
}

TEST(EngineBeatGate, AThirdThatIsForgottenSwitchesItOn) {
  Config config = MeshConfig();
  config.forget_after = 100s;
  BeatRig rig(config);
  rig.Meet(2);
  Deafen(rig, 130s, 1);
  rig.Run(1ns);
  ASSERT_EQ(rig.StateOf(rig[2]), "INACTIVE 0");
  Deafen(rig, 100s - 1ns, 1);
  rig.Beat(rig[1], {.watermark = 1});
  EXPECT_THAT(rig.AsksTo(rig[1]), IsEmpty());
  rig.Run(1ns);
  ASSERT_EQ(rig.StateOf(rig[2]), "");
  rig.Beat(rig[1], {.watermark = 1});
  EXPECT_THAT(rig.AsksTo(rig[1]), SizeIs(1));
}

// The doubt was of a pair, and is none any more.
TEST(EngineBeatGate, AThirdThatJoinsEndsTheDoubt) {
  BeatRig rig;
  rig.Meet(1);
  Deafen(rig, 40s, 1);
  ASSERT_THAT(rig.Signals(rig[1]), SizeIs(1));
  rig.Pass(1s);
  rig.NewPeer();
  rig.Gossip(rig[2], {Alive(rig[2])});
  rig.Clear();
  rig.Run(28s);
  EXPECT_THAT(rig.AsksTo(rig[1]), IsEmpty());
  EXPECT_THAT(rig.Signals(rig[1]), SizeIs(1)) << "that it is heard is enough, and it is";
}

TEST(EngineBeatGate, UnderPhiItKeepsTheThirtySeconds) {
  Config config = MeshConfig();
  config.detector = DetectorKind::kPhi;
  BeatRig rig(config);
  rig.Meet(1);
  rig.Live(300s, {&rig[1]});
  const Said last = rig.BeatsTo(rig[1]).back();
  ASSERT_EQ(last.frame.sequence, rig.SeenBy(rig[1]));
  rig.Beat(rig[1]);  // it has heard this one
  rig.Clear();
  for (Instant next = rig.now.boot + 5s; next < last.at + 30s; next += 5s) {
    rig.RunUntil(next);
    rig.Beat(rig[1], {.watermark = last.frame.sequence});
  }
  rig.RunUntil(last.at + 30s);
  rig.Beat(rig[1], {.watermark = last.frame.sequence});
  EXPECT_THAT(rig.AsksTo(rig[1]), IsEmpty());
  rig.Run(1ns);
  rig.Beat(rig[1], {.watermark = last.frame.sequence});
  EXPECT_THAT(rig.AsksTo(rig[1]), SizeIs(1));
  EXPECT_EQ(rig.Signals(rig[1])[0].reason, Reason::kAsymmetric);
}

// A frame that is no heartbeat says nothing about what it has heard.
TEST(EngineBeatGate, OtherFramesProveOneDirectionOnly) {
  BeatRig rig;
  rig.Meet(1);
  Deafen(rig, 40s, 1);
  ASSERT_THAT(rig.AsksTo(rig[1]), SizeIs(1));
  for (int i = 0; i < 3; ++i) {
    rig.Run(5s);
    rig.Gossip(rig[1], {});
  }
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  EXPECT_EQ(rig.Only(EventKind::kSuspected).cause.reason, Reason::kAsymmetric);
  EXPECT_TRUE(rig.HoldRuns(rig[1]));

  BeatRig doubt;
  doubt.Meet(1);
  Deafen(doubt, 30s, 1);
  doubt.Run(5s);
  doubt.Gossip(doubt[1], {});
  EXPECT_THAT(doubt.AsksTo(doubt[1]), IsEmpty()) << "nor does it say that it has heard nothing";
}

TEST(EngineBeatGate, WhoHearsUsAgainComesBack) {
  BeatRig rig;
  rig.Meet(1);
  Deafen(rig, 60s, 1);
  ASSERT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  rig.Clear();
  rig.Beat(rig[1], {.flags = kFlagExtra, .watermark = rig.SeenBy(rig[1])});
  EXPECT_FALSE(rig.HoldRuns(rig[1]));
  rig.Live(20s, {&rig[1]});
  EXPECT_EQ(rig.Events(), "recovered m1");
}

// In the pair both directions have six seconds, inclusive.
TEST(EngineBeatGate, ThePairConvictsAtSixSeconds) {
  BeatRig rig(PairConfig());
  rig.Meet(1);
  rig.Run(3s);
  rig.Beat(rig[1], {.flags = kFlagExtra, .watermark = 1});
  rig.Run(3s - 1ns);
  rig.Beat(rig[1], {.flags = kFlagExtra, .watermark = 1});
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
  rig.Run(1ns);
  rig.Beat(rig[1], {.flags = kFlagExtra, .watermark = 1});
  EXPECT_EQ(rig.Only(EventKind::kSuspected).at, kStart + kPairDeadline);
  EXPECT_EQ(rig.Only(EventKind::kSuspected).cause.reason, Reason::kAsymmetric);
  rig.Run(5s);
  rig.Beat(rig[1], {.flags = kFlagExtra, .watermark = 1});
  rig.Run(1s - 1ns);
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  rig.Run(1ns);
  EXPECT_EQ(rig.Only(EventKind::kFailed).at, kStart + 12s);
}

}  // namespace
}  // namespace nekton
