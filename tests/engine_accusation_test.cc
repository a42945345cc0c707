// Accusations that nobody whose word counts stands behind, that come before the life they are about, or after the doubt.
#include <chrono>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "swim/tags.h"
#include "tests/cluster.h"
#include "tests/engine_holds.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

std::string Why(const Rig& rig) { return Describe(rig.engine->Explain(rig.now, "m1").value()); }

// ---- Nobody whose word counts stands behind it. ----

TEST(EngineAccusation, OfStrangersMakesUsLookOurselvesInTheNextPeriod) {
  for (const UpdateKind kind : {UpdateKind::kSuspect, UpdateKind::kDead}) {
    Rig rig;
    rig.Know(40);
    rig.NextRound();
    const Peer stranger{"stranger", Rig::At(99), {Rig::kGeneration, 0}};
    rig.Clear();
    for (int copies = 0; copies < 5; ++copies) {
      rig.Gossip(rig[2], {kind == UpdateKind::kDead ? Dead(rig[1], {&stranger}) : Suspect(rig[1], {&stranger})});
    }
    EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
    EXPECT_EQ(rig.SentTo(rig[1], FrameType::kPing).size(), 0u);
    rig.Run(1s);
    EXPECT_EQ(rig.SentTo(rig[1], FrameType::kPing).size(), 1u) << "once, and not for every copy";
  }
}

TEST(EngineAccusation, OfTheSuspectCountsWithoutTheRule) {
  for (const bool rule : {true, false}) {
    Config config = Rig::Lan();
    config.rules.doubt_the_doubted = rule;
    Rig rig(config);
    rig.Know(40);
    rig.Gossip(rig[3], {Suspect(rig[2], {&rig[3]})});
    ASSERT_EQ(rig.StateOf(rig[2]), "SUSPECT 0");
    rig.Gossip(rig[3], {Suspect(rig[1], {&rig[2]})});
    EXPECT_EQ(rig.StateOf(rig[1]), rule ? "ACTIVE 0" : "SUSPECT 0");
    rig.Gossip(rig[3], {Suspect(rig[4], {&rig[2]}, 1)});
    EXPECT_EQ(rig.StateOf(rig[4]), rule ? "ACTIVE 0" : "SUSPECT 1");
  }
}

// Its key rose by what another said of it, so its tags are still those of the key before, until it says itself.
TEST(EngineAccusation, AtANewKeyHidesNoTagsOfThatKey) {
  for (const bool accusation_first : {true, false}) {
    Rig rig;
    rig.NewPeer().key.incarnation = 5;
    rig[1].tags = EncodeTags({{"a", "old"}}).value();
    rig.Know(6);
    Peer now = rig[1];
    now.key.incarnation = 6;
    now.tags = EncodeTags({{"a", "new"}}).value();
    if (accusation_first) rig.Gossip(rig[4], {Suspect(now, {&rig[2]})});
    rig.Gossip(rig[3], {Alive(now)});
    if (!accusation_first) rig.Gossip(rig[4], {Suspect(now, {&rig[2]})});
    EXPECT_EQ(rig.StateOf(now), "SUSPECT 6");
    EXPECT_EQ(rig.Member("m1")->tags.at("a"), "new");
  }
}

// Nor does news that was too small for the tags.
TEST(EngineAccusation, NewsWithoutTagsAtANewKeyHidesThemNeither) {
  Rig rig;
  rig.NewPeer().tags = EncodeTags({{"a", "old"}}).value();
  rig.Know(6);
  Peer now = rig[1];
  now.key.incarnation = 1;
  now.tags = EncodeTags({{"a", "new"}}).value();
  Update small = Alive(now);
  small.detailed = false;
  small.tags = {};
  rig.Gossip(rig[3], {small});
  EXPECT_EQ(rig.StateOf(now), "ACTIVE 1");
  EXPECT_EQ(rig.Member("m1")->tags.at("a"), "old") << "as far as we know";
  rig.events.clear();
  rig.Gossip(rig[4], {Alive(now)});
  EXPECT_EQ(rig.Member("m1")->tags.at("a"), "new");
  ASSERT_EQ(rig.events.size(), 1u);
  EXPECT_EQ(rig.events[0].kind, EventKind::kUpdated);
  rig.Gossip(rig[5], {Alive(now)});
  EXPECT_EQ(rig.events.size(), 1u) << "once";
}

// Whenever in a period it comes, a member that answers after 150 ms is not suspected for it: the round is a whole one.
TEST(EngineAccusation, OfStrangersHarmsNobodyWhoAnswers) {
  const Peer stranger{"stranger", Rig::At(99), {Rig::kGeneration, 0}};
  for (int i = 0; i < 40; ++i) {
    Rig rig;
    rig.Know(6);
    rig.Run(25ms * i);
    rig[1].answers = rig[1].answers_relays = false;
    rig.Gossip(rig[2], {Dead(rig[1], {&stranger})});
    rig.Run(150ms);
    rig[1].answers = rig[1].answers_relays = true;
    rig.Run(3s);
    EXPECT_EQ(rig.Count(Counter::kSuspicionsOwn), 0u) << i;
  }
}

TEST(EngineAccusation, OfStrangersNeverOpensMoreRoundsThanTheBound) {
  Rig rig;
  rig.Know(40);
  rig.NextRound();
  rig.Silence();
  const Peer stranger{"stranger", Rig::At(99), {Rig::kGeneration, 0}};
  for (std::size_t i = 1; i <= 40; ++i) rig.Gossip(rig[2], {Dead(rig[i], {&stranger})});
  const std::uint64_t before = rig.Count(Counter::kRounds);
  while (rig.Count(Counter::kRounds) == before) rig.Step();
  EXPECT_EQ(rig.Count(Counter::kRounds) - before, 9u) << "the regular one and eight";
}

// One is cut off while another dies; when it comes back, those who accused the dead one have been started again.
TEST(EngineAccusation, WhoMissedADeathLearnsItAlsoWhenItsAccusersHaveGone) {
  for (const std::size_t n : {16u, 64u}) {
    constexpr SimId kCutOff = 1;
    constexpr SimId kDead = 2;
    Cluster c({.nodes = n, .seed = n});
    ASSERT_TRUE(c.Converge(60s));
    c.Partition({{kCutOff}});
    c.Crash(kDead);
    const auto known = [&](SimId id) { return c.Sees(id, kDead) == MemberStatus::kInactive; };
    ASSERT_TRUE(c.RunUntil(
        [&] {
          for (SimId id = 3; id < n; ++id) {
            if (!known(id)) return false;
          }
          return true;
        },
        60s));
    std::set<std::string> accusers;
    for (const SimEvent& event : c.Events({.kind = EventKind::kFailed, .subject = kDead})) {
      accusers.insert(event.event.cause.observers.begin(), event.event.cause.observers.end());
    }
    for (SimId id = 3; id < n; ++id) {
      if (!accusers.contains(c.sim().name(id))) continue;
      c.Crash(id, Port::kRefuses);
      c.RunFor(500ms);
      c.Restart(id);
    }
    c.RunFor(8s);
    c.Heal();
    const Duration healed = c.now();
    EXPECT_TRUE(c.RunUntil([&] { return !c.Sees(kCutOff, kDead) || known(kCutOff); }, 25s)) << n;
    c.RunFor(100s);
    EXPECT_EQ(c.Count({.kind = EventKind::kJoined, .subject = kDead, .since = healed}), 0u) << n;
    EXPECT_TRUE(c.NoneKnows(kDead));
  }
}

// ---- It comes before the life it is about. ----

TEST(EngineAccusation, OfALifeNotHeardOfYetDoesNotHideItsRestart) {
  for (const bool left : {false, true}) {
    Rig rig;
    rig.Know(5);
    if (left) {
      rig.Gossip(rig[1], {Left(rig[1])});
    } else {
      SuspectByARound(rig);
      rig.Run(12s);
    }
    rig.Clear();
    rig[1].key = {Rig::kGeneration + 5000, 0};
    rig.Gossip(rig[2], {Suspect(rig[1], {&rig[3]})});
    EXPECT_EQ(rig.Events(), "") << "an accusation revives nobody";
    rig[1].key.incarnation = 1;
    rig.Gossip(rig[1], {Alive(rig[1])});
    ASSERT_EQ(rig.events.size(), 1u);
    EXPECT_EQ(rig.events[0].generation_before, Rig::kGeneration);
    EXPECT_EQ(rig.Events(), "restarted m1");
  }
}

// ---- It comes after the doubt. ----

TEST(EngineAccusation, CopiesOfOneThatHasEndedAreNoNews) {
  Rig rig;
  rig.Know(6);
  SuspectByHearsay(rig, 2);
  rig[1].answers = rig[1].answers_relays = true;
  while (rig.StateOf(rig[1]) != "ACTIVE 0") rig.Step();
  rig.Run(3s);
  const std::uint64_t applied = rig.Count(Counter::kUpdatesApplied);
  rig.Gossip(rig[4], {Suspect(rig[1], FromM2(rig, 2))});
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
  EXPECT_EQ(rig.Count(Counter::kUpdatesApplied), applied);
}

TEST(EngineAccusation, AtAHigherIncarnationEndsTheRoundThatSpansTheRefutation) {
  Rig rig;
  rig.Know(6);
  Kill(rig[1]);
  rig.NextRound(&rig[1]);
  rig.Run(500ms);
  const std::uint64_t failed = rig.Count(Counter::kRoundsFailed);
  rig.Gossip(rig[2], {Suspect(rig[1], {&rig[2]}, 1)});
  rig.Run(400ms);
  EXPECT_EQ(rig.Count(Counter::kRoundsFailed), failed);
}

// ---- What is told of it. ----

TEST(EngineAccusation, AFailedRoundLeavesRoomForWhatOthersSaid) {
  Rig rig;
  rig.Know(6);
  SuspectByHearsay(rig, 2);
  while (rig.Count(Counter::kRoundsFailed) == 0) rig.Step();
  EXPECT_THAT(Why(rig), HasSubstr("rumour by"));
}

TEST(EngineAccusation, ANewcomerIsNotNamedForWhoHadItsRowBefore) {
  Rig rig(Quiet());
  rig.Know(5);
  rig.Gossip(rig[2], {Suspect(rig[1], {&rig[2]})});
  rig.Gossip(rig[2], {Left(rig[2])});
  rig.Run(91s);
  Peer& fresh = rig.NewPeer();
  rig.Gossip(fresh, {Alive(fresh)});
  EXPECT_THAT(Why(rig), Not(HasSubstr(fresh.name)));
}

// ---- What applications hand in. ----

class Frozen {
 public:
  static constexpr SimId kSubject = 3;

  Frozen() : cluster_({.nodes = 8, .seed = 3}) {
    EXPECT_TRUE(cluster_.Converge(20s));
    cluster_.RunFor(5s);
    cluster_.Pause(kSubject);
    cluster_.RunFor(50ms);
  }
  void Saw(SimId at, const PeerObservation& seen) { EXPECT_TRUE(cluster_.sim().Order(at, Observe{{seen}}).ok()); }
  // How many held it dead before it came back, after what the shortest hold grants (tolerated_pause less a period).
  std::size_t Failed() {
    cluster_.RunFor(2400ms);
    cluster_.Resume(kSubject);
    cluster_.RunFor(8s);
    return cluster_.Count({.kind = EventKind::kFailed, .subject = kSubject});
  }
  // Whom the first suspicions name, before any round of their own.
  std::set<std::string> accusers() const {
    std::set<std::string> names;
    const Duration first = cluster_.First({.kind = EventKind::kSuspected, .subject = kSubject}).value();
    for (const SimEvent& event : cluster_.Events({.subject = kSubject, .since = first, .until = first + 50ms})) {
      names.insert(event.event.cause.observers.begin(), event.event.cause.observers.end());
    }
    return names;
  }
  WallTime wall(SimId at) { return cluster_.sim().Clock(at).wall; }

 private:
  Cluster cluster_;
};

TEST(EngineAccusation, AFreezeIsToleratedForTheShortestHoldWhereApplicationsSeeIt) {
  for (const std::size_t observers : {1u, 4u}) {
    Frozen frozen;
    for (const SimId at : {0u, 1u, 2u, 4u}) {
      if (at < observers) frozen.Saw(at, {.peer = "n3", .signal = Signal::kDead});
    }
    EXPECT_EQ(frozen.Failed(), 0u) << observers;
  }
}

TEST(EngineAccusation, WhatOneObserverSawIsOneVoiceWhereverItIsHandedIn) {
  Frozen frozen;
  for (const SimId at : {0u, 1u, 2u, 4u}) {
    frozen.Saw(at, {.peer = "n3",
                    .signal = Signal::kDead,
                    .observer = "n7",
                    .sequence = 1,
                    .nonce = 7,
                    .timestamp = frozen.wall(at)});
  }
  EXPECT_EQ(frozen.Failed(), 0u);
  EXPECT_EQ(frozen.accusers(), std::set<std::string>({"n7"}));
}

TEST(EngineAccusation, AnObservationOfAnotherNeedsATimeAndANonce) {
  Rig rig(Quiet());
  rig.Know(5);
  for (const bool timed : {false, true}) {
    PeerObservation seen{.peer = "m1", .signal = Signal::kDead, .observer = "m2", .sequence = 1};
    if (timed) seen.timestamp = rig.now.wall;
    seen.nonce = timed ? 0 : 1;
    const absl::Status status = rig.Order(Observe{{seen}});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(timed ? "observations[0].nonce" : "observations[0].timestamp"));
  }
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
}

}  // namespace
}  // namespace nekton
