#include "swim/reminders.h"

#include <gtest/gtest.h>

namespace nekton {
namespace {

using namespace std::chrono_literals;

TEST(Reminders, EachMemberIsWorthOneAMinute) {
  constexpr Instant kStart{std::chrono::hours(1)};
  Reminders reminders;
  EXPECT_TRUE(reminders.Due(1, kStart));
  EXPECT_FALSE(reminders.Due(1, kStart + 1min - 1ns));
  EXPECT_TRUE(reminders.Due(2, kStart));
  EXPECT_TRUE(reminders.Due(1, kStart + 1min));
  EXPECT_FALSE(reminders.Due(1, kStart + 1min)) << "the minute counts from the last one told";
  reminders.Forget(1);
  EXPECT_TRUE(reminders.Due(1, kStart + 1min)) << "another member has the row";
}

}  // namespace
}  // namespace nekton
