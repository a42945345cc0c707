// Splits of every kind, short and long (for numbers: see MeasureHealing).
#include <chrono>

#include <gtest/gtest.h>

#include "tests/splits.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

TEST(HealingHeavy, AThousandForAMinute) { MeasureHealing(1000, 60s, 0, 4); }
TEST(HealingHeavy, AThousandForTenMinutes) { MeasureHealing(1000, 10min, 0, 4); }
TEST(HealingHeavy, AHundredForADay) { MeasureHealing(100, 24h, 0, 4); }
TEST(HealingHeavy, AThousandForADay) { MeasureHealing(1000, 24h, 0, 0); }

}  // namespace
}  // namespace nekton
