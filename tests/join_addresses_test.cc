#include "swim/join_addresses.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

namespace nekton {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Instant kStart{seconds(1000)};

Address At(std::uint32_t host) {
  return Address::V4(10, 0, static_cast<std::uint8_t>(host >> 8), static_cast<std::uint8_t>(host), 7946);
}

TEST(JoinAddressesTest, ANewOneIsDueAtOnce) {
  JoinAddresses addresses;
  EXPECT_EQ(addresses.next(), kNever);
  EXPECT_TRUE(addresses.Add(At(1), kStart));
  EXPECT_EQ(addresses.next(), kStart);
  ASSERT_NE(addresses.Find(At(1)), nullptr);
  EXPECT_FALSE(addresses.Find(At(1))->tried);
  EXPECT_EQ(addresses.Find(At(2)), nullptr);
}

TEST(JoinAddressesTest, TheEarliestIsNext) {
  JoinAddresses addresses;
  addresses.Add(At(1), kStart + seconds(3));
  addresses.Add(At(2), kStart + seconds(1));
  addresses.Add(At(3), kStart + seconds(2));
  EXPECT_EQ(addresses.next(), kStart + seconds(1));
  addresses.Find(At(2))->next = kNever;
  EXPECT_EQ(addresses.next(), kStart + seconds(2));
}

TEST(JoinAddressesTest, WhoHasWaitedLongestComesFirstAndWhoIsUnderWayNever) {
  JoinAddresses addresses;
  EXPECT_EQ(addresses.Earliest(), nullptr);
  addresses.Add(At(1), kStart + seconds(3));
  addresses.Add(At(2), kStart + seconds(1));
  addresses.Add(At(3), kStart + seconds(1));
  ASSERT_NE(addresses.Earliest(), nullptr);
  EXPECT_EQ(addresses.Earliest()->address, At(2)) << "of two the one that was added first";
  EXPECT_EQ(addresses.under_way(), 0u);
  addresses.Find(At(2))->next = addresses.Find(At(3))->next = kNever;
  EXPECT_EQ(addresses.Earliest()->address, At(1));
  EXPECT_EQ(addresses.under_way(), 2u);
  addresses.Find(At(1))->next = kNever;
  EXPECT_EQ(addresses.Earliest(), nullptr);
}

TEST(JoinAddressesTest, AKnownOneIsTriedAgainAtOnceUnlessItIsBeingTried) {
  JoinAddresses addresses;
  addresses.Add(At(1), kStart);
  addresses.Find(At(1))->next = kStart + seconds(30);
  EXPECT_TRUE(addresses.Add(At(1), kStart + seconds(1)));
  EXPECT_EQ(addresses.all().size(), 1u);
  EXPECT_EQ(addresses.next(), kStart + seconds(1));
  addresses.Find(At(1))->next = kNever;
  EXPECT_TRUE(addresses.Add(At(1), kStart + seconds(2)));
  EXPECT_EQ(addresses.next(), kNever);
}

TEST(JoinAddressesTest, OneMoreThanTheBoundIsRefusedAndAKnownOneIsNot) {
  JoinAddresses addresses;
  for (std::uint32_t i = 0; i < JoinAddresses::kMax; ++i) EXPECT_TRUE(addresses.Add(At(i + 1), kStart));
  EXPECT_FALSE(addresses.Add(At(5000), kStart));
  EXPECT_EQ(addresses.Find(At(5000)), nullptr);
  EXPECT_TRUE(addresses.Add(At(7), kStart));
  EXPECT_EQ(addresses.all().size(), JoinAddresses::kMax);
}

TEST(JoinAddressesTest, TheWaitDoublesUpToTheMostAndIsScattered) {
  Random random(1);
  const Duration min = milliseconds(250);
  const Duration max = seconds(5);
  double lowest = 10;
  double highest = 0;
  for (int trial = 0; trial < 500; ++trial) {
    JoinAddress one;
    Duration base = min;
    for (int i = 0; i < 10; ++i) {
      const Duration wait = JoinAddresses::Backoff(one, min, max, random);
      const double factor = static_cast<double>(wait.count()) / static_cast<double>(base.count());
      ASSERT_GE(factor, 0.5);
      ASSERT_LE(factor, 1.5);
      lowest = std::min(lowest, factor);
      highest = std::max(highest, factor);
      base = std::min(base * 2, max);
    }
    one.backoff = {};  // a success
    ASSERT_LE(JoinAddresses::Backoff(one, min, max, random), min + min / 2);
  }
  EXPECT_LT(lowest, 0.51);
  EXPECT_GT(highest, 1.49);
}

}  // namespace
}  // namespace nekton
