// Field: the dead do not stay dead, or never go. A record that each member reaps on its own clock is learnt again from
// whoever reaps later; a quarantine starts afresh with every copy of the verdict; a newcomer takes the record of a dead
// member for a sign of life; and long after a member was removed, packets still go to it.
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cluster.h"
#include "tests/engine_rig.h"
#include "tests/forged_frames.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

constexpr SimId kB = 5;  // dies
constexpr SimId kC = 7;  // learns it late

std::size_t TimesSeenAlive(const Cluster& c, SimId subject, SimId observer, Duration since) {
  return c.Count({.kind = EventKind::kJoined, .observer = observer, .subject = subject, .since = since}) +
         c.Count({.kind = EventKind::kRecovered, .observer = observer, .subject = subject, .since = since});
}

// ---- quickwit-oss/chitchat PR#155, #161, #94; scylladb/scylladb#3192 ----

// C was cut off while B died, and makes its verdict, or hears of it, 80 s later than the rest. `company`: B and another
// member were cut off together with C, and B died there.
void ReapedLate(bool company, std::uint64_t seed) {
  Cluster c({.nodes = 10, .seed = seed});
  ASSERT_TRUE(c.Converge(30s));
  c.RunFor(5s);
  const Duration dies = c.now();
  c.Partition(company ? std::vector<std::vector<SimId>>{{kB, kC, 8}} : std::vector<std::vector<SimId>>{{kC}});
  if (!company) c.Crash(kB);
  c.RunFor(68s);
  if (company) c.Crash(kB);
  c.RunFor(17s);
  if (company) {
    EXPECT_EQ(c.Sees(kC, kB), MemberStatus::kInactive);
  }
  EXPECT_EQ(c.Sees(0, kB), MemberStatus::kInactive);
  c.Heal();
  Config late = Config::Lan();  // somebody who has dropped nobody joins through C
  late.seeds = {c.sim().address(kC).ToString()};
  c.sim().RunTo(dies + 125s);
  c.AddNode(late);
  EXPECT_TRUE(c.NoneKnows(kB)) << "C did not begin to count anew";
  c.sim().RunTo(dies + 300s);
  EXPECT_TRUE(c.NoneKnows(kB));
  EXPECT_EQ(TimesSeenAlive(c, kB, kNobody, dies), 0u);
  for (SimId id = 0; id < 10; ++id) {
    if (id == kB) continue;
    EXPECT_EQ(c.Count({.kind = EventKind::kForgotten, .observer = id, .subject = kB}), 1u) << id << " drops it once";
  }
  EXPECT_EQ(c.Count({.kind = EventKind::kForgotten, .subject = kB}), 9u) << "the newcomer never had it";
}

TEST(FieldTombstone, WhoReapsLateGivesTheDeadBackToNobody) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    ReapedLate(false, seed);
    ReapedLate(true, seed);
  }
}

// C hears nobody for so long that the others have dropped B before it learns that B died.
void AloneForLong(std::size_t nodes, Duration cut, bool heard, std::uint64_t seed) {
  SCOPED_TRACE(std::to_string(nodes) + " members, " + std::to_string(cut / 1s) + " s, " + (heard ? "heard, " : "") +
               "seed " + std::to_string(seed));
  Cluster c({.nodes = nodes, .seed = seed});
  ASSERT_TRUE(c.Converge(30s));
  c.RunFor(5s);
  if (heard) {
    c.network().CutIn(kC);
  } else {
    c.Partition({{kC}});
  }
  c.Crash(kB);
  c.RunFor(cut);
  EXPECT_EQ(c.Sees(0, kB), std::nullopt);
  const bool held = c.Sees(kC, kB).has_value();
  const Duration healed = c.now();
  c.Heal();
  EXPECT_TRUE(c.Converge(30s));
  c.sim().RunTo(healed + 60s);
  EXPECT_TRUE(c.NoneKnows(kB));
  EXPECT_EQ(TimesSeenAlive(c, kB, kNobody, Duration{}), nodes - 1) << "everybody saw it join, at the beginning";
  EXPECT_EQ(c.Count({.kind = EventKind::kForgotten, .observer = kC, .subject = kB, .since = healed}), held ? 1u : 0u);
}

TEST(FieldTombstone, WhoWasAloneForLongBringsNobodyBack) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    for (const Duration cut : {105s, 150s, 200s, 300s}) {
      for (const bool heard : {false, true}) AloneForLong(10, cut, heard, seed);
    }
  }
}

// Where all others are really gone and new ones come, they find each other at once.
TEST(FieldTombstone, WhoWasAloneForLongTakesNewcomersIn) {
  for (const Duration alone : {40s, 80s, 120s}) {
    Cluster c({.nodes = 3});
    ASSERT_TRUE(c.Converge(30s));
    for (const SimId id : {1u, 2u}) c.Crash(id);
    c.RunFor(alone);
    const Duration at = c.now();
    std::vector<SimId> late;
    for (int i = 0; i < 3; ++i) late.push_back(c.AddNode());
    c.RunFor(3s);
    for (const SimId one : late) {
      EXPECT_EQ(c.Sees(0, one), MemberStatus::kActive);
      for (const SimId other : late) EXPECT_EQ(c.Sees(one, other), MemberStatus::kActive) << alone / 1s;
      EXPECT_EQ(c.Count({.kind = EventKind::kForgotten, .subject = one, .since = at}), 0u) << alone / 1s;
    }
    EXPECT_TRUE(c.Converge(60s));
  }
}

// Of a large table only what differs is exchanged.
TEST(FieldTombstone, WhoWasAloneForLongBringsNobodyBackInALargeGroup) { AloneForLong(140, 110s, false, 1); }

// When every link was broken nobody is ahead of the others.
TEST(FieldTombstone, WhereAllWereAloneTheyFindEachOtherAgain) {
  for (const auto& [nodes, cut] : {std::pair(12u, 40s), std::pair(12u, 70s), std::pair(12u, 110s), std::pair(12u, 200s),
                                   std::pair(12u, 600s), std::pair(140u, 45s)}) {
    Cluster c({.nodes = nodes, .seed = 3});
    ASSERT_TRUE(c.Converge(30s));
    std::vector<std::vector<SimId>> each;
    for (SimId id = 0; id < nodes; ++id) each.push_back({id});
    c.Partition(each);
    c.RunFor(cut / 2);
    c.Crash(kB);
    c.Crash(2);
    c.Restart(2);
    c.RunFor(cut / 2);
    c.Heal();
    const Duration healed = c.now();
    EXPECT_TRUE(c.Converge(60s)) << nodes << " members, " << cut / 1s << " s";
    if (cut > 60s) continue;  // else they hold each other for dead
    for (const SimEvent& e : c.Events({.kind = EventKind::kForgotten, .since = healed})) {
      EXPECT_TRUE(e.event.member->name == "n5" || e.event.member->name == "n2") << e << ": it lives, and was known";
    }
  }
}

// ---- quickwit-oss/chitchat PR#123; scylladb/scylladb#14991 ----

// The run on one engine: m1 falls silent and is INACTIVE. When that was.
Instant Bury(Rig& rig) {
  rig[1].answers = rig[1].answers_relays = false;
  while (rig.StateOf(rig[1]) != "INACTIVE 0" && rig.SinceStart() < 60s) rig.Step();
  rig.Clear();
  return rig.now.boot;
}
Update Old(Update update, Duration age) {
  update.age = age;
  return update;
}

TEST(FieldTombstone, TheVerdictHeardAgainAndAgainStartsNothingAnew) {
  Rig rig;
  rig.Know(5);
  const Instant died = Bury(rig);
  for (int second = 1; second < 90; ++second) {
    rig.RunUntil(died + std::chrono::seconds(second));
    ASSERT_NE(rig.StateOf(rig[1]), "") << second;
    if (second % 20 != 0) continue;
    rig.Gossip(rig[3], {Dead(rig[1], {&rig[3]})});
    rig.Serve(rig[4], Rig::Of(FrameType::kSync), {Alive(rig[4]), Dead(rig[1], {&rig[2], &rig[3]})});
    rig.Gossip(rig[2], {Dead(rig[1], {&rig[2]}, static_cast<std::uint64_t>(second))});
  }
  rig.Clear();
  rig.RunUntil(died + 90s - 1ns);
  EXPECT_NE(rig.StateOf(rig[1]), "");
  rig.RunUntil(died + 90s);
  EXPECT_EQ(rig.Events(), "forgotten m1");
}

TEST(FieldTombstone, ADeathThatOthersKnewLongBeforeIsForgottenWhenTheyForgetIt) {
  // Heard before the verdict here,
  Rig rig;
  rig.Know(5);
  rig[1].answers = rig[1].answers_relays = false;
  rig.Gossip(rig[2], {Suspect(rig[1], {&rig[2]})});
  const Instant told = rig.now.boot;
  rig.Gossip(rig[3], {Old(Dead(rig[1], {&rig[3]}), 60s)});
  rig.Gossip(rig[3], {Old(Dead(rig[1], {&rig[3]}), 50s)});  // a copy of one that came later
  const Instant died = Bury(rig);
  ASSERT_LT(died - told, 20s);
  rig.RunUntil(told + 30s - 1ns);
  EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
  rig.RunUntil(told + 30s);
  EXPECT_EQ(rig.StateOf(rig[1]), "");
}

TEST(FieldTombstone, NorIsOneKeptThatOthersKnewLongBefore) {
  for (const bool left : {false, true}) {
    Rig rig;
    rig.Know(5);
    const Instant died = left ? rig.now.boot : Bury(rig);
    if (left) rig.Gossip(rig[1], {Left(rig[1])});
    rig.RunUntil(died + 10s);
    rig.Gossip(rig[3], {Old(left ? Left(rig[1]) : Dead(rig[1], {&rig[3]}), 70s)});
    rig.RunUntil(died + 30s - 1ns);
    EXPECT_NE(rig.StateOf(rig[1]), "") << left;
    rig.RunUntil(died + 30s);
    EXPECT_EQ(rig.StateOf(rig[1]), "") << left;
  }
}

TEST(FieldTombstone, AVerdictThatWasRefutedShortensNoLaterOne) {
  Rig rig;
  rig.Know(5);
  rig.Gossip(rig[2], {Suspect(rig[1], {&rig[2]})});
  rig.Gossip(rig[3], {Old(Dead(rig[1], {&rig[3]}), 80s)});
  rig[1].key.incarnation = 1;
  rig.Gossip(rig[1], {Alive(rig[1])});
  ASSERT_EQ(rig.StateOf(rig[1]), "ACTIVE 1");
  rig[1].answers = rig[1].answers_relays = false;
  while (rig.StateOf(rig[1]) != "INACTIVE 1" && rig.SinceStart() < 60s) rig.Step();
  const Instant died = rig.now.boot;
  rig.RunUntil(died + 90s - 1ns);
  EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 1");
  rig.RunUntil(died + 90s);
  EXPECT_EQ(rig.StateOf(rig[1]), "");
}

// ---- quickwit-oss/chitchat#132, PR#133, #23 ----

TEST(FieldTombstone, ToLearnOfTheDeadIsNoSignOfTheirLife) {
  for (const Config& config : {Config::Lan(), Config::Mesh()}) {
    SCOPED_TRACE(config.profile);
    Cluster c({.nodes = 5, .config = config});
    ASSERT_TRUE(c.Converge(60s));
    c.RunFor(30s);
    c.Crash(3);
    ASSERT_TRUE(c.RunUntil([&] { return c.AllSee(3, MemberStatus::kInactive); }, 200s));
    c.RunFor(10s);
    const Duration from = c.now();
    const SimId newcomer = c.AddNode();
    c.Crash(1);
    c.Restart(1);  // loses all that it knew
    c.RunFor(60s);
    EXPECT_EQ(c.Sees(1, newcomer), MemberStatus::kActive);
    EXPECT_EQ(c.Sees(newcomer, 3), MemberStatus::kInactive) << "it was told of it";
    EXPECT_EQ(TimesSeenAlive(c, 3, kNobody, from), 0u);
  }
}

// ---- al8n/memberlist PR#188; scalecube/scalecube-cluster#176 ----

TEST(FieldTombstone, OnceItHasEndedNothingGoesToTheDeadOrNamesThem) {
  for (const double loss : {0.0, 0.1}) {
    Cluster c({.nodes = 8, .seed = 4});
    ASSERT_TRUE(c.Converge(30s));
    ASSERT_TRUE(c.sim().Order(2, Watch{.member = "n5", .interval = 1s, .thresholds = {8}}).ok());
    c.RunFor(5s);
    c.Lose(loss);
    c.Crash(kB);
    ASSERT_TRUE(c.RunUntil([&] { return c.Count({.kind = EventKind::kForgotten, .subject = kB}) == 7; }, 130s));
    c.RunFor(1s);
    std::size_t to = 0, of = 0, sent = 0;
    const std::uint64_t id = IdOf(c, kB);
    const Address address = c.sim().address(kB);
    c.sim().SetTap([&](const SimDatagram& datagram) {
      if (datagram.moment != SimDatagram::Moment::kSent) return;
      ++sent;
      to += datagram.to_address == address;
      Frame frame;
      std::vector<Update> updates;
      if (!ReadDatagram(datagram, &frame, &updates)) return;
      of += frame.target == id || frame.target_address == address;
      for (const Update& update : updates) {
        of += update.name == "n5";
        for (std::size_t i = 0; i < update.accuser_count; ++i) of += update.accusers[i].id == id;
      }
    });
    const std::uint64_t streams = c.sim().counters().streams;
    c.RunFor(10min);
    EXPECT_EQ(to, 0u);
    EXPECT_EQ(of, 0u);
    EXPECT_GE(sent, 600u * 7u);
    if (loss == 0) {
      EXPECT_EQ(c.sim().counters().streams, streams);
    }
  }
}

}  // namespace
}  // namespace nekton
