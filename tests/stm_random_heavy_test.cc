// Ten million random inputs, to the StateTransitionManager and to its slow model.
#include <cstdint>
#include <iostream>

#include <gtest/gtest.h>

#include "tests/stm_compare.h"

namespace nekton {
namespace {

TEST(StmRandomHeavyTest, AgreesWithTheSlowModelOverTenMillionInputs) {
  constexpr std::uint64_t kRuns = 500;
  constexpr int kSteps = 2500;
  static_assert(kRuns * kSteps * std::tuple_size_v<decltype(kStmSettings)> == 10'000'000);
  StmCoverage coverage;
  for (std::uint64_t run = 1; run <= kRuns; ++run) {
    const std::uint64_t seed = 1'000'000 + run;  // others than the quick test's
    for (const StmSetting& setting : kStmSettings) {
      const auto failure = RandomRun(setting.config, seed, kSteps, StmMistake::kNone, coverage);
      ASSERT_FALSE(failure.has_value()) << "setting \"" << setting.name << "\", seed " << seed << ": "
                                        << Text(*failure);
    }
    if (run % 25 == 0) std::cout << run * kSteps * kStmSettings.size() << " inputs compared" << std::endl;
  }
  EXPECT_EQ(coverage.transitions, AllTransitions());
}

}  // namespace
}  // namespace nekton
