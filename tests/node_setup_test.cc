#include "transport/node_setup.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/node_fixture.h"

namespace nekton {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

Address At(const char* text) { return Address::Parse(text).value(); }

NodePlan Plan(const std::string& bind, std::vector<std::string> seeds = {}, const std::string& advertise = "") {
  Config config = FastConfig("alpha", std::move(seeds));
  config.bind = bind;
  config.advertise = advertise;
  const auto plan = PlanNode(config);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *plan;
}

TEST(NodeSetupTest, GenerationAndSeedAreFilledInOnlyWhereTheyAreMissing) {
  const NodePlan one = Plan("127.0.0.1:0"), two = Plan("127.0.0.1:0");
  EXPECT_GT(one.config.generation, 1600000000000U) << "milliseconds since 1970";
  EXPECT_GE(two.config.generation, one.config.generation);
  EXPECT_NE(one.config.seed, two.config.seed);
  Config config = FastConfig("alpha");
  config.generation = 5;
  config.seed = 6;
  EXPECT_EQ(PlanNode(config)->config.generation, 5U);
  EXPECT_EQ(PlanNode(config)->config.seed, 6U);
}

// Otherwise it would be suspected for ever, and nobody would know why.
TEST(NodeSetupTest, ALoopbackBindWithASeedElsewhereIsAMistakeUnlessAnotherAddressIsAdvertised) {
  Config config = FastConfig("", {"127.0.0.1:1", "198.51.100.9:7946"});
  const std::string message(PlanNode(config).status().message());
  EXPECT_THAT(message, HasSubstr("name"));
  EXPECT_THAT(message, HasSubstr("bind = \"127.0.0.1:0\": seed 198.51.100.9:7946"));
  config.name = "alpha";
  config.advertise = "198.51.100.1:17946";
  EXPECT_TRUE(PlanNode(config).ok());
  config.advertise = "";
  config.bind = "0.0.0.0:7946";
  EXPECT_TRUE(PlanNode(config).ok());
}

TEST(NodeSetupTest, WhatIsAdvertisedAndWhatIsSaidAboutIt) {
  const std::vector<Address> one = {At("192.0.2.1:0"), At("127.0.0.1:0")};
  const std::vector<Address> two = {At("192.0.2.1:0"), At("203.0.113.1:0"), At("127.0.0.1:0")};
  const std::vector<Address> none = {At("127.0.0.1:0")};

  auto reach = ChooseAdvertised(Plan("0.0.0.0:0", {}, "198.51.100.9:17946"), At("0.0.0.0:7946"), two);
  EXPECT_EQ(reach.advertised, At("198.51.100.9:17946"));
  EXPECT_THAT(reach.lines, IsEmpty());

  reach = ChooseAdvertised(Plan("127.0.0.1:0"), At("127.0.0.1:33"), two);
  EXPECT_EQ(reach.advertised, At("127.0.0.1:33"));
  EXPECT_THAT(reach.lines, IsEmpty());

  reach = ChooseAdvertised(Plan("0.0.0.0:0"), At("0.0.0.0:7946"), one);
  EXPECT_EQ(reach.advertised, At("192.0.2.1:7946"));
  ASSERT_EQ(reach.lines.size(), 1U);
  EXPECT_EQ(reach.lines[0].first, LogLevel::kInfo);
  EXPECT_THAT(reach.lines[0].second, HasSubstr("others are told 192.0.2.1:7946"));

  reach = ChooseAdvertised(Plan("0.0.0.0:0"), At("0.0.0.0:7946"), two);
  ASSERT_EQ(reach.lines.size(), 1U);
  EXPECT_EQ(reach.lines[0].first, LogLevel::kWarning) << "a guess";

  reach = ChooseAdvertised(Plan("0.0.0.0:0", {"192.0.2.7:7946"}), At("0.0.0.0:7946"), none);
  EXPECT_EQ(reach.advertised, At("127.0.0.1:7946"));
  ASSERT_EQ(reach.lines.size(), 1U);
  EXPECT_EQ(reach.lines[0].first, LogLevel::kWarning);
  EXPECT_THAT(reach.lines[0].second, HasSubstr("192.0.2.7:7946 cannot answer it"));
}

}  // namespace
}  // namespace nekton
