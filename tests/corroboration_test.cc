// The members that look at a suspect when they first hear of it.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cluster.h"
#include "tests/engine_holds.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

TEST(Corroboration, CostsThreeRoundsAtAnySize) {
  for (const std::size_t nodes : {8u, 32u, 128u}) {
    std::uint64_t rounds = 0;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      Cluster c({.nodes = nodes, .seed = seed});
      ASSERT_TRUE(c.Converge(60s));
      c.RunFor(5s);
      c.Crash(3);
      ASSERT_TRUE(c.RunUntil([&] { return static_cast<bool>(c.AllSee(3, MemberStatus::kInactive)); }, 30s));
      // Who hears of another accuser first leaves that one out: one more at most.
      EXPECT_LE(c.Sum(Counter::kCorroborations), 4u) << nodes;
      rounds += c.Sum(Counter::kCorroborations);
    }
    EXPECT_GE(rounds, 10u) << nodes << ": some are at it already by a turn of their own";
  }
}

// Three that look collect the confirmations that make the hold as short as it gets.
TEST(Corroboration, ADeadMemberIsKnownSooner) {
  std::array<Duration, 2> sum{};
  for (const bool on : {false, true}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Config config = Config::Lan();
      config.corroborators = on ? 3 : 0;
      Cluster c({.nodes = 32, .seed = seed, .config = config});
      ASSERT_TRUE(c.Converge(60s));
      c.RunFor(5s);
      const Duration at = c.now();
      c.Crash(3);
      ASSERT_TRUE(c.RunUntil([&] { return static_cast<bool>(c.AllSee(3, MemberStatus::kInactive)); }, 30s));
      sum[on] += c.now() - at;
    }
  }
  EXPECT_LT(sum[1] / 20, sum[0] / 20 - 300ms);
}

// From the first suspicion until another member has K confirmations of it.
std::vector<Duration> ConfirmationTimes(std::size_t nodes, std::uint32_t corroborators) {
  std::vector<Duration> times;
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    Config config = Config::Lan();
    config.corroborators = corroborators;
    Cluster c({.nodes = nodes, .seed = seed, .config = config});
    EXPECT_TRUE(c.Converge(60s));
    c.RunFor(5s + seed * 67ms);
    c.Crash(3);
    EXPECT_TRUE(c.RunUntil([&] { return c.Count({.kind = EventKind::kSuspected, .subject = 3}) > 0; }, 30s));
    const SimEvent first = c.Events({.kind = EventKind::kSuspected, .subject = 3}).front();
    const SimId hearer = first.member == 7 ? 9 : 7;
    const auto confirmations = [&] {
      const auto why = c.member(hearer).Explain(c.sim().Clock(hearer), c.sim().name(3));
      return why.ok() && why->why.hold.has_value() ? why->why.hold->confirmations : 0u;
    };
    for (int steps = 0; steps < 600 && confirmations() < config.confirmers; ++steps) c.RunFor(10ms);
    times.push_back(c.now() - first.at);
  }
  std::sort(times.begin(), times.end());
  return times;
}

TEST(Corroboration, ADeadMemberHasItsConfirmationsWithinOneAndAHalfPeriods) {
  for (const std::size_t nodes : {16u, 64u}) {
    const std::vector<Duration> with = ConfirmationTimes(nodes, 3);
    const std::vector<Duration> without = ConfirmationTimes(nodes, 0);
    EXPECT_LE(with[with.size() / 2], 1500ms) << nodes;
    EXPECT_GE(with.front(), 500ms) << "each has probed for a period of its own";
    EXPECT_GT(without[without.size() / 2], 1500ms) << nodes;
  }
}

// One path is bad and nobody may be asked to help: the accuser is wrong, and the corroborators are the ones who tell the
// accused.
TEST(Corroboration, ALiveMemberBehindOneBadPathRefutesWithinTwoRoundTrips) {
  Config config = Config::Lan();
  config.relays = 0;
  config.rules.tell_the_suspect = true;
  Cluster c({.nodes = 16, .seed = 3, .config = config});
  ASSERT_TRUE(c.Converge(60s));
  c.sim().ClearLog();
  c.network().Cut(2, 5);

  ASSERT_TRUE(c.RunUntil([&] { return c.Count(EventKind::kSuspected) > 0; }, 120s));
  const Duration at = c.now();
  c.RunFor(30s);
  EXPECT_EQ(c.Count(EventKind::kFailed), 0u);
  for (const SimEvent& e : c.Events({.kind = EventKind::kRecovered, .until = at + 1s})) {
    // Two round trips, and a round of gossip; the accuser hears of it by others alone, and may be left out of the first.
    EXPECT_LT(e.at - at, 4 * 2ms + (e.member == 5 ? 400ms : 200ms)) << e;
  }
  EXPECT_GE(c.Count({.kind = EventKind::kRecovered, .until = at + 1s}), 1u);
}

// How many of those that corroborate a crash are of the accuser's zone ('h'), and how many are elsewhere ('e').
std::map<char, std::uint64_t> ZonesOfCorroborators(const std::string& zones, std::uint64_t seeds) {
  std::map<char, std::uint64_t> looked;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Cluster c({.nodes = zones.size(), .seed = seed});
    EXPECT_TRUE(c.Converge(60s));
    for (SimId id = 0; id < zones.size(); ++id) {
      EXPECT_TRUE(c.sim().Order(id, SetTag{"zone", std::string(1, zones[id])}).ok());
    }
    c.RunFor(10s);
    const auto counts = [&] {
      std::vector<std::uint64_t> all;
      for (SimId id = 0; id < zones.size(); ++id) {
        all.push_back(c.sim().live(id) ? c.member(id).counters()[Counter::kCorroborations] : 0);
      }
      return all;
    };
    const std::vector<std::uint64_t> before = counts();
    c.Crash(3);
    EXPECT_TRUE(c.RunUntil([&] { return static_cast<bool>(c.AllSee(3, MemberStatus::kInactive)); }, 30s));
    const std::vector<SimEvent> first = c.Events({.kind = EventKind::kSuspected, .subject = 3});
    if (first.empty() || !first[0].event.cause.own) ADD_FAILURE();
    const char accuser = zones[first[0].member];
    const std::vector<std::uint64_t> after = counts();
    std::uint64_t rounds = 0;
    for (SimId id = 0; id < zones.size(); ++id) {
      looked[zones[id] == accuser ? 'h' : 'e'] += after[id] - before[id];
      rounds += after[id] - before[id];
    }
    EXPECT_LE(rounds, 4u);
  }
  return looked;
}

TEST(Corroboration, IsDoneByMembersOfOtherZonesThanTheAccusersWhereThereAreAny) {
  const auto three = ZonesOfCorroborators("abcabcabcabcabcabcabcabc", 12);
  EXPECT_GE(three.at('e'), 24u) << "three each, some are at it by a turn of their own";
  EXPECT_LE(three.count('h') == 0 ? 0 : three.at('h'), 3u) << "who heard of another accuser first";
  const auto one = ZonesOfCorroborators("aaaaaaaaaaaaaaaaaaaaaaaa", 4);
  EXPECT_GE(one.at('h'), 8u) << "where all are of one zone it is done as ever";
  // Two are elsewhere, so one of the accuser's own zone completes the three.
  const auto few = ZonesOfCorroborators("aaaaaaaaaaaaaaaaaaaaaabb", 12);
  EXPECT_GE(few.at('e'), 12u);
  EXPECT_GE(few.at('h'), 8u);
}

}  // namespace
}  // namespace nekton
