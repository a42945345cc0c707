// Joining in numbers. JOIN_SEEDS and SPREAD_SEEDS in the environment set how many runs; JOIN_NODES how large a storm.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

#include <gtest/gtest.h>

#include "tests/joining_storm.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

std::uint64_t FromEnvironment(const char* name, std::uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}
double Seconds(Duration d) { return std::chrono::duration<double>(d).count(); }

TEST(JoiningSlow, AThousandWithinASecond) {
  const std::uint64_t nodes = FromEnvironment("JOIN_NODES", 1000);
  for (std::uint64_t seed = 1; seed <= FromEnvironment("JOIN_SEEDS", 3); ++seed) {
    const JoiningStorm storm = StormOf(nodes, seed, 60s);
    std::cout << nodes << " members, seed " << seed << ": complete after " << Seconds(storm.complete)
              << " s, the seed sent " << storm.seed_bytes << " bytes\n";
    EXPECT_LE(storm.complete, 10s) << "seed " << seed;
  }
}

TEST(JoiningSlow, ASingleJoinHasNoBlindSpot) {
  const std::uint64_t seeds = FromEnvironment("SPREAD_SEEDS", 100);
  for (const std::size_t nodes : {8u, 32u, 128u}) {
    Duration longest{};
    for (std::uint64_t seed = 1001; seed <= 1000 + seeds; ++seed) {
      const Duration spread = SpreadOfOneJoin(nodes, seed);
      EXPECT_LE(spread, 10s) << nodes << " members, seed " << seed;
      longest = std::max(longest, spread);
    }
    std::cout << nodes << " members: longest of " << seeds << " " << Seconds(longest) << " s\n";
  }
}

}  // namespace
}  // namespace nekton
