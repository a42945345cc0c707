// As event_replay_test.cc, with more seeds.
#include <chrono>

#include <gtest/gtest.h>

#include "tests/event_faults.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

TEST(EventReplaySlow, AHundredGroupsOfEachKind) {
  for (std::uint64_t seed = 100; seed < 200 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    EventFaults(Config::Lan(), seed).Run(10min, 5min);
    EventFaults(Config::Mesh(), seed).Run(10min, 5min);
  }
}

}  // namespace
}  // namespace nekton
