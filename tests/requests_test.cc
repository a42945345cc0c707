// What is kept of our own requests, the budget of repetitions, and the limits of both.
#include "swim/requests.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "swim/config.h"
#include "swim/retry_budget.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::Le;

constexpr Instant kNow{1000s};

std::string Text(const absl::Status& status) { return std::string(status.message()); }

OpenRequest To(const std::string& member, std::uint64_t id, Duration budget = 1s, std::size_t bytes = 0) {
  OpenRequest request;
  request.id = id;
  request.member = member;
  request.deadline = kNow + budget;
  request.body.resize(bytes);
  return request;
}

TEST(RetryBudgetTest, OneSecondsWorthAtOnceThenOneAfterTheOther) {
  RetryBudget budget(10);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(budget.Take(kNow)) << i;
  EXPECT_FALSE(budget.Take(kNow));
  EXPECT_FALSE(budget.Take(kNow + 99ms));
  EXPECT_TRUE(budget.Take(kNow + 100ms));
  EXPECT_FALSE(budget.Take(kNow + 100ms));
}

TEST(RetryBudgetTest, NoSecondHasMoreThanTwiceItsShareAndALongOneHasItsShare) {
  RetryBudget budget(100);
  int taken = 0;
  for (Duration at{}; at < 10s; at += 1ms) taken += budget.Take(kNow + at) ? 1 : 0;
  EXPECT_THAT(taken, AllOf(Ge(1090), Le(1100)));  // 100 that were saved, and 100 a second
}

TEST(RetryBudgetTest, NoneMeansNone) {
  RetryBudget budget(0);
  EXPECT_FALSE(budget.Take(kNow));
  EXPECT_FALSE(budget.Take(kNow + 1h));
}

TEST(RequestsTest, EachIsFoundByItsIdAndItsNumberUntilItIsClosed) {
  Requests requests(MailLimits(), 1);
  EXPECT_TRUE(requests.empty());
  EXPECT_EQ(requests.next(), kNever);
  OpenRequest& a = requests.Open(To("beta", 7), kNow);
  OpenRequest& b = requests.Open(To("beta", 8), kNow);
  EXPECT_NE(a.number, b.number);
  EXPECT_EQ(requests.FindId(7), &a);
  EXPECT_EQ(requests.FindNumber(b.number), &b);
  EXPECT_EQ(requests.Room(7, "beta", 0).code(), absl::StatusCode::kAlreadyExists);
  const std::uint32_t number = a.number;
  requests.Close(a);
  EXPECT_EQ(requests.FindId(7), nullptr);
  EXPECT_EQ(requests.FindNumber(number), nullptr);
  EXPECT_TRUE(requests.Room(7, "beta", 0).ok());
  EXPECT_NE(requests.Open(To("beta", 7), kNow).number, number);  // a late answer to the old one is not the new one's
}

TEST(RequestsTest, LimitsAreNamed) {
  MailLimits limits;
  limits.open = 3;
  limits.open_per_member = 2;
  limits.open_bytes = 100;
  Requests requests(limits, 1);
  requests.Open(To("beta", 1, 1s, 60), kNow);
  EXPECT_THAT(Text(requests.Room(9, "gamma", 41)), HasSubstr("MailLimits::open_bytes"));
  OpenRequest& second = requests.Open(To("beta", 2, 1s, 40), kNow);
  const absl::Status per_member = requests.Room(9, "beta", 0);
  EXPECT_EQ(per_member.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Text(per_member), AllOf(HasSubstr("2 requests to beta"), HasSubstr("MailLimits::open_per_member")));
  EXPECT_TRUE(requests.Room(9, "gamma", 0).ok());
  requests.Open(To("gamma", 3), kNow);
  EXPECT_THAT(Text(requests.Room(9, "delta", 0)), HasSubstr("MailLimits::open)"));
  requests.Close(second);
  EXPECT_TRUE(requests.Room(9, "beta", 40).ok());
}

TEST(RequestsTest, ACancelledOneGivesBackItsIdAndItsBytesButNotItsPlace) {
  MailLimits limits;
  limits.open_per_member = 1;
  limits.open_bytes = 50;
  Requests requests(limits, 1);
  OpenRequest& request = requests.Open(To("beta", 1, 1s, 50), kNow);
  requests.Cancel(request);
  EXPECT_EQ(requests.FindId(1), nullptr);
  EXPECT_EQ(requests.FindNumber(request.number), &request);
  EXPECT_TRUE(requests.Room(1, "gamma", 50).ok());
  EXPECT_EQ(requests.Room(1, "beta", 0).code(), absl::StatusCode::kResourceExhausted);
  requests.Close(request);
  EXPECT_TRUE(requests.Room(1, "beta", 50).ok());
}

// The waits between its turns, until its deadline.
std::vector<Duration> Waits(Requests& requests, OpenRequest& request) {
  std::vector<Duration> waits;
  for (Instant now = kNow; now < request.deadline;) {
    requests.Later(request, now);
    waits.push_back(requests.next() - now);
    now = requests.next();
  }
  waits.pop_back();  // it ends at the deadline
  return waits;
}

TEST(RequestsTest, TurnsBackOffToABoundWithJitter) {
  Requests requests(MailLimits(), 1);
  OpenRequest& request = requests.Open(To("beta", 1, 60s), kNow);
  const std::vector<Duration> waits = Waits(requests, request);
  Duration usual = 50ms;
  bool jitter = false;
  for (const Duration wait : waits) {
    EXPECT_GE(wait, usual * 3 / 4);
    EXPECT_LE(wait, usual * 5 / 4);
    jitter |= wait != usual;
    usual = std::min<Duration>(2 * usual, 2s);
  }
  EXPECT_TRUE(jitter);
  EXPECT_EQ(usual, 2s);
  // Another member does not wait alike.
  Requests others(MailLimits(), 2);
  EXPECT_NE(Waits(others, others.Open(To("beta", 1, 60s), kNow)), waits);
}

TEST(RequestsTest, AShortBudgetHasSeveralTurnsToo) {
  Requests requests(MailLimits(), 1);
  OpenRequest& request = requests.Open(To("beta", 1, 50ms), kNow);
  EXPECT_EQ(request.backoff, 10ms);
  EXPECT_GE(Waits(requests, request).size(), 2u);
  EXPECT_EQ(requests.Open(To("beta", 2, 3ms), kNow).backoff, 5ms);
}

TEST(RequestsTest, DueOnesComeInTheOrderOfTheirTimes) {
  Requests requests(MailLimits(), 1);
  OpenRequest& late = requests.Open(To("beta", 1, 3s), kNow);
  OpenRequest& early = requests.Open(To("gamma", 2, 1s), kNow);
  EXPECT_EQ(requests.next(), kNow + 1s);
  EXPECT_EQ(requests.Due(kNow + 1s - 1ns), nullptr);
  EXPECT_EQ(requests.Due(kNow + 3s), &early);
  requests.Close(early);
  EXPECT_EQ(requests.Due(kNow + 3s), &late);
}

TEST(MailLimitsTest, EveryMistakeIsNamed) {
  Config config = Config::Lan();
  config.name = "alpha";
  EXPECT_TRUE(config.Validate().ok());
  config.mail.open = 0;
  config.mail.open_bytes = 1;
  config.mail.known = config.mail.served - 1;
  config.mail.keep = -1s;
  config.mail.retry_max = config.mail.retry_after - 1ns;
  const std::string text = Text(config.Validate());
  for (const char* field : {"mail.open =", "mail.open_bytes", "mail.known =", "mail.keep", "mail.retry_max"}) {
    EXPECT_THAT(text, HasSubstr(field));
  }
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
}

}  // namespace
}  // namespace nekton
