// No blind spot: a single piece of news reaches everybody, and whoever missed something catches up.
#include <chrono>
#include <cstdint>
#include <utility>

#include <gtest/gtest.h>

#include "tests/cluster.h"
#include "tests/spread.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

void ReachesAll(News news) {
  for (const auto& [nodes, seeds] : {std::pair(8u, 200u), std::pair(32u, 40u), std::pair(128u, 8u)}) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      EXPECT_LE(Spread(news, nodes, seed), 10s) << Name(news) << ", " << nodes << " members, seed " << seed;
    }
  }
}

TEST(Spread, AJoinReachesAllInSpiteOfLoss) { ReachesAll(News::kJoin); }
TEST(Spread, ALeaveReachesAllInSpiteOfLoss) { ReachesAll(News::kLeave); }
TEST(Spread, ARestartReachesAllInSpiteOfLoss) { ReachesAll(News::kRestart); }
TEST(Spread, OtherTagsReachAllInSpiteOfLoss) { ReachesAll(News::kRetag); }

TEST(Spread, AfterHeavyLossAllTablesAreEqualWithinAMinute) {
  for (const auto& [nodes, seeds] : {std::pair(8u, 40u), std::pair(64u, 3u), std::pair(128u, 2u)}) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      Cluster c({.nodes = nodes, .seed = seed, .record = false});
      ASSERT_TRUE(c.Converge(30s));
      c.Lose(0.6);
      c.RunFor(10s);
      const SimId late = c.AddNode();
      c.Crash(5);
      c.RunFor(20s);
      c.Lose(0);
      EXPECT_TRUE(c.Converge(60s)) << nodes << " members, seed " << seed;
      EXPECT_TRUE(c.sim().live(late));
    }
  }
}

}  // namespace
}  // namespace nekton
