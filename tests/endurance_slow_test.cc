// The day of a thousand (endurance_heavy_test.cc) in small.
#include "tests/endurance.h"

namespace nekton {
namespace {

TEST(EnduranceSlow, TwoHundredMembersForFourHoursTakeNoMoreMemoryThanForOne) { Endure(200, 4); }

}  // namespace
}  // namespace nekton
