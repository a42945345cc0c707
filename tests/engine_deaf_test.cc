// Time in which nobody at all was heard counts toward no hold: it is we who are cut off.
#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine_holds.h"

namespace nekton {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Config Listening() {
  Config config = Rig::Lan();
  config.rules.excuse_deafness = true;
  config.hearer_margin = Duration{};
  config.confirmers = 0;               // so that a hold is as long whoever confirms it
  config.rules.await_answers = false;  // nobody answers here
  return config;
}

// m1 is accused by others, and nobody is heard from then on for `gap`. Returns how long it was SUSPECT.
Duration HoldWithAGap(const Config& config, std::size_t members, Duration gap) {
  Rig rig(config);
  rig.Know(members - 1);
  const Instant since = SuspectByHearsay(rig);
  rig.Silence();
  rig.RunUntil(since + gap);
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0") << "while nobody is heard nobody is buried";
  for (Peer& peer : rig.peers) peer.answers = peer.answers_relays = peer.relays = peer.name != "m1";
  rig.Gossip(rig[2], {});
  while (rig.StateOf(rig[1]) == "SUSPECT 0") rig.Step();
  return rig.now.boot - since;
}

TEST(EngineDeaf, AGapCountsTowardNoHold) {
  const Duration hold = HoldWithAGap(Listening(), 8, milliseconds(1));
  EXPECT_EQ(HoldWithAGap(Listening(), 8, milliseconds(1999)), hold) << "less than two periods are no gap";
  EXPECT_EQ(HoldWithAGap(Listening(), 8, seconds(2)), hold + seconds(2));
  EXPECT_EQ(HoldWithAGap(Listening(), 8, seconds(30)), hold + seconds(30));
}

TEST(EngineDeaf, WithoutTheRuleItCounts) {
  Config config = Listening();
  config.rules.excuse_deafness = false;
  Rig rig(config);
  rig.Know(7);
  const Instant since = SuspectByHearsay(rig);
  rig.Silence();
  rig.RunUntil(since + kLongest);
  EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
}

// There the other's death is such a gap.
TEST(EngineDeaf, InAGroupOfTwoThereIsNoSuchExcuse) {
  Rig rig(Listening());
  rig.Know(1);
  const Instant since = SuspectByARound(rig);
  rig.RunUntil(since + kLongest);
  EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
}

// After so long it is the others who are gone.
TEST(EngineDeaf, ItExcusesAMinuteAndNoMore) {
  Rig rig(Listening());
  rig.Know(2);
  rig.Silence();
  rig.Run(seconds(60));
  EXPECT_EQ(rig.engine->alive(), 3u);
  rig.Run(seconds(60));
  EXPECT_EQ(rig.engine->alive(), 1u);
}

}  // namespace
}  // namespace nekton
