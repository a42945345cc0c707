// Heartbeats over lossy links for hours and days of virtual time: nobody who lives is given up.
#include <chrono>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "tests/cluster.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

struct Tally {
  std::uint64_t suspected = 0;  // committed
  std::uint64_t failed = 0;
  std::uint64_t asked = 0;  // convictions: heartbeats outside the rhythm that ask
};

// `hours` of a group that has met, at this loss; nobody stops.
Tally Endure(const Config& config, std::size_t nodes, double loss, int hours, std::uint64_t seed) {
  Tally tally;
  Config with = config;
  with.seeds = {"10.0.0.1:7946", "10.0.0.2:7946"};
  Cluster c({.nodes = nodes, .seed = seed, .config = with});
  EXPECT_TRUE(c.Converge(60s));
  c.Lose(loss);
  c.RunFor(std::chrono::hours(hours));
  tally.suspected = c.Count(EventKind::kSuspected);
  tally.failed = c.Count(EventKind::kFailed);
  tally.asked = c.Sum(Counter::kConvictions);
  EXPECT_GT(c.sim().counters().of(Drop::kLoss), 100u) << "there was no loss";
  c.Lose(0);
  EXPECT_TRUE(c.Converge(200s)) << seed;
  return tally;
}

void Add(Tally& sum, const Tally& one) {
  sum.suspected += one.suspected;
  sum.failed += one.failed;
  sum.asked += one.asked;
}

void Report(const std::string& what, const Tally& sum) {
  testing::Test::RecordProperty(what + "_suspected", std::to_string(sum.suspected));
  testing::Test::RecordProperty(what + "_convictions", std::to_string(sum.asked));
  std::cout << what << ": " << sum.suspected << " SUSPECT, " << sum.failed << " INACTIVE, " << sum.asked
            << " convictions\n";
}

TEST(HeartbeatEndurance, ThePairLosesOnePercentForADay) {
  for (const DetectorKind detector : {DetectorKind::kFixed, DetectorKind::kPhi}) {
    Tally sum;
    Config config = Config::Pair();
    config.detector = detector;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) Add(sum, Endure(config, 2, 0.01, 24, seed));
    Report(detector == DetectorKind::kFixed ? "pair_fixed" : "pair_phi", sum);
    EXPECT_EQ(sum.failed, 0u);
  }
}

TEST(HeartbeatEndurance, TheMeshLosesFivePercentForHours) {
  for (const DetectorKind detector : {DetectorKind::kFixed, DetectorKind::kPhi}) {
    for (const std::size_t nodes : {2u, 8u}) {
      Tally sum;
      Config config = Config::Mesh();
      config.detector = detector;
      for (std::uint64_t seed = 1; seed <= 8; ++seed) Add(sum, Endure(config, nodes, 0.05, 12, seed));
      Report((detector == DetectorKind::kFixed ? "mesh_fixed_of_" : "mesh_phi_of_") + std::to_string(nodes), sum);
      EXPECT_EQ(sum.failed, 0u);
      EXPECT_GT(sum.asked, 0u) << "heartbeats are lost now and then";
    }
  }
}

// Longer apart than tombstones are kept: both sides have forgotten each other.
TEST(HeartbeatEndurance, WhoWasApartForMoreThanADayIsMetAgain) {
  for (const bool pair : {false, true}) {
    Config config = pair ? Config::Pair() : Config::Mesh();
    config.seeds = {"10.0.0.1:7946", "10.0.0.2:7946"};
    Cluster c({.nodes = pair ? 2u : 4u, .seed = 3, .config = config});
    ASSERT_TRUE(c.Converge(60s));
    c.RunFor(1h);
    c.Partition({{1}});
    c.RunFor(25h);
    EXPECT_EQ(c.Sees(0, 1), std::nullopt);
    EXPECT_EQ(c.Sees(1, 0), std::nullopt);
    const Duration healed = c.now();
    c.Heal();
    EXPECT_TRUE(c.Converge(60s));
    c.RunFor(1h);
    EXPECT_EQ(c.Count({.kind = EventKind::kSuspected, .since = healed}), 0u);
  }
}

}  // namespace
}  // namespace nekton
