// How long a lease has lasted, for those who hold it and for those who wait.
#include "lease/lease_clock.h"

#include <chrono>

#include <gtest/gtest.h>

#include "lease/lease_terms.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

Tick At(Duration boot, Duration raw) { return {Instant(boot), RawInstant(raw), WallTime{}}; }

TEST(LeaseClockTest, HoldersCountTheLongerTimeAndWaitersTheShorter) {
  LeaseClock clock;
  clock.Advance(At(100s, 90s));
  // Slewed: boot time ran 10 % too slowly.
  EXPECT_EQ(clock.Longer(At(109s, 100s)), 10s);
  EXPECT_EQ(clock.Shorter(At(109s, 100s)), 9s);
  // Suspended: the raw clock stood still; and of the second in which it ran a tenth may have been slewed away.
  EXPECT_EQ(clock.Longer(At(160s, 91s)), 60s + 100ms);
  EXPECT_EQ(clock.Shorter(At(160s, 91s)), 1s);
}

// First slewed, then suspended: over the whole span boot time shows 57 s and raw time 30 s of the 60.
TEST(LeaseClockTest, ItIsSummedUpFromReadingToReading) {
  LeaseClock clock;
  clock.Advance(At(0s, 0s));
  clock.Advance(At(27s, 30s));
  clock.Advance(At(57s, 30s));
  EXPECT_EQ(clock.Longer(At(57s, 30s)), 60s);
  EXPECT_EQ(clock.Shorter(At(57s, 30s)), 27s);
}

// The same between two readings: a second of which boot time shows 0.9, then half a minute in which the machine was suspended.
TEST(LeaseClockTest, WhatWasSlewedBeforeASuspendIsNotLost) {
  LeaseClock clock;
  clock.Advance(At(0s, 0s));
  EXPECT_EQ(clock.Longer(At(900ms + 30s, 1s)), 31s);
  clock.Advance(At(900ms + 30s, 1s));
  EXPECT_EQ(clock.Longer(At(900ms + 31s, 2s)), 32s);
}

TEST(LeaseClockTest, NoTimeIsNegative) {
  LeaseClock clock;
  EXPECT_EQ(clock.Longer(At(5s, 5s)), 0s);
  clock.Advance(At(100s, 90s));
  EXPECT_EQ(clock.Longer(At(99s, 89s)), 0s);
  EXPECT_EQ(clock.Shorter(At(99s, 91s)), 0s);
}

TEST(LeaseClockTest, WhatAHolderMayUseEndsBeforeWhatAGrantorWaits) {
  for (const std::int64_t drift : {0, 1, 100, 10'000, 83'000, 200'000}) {
    for (const Duration lease : {Duration(1), Duration(999'999'999), Duration(6s), Duration(120s), Duration(24h)}) {
      const Duration usable = UsableOf(lease, drift);
      const Duration wait = WaitOf(lease, drift);
      EXPECT_LE(usable, lease);
      EXPECT_GT(wait, lease);
      // By true time: the holder's clock may run slow by the drift, the grantor's fast.
      const long double held_true =
          static_cast<long double>(usable.count()) * 1e6L / static_cast<long double>(1'000'000 - drift);
      const long double waited_true =
          static_cast<long double>(wait.count()) * 1e6L / static_cast<long double>(1'000'000 + drift);
      EXPECT_LT(held_true, waited_true) << drift << " " << lease.count();
    }
  }
  EXPECT_EQ(UsableOf(6s, 10'000), Duration(5'881'188'118));  // 6 s * 99 / 101
  EXPECT_EQ(WaitOf(6s, 10'000), Duration(6'121'212'122));    // 6 s * 101 / 99, rounded up
  EXPECT_EQ(UsableOf(6s, 0), 6s);
}

TEST(LeaseTermsTest, TheBoundOfThePairHoldsWithTheDriftAndNotBeyond) {
  EXPECT_TRUE(FitsWindow(5s, LeaseTerms{}, 12s));
  EXPECT_FALSE(FitsWindow(5s, LeaseTerms{}, 11s));
  EXPECT_FALSE(FitsWindow(6s, LeaseTerms{}, 12s));
  LeaseTerms worse;
  worse.drift_ppm = 83'000;
  EXPECT_FALSE(FitsWindow(5s, worse, 12s));
  LeaseTerms longer;
  longer.write = 7s;
  EXPECT_FALSE(FitsWindow(5s, longer, 12s));
}

TEST(LeaseTermsTest, EveryProblemIsNamed) {
  EXPECT_TRUE(ProblemsOf(LeaseTerms{}).empty());
  LeaseTerms bad;
  bad.write = 1ms;
  bad.read = 48h;
  bad.drift_ppm = -1;
  const std::vector<std::string> problems = ProblemsOf(bad);
  ASSERT_EQ(problems.size(), 3u);
  EXPECT_NE(problems[0].find("write_lease = 0.001 s"), std::string::npos);
  EXPECT_NE(problems[1].find("read_lease"), std::string::npos);
  EXPECT_NE(problems[2].find("drift_ppm = -1"), std::string::npos);
}

}  // namespace
}  // namespace nekton
