// The same as lease_storm_test over many more storms: LEASE_STORMS of the parts (default 400) and MEMBER_STORMS of
// composed members (default 1,600).
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "tests/cluster.h"
#include "tests/lease_storm.h"
#include "tests/member_storm.h"

namespace nekton {
namespace {

std::uint64_t Wanted(const char* name, std::uint64_t otherwise) {
  const char* const wanted = std::getenv(name);
  return wanted == nullptr ? otherwise : std::strtoull(wanted, nullptr, 10);
}

TEST(LeaseStormSlowTest, NoTwoMembersEverCommitToOneObject) {
  const std::uint64_t storms = Wanted("LEASE_STORMS", 400);
  for (std::uint64_t seed = 1'000'001; seed <= 1'000'000 + storms; ++seed) {
    const StormResult result = RunLeaseStorm(seed);
    for (const std::string& violation : result.violations) ADD_FAILURE() << "seed " << seed << ", " << violation;
    ASSERT_TRUE(result.healed && result.violations.empty()) << "seed " << seed;
  }
}

TEST(MemberStormSlowTest, NoTwoMembersEverCommitToOneObject) {
  const std::uint64_t storms = Wanted("MEMBER_STORMS", 1600);
  const std::uint64_t first = Wanted("MEMBER_STORMS_FROM", 1'000'001);
  for (std::uint64_t seed = first; seed < first + storms; ++seed) {
    const MemberStormResult result = RunMemberStorm(seed);
    for (const std::string& violation : result.violations) ADD_FAILURE() << "seed " << seed << ", " << violation;
    ASSERT_TRUE(result.healed && result.violations.empty()) << "seed " << seed << result.state;
  }
}

// A hundred members for an hour, and one datagram in a hundred is lost: no write lease runs out, and no epoch changes.
TEST(LeaseSlowTest, NoLeaseStarvesInAnHourOfLoss) {
  Cluster c({.nodes = 100, .seed = 4, .record = false, .authority = true});
  const auto all_commit = [&] {
    for (SimId id = 0; id < c.size(); ++id) {
      if (!c.MayCommit(id)) return false;
    }
    return true;
  };
  ASSERT_TRUE(c.sim().RunUntil(all_commit, std::chrono::seconds(60)));
  const std::uint64_t epoch = c.leases(0).view().epoch();
  c.Lose(0.01);
  // A lease that runs out at all has run out when its holder is next renewed; so each second is enough to see most of them,
  // and the shortest that is left tells of the rest.
  Duration shortest = Duration::max();
  for (int second = 0; second < 3600; ++second) {
    c.RunFor(std::chrono::seconds(1));
    for (SimId id = 1; id < c.size(); ++id) {
      shortest = std::min(shortest, c.leases(id).leases().WriteLeft(c.sim().Clock(id)));
    }
    ASSERT_GT(shortest, Duration::zero()) << "after " << second << " s";
  }
  EXPECT_GT(shortest, std::chrono::seconds(1));
  EXPECT_EQ(c.leases(0).view().epoch(), epoch);
  RecordProperty("shortest_ms", std::to_string(shortest.count() / 1'000'000));
}

}  // namespace
}  // namespace nekton
