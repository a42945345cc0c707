// A watch while its member leaves, dies, restarts or is cut off, and while we pause, swap the detector or leave.
#include <chrono>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "phi/fixed_deadline.h"
#include "tests/watch_rig.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::SizeIs;

// Everything that the STM has counted.
std::string StmOf(const Rig& rig) {
  std::string text;
  rig.engine->stm_counters().ForEach([&](std::string_view, std::string_view name, std::uint64_t value) {
    text += std::string(name) + "=" + std::to_string(value) + " ";
  });
  return text;
}

// ---- What becomes of the watched one. ----

TEST(EngineWatchLife, AWatchEndsWhenItsMemberLeavesOrIsForgotten) {
  WatchRig rig;
  rig.Watch({8});
  rig.Gossip(rig[1], {Left(rig[1])});
  EXPECT_EQ(rig.Passed(), "left ended NOT_FOUND");
  rig.Watch({1000}, kBeat, "m2");
  rig.Gossip(rig[3], {Dead(rig[2], {&rig[3], &rig[4]})});
  Kill(rig[2]);
  rig.Run(20s);
  ASSERT_EQ(rig.StateOf(rig[2]), "INACTIVE 0");
  EXPECT_EQ(rig.Passed(), "suspected failed") << "a dead one may come back";
  EXPECT_GT(rig.Level("m2"), 8);
  rig.Run(rig.config.forget_after);
  EXPECT_THAT(rig.Passed(), HasSubstr("forgotten ended NOT_FOUND"));
  rig.Clear();
  rig.Run(5s);
  EXPECT_THAT(rig.Sent(FrameType::kWatch), SizeIs(0));
}

TEST(EngineWatchLife, ARestartedMemberIsAskedAtOnceAndKnownByNothing) {
  for (const DetectorKind detector : kBoth) {
    WatchRig rig(With(detector));
    rig.Watch({1, 8});
    rig.Pulses(100, 60ms);
    rig.Run(2s);
    EXPECT_THAT(rig.Passed(), HasSubstr("+1 +8"));
    rig[1].key = {Rig::kGeneration + 7, 0};
    rig.Clear();
    rig.Gossip(rig[2], {Alive(rig[1])});
    EXPECT_EQ(rig.Passed(), "restarted -8 -1");
    ASSERT_THAT(rig.SentTo(rig[1], FrameType::kWatch), SizeIs(1));
    EXPECT_GE(rig.SentTo(rig[1], FrameType::kWatch)[0].frame.sequence, rig.sequence());

    WatchRig fresh(With(detector));
    fresh.Watch({1, 8});
    for (const Duration silence : {Duration(50ms), Duration(130ms), Duration(400ms)}) {
      EXPECT_EQ(rig.Level("m1", silence), fresh.Level("m1", silence));
    }
    // The new life begins above what we have heard of the old one.
    rig.Run(50ms);
    rig.Pulse(kFlagExtra);
    EXPECT_EQ(rig.Level(), 0);
  }
}

// Two members that were silent for a long time: one of them was INACTIVE meanwhile.
TEST(EngineWatchLife, TheGapOfADeadOneIsNoSample) {
  WatchRig dead(With(DetectorKind::kPhi));
  WatchRig late(With(DetectorKind::kPhi));
  for (WatchRig* rig : {&dead, &late}) {
    rig->Watch({1000});
    rig->Pulses(20);
  }
  dead.Gossip(dead[2], {Dead(dead[1], {&dead[2], &dead[3]})});
  dead.Run(30s);
  late.Run(30s);
  ASSERT_EQ(dead.StateOf(dead[1]), "INACTIVE 0");
  ASSERT_EQ(late.StateOf(late[1]), "ACTIVE 0");
  for (WatchRig* rig : {&dead, &late}) rig->Pulse();
  EXPECT_GT(dead.Level("m1", 150ms), late.Level("m1", 150ms));
}

// Also where the watch begins only then.
TEST(EngineWatchLife, ADeadOneIsAskedEveryFiveSeconds) {
  WatchRig rig;
  rig.Silence();
  rig.Gossip(rig[2], {Dead(rig[1], {&rig[2], &rig[3]})});
  rig.Run(30s);
  ASSERT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
  rig.Watch({8});
  rig.Clear();
  rig.Run(20s);
  EXPECT_THAT(rig.SentTo(rig[1], FrameType::kWatch), SizeIs(4));
}

TEST(EngineWatchLife, OneThatIsNotDeadAfterAllIsAskedAtOnceAndAgain) {
  for (const Duration interval : {kBeat, Duration(60s)}) {
    WatchRig rig;
    rig.Watch({1000}, interval);
    rig.Silence();
    rig.Gossip(rig[2], {Dead(rig[1], {&rig[2], &rig[3]})});
    rig.Run(30s);
    ASSERT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
    rig.Clear();
    rig.Gossip(rig[2], {Alive(rig[1], 1)});
    ASSERT_EQ(rig.StateOf(rig[1]), "ACTIVE 1");
    EXPECT_THAT(rig.SentTo(rig[1], FrameType::kWatch), SizeIs(1));
    rig.Run(2 * interval);
    EXPECT_THAT(rig.SentTo(rig[1], FrameType::kWatch), SizeIs(3)) << "each interval, for the pulse is overdue";
  }
}

// Another name has taken the address of one that we watched.
TEST(EngineWatchLife, NothingOfAWatchGoesToWhoeverHasTheAddressNow) {
  WatchRig rig;
  rig.Watch({8});
  const Peer heir{"heir", rig[1].address, {Rig::kGeneration + 1, 0}};
  rig.Gossip(rig[2], {Alive(heir)});
  rig.Watch({8}, kBeat, "heir");
  rig.Clear();
  ASSERT_TRUE(rig.Order(Unwatch{"m1"}).ok());
  EXPECT_THAT(rig.Sent(FrameType::kWatch), SizeIs(0)) << "it would end the watch of the other";
  ASSERT_TRUE(rig.Order(Unwatch{"heir"}).ok());
  EXPECT_THAT(rig.Sent(FrameType::kWatch), SizeIs(1));
}

TEST(EngineWatchLife, TheOtherSideMayBeFull) {
  WatchRig rig;
  rig.Watch({8});
  const std::uint32_t asked = rig.sent[0].frame.sequence;
  rig.PulseOf(rig[1], asked - 1, kFlagFull);
  EXPECT_EQ(rig.Passed(), "") << "of an earlier watch";
  EXPECT_EQ(rig.Count(Counter::kPulsesOld), 1u);
  rig.PulseOf(rig[1], asked, kFlagFull);
  EXPECT_EQ(rig.Passed(), "ended RESOURCE_EXHAUSTED");
  rig.Clear();
  rig.Run(5s);
  EXPECT_THAT(rig.sent, SizeIs(0));
}

// ---- Ourselves. ----

TEST(EngineWatchLife, OurOwnPauseRaisesNoLevel) {
  for (const DetectorKind detector : kBoth) {
    WatchRig rig(With(detector));
    rig.Watch({1000});
    rig.Pulses(10);
    const double level = rig.Level("m1", rig.engine->NextWake() - rig.now.boot);
    rig.SetTime(rig.engine->NextWake() + 5s);
    rig.Wake();
    EXPECT_EQ(rig.Passed(), "paused");
    EXPECT_EQ(rig.Level(), level) << "as when we were due";
    const Instant reached = [&] {
      Instant at = rig.now.boot;
      while (rig.engine->Level({at, {}, {}}, "m1").value() < 1) at += 1ms;
      return at;
    }();
    EXPECT_LT(reached, rig.now.boot + 300ms) << "and from here on it rises as ever";
  }
}

TEST(EngineWatchLife, ASwapTellsOnlyOfThoseThatItCarriesOverAThreshold) {
  WatchRig rig(With(DetectorKind::kFixed));
  rig.Watch({4, 5.5});
  rig.Pulses(50);
  rig.Run(10ms);
  rig.Clear();
  ASSERT_TRUE(rig.Order(Reconfigure{DetectorKind::kPhi}).ok());
  ASSERT_TRUE(rig.Order(Reconfigure{DetectorKind::kFixed}).ok());
  EXPECT_EQ(rig.Passed(), "") << "below both before and after";
  rig.Run(190ms);  // 200 ms of silence: fixed 5.33; phi about 2, for one may be lost
  EXPECT_EQ(rig.Passed(), "+4");
  ASSERT_TRUE(rig.Order(Reconfigure{DetectorKind::kPhi}).ok());
  EXPECT_LT(rig.Level(), 4);
  EXPECT_EQ(rig.Passed(), "-4");
  ASSERT_TRUE(rig.Order(Reconfigure{DetectorKind::kFixed}).ok());
  EXPECT_EQ(rig.Passed(), "+4");
  ASSERT_TRUE(rig.Order(Reconfigure{DetectorKind::kPhi}).ok());
  EXPECT_EQ(rig.Passed(), "-4");
  while (rig.events.empty()) rig.Step();
  EXPECT_GE(rig.Level(), 4);
  EXPECT_LT(rig.Level("m1", -1ns), 4) << "the timer is that of the new one";
}

TEST(EngineWatchLife, WhenWeLeaveEveryWatchEnds) {
  WatchRig rig;
  rig.Watch({8});
  rig.Watch({8}, kBeat, "m2");
  ASSERT_TRUE(rig.Order(Leave{}).ok());
  EXPECT_EQ(rig.Passed(), "ended CANCELLED ended CANCELLED leave_done") << "acknowledged at once";
  EXPECT_EQ(rig.Order(Watch{"m1", kBeat, {8}}).code(), absl::StatusCode::kFailedPrecondition);
}

// ---- The STM. ----

// Two engines hear the same, but one of them watches m1, which is cut off: it gets pulses of it, while all else is as
// lost as with the other one.
TEST(EngineWatchLife, FeedsTheStmWithNothing) {
  WatchRig rig(Rig::Lan());
  WatchRig other(Rig::Lan());
  rig.Watch({1, 8});
  std::string states;
  std::string states_of_other;
  const auto note = [](Rig& from, std::string& to) {
    for (const Event& event : std::exchange(from.events, {})) {
      if (event.kind == EventKind::kLevel) continue;
      to += std::to_string((event.at - Rig::kStart).count()) + " " + Describe(event) + "\n";
    }
  };
  Kill(rig[1]);
  Kill(other[1]);
  for (int i = 0; i < 300; ++i) {  // 30 s
    rig.Run(kBeat);
    other.Run(kBeat);
    if (i % 10 < 5) rig.Pulse();
    rig.Asks(rig[2], kBeat);
    note(rig, states);
    note(other, states_of_other);
  }
  EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
  EXPECT_EQ(states, states_of_other);
  EXPECT_THAT(states, HasSubstr("SUSPECT"));
  EXPECT_EQ(StmOf(rig), StmOf(other));
  for (const Counter same : {Counter::kProbeDatagramsSent, Counter::kProbeBytesSent, Counter::kRelayDatagramsSent,
                             Counter::kGossipDatagramsSent, Counter::kGossipBytesSent, Counter::kRounds}) {
    EXPECT_EQ(rig.Count(same), other.Count(same));
  }
  EXPECT_GT(rig.Count(Counter::kWatchDatagramsSent), 300u);
  EXPECT_EQ(other.Count(Counter::kWatchDatagramsSent), 0u);
}

Config Mesh() {
  Config config = Config::Mesh();
  config.name = "self";
  config.generation = Rig::kGeneration;
  config.seed = 1;
  return config;
}

// Where any frame is a proof of life, those of a watch are none.
TEST(EngineWatchLife, PulsesAreNoHeartbeats) {
  WatchRig rig(Mesh());
  rig.Watch({1000});
  rig.Run(5s);
  const Instant heard = Rig::kStart;
  while (rig.now.boot < heard + 50s) {
    rig.Run(1s);
    rig.Pulse();
  }
  EXPECT_NE(rig.StateOf(rig[1]), "ACTIVE 0");
  EXPECT_LT(rig.Level(), 1);
}

// ---- Levels without a watch. ----

TEST(EngineWatchLife, WithoutAWatchTheLevelIsThatOfTheOpenRound) {
  Config config = Rig::Lan();
  WatchRig rig(config, 2);
  EXPECT_EQ(rig.Level(), 0);
  Kill(rig[1]);
  const Said ping = rig.NextRound(&rig[1]);
  EXPECT_EQ(rig.Level(), 0);
  EXPECT_EQ(rig.Level("m1", 200ms), config.phi_threshold) << "the first attempt's share is over";
  rig.Run(500ms);
  EXPECT_EQ(rig.Level(), config.phi_threshold * 2.5) << "of the oldest attempt";
  rig.Ack(rig[1], ping.frame.sequence);
  EXPECT_EQ(rig.Level(), 0);
  EXPECT_EQ(rig.engine->Level(rig.now, "nobody").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(rig.engine->Level(rig.now, "self").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(EngineWatchLife, WithHeartbeatsTheLevelIsTheirs) {
  WatchRig rig(Mesh());
  const Instant heard = rig.now.boot;
  rig.Run(15s);
  const Config& config = rig.config;
  FixedDeadline same(config.suspect_after + config.acceptable_pause, config.phi_threshold);
  EXPECT_EQ(rig.Level(), same.Level(0, heard, rig.now.boot));
  EXPECT_GT(rig.Level(), 0);
  rig.Receive(rig[1], Rig::Of(FrameType::kHeartbeat, 1));
  EXPECT_EQ(rig.Level(), 0);
  rig.Watch({8});
  rig.Run(50ms);
  EXPECT_DOUBLE_EQ(rig.Level(), 8 * 0.05 / 0.3) << "with a watch it is that of the pulses";
}

}  // namespace
}  // namespace nekton
