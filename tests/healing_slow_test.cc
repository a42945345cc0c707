// Splits of a thousand members (for numbers: see MeasureHealing).
#include <chrono>

#include <gtest/gtest.h>

#include "tests/splits.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

TEST(HealingSlow, AThousandLessOne) { MeasureHealing(1000, 60s, 3, 4); }

}  // namespace
}  // namespace nekton
