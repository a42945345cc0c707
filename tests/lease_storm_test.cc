// What has to hold of leases whatever happens, over many seeded storms of faults (lease_storm.h); and that each rule is
// needed: without it the storms find what it is there for.
#include "tests/lease_storm.h"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

namespace nekton {
namespace {

TEST(LeaseStormTest, NoTwoMembersEverCommitToOneObject) {
  StormResult sum;
  const std::uint64_t storms = 30;
  for (std::uint64_t seed = 1; seed <= storms; ++seed) {
    const StormResult result = RunLeaseStorm(seed);
    for (const std::string& violation : result.violations) ADD_FAILURE() << "seed " << seed << ", " << violation;
    EXPECT_TRUE(result.healed) << "seed " << seed;
    sum.checks += result.checks;
    sum.committable += result.committable;
    sum.views += result.views;
    sum.crashes += result.crashes;
    sum.authority_crashes += result.authority_crashes;
    sum.freezes += result.freezes;
    sum.suspends += result.suspends;
    sum.cuts += result.cuts;
    sum.lost += result.lost;
    sum.late += result.late;
    sum.wrong_verdicts += result.wrong_verdicts;
    if (testing::Test::HasFailure()) break;
  }
  // The faults did happen, and most objects could be committed to most of the time.
  for (const std::uint64_t count :
       {sum.crashes, sum.authority_crashes, sum.freezes, sum.suspends, sum.cuts, sum.wrong_verdicts}) {
    EXPECT_GT(count, storms);
  }
  EXPECT_GT(sum.views, 5 * storms);
  EXPECT_GT(sum.lost, 20 * storms);
  EXPECT_GT(sum.late, 5 * storms);
  EXPECT_GT(sum.committable, 2 * sum.checks);
  RecordProperty("committable_of_6",
                 std::to_string(static_cast<double>(sum.committable) / static_cast<double>(sum.checks)));
}

// Does one of the first 40 storms find something?
bool Found(BrokenRule broken) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    if (!RunLeaseStorm(seed, broken).violations.empty()) return true;
  }
  return false;
}

TEST(LeaseStormTest, AWriteLeaseThatIsCountedTooLongIsFound) { EXPECT_TRUE(Found(BrokenRule::kLongWriteLease)); }
TEST(LeaseStormTest, ALeaseThatCountsFromTheAnswerIsFound) { EXPECT_TRUE(Found(BrokenRule::kCountsFromTheAnswer)); }
TEST(LeaseStormTest, NewcomersThatDoNotWaitAreFound) { EXPECT_TRUE(Found(BrokenRule::kNobodySettles)); }
TEST(LeaseStormTest, AStoreThatForgetsIsFound) { EXPECT_TRUE(Found(BrokenRule::kForgetfulStore)); }
TEST(LeaseStormTest, ClocksThatAreWorseThanAllowedAreFound) { EXPECT_TRUE(Found(BrokenRule::kWildClocks)); }

}  // namespace
}  // namespace nekton
