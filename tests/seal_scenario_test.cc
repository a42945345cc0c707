// Groups whose members seal their frames, on the simulator.
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cluster.h"
#include "tests/seal_net.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Config Sealed(Sealing mode = Sealing::kRequire) {
  Config config = Config::Lan();
  config.sealing = mode;
  return config;
}

ClusterOptions SealedGroup(std::size_t nodes, std::uint64_t seed = 1) {
  return {.nodes = nodes, .seed = seed, .config = Sealed(), .keys = {KeyOf(1)}};
}

std::uint64_t Sum(Cluster& c, SealCounter counter) {
  std::uint64_t sum = 0;
  for (SimId id = 0; id < c.size(); ++id) {
    if (Seal* seal = c.sim().seal(id)) sum += seal->counters()[counter];
  }
  return sum;
}

struct Recorded {
  SimId to;
  Address from;
  std::vector<std::byte> bytes;
};

std::string Table(Cluster& c) {
  std::string text;
  for (SimId id = 0; id < c.size(); ++id) {
    const Member* member = c.sim().member(id);
    if (member == nullptr) continue;
    for (const MemberPtr& m : member->Members()) {
      text += m->name + ' ' + std::to_string(static_cast<int>(m->status)) + ' ' + std::to_string(m->key.generation) +
              ' ' + std::to_string(m->key.incarnation) + '\n';
    }
  }
  return text;
}

TEST(SealScenario, ASealedGroupMeetsAndFindsACrashAsEver) {
  Cluster c(SealedGroup(8));
  std::size_t largest = 0;
  std::size_t plain = 0;
  c.sim().SetTap([&](const SimDatagram& d) {
    largest = std::max(largest, d.bytes.size());
    plain += IsSealed(d.bytes) ? 0 : 1;
  });
  ASSERT_TRUE(c.Converge(20s));
  c.RunFor(60s);
  EXPECT_EQ(c.Count(EventKind::kSuspected), 0U);
  c.Crash(3);
  ASSERT_TRUE(c.RunUntil([&] { return bool(c.AllSee(3, MemberStatus::kInactive)); }, 20s));
  EXPECT_EQ(plain, 0U);
  EXPECT_LE(largest, Config::Lan().datagram_max);
  c.Restart(3);
  ASSERT_TRUE(c.Converge(30s));
  c.Leave(5);
  c.RunFor(20s);
  EXPECT_TRUE(c.AllSee(5, MemberStatus::kLeft));
  EXPECT_EQ(Sum(c, SealCounter::kRefusedForged), 0U);
}

// Long names and tags, so that datagrams are full: with a budget of 1,280 none is larger, sealed as they are.
TEST(SealScenario, NoDatagramIsLargerThanTheBudget) {
  ClusterOptions options = SealedGroup(0);
  options.config.datagram_max = 1280;
  Cluster c(options);
  c.network().SetLaw({.mtu = 1280});
  std::size_t largest = 0;
  c.sim().SetTap([&](const SimDatagram& d) { largest = std::max(largest, d.bytes.size()); });
  for (int i = 0; i < 40; ++i) {
    Config config = options.config;
    config.seeds = {"10.0.0.1:7946"};
    config.name = std::string(60, 'n') + std::to_string(i);
    config.tags = {{"role", std::string(40, 't')}};
    SimMemberOptions member;
    member.keys = {KeyOf(1)};
    c.AddNode(config, member);
  }
  ASSERT_TRUE(c.Converge(60s));
  EXPECT_GT(largest, 1100U);
  EXPECT_LE(largest, 1280U);
  EXPECT_EQ(c.sim().counters().of(Drop::kMtu), 0U);
}

TEST(SealScenario, TheTrafficOfAnHourMovesNothingAtAnyLaterTime) {
  Cluster c(SealedGroup(5));
  std::vector<Recorded> record;
  bool recording = true;
  c.sim().SetTap([&](const SimDatagram& d) {
    if (!recording || d.moment != SimDatagram::Moment::kSent || d.to == kNobody) return;
    record.push_back({d.to, d.from_address, {d.bytes.begin(), d.bytes.end()}});
  });
  // All that can happen to a member happens while it is recorded.
  ASSERT_TRUE(c.Converge(20s));
  c.RunFor(30s);
  c.Crash(4);
  c.RunFor(40s);
  c.Restart(4);
  c.RunFor(30s);
  c.Leave(3);
  c.RunFor(30s);
  c.network().CutOut(1);
  c.RunFor(6s);
  c.Heal();
  c.sim().RunTo(1h);
  recording = false;
  c.Crash(2);
  c.RunFor(200s);  // and is forgotten
  ASSERT_TRUE(c.NoneKnows(2));
  ASSERT_GT(record.size(), 20'000U);

  const auto replay = [&](SimId shift) {
    for (std::size_t i = 0; i < record.size(); ++i) {
      const SimId to = static_cast<SimId>((record[i].to + shift) % c.size());
      if (c.sim().live(to)) c.sim().Inject(to, record[i].from, record[i].bytes);
      if (i % 50 == 0) c.RunFor(10ms);
    }
  };
  for (const SimId shift : {0U, 1U, 2U}) {
    c.RunFor(10s);
    c.sim().ClearLog();
    const std::string before = Table(c);
    replay(shift);
    c.RunFor(5s);
    EXPECT_EQ(Table(c), before) << "shift " << shift;
    EXPECT_EQ(c.sim().log().size(), 0U) << c.Story();
  }
  EXPECT_GT(Sum(c, SealCounter::kRefusedRepeated), 100U);
  EXPECT_GT(Sum(c, SealCounter::kRefusedUnproved), 100U);
  // To members that have restarted since, some of them with the generation of before.
  c.Crash(1);
  c.RunFor(30s);
  c.Restart(1, {.memory = false, .generation = c.sim().generation(1)});
  c.Crash(4);
  c.RunFor(30s);
  c.Restart(4);
  ASSERT_TRUE(c.Converge(60s));
  c.RunFor(30s);
  c.sim().ClearLog();
  const std::string before = Table(c);
  replay(0);
  c.RunFor(5s);
  EXPECT_EQ(Table(c), before);
  EXPECT_EQ(c.sim().log().size(), 0U) << c.Story();
}

TEST(SealScenario, WithoutTheKeyNobodyJoinsAndBothSidesAreTold) {
  Cluster c(SealedGroup(3));
  ASSERT_TRUE(c.Converge(20s));
  Config plain = Config::Lan();
  plain.seeds = {"10.0.0.1:7946"};
  const SimId none = c.AddNode(plain);
  SimMemberOptions wrong_keys;
  wrong_keys.keys = {KeyOf(9)};
  Config sealed = Sealed();
  sealed.seeds = plain.seeds;
  const SimId wrong = c.AddNode(sealed, wrong_keys);
  c.RunFor(30s);
  EXPECT_TRUE(c.NoneKnows(none));
  EXPECT_TRUE(c.NoneKnows(wrong));
  const auto told = [&](SimId id) {
    const auto events = c.Events({.kind = EventKind::kJoinResult, .observer = id});
    return events.empty() ? std::string() : events.front().event.status.ToString();
  };
  EXPECT_THAT(told(none), HasSubstr("its key is needed"));
  EXPECT_THAT(told(wrong), HasSubstr("does not have our key"));
  EXPECT_GT(Sum(c, SealCounter::kRefusedPlain), 0U);
  EXPECT_GT(Sum(c, SealCounter::kRefusedKey), 0U);
}

// What nobody without the key can do, whatever frame it makes: every datagram of a plain group with the same names.
TEST(SealScenario, PlainFramesOfEveryKindHaveNoEffect) {
  Cluster c(SealedGroup(4));
  ASSERT_TRUE(c.Converge(20s));
  Cluster forge({.nodes = 4, .seed = 2});
  std::vector<Recorded> record;
  forge.sim().SetTap([&](const SimDatagram& d) {
    if (d.moment == SimDatagram::Moment::kSent && d.to != kNobody) {
      record.push_back({d.to, d.from_address, {d.bytes.begin(), d.bytes.end()}});
    }
  });
  forge.Converge(20s);
  forge.Crash(2);
  forge.RunFor(30s);
  forge.Leave(1);
  forge.RunFor(10s);
  c.sim().ClearLog();
  const std::string before = Table(c);
  for (const Recorded& r : record) c.sim().Inject(r.to, r.from, r.bytes);
  c.RunFor(20s);
  EXPECT_EQ(Table(c), before);
  EXPECT_EQ(c.sim().log().size(), 0U);
  EXPECT_EQ(Sum(c, SealCounter::kRefusedPlain), record.size());
}

// Field failure 67: a rotation one member after another, ten seconds apart, one of them off while the key is switched.
TEST(SealScenario, KeysAreRotatedWithoutASuspicion) {
  Cluster c(SealedGroup(6));
  ASSERT_TRUE(c.Converge(20s));
  c.sim().ClearLog();
  for (SimId id = 0; id < 6; ++id) {
    ASSERT_TRUE(c.sim().seal(id)->AddKey(KeyOf(2)).ok());
    c.RunFor(10s);
  }
  EXPECT_EQ(c.sim().log().size(), 0U);
  c.Leave(5);
  c.RunFor(10s);
  for (SimId id = 0; id < 5; ++id) {
    ASSERT_TRUE(c.sim().seal(id)->UseKey(KeyOf(2).id()).ok());
    c.RunFor(10s);
  }
  c.Restart(5, {.keys = std::vector<SealKey>{KeyOf(1), KeyOf(2)}});
  ASSERT_TRUE(c.Converge(30s));
  ASSERT_TRUE(c.sim().seal(5)->UseKey(KeyOf(2).id()).ok());
  c.RunFor(10s);
  for (SimId id = 0; id < 6; ++id) {
    ASSERT_TRUE(c.sim().seal(id)->RemoveKey(KeyOf(1).id()).ok());
    c.RunFor(10s);
  }
  EXPECT_EQ(c.Count(EventKind::kSuspected), 0U);
  EXPECT_EQ(c.Count(EventKind::kFailed), 0U);
  EXPECT_EQ(Sum(c, SealCounter::kRefusedKey), 0U);
  EXPECT_EQ(Sum(c, SealCounter::kRefusedForged), 0U);
  // Removing the one in use changes nothing.
  EXPECT_EQ(c.sim().seal(0)->RemoveKey(KeyOf(2).id()).code(), absl::StatusCode::kFailedPrecondition);
  // A node with the old key alone is told so, and nobody flaps.
  Config late = Sealed();
  late.seeds = {"10.0.0.1:7946"};
  SimMemberOptions old_key;
  old_key.keys = {KeyOf(1)};
  const SimId id = c.AddNode(late, old_key);
  c.RunFor(60s);
  EXPECT_TRUE(c.NoneKnows(id));
  EXPECT_EQ(c.Count({.kind = EventKind::kJoinResult, .observer = id}), 1U) << "said once";
  EXPECT_EQ(c.Count(EventKind::kSuspected), 0U);
}

// Turning it on in a group that runs: a rolling restart into accepting, then one into requiring; nobody is ever suspected.
TEST(SealScenario, IsTurnedOnInALiveGroupInTwoSteps) {
  Cluster c({.nodes = 6, .seed = 3, .keys = {KeyOf(1)}});
  ASSERT_TRUE(c.Converge(20s));
  Config accept = Sealed(Sealing::kAccept);
  accept.seeds = {"10.0.0.1:7946", "10.0.0.2:7946"};
  for (SimId id = 0; id < 6; ++id) {
    c.Leave(id);
    c.RunFor(5s);
    c.Restart(id, {.config = accept});
    ASSERT_TRUE(c.Converge(30s)) << "step 1, n" << id;
    c.RunFor(10s);
  }
  for (SimId id = 0; id < 6; ++id) {
    c.sim().seal(id)->SetMode(Sealing::kRequire);
    c.RunFor(10s);
  }
  EXPECT_EQ(c.Count(EventKind::kSuspected), 0U);
  EXPECT_EQ(c.Count(EventKind::kFailed), 0U);
  const std::uint64_t plain = Sum(c, SealCounter::kPlainSent);
  c.RunFor(60s);
  EXPECT_EQ(Sum(c, SealCounter::kPlainSent), plain);
  EXPECT_TRUE(c.Converge(1s));
}

TEST(SealScenario, TheSameSeedGivesTheSameRun) {
  const auto run = [] {
    Cluster c(SealedGroup(5, 7));
    c.Lose(0.1);
    c.RunFor(20s);
    c.Crash(2);
    c.RunFor(20s);
    return c.sim().Fingerprint();
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace nekton
