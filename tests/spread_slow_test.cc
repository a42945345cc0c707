// How long single news takes at 5 % loss, in numbers. In the environment: SPREAD_SEEDS, how many runs.
#include <chrono>
#include <cstdint>
#include <iostream>
#include <vector>

#include <gtest/gtest.h>

#include "tests/numbers.h"
#include "tests/spread.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

TEST(SpreadSlow, SingleNewsHasNoBlindSpot) {
  const std::uint64_t seeds = NumberFromEnvironment("SPREAD_SEEDS", 50);
  for (const News news : kAllNews) {
    for (const std::size_t nodes : {8u, 32u, 128u}) {
      std::vector<Duration> took;
      for (std::uint64_t seed = 1001; seed <= 1000 + seeds; ++seed) {
        took.push_back(Spread(news, nodes, seed));
        EXPECT_LE(took.back(), 10s) << Name(news) << ", " << nodes << " members, seed " << seed;
      }
      std::cout << Name(news) << ", " << nodes << " members, " << seeds << " runs: median "
                << Seconds(Quantile(took, 0.5)) << " s, p99 " << Seconds(Quantile(took, 0.99)) << " s, longest "
                << Seconds(Quantile(took, 1)) << " s" << std::endl;
    }
  }
}

}  // namespace
}  // namespace nekton
