// A group that was cut in two becomes one again, by itself, within seconds of the cut's end; and nobody who is healthy is
// condemned for it.
#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

#include "tests/cluster.h"
#include "tests/numbers.h"
#include "tests/splits.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

void HealsQuickly(std::size_t nodes, Duration cut, std::uint64_t seeds) {
  for (const Split& split : Splits(nodes)) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      const Healing healing = Heal(nodes, split, cut, seed);
      EXPECT_LE(healing.complete, 10s) << split.name << " " << Seconds(cut) << " s, seed " << seed;
      EXPECT_EQ(healing.failed, 0u) << split.name << " " << Seconds(cut) << " s, seed " << seed;
    }
  }
}

// Before and after the dead are forgotten.
TEST(HealingScenario, AMinutesSplitsHealByThemselvesWithinTenSeconds) {
  HealsQuickly(32, 60s, 4);
  HealsQuickly(100, 60s, 1);
}

TEST(HealingScenario, TenMinutesSplitsHealByThemselvesWithinTenSeconds) {
  HealsQuickly(32, 10min, 2);
  HealsQuickly(100, 10min, 1);
}

// Whoever has lost a seed goes back to it for as long as it takes: a day is like ten minutes, and a small group as good as
// a large one, for there is nothing left to run out. Large ones: healing_heavy_test.cc.
TEST(HealingScenario, ADaysSplitHealsToo) {
  const Healing healing = Heal(6, Splits(6)[0], 24h, 1);
  EXPECT_LE(healing.complete, 10s);
  EXPECT_EQ(healing.failed + healing.failed_soon, 0u);
}

TEST(HealingScenario, ALeaveReachesAllInSpiteOfLoss) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Cluster c({.nodes = 32, .seed = seed});
    ASSERT_TRUE(c.Converge(30s));
    c.RunFor(3s);
    c.Lose(0.05);
    c.Leave(7);
    const Duration from = c.now();
    const auto all_know = [&] {
      for (SimId id = 0; id < 32; ++id) {
        if (id != 7 && c.Sees(id, 7) != MemberStatus::kLeft) return false;
      }
      return true;
    };
    ASSERT_TRUE(c.RunUntil(all_know, 60s)) << seed;
    EXPECT_LE(c.now() - from, 10s) << "seed " << seed;
    c.RunFor(20s);
    EXPECT_EQ(c.Count({.kind = EventKind::kLeft, .subject = 7}), 31u) << "seed " << seed;
    EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .subject = 7}), 0u) << "seed " << seed;
  }
}

// A table is repaired whatever it missed: here by a member that heard nothing while others joined, left and died.
TEST(HealingScenario, WhoWasDeafForAWhileMissesNothing) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Cluster c({.nodes = 24, .seed = seed});
    ASSERT_TRUE(c.Converge(30s));
    c.network().CutIn(5, Traffic::kDatagrams);
    c.RunFor(1s);
    c.Leave(3);
    c.Crash(9);
    const SimId late = c.AddNode();
    c.RunFor(4s);
    c.Heal();
    EXPECT_TRUE(c.Converge(60s)) << "seed " << seed;
    EXPECT_EQ(c.Sees(5, late), MemberStatus::kActive);
  }
}

}  // namespace
}  // namespace nekton
