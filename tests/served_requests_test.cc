// What is kept of others' requests: how long, and how much.
#include "swim/served_requests.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using State = ServedRequest::State;

constexpr Instant kNow{1000s};
constexpr std::uint64_t kBeta = 0xbe7a;
constexpr std::uint64_t kGamma = 0x6a;

std::vector<std::byte> Bytes(std::size_t size) { return std::vector<std::byte>(size); }

TEST(ServedRequestsTest, OneIsKnownUntilItsDeadlineAndTheMarginHavePassed) {
  ServedRequests served{MailLimits()};
  EXPECT_EQ(served.next(), kNever);
  ServedRequest& request = served.Take(kBeta, 7, kNow + 1s, 0);
  EXPECT_EQ(served.Find(kBeta, 7), &request);
  EXPECT_EQ(served.FindId(request.id), &request);
  EXPECT_EQ(served.Find(kGamma, 7), nullptr);
  EXPECT_EQ(served.Find(kBeta, 8), nullptr);
  served.Answer(request, 0, Bytes(3));
  EXPECT_EQ(served.next(), kNow + 6s);
  EXPECT_EQ(served.Expired(kNow + 6s - 1ns), nullptr);
  EXPECT_NE(served.Find(kBeta, 7), nullptr);
  EXPECT_EQ(served.Expired(kNow + 6s), nullptr);
  EXPECT_EQ(served.Find(kBeta, 7), nullptr);
  EXPECT_TRUE(served.empty());
}

TEST(ServedRequestsTest, WhatTheHandlerHasIsGivenBackAtItsDeadline) {
  ServedRequests served{MailLimits()};
  ServedRequest& request = served.Take(kBeta, 7, kNow + 1s, 10);
  EXPECT_EQ(served.working(), 1u);
  EXPECT_EQ(served.next(), kNow + 1s);
  ASSERT_EQ(served.Expired(kNow + 1s), &request);
  served.Over(request, false);
  EXPECT_EQ(served.working(), 0u);
  EXPECT_EQ(served.Expired(kNow + 1s), nullptr);
  EXPECT_EQ(served.Find(kBeta, 7)->state, State::kOver);
  EXPECT_EQ(served.next(), kNow + 6s);
}

TEST(ServedRequestsTest, LimitsOfWorkAreNamedAndFreedByAnswers) {
  MailLimits limits;
  limits.served = 3;
  limits.served_per_member = 2;
  limits.served_bytes = 100;
  ServedRequests served(limits);
  ServedRequest& first = served.Take(kBeta, 1, kNow + 1s, 60);
  EXPECT_EQ(served.Full(kBeta, 40), "");
  EXPECT_THAT(served.Full(kBeta, 41), HasSubstr("served_bytes"));
  ServedRequest& second = served.Take(kBeta, 2, kNow + 1s, 0);
  EXPECT_THAT(served.Full(kBeta, 0), HasSubstr("2 requests of this member wait (MailLimits::served_per_member"));
  EXPECT_EQ(served.Full(kGamma, 0), "");
  served.Take(kGamma, 1, kNow + 1s, 0);
  EXPECT_THAT(served.Full(0xde17a, 0), HasSubstr("MailLimits::served)"));
  served.Answer(first, 0, {});
  EXPECT_EQ(served.Full(kBeta, 100), "");
  served.Over(second, true);
  EXPECT_EQ(served.working(), 1u);
}

TEST(ServedRequestsTest, WhatIsRememberedIsBoundedToo) {
  MailLimits limits;
  limits.known = 3;
  limits.known_per_member = 2;
  ServedRequests served(limits);
  served.Answer(served.Take(kBeta, 1, kNow + 1s, 0), 0, {});
  served.Answer(served.Take(kBeta, 2, kNow + 2s, 0), 0, {});
  EXPECT_THAT(served.Full(kBeta, 0), HasSubstr("MailLimits::known_per_member"));
  served.TakeCancelled(kBeta, 3, kNow);
  EXPECT_EQ(served.Find(kBeta, 3), nullptr);  // no room for it
  served.TakeCancelled(kGamma, 1, kNow);
  EXPECT_EQ(served.Find(kGamma, 1)->state, State::kOver);
  EXPECT_THAT(served.Full(0xde17a, 0), HasSubstr("MailLimits::known)"));
  EXPECT_EQ(served.Expired(kNow + 6s), nullptr);
  EXPECT_EQ(served.Full(kBeta, 0), "");
  EXPECT_EQ(served.Find(kGamma, 1), nullptr);
}

TEST(ServedRequestsTest, TheOldestAnswersOfAMemberWithTooManyBytesGo) {
  MailLimits limits;
  limits.answer_bytes_per_member = 100;
  ServedRequests served(limits);
  served.Answer(served.Take(kGamma, 1, kNow + 1s, 0), 0, Bytes(90));
  for (std::uint32_t i = 1; i <= 3; ++i) served.Answer(served.Take(kBeta, i, kNow + 1s, 0), 0, Bytes(40));
  EXPECT_TRUE(served.Find(kBeta, 1)->forgotten);
  EXPECT_TRUE(served.Find(kBeta, 1)->answer.empty());
  EXPECT_FALSE(served.Find(kBeta, 2)->forgotten);
  EXPECT_FALSE(served.Find(kGamma, 1)->forgotten);  // another's
  EXPECT_EQ(served.Find(kBeta, 3)->answer.size(), 40u);
}

TEST(ServedRequestsTest, TheOldestAnswersOfAllGoWhereThereAreTooManyBytesTogether) {
  MailLimits limits;
  limits.answer_bytes = 100;
  ServedRequests served(limits);
  served.Answer(served.Take(kGamma, 1, kNow + 1s, 0), 0, Bytes(60));
  served.Answer(served.Take(kBeta, 1, kNow + 2s, 0), 0, Bytes(60));
  EXPECT_TRUE(served.Find(kGamma, 1)->forgotten);
  // The newest one stays, however large.
  served.Answer(served.Take(kBeta, 2, kNow + 2s, 0), 0, Bytes(500));
  EXPECT_TRUE(served.Find(kBeta, 1)->forgotten);
  EXPECT_EQ(served.Find(kBeta, 2)->answer.size(), 500u);
  // What has been forgotten altogether gives back its bytes.
  EXPECT_EQ(served.Expired(kNow + 1h), nullptr);
  served.Answer(served.Take(kBeta, 3, kNow + 2h, 0), 0, Bytes(50));
  served.Answer(served.Take(kBeta, 4, kNow + 2h, 0), 0, Bytes(50));
  EXPECT_FALSE(served.Find(kBeta, 3)->forgotten);
}

TEST(ServedRequestsTest, WhatWasForgottenIsPastAndWithItWhatCameBefore) {
  ServedRequests served{MailLimits()};
  EXPECT_FALSE(served.IsPast(kBeta, 7));
  served.Answer(served.Take(kBeta, 7, kNow + 1s, 0), 0, {});
  served.Take(kBeta, 5, kNow + 1h, 0);
  EXPECT_FALSE(served.IsPast(kBeta, 7)) << "it is known";
  EXPECT_EQ(served.Expired(kNow + 6s), nullptr);
  EXPECT_TRUE(served.IsPast(kBeta, 7));
  EXPECT_TRUE(served.IsPast(kBeta, 6));
  EXPECT_FALSE(served.IsPast(kBeta, 8));
  EXPECT_FALSE(served.IsPast(kGamma, 7));
  EXPECT_NE(served.Find(kBeta, 5), nullptr) << "which is known and goes on";
  served.SetPast(kBeta, 6);
  EXPECT_EQ(served.past(kBeta), 7u) << "it never falls";
  // Numbers go around.
  served.SetPast(kGamma, 0xffffffff);
  EXPECT_TRUE(served.IsPast(kGamma, 0xfffffff0));
  EXPECT_FALSE(served.IsPast(kGamma, 1));
}

TEST(ServedRequestsTest, ACancellationWithoutRoomIsPast) {
  MailLimits limits;
  limits.known = limits.known_per_member = 1;
  ServedRequests served(limits);
  served.Take(kBeta, 1, kNow + 1s, 0);
  served.TakeCancelled(kBeta, 2, kNow);
  EXPECT_EQ(served.Find(kBeta, 2), nullptr);
  EXPECT_TRUE(served.IsPast(kBeta, 2));
}

TEST(ServedRequestsTest, NumbersOfLivesThatAreGoneAreLetGoOfWhereThereAreMany) {
  MailLimits limits;
  limits.known = 100;
  ServedRequests served(limits);
  for (std::uint64_t life = 1; life <= 10'000; ++life) {
    served.SetPast(life, 1);
    served.BoundPast([&](std::uint64_t known) { return known + 20 > life; });
    ASSERT_LE(served.past_size(), 101u);
  }
  EXPECT_TRUE(served.IsPast(10'000, 1));
  // Where all of them are known they are kept; looking at them costs the same each, however many there are.
  std::size_t looked = 0;
  for (std::uint64_t life = 10'001; life <= 20'000; ++life) {
    served.SetPast(life, 1);
    served.BoundPast([&](std::uint64_t) {
      ++looked;
      return true;
    });
  }
  EXPECT_GE(served.past_size(), 10'000u);
  EXPECT_LT(looked, 30'000u);
}

}  // namespace
}  // namespace nekton
