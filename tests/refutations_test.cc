// Who refutes again and again is doubted ever more slowly.
#include "swim/refutations.h"

#include <gtest/gtest.h>

namespace nekton {
namespace {

using std::chrono::seconds;

constexpr Instant kStart{seconds(1000)};
constexpr Duration kPeriod = seconds(1);

TEST(RefutationsTest, TheThirdInARowCostsTwoPeriodsAndEachFurtherOneTwiceAsMany) {
  Refutations all;
  EXPECT_EQ(all.Until(1, kPeriod), Instant::min());
  Instant now = kStart;
  for (const int periods : {0, 0, 2, 4, 8, 16, 32, 32, 32}) {
    now += seconds(50);
    all.Refuted(1, now);
    EXPECT_EQ(all.Until(1, kPeriod), periods == 0 ? Instant::min() : now + periods * kPeriod) << periods;
  }
  EXPECT_EQ(all.Until(2, kPeriod), Instant::min()) << "of one member only";
  all.Forget(1);
  EXPECT_EQ(all.Until(1, kPeriod), Instant::min());
}

TEST(RefutationsTest, AQuietMinuteIsANewBeginning) {
  Refutations all;
  for (int i = 0; i < 3; ++i) all.Refuted(1, kStart + i * seconds(60));
  EXPECT_NE(all.Until(1, kPeriod), Instant::min());
  all.Refuted(1, kStart + seconds(180) + Duration(1));
  EXPECT_EQ(all.Until(1, kPeriod), Instant::min());
}

}  // namespace
}  // namespace nekton
