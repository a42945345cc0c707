// How long a hold is: against long double, and against values that are known by heart.
#include "stm/hold.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include <gtest/gtest.h>

#include "stm/stm_config.h"

namespace nekton {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// The formula once more, with 64 bits of mantissa. The span is a whole number of nanoseconds, as HoldLength rounds it.
Duration Exact(const HoldTerms& terms, std::uint32_t confirmations) {
  if (terms.confirmers == 0) return terms.max;
  const long double c = std::min(confirmations, terms.confirmers);
  const long double span = static_cast<long double>((terms.max - terms.min).count());
  return terms.max - Duration(std::llround(span * std::log(c + 1) / std::log(terms.confirmers + 1.0L)));
}

TEST(HoldLength, IsExactToTheNanosecond) {
  const std::pair<Duration, Duration> spans[] = {
      {milliseconds(2500), seconds(10)}, {milliseconds(1500), seconds(6)},    {seconds(8), seconds(32)},
      {nanoseconds(0), nanoseconds(1)},  {nanoseconds(1), nanoseconds(1000)}, {nanoseconds(1234567891), seconds(77)},
      {seconds(90), seconds(90)},        {nanoseconds(0), hours(1)},
  };
  for (const auto& [min, max] : spans) {
    for (std::uint32_t confirmers = 0; confirmers <= 7; ++confirmers) {
      const HoldTerms terms{.min = min, .max = max, .confirmers = confirmers};
      for (std::uint32_t c = 0; c <= confirmers + 2; ++c) {
        EXPECT_EQ(HoldLength(terms, c), Exact(terms, c))
            << min.count() << " " << max.count() << " " << confirmers << " " << c;
      }
    }
  }
}

TEST(HoldLength, HasTheValuesKnownByHeart) {
  HoldTerms terms{.min = milliseconds(2500), .max = seconds(10)};
  terms.confirmers = 1;  // three members: one confirmation is all there can be
  EXPECT_EQ(HoldLength(terms, 0), seconds(10));
  EXPECT_EQ(HoldLength(terms, 1), milliseconds(2500));
  terms.confirmers = 2;  // log(2) / log(3) = 0.63092975357
  EXPECT_EQ(HoldLength(terms, 1), nanoseconds(5'268'026'848));
  EXPECT_EQ(HoldLength(terms, 2), milliseconds(2500));
  terms.confirmers = 3;  // log(2) / log(4) = 1/2, log(3) / log(4) = 0.79248125036
  EXPECT_EQ(HoldLength(terms, 1), milliseconds(6250));
  EXPECT_EQ(HoldLength(terms, 2), nanoseconds(4'056'390'622));
  EXPECT_EQ(HoldLength(terms, 3), milliseconds(2500));
}

TEST(HoldLength, OfTwoMembersIsTheMaximumWhateverIsSaid) {
  const HoldTerms pair{.min = milliseconds(2500), .max = seconds(10)};
  for (const std::uint32_t c : {0u, 1u, 2u, 0xffffffffu}) EXPECT_EQ(HoldLength(pair, c), seconds(10));
}

TEST(HoldLength, BeyondAllConfirmersIsTheMinimum) {
  const HoldTerms terms{.min = seconds(1), .max = seconds(4), .confirmers = 3};
  for (const std::uint32_t c : {3u, 4u, 8u, 0xffffffffu}) EXPECT_EQ(HoldLength(terms, c), seconds(1));
}

TEST(HoldLength, NeverGrowsWithAConfirmation) {
  const HoldTerms terms{.min = seconds(1), .max = seconds(400), .confirmers = 1000};
  for (std::uint32_t c = 0; c < 1000; ++c) EXPECT_GT(HoldLength(terms, c), HoldLength(terms, c + 1)) << c;
}

TEST(HoldLength, LeavesTheMarginAndRefusalsOut) {
  const HoldTerms terms{
      .min = seconds(1), .max = seconds(4), .confirmers = 1, .margin = seconds(1), .refused = milliseconds(1)};
  EXPECT_EQ(HoldLength(terms, 0), seconds(4));
  EXPECT_EQ(HoldLength(terms, 1), seconds(1));
}

TEST(HoldLength, OfUnlimitedLengthDoesNotOverflow) {
  const HoldTerms forever{.min = Duration::max(), .max = Duration::max(), .confirmers = 3};
  for (std::uint32_t c = 0; c <= 4; ++c) EXPECT_EQ(HoldLength(forever, c), Duration::max());
  const HoldTerms wide{.min = Duration::zero(), .max = Duration::max(), .confirmers = 1'000'000};
  EXPECT_GE(HoldLength(wide, 999'999), Duration::zero());
  EXPECT_LT(HoldLength(wide, 999'999), hours(24) * 365);
}

TEST(FixedHold, OfMeshAndPairDoesNotDependOnConfirmations) {
  for (const std::uint32_t c : {0u, 1u, 2u, 8u}) {
    EXPECT_EQ(HoldLength(kMeshHold, c), seconds(90));
    EXPECT_EQ(HoldLength(kPairHold, c), seconds(6));
  }
  for (const HoldTerms& terms : {kMeshHold, kPairHold}) {
    EXPECT_EQ(terms.confirmers, 0u);
    EXPECT_EQ(terms.margin, Duration::zero());
    EXPECT_EQ(terms.refused, Duration::zero());
  }
}

}  // namespace
}  // namespace nekton
