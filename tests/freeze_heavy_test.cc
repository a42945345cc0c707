// A freeze of three seconds, 200 seeds for each size of group: without loss nobody is ever called INACTIVE for it; with
// 5 % loss at most one frozen member in 5,000 is, and by one observer.
//
// FREEZE_FIRST_SEED takes other seeds than those that were looked at while the library was written.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "tests/freeze_promise.h"

namespace nekton {
namespace {

constexpr std::size_t kSeeds = 200;
constexpr std::size_t kSizes[] = {3, 4, 5, 8, 16, 32, 64, 128, 256, 512};

// Each kind of run has seeds of its own: in small groups a tenth is one member, and the runs would be the same.
std::uint64_t FirstSeed(std::uint64_t kind) {
  const char* first = std::getenv("FREEZE_FIRST_SEED");
  return (first == nullptr ? 1 : std::strtoull(first, nullptr, 10)) + 10'000 * kind;
}

class FreezeHeavy : public testing::TestWithParam<std::size_t> {
 protected:
  static FreezeResult Play(FreezeRun run) {
    run.nodes = GetParam();
    const FreezeResult sum = FreezeSeeds(run, kSeeds);
    std::cerr << run << " in all " << sum << "\n";
    EXPECT_EQ(sum.runs, kSeeds);
    EXPECT_EQ(sum.unjoined, 0u);
    EXPECT_EQ(sum.unsettled, 0u);
    EXPECT_GT(sum.suspicions, kSeeds / 2) << "few freezes were noticed, so nothing was proved";
    return sum;
  }
};
INSTANTIATE_TEST_SUITE_P(Size, FreezeHeavy, testing::ValuesIn(kSizes),
                         [](const auto& param) { return "N" + std::to_string(param.param); });

TEST_P(FreezeHeavy, OneMember) { EXPECT_EQ(Play({.seed = FirstSeed(0)}).all_verdicts(), 0u); }

TEST_P(FreezeHeavy, ATenth) { EXPECT_EQ(Play({.seed = FirstSeed(1), .share = 0.1}).all_verdicts(), 0u); }

TEST(FreezeHeavyLoss, ATenthWithLoss) {
  FreezeResult sum;
  for (const std::size_t nodes : kSizes) {
    const FreezeRun run{.nodes = nodes, .seed = FirstSeed(2), .share = 0.1, .loss = 0.05};
    const FreezeResult size = FreezeSeeds(run, kSeeds);
    std::cerr << run << " in all " << size << "\n";
    sum += size;
  }
  std::cerr << "all sizes: " << sum << "\n";
  EXPECT_EQ(sum.unjoined, 0u);
  EXPECT_EQ(sum.unsettled, 0u);
  EXPECT_GE(sum.frozen, 10'000u) << "too few to tell one in 5,000";
  EXPECT_LE(sum.condemned * 5'000, sum.frozen) << sum;
  EXPECT_LE(sum.observers, 1u) << sum;
  EXPECT_EQ(sum.bystanders, 0u) << sum;
}

}  // namespace
}  // namespace nekton
