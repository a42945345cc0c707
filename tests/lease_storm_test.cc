// What has to hold of leases whatever happens, over many seeded storms of faults (lease_storm.h); and that each rule is
// needed: without it the storms find what it is there for.
#include "tests/lease_storm.h"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "tests/member_storm.h"

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

// The same of composed members, failure detector and all.
TEST(MemberStormTest, NoTwoMembersEverCommitToOneObject) {
  MemberStormResult sum;
  const std::uint64_t storms = 60;
  for (std::uint64_t seed = 1; seed <= storms; ++seed) {
    const MemberStormResult result = RunMemberStorm(seed);
    for (const std::string& violation : result.violations) ADD_FAILURE() << "seed " << seed << ", " << violation;
    EXPECT_TRUE(result.healed) << "seed " << seed << result.state;
    sum.checks += result.checks;
    sum.overlaps += result.overlaps;
    sum.committable += result.committable;
    sum.views += result.views;
    sum.fences += result.fences;
    sum.crashes += result.crashes;
    sum.authority_crashes += result.authority_crashes;
    sum.forgetful_restarts += result.forgetful_restarts;
    sum.freezes += result.freezes;
    sum.suspends += result.suspends;
    sum.cuts += result.cuts;
    sum.one_way_cuts += result.one_way_cuts;
    sum.partitions += result.partitions;
    sum.wall_steps += result.wall_steps;
    sum.expulsions += result.expulsions;
    sum.moves += result.moves;
    sum.store_failures += result.store_failures;
  }
  for (const std::uint64_t count :
       {sum.crashes, sum.authority_crashes, sum.freezes, sum.suspends, sum.cuts, sum.one_way_cuts, sum.partitions,
        sum.wall_steps, sum.expulsions, sum.moves, sum.store_failures, sum.forgetful_restarts}) {
    EXPECT_GT(count, storms / 4);
  }
  EXPECT_GT(sum.views, 5 * storms);
  EXPECT_GT(sum.fences, 5 * storms);
  EXPECT_GT(sum.committable, sum.checks) << "of three to five members more than one, on average";
  RecordProperty("checks", std::to_string(sum.checks));
  RecordProperty("committable", std::to_string(static_cast<double>(sum.committable) / static_cast<double>(sum.checks)));
}

// Does one of the first 60 storms find something?
bool Found(BrokenGround ground) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    if (!RunMemberStorm(seed, ground).violations.empty()) return true;
  }
  return false;
}

TEST(MemberStormTest, ClocksThatAreWorseThanAllowedAreFound) { EXPECT_TRUE(Found(BrokenGround::kWildClocks)); }
TEST(MemberStormTest, LeasesWithoutAMarginAreFound) { EXPECT_TRUE(Found(BrokenGround::kNoMargin)); }
TEST(MemberStormTest, AStoreThatForgetsIsFound) { EXPECT_TRUE(Found(BrokenGround::kForgetfulStore)); }
TEST(MemberStormTest, AKeyInOtherHandsIsFound) { EXPECT_TRUE(Found(BrokenGround::kStolenKey)); }

// Somebody on the path answers each ping in the authority's name: without its key it prolongs no lease, ends none, and
// keeps no true answer from counting.
TEST(MemberStormTest, WhoAnswersInTheAuthoritysNameBreaksNothing) {
  std::uint64_t forged = 0;
  std::uint64_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const MemberStormResult result = RunMemberStorm(seed, BrokenGround::kForgedAnswers);
    for (const std::string& violation : result.violations) ADD_FAILURE() << "seed " << seed << ", " << violation;
    EXPECT_TRUE(result.healed) << "seed " << seed << result.state;
    forged += result.forged;
    refused += result.refused;
  }
  EXPECT_GT(forged, 100u);
  EXPECT_GT(refused, 50u) << "those of a life that ended are not counted";
}

TEST(LeaseStormTest, AWriteLeaseThatIsCountedTooLongIsFound) { EXPECT_TRUE(Found(BrokenRule::kLongWriteLease)); }
TEST(LeaseStormTest, ALeaseThatCountsFromTheAnswerIsFound) { EXPECT_TRUE(Found(BrokenRule::kCountsFromTheAnswer)); }
TEST(LeaseStormTest, NewcomersThatDoNotWaitAreFound) { EXPECT_TRUE(Found(BrokenRule::kNobodySettles)); }
TEST(LeaseStormTest, AStoreThatForgetsIsFound) { EXPECT_TRUE(Found(BrokenRule::kForgetfulStore)); }
TEST(LeaseStormTest, ClocksThatAreWorseThanAllowedAreFound) { EXPECT_TRUE(Found(BrokenRule::kWildClocks)); }

}  // namespace
}  // namespace nekton
