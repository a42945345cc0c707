// The long and the large: soaks over many seeds, a thousand members.
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "tests/cluster.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

class Seed : public testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Soak, Seed, testing::Range<std::uint64_t>(1, 21),
                         [](const auto& param) { return std::to_string(param.param); });

TEST_P(Seed, AMinuteOfLossKillsNobody) {
  for (const double loss : {0.05, 0.15}) {
    Cluster c({.nodes = 100, .seed = GetParam()});
    ASSERT_TRUE(c.Converge(60s));
    const Duration at = c.now();
    c.Lose(loss);
    c.RunFor(60s);
    EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .since = at}), 0u) << "loss " << loss;
    EXPECT_GT(c.Sum(Counter::kAttemptsFailed), 0u);
  }
}

TEST_P(Seed, AFreezeOfThreeSecondsKillsNobodyAtAnySize) {
  for (const std::size_t n : {3u, 8u, 32u, 128u}) {
    Cluster c({.nodes = n, .seed = GetParam()});
    ASSERT_TRUE(c.Converge(60s));
    c.RunFor(std::chrono::milliseconds(37 * GetParam()));
    const Duration at = c.now();
    c.Pause(1);
    c.RunFor(3s);
    c.Resume(1);
    c.RunFor(15s);
    EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .since = at}), 0u) << n;
    EXPECT_TRUE(c.Converge(1s)) << n;
  }
}

TEST(Thousand, JoinThroughOneSeedAndSeeACrash) {
  Cluster c({.nodes = 1000, .record = false});
  ASSERT_TRUE(c.Converge(60s));
  c.Crash(500);
  c.RunFor(20s);
  EXPECT_TRUE(c.AllSee(500, MemberStatus::kInactive));
  EXPECT_TRUE(c.Converge(1s)) << "and nobody else was lost";
}

TEST(Thousand, ASplitOfAMinuteHeals) {
  Cluster c({.nodes = 200, .seed = 9});
  ASSERT_TRUE(c.Converge(60s));
  std::vector<std::vector<SimId>> halves(2);
  for (SimId id = 0; id < 200; ++id) halves[id % 2].push_back(id);
  c.Partition(halves);
  c.RunFor(60s);
  const Duration healed = c.now();
  c.Heal();
  EXPECT_TRUE(c.Converge(15s));
  EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .since = healed}), 0u);
}

}  // namespace
}  // namespace nekton
