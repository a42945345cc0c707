// Giving pulses to those who watch us.
#include <chrono>
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "swim/watchers.h"
#include "tests/watch_rig.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::SizeIs;

std::vector<Said> PulsesTo(const Rig& rig, const Peer& peer) { return rig.SentTo(peer, FrameType::kPulse); }

TEST(EngineWatchers, GetAPulseAtOnceAndThenOneAnIntervalUntilTheyAskNoMore) {
  WatchRig rig;
  const Instant start = rig.now.boot;
  rig.Asks(rig[1], kBeat, 41);
  rig.Run(1h);
  const std::vector<Said> pulses = PulsesTo(rig, rig[1]);
  ASSERT_THAT(pulses, SizeIs(10));
  for (std::uint32_t i = 0; i < 10; ++i) {
    EXPECT_EQ(pulses[i].at, start + i * kBeat);
    EXPECT_EQ(pulses[i].frame.sequence, 42 + i);
    EXPECT_EQ(pulses[i].frame.flags, i == 0 ? kFlagExtra : 0);
    EXPECT_EQ(pulses[i].frame.sender, rig.self.id());
    EXPECT_THAT(pulses[i].updates, SizeIs(0));
  }
  EXPECT_EQ(rig.Count(Counter::kWatchDatagramsSent), 10u);
  EXPECT_EQ(rig.Count(Counter::kWatchBytesSent), 240u);
  EXPECT_EQ(rig.Events(), "");
}

TEST(EngineWatchers, AreServedAsLongAsTheyAskAndNotAfterTheyStop) {
  WatchRig rig;
  for (int i = 0; i < 10; ++i) {
    rig.Asks(rig[1], kBeat);
    rig.Run(9 * kBeat);
  }
  EXPECT_THAT(PulsesTo(rig, rig[1]), SizeIs(91));
  rig.Asks(rig[1], 0ms);
  rig.Run(5s);
  EXPECT_THAT(PulsesTo(rig, rig[1]), SizeIs(91));
}

TEST(EngineWatchers, AreServedWhereTheyAskFrom) {
  WatchRig rig;
  Peer elsewhere = rig[1];
  elsewhere.address = Rig::At(99);
  rig.Asks(elsewhere, kBeat);
  EXPECT_THAT(PulsesTo(rig, elsewhere), SizeIs(1));
  EXPECT_THAT(PulsesTo(rig, rig[1]), SizeIs(0));
}

TEST(EngineWatchers, WhoIsNotAMemberOfNowIsNotServed) {
  WatchRig rig;
  rig.Asks(Peer{"stranger", Rig::At(77), {Rig::kGeneration, 0}}, kBeat);
  Peer former = rig[1];
  former.key.generation -= 5;
  rig.Asks(former, kBeat);
  const Peer earlier = rig[2];
  rig[2].key.incarnation = 1;
  rig.Gossip(rig[3], {Alive(rig[2])});
  rig.Asks(earlier, kBeat);
  rig.Asks(rig[1], 9ms);
  rig.Asks(rig[1], 1h + 1ms);
  rig.Gossip(rig[4], {Left(rig[4])});
  rig.Asks(rig[4], kBeat);
  rig.Run(1s);
  EXPECT_EQ(rig.Count(Counter::kWatchesIgnored), 6u);
  EXPECT_THAT(rig.Sent(FrameType::kPulse), SizeIs(0));
  rig.Asks(rig[1], 10ms);
  EXPECT_THAT(PulsesTo(rig, rig[1]), SizeIs(1));
}

TEST(EngineWatchers, WhoIsGoneGetsNoMore) {
  WatchRig rig(With(DetectorKind::kFixed), 6);
  for (std::size_t i = 1; i <= 4; ++i) {
    rig.Asks(rig[i], 1min);
    ASSERT_THAT(PulsesTo(rig, rig[i]), SizeIs(1));
  }
  rig.Gossip(rig[1], {Left(rig[1])});
  rig.Gossip(rig[5], {Dead(rig[2], {&rig[5], &rig[6]})});
  Kill(rig[2]);
  rig[3].key = {Rig::kGeneration + 7, 0};
  rig.Gossip(rig[5], {Alive(rig[3])});
  rig.Run(50s);
  ASSERT_EQ(rig.StateOf(rig[2]), "INACTIVE 0");
  rig.Clear();
  rig.Run(2min);
  for (std::size_t i = 1; i <= 3; ++i) EXPECT_THAT(PulsesTo(rig, rig[i]), SizeIs(0)) << i;
  EXPECT_THAT(PulsesTo(rig, rig[4]), SizeIs(2));
}

TEST(EngineWatchers, OneMoreThanTheBoundIsTold) {
  WatchRig rig(With(DetectorKind::kFixed), Watchers::kMax + 1);
  for (std::size_t i = 1; i <= Watchers::kMax; ++i) rig.Asks(rig[i], 1s);
  rig.Clear();
  const Peer& last = rig[Watchers::kMax + 1];
  rig.Asks(last, 1s, 77);
  rig.Asks(last, 1s, 78);
  const std::vector<Said> refusals = PulsesTo(rig, last);
  ASSERT_THAT(refusals, SizeIs(2));
  EXPECT_EQ(refusals[0].frame.flags, kFlagFull);
  EXPECT_EQ(refusals[0].frame.sequence, 77u);
  EXPECT_EQ(rig.Count(Counter::kWatchersRefused), 2u);
  rig.Asks(rig[1], 0ms);
  rig.Asks(last, 1s);
  EXPECT_EQ(PulsesTo(rig, last).back().frame.flags, kFlagExtra);
}

TEST(EngineWatchers, AreNotForgottenWhileWeSleep) {
  WatchRig rig;
  rig.Asks(rig[1], kBeat);
  rig.Pass(30s);
  rig.Clear();
  rig.Wake();
  EXPECT_EQ(rig.Passed(), "paused");
  EXPECT_THAT(PulsesTo(rig, rig[1]), SizeIs(1)) << "one, and not all that are late";
}

// Two engines, one watching the other one, on a wire that is the test.
TEST(EngineWatchers, AWatchAndItsPulsesMeet) {
  WatchRig alpha;
  WatchRig beta;
  // m1 at alpha is beta, and m1 at beta is alpha: their frames are handed on with the sender that the other one knows.
  alpha.Watch({8});
  const Instant start = alpha.now.boot;
  std::size_t asked = 0;
  std::size_t pulsed = 0;
  for (int ms = 0; ms < 3000; ++ms) {
    alpha.Run(1ms);
    beta.Run(1ms);
    for (; asked < alpha.sent.size(); ++asked) {
      const Frame& frame = alpha.sent[asked].frame;
      if (frame.type == FrameType::kWatch) beta.Asks(beta[1], frame.interval, frame.sequence);
    }
    for (; pulsed < beta.sent.size(); ++pulsed) {
      const Frame& frame = beta.sent[pulsed].frame;
      if (frame.type == FrameType::kPulse) alpha.PulseOf(alpha[1], frame.sequence, frame.flags);
    }
  }
  EXPECT_EQ(alpha.Passed(), "");
  EXPECT_EQ(alpha.now.boot, start + 3s);
  EXPECT_EQ(alpha.Count(Counter::kPulsesOld), 0u);
  EXPECT_EQ(beta.Count(Counter::kWatchDatagramsSent), 30u);
  EXPECT_EQ(alpha.Count(Counter::kWatchDatagramsSent), 8u);
}

}  // namespace
}  // namespace nekton
