// Many join at once: everybody knows everybody within seconds.
#include <chrono>
#include <cstdint>

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
