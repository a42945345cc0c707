// The same as seat_storm_test over many more storms: SEAT_STORMS of them (default 2,000).
#include <cstdint>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "tests/member_storm.h"

namespace nekton {
namespace {

TEST(SeatStormSlowTest, NoEpochTwiceAndNoTwoMembersEverCommitToOneObject) {
  const char* const wanted = std::getenv("SEAT_STORMS");
  const std::uint64_t storms = wanted == nullptr ? 2000 : std::strtoull(wanted, nullptr, 10);
  std::uint64_t successions = 0;
  std::uint64_t deposed = 0;
  for (std::uint64_t seed = 1'000'001; seed <= 1'000'000 + storms; ++seed) {
    const MemberStormResult result = RunMemberStorm(seed, BrokenGround::kSound, StormAuthority::kCandidates);
    for (const std::string& violation : result.violations) ADD_FAILURE() << "seed " << seed << ", " << violation;
    ASSERT_TRUE(result.healed && result.violations.empty()) << "seed " << seed << result.state;
    successions += result.successions;
    deposed += result.deposed;
  }
  RecordProperty("successions", std::to_string(successions));
  RecordProperty("deposed", std::to_string(deposed));
}

}  // namespace
}  // namespace nekton
