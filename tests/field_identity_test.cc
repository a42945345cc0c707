// Field: who is who. Counters that one forged number drives to their end, generations that are compared with the wrong
// thing, names that a member keeps after its death, two processes of one name, leaves that others made up.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cluster.h"
#include "tests/forged_frames.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

MemberPtr RowOf(const Cluster& c, SimId observer, const std::string& name) {
  for (const MemberPtr& row : c.member(observer).Members()) {
    if (row->name == name) return row;
  }
  return nullptr;
}
// Everybody alive, with one key for each in all tables.
void ExpectAgreement(Cluster& c, Duration limit) { EXPECT_TRUE(c.Converge(limit)); }

// ---- al8n/memberlist#157 (P2), igorls/meshguard PR#121: one packet with the largest counter leaves a member unable to
// refute for ever. ----

TEST(FieldCounter, ANumberBeyondAllReasonIsRefusedAndChangesNothing) {
  Cluster c({.nodes = 5});
  ASSERT_TRUE(c.Converge(30s));
  c.RunFor(5s);
  const SimId b = 2;
  const auto counter = [&](Counter which) { return c.member(b).counters()[which]; };
  Tell(c, b, 1, {Accuse(c, UpdateKind::kSuspect, b, UINT64_MAX, 1)});
  EXPECT_EQ(counter(Counter::kUpdatesRefused), 1u);
  EXPECT_EQ(c.member(b).Self()->key.incarnation, 0u);
  Tell(c, b, 1, {Accuse(c, UpdateKind::kSuspect, b, 0, 1)});
  EXPECT_EQ(c.member(b).Self()->key.incarnation, 1u) << "and an honest accusation is refuted";
  Tell(c, b, 1, {Accuse(c, UpdateKind::kDead, 3, UINT64_MAX, 1)});
  Update late = Claim(c, UpdateKind::kAlive, 3, 0);
  late.key.generation = UINT64_MAX;
  Tell(c, b, 1, {late});
  EXPECT_EQ(counter(Counter::kUpdatesRefused), 3u);
  EXPECT_EQ(RowOf(c, b, "n3")->key, c.member(3).Self()->key);
  c.RunFor(60s);
  EXPECT_TRUE(c.AllSee(3, MemberStatus::kActive));
  EXPECT_EQ(c.Count(EventKind::kSuspected), 0u);
  ExpectAgreement(c, 1s);
}

// The largest jump that is believed, and again and again: whoever comes later, and whoever missed it, can follow.
TEST(FieldCounter, WhoIsDrivenForwardAgainAndAgainIsStillUnderstoodByAll) {
  for (const bool all_hear : {false, true}) {
    Cluster c({.nodes = 5});
    ASSERT_TRUE(c.Converge(30s));
    c.RunFor(5s);
    const SimId b = 2;
    for (int i = 0; i < 3; ++i) {
      Update forged = Accuse(c, UpdateKind::kSuspect, b, 0, 1);
      forged.key = c.member(b).Self()->key;
      forged.key.incarnation += kIncarnationJumpMax;
      const std::uint64_t sent = c.sim().counters().datagrams_sent;
      for (SimId to = 0; to < 5; ++to) {
        if (to == b || all_hear) Tell(c, to, 1, {forged});
      }
      c.RunFor(20s);
      EXPECT_LE(c.sim().counters().datagrams_sent - sent, 20u * 5 * 2 * 3) << "nobody answers answers for ever";
    }
    const SimId newcomer = c.AddNode();
    c.RunFor(20s);
    EXPECT_TRUE(c.AllSee(b, MemberStatus::kActive)) << all_hear;
    EXPECT_EQ(RowOf(c, newcomer, "n2")->key, c.member(b).Self()->key);
    ExpectAgreement(c, 1s);
    // It can still refute.
    const LifeKey before = c.member(b).Self()->key;
    Update honest = Accuse(c, UpdateKind::kSuspect, b, 0, 1);
    honest.key = before;
    Tell(c, 0, 1, {honest});
    c.RunFor(20s);
    EXPECT_GT(c.member(b).Self()->key, before);
    EXPECT_TRUE(c.AllSee(b, MemberStatus::kActive));
    EXPECT_EQ(c.Count(EventKind::kFailed), 0u);
    ExpectAgreement(c, 10s);
  }
}

// Two that cannot agree do not tell each other so in turns as fast as the network goes.
TEST(FieldCounter, WhatIsRefusedIsNotAnswered) {
  Cluster c({.nodes = 3});
  ASSERT_TRUE(c.Converge(30s));
  c.RunFor(5s);
  Frame frame;
  frame.type = FrameType::kGossip;
  frame.label = LabelTag("");
  frame.sender = IdOf(c, 2);
  frame.incarnation = 7;  // not what n0 knows of n2, and what it is told of that is beyond all reason
  std::vector<std::byte> bytes;
  FrameWriter writer(frame, 1400, bytes);
  ASSERT_TRUE(writer.Add(Claim(c, UpdateKind::kAlive, 2, (std::uint64_t{3} << 32) + 7)));
  writer.Finish();
  const std::uint64_t sent = c.sim().counters().datagrams_sent;
  c.sim().Inject(0, c.sim().address(2), bytes);
  EXPECT_EQ(c.sim().counters().datagrams_sent, sent);
  EXPECT_EQ(c.member(0).counters()[Counter::kUpdatesRefused], 1u);
}

// ---- scylladb/scylladb#5164: who restarts after long is refused, for its new generation is compared with the old one
// and not with the time. ----

TEST(FieldGeneration, OneThatIsYearsAboveTheLastIsTakenIfItIsOfNow) {
  Cluster c({.nodes = 3});
  ASSERT_TRUE(c.Converge(30s));
  for (SimId id = 0; id < 3; ++id) c.sim().StepWall(id, 24h * 366 * 11);
  c.RunFor(60s);
  EXPECT_TRUE(c.Converge(1s)) << "a clock that is set changes nothing";
  c.Crash(2);
  c.RunFor(1s);
  c.Restart(2, {.memory = false});
  c.RunFor(5s);
  EXPECT_TRUE(c.AllSee(2, MemberStatus::kActive));
  EXPECT_EQ(c.Count({.kind = EventKind::kRestarted, .subject = 2}), 2u);
  ExpectAgreement(c, 5s);
}

// A machine without a battery wakes up in 1970: it takes the time from who lets it in, or it would refuse everybody.
TEST(FieldGeneration, WhoseOwnClockIsYearsBehindJoinsAllTheSame) {
  Cluster c({.nodes = 4, .start = false});
  for (SimId id = 0; id < 3; ++id) ASSERT_TRUE(c.sim().Start(id).ok());
  c.RunFor(10s);
  c.sim().StepWall(3, -24h * 365 * 50);
  ASSERT_TRUE(c.sim().Start(3).ok());
  c.RunFor(5s);
  EXPECT_EQ(c.member(3).alive(), 4u);
  EXPECT_EQ(c.member(3).counters()[Counter::kUpdatesRefused], 0u);
  ExpectAgreement(c, 5s);
}

TEST(FieldGeneration, OneThatIsTenYearsAheadOfNowIsRefusedInWordsAndCounted) {
  Cluster c({.nodes = 3});
  ASSERT_TRUE(c.Converge(30s));
  const std::uint64_t now = c.sim().generation(2) + static_cast<std::uint64_t>(c.now() / 1ms);
  c.Crash(2);
  c.RunFor(1s);
  const Duration from = c.now();
  c.Restart(2, {.generation = now + kGenerationAheadMax + 3'600'000});
  c.RunFor(30s);
  const auto results = c.Events({.kind = EventKind::kJoinResult, .observer = 2, .since = from});
  ASSERT_EQ(results.size(), 1u) << "one line for one and the same result";
  EXPECT_EQ(results[0].event.status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_GE(c.member(0).counters()[Counter::kUpdatesRefused], 1u);
  EXPECT_TRUE(c.AllSee(2, MemberStatus::kInactive));
}

// ---- scalecube/scalecube-cluster#132, apple/swift-cluster-membership#67: after a quick restart the old and the new
// identity stand side by side. ----

TEST(FieldReplacement, ANewNameOnAnAddressEndsTheOldOneBeforeItIsThere) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Cluster c({.nodes = 5, .seed = seed});
    ASSERT_TRUE(c.Converge(30s));
    c.RunFor(5s);
    c.Crash(3);
    c.RunFor(500ms);
    Config config = Config::Lan();
    config.name = "b2";
    config.seeds = {"10.0.0.1:7946"};
    std::size_t most = 0;
    c.sim().SetHandler([&](const SimEvent& event) {
      if (c.sim().live(event.member)) most = std::max<std::size_t>(most, c.member(event.member).alive());
    });
    const Duration at = c.now();
    const SimId b2 = c.AddNode(config, {.address = c.sim().address(3)});
    c.RunFor(10s);
    c.sim().SetHandler({});
    EXPECT_LE(most, 5u) << "never six at once";
    for (const SimId observer : {0u, 1u, 2u, 4u}) {
      std::vector<Duration> ended;
      for (const SimEvent& e : c.Events({.kind = EventKind::kReplaced, .observer = observer, .subject = 3})) {
        ended.push_back(e.at);
      }
      const auto begun = c.First({.kind = EventKind::kJoined, .observer = observer, .subject = b2});
      ASSERT_TRUE(begun.has_value());
      ASSERT_EQ(ended.size(), 1u) << observer << ", seed " << seed;
      EXPECT_LE(ended[0], *begun);
      EXPECT_LE(*begun - at, 2s) << "without waiting for a suspicion to run out";
    }
    EXPECT_EQ(c.Count({.kind = EventKind::kFailed}), 0u);
    EXPECT_TRUE(c.AllSee(3, MemberStatus::kInactive));
  }
}

// ---- hashicorp/consul#6897, #733; hashicorp/memberlist#157, PR#189: a name stays locked to the first address. ----

const Address kElsewhere = Address::V4(10, 9, 9, 11, 7946);

TEST(FieldName, WhoLeftMayComeBackFromElsewhereAtOnce) {
  Cluster c({.nodes = 5});
  ASSERT_TRUE(c.Converge(30s));
  c.Leave(3);
  c.RunFor(1s);
  const Duration at = c.now();
  c.Restart(3, {.address = kElsewhere});
  c.RunFor(2s);
  EXPECT_TRUE(c.AllSee(3, MemberStatus::kActive));
  EXPECT_EQ(RowOf(c, 0, "n3")->address, kElsewhere);
  const auto results = c.Events({.kind = EventKind::kJoinResult, .observer = 3, .since = at});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_TRUE(results[0].event.status.ok());
  EXPECT_EQ(c.Count(EventKind::kNameConflict), 0u);
}

// Before and after its tombstone has ended.
TEST(FieldName, WhoDiedMayComeBackFromElsewhere) {
  for (const Duration dead : {30s, 95s, 120s}) {
    Cluster c({.nodes = 5});
    ASSERT_TRUE(c.Converge(30s));
    c.Crash(3);
    c.RunFor(dead);
    const Duration at = c.now();
    c.Restart(3, {.address = kElsewhere});
    c.RunFor(2s);
    EXPECT_TRUE(c.AllSee(3, MemberStatus::kActive)) << dead / 1s;
    EXPECT_EQ(RowOf(c, 0, "n3")->address, kElsewhere);
    c.RunFor(120s);
    EXPECT_EQ(c.Count({.kind = EventKind::kJoinResult, .observer = 3, .since = at}), 1u) << "one answer, and no loop";
    EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .since = at}), 0u);
    EXPECT_EQ(c.Count(EventKind::kNameConflict), 0u);
    ExpectAgreement(c, 1s);
  }
}

TEST(FieldName, WhoLivesKeepsItsNameAndTheOtherIsToldOnce) {
  Cluster c({.nodes = 5});
  ASSERT_TRUE(c.Converge(30s));
  const Duration at = c.now();
  Config config = Config::Lan();
  config.name = "n3";
  config.seeds = {"10.0.0.1:7946"};
  const SimId second = c.AddNode(config, {.address = kElsewhere});
  const Duration watched = 5min;
  c.RunFor(watched);
  const auto results = c.Events({.kind = EventKind::kJoinResult, .observer = second});
  ASSERT_EQ(results.size(), 1u) << "it goes on trying, and tells it once";
  EXPECT_EQ(results[0].event.status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(c.member(second).size(), 1u);
  const std::size_t told = c.Count({.kind = EventKind::kNameConflict, .since = at});
  EXPECT_GE(told, 4u);
  EXPECT_LE(told, 6u) << "one a minute";
  EXPECT_TRUE(c.AllSee(3, MemberStatus::kActive));
  for (const SimEvent& e : c.Events({.subject = 3, .since = at})) {
    EXPECT_EQ(e.event.kind, EventKind::kNameConflict) << e.event;
  }
  EXPECT_EQ(RowOf(c, 1, "n3")->address, c.sim().address(3));
}

// ---- camunda-community-hub/zeebe-cluster-helm#99, hashicorp/serf PR#167: two live processes of one id refute each
// other without end. ----

struct Twins {
  bool with_the_group;   // they start when the group does
  bool different_seeds;  // so that nobody hears both of them ask
};

TEST(FieldTwins, OneOfThemStaysAndTheOtherKnows) {
  for (const Twins& twins : {Twins{true, false}, Twins{true, true}, Twins{false, false}, Twins{false, true}}) {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed) + (twins.with_the_group ? ", at the start" : ", later") +
                   (twins.different_seeds ? ", through two" : ""));
      Cluster c({.nodes = 3, .seed = seed});
      if (!twins.with_the_group) c.RunFor(5s);
      Config config = Config::Lan();
      config.name = "B";
      config.seeds = {"10.0.0.1:7946"};
      const SimId one = c.AddNode(config);
      if (twins.different_seeds) config.seeds = {"10.0.0.2:7946"};
      const SimId two = c.AddNode(config);
      // What a third one shows, looked at all the time, and what it tells.
      std::vector<std::vector<Address>> shown(3);
      for (int i = 0; i < 1200; ++i) {
        c.RunFor(50ms);
        for (SimId id = 0; id < 3; ++id) {
          const MemberPtr row = RowOf(c, id, "B");
          if (row != nullptr && (shown[id].empty() || shown[id].back() != row->address)) {
            shown[id].push_back(row->address);
          }
        }
      }
      for (SimId id = 0; id < 3; ++id) {
        const MemberPtr row = RowOf(c, id, "B");
        ASSERT_NE(row, nullptr);
        EXPECT_EQ(row->status, MemberStatus::kActive);
        EXPECT_LT(row->key.incarnation, 20u);
        EXPECT_EQ(row->address, RowOf(c, 0, "B")->address);
        EXPECT_LE(shown[id].size(), 2u) << "at most one change of its address";
        std::optional<Address> told;
        for (const SimEvent& e : c.Events({.observer = id})) {
          if (e.event.member != nullptr && e.event.member->name == "B") told = e.event.member->address;
        }
        EXPECT_EQ(told, row->address) << "no change without an event";
      }
      std::size_t knows = 0;
      for (const SimId twin : {one, two}) {
        knows += c.Count({.kind = EventKind::kDisplaced, .observer = twin});
        for (const SimEvent& e : c.Events({.kind = EventKind::kJoinResult, .observer = twin})) {
          knows += e.event.status.code() == absl::StatusCode::kAlreadyExists;
        }
      }
      EXPECT_EQ(knows, 1u) << "one stays, and the other knows why it does not";
      EXPECT_EQ(c.Count(EventKind::kSuspected) + c.Count(EventKind::kFailed), 0u) << "the others keep their states";
    }
  }
}

// ---- al8n/memberlist#158: a leave is believed whoever sends it. ----

TEST(FieldLeave, OneThatAnotherMadeUpIsRefuted) {
  Cluster c({.nodes = 5});
  ASSERT_TRUE(c.Converge(30s));
  c.RunFor(5s);
  const Duration at = c.now();
  for (const SimId to : {0u, 1u, 3u}) Tell(c, to, 4, {Claim(c, UpdateKind::kLeft, 2, 0)});
  c.RunFor(30s);
  EXPECT_TRUE(c.AllSee(2, MemberStatus::kActive));
  EXPECT_GE(c.member(2).Self()->key.incarnation, 1u);
  EXPECT_EQ(c.Count({.kind = EventKind::kSuspected, .since = at}), 0u);
  ExpectAgreement(c, 1s);
}

TEST(FieldLeave, OneOfAFormerLifeIsStale) {
  Cluster c({.nodes = 5});
  ASSERT_TRUE(c.Converge(30s));
  const Update recorded = Claim(c, UpdateKind::kLeft, 2, 0);
  c.Leave(2);
  c.RunFor(10s);
  c.Restart(2);
  c.RunFor(10s);
  ASSERT_TRUE(c.AllSee(2, MemberStatus::kActive));
  const Duration at = c.now();
  const std::uint64_t stale = c.Sum(Counter::kUpdatesStale);
  for (SimId to = 0; to < 5; ++to) Tell(c, to, to == 4 ? 3 : 4, {recorded});
  c.RunFor(30s);
  EXPECT_TRUE(c.AllSee(2, MemberStatus::kActive));
  EXPECT_TRUE(c.Events({.since = at}).empty());
  EXPECT_GE(c.Sum(Counter::kUpdatesStale) - stale, 5u) << "each is counted";
}

}  // namespace
}  // namespace nekton
