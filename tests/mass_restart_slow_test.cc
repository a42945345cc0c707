// Almost everybody is started again at once. In the environment: RESTART_SEEDS, how many runs; RESTART_NODES.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>

#include <gtest/gtest.h>

#include "bench/papers/field_baseline.h"
#include "bench/papers/mass_restart.h"
#include "tests/numbers.h"

namespace nekton::bench {
namespace {

using namespace std::chrono_literals;

std::uint64_t Nodes() { return NumberFromEnvironment("RESTART_NODES", 450); }
std::uint64_t Seeds() { return NumberFromEnvironment("RESTART_SEEDS", 2); }

void Print(const char* who, std::size_t nodes, std::uint64_t seed, const MassRestart& result) {
  EXPECT_TRUE(result.begun);
  std::cout << who << ", " << nodes << " members, seed " << seed << ": ";
  if (result.complete == Duration::max()) {
    std::cout << "not complete";
  } else {
    std::cout << "complete after " << Seconds(result.complete) << " s";
  }
  std::cout << "; wrong after 30 s " << result.wrong_after_30s << ", at the end " << result.wrong << ", " << result.dead
            << " of them dead" << std::endl;
}

TEST(MassRestartSlow, EveryTableIsExactWithinThirtySeconds) {
  for (std::uint64_t seed = 1; seed <= Seeds(); ++seed) {
    const MassRestart result = RunMassRestart({.nodes = Nodes(), .seed = seed}, 60s);
    Print("nekton", Nodes(), seed, result);
    EXPECT_LE(result.complete, 30s) << "seed " << seed;
  }
}

// Also where a new life does not know a higher generation than the one before: the group tells it one.
TEST(MassRestartSlow, GenerationsMayBeForgotten) {
  const MassRestart result = RunMassRestart({.nodes = 100, .generations = false}, 60s);
  Print("nekton without generations", 100, 1, result);
  EXPECT_LE(result.complete, 30s);
}

// The same is too much for a protocol that knows no generations, makes tables equal seldom and goes back to nobody.
TEST(MassRestartSlow, TheBaselineGetsStuck) {
  const MassRestart result =
      RunMassRestart({.nodes = Nodes(), .seed = 1, .config = FieldBaseline(), .generations = false}, 90s);
  Print("memberlist", Nodes(), 1, result);
  EXPECT_GT(result.wrong_after_30s, 0u);
}

}  // namespace
}  // namespace nekton::bench
