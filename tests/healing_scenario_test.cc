// A group that was cut in two becomes one again, by itself, within seconds of the cut's end; and nobody who is healthy is
// condemned for it.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cluster.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

struct Split {
  const char* name;
  std::size_t small;  // members in the smaller part
  bool seeds_small;   // the seed is in it
};

// Cut for so long, then healed: how long until all tables are equal. `failed`: members declared dead after the healing.
Duration Heal(std::size_t nodes, std::size_t small, bool seed_in_small, Duration cut, std::uint64_t seed,
              std::size_t* failed) {
  Cluster c({.nodes = nodes, .seed = seed});
  EXPECT_TRUE(c.Converge(60s));
  c.RunFor(3s);
  std::vector<SimId> part;
  for (std::size_t i = 0; i < small; ++i) part.push_back(static_cast<SimId>(seed_in_small ? i : nodes - 1 - i));
  std::vector<SimId> rest;
  for (SimId id = 0; id < nodes; ++id) {
    if (std::find(part.begin(), part.end(), id) == part.end()) rest.push_back(id);
  }
  c.Partition({part, rest});
  c.RunFor(cut);
  // A lone member takes a minute of deafness for its own trouble, and a few have many to find out about.
  if (cut > 2min) {
    EXPECT_EQ(c.member(part.front()).alive(), part.size());
  }
  EXPECT_EQ(c.member(rest.front()).alive(), rest.size());
  c.sim().ClearLog();
  c.Heal();
  const Duration healed = c.now();
  if (!c.sim().RunUntil([&] { return c.sim().Converged(); }, 120s, 100ms)) return Duration::max();
  const Duration took = c.now() - healed;
  c.RunFor(10s);
  *failed = c.Count(EventKind::kFailed);
  return took;
}

TEST(HealingScenario, SplitsHealByThemselvesWithinTenSeconds) {
  constexpr Split kSplits[] = {{"halves, seed here", 16, true},  {"halves, seed there", 16, false},
                               {"a tenth, seed here", 3, true},  {"a tenth, seed there", 3, false},
                               {"one alone, the seed", 1, true}, {"one alone", 1, false}};
  for (const Split& split : kSplits) {
    for (const Duration cut : {Duration(60s), Duration(10min)}) {  // before and after the dead are forgotten
      for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        std::size_t failed = 0;
        EXPECT_LE(Heal(32, split.small, split.seeds_small, cut, seed, &failed), 10s)
            << split.name << " " << cut.count() / 1'000'000'000 << " s, seed " << seed;
        EXPECT_EQ(failed, 0u) << split.name << " seed " << seed;
      }
    }
  }
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
