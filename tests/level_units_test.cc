#include "phi/level_units.h"

#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

#include "swim/random.h"

namespace nekton {
namespace {

double AnyProbability(Random& random) {
  // As often near the one end as near the other.
  return random.Below(2) == 0 ? std::exp2(-7 * random.Unit()) : 1 - std::exp2(-1 - 50 * random.Unit());
}

// From `probability` on so many doubles, but none above 1.
void ExpectOrdered(double probability, int steps) {
  std::uint64_t last = LevelUnits(probability);
  for (int i = 0; i < steps && probability < 1; ++i) {
    probability = std::nextafter(probability, 1);
    const std::uint64_t units = LevelUnits(probability);
    ASSERT_LE(units, last) << std::hexfloat << probability;
    last = units;
  }
}

TEST(LevelUnitsTest, AgreesWithTheLogarithm) {
  Random random(1);
  for (int i = 0; i < 1'000'000; ++i) {
    const double probability = AnyProbability(random);
    const long double want = -std::log10(static_cast<long double>(probability)) * static_cast<long double>(kLevelUnits);
    ASSERT_NEAR(static_cast<double>(static_cast<long double>(LevelUnits(probability)) - want), 0, 0.9) << probability;
  }
}

TEST(LevelUnitsTest, NeverRisesFromOneDoubleToTheNext) {
  Random random(2);
  for (int i = 0; i < 3'000'000 && !HasFailure(); ++i) ExpectOrdered(AnyProbability(random), 1);
}

TEST(LevelUnitsTest, EveryPieceEndsAboveWhereTheNextBegins) {
  for (std::size_t i = 0; i < level_units::kPieces && !HasFailure(); ++i) {
    const double edge = std::ldexp(1 + static_cast<double>(i % 32 + 1) / 32, static_cast<int>(i / 32) - 7);
    double probability = edge;
    for (int steps = 0; steps < 3000; ++steps) probability = std::nextafter(probability, 0);
    ExpectOrdered(probability, 6000);
    // Not only where it happens to show.
    const double last = level_units::kTable[i].At(std::nextafter(edge, 0));
    EXPECT_GE(last, level_units::kTable[i + 1].At(edge)) << edge;
  }
}

TEST(LevelUnitsTest, Ends) {
  static_assert(LevelUnits(1) == 0);
  EXPECT_EQ(LevelUnits(1 - 0x1p-53), 0);
  EXPECT_EQ(LevelUnits(1 - 0x1p-40), 111);  // 2^8 log10 e, and a little
  EXPECT_NEAR(static_cast<double>(LevelUnits(0.01)), 2 * kLevelUnits, 1);
  EXPECT_NEAR(static_cast<double>(LevelUnits(kLeastProbability)), 7 * std::log10(2) * kLevelUnits, 1);
}

}  // namespace
}  // namespace nekton
