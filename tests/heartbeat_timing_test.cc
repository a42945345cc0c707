// The order in which the times of a heartbeat stand, each comparison at its edge.
#include "phi/heartbeat_timing.h"

#include <gtest/gtest.h>

namespace nekton {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr nanoseconds kOne{1};

TEST(HeartbeatTiming, TheMeshHasTheNumbersOfItsSource) {
  EXPECT_EQ(kMeshTiming.interval - kMeshTiming.jitter, seconds(8));
  EXPECT_EQ(kMeshTiming.interval + kMeshTiming.jitter, seconds(12));
  EXPECT_EQ(kMeshTiming.suspect_after, seconds(30) + kOne);  // 30 s themselves are no silence yet
  EXPECT_EQ(kMeshTiming.fail_after - kMeshTiming.suspect_after, seconds(90));
}

TEST(HeartbeatTiming, ThePairHasTheNumbersOfTheLeases) {
  EXPECT_EQ(kPairTiming.interval, seconds(5));
  EXPECT_EQ(kPairTiming.jitter, seconds(0));
  EXPECT_EQ(kPairTiming.suspect_after, seconds(6));
  EXPECT_EQ(kPairTiming.fail_after, seconds(12));
}

TEST(HeartbeatTiming, ALiveHeartbeatIsDueBeforeItIsSuspect) {
  for (const HeartbeatTiming& good : {kMeshTiming, kPairTiming}) {
    HeartbeatTiming timing = good;
    timing.suspect_after = timing.interval + timing.jitter;
    EXPECT_FALSE(IsOrdered(timing));
    timing.suspect_after += kOne;
    EXPECT_TRUE(IsOrdered(timing));
  }
}

TEST(HeartbeatTiming, APeerIsSuspectBeforeItIsGivenUp) {
  for (const HeartbeatTiming& good : {kMeshTiming, kPairTiming}) {
    HeartbeatTiming timing = good;
    timing.fail_after = timing.suspect_after;
    EXPECT_FALSE(IsOrdered(timing));
    timing.fail_after += kOne;
    EXPECT_TRUE(IsOrdered(timing));
  }
}

TEST(HeartbeatTiming, JitterIsLessThanTheIntervalAndNotNegative) {
  HeartbeatTiming timing = kMeshTiming;
  timing.jitter = timing.interval;
  EXPECT_FALSE(IsOrdered(timing));
  timing.jitter = timing.interval - kOne;
  EXPECT_TRUE(IsOrdered(timing));
  timing.jitter = {};
  EXPECT_TRUE(IsOrdered(timing));
  timing.jitter = -kOne;
  EXPECT_FALSE(IsOrdered(timing));
}

TEST(HeartbeatTiming, NothingIsNotOrdered) { EXPECT_FALSE(IsOrdered({})); }

}  // namespace
}  // namespace nekton
