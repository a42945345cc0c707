// The mass restart at its full size.
#include <chrono>
#include <iostream>

#include <gtest/gtest.h>

#include "bench/papers/mass_restart.h"
#include "tests/numbers.h"

namespace nekton::bench {
namespace {

using namespace std::chrono_literals;

TEST(MassRestartHeavy, FourThousandFiveHundredAreExactWithinThirtySeconds) {
  const MassRestart result = RunMassRestart({.nodes = 4500}, 60s);
  EXPECT_TRUE(result.begun);
  std::cout << "complete after " << Seconds(result.complete) << " s" << std::endl;
  EXPECT_LE(result.complete, 30s);
}

}  // namespace
}  // namespace nekton::bench
