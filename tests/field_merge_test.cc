// Field: a group comes together. After mass restarts live members stay dead for some; parts of a broken group never
// merge; hundreds that start at once bring down the one that they join through.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cluster.h"
#include "tests/forged_frames.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

// ---- hashicorp/memberlist#311, PR#345: one holds a dead record of a former life, drops the news of the new one in
// silence, and the accused never hears what it has to refute. ----

// B and A restart with nothing in memory, B through A. `same_life`: B's generation is the same as before, so that by the
// numbers it is older than its own death.
void RestartOfTheBuried(bool same_life, std::uint64_t seed) {
  SCOPED_TRACE(std::string(same_life ? "same generation" : "new generation") + ", seed " + std::to_string(seed));
  Config config = Config::Lan();
  config.digest_patience = 1000;  // tables are not compared
  Cluster c({.nodes = 5, .seed = seed, .config = config});
  ASSERT_TRUE(c.Converge(30s));
  c.RunFor(15s);
  const SimId a = 1, b = 3, holds = 4;
  Tell(c, b, 2, {Accuse(c, UpdateKind::kSuspect, b, 99, 2)});
  c.RunFor(5s);
  ASSERT_EQ(c.member(b).Self()->key.incarnation, 100u);
  const std::uint64_t generation = c.sim().generation(b);
  c.Crash(b);
  c.RunFor(20s);
  ASSERT_TRUE(c.AllSee(b, MemberStatus::kInactive));
  c.Crash(a);
  c.RunFor(1s);
  c.Restart(a);
  c.network().Cut(b, holds, Traffic::kStreams);
  Config through_a = config;
  through_a.name = "n3";
  through_a.seeds = {c.sim().address(a).ToString()};
  c.Restart(b, {.generation = same_life ? generation : 0, .config = through_a});
  c.RunFor(60s);
  EXPECT_TRUE(c.AllSee(b, MemberStatus::kActive));
  const LifeKey key = c.member(b).Self()->key;
  EXPECT_GT(key, (LifeKey{generation, 100}));
  for (const SimId id : {0u, 1u, 2u, 4u}) {
    for (const MemberPtr& row : c.member(id).Members()) {
      EXPECT_TRUE(row->name != "n3" || row->key == key) << *row;
    }
  }
}

TEST(FieldRestart, NobodyGoesOnHoldingAMemberForDeadThatIsBack) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    RestartOfTheBuried(false, seed);
    RestartOfTheBuried(true, seed);
  }
}

// The dead record is in one table alone, of one that nobody compares tables with; news of the old kind reaches it.
TEST(FieldRestart, WhoIsToldOldNewsOfTheDeadAnswersAndTheDeadRefutes) {
  Config config = Config::Lan();
  config.digest_patience = 1000;
  Cluster c({.nodes = 5, .config = config});
  ASSERT_TRUE(c.Converge(30s));
  c.RunFor(15s);
  const SimId b = 3, holds = 4;
  // C alone is made to believe it: the word of all others, and nothing that could teach it better.
  c.network().Cut(b, holds);
  c.sim().SetFilter([&](const SimDatagram& d) {
    Frame frame;
    std::vector<Update> updates;
    if (d.to != holds && d.from != holds) return true;
    if (!ReadDatagram(d, &frame, &updates)) return false;
    for (const Update& update : updates) {
      if (update.name == "n3") return false;
    }
    return frame.target != IdOf(c, b);
  });
  Update verdict = Accuse(c, UpdateKind::kDead, b, 100, 0);
  for (const SimId by : {1u, 2u}) verdict.accusers[verdict.accuser_count++] = {IdOf(c, by), false};
  Tell(c, holds, 0, {verdict});
  c.RunFor(12s);
  ASSERT_EQ(c.Sees(holds, b), MemberStatus::kInactive);
  ASSERT_EQ(c.Sees(0, b), MemberStatus::kActive);
  c.sim().SetFilter({});
  c.Heal();
  Tell(c, holds, 1, {Claim(c, UpdateKind::kAlive, b, 1)});
  c.RunFor(5s);
  EXPECT_TRUE(c.AllSee(b, MemberStatus::kActive)) << "within seconds, without a sync";
  EXPECT_GE(c.member(b).Self()->key.incarnation, 101u);
  EXPECT_TRUE(c.Converge(10s));
}

// ---- edwardcapriolo/gossip#15: the counter of a restarted member begins anew, peers compare it with the old one, and
// it is found and dropped again and again. ----

TEST(FieldRestart, ACounterThatBeginsAnewIsNoOldNews) {
  for (const Config& config : {Config::Lan(), Config::Mesh(), Config::Pair()}) {
    SCOPED_TRACE(config.profile);
    const std::size_t nodes = config.profile == "pair" ? 2 : 3;
    Cluster c({.nodes = nodes, .config = config});
    ASSERT_TRUE(c.Converge(60s));
    c.RunFor(5000 * config.period);
    const SimId b = static_cast<SimId>(nodes - 1);
    c.Crash(b);
    ASSERT_TRUE(c.RunUntil([&] { return c.AllSee(b, MemberStatus::kInactive); }, 300s));
    const Duration at = c.now();
    c.Restart(b);
    c.RunFor(config.period * 12 + 120s);
    EXPECT_TRUE(c.AllSee(b, MemberStatus::kActive));
    for (SimId id = 0; id < b; ++id) {
      const auto events = c.Events({.observer = id, .subject = b, .since = at});
      ASSERT_EQ(events.size(), 1u) << "one transition on each";
      EXPECT_EQ(events[0].event.kind, EventKind::kRestarted);
    }
  }
}

// ---- belaban/JGroups PR#200, PR#410; hazelcast/hazelcast#4615: parts of a group wait for each other's leader. ----

TEST(FieldMerge, ThreePartsThatChangedMeanwhileBecomeOneThoughAFifthIsLost) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    Config config = Config::Lan();
    config.seeds = {"10.0.0.1:7946", "10.0.0.5:7946", "10.0.0.9:7946"};
    Cluster c({.nodes = 12, .seed = seed, .config = config});
    ASSERT_TRUE(c.Converge(30s));
    c.RunFor(5s);
    c.Partition({{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}});
    c.RunFor(100s);
    for (const SimId id : {1u, 6u, 11u}) c.Crash(id);
    c.RunFor(40s);
    for (const SimId id : {1u, 6u, 11u}) c.Restart(id);
    c.RunFor(40s);
    EXPECT_EQ(c.member(0).alive(), 4u);
    EXPECT_EQ(c.member(8).alive(), 4u);
    c.Heal();
    c.Lose(0.2);
    EXPECT_TRUE(c.Converge(90s)) << "seed " << seed;
    const Duration merged = c.now();
    c.RunFor(60s);
    EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .since = merged}), 0u);
  }
}

// ---- cockroachdb/cockroach#7668, hashicorp/memberlist PR#158, #259: hundreds start at once, and the one that all join
// through is overloaded and suspected. ----

TEST(FieldMerge, FiveHundredAtOnceJoinThroughOneThatNobodySuspects) {
  Cluster c({.nodes = 1, .seed = 5});
  for (int i = 1; i < 500; ++i) c.AddNode();
  EXPECT_TRUE(c.Converge(120s));
  c.RunFor(10s);
  EXPECT_EQ(c.Count({.kind = EventKind::kSuspected}), 0u);
  EXPECT_EQ(c.Count(EventKind::kFailed), 0u);
  std::size_t joined = 0;
  Duration longest{};
  for (const SimEvent& e : c.Events({.kind = EventKind::kJoinResult})) {
    EXPECT_TRUE(e.event.status.ok()) << e.event.status;
    ++joined;
    longest = std::max(longest, e.at);
  }
  EXPECT_EQ(joined, 499u);
  EXPECT_LE(longest, Config::Lan().stream_timeout);
}

}  // namespace
}  // namespace nekton
