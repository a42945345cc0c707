// Heartbeats under phi: when it convicts, and what it learns from.
#include <chrono>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "phi/phi_heartbeat.h"
#include "tests/engine_beats.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

PhiHeartbeat MeshPhi() {
  return PhiHeartbeat({.threshold = 8, .mean = 10s, .deviation = 2500ms, .deviation_min = 100ms});
}

TEST(EngineBeatPhi, PhiConvictsAtItsOwnDeadline) {
  Config config = MeshConfig();
  config.detector = DetectorKind::kPhi;
  BeatRig rig(config);
  rig.Meet(2);
  PhiHeartbeat phi = MeshPhi();
  const std::vector<Peer*> both = {&rig[1], &rig[2]};
  for (const Duration interval : {9000ms, 11000ms, 8000ms, 12000ms, 10000ms, 9500ms, 10500ms, 8100ms, 11900ms}) {
    const Instant last = rig.now.boot;
    rig.Live(interval, both, interval);
    for (std::uint32_t peer : {1u, 2u}) phi.Heard(peer, last, rig.now.boot, 1);
  }
  const Instant heard = rig.now.boot;
  const Duration limit = phi.DeadlineFor(1, heard) - heard;
  ASSERT_GT(limit, 12s);
  ASSERT_LT(limit, 30s) << "else this shows nothing";
  rig.Clear();
  rig.Run(limit - 1ns);
  EXPECT_THAT(rig.AsksTo(rig[1]), IsEmpty());
  rig.Run(1ns);
  EXPECT_THAT(BeatRig::Times(rig.AsksTo(rig[1]), heard), ElementsAre(limit));
  ASSERT_THAT(rig.Signals(rig[1]), SizeIs(1));
  EXPECT_EQ(rig.Signals(rig[1])[0].reason, Reason::kPhi);
  rig.Run(10s);
  EXPECT_EQ(rig.Only(EventKind::kSuspected).cause.reason, Reason::kPhi);
  EXPECT_EQ(rig.Only(EventKind::kSuspected).at, heard + limit + 10s);
}

// What it sent outside its rhythm, or what came before it was given up, is no interval.
TEST(EngineBeatPhi, PhiLearnsOnlyTheRhythm) {
  Config config = MeshConfig();
  config.detector = DetectorKind::kPhi;
  BeatRig rig(config);
  rig.Meet(2);
  PhiHeartbeat phi = MeshPhi();
  for (int i = 0; i < 20; ++i) {
    const Instant last = rig.now.boot;
    rig.Live(4s, {}, 4s);
    rig.Beat(rig[1], {.flags = kFlagExtra});
    rig.Live(6s, {}, 6s);
    rig.Beat(rig[1]);
    rig.Beat(rig[2]);
    for (std::uint32_t peer : {1u, 2u}) phi.Heard(peer, last, rig.now.boot, 1);
  }
  const Instant heard = rig.now.boot;
  rig.Clear();
  rig.Run(phi.DeadlineFor(1, heard) - heard);
  EXPECT_THAT(BeatRig::Times(rig.AsksTo(rig[1]), heard), ElementsAre(phi.DeadlineFor(1, heard) - heard));
}

// Neither the gap in which it was given up nor what came until it was let in again.
TEST(EngineBeatPhi, ADeathIsNoInterval) {
  Config config = MeshConfig();
  config.detector = DetectorKind::kPhi;
  BeatRig rig(config);
  rig.Meet(2);
  PhiHeartbeat phi = MeshPhi();
  const auto live = [&](int beats, const std::vector<Peer*>& who) {
    for (int i = 0; i < beats; ++i) {
      const Instant last = rig.now.boot;
      rig.Live(10s, who, 10s);
      for (Peer* peer : who) phi.Heard(peer == &rig[1] ? 1 : 2, last, rig.now.boot, 1);
    }
  };
  live(10, {&rig[1], &rig[2]});
  live(13, {&rig[2]});
  ASSERT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
  for (int i = 0; i < 16; ++i) {  // it is back, and quicker than it was; the last one lets it in
    rig.Live(5s, {}, 5s);
    rig.Beat(rig[1]);
  }
  ASSERT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
  const Instant heard = rig.now.boot;
  rig.Clear();
  const Duration limit = phi.DeadlineFor(1, heard) - heard;
  rig.Run(limit - 1ns);
  EXPECT_THAT(rig.AsksTo(rig[1]), IsEmpty());
  rig.Run(1ns);
  EXPECT_THAT(rig.AsksTo(rig[1]), SizeIs(1));
}

TEST(EngineBeatPhi, WhoWasNeverHeardHasTheFixedTimeUnderPhi) {
  Config config = MeshConfig();
  config.detector = DetectorKind::kPhi;
  BeatRig rig(config);
  rig.Know(2);
  rig.Run(30s);
  EXPECT_THAT(rig.AsksTo(rig[1]), IsEmpty());
  rig.Run(1ns);
  EXPECT_THAT(rig.AsksTo(rig[1]), SizeIs(1));
}

}  // namespace
}  // namespace nekton
