#include "swim/contacts.h"

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

TEST(ContactsTest, ANewOneIsDueAtOnce) {
  Contacts contacts;
  EXPECT_EQ(contacts.next(), kNever);
  EXPECT_TRUE(contacts.Add(At(1), kStart));
  EXPECT_EQ(contacts.next(), kStart);
  ASSERT_NE(contacts.Find(At(1)), nullptr);
  EXPECT_FALSE(contacts.Find(At(1))->tried);
  EXPECT_EQ(contacts.Find(At(2)), nullptr);
}

TEST(ContactsTest, TheEarliestIsNext) {
  Contacts contacts;
  contacts.Add(At(1), kStart + seconds(3));
  contacts.Add(At(2), kStart + seconds(1));
  contacts.Add(At(3), kStart + seconds(2));
  EXPECT_EQ(contacts.next(), kStart + seconds(1));
  contacts.Find(At(2))->next = kNever;
  EXPECT_EQ(contacts.next(), kStart + seconds(2));
}

TEST(ContactsTest, AKnownOneIsTriedAgainAtOnceUnlessItIsBeingTried) {
  Contacts contacts;
  contacts.Add(At(1), kStart);
  contacts.Find(At(1))->next = kStart + seconds(30);
  EXPECT_TRUE(contacts.Add(At(1), kStart + seconds(1)));
  EXPECT_EQ(contacts.all().size(), 1u);
  EXPECT_EQ(contacts.next(), kStart + seconds(1));
  contacts.Find(At(1))->next = kNever;
  EXPECT_TRUE(contacts.Add(At(1), kStart + seconds(2)));
  EXPECT_EQ(contacts.next(), kNever);
}

TEST(ContactsTest, OneMoreThanTheBoundIsRefusedAndAKnownOneIsNot) {
  Contacts contacts;
  for (std::uint32_t i = 0; i < Contacts::kContactsMax; ++i) EXPECT_TRUE(contacts.Add(At(i + 1), kStart));
  EXPECT_FALSE(contacts.Add(At(5000), kStart));
  EXPECT_EQ(contacts.Find(At(5000)), nullptr);
  EXPECT_TRUE(contacts.Add(At(7), kStart));
  EXPECT_EQ(contacts.all().size(), Contacts::kContactsMax);
}

TEST(ContactsTest, TheWaitDoublesUpToTheMostAndIsScattered) {
  Random random(1);
  const Duration min = milliseconds(250);
  const Duration max = seconds(5);
  double lowest = 10;
  double highest = 0;
  for (int trial = 0; trial < 500; ++trial) {
    Contact contact;
    Duration base = min;
    for (int i = 0; i < 10; ++i) {
      const Duration wait = Contacts::Backoff(contact, min, max, random);
      const double factor = static_cast<double>(wait.count()) / static_cast<double>(base.count());
      ASSERT_GE(factor, 0.5);
      ASSERT_LE(factor, 1.5);
      lowest = std::min(lowest, factor);
      highest = std::max(highest, factor);
      base = std::min(base * 2, max);
    }
    contact.backoff = {};  // a success
    ASSERT_LE(Contacts::Backoff(contact, min, max, random), min + min / 2);
  }
  EXPECT_LT(lowest, 0.51);
  EXPECT_GT(highest, 1.49);
}

}  // namespace
}  // namespace nekton
