// Every rule of StmConfig at its edges, and the shipped settings.
#include "stm/stm_config.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace nekton {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// The defaults with `change` made.
StmConfig With(const std::function<void(StmConfig&)>& change) {
  StmConfig config;
  change(config);
  return config;
}

TEST(StmConfig, DefaultsAreValidAndThoseOfSwim) {
  const StmConfig config;
  EXPECT_TRUE(config.Validate().ok());
  EXPECT_EQ(config.demote_threshold, 5u);
  EXPECT_EQ(config.rumour_weight, config.demote_threshold);  // one rumour commits
  EXPECT_TRUE(config.verdicts);
  EXPECT_EQ(config.revive, Revive::kRefutation);
  EXPECT_EQ(config.max_future_skew, seconds(30));
  EXPECT_EQ(config.max_age, seconds(90));
}

TEST(StmConfig, TheMeshIsValidAndThatOfItsSource) {
  EXPECT_TRUE(kMeshStm.Validate().ok());
  EXPECT_EQ(kMeshStm.demote_threshold, 3u);
  EXPECT_EQ(kMeshStm.promote_threshold, 2u);
  EXPECT_EQ(kMeshStm.recovery_threshold, 1u);
  EXPECT_EQ(kMeshStm.recovery_hold, seconds(90));
  EXPECT_EQ(kMeshStm.rumour_weight, 1u);  // as many observers as signals of our own
  EXPECT_FALSE(kMeshStm.verdicts);
  EXPECT_EQ(kMeshStm.revive, Revive::kHealthy);
  EXPECT_EQ(kMeshStm.max_future_skew, seconds(30));
  EXPECT_EQ(kMeshStm.max_age, seconds(90));
  EXPECT_EQ(kMeshStm.max_local_pause, seconds(2));
}

TEST(StmConfig, ThePairIsValidAndDecidesByItself) {
  EXPECT_TRUE(kPairStm.Validate().ok());
  EXPECT_EQ(kPairStm.demote_threshold, 1u);
  EXPECT_EQ(kPairStm.promote_threshold, 1u);
  EXPECT_EQ(kPairStm.rumour_weight, 0u);
  EXPECT_FALSE(kPairStm.verdicts);
  EXPECT_EQ(kPairStm.revive, Revive::kJoinOnly);
  EXPECT_EQ(kPairStm.max_local_pause, milliseconds(500));
}

TEST(StmConfig, TheEdgesAreValid) {
  const std::vector<std::function<void(StmConfig&)>> good{
      [](StmConfig& c) { c.demote_threshold = c.rumour_weight = 1; },
      [](StmConfig& c) { c.demote_threshold = c.rumour_weight = 1'000'000; },
      [](StmConfig& c) { c.promote_threshold = 1; },
      [](StmConfig& c) { c.promote_threshold = 1'000'000; },
      [](StmConfig& c) { c.recovery_threshold = 1; },
      [](StmConfig& c) { c.recovery_threshold = 1'000'000; },
      [](StmConfig& c) { c.recovery_hold = {}; },
      [](StmConfig& c) { c.recovery_hold = StmConfig::kForEver; },
      [](StmConfig& c) { c.rumour_weight = 0; },
      [](StmConfig& c) { c.demote_threshold = 8, c.rumour_weight = 1; },
      [](StmConfig& c) { c.max_future_skew = {}; },
      [](StmConfig& c) { c.max_future_skew = StmConfig::kForEver / 4; },
      [](StmConfig& c) { c.max_age = nanoseconds(1); },
      [](StmConfig& c) { c.max_age = StmConfig::kForEver / 4; },
      [](StmConfig& c) { c.max_local_pause = nanoseconds(1); },
      [](StmConfig& c) { c.max_local_pause = StmConfig::kForEver; },
      [](StmConfig& c) { c.max_records = 2; },
      [](StmConfig& c) { c.max_records = 10'000'000; },
      [](StmConfig& c) { c.revive = Revive::kJoinOnly; },
  };
  for (std::size_t i = 0; i < good.size(); ++i) EXPECT_TRUE(With(good[i]).Validate().ok()) << i;
}

TEST(StmConfig, EachMistakeIsNamed) {
  const std::vector<std::pair<std::string, std::function<void(StmConfig&)>>> bad{
      {"demote_threshold = 0: ", [](StmConfig& c) { c.demote_threshold = c.rumour_weight = 0; }},
      {"demote_threshold = 1000001: ", [](StmConfig& c) { c.demote_threshold = c.rumour_weight = 1'000'001; }},
      {"promote_threshold = 0: ", [](StmConfig& c) { c.promote_threshold = 0; }},
      {"promote_threshold = 1000001: ", [](StmConfig& c) { c.promote_threshold = 1'000'001; }},
      {"recovery_threshold = 0: ", [](StmConfig& c) { c.recovery_threshold = 0; }},
      {"recovery_threshold = 1000001: ", [](StmConfig& c) { c.recovery_threshold = 1'000'001; }},
      {"recovery_hold = -1e-09 s: ", [](StmConfig& c) { c.recovery_hold = -nanoseconds(1); }},
      {"rumour_weight = 6: must not be above demote_threshold = 5", [](StmConfig& c) { c.rumour_weight = 6; }},
      {"rumour_weight = 1: the 8 observers that are kept must reach demote_threshold = 9",
       [](StmConfig& c) { c.demote_threshold = 9, c.rumour_weight = 1; }},
      {"revive = 3: ", [](StmConfig& c) { c.revive = static_cast<Revive>(3); }},
      {"max_future_skew = -1e-09 s: ", [](StmConfig& c) { c.max_future_skew = -nanoseconds(1); }},
      {"max_future_skew = ", [](StmConfig& c) { c.max_future_skew = StmConfig::kForEver / 4 + nanoseconds(1); }},
      {"max_age = 0 s: ", [](StmConfig& c) { c.max_age = {}; }},
      {"max_age = ", [](StmConfig& c) { c.max_age = StmConfig::kForEver / 4 + nanoseconds(1); }},
      {"max_local_pause = 0 s: ", [](StmConfig& c) { c.max_local_pause = {}; }},
      {"max_records = 1: ", [](StmConfig& c) { c.max_records = 1; }},
      {"max_records = 10000001: ", [](StmConfig& c) { c.max_records = 10'000'001; }},
  };
  for (const auto& [told, change] : bad) {
    const absl::Status status = With(change).Validate();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << told;
    const std::string text(status.message());
    EXPECT_EQ(text.substr(0, told.size()), told);
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  }
}

TEST(StmConfig, AllMistakesAreToldAtOnce) {
  StmConfig config{.demote_threshold = 0, .promote_threshold = 0, .recovery_threshold = 0};
  config.recovery_hold = config.max_future_skew = config.max_age = config.max_local_pause = -seconds(1);
  config.rumour_weight = 1;
  config.revive = static_cast<Revive>(9);
  config.max_records = 0;
  const std::string text(config.Validate().message());
  for (const char* field :
       {"demote_threshold", "promote_threshold", "recovery_threshold", "recovery_hold", "rumour_weight", "revive",
        "max_future_skew", "max_age", "max_local_pause", "max_records"}) {
    EXPECT_NE(text.find(std::string(field) + " = "), std::string::npos) << field;
  }
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 9);
}

TEST(StmConfig, EqualsFieldByField) {
  EXPECT_EQ(StmConfig(), StmConfig());
  EXPECT_FALSE(StmConfig() == With([](StmConfig& c) { c.verdicts = false; }));
  EXPECT_FALSE(kMeshStm == kPairStm);
}

}  // namespace
}  // namespace nekton
