// Links that work one way only, between some only, or hardly: nobody who is well is condemned for them, and who has them
// does not come and go.
#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

#include "tests/link_faults.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kSeeds = 20;

// Two of eight cannot talk, or one of them not to the other. Ten minutes; how many failure events.
std::size_t CutPair(std::uint64_t seed, bool both_ways, const Config& config) {
  LinkFaults group(8, 0, seed, config);
  const SimId a = static_cast<SimId>(seed % 8);
  const SimId b = static_cast<SimId>((seed + 1 + seed / 8 % 7) % 8);
  group.cluster.CutOneWay(a, b);
  if (both_ways) group.cluster.CutOneWay(b, a);
  group.cluster.RunFor(10min);
  EXPECT_EQ(group.cluster.member(a).alive(), 8u);
  return group.healthy_failed + group.healthy_suspected;
}

TEST(AsymmetricScenario, ACutPairIsNoReasonToSuspectAnybody) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    for (const bool both_ways : {false, true}) {
      EXPECT_EQ(CutPair(seed, both_ways, Config::Lan()), 0u) << "seed " << seed << " both ways " << both_ways;
    }
  }
}

// It is the relays that see to it.
TEST(AsymmetricScenario, WithoutRelaysACutPairSuspectsEachOther) {
  Config config = Config::Lan();
  config.relays = 0;
  EXPECT_GT(CutPair(1, true, config), 0u);
}

// One of eight is not heard by half of the others, or does not hear them: it reaches everybody through the rest.
TEST(AsymmetricScenario, HalfOfTheLinksOfAMemberAreEnough) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    for (const Way way : {Way::kIn, Way::kOut}) {
      LinkFaults group(8, 1, seed);
      for (SimId id = 0; id < 4; ++id) {
        way == Way::kIn ? group.cluster.CutOneWay(id, 7) : group.cluster.CutOneWay(7, id);
      }
      group.cluster.RunFor(10min);
      EXPECT_EQ(group.healthy_failed + group.sick_failed, 0u) << "seed " << seed;
    }
  }
}

// One that hears nobody, and one that nobody hears, are removed, once; and nobody else is, where links are good. (They
// themselves are alone: after a minute without a word they take the others for dead, and cannot know better.)
TEST(AsymmetricScenario, AMemberThatIsOneWayIsRemovedAndNobodyElse) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    for (const Way way : {Way::kIn, Way::kOut}) {
      LinkFaults group(8, 1, seed);
      group.Flip(way, 10min, 0s);
      EXPECT_EQ(group.healthy_failed_at_healthy, 0u) << "seed " << seed;
      EXPECT_EQ(group.GoneCount(), 1u) << "seed " << seed;
      EXPECT_EQ(group.comebacks.size(), 0u) << "seed " << seed;
      group.cluster.RunFor(20s);
      EXPECT_TRUE(group.cluster.Converge(10s)) << "seed " << seed << ": the first return is not put off";
    }
  }
}

// ---- 80 % loss in both directions. ----

std::size_t ComebacksOfLossyMembers(bool await_answers) {
  std::size_t comebacks = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Config config = Config::Lan();
    config.rules.await_answers = await_answers;
    LinkFaults group(32, 4, seed, config);
    group.Lose(0.8, Way::kIn);
    group.Lose(0.8, Way::kOut);
    group.cluster.RunFor(10min);
    EXPECT_EQ(group.healthy_failed, 0u) << "seed " << seed;
    comebacks += group.comebacks.size();
  }
  return comebacks;
}

TEST(AsymmetricScenario, MembersThatHardlyHearDoNotTakeEachOtherForDead) {
  EXPECT_LE(ComebacksOfLossyMembers(true), 20u) << "in five runs";
  EXPECT_GT(ComebacksOfLossyMembers(false), 40u) << "without rule J";
}

// ---- Flip-flop. ----

TEST(AsymmetricScenario, AMemberThatComesAndGoesComesBackOnce) {
  for (const bool earn_the_return : {true, false}) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      for (const Way way : {Way::kIn, Way::kOut}) {
        Config config = Config::Lan();
        config.rules.earn_the_return = earn_the_return;
        LinkFaults group(32, 2, seed, config);
        for (int cycle = 0; cycle < 10; ++cycle) group.Flip(way, 20s, 20s);
        EXPECT_EQ(group.healthy_failed, 0u) << "seed " << seed;
        if (!earn_the_return) {
          EXPECT_GE(group.comebacks.size(), 16u) << "seed " << seed;
          continue;
        }
        for (const SimId id : {30u, 31u}) {
          EXPECT_EQ(group.ComebacksOf(id), 1u) << "seed " << seed << " n" << id;
          EXPECT_TRUE(group.Gone(id)) << "seed " << seed << " n" << id;
        }
        group.cluster.RunFor(5min);  // its link is good now, for longer than any wait
        EXPECT_TRUE(group.cluster.Converge(30s)) << "seed " << seed;
      }
    }
  }
}

// The first split heals at once, those that follow when the links have proved themselves; and without a storm.
TEST(AsymmetricScenario, ASplitThatComesAgainHealsLater) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Cluster c({.nodes = 16, .seed = seed});
    ASSERT_TRUE(c.Converge(30s));
    for (int time = 0; time < 3; ++time) {
      c.Partition({{12, 13, 14, 15}});
      c.RunFor(30s);
      c.Heal();
      const Duration limit = time == 0 ? 10s : 150s;  // one outage may count twice: 30 to 120 s without trouble
      const std::uint64_t before = c.sim().counters().datagrams_sent;
      const Duration healed = c.now();
      EXPECT_TRUE(c.Converge(limit)) << "seed " << seed << " time " << time;
      const double seconds = std::chrono::duration<double>(c.now() - healed).count() + 1;
      EXPECT_LE(static_cast<double>(c.sim().counters().datagrams_sent - before) / seconds / 16, 50)
          << "nobody answers answers; seed " << seed << " time " << time;
    }
  }
}

}  // namespace
}  // namespace nekton
