// Candidates for the authority in storms: killed, stopped, cut off, their register slow and away; and no epoch is used twice.
#include <string>

#include <gtest/gtest.h>

#include "tests/member_storm.h"

namespace nekton {
namespace {

TEST(SeatStormTest, NoEpochTwiceAndNoTwoMembersEverCommitToOneObject) {
  MemberStormResult sum;
  const std::uint64_t storms = 40;
  for (std::uint64_t seed = 1; seed <= storms; ++seed) {
    const MemberStormResult result = RunMemberStorm(seed, BrokenGround::kSound, StormAuthority::kCandidates);
    for (const std::string& violation : result.violations) ADD_FAILURE() << "seed " << seed << ", " << violation;
    EXPECT_TRUE(result.healed) << "seed " << seed << result.state;
    sum.checks += result.checks;
    sum.committable += result.committable;
    sum.views += result.views;
    sum.authority_crashes += result.authority_crashes;
    sum.freezes += result.freezes;
    sum.suspends += result.suspends;
    sum.partitions += result.partitions;
    sum.moves += result.moves;
    sum.successions += result.successions;
    sum.deposed += result.deposed;
    sum.register_troubles += result.register_troubles;
  }
  for (const std::uint64_t count : {sum.authority_crashes, sum.freezes, sum.suspends, sum.partitions, sum.moves,
                                    sum.deposed, sum.register_troubles}) {
    EXPECT_GT(count, storms / 4);
  }
  EXPECT_GT(sum.successions, storms) << "more than one in each";
  EXPECT_GT(sum.views, 3 * storms);
  EXPECT_GT(sum.committable, sum.checks / 2);
  RecordProperty("successions", std::to_string(sum.successions));
  RecordProperty("deposed", std::to_string(sum.deposed));
  RecordProperty("views", std::to_string(sum.views));
}

// Does one of the first 60 storms find something?
bool Found(BrokenGround ground) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    if (!RunMemberStorm(seed, ground, StormAuthority::kCandidates).violations.empty()) return true;
  }
  return false;
}

TEST(SeatStormTest, ARegisterThatComparesNothingIsFound) { EXPECT_TRUE(Found(BrokenGround::kNoCompareAndSet)); }
TEST(SeatStormTest, ClocksThatAreWorseThanAllowedAreFound) { EXPECT_TRUE(Found(BrokenGround::kWildClocks)); }

}  // namespace
}  // namespace nekton
