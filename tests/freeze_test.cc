// A freeze of three seconds is never INACTIVE: small groups, few seeds. More: freeze_slow_test.cc, all:
// freeze_heavy_test.cc.
#include <gtest/gtest.h>

#include <string>

#include "tests/freeze_promise.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

void ExpectKept(const FreezeResult& sum) {
  EXPECT_EQ(sum.all_verdicts(), 0u) << sum;
  EXPECT_EQ(sum.unsettled, 0u) << sum;
  EXPECT_EQ(sum.unjoined, 0u) << sum;
  EXPECT_GT(sum.suspicions, sum.runs / 2) << "few freezes were noticed, so nothing was proved: " << sum;
}

TEST(Freeze, OneMemberOfASmallGroup) {
  for (const std::size_t nodes : {3u, 4u, 5u, 8u, 16u, 32u}) ExpectKept(FreezeSeeds({.nodes = nodes, .seed = 1}, 10));
}

TEST(Freeze, ATenthOfASmallGroup) {
  for (const std::size_t nodes : {16u, 32u, 64u}) {
    ExpectKept(FreezeSeeds({.nodes = nodes, .seed = 1001, .share = 0.1}, 5));
  }
}

// The runs above can fail.
TEST(Freeze, ALongOneIsFoundOut) {
  const std::size_t seeds = 10;
  FreezeResult sum;
  for (std::size_t i = 1; i <= seeds; ++i) sum += Freeze({.nodes = 5, .seed = i, .length = 8s}, nullptr);
  EXPECT_EQ(sum.frozen, seeds);
  EXPECT_EQ(sum.condemned, seeds) << sum;
  EXPECT_EQ(sum.verdicts, 4 * seeds) << "everybody else sees it: " << sum;
  EXPECT_EQ(sum.by_frozen + sum.bystanders, 0u) << sum;
  EXPECT_EQ(sum.unsettled, 0u) << "and it comes back: " << sum;
}

TEST(Freeze, AFailedPromiseIsTold) {
  std::string story;
  const FreezeRun run{.nodes = 5, .seed = 3, .length = 8s};
  const FreezeResult result = Freeze(run, &story);
  EXPECT_EQ(result.condemned, 1u);
  EXPECT_NE(story.find("N=5 seed 3"), std::string::npos) << story;
  EXPECT_NE(story.find("INACTIVE"), std::string::npos) << story;
  EXPECT_EQ(Freeze(run, nullptr).suspicions, result.suspicions) << "the same seed, the same run";
}

}  // namespace
}  // namespace nekton
