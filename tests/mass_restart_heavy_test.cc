// The mass restart at its full size.
#include <chrono>
#include <iostream>

#include <gtest/gtest.h>

#include "tests/mass_restart.h"
#include "tests/numbers.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

TEST(MassRestartHeavy, FourThousandFiveHundredAreExactWithinThirtySeconds) {
  const MassRestart result = RunMassRestart({.nodes = 4500}, 60s);
  std::cout << "complete after " << Seconds(result.complete) << " s" << std::endl;
  EXPECT_LE(result.complete, 30s);
}

}  // namespace
}  // namespace nekton
