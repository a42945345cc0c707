// The same as lease_storm_test over many more storms: LEASE_STORMS of them (default 600).
#include <cstdint>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "tests/lease_storm.h"

namespace nekton {
namespace {

TEST(LeaseStormSlowTest, NoTwoMembersEverCommitToOneObject) {
  const char* const wanted = std::getenv("LEASE_STORMS");
  const std::uint64_t storms = wanted == nullptr ? 600 : std::strtoull(wanted, nullptr, 10);
  for (std::uint64_t seed = 1'000'001; seed <= 1'000'000 + storms; ++seed) {
    const StormResult result = RunLeaseStorm(seed);
    for (const std::string& violation : result.violations) ADD_FAILURE() << "seed " << seed << ", " << violation;
    ASSERT_TRUE(result.healed && result.violations.empty()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace nekton
