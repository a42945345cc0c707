// Two detectors behind one switch: in a whole group, and swapped while it runs.
#include <chrono>

#include <gtest/gtest.h>

#include "tests/cluster.h"
#include "tests/engine_rig.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

Config With(DetectorKind detector) {
  Config config = Config::Lan();
  config.detector = detector;
  return config;
}

TEST(DetectorSwap, NoHealthyMemberIsSuspectedWhenRoundTripsChange) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Cluster c({.nodes = 8, .seed = seed, .config = With(DetectorKind::kPhi)});
    ASSERT_TRUE(c.Converge(30s));
    for (const Duration one_way : {Duration(500us), Duration(40ms), Duration(500us)}) {
      c.network().SetLaw({.delay_min = one_way, .delay_max = one_way + 100us});
      c.RunFor(60s);
    }
    EXPECT_EQ(c.Count(EventKind::kSuspected), 0u) << seed;
  }
}

// A fixed deadline of 50 ms is right while round trips take 1 ms, and wrong for every one of 80 ms.
TEST(DetectorSwap, PhiLearnsANewRoundTripWhereAFixedDeadlineDoesNot) {
  for (const DetectorKind detector : {DetectorKind::kFixed, DetectorKind::kPhi}) {
    Config config = With(detector);
    config.period = 250ms;
    config.attempts = config.rumour_weight = 5;
    config.max_local_pause = 250ms;
    Cluster c({.nodes = 8, .seed = 11, .config = config});
    ASSERT_TRUE(c.Converge(30s));
    for (const auto& [one_way, wrong_fixed] :
         {std::pair(500us, 0.0), std::pair(40'000us, 1.0), std::pair(500us, 0.0)}) {
      c.network().SetLaw({.delay_min = one_way, .delay_max = one_way + 100us});
      c.RunFor(60s);  // to learn it
      const Counters before = c.sim().member(0)->counters();
      c.RunFor(60s);
      const Counters after = c.sim().member(0)->counters();
      const auto of = [&](Counter counter) { return static_cast<double>(after[counter] - before[counter]); };
      const double late = of(Counter::kAttemptsFailed) / of(Counter::kRounds);
      EXPECT_NEAR(late, detector == DetectorKind::kFixed ? wrong_fixed : 0.0, 0.02);
    }
    EXPECT_EQ(c.Count(EventKind::kSuspected), 0u);
  }
}

TEST(DetectorSwap, RaisesNoEventForHealthyMembers) {
  Cluster c({.nodes = 6, .seed = 3});
  ASSERT_TRUE(c.Converge(30s));
  c.sim().ClearLog();
  for (int i = 0; i < 40; ++i) {
    const DetectorKind detector = i % 2 == 0 ? DetectorKind::kPhi : DetectorKind::kFixed;
    for (SimId id = 0; id < c.size(); ++id) ASSERT_TRUE(c.sim().Order(id, Reconfigure{detector}).ok());
    c.RunFor(730ms);
  }
  EXPECT_TRUE(c.sim().log().empty()) << c.Story();
  EXPECT_FALSE(c.sim().Order(0, Reconfigure{static_cast<DetectorKind>(9)}).ok());
}

TEST(DetectorSwap, ACrashIsFoundUnderEither) {
  for (const DetectorKind detector : {DetectorKind::kFixed, DetectorKind::kPhi}) {
    Cluster c({.nodes = 8, .seed = 5, .config = With(detector)});
    ASSERT_TRUE(c.Converge(30s));
    c.RunFor(20s);
    c.Crash(3);
    EXPECT_TRUE(c.RunUntil([&] { return static_cast<bool>(c.AllSee(3, MemberStatus::kInactive)); }, 14s));
  }
}

// The fixed detector sends the second attempt after a fifth of the period; phi, where answers take a millisecond, at the
// earliest time that is allowed: half of that.
TEST(DetectorSwap, TheDetectorSaysWhenTheNextAttemptGoesOut) {
  for (const DetectorKind detector : {DetectorKind::kFixed, DetectorKind::kPhi}) {
    Config config = Rig::Lan();
    config.detector = detector;
    Rig rig(config);
    rig.Know(1);
    for (int i = 0; i < 50; ++i) {
      const Said ping = rig.NextRound();
      rig.Pass(1ms);
      rig.Ack(rig[1], ping.frame.sequence);
    }
    rig[1].answers = false;
    const Said ping = rig.NextRound();
    rig.Clear();
    while (rig.Sent(FrameType::kPing).empty()) rig.Step();
    EXPECT_EQ(rig.now.boot - ping.at, detector == DetectorKind::kFixed ? 200ms : 100ms);
  }
}

// The time of the second attempt tells what was learned: of direct answers, late ones among them; of relayed ones nothing.
TEST(DetectorSwap, DirectAnswersAreSamplesLateOnesTooAndRelayedOnesAreNot) {
  const auto second_attempt = [](Duration answer, bool relayed) {
    Config config = Rig::Lan();
    config.detector = DetectorKind::kPhi;
    Rig rig(config);
    rig.Know(3);
    rig.Silence();
    for (Peer& peer : rig.peers) peer.relays = true;  // they have no answer either
    for (int i = 0; i < 60; ++i) {
      const Said ping = rig.NextRound();
      rig.RunUntil(ping.at + answer);
      Peer& target = *rig.Find(ping.to);
      if (relayed) {
        const Said asked = rig.Sent(FrameType::kPingReq).back();
        rig.RelayedAck(*rig.Find(asked.to), asked.frame.sequence, target);
      } else {
        rig.Ack(target, ping.frame.sequence);
      }
    }
    const Said ping = rig.NextRound();
    rig.Clear();
    while (rig.Sent(FrameType::kPing).empty()) rig.Step();
    return rig.now.boot - ping.at;
  };
  const Duration untaught = second_attempt(900ms, true);
  EXPECT_EQ(second_attempt(800ms, true), untaught);
  EXPECT_LT(second_attempt(1ms, false), untaught);
  EXPECT_GT(second_attempt(900ms, false), untaught) << "late ones are learned, else it would only ever shrink";
}

// An attempt that waits keeps the later of its two deadlines.
TEST(DetectorSwap, AnOpenAttemptKeepsTheLaterDeadline) {
  Config config = Rig::Lan();
  config.detector = DetectorKind::kPhi;
  Rig rig(config);
  rig.Know(1);
  for (int i = 0; i < 50; ++i) {
    const Said ping = rig.NextRound();
    rig.Pass(1ms);
    rig.Ack(rig[1], ping.frame.sequence);
  }
  rig[1].answers = false;
  for (const DetectorKind to : {DetectorKind::kFixed, DetectorKind::kPhi}) {
    const Said ping = rig.NextRound();
    rig.Pass(10ms);
    ASSERT_TRUE(rig.Order(Reconfigure{to}).ok());
    rig.Clear();
    while (rig.Sent(FrameType::kPing).empty()) rig.Step();
    EXPECT_EQ(rig.now.boot - ping.at, 200ms);
  }
}

}  // namespace
}  // namespace nekton
