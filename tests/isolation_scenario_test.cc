// Who is told that it is isolated, and when, in splits of every shape.
#include <algorithm>
#include <chrono>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cluster.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

using Ids = std::vector<SimId>;

Ids Range(SimId from, SimId to) {  // [from, to)
  Ids ids(to - from);
  std::iota(ids.begin(), ids.end(), from);
  return ids;
}

class IsolationScenario : public testing::Test {
 protected:
  // What each of them was told since `since`, in order: "isolated", "rejoined".
  static void ExpectTold(const Cluster& c, const Ids& ids, Duration since, const std::vector<EventKind>& told) {
    for (const SimId id : ids) {
      std::vector<EventKind> heard;
      for (const SimEvent& e : c.Events({.observer = id, .since = since})) {
        if (e.event.kind == EventKind::kIsolated || e.event.kind == EventKind::kRejoined) heard.push_back(e.event.kind);
      }
      EXPECT_EQ(heard, told) << "n" << id;
    }
  }
  static void ExpectNever(const Cluster& c, const Ids& ids, Duration since = {}) { ExpectTold(c, ids, since, {}); }

  // One event of that kind each, within this time, with these numbers.
  static void ExpectOnce(const Cluster& c, EventKind kind, const Ids& ids, Duration from, Duration until,
                         const Contact& contact) {
    for (const SimId id : ids) {
      const auto events = c.Events({.kind = kind, .observer = id, .since = from});
      ASSERT_EQ(events.size(), 1U) << "n" << id << " " << Name(kind);
      EXPECT_LE(events[0].at, until) << "n" << id;
      EXPECT_EQ(events[0].event.contact, contact) << "n" << id << ": " << events[0].event;
    }
  }

  // Splits a converged group, looks who is isolated, heals it, looks who has rejoined.
  static void SplitAndHeal(std::size_t nodes, const std::vector<Ids>& parts, const std::vector<std::uint32_t>& isolated,
                           Duration within, std::uint64_t seed = 1) {
    Cluster c({.nodes = nodes, .seed = seed});
    ASSERT_TRUE(c.Converge(120s));
    c.RunFor(10s);
    ExpectNever(c, Range(0, static_cast<SimId>(nodes)));
    const Duration split = c.now();
    const auto all = static_cast<std::uint32_t>(nodes);
    c.Partition(parts);
    c.RunFor(within);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto size = static_cast<std::uint32_t>(parts[i].size());
      for (const SimId id : parts[i]) {
        const Contact contact = c.member(id).contact();
        EXPECT_EQ(contact.reachable, size) << "n" << id;
        EXPECT_EQ(contact.isolated, isolated[i] != 0) << "n" << id;
        // Who has a majority may forget the rest.
        EXPECT_TRUE(contact.known == all || (contact.known == size && isolated[i] == 0)) << contact.known;
      }
      ExpectTold(c, parts[i], split, isolated[i] != 0 ? std::vector{EventKind::kIsolated} : std::vector<EventKind>{});
      const auto first = c.First({.kind = EventKind::kIsolated, .observer = parts[i].front(), .since = split});
      EXPECT_TRUE(!first.has_value() || *first >= split + 5s);
    }
    const Duration healed = c.now();
    c.Heal();
    ASSERT_TRUE(c.Converge(120s));
    c.RunFor(40s);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (isolated[i] == 0) {
        ExpectNever(c, parts[i], healed);
      } else {
        ExpectTold(c, parts[i], healed, {EventKind::kRejoined});
        EXPECT_GE(*c.First({.kind = EventKind::kRejoined, .since = healed}), healed + 5s);
      }
      for (const SimId id : parts[i]) EXPECT_EQ(c.member(id).contact(), (Contact{all, all, false})) << "n" << id;
    }
  }
};

// Neither half has a majority.
TEST_F(IsolationScenario, HalfAndHalf) { SplitAndHeal(20, {Range(0, 10), Range(10, 20)}, {1, 1}, 60s); }
TEST_F(IsolationScenario, OneMoreThanHalf) { SplitAndHeal(21, {Range(0, 11), Range(11, 21)}, {0, 1}, 60s); }
TEST_F(IsolationScenario, NineToOne) { SplitAndHeal(20, {Range(0, 18), Range(18, 20)}, {0, 1}, 200s); }
TEST_F(IsolationScenario, TheSeedsAreOnTheSmallerSide) { SplitAndHeal(20, {Range(0, 2), Range(2, 20)}, {1, 0}, 200s); }
TEST_F(IsolationScenario, InThree) { SplitAndHeal(21, {Range(0, 7), Range(7, 14), Range(14, 21)}, {1, 1, 1}, 80s); }
TEST_F(IsolationScenario, InThreeOneOfThemLarge) {
  SplitAndHeal(21, {Range(0, 11), Range(11, 20), {20}}, {0, 1, 1}, 200s);
}
TEST_F(IsolationScenario, OneOfAHundred) { SplitAndHeal(100, {{99}, Range(0, 99)}, {1, 0}, 200s); }
// Where few are cut off together, now and then one of them answers the other, and their tables learn it slowly.
TEST_F(IsolationScenario, AFewOfTwentyAreToldOnceAllTheSame) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    for (const SimId few : {3U, 4U, 6U}) SplitAndHeal(20, {Range(0, few), Range(few, 20)}, {1, 0}, 300s, seed);
  }
}
TEST_F(IsolationScenario, ThePairBreaks) { SplitAndHeal(2, {{0}, {1}}, {1, 1}, 30s); }

// Rules A and B would have it wait for a minute and more until it believes that the others are gone. It reaches nobody
// from its first round without a word.
TEST_F(IsolationScenario, ALoneMemberIsToldWithinSecondsWhicheverWayIsCut) {
  for (const int way : {0, 1, 2}) {
    Cluster c({.nodes = 8, .seed = 5});
    ASSERT_TRUE(c.Converge());
    c.RunFor(10s);
    const Duration at = c.now();
    for (SimId other = 0; other < 7; ++other) {
      if (way != 1) c.CutOneWay(7, other);
      if (way != 2) c.CutOneWay(other, 7);
    }
    c.RunFor(3min);
    ExpectTold(c, {7}, at, {EventKind::kIsolated});
    ExpectOnce(c, EventKind::kIsolated, {7}, at + 5s, at + 8s, {1, 8, true});
    ExpectNever(c, Range(0, 7));
    EXPECT_TRUE(c.member(7).contact().isolated) << way;
    const Duration healed = c.now();
    c.Heal();
    ASSERT_TRUE(c.Converge(120s));
    c.RunFor(40s);
    ExpectOnce(c, EventKind::kRejoined, {7}, healed + 5s, healed + 60s, {8, 8, false});
    ExpectNever(c, Range(0, 7));
  }
}

TEST_F(IsolationScenario, ACutThatIsOverBeforeAnythingIsCertainIsTold) {
  Cluster c({.nodes = 8});
  ASSERT_TRUE(c.Converge());
  c.RunFor(10s);
  c.Partition({Range(0, 4), Range(4, 8)});
  c.RunFor(3s);
  c.Heal();
  c.RunFor(1min);
  ExpectNever(c, Range(0, 8));
}

TEST_F(IsolationScenario, TheMajorityDies) {
  for (const Port port : {Port::kSilent, Port::kRefuses}) {
    Cluster c({.nodes = 9});
    ASSERT_TRUE(c.Converge());
    c.RunFor(10s);
    const Duration at = c.now();
    for (SimId id = 4; id < 9; ++id) c.Crash(id, port);
    c.RunFor(2min);
    ExpectOnce(c, EventKind::kIsolated, Range(0, 4), at + 5s, at + 60s, {4, 9, true});
    const Duration again = c.now();
    for (SimId id = 4; id < 9; ++id) c.Restart(id);
    ASSERT_TRUE(c.Converge());
    c.RunFor(10s);
    ExpectTold(c, Range(0, 4), again, {EventKind::kRejoined});
    ExpectOnce(c, EventKind::kRejoined, Range(0, 4), again + 5s, again + 20s, {9, 9, false});
    ExpectNever(c, Range(4, 9), again);
  }
}

TEST_F(IsolationScenario, AMinorityThatDiesIsolatesNobody) {
  Cluster c({.nodes = 9});
  ASSERT_TRUE(c.Converge());
  for (SimId id = 5; id < 9; ++id) c.Crash(id);
  c.RunFor(3min);
  ExpectNever(c, Range(0, 5));
  EXPECT_EQ(c.member(0).contact(), (Contact{5, 5, false})) << "they are forgotten";
}

TEST_F(IsolationScenario, TheMajorityLeaves) {
  Cluster c({.nodes = 9});
  ASSERT_TRUE(c.Converge());
  for (SimId id = 2; id < 9; ++id) c.Leave(id);
  c.RunFor(3min);
  ExpectNever(c, Range(0, 9));
  EXPECT_EQ(c.member(0).contact(), (Contact{2, 2, false}));
}

TEST_F(IsolationScenario, ASplitThatOutlivesTheTombstonesMendsNothing) {
  Cluster c({.nodes = 10});
  ASSERT_TRUE(c.Converge());
  c.RunFor(10s);
  const Duration split = c.now();
  c.Partition({{9}, Range(0, 4), Range(4, 9)});
  c.RunFor(1h);
  EXPECT_EQ(c.member(9).size(), 1U) << "it has forgotten everybody";
  EXPECT_EQ(c.member(9).contact(), (Contact{1, 10, true}));
  EXPECT_EQ(c.member(4).contact(), (Contact{5, 10, true}));
  ExpectTold(c, Range(0, 10), split, {EventKind::kIsolated});
  const Duration healed = c.now();
  c.Heal();
  ASSERT_TRUE(c.Converge(5min));
  c.RunFor(40s);
  ExpectTold(c, Range(0, 10), healed, {EventKind::kRejoined});
  for (SimId id = 0; id < 10; ++id) EXPECT_EQ(c.member(id).contact(), (Contact{10, 10, false})) << id;
}

// What it learns when it joins are the tombstones, too.
TEST_F(IsolationScenario, WhoRestartsOnTheSmallerSideIsIsolatedAgain) {
  Config config = Config::Lan();
  config.seeds = {"10.0.0.1:7946", "10.0.0.7:7946"};  // n0, n6
  Cluster c({.nodes = 9, .config = config});
  ASSERT_TRUE(c.Converge());
  c.RunFor(10s);
  c.Partition({Range(0, 5), Range(5, 9)});
  c.RunFor(1min);
  const Duration at = c.now();
  c.Crash(8);
  c.Restart(8);
  c.RunFor(10s);
  ExpectTold(c, {8}, at, {EventKind::kIsolated});
  EXPECT_EQ(c.member(8).contact(), (Contact{4, 9, true}));
  ExpectNever(c, Range(0, 5));
}

TEST_F(IsolationScenario, WhoseSeedsAreDeadIsNoGroupOfOne) {
  Config config = Config::Lan();
  config.bootstrap_expect = 3;
  Cluster c({.nodes = 3, .config = config, .start = false});
  ASSERT_TRUE(c.sim().Start(1).ok());  // n0 is its seed
  c.RunFor(1min);
  ExpectOnce(c, EventKind::kIsolated, {1}, 5s, 5s, {1, 3, true});
  const Duration at = c.now();
  ASSERT_TRUE(c.sim().Start(0).ok());
  c.RunFor(30s);
  ExpectOnce(c, EventKind::kRejoined, {1}, at + 5s, at + 15s, {2, 3, false});
  ASSERT_TRUE(c.sim().Start(2).ok());
  c.RunFor(30s);
  ExpectTold(c, {1}, {}, {EventKind::kIsolated, EventKind::kRejoined});
  EXPECT_EQ(c.member(2).contact(), (Contact{3, 3, false}));
}

TEST_F(IsolationScenario, APauseOfOurOwnIsNoIsolation) {
  for (const Duration pause : {3s, 20s, 100s}) {
    Cluster c({.nodes = 6});
    ASSERT_TRUE(c.Converge());
    c.RunFor(5s);
    c.Pause(3);
    c.RunFor(pause);
    c.Resume(3);
    ASSERT_TRUE(c.Converge(5min));
    c.RunFor(1min);
    ExpectNever(c, Range(0, 6));
  }
}

TEST_F(IsolationScenario, LossIsNoIsolation) {
  for (const std::size_t nodes : {2U, 3U, 16U}) {
    Cluster c({.nodes = nodes});
    ASSERT_TRUE(c.Converge());
    c.Lose(0.15);
    c.RunFor(30min);
    ExpectNever(c, Range(0, static_cast<SimId>(nodes)));
  }
}

// By the silence of heartbeats; a hold of 90 s, and as long as that silence again.
TEST_F(IsolationScenario, TheMesh) {
  Cluster c({.nodes = 5, .config = Config::Mesh()});
  ASSERT_TRUE(c.Converge(5min));
  c.RunFor(1min);
  const Duration split = c.now();
  c.Partition({Range(0, 2), Range(2, 5)});
  c.RunFor(5min);
  ExpectOnce(c, EventKind::kIsolated, Range(0, 2), split + 140s, split + 220s, {2, 5, true});
  ExpectNever(c, Range(2, 5));
  const Duration healed = c.now();
  c.Heal();
  c.RunFor(5min);
  ExpectTold(c, Range(0, 2), healed, {EventKind::kRejoined});
}

}  // namespace
}  // namespace nekton
