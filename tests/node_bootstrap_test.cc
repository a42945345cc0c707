// Nodes that expect others: when they have joined, and what they are told while they are too few.
#include <chrono>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/node_fixture.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Config Expecting(std::uint32_t expect, const std::string& name, std::vector<std::string> seeds = {}) {
  Config config = FastConfig(name, std::move(seeds));
  config.bootstrap_expect = expect;
  return config;
}

TEST(NodeBootstrapTest, HasJoinedWhenSoManyAreThere) {
  auto alpha = MustStart(Expecting(3, "alpha"));
  const std::string seed = alpha->local().ToString();
  auto beta = MustStart(Expecting(3, "beta", {seed}));
  ASSERT_TRUE(WaitFor([&] { return alpha->Members().Alive().size() == 2; }));
  const absl::Status two = alpha->WaitJoined(0s);
  EXPECT_TRUE(absl::IsDeadlineExceeded(two));
  EXPECT_THAT(std::string(two.message()), HasSubstr("only 2 of 3 members are there"));
  auto gamma = MustStart(Expecting(3, "gamma", {seed}));
  EXPECT_TRUE(alpha->WaitJoined(60s).ok());
  EXPECT_TRUE(beta->WaitJoined(60s).ok());
  EXPECT_TRUE(gamma->WaitJoined(60s).ok());
  EXPECT_EQ(gamma->contact(), (Contact{3, 3, false}));
}

TEST(NodeBootstrapTest, OneIsEnoughIfOneIsExpected) {
  auto alpha = MustStart(Expecting(1, "alpha"));
  EXPECT_TRUE(alpha->WaitJoined(0s).ok());
  auto beta = MustStart(Expecting(0, "beta"));
  EXPECT_TRUE(absl::IsDeadlineExceeded(beta->WaitJoined(0s)));
}

TEST(NodeBootstrapTest, SaysWhatBecameOfEachSeed) {
  const std::string dead = "127.0.0.1:1";
  auto alpha = MustStart(Expecting(2, "alpha", {dead, "nowhere.invalid:7946"}),
                         {.log = {}, .resolve = [](const std::string&) -> absl::StatusOr<std::vector<Address>> {
                            return absl::UnavailableError("no such host");
                          }});
  absl::Status status;
  EXPECT_TRUE(WaitFor([&] {
    status = alpha->WaitJoined(0s);
    const std::string text(status.message());
    return text.find("127.0.0.1:1: ") != text.npos && text.find("nowhere.invalid") != text.npos;
  })) << status;
  EXPECT_TRUE(absl::IsDeadlineExceeded(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("only 1 of 2 members are there after 0 s"));
}

// The state is to be read at any time, and not only when it changes.
TEST(NodeBootstrapTest, IsIsolatedWhileTooFewAreThere) {
  Config config = Expecting(2, "alpha");
  config.isolation_after = 200ms;
  EventLog log;
  auto alpha = MustStart(config);
  const auto watch = alpha->Subscribe(log.Handler());
  EXPECT_TRUE(WaitFor([&] { return alpha->contact().isolated; }));
  EXPECT_EQ(alpha->contact(), (Contact{1, 2, true}));
  EXPECT_TRUE(WaitFor([&] { return log.Count(EventKind::kIsolated, "alpha") == 1; }));
  auto beta = MustStart(Expecting(2, "beta", {alpha->local().ToString()}));
  EXPECT_TRUE(WaitFor([&] { return log.Count(EventKind::kRejoined, "alpha") == 1; }));
  EXPECT_EQ(alpha->contact(), (Contact{2, 2, false}));
  EXPECT_TRUE(WaitFor([&] { return alpha->Members().contact() == alpha->contact(); }));
}

}  // namespace
}  // namespace nekton
