// Many join at once, and news meets loss: everybody knows everybody within seconds, and nothing has a blind spot.
#include <chrono>
#include <cstdint>
#include <utility>

#include <gtest/gtest.h>

#include "tests/cluster.h"
#include "tests/joining_storm.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

TEST(JoiningScenario, AHundredAndTwentyEightWithinASecondKnowEachOtherASecondLater) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const JoiningStorm storm = StormOf(128, seed, 30s);
    EXPECT_LE(storm.complete, 2s) << "seed " << seed;
  }
}

// A newcomer's is the only news of its time, so nothing else carries it.
TEST(JoiningScenario, ASingleJoinReachesAllInSpiteOfLoss) {
  for (const auto& [nodes, seeds] : {std::pair(8u, 300u), std::pair(32u, 60u), std::pair(128u, 12u)}) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      EXPECT_LE(SpreadOfOneJoin(nodes, seed), 10s) << nodes << " members, seed " << seed;
    }
  }
}

TEST(JoiningScenario, AfterHeavyLossAllTablesAreEqualWithinAMinute) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Cluster c({.nodes = 64, .seed = seed, .record = false});
    ASSERT_TRUE(c.Converge(30s));
    c.Lose(0.6);
    c.RunFor(10s);
    const SimId late = c.AddNode();
    c.Crash(5);
    c.RunFor(20s);
    c.Lose(0);
    EXPECT_TRUE(c.Converge(60s)) << "seed " << seed;
    EXPECT_TRUE(c.sim().live(late));
  }
}

// The seeds come up last.
TEST(JoiningScenario, SeedsMayComeUpLater) {
  Cluster c({.nodes = 12, .start = false});
  for (SimId id = 1; id < 12; ++id) ASSERT_TRUE(c.sim().Start(id).ok());
  c.RunFor(40s);
  for (SimId id = 1; id < 12; ++id) EXPECT_EQ(c.member(id).size(), 1u);
  ASSERT_TRUE(c.sim().Start(0).ok());
  EXPECT_TRUE(c.Converge(15s));
}

// One call, its results per address, in virtual time.
TEST(JoiningScenario, ACallOfJoinEndsWhenASeedComesUpOrAtItsDeadline) {
  Config config = Config::Lan();
  config.seeds = {"10.99.0.1:7946"};  // nobody is there
  Cluster c({.nodes = 3, .config = config, .start = false});
  ASSERT_TRUE(c.sim().Start(1).ok());
  const Join join{{c.sim().address(0), c.sim().address(2)}, 20s, 9};
  ASSERT_TRUE(c.sim().Order(1, join).ok());
  c.RunFor(30s);
  ASSERT_EQ(c.Count(EventKind::kJoinDone), 1u);
  const SimEvent late = c.Events({.kind = EventKind::kJoinDone})[0];
  EXPECT_EQ(late.at, 20s);
  EXPECT_EQ(late.event.call, 9u);
  EXPECT_TRUE(absl::IsDeadlineExceeded(late.event.status)) << late.event.status;
  c.sim().ClearLog();
  const Duration from = c.now();
  ASSERT_TRUE(c.sim().Order(1, join).ok());
  c.RunFor(10s);
  ASSERT_TRUE(c.sim().Start(0).ok());
  ASSERT_TRUE(c.RunUntil([&] { return c.Count(EventKind::kJoinDone) == 1; }, 30s));
  const Event done = c.Events({.kind = EventKind::kJoinDone})[0].event;
  EXPECT_TRUE(done.status.ok()) << done.status;
  EXPECT_TRUE(done.outcomes.at(0).status.ok());
  EXPECT_FALSE(done.outcomes.at(1).status.ok());
  EXPECT_LE(c.now() - from, 17500ms) << "a backoff of 5 s and its jitter after it came up";
  EXPECT_EQ(c.Sees(1, 0), MemberStatus::kActive);
}

}  // namespace
}  // namespace nekton
