// A marginal member must not go up and down all day: every change of state needs a full run of its threshold.
#include <chrono>
#include <cstdint>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/cluster.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

constexpr SimId kX = 0;
constexpr SimId kB = 1;

// X and B, thresholds 3 and 3. What X sees of B is handed in; a period is an hour and the link is cut, so that nothing
// else speaks.
class Marginal {
 public:
  explicit Marginal(std::uint64_t seed) : cluster_({.nodes = 2, .seed = seed, .config = Slow()}) {
    EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.Sees(kX, kB).has_value(); }, 60s));
    cluster_.Cut(kX, kB);
    begin_ = cluster_.now();
  }

  // One result after another, 'g' or 'b'; spaces are skipped.
  void Feed(std::string_view results, Duration apart = 1ms) {
    for (const char result : results) {
      if (result == ' ') continue;
      cluster_.RunFor(apart);
      const Observe seen{{{.peer = "n1", .signal = result == 'g' ? Signal::kHealthy : Signal::kSuspect}}};
      EXPECT_TRUE(cluster_.sim().Order(kX, seen).ok());
    }
  }
  MemberStatus status() const { return cluster_.Sees(kX, kB).value(); }
  std::size_t transitions() const {
    std::size_t all = 0;
    for (const EventKind kind : {EventKind::kSuspected, EventKind::kRecovered, EventKind::kFailed}) {
      all += cluster_.Count({.kind = kind, .observer = kX, .subject = kB, .since = begin_});
    }
    return all;
  }

 private:
  static Config Slow() {
    Config config = Config::Lan();
    config.attempts = 3;
    config.rumour_weight = 3;
    config.promote_threshold = 3;
    config.period = 1h;
    config.tolerated_pause = 1h;
    config.members_max = 10;
    config.forget_after = 24h;
    return config;
  }

  Cluster cluster_;
  Duration begin_{};
};

TEST(FieldHysteresis, AlternatingPairsChangeNothing) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Marginal run(seed);
    for (int i = 0; i < 100; ++i) run.Feed("ggbb");
    EXPECT_EQ(run.transitions(), 0u) << seed;
  }
}

TEST(FieldHysteresis, EachChangeNeedsAFullRunOfItsThreshold) {
  Marginal run(1);
  run.Feed("bb");
  EXPECT_EQ(run.status(), MemberStatus::kActive);
  run.Feed("b");
  EXPECT_EQ(run.status(), MemberStatus::kSuspect);
  EXPECT_EQ(run.transitions(), 1u);
  run.Feed("gg b gg");
  EXPECT_EQ(run.status(), MemberStatus::kSuspect);
  run.Feed("g");
  EXPECT_EQ(run.status(), MemberStatus::kActive);
  EXPECT_EQ(run.transitions(), 2u);
}

TEST(FieldHysteresis, AlternatingJustBelowTheThresholdsForTenMinutesChangesNothing) {
  Marginal run(1);
  for (int i = 0; i < 100; ++i) run.Feed("ggg bb g bb", 1s);  // 800 s
  EXPECT_EQ(run.transitions(), 0u);
  run.Feed("bbb");
  EXPECT_EQ(run.transitions(), 1u);
  for (int i = 0; i < 100; ++i) run.Feed("gg b", 2s);  // 600 s
  EXPECT_EQ(run.transitions(), 1u);
  EXPECT_EQ(run.status(), MemberStatus::kSuspect);
}

}  // namespace
}  // namespace nekton
