// Keyed broadcasts in simulated groups: each to everybody once, under loss, splits, joins and restarts.
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "swim/random.h"
#include "swim/wire_broadcast.h"
#include "tests/broadcast_tally.h"
#include "tests/cluster.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;
using testing::SizeIs;

void Say(Cluster& c, SimId from, const std::string& key, const std::string& bytes) {
  const absl::Status said = c.sim().Order(from, Broadcast{key, bytes});
  EXPECT_TRUE(said.ok()) << said;
}

TEST(BroadcastScenario, EachReachesAHundredOnceAtFivePercentLoss) {
  Cluster c({.nodes = 100, .seed = 1, .record = false});
  ASSERT_TRUE(c.Converge());
  c.Lose(0.05);
  BroadcastTally tally(c);
  Random random(1);
  for (int i = 0; i < 50; ++i) {
    Say(c, random.Below(100), "k" + std::to_string(i), std::to_string(i));
    c.RunFor(200ms);
  }
  c.RunFor(30s);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(tally.Once("k" + std::to_string(i), std::to_string(i)), 100u) << i;
  EXPECT_EQ(c.sim().counters().stuck_wakes, 0u);
}

// All say the same key at once, and some go on: nobody is told an older one after a newer, and all end with the same.
TEST(BroadcastScenario, ANewerOneReplacesAnOlderInFlight) {
  Cluster c({.nodes = 50, .seed = 2, .record = false});
  ASSERT_TRUE(c.Converge());
  c.Lose(0.1);
  BroadcastTally tally(c);
  for (SimId id = 0; id < 50; ++id) Say(c, id, "k", std::to_string(id));
  for (int i = 100; i < 300; ++i) {
    Say(c, 7, "k", std::to_string(i));
    c.RunFor(5ms);
  }
  ASSERT_TRUE(c.RunUntil([&] { return tally.AllHold("k", "299"); }, 30s));
  std::size_t told = 0;
  for (SimId id = 0; id < 50; ++id) {
    int last = 99;
    for (const auto& delivery : tally.Of(id)) {
      const int value = std::stoi(delivery.bytes);
      if (value < 100) continue;  // before those of n7
      EXPECT_GT(value, last) << id;
      last = value;
      ++told;
    }
  }
  EXPECT_LT(told, 50u * 200u / 2) << "most were overtaken on their way";
  EXPECT_EQ(tally.Twice(), 0u);
}

TEST(BroadcastScenario, OfEqualClocksOneWinsEverywhere) {
  Cluster c({.nodes = 20, .seed = 3, .record = false});
  ASSERT_TRUE(c.Converge());
  BroadcastTally tally(c);
  for (SimId id = 0; id < 20; ++id) Say(c, id, "k", std::to_string(id));
  c.RunFor(10s);
  const std::string winner = tally.Of(0).back().bytes;
  EXPECT_TRUE(tally.AllHold("k", winner));
}

// Too short a split for anybody to be missed: what was said meanwhile comes by the digests.
TEST(BroadcastScenario, WhatAShortSplitLostIsMendedBothWays) {
  Cluster c({.nodes = 30, .seed = 4, .record = false});
  ASSERT_TRUE(c.Converge());
  c.RunFor(10s);
  BroadcastTally tally(c);
  std::vector<std::vector<SimId>> halves(2);
  for (SimId id = 0; id < 30; ++id) halves[id % 2].push_back(id);
  c.Partition(halves);
  Say(c, 4, "even", "e");
  Say(c, 5, "odd", "o");
  c.RunFor(2500ms);
  for (SimId id = 0; id < 30; ++id) EXPECT_FALSE(tally.Has(id, id % 2 == 0 ? "odd" : "even", id % 2 == 0 ? "o" : "e"));
  c.Heal();
  c.RunFor(40s);
  EXPECT_EQ(tally.Once("even", "e"), 30u);
  EXPECT_EQ(tally.Once("odd", "o"), 30u);
  EXPECT_GT(c.Sum(Counter::kBroadcastSyncsSent), 0u);
}

// A long one: both sides have buried each other, and said the same key.
TEST(BroadcastScenario, AfterALongSplitAllHoldTheNewestOfEachKey) {
  Cluster c({.nodes = 30, .seed = 5, .record = false});
  ASSERT_TRUE(c.Converge());
  BroadcastTally tally(c);
  std::vector<std::vector<SimId>> halves(2);
  for (SimId id = 0; id < 30; ++id) halves[id % 2].push_back(id);
  c.Partition(halves);
  c.RunFor(20s);
  Say(c, 4, "k", "e1");
  Say(c, 4, "even", "e");
  c.RunFor(1s);
  Say(c, 6, "k", "e2");
  Say(c, 5, "k", "o1");
  c.RunFor(20s);
  EXPECT_EQ(tally.Once("even", "e"), 15u);
  c.Heal();
  ASSERT_TRUE(c.Converge());
  c.RunFor(20s);
  EXPECT_TRUE(tally.AllHold("k", "e2")) << "it was said by who knew of another";
  EXPECT_EQ(tally.Once("even", "e"), 30u);
  EXPECT_EQ(tally.Twice(), 0u);
}

TEST(BroadcastScenario, WhoComesLaterGetsTheLatestOfEachKeyReplayed) {
  Cluster c({.nodes = 10, .seed = 6, .record = false});
  ASSERT_TRUE(c.Converge());
  BroadcastTally tally(c);
  Say(c, 1, "a", "1");
  Say(c, 1, "a", "2");
  Say(c, 2, "b", "3");
  c.RunFor(10s);
  c.Crash(3);
  c.Restart(3);
  const std::size_t before = tally.Of(3).size();
  const SimId late = c.AddNode();
  ASSERT_TRUE(c.Converge());
  c.RunFor(20s);
  for (const SimId id : {late, SimId{3}}) {
    const std::size_t from = id == 3 ? before : 0;
    std::vector<std::string> told;
    for (std::size_t i = from; i < tally.Of(id).size(); ++i) {
      EXPECT_TRUE(tally.Of(id)[i].replayed);
      told.push_back(tally.Of(id)[i].bytes);
    }
    EXPECT_THAT(told, testing::UnorderedElementsAre("2", "3")) << id;
  }
  for (SimId id = 0; id < 10; ++id) {
    EXPECT_TRUE(id == 3 || !tally.Of(id).back().replayed) << id;
  }
}

// Who speaks before anybody knows it is heard when it joins.
TEST(BroadcastScenario, WhatWasSaidBeforeJoiningIsSpreadByTheJoin) {
  Cluster c({.nodes = 10, .seed = 7, .record = false});
  ASSERT_TRUE(c.Converge());
  BroadcastTally tally(c);
  c.Cut(0, 10);
  const SimId late = c.AddNode();
  Say(c, late, "k", "v");
  c.RunFor(5s);
  EXPECT_EQ(tally.Once("k", "v"), 1u);
  c.Heal();
  ASSERT_TRUE(c.Converge());
  c.RunFor(10s);
  EXPECT_EQ(tally.Once("k", "v"), 11u);
  for (SimId id = 0; id < 10; ++id) EXPECT_FALSE(tally.Of(id).back().replayed) << id;
}

// It costs what it did before, and nobody keeps anything, once all have ended.
TEST(BroadcastScenario, EachEndsEverywhereAndItsCostWithIt) {
  Config config = Config::Lan();
  config.broadcast_keep = 30s;
  Cluster c({.nodes = 20, .seed = 8, .config = config, .record = false});
  ASSERT_TRUE(c.Converge());
  c.RunFor(10s);
  const auto bytes_of_20s = [&] {
    const std::uint64_t before = c.sim().counters().bytes_sent;
    c.RunFor(20s);
    return c.sim().counters().bytes_sent - before;
  };
  const std::uint64_t quiet = bytes_of_20s();
  BroadcastTally tally(c);
  Say(c, 1, "k", "v");
  c.RunFor(5s);
  const std::uint64_t holding = bytes_of_20s();
  EXPECT_GT(holding, quiet + 20 * 19 * kDigestPartSize) << "each ping has a digest";
  EXPECT_LT(holding, quiet + quiet / 5);
  c.RunFor(10s);
  const std::uint64_t syncs = c.Sum(Counter::kBroadcastSyncsSent);
  const std::uint64_t again = bytes_of_20s();
  EXPECT_NEAR(static_cast<double>(again), static_cast<double>(quiet), 0.01 * static_cast<double>(quiet));
  EXPECT_EQ(c.Sum(Counter::kBroadcastSyncsSent), syncs);
  EXPECT_EQ(syncs, 0u) << "it ended everywhere at once, and never differed";
  const SimId late = c.AddNode();
  ASSERT_TRUE(c.Converge());
  EXPECT_THAT(tally.Of(late), IsEmpty());
  EXPECT_EQ(tally.Once("k", "v"), 20u);
}

// A member that was cut off for a moment gets what it lacks, and hardly a byte of what it has.
TEST(BroadcastScenario, AMendCostsWhatDiffers) {
  std::vector<std::uint64_t> cost;
  for (const int lost : {1, 40}) {
    Cluster c({.nodes = 4, .seed = 9, .record = false});
    ASSERT_TRUE(c.Converge());
    BroadcastTally tally(c);
    for (int i = 0; i < 150; ++i) Say(c, 1, "old" + std::to_string(i), std::string(200, 'x'));
    c.RunFor(60s);
    ASSERT_THAT(tally.Of(3), SizeIs(150));
    const std::uint64_t streams = c.sim().counters().stream_bytes;
    c.Partition({{3}});
    for (int i = 0; i < lost; ++i) Say(c, 1, "new" + std::to_string(i), std::string(200, 'y'));
    c.RunFor(2800ms);
    ASSERT_THAT(tally.Of(3), SizeIs(150));
    c.Heal();
    c.RunFor(20s);
    EXPECT_THAT(tally.Of(3), SizeIs(static_cast<std::size_t>(150 + lost)));
    cost.push_back(c.sim().counters().stream_bytes - streams);
  }
  EXPECT_LT(cost[0], 6000u) << "150 of them have 30,000 bytes and more";
  EXPECT_GT(cost[1], cost[0] + 39 * 200);
  EXPECT_LT(cost[1], cost[0] + 2 * 39 * 260);
}

// Nobody is there to hear it, for ever: nothing grows; and who comes then is told the last.
TEST(BroadcastScenario, WhoIsAloneQueuesOneOfEachKey) {
  Cluster c({.nodes = 3, .seed = 10, .record = false});
  ASSERT_TRUE(c.Converge());
  c.Partition({{2}});
  c.RunFor(30s);
  for (int i = 0; i < 100000; ++i) {
    Say(c, 2, "k" + std::to_string(i % 100), std::to_string(i));
    ASSERT_TRUE(c.sim().Order(2, SetTag{"v", std::to_string(i)}).ok());
  }
  BroadcastTally tally(c);
  c.Heal();
  ASSERT_TRUE(c.Converge());
  c.RunFor(30s);
  for (const SimId id : {SimId{0}, SimId{1}}) {
    EXPECT_THAT(tally.Of(id), SizeIs(100));
    for (const auto& delivery : tally.Of(id)) EXPECT_GE(std::stoi(delivery.bytes), 99900) << delivery.key;
    for (const MemberPtr& member : c.member(id).Members()) {
      EXPECT_TRUE(member->name != "n2" || member->tags.at("v") == "99999");
    }
  }
}

// Small ones, many more than a datagram or a store holds: each key's last arrives whole, nothing is malformed.
TEST(BroadcastScenario, SeventyThousandSmallOnesArriveWhole) {
  Cluster c({.nodes = 5, .seed = 11, .record = false});
  ASSERT_TRUE(c.Converge());
  BroadcastTally tally(c);
  for (int i = 0; i < 70000; ++i) {
    Say(c, static_cast<SimId>(i % 5), std::to_string(i % 250), std::to_string(i));
    if (i % 100 == 0) c.RunFor(20ms);
  }
  c.RunFor(20s);
  for (int key = 0; key < 250; ++key) {
    EXPECT_TRUE(tally.AllHold(std::to_string(key), std::to_string(69750 + key))) << key;
  }
  EXPECT_EQ(tally.Twice(), 0u);
  EXPECT_EQ(c.Sum(Counter::kBadBody) + c.Sum(Counter::kBadShort) + c.Sum(Counter::kBadChecksum), 0u);
  EXPECT_EQ(c.Sum(Counter::kBroadcastsDisplaced), 0u);
  const absl::Status refused = c.sim().Order(1, Broadcast{"k", std::string(65536, 'x')});
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
}

// Where members send heartbeats, these carry the digest both ways.
TEST(BroadcastScenario, MembersThatSendHeartbeatsSpreadAndMendThemToo) {
  for (const bool pair : {false, true}) {
    const std::size_t nodes = pair ? 2 : 6;
    Cluster c({.nodes = nodes, .seed = 12, .config = pair ? Config::Pair() : Config::Mesh(), .record = false});
    ASSERT_TRUE(c.Converge());
    BroadcastTally tally(c);
    Say(c, 1, "a", "1");
    c.RunFor(10s);
    EXPECT_EQ(tally.Once("a", "1"), nodes);
    c.Partition({{1}});
    Say(c, 0, "b", "2");
    c.RunFor(3s);
    c.Heal();
    EXPECT_FALSE(tally.Has(1, "b", "2"));
    c.RunFor(90s);
    EXPECT_EQ(tally.Once("b", "2"), nodes) << pair;
  }
}

// A process that stood still reads old datagrams as if they were new.
TEST(BroadcastScenario, WhoStoodStillBringsNothingBackAndGetsWhatLasts) {
  Config config = Config::Lan();
  config.broadcast_keep = 40s;
  for (const Duration pause : {Duration(20s), Duration(50s), Duration(100s)}) {
    Cluster c({.nodes = 8, .seed = 13, .config = config, .record = false});
    ASSERT_TRUE(c.Converge());
    BroadcastTally tally(c);
    c.Pause(5);
    Say(c, 1, "k", "v");
    c.RunFor(pause);
    EXPECT_EQ(tally.Once("k", "v"), 7u);
    c.Resume(5);
    c.RunFor(15s);
    EXPECT_EQ(tally.Has(5, "k", "v"), pause < config.broadcast_keep);
    c.RunFor(200s);
    EXPECT_EQ(tally.Twice(), 0u);
  }
}

TEST(BroadcastScenario, TheSameSeedGivesTheSameRun) {
  const auto play = [] {
    Cluster c({.nodes = 20, .seed = 14, .record = false});
    c.RunFor(5s);
    c.Lose(0.2);
    for (int i = 0; i < 30; ++i) {
      Say(c, static_cast<SimId>(i % 20), std::to_string(i % 7), std::to_string(i));
      c.RunFor(300ms);
    }
    c.RunFor(20s);
    return c.sim().Fingerprint();
  };
  EXPECT_EQ(play(), play());
}

}  // namespace
}  // namespace nekton
