#include "phi/normal_tail.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "swim/random.h"

namespace nekton {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double AnyScore(Random& random) { return -8.5 + 17 * random.Unit(); }

// From `z` on so many doubles.
void ExpectOrdered(double z, int steps) {
  double last = NormalTail(z);
  for (int i = 0; i < steps; ++i) {
    z = std::nextafter(z, kInfinity);
    const double tail = NormalTail(z);
    ASSERT_LE(tail, last) << std::hexfloat << z;
    ASSERT_GE(tail, 0) << std::hexfloat << z;
    ASSERT_LE(tail, 1) << std::hexfloat << z;
    last = tail;
  }
}

TEST(NormalTailTest, AgreesWithTheLaw) {
  constexpr long double kSqrtHalf = 0.70710678118654752440084436210485L;
  Random random(1);
  for (int i = 0; i < 500'000; ++i) {
    const double z = AnyScore(random);
    const long double want = 0.5L * std::erfc(static_cast<long double>(z) * kSqrtHalf);
    ASSERT_NEAR(NormalTail(z), static_cast<double>(want), 2e-15) << z;
  }
}

TEST(NormalTailTest, NeverRisesFromOneDoubleToTheNext) {
  Random random(2);
  for (int i = 0; i < 2'000'000 && !HasFailure(); ++i) {
    ExpectOrdered(AnyScore(random), 1);
    const auto any = std::bit_cast<double>(random.Next());
    if (std::isfinite(any)) ExpectOrdered(any, 1);
  }
}

// What is rounded to one number has one tail, so neighbours seldom tell anything; those numbers do.
TEST(NormalTailTest, NeverRisesFromOneRoundedNumberToTheNext) {
  constexpr double kStep = 0x1p-48;
  Random random(3);
  for (int i = 0; i < 2'000'000; ++i) {
    const double z = (AnyScore(random) + 24) - 24;
    ASSERT_LE(NormalTail(z + kStep), NormalTail(z)) << std::hexfloat << z;
  }
}

TEST(NormalTailTest, EveryPieceEndsAboveWhereTheNextBegins) {
  for (int i = -129; i <= 129 && !HasFailure(); ++i) {
    double z = i / 16.0;
    for (int steps = 0; steps < 2000; ++steps) z = std::nextafter(z, -kInfinity);
    ExpectOrdered(z, 4000);
    for (int step = -200; step < 200; ++step) {
      const double low = i / 16.0 + step * 0x1p-48;
      ASSERT_LE(NormalTail(low + 0x1p-48), NormalTail(low)) << std::hexfloat << low;
    }
  }
}

TEST(NormalTailTest, Ends) {
  for (const double z : {8.0, 8.1, 9.0, 1e10, 1e300, kInfinity}) EXPECT_EQ(NormalTail(z), 0);
  EXPECT_GT(NormalTail(8 - 0x1p-48), 6e-16);
  for (const double z : {-8.0, -8.1, -24.0, -1e10, -1e300, -kInfinity}) {
    EXPECT_LE(NormalTail(z), 1);
    EXPECT_GE(NormalTail(z), 1 - 1e-15);
  }
  EXPECT_NEAR(NormalTail(0), 0.5, 1e-15);
  EXPECT_EQ(NormalTail(0), NormalTail(-0.0));
  const double of_nan = NormalTail(std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(0 <= of_nan && of_nan <= 1) << of_nan;
}

}  // namespace
}  // namespace nekton
