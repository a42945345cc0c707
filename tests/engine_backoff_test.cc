// A member that has refuted three times in a row is doubted ever more slowly; and relays are asked from half time on.
#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine_holds.h"

namespace nekton {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Each;
using testing::Ge;
using testing::SizeIs;

// m1 is accused by another and refutes.
void SuspectAndRefute(Rig& rig) {
  rig.Gossip(rig[2], {Suspect(rig[1], {&rig[2]})});
  ++rig[1].key.incarnation;
  rig.Gossip(rig[1], {Alive(rig[1])});
}

// The rounds at m1 that failed until it is suspected.
int FailedUntilSuspected(Rig& rig) {
  Kill(rig[1]);
  rig.events.clear();
  int rounds = 0;
  while (rig.StateOf(rig[1]).starts_with("ACTIVE") && rounds < 1000) {
    rig.NextRound(&rig[1]);
    ++rounds;
    rig.RunUntil(rig.now.boot + seconds(1));
  }
  return rounds;
}

TEST(EngineBackOff, AfterThreeRefutationsAFailedRoundWaits) {
  for (const bool on : {true, false}) {
    Config config = Rig::Lan();
    config.rules.back_off = on;
    Rig rig(config);
    rig.Know(3);
    for (int i = 0; i < 6; ++i) SuspectAndRefute(rig);
    const Instant last = rig.now.boot;
    const std::uint64_t before = rig.Count(Counter::kRoundsBackedOff);
    const int rounds = FailedUntilSuspected(rig);
    if (on) {
      EXPECT_GE(rig.now.boot - last, seconds(16));
      EXPECT_EQ(rig.Count(Counter::kRoundsBackedOff) - before, static_cast<std::uint64_t>(rounds) - 1);
    } else {
      EXPECT_EQ(rounds, 1);
    }
  }
}

TEST(EngineBackOff, ARefusedPortIsBelievedAllTheSame) {
  Rig rig;
  rig.Know(3);
  for (int i = 0; i < 5; ++i) SuspectAndRefute(rig);
  Kill(rig[1]);
  rig.NextRound(&rig[1]);
  rig.Report(rig[1].address, Trouble::kRefused);
  EXPECT_TRUE(rig.StateOf(rig[1]).starts_with("SUSPECT"));
}

TEST(EngineRelayAfter, RelaysAreAskedFromThatShareOfThePeriodOn) {
  for (const double share : {0.0, 0.5, 0.8}) {
    Config config = Rig::Lan();
    config.attempts = config.rumour_weight = 8;
    config.relay_after = share;
    Rig rig(config);
    rig.Know(20);
    Kill(rig[1]);
    const Said first = rig.NextRound(&rig[1]);
    rig.RunUntil(first.at + seconds(1));
    EXPECT_THAT(rig.SentTo(rig[1], FrameType::kPing), SizeIs(Ge(8u)));
    std::vector<Duration> asked;
    for (const Said& said : rig.Sent(FrameType::kPingReq)) asked.push_back(said.at - first.at);
    EXPECT_THAT(asked, SizeIs(share == 0.0 ? 14 : share == 0.5 ? 8 : 2)) << share;
    EXPECT_THAT(asked, Each(Ge(std::max(Duration(milliseconds(125)), Duration(milliseconds(int(1000 * share)))))));
    EXPECT_EQ(rig.Events(), "suspected m1");
  }
}

}  // namespace
}  // namespace nekton
