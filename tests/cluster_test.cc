// The words of tests/cluster.h can fail, and say why.
#include "tests/cluster.h"

#include <gtest/gtest.h>

#include <string>

namespace nekton {
namespace {

using namespace std::chrono_literals;

TEST(Cluster, DetectsACrash) {
  Cluster c({.nodes = 5, .seed = 1});
  ASSERT_TRUE(c.Converge(30s));
  const Duration crash = c.now();
  c.Crash(2);
  const testing::AssertionResult early = c.AllSee(2, MemberStatus::kInactive);
  EXPECT_FALSE(early);
  EXPECT_NE(std::string(early.message()).find("n0 holds n2 ACTIVE"), std::string::npos) << early.message();
  EXPECT_FALSE(c.Converge(1s));
  ASSERT_TRUE(c.Converge(30s));
  EXPECT_TRUE(c.AllSee(2, MemberStatus::kInactive));
  EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .subject = 2}), 4u);
  EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .observer = 0, .subject = 2}), 1u);
  EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .subject = 3}), 0u);
  EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .since = c.now() + 1ms}), 0u);
  EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .until = crash}), 0u);
  ASSERT_TRUE(c.First({.kind = EventKind::kSuspected, .subject = 2}).has_value());
  EXPECT_GT(*c.First({.kind = EventKind::kSuspected, .subject = 2}), crash);
  EXPECT_FALSE(c.First({.kind = EventKind::kLeft}).has_value());
}

TEST(Cluster, TellsHowTablesDiffer) {
  Cluster c({.nodes = 4});
  ASSERT_TRUE(c.Converge(30s));
  c.Partition({{0, 1}, {2, 3}});
  c.RunFor(20s);
  const testing::AssertionResult apart = c.Converge(1s);
  EXPECT_FALSE(apart);
  EXPECT_NE(std::string(apart.message()).find("n3: 2 alive of 4"), std::string::npos) << apart.message();
  EXPECT_EQ(c.Sees(0, 1), MemberStatus::kActive);
  EXPECT_EQ(c.Sees(0, 2), MemberStatus::kInactive);
  EXPECT_FALSE(c.NoneKnows(1));
  c.Heal();
  EXPECT_TRUE(c.Converge(60s));
}

TEST(Cluster, NobodyLiveIsAFailure) {
  Cluster c({.nodes = 2});
  c.Crash(0);
  c.Crash(1);
  EXPECT_FALSE(c.AllSee(0, MemberStatus::kActive));
  EXPECT_FALSE(c.NoneKnows(0));
}

TEST(Cluster, NoneKnowsAStranger) {
  Cluster c({.nodes = 2});
  ASSERT_TRUE(c.Converge());
  Config config = Config::Lan();
  config.label = "other";
  config.seeds = {"10.0.0.1:7946"};
  const SimId stranger = c.AddNode(config);
  c.RunFor(5s);
  EXPECT_EQ(c.Sees(0, stranger), std::nullopt);
  EXPECT_EQ(c.member(stranger).size(), 1u);
  EXPECT_TRUE(c.sim().Converged(std::vector<SimId>{0, 1}));
  EXPECT_FALSE(c.sim().Converged());
}

TEST(Cluster, TellsTheLastEvents) {
  Cluster c({.nodes = 3});
  ASSERT_TRUE(c.Converge());
  const std::string story = c.Story(2);
  EXPECT_NE(story.find("the last 2 of "), std::string::npos) << story;
  EXPECT_NE(story.find("joined"), std::string::npos) << story;
}

}  // namespace
}  // namespace nekton
