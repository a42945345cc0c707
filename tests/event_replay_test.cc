// What a user makes of a member's events is what the member holds, whatever happens to the group.
#include <chrono>

#include <gtest/gtest.h>

#include "tests/event_faults.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

class EventReplayScenario : public testing::TestWithParam<std::uint64_t> {};

TEST_P(EventReplayScenario, TheEventsTellWhatMembersHold) {
  EventFaults faults(Config::Lan(), GetParam());
  faults.Run(10min, 5min);  // so long may a member have to wait that was dead too often (swim/probation.h)
  EXPECT_GE(faults.faults().size(), 9u) << "every kind of fault happened";
  EXPECT_GE(faults.steps(), 500u) << "and much came of it";
}

TEST_P(EventReplayScenario, AmongMembersThatSendHeartbeatsToo) {
  EventFaults faults(Config::Mesh(), GetParam());
  faults.Run(10min, 5min);
  EXPECT_GE(faults.steps(), 500u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, EventReplayScenario, testing::Range<std::uint64_t>(1, 7));

}  // namespace
}  // namespace nekton
