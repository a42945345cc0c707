// Joining in numbers. In the environment: JOIN_SEEDS, how many runs; JOIN_NODES, how large a storm.
#include <chrono>
#include <cstdint>
#include <iostream>

#include <gtest/gtest.h>

#include "tests/joining_storm.h"
#include "tests/numbers.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

TEST(JoiningSlow, AThousandWithinASecond) {
  const std::uint64_t nodes = NumberFromEnvironment("JOIN_NODES", 1000);
  for (std::uint64_t seed = 1; seed <= NumberFromEnvironment("JOIN_SEEDS", 3); ++seed) {
    const JoiningStorm storm = StormOf(nodes, seed, 60s);
    std::cout << nodes << " members, seed " << seed << ": complete after " << Seconds(storm.complete)
              << " s, the seed sent " << storm.seed_bytes << " bytes" << std::endl;
    EXPECT_LE(storm.complete, 10s) << "seed " << seed;
  }
}

}  // namespace
}  // namespace nekton
