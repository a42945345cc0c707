// Heartbeats and ourselves: our own pauses, our wall clock, our bounds, a detector that is swapped.
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

// ---- We did not run. ----

struct Nap {
  Config (*config)(std::uint64_t seed);
  std::size_t members;  // beside us
  DetectorKind detector;
  Duration length;
};

class OwnPause : public testing::TestWithParam<Nap> {};
INSTANTIATE_TEST_SUITE_P(EngineBeat, OwnPause, testing::ValuesIn([] {
                           std::vector<Nap> naps;
                           for (const Duration length : {7s, 30s, 120s}) {
                             for (const DetectorKind detector : {DetectorKind::kFixed, DetectorKind::kPhi}) {
                               naps.push_back({MeshConfig, 1, detector, length});
                               naps.push_back({MeshConfig, 3, detector, length});
                               naps.push_back({PairConfig, 1, detector, length});
                             }
                           }
                           return naps;
                         }()));

TEST_P(OwnPause, ConvictsNobody) {
  const Nap& nap = GetParam();
  Config config = nap.config(1);
  config.detector = nap.detector;
  BeatRig rig(config);
  rig.Meet(nap.members);
  std::vector<Peer*> all;
  for (Peer& peer : rig.peers) all.push_back(&peer);
  const Duration every = config.period;
  rig.Live(12 * every, all, every);
  rig.SetTime(rig.engine->NextWake());  // it falls asleep when it was to wake
  rig.Clear();
  rig.Pass(nap.length);
  rig.Wake();
  EXPECT_EQ(rig.Count(Counter::kPauses), 1u);
  EXPECT_EQ(rig.Only(EventKind::kPaused).duration, nap.length);
  for (const Peer& peer : rig.peers) {
    EXPECT_THAT(rig.Signals(peer), IsEmpty());
    EXPECT_THAT(rig.BeatsTo(peer), SizeIs(testing::Le(1u))) << "what was not sent meanwhile is not made up for";
  }
  rig.events.clear();
  rig.Live(12 * every, all, every / 2);
  EXPECT_EQ(rig.Events(), "");
  for (const Peer& peer : rig.peers) EXPECT_THAT(rig.Signals(peer), IsEmpty());
}

// What was silent before goes on being silent: only the pause itself does not count.
TEST(EngineBeatSelf, APauseIsNotCountedAsSilence) {
  BeatRig rig;
  rig.Meet(3);
  rig.Live(20s, {&rig[2], &rig[3]});
  const Instant due = rig.engine->NextWake();
  rig.SetTime(due + 100s);
  rig.Wake();
  rig.Beat(rig[2]);
  rig.Beat(rig[3]);
  rig.Clear();
  rig.RunUntil(kStart + 130s);
  EXPECT_THAT(rig.AsksTo(rig[1]), IsEmpty());
  rig.Run(1ns);
  EXPECT_THAT(rig.AsksTo(rig[1]), SizeIs(1));
}

TEST(EngineBeatSelf, AHoldStandsStillWhileWeSleepAndNeedsOneMoreSignal) {
  BeatRig rig;
  rig.Meet(3);
  rig.Live(60s, {&rig[2], &rig[3]});
  ASSERT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  const Instant due = rig.engine->NextWake();
  rig.SetTime(due + 200s);
  rig.Wake();
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  rig.Live(kStart + 330s - rig.now.boot, {&rig[2], &rig[3]});
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  rig.Live(1ns, {&rig[2], &rig[3]});
  EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 0") << "90 s of our own running time after the commit";
}

TEST(EngineBeatSelf, BeingLateByTwoSecondsIsNoPause) {
  BeatRig rig;
  rig.Meet(2);
  rig.SetTime(rig.engine->NextWake() + 2s);
  rig.Wake();
  EXPECT_EQ(rig.Count(Counter::kPauses), 0u);
  rig.SetTime(rig.engine->NextWake() + 2s + 1ns);
  rig.Wake();
  EXPECT_EQ(rig.Count(Counter::kPauses), 1u);
}

// ---- The wall clock. ----

TEST(EngineBeatSelf, AWallClockThatStepsChangesNothing) {
  std::vector<std::uint64_t> fingerprints;
  for (const Duration step : {Duration{}, Duration(1h), Duration(-1h)}) {
    BeatRig rig;
    rig.Meet(3);
    rig.Live(35s, {&rig[2], &rig[3]});
    rig.now.wall += step;
    rig.Live(15s, {&rig[2], &rig[3]});
    ASSERT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
    rig.now.wall -= 2 * step;
    rig.Live(150s, {&rig[2], &rig[3]});
    EXPECT_EQ(rig.Events(), "suspected m1, failed m1");
    fingerprints.push_back(rig.engine->Fingerprint());
  }
  EXPECT_EQ(fingerprints[1], fingerprints[0]);
  EXPECT_EQ(fingerprints[2], fingerprints[0]);
}

// ---- At most 64 members. ----

std::vector<Peer*> All(BeatRig& rig, std::size_t from, std::size_t to) {
  std::vector<Peer*> all;
  for (std::size_t i = from; i <= to; ++i) all.push_back(&rig[i]);
  return all;
}

TEST(EngineBeatSelf, TheSixtyFifthIsRefused) {
  BeatRig rig;
  rig.Meet(63);
  ASSERT_EQ(rig.engine->size(), 64u);
  Peer& further = rig.NewPeer();
  rig.Gossip(rig[1], {Alive(further)});
  EXPECT_EQ(rig.StateOf(further), "");
  EXPECT_EQ(rig.Count(Counter::kMembersRefused), 1u);
  Frame sync = Rig::Of(FrameType::kSync);
  sync.flags = kFlagJoin;
  const Said reply = rig.Serve(further, sync, {Alive(further)});
  EXPECT_EQ(reply.frame.type, FrameType::kRefusal);
  EXPECT_EQ(reply.frame.refusal, Refusal::kFull);
}

TEST(EngineBeatSelf, TheOldestTombstoneMakesRoom) {
  BeatRig rig;
  rig.Meet(63);
  rig.Gossip(rig[1], {Left(rig[5])});
  rig.Run(1s);
  rig.Gossip(rig[1], {Left(rig[3])});
  rig.Run(1s);
  rig.Clear();
  Peer& first = rig.NewPeer();
  rig.Gossip(rig[1], {Alive(first)});
  EXPECT_EQ(rig.Events(), "forgotten m5, joined m64");
  rig.Wake();
  EXPECT_THAT(rig.BeatsTo(first), SizeIs(1)) << "in the row of another";
  EXPECT_EQ(rig.BeatsTo(first)[0].frame.watermark, 0u) << "and with nothing of what was there";
  Peer& second = rig.NewPeer();
  Frame sync = Rig::Of(FrameType::kSync);
  sync.flags = kFlagJoin;
  EXPECT_EQ(rig.Serve(second, sync, {Alive(second)}).frame.type, FrameType::kSyncReply);
  EXPECT_EQ(rig.Events(), "forgotten m3, joined m65");
  Peer& third = rig.NewPeer();
  EXPECT_EQ(rig.Serve(third, sync, {Alive(third)}).frame.type, FrameType::kRefusal) << "all that are left live";
}

TEST(EngineBeatSelf, ADeadOneMakesRoomAndItsSuccessorIsJudgedByItsOwnSilence) {
  BeatRig rig;
  rig.Meet(63);
  rig.Live(131s, All(rig, 2, 63));
  ASSERT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
  Peer& successor = rig.NewPeer();
  rig.Gossip(rig[2], {Alive(successor)});
  EXPECT_EQ(rig.StateOf(rig[1]), "");
  rig.Clear();
  const Instant joined = rig.now.boot;
  rig.Live(30s, All(rig, 2, 63));
  EXPECT_EQ(rig.StateOf(successor), "ACTIVE 0");
  EXPECT_THAT(rig.AsksTo(successor), IsEmpty());
  rig.Live(1ns, All(rig, 2, 63));
  EXPECT_THAT(BeatRig::Times(rig.AsksTo(successor), joined), ElementsAre(kMeshDeadline));
}

// ---- A detector that is swapped. ----

TEST(EngineBeatSelf, ASwapIsNothingToTheHealthy) {
  BeatRig rig;
  rig.Meet(3);
  const std::vector<Peer*> all = {&rig[1], &rig[2], &rig[3]};
  rig.Live(200s, all);
  rig.Clear();
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(rig.Order(Reconfigure{i % 2 == 0 ? DetectorKind::kPhi : DetectorKind::kFixed}).ok());
    rig.Live(17s, all, 8500ms);
  }
  EXPECT_EQ(rig.Events(), "");
  for (const Peer& peer : rig.peers) {
    EXPECT_THAT(rig.Signals(peer), IsEmpty());
    EXPECT_THAT(rig.AsksTo(peer), IsEmpty());
  }
}

TEST(EngineBeatSelf, WhatIsOpenKeepsTheLaterOfTwoDeadlines) {
  BeatRig rig;
  rig.Meet(3);
  rig.Live(200s, {&rig[1], &rig[2], &rig[3]});
  const Instant heard = rig.now.boot;
  rig.Live(25s, {&rig[2], &rig[3]});  // beyond what phi would allow
  ASSERT_TRUE(rig.Order(Reconfigure{DetectorKind::kPhi}).ok());
  rig.Clear();
  rig.Live(heard + 30s - rig.now.boot, {&rig[2], &rig[3]});
  EXPECT_THAT(rig.AsksTo(rig[1]), IsEmpty());
  rig.Live(1ns, {&rig[2], &rig[3]});
  EXPECT_THAT(BeatRig::Times(rig.AsksTo(rig[1]), heard), ElementsAre(kMeshDeadline));
  // The next one is phi's alone.
  rig.Live(10s, {&rig[1], &rig[2], &rig[3]});
  rig.Clear();
  rig.Live(25s, {&rig[2], &rig[3]});
  EXPECT_THAT(rig.AsksTo(rig[1]), testing::Not(IsEmpty()));
}

TEST(EngineBeatSelf, ASwapToTheMorePatientTakesAConvictionBack) {
  Config config = MeshConfig();
  config.detector = DetectorKind::kPhi;
  BeatRig rig(config);
  rig.Meet(3);
  rig.Live(200s, {&rig[1], &rig[2], &rig[3]});
  const Instant heard = rig.now.boot;
  rig.Live(19s, {&rig[2], &rig[3]});
  const std::vector<Testimony> before = rig.Signals(rig[1]);
  ASSERT_THAT(before, testing::Not(IsEmpty()));
  ASSERT_TRUE(rig.Order(Reconfigure{DetectorKind::kFixed}).ok());
  rig.Live(heard + 30s - rig.now.boot, {&rig[2], &rig[3]});
  EXPECT_THAT(rig.Signals(rig[1]), SizeIs(before.size())) << "what was said stands, and nothing is said on top";
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
  rig.Live(1ns, {&rig[2], &rig[3]});
  EXPECT_EQ(rig.Signals(rig[1]).back().reason, Reason::kDeadline);
}

// ---- And where there are no heartbeats. ----

TEST(EngineBeatSelf, ProbesKnowOnlyTheRefutation) {
  std::vector<std::uint64_t> fingerprints;
  for (const Revive revive : {Revive::kRefutation, Revive::kHealthy, Revive::kJoinOnly}) {
    Config config = Rig::Lan();
    config.revive = revive;
    config.recovery_hold = 10s;
    Rig rig(config);
    rig.Know(3);
    EXPECT_EQ(rig.Order(Join{{rig[1].address}}), absl::OkStatus());
    rig.Run(5s);
    rig.Gossip(rig[1], {Dead(rig.self, {&rig[1], &rig[2]})});
    rig[3].answers = rig[3].answers_relays = false;
    rig.Run(30s);
    EXPECT_EQ(rig.StateOf(rig[3]), "INACTIVE 0");
    rig.Gossip(rig[3], {Alive(rig[3], 1)});
    EXPECT_EQ(rig.StateOf(rig[3]), "ACTIVE 1");
    fingerprints.push_back(rig.engine->Fingerprint());
  }
  EXPECT_EQ(fingerprints[1], fingerprints[0]);
  EXPECT_EQ(fingerprints[2], fingerprints[0]);
}

}  // namespace
}  // namespace nekton
