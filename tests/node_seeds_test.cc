// When seed names are looked up, and what is joined.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/node_fixture.h"
#include "transport/seeds.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Address At(int last, std::uint16_t port = 7946) { return Address::V4(10, 0, 0, static_cast<std::uint8_t>(last), port); }

// A name service whose answers the test sets, and a time that it moves.
class SeedsTest : public testing::Test {
 protected:
  struct Service {
    std::mutex mutex;
    std::map<std::string, absl::StatusOr<std::vector<Address>>> answers;
    std::map<std::string, int> asked;
    std::atomic<int> woken = 0;
  };

  SeedsTest() {
    config_.join_backoff_min = 1s;
    config_.join_backoff_max = 8s;
    config_.seed_retry = 30s;
    config_.seed = 1;
    around_.is_active = [this](const Address& a) { return active_.contains(a); };
    around_.is_own = [](const Address& a) { return a == At(1); };
    resolver_ = std::make_unique<Resolver>(
        [service = service_](const std::string& host) -> absl::StatusOr<std::vector<Address>> {
          const std::lock_guard lock(service->mutex);
          ++service->asked[host];
          const auto found = service->answers.find(host);
          if (found == service->answers.end()) return absl::UnavailableError("no such host");
          return found->second;
        },
        [service = service_] { ++service->woken; });
    seeds_ = std::make_unique<Seeds>(config_, *resolver_);
  }
  void Answer(const std::string& host, std::vector<Address> addresses) {
    const std::lock_guard lock(service_->mutex);
    service_->answers.insert_or_assign(host, std::move(addresses));
  }
  int Asked(const std::string& host) {
    const std::lock_guard lock(service_->mutex);
    return service_->asked[host];
  }
  // One turn at the present time, and one more when the `lookups` it began have ended.
  std::vector<Address> Turn(int lookups) {
    std::vector<Address> join;
    reports_.clear();
    const int before = service_->woken;
    seeds_->Turn(now_, around_, join, reports_);
    EXPECT_TRUE(WaitFor([&] { return service_->woken >= before + lookups; }));
    EXPECT_EQ(service_->woken, before + lookups);
    seeds_->Turn(now_, around_, join, reports_);
    return join;
  }
  // To the next turn that the seeds ask for; how long that was.
  Duration Step() {
    const Instant next = seeds_->NextTurn();
    const Duration step = next - now_;
    now_ = next;
    return step;
  }

  Config config_ = Config::Lan();
  std::shared_ptr<Service> service_ = std::make_shared<Service>();
  std::unique_ptr<Resolver> resolver_;
  std::unique_ptr<Seeds> seeds_;
  Seeds::Surroundings around_;
  std::set<Address> active_;
  std::vector<Seeds::Report> reports_;
  Instant now_{1000s};
};

TEST_F(SeedsTest, NumericSeedsAreHandedOverAtOnceAndOnce) {
  ASSERT_TRUE(seeds_->Add({"10.0.0.2:7946", "10.0.0.1:7946", "10.0.0.2:7946"}).ok());
  EXPECT_LE(seeds_->NextTurn(), now_);
  EXPECT_THAT(Turn(0), ElementsAre(At(2))) << "not ourselves, and nobody twice";
  EXPECT_EQ(seeds_->NextTurn(), kNever) << "nothing more to do for them";
  EXPECT_THAT(Turn(0), IsEmpty());
  ASSERT_TRUE(seeds_->Add({"10.0.0.2:7946", "10.0.0.3:7946"}).ok());
  EXPECT_THAT(Turn(0), ElementsAre(At(3)));
}

TEST_F(SeedsTest, ANameGivesAllItsAddressesButOurOwn) {
  std::vector<Address> twenty;
  for (int i = 1; i <= 20; ++i) twenty.push_back(At(i, 0));
  Answer("cluster", twenty);
  ASSERT_TRUE(seeds_->Add({"cluster:7946"}).ok());
  const std::vector<Address> join = Turn(1);
  EXPECT_EQ(join.size(), 19U);
  EXPECT_EQ(join.front(), At(2));
  EXPECT_EQ(join.back(), At(20));
}

TEST_F(SeedsTest, AFailedNameIsTriedAgainWithGrowingIntervals) {
  ASSERT_TRUE(seeds_->Add({"cluster:7946"}).ok());
  std::vector<Duration> steps;
  for (int i = 0; i < 6; ++i) {
    EXPECT_THAT(Turn(1), IsEmpty());
    ASSERT_EQ(reports_.size(), 1U);
    EXPECT_THAT(std::string(reports_[0].status.message()),
                HasSubstr("seed cluster:7946 does not resolve: no such host"));
    EXPECT_EQ(reports_[0].news, i == 0) << "told once";
    steps.push_back(Step());
  }
  const std::vector<Duration> nominal = {1s, 2s, 4s, 8s, 8s, 8s};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    EXPECT_GE(steps[i], nominal[i] * 3 / 4) << i;
    EXPECT_LE(steps[i], nominal[i] * 5 / 4) << i;
  }
  // Once the name service is back, within one retry.
  Answer("cluster", {At(2, 0)});
  EXPECT_THAT(Turn(1), ElementsAre(At(2)));
  EXPECT_TRUE(reports_[0].status.ok());
  EXPECT_TRUE(reports_[0].news);
}

TEST_F(SeedsTest, ANameIsLookedUpAnewForEver) {
  Answer("cluster", {At(2, 0)});
  ASSERT_TRUE(seeds_->Add({"cluster:7946"}).ok());
  EXPECT_THAT(Turn(1), ElementsAre(At(2)));
  for (int i = 3; i < 10; ++i) {
    EXPECT_LE(Step(), 10s) << "while we are alone";
    Answer("cluster", {At(i, 0)});
    EXPECT_THAT(Turn(1), ElementsAre(At(i)));
  }
}

TEST_F(SeedsTest, ANameWhoseAddressIsAnActiveMemberIsLeftInPeace) {
  Answer("cluster", {At(2, 0)});
  ASSERT_TRUE(seeds_->Add({"cluster:7946"}).ok());
  around_.alone = false;
  Turn(1);
  active_ = {At(2)};
  EXPECT_GE(Step(), 20s) << "others are there: no hurry";
  Turn(0);
  EXPECT_EQ(Asked("cluster"), 1);
  active_ = {};
  Step();
  Turn(1);
  EXPECT_EQ(Asked("cluster"), 2);
  // All others go: it is not half a minute until we look again.
  around_.alone = true;
  Turn(0);
  EXPECT_LE(Step(), 10s);
}

// Somebody waits for it: then half a minute is too long, whoever else is there.
TEST_F(SeedsTest, AHurriedNameIsLookedUpAtOnceAndAgainSoon) {
  around_.alone = false;
  EXPECT_FALSE(seeds_->Look("cluster:7946").has_value());
  ASSERT_TRUE(seeds_->Add({"cluster:7946", "10.0.0.2:7946"}).ok());
  EXPECT_TRUE(seeds_->Look("10.0.0.2:7946")->numeric);
  EXPECT_FALSE(seeds_->Look("10.0.0.2:7946")->looking);
  EXPECT_THAT(seeds_->Look("10.0.0.2:7946")->addresses, ElementsAre(At(2)));
  Turn(1);
  EXPECT_GE(Step(), 20s);
  const Instant until = now_ + 5s;
  seeds_->Hurry("cluster:7946", until);
  EXPECT_TRUE(seeds_->Look("cluster:7946")->looking);
  EXPECT_LE(seeds_->NextTurn(), now_);
  Turn(1);
  EXPECT_FALSE(seeds_->Look("cluster:7946")->looking);
  EXPECT_THAT(seeds_->Look("cluster:7946")->error, HasSubstr("no such host"));
  EXPECT_LE(Step(), 1250ms);
  Answer("cluster", {At(3, 0)});
  Turn(1);
  EXPECT_EQ(seeds_->Look("cluster:7946")->error, "");
  EXPECT_THAT(seeds_->Look("cluster:7946")->addresses, ElementsAre(At(3)));
  // Also one of a member that is there, which otherwise nobody would look up.
  active_ = {At(3)};
  now_ = until;
  const int asked = Asked("cluster");
  seeds_->Hurry("cluster:7946", now_ + 5s);
  Turn(1);
  EXPECT_EQ(Asked("cluster"), asked + 1);
  now_ += 10s;
  Turn(0);
  EXPECT_GE(Step(), 20s) << "and then there is no hurry any more";
}

TEST_F(SeedsTest, LookUpsAtOnceAreBounded) {
  std::vector<std::string> names;
  for (int i = 0; i < 20; ++i) {
    const std::string host = "h" + std::to_string(i);
    Answer(host, {At(100 + i, 0)});
    names.push_back(host + ":7946");
  }
  ASSERT_TRUE(seeds_->Add(names).ok());
  std::set<Address> joined;
  service_->mutex.lock();  // the name service hangs
  std::vector<Address> join;
  seeds_->Turn(now_, around_, join, reports_);
  service_->mutex.unlock();
  ASSERT_TRUE(WaitFor([&] { return service_->woken == static_cast<int>(Resolver::kAtOnce); }));
  for (int i = 0; i < 10 && join.size() < 20; ++i) {
    now_ += 2s;
    const int before = service_->woken;
    seeds_->Turn(now_, around_, join, reports_);
    WaitFor([&] { return service_->woken >= std::min(before + 1, 20); });
  }
  ASSERT_TRUE(WaitFor([&] {
    now_ += 2s;
    seeds_->Turn(now_, around_, join, reports_);
    return join.size() == 20;
  }));
}

TEST_F(SeedsTest, TheResolverBeginsOnlySoManyAtOnce) {
  service_->mutex.lock();  // the name service hangs
  for (std::uint64_t i = 0; i < Resolver::kAtOnce; ++i) EXPECT_TRUE(resolver_->Begin(i, "h"));
  EXPECT_FALSE(resolver_->Begin(99, "h"));
  service_->mutex.unlock();
  ASSERT_TRUE(WaitFor([&] { return service_->woken == static_cast<int>(Resolver::kAtOnce); }));
  EXPECT_EQ(resolver_->Take().size(), Resolver::kAtOnce);
  EXPECT_TRUE(resolver_->Begin(99, "h"));
  ASSERT_TRUE(WaitFor([&] { return service_->woken == static_cast<int>(Resolver::kAtOnce) + 1; }));
}

TEST_F(SeedsTest, SeedsAreBounded) {
  std::vector<std::string> many;
  for (std::size_t i = 0; i <= Seeds::kMax; ++i) many.push_back("10.1.0.1:" + std::to_string(i + 1));
  EXPECT_TRUE(absl::IsResourceExhausted(seeds_->Add(many)));
  EXPECT_THAT(Turn(0), IsEmpty()) << "none was taken";
  many.pop_back();
  EXPECT_TRUE(seeds_->Add(many).ok());
}

TEST_F(SeedsTest, WhatEndsAfterTheResolverIsGoneIsDropped) {
  ASSERT_TRUE(seeds_->Add({"cluster:7946"}).ok());
  service_->mutex.lock();
  std::vector<Address> join;
  seeds_->Turn(now_, around_, join, reports_);
  seeds_.reset();
  resolver_.reset();  // does not wait
  service_->mutex.unlock();
  ASSERT_TRUE(WaitFor([&] { return Asked("cluster") == 1; }));
  EXPECT_EQ(service_->woken, 0);
}

}  // namespace
}  // namespace nekton
