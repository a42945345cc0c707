#include "swim/isolation.h"

#include <chrono>

#include <gtest/gtest.h>

namespace nekton {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart{1000s};

TEST(IsolationTest, AloneAndExpectingNobodyIsWhole) {
  Isolation isolation(0.5, 5s, 0);
  EXPECT_EQ(isolation.contact(), (Contact{1, 1, false}));
  isolation.Count(kStart, 1, 1);
  EXPECT_EQ(isolation.next(), kNever);
  EXPECT_FALSE(isolation.Turn(kStart + 1h));
}

TEST(IsolationTest, ExactlyTheShareIsTooLittle) {
  for (const std::uint32_t known : {2U, 3U, 4U, 5U, 99U, 100U, 1000U}) {
    for (std::uint32_t reachable = 1; reachable <= known; ++reachable) {
      Isolation isolation(0.5, 5s, 0);
      isolation.Count(kStart, reachable, known);
      EXPECT_EQ(isolation.next() != kNever, 2 * reachable <= known) << reachable << " of " << known;
    }
  }
  Isolation quarter(0.25, 5s, 0);
  quarter.Count(kStart, 2, 8);
  EXPECT_EQ(quarter.next(), kStart + 5s);
  quarter.Count(kStart, 3, 8);
  EXPECT_EQ(quarter.next(), kNever);
  Isolation never(0, 0s, 0);
  never.Count(kStart, 1, 1000000);
  EXPECT_EQ(never.next(), kNever);
}

TEST(IsolationTest, BothWaysItTakesTheWholeTimeWithoutInterruption) {
  Isolation isolation(0.5, 5s, 0);
  isolation.Count(kStart, 2, 4);
  isolation.Count(kStart + 4s, 1, 4);  // worse still: it goes on
  EXPECT_FALSE(isolation.Turn(kStart + 5s - 1ns));
  isolation.Count(kStart + 5s - 1ns, 3, 4);
  EXPECT_FALSE(isolation.Turn(kStart + 5s));
  isolation.Count(kStart + 6s, 2, 4);
  EXPECT_FALSE(isolation.Turn(kStart + 11s - 1ns));
  EXPECT_TRUE(isolation.Turn(kStart + 11s));
  EXPECT_EQ(isolation.contact(), (Contact{2, 4, true}));
  EXPECT_FALSE(isolation.Turn(kStart + 1h)) << "once";

  isolation.Count(kStart + 20s, 3, 4);
  isolation.Count(kStart + 24s, 2, 4);
  EXPECT_EQ(isolation.next(), kNever);
  isolation.Count(kStart + 25s, 4, 4);
  EXPECT_FALSE(isolation.Turn(kStart + 30s - 1ns));
  EXPECT_TRUE(isolation.contact().isolated);
  EXPECT_TRUE(isolation.Turn(kStart + 30s));
  EXPECT_EQ(isolation.contact(), (Contact{4, 4, false}));
}

TEST(IsolationTest, WhoIsForgottenMeanwhileStillCounts) {
  Isolation isolation(0.5, 5s, 0);
  isolation.Forgot();  // enough are reached: it is gone
  isolation.Count(kStart, 1, 10);
  for (std::uint32_t present = 9; present >= 1; --present) {  // also before it is isolated
    if (present == 5) {
      EXPECT_TRUE(isolation.Turn(kStart + 5s));
    }
    isolation.Forgot();
    isolation.Count(kStart + 5s, 1, present);
    EXPECT_EQ(isolation.contact(), (Contact{1, 10, present <= 5}));
  }
  // Five come back, and are taken for five of them.
  for (std::uint32_t i = 0; i < 5; ++i) {
    isolation.Met();
    isolation.Count(kStart + 10s, 2 + i, 2 + i);
    EXPECT_EQ(isolation.contact(), (Contact{2 + i, 10, true}));
  }
  EXPECT_FALSE(isolation.Turn(kStart + 15s - 1ns));
  EXPECT_TRUE(isolation.Turn(kStart + 15s));
  EXPECT_EQ(isolation.contact(), (Contact{6, 6, false})) << "the rest is forgotten for good";
}

TEST(IsolationTest, WhatEndsBeforeItIsIsolationForgetsThemToo) {
  Isolation isolation(0.5, 5s, 0);
  isolation.Count(kStart, 2, 4);
  isolation.Forgot();
  isolation.Count(kStart, 2, 3);
  EXPECT_EQ(isolation.contact(), (Contact{2, 4, false}));
  isolation.Met();
  isolation.Met();  // more than were forgotten
  isolation.Count(kStart, 4, 5);
  EXPECT_EQ(isolation.contact(), (Contact{4, 5, false}));
  isolation.Count(kStart, 2, 4);
  isolation.Forgot();
  isolation.Count(kStart, 3, 3);
  EXPECT_EQ(isolation.contact(), (Contact{3, 3, false}));
}

TEST(IsolationTest, SoManyAreExpected) {
  Isolation isolation(0.5, 5s, 3);
  EXPECT_EQ(isolation.contact(), (Contact{1, 3, false}));
  isolation.Count(kStart, 1, 1);
  EXPECT_EQ(isolation.next(), kStart + 5s);
  isolation.Count(kStart, 2, 2);
  EXPECT_EQ(isolation.next(), kNever) << "more than half of them";
  EXPECT_EQ(isolation.contact().known, 3U);
  isolation.Count(kStart, 2, 5);
  EXPECT_EQ(isolation.contact().known, 5U);
}

TEST(IsolationTest, APauseOfOurOwnIsExcused) {
  Isolation isolation(0.5, 5s, 0);
  isolation.Count(kStart, 1, 4);
  isolation.Excuse(1min);
  EXPECT_EQ(isolation.next(), kStart + 65s);
}

}  // namespace
}  // namespace nekton
