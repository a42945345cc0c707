// A freeze of three seconds is never INACTIVE, at every size of group. With all seeds: freeze_heavy_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <string>

#include "tests/freeze_promise.h"

namespace nekton {
namespace {

constexpr std::size_t kSizes[] = {3, 4, 5, 8, 16, 32, 64, 128, 256, 512};

FreezeResult Play(FreezeRun run, std::size_t nodes) {
  run.nodes = nodes;
  const FreezeResult sum = FreezeSeeds(run, std::min<std::size_t>(200, 1600 / nodes));
  std::cerr << run << " in all " << sum << "\n";
  EXPECT_EQ(sum.unjoined, 0u);
  EXPECT_EQ(sum.unsettled, 0u);
  EXPECT_EQ(sum.bystanders, 0u);
  EXPECT_GT(sum.suspicions, sum.runs / 2) << "few freezes were noticed, so nothing was proved";
  return sum;
}

class FreezeSlow : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Size, FreezeSlow, testing::ValuesIn(kSizes),
                         [](const auto& param) { return "N" + std::to_string(param.param); });

TEST_P(FreezeSlow, OneMember) { EXPECT_EQ(Play({.seed = 501}, GetParam()).all_verdicts(), 0u); }

TEST_P(FreezeSlow, ATenth) { EXPECT_EQ(Play({.seed = 10'501, .share = 0.1}, GetParam()).all_verdicts(), 0u); }

TEST(FreezeSlowLoss, ATenthWithLoss) {
  FreezeResult sum;
  for (const std::size_t nodes : kSizes) sum += Play({.seed = 20'501, .share = 0.1, .loss = 0.05}, nodes);
  EXPECT_GE(sum.frozen, 1'000u);
  EXPECT_LE(sum.condemned, 1u) << "one in 5,000 may be lost, so hardly one here: " << sum;
  EXPECT_LE(sum.observers, 1u) << sum;
}

}  // namespace
}  // namespace nekton
