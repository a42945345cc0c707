// The one-way faults of Rapid (Suresh et al., USENIX ATC 2018, section 7): ten of a thousand. One run each, and less than
// its fifteen minutes of time; bench/hardship has the long ones.
#include <chrono>

#include <gtest/gtest.h>

#include "tests/link_faults.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

class AsymmetricThousand : public testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Ways, AsymmetricThousand, testing::Values(Way::kIn, Way::kOut),
                         [](const auto& param) { return param.param == Way::kIn ? "In" : "Out"; });

TEST_P(AsymmetricThousand, FlipFlopIsRemovedForGoodAfterOneReturn) {
  LinkFaults group(1000, 10, 1);
  for (int cycle = 0; cycle < 3; ++cycle) group.Flip(GetParam(), 20s, 20s);
  EXPECT_EQ(group.healthy_failed, 0u);
  EXPECT_EQ(group.comebacks.size(), 10u);
  EXPECT_EQ(group.GoneCount(), 10u);
  EXPECT_LE(group.changes_max, 3u) << "gone, back, and gone for good";
}

TEST_P(AsymmetricThousand, EightyPercentLossCondemnsNobodyElse) {
  LinkFaults group(1000, 10, 1);
  group.Lose(0.8, GetParam());
  group.cluster.RunFor(2min);
  EXPECT_EQ(group.healthy_failed, 0u);
  EXPECT_LE(group.changes_max, 2u);
}

}  // namespace
}  // namespace nekton
