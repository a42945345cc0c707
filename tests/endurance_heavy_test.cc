// A thousand members for a day of virtual time. ENDURANCE_HOURS in the environment sets how many hours.
#include <cstdlib>

#include "tests/endurance.h"

namespace nekton {
namespace {

TEST(EnduranceHeavy, AThousandMembersForADayTakeNoMoreMemoryThanForAnHour) {
  const char* hours = std::getenv("ENDURANCE_HOURS");
  Endure(1000, hours == nullptr ? 24 : std::atoi(hours));
}

}  // namespace
}  // namespace nekton
