// Groups with an authority, on the simulator: views, homes and leases after joins, failures, splits and restarts.
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lease/lease_message.h"
#include "lease/view.h"
#include "tests/cluster.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::vector<std::string> Rows(Cluster& c, SimId member, std::string_view part) {
  std::vector<std::string> rows;
  for (const SimEvidence& evidence : c.sim().evidence()) {
    std::string row = Row(evidence.evidence);
    if (evidence.member == member && row.find(part) != std::string::npos) rows.push_back(std::move(row));
  }
  return rows;
}

// All are in one view; and a moment later, when it has settled, all may commit.
void Form(Cluster& c) {
  const auto formed = [&] {
    for (SimId id = 0; id < c.size(); ++id) {
      if (c.leases(id).view().members.size() != c.size() || !c.MayCommit(id)) return false;
    }
    return true;
  };
  ASSERT_TRUE(c.RunUntil(formed, 60s));
}

std::uint64_t EpochOf(Cluster& c, SimId id = 0) { return c.leases(id).view().epoch(); }

// Two members: join, removal and rejoin are an epoch each.
TEST(LeaseScenarioTest, TwoThreeFour) {
  Cluster c({.nodes = 2, .seed = 1, .config = Config::Pair(), .authority = true});
  Form(c);
  EXPECT_EQ(EpochOf(c), 2u);
  EXPECT_EQ(EpochOf(c, 1), 2u);
  c.Crash(1);
  ASSERT_TRUE(c.AllHold(3, 30s));
  EXPECT_EQ(c.leases(0).view().members.size(), 1u);
  EXPECT_THAT(Rows(c, 0, "removed"), testing::ElementsAre(HasSubstr("removed node=n1 epoch=3 members=1 digest=")));
  c.Restart(1);
  ASSERT_TRUE(c.AllHold(4, 30s));
  EXPECT_EQ(c.leases(0).view().head, c.leases(1).view().head);
  EXPECT_EQ(c.leases(0).view().members.size(), 2u);
  ASSERT_TRUE(c.RunUntil([&] { return c.MayCommit(0) && c.MayCommit(1); }, 10s));
  c.RunFor(60s);
  EXPECT_EQ(EpochOf(c), 4u);
}

void RemovalReachesAll(std::size_t nodes) {
  Cluster c({.nodes = nodes, .seed = nodes, .record = nodes < 10, .authority = true});
  Form(c);
  const std::uint64_t epoch = EpochOf(c);
  c.RunFor(20s);
  EXPECT_EQ(EpochOf(c), epoch);
  const SimId dead = static_cast<SimId>(nodes - 1);
  c.Crash(dead);
  ASSERT_TRUE(c.RunUntil([&] { return EpochOf(c) > epoch; }, 60s));
  EXPECT_TRUE(c.AllHold(epoch + 1, 2s)) << "gossip time, and one exchange";
  for (SimId id = 0; id < dead; ++id) EXPECT_EQ(c.leases(id).view().Find(c.sim().name(dead)), nullptr);
  c.Restart(dead);
  ASSERT_TRUE(c.AllHold(epoch + 2, 30s));
  ASSERT_TRUE(c.RunUntil([&] { return c.MayCommit(dead); }, 10s));
}
TEST(LeaseScenarioTest, ARemovalReachesThree) { RemovalReachesAll(3); }
TEST(LeaseScenarioTest, ARemovalReachesFive) { RemovalReachesAll(5); }
TEST(LeaseScenarioTest, ARemovalReachesAHundred) { RemovalReachesAll(100); }

}  // namespace
}  // namespace nekton
