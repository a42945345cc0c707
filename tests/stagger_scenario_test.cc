// Staggered probing in a group: no crash is unprobed for longer than a period.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "swim/wire.h"
#include "tests/cluster.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

Config Staggered() {
  Config config = Config::Lan();
  config.probing = Probing::kStaggered;
  return config;
}

bool KnownDead(const Cluster& c, const std::vector<SimId>& gone) {
  for (const SimId id : gone) {
    for (SimId at = 0; at < c.size(); ++at) {
      if (std::find(gone.begin(), gone.end(), at) != gone.end()) continue;
      const auto seen = c.Sees(at, id);
      if (seen.has_value() && *seen != MemberStatus::kInactive) return false;
    }
  }
  return true;
}

// A period until it is probed, one for the round; then the hold and what it takes to tell all.
TEST(StaggerScenario, EveryCrashIsSuspectedWithinTwoPeriods) {
  Duration longest{};
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Cluster c({.nodes = 24, .seed = seed, .config = Staggered()});
    ASSERT_TRUE(c.Converge(60s));
    c.RunFor(15s + seed * 83ms);
    for (const SimId victim : {3u, 9u, 14u}) {
      const Duration at = c.now();
      c.Crash(victim);
      ASSERT_TRUE(c.RunUntil([&] { return KnownDead(c, {victim}); }, 30s));
      const auto first = c.First({.kind = EventKind::kSuspected, .subject = victim, .since = at});
      ASSERT_TRUE(first.has_value());
      EXPECT_LE(*first - at, 2s + 70ms) << "seed " << seed << ", victim " << victim;
      longest = std::max(longest, *first - at);
      c.Restart(victim);
      ASSERT_TRUE(c.Converge(60s));
      c.RunFor(12s + seed * 31ms);
    }
  }
  EXPECT_GT(longest, 1500ms);
}

TEST(StaggerScenario, AMemberAndAllItsObserversMayDieAtOnce) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    Cluster c({.nodes = 24, .seed = seed, .config = Staggered()});
    ASSERT_TRUE(c.Converge(60s));
    c.RunFor(12s);
    std::multimap<std::uint64_t, SimId> ring;
    const auto id_of = [&](SimId id) {
      const MemberPtr info = c.member(id).Self();
      return MemberId(info->name, info->key.generation);
    };
    for (SimId id = 0; id < c.size(); ++id) ring.emplace(id_of(id) - id_of(5), id);
    std::vector<SimId> gone;
    for (const auto& [distance, id] : ring) {
      if (gone.size() < 6) gone.push_back(id);
    }
    ASSERT_EQ(gone.front(), 5u);
    for (const SimId id : gone) c.Crash(id);
    EXPECT_TRUE(c.RunUntil([&] { return KnownDead(c, gone); }, 25s)) << "seed " << seed;
  }
}

TEST(StaggerScenario, CostsWhatRandomProbingCosts) {
  for (const std::size_t nodes : {2u, 3u, 16u}) {
    std::array<std::uint64_t, 2> rounds{};
    std::array<std::uint64_t, 2> bytes{};
    for (const bool staggered : {false, true}) {
      Cluster c({.nodes = nodes, .seed = 4, .config = staggered ? Staggered() : Config::Lan()});
      ASSERT_TRUE(c.Converge(60s));
      c.RunFor(60s);
      const std::uint64_t rounds_before = c.Sum(Counter::kRounds);
      const std::uint64_t bytes_before = c.Sum(Counter::kProbeBytesSent);
      c.RunFor(100s);
      rounds[staggered] = c.Sum(Counter::kRounds) - rounds_before;
      bytes[staggered] = c.Sum(Counter::kProbeBytesSent) - bytes_before;
    }
    EXPECT_NEAR(static_cast<double>(rounds[1]), static_cast<double>(rounds[0]), static_cast<double>(nodes));
    EXPECT_LE(bytes[1], bytes[0] + 60 * nodes) << "shifts are asked for only until the turns are spread";
  }
}

TEST(StaggerScenario, NobodyFailsAtFifteenPercentLoss) {
  Cluster c({.nodes = 12, .seed = 8, .config = Staggered()});
  ASSERT_TRUE(c.Converge(60s));
  c.Lose(0.15);
  c.RunFor(600s);
  EXPECT_EQ(c.Count(EventKind::kFailed), 0u);
}

}  // namespace
}  // namespace nekton
