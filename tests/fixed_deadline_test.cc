#include "phi/fixed_deadline.h"

#include <chrono>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "swim/random.h"

namespace nekton {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr Instant kOpened{seconds(1000)};
constexpr std::uint32_t kPeer = 7;

TEST(FixedDeadlineTest, ConvictsAtExactlyTheLimit) {
  const FixedDeadline detector(milliseconds(200), 8.0);
  EXPECT_EQ(detector.DeadlineFor(kPeer, kOpened), kOpened + milliseconds(200));
  EXPECT_EQ(detector.DeadlineFor(kPeer, Instant{}), Instant{milliseconds(200)});
}

TEST(FixedDeadlineTest, DeadlineBeyondTheEndOfTimeIsNever) {
  const FixedDeadline detector(seconds(30), 8.0);
  EXPECT_EQ(detector.DeadlineFor(kPeer, kNever - seconds(30)), kNever);
  EXPECT_EQ(detector.DeadlineFor(kPeer, kNever - seconds(29)), kNever);
  EXPECT_EQ(detector.DeadlineFor(kPeer, kNever - seconds(31)), kNever - seconds(1));
}

TEST(FixedDeadlineTest, LevelReachesTheThresholdAtTheDeadlineAndNotBefore) {
  // Limits and thresholds whose quotients are no round numbers in binary.
  for (const Duration limit : {Duration(1), Duration(3), Duration(milliseconds(200)), Duration(333'333'333),
                               Duration(seconds(30)) + nanoseconds(1), Duration(std::chrono::hours(24))}) {
    for (const double threshold : {0.1, 1.0, 3.0, 8.0, 12.3}) {
      const FixedDeadline detector(limit, threshold);
      const Instant deadline = detector.DeadlineFor(kPeer, kOpened);
      EXPECT_LT(detector.Level(kPeer, kOpened, deadline - nanoseconds(1)), threshold) << limit.count();
      EXPECT_EQ(detector.Level(kPeer, kOpened, deadline), threshold) << limit.count();
      EXPECT_GT(detector.Level(kPeer, kOpened, deadline + nanoseconds(1)), threshold) << limit.count();
    }
  }
}

TEST(FixedDeadlineTest, LevelIsLinearInTheSilence) {
  const FixedDeadline detector(milliseconds(200), 8.0);
  EXPECT_EQ(detector.Level(kPeer, kOpened, kOpened), 0.0);
  EXPECT_EQ(detector.Level(kPeer, kOpened, kOpened + milliseconds(50)), 2.0);
  EXPECT_EQ(detector.Level(kPeer, kOpened, kOpened + milliseconds(100)), 4.0);
  EXPECT_EQ(detector.Level(kPeer, kOpened, kOpened + milliseconds(600)), 24.0);
}

TEST(FixedDeadlineTest, LevelBeforeTheOpeningIsZero) {
  const FixedDeadline detector(milliseconds(200), 8.0);
  EXPECT_EQ(detector.Level(kPeer, kOpened, kOpened - nanoseconds(1)), 0.0);
  EXPECT_EQ(detector.Level(kPeer, kOpened, Instant{}), 0.0);
}

TEST(FixedDeadlineTest, EveryLevelIsReachedAtExactlyItsInstant) {
  Random random(1);
  for (int i = 0; i < 100'000 && !HasFailure(); ++i) {
    const Duration limit(1 + static_cast<Duration::rep>(random.Next() >> (12 + random.Below(50))));  // up to 52 days
    const double threshold = 0.1 + 15 * random.Unit();
    const FixedDeadline detector(limit, threshold);
    const double level = std::exp(random.Unit() * 20 - 14);
    const Instant at = detector.ReachedAt(kPeer, kOpened, level);
    ASSERT_LT(at, kNever);
    EXPECT_GE(detector.Level(kPeer, kOpened, at), level) << limit.count() << " " << threshold;
    EXPECT_LT(detector.Level(kPeer, kOpened, at - nanoseconds(1)), level) << limit.count() << " " << threshold;
    EXPECT_EQ(detector.ReachedAt(kPeer, kOpened, threshold), detector.DeadlineFor(kPeer, kOpened));
  }
}

TEST(FixedDeadlineTest, LevelsThatAreNoneOrNeverReached) {
  const FixedDeadline detector(std::chrono::hours(24), 8.0);
  EXPECT_EQ(detector.ReachedAt(kPeer, kOpened, 0), kOpened);
  EXPECT_EQ(detector.ReachedAt(kPeer, kOpened, -3), kOpened);
  EXPECT_EQ(detector.ReachedAt(kPeer, kOpened, 1e-300), kOpened + nanoseconds(1));
  EXPECT_EQ(detector.ReachedAt(kPeer, kOpened, 1e300), kNever);
  EXPECT_EQ(detector.ReachedAt(kPeer, kOpened, std::numeric_limits<double>::infinity()), kNever);
  EXPECT_EQ(detector.ReachedAt(kPeer, kOpened, std::numeric_limits<double>::quiet_NaN()), kNever);
  EXPECT_EQ(detector.ReachedAt(kPeer, kNever - std::chrono::hours(1), 8), kNever);
}

TEST(FixedDeadlineTest, LearnsNothing) {
  FixedDeadline fixed(milliseconds(200), 8.0);
  Detector& detector = fixed;
  for (int i = 1; i <= 100; ++i) detector.Heard(kPeer, kOpened, kOpened + milliseconds(i), 1);
  EXPECT_EQ(detector.DeadlineFor(kPeer, kOpened), kOpened + milliseconds(200));
  EXPECT_EQ(detector.Level(kPeer, kOpened, kOpened + milliseconds(100)), 4.0);
  detector.Forget(kPeer);
  EXPECT_EQ(detector.DeadlineFor(kPeer, kOpened), kOpened + milliseconds(200));
  EXPECT_EQ(detector.Level(kPeer, kOpened, kOpened + milliseconds(100)), 4.0);
  EXPECT_EQ(detector.threshold(), 8.0);
}

}  // namespace
}  // namespace nekton
