// Rumours of other members: how much they weigh, whose count, and what is taken back.
#include <vector>

#include <gtest/gtest.h>

#include "stm/stm.h"
#include "tests/stm_scene.h"

namespace nekton {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr PeerId kPeer = Scene::kPeer;
constexpr LifeKey kKey = Scene::kKey;
constexpr LifeKey kHigher{5, 4};
constexpr LifeKey kOlder{5, 2};
constexpr nanoseconds kOne{1};

// ---- Weight ----

TEST(StmRumour, OfTheWeightOfTheThresholdOneCommits) {
  Scene scene(Scene::Swim());
  EXPECT_EQ(scene.Rumour(7), Outcome::kApplied);
  ASSERT_EQ(scene.changes.size(), 1u);
  EXPECT_EQ(scene.changes[0].observer, 7u);
  EXPECT_EQ(scene.changes[0].key, kKey);
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT gossip");
  EXPECT_EQ(scene.NextDeadline(), seconds(90));
}

TEST(StmRumour, OfWeightOneThatManyDistinctObserversMustAgree) {
  for (std::uint32_t threshold = 1; threshold <= 8; ++threshold) {
    StmConfig config = Scene::Mesh();
    config.demote_threshold = threshold;
    Scene scene(config);
    for (PeerId observer = 10; observer < 10 + threshold; ++observer) {
      EXPECT_EQ(scene.Changes(), "");
      EXPECT_EQ(scene.Rumour(observer), Outcome::kApplied);
      if (scene.state() == State::kActive) {
        for (int i = 0; i < 10; ++i) EXPECT_EQ(scene.Rumour(observer), Outcome::kDuplicate);
      }
    }
    EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT gossip") << threshold;
  }
}

TEST(StmRumour, OfAWeightBetweenCountsThatMuch) {
  StmConfig config = Scene::Swim();  // threshold 5
  config.rumour_weight = 2;
  Scene scene(config);
  scene.Rumour(7);
  EXPECT_EQ(scene.count(), 2u);
  scene.Rumour(8);
  EXPECT_EQ(scene.Changes(), "");
  scene.Rumour(9);
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT gossip");
}

TEST(StmRumour, OfWeightZeroChangesNothing) {
  StmConfig config = Scene::Mesh();
  config.rumour_weight = 0;
  Scene scene(config);
  for (PeerId observer = 10; observer < 20; ++observer) EXPECT_EQ(scene.Rumour(observer), Outcome::kZeroWeight);
  EXPECT_EQ(scene.stm.records(), 0u);
}

TEST(StmRumour, AddsToOurOwnSuspects) {
  Scene scene(Scene::Mesh());
  scene.Suspect();
  scene.Rumour(7);
  EXPECT_EQ(scene.Changes(), "");
  EXPECT_EQ(scene.count(), 2u);
  scene.Suspect();
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT demotion_threshold");
}

TEST(StmRumour, WhatWasSaidBeforeAHealthyIsRememberedAndCountsNoMore) {
  Scene scene(Scene::Mesh());
  scene.Rumour(7);
  scene.Rumour(8);
  EXPECT_EQ(scene.Healthy(), Outcome::kApplied);
  EXPECT_EQ(scene.count(), 0u);
  EXPECT_EQ(scene.Rumour(7), Outcome::kDuplicate);
  scene.Rumour(9);
  scene.Rumour(10);
  EXPECT_EQ(scene.Changes(), "");
  scene.Rumour(11);
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT gossip");
}

// ---- Keys ----

TEST(StmRumour, BelowTheKeyWeHoldIsOutranked) {
  Scene scene(Scene::Mesh());
  scene.Suspect();
  EXPECT_EQ(scene.Rumour(7, kOlder), Outcome::kOutranked);
  EXPECT_EQ(scene.Rumour(8, {4, 99}), Outcome::kOutranked);
  EXPECT_EQ(scene.count(), 1u);
}

TEST(StmRumour, AHigherKeyVoidsTheRumoursButNotOurOwnSignals) {
  Scene scene(Scene::Mesh());
  scene.Suspect();
  scene.Rumour(7);
  EXPECT_EQ(scene.Rumour(7, kHigher), Outcome::kApplied);  // one of ours, one at the new key
  EXPECT_EQ(scene.count(), 2u);
  EXPECT_EQ(scene.Rumour(8, kHigher), Outcome::kApplied);
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT gossip");
}

TEST(StmRumour, AHigherKeyOfASignalVoidsThemToo) {
  Scene scene(Scene::Mesh());
  scene.Rumour(7);
  scene.Rumour(8);
  scene.key = kHigher;
  scene.Suspect();
  EXPECT_EQ(scene.count(), 1u);
  EXPECT_EQ(scene.Rumour(7), Outcome::kOutranked);
}

TEST(StmRumour, AtAHigherKeyRestartsHoldAndCountsWithoutAChange) {
  for (const bool cancelled : {false, true}) {
    Scene scene(Scene::Swim());
    scene.MakeSuspect();
    if (cancelled) scene.Healthy();
    scene.At(seconds(80));
    EXPECT_EQ(scene.Rumour(7, kHigher), Outcome::kApplied);
    EXPECT_EQ(scene.Changes(), "");
    EXPECT_EQ(scene.NextDeadline(), seconds(170));
    EXPECT_EQ(scene.stm.HoldOf(kPeer)->key, kHigher);
    EXPECT_EQ(scene.stm.HoldOf(kPeer)->since, Scene::kStart);
    EXPECT_EQ(scene.count(), 0u);
    EXPECT_EQ(scene.Refute(kHigher), Outcome::kOutranked);
    EXPECT_EQ(scene.Refute({5, 5}), Outcome::kApplied);
  }
}

// ---- On a SUSPECT or INACTIVE peer ----

TEST(StmRumour, AtTheSameKeyLeavesAFixedHoldAlone) {
  Scene scene(Scene::Swim());
  scene.Rumour(7);
  scene.At(seconds(10));
  scene.Rumour(8);
  EXPECT_EQ(scene.NextDeadline(), seconds(90));
}

TEST(StmRumour, ANewWordStartsACancelledHoldAgain) {
  Scene scene(Scene::Swim());
  scene.Rumour(7);
  scene.At(seconds(10));
  scene.Healthy();
  EXPECT_EQ(scene.Rumour(7), Outcome::kDuplicate);
  EXPECT_EQ(scene.NextDeadline(), Scene::kNone);
  EXPECT_EQ(scene.Rumour(8), Outcome::kApplied);
  EXPECT_EQ(scene.NextDeadline(), seconds(100));
  EXPECT_EQ(scene.count(), 0u);  // of the promotion
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT gossip");
}

TEST(StmRumour, OfTheDeadChangesNoState) {
  for (const StmConfig& config : {Scene::Swim(), Scene::Mesh()}) {
    Scene scene(config);
    scene.MakeInactive();
    scene.Rumour(7);
    scene.Rumour(8, kHigher);
    EXPECT_EQ(scene.state(), State::kInactive);
    EXPECT_EQ(scene.NextDeadline(), Scene::kNone);
    EXPECT_EQ(scene.Changes(), "");
  }
}

TEST(StmRumour, OfTheDeadVoidsTheHealthySoFar) {
  StmConfig config = Scene::Mesh();
  config.recovery_threshold = 2;
  Scene scene(config);
  scene.MakeInactive();
  scene.At(seconds(180));
  scene.Healthy();
  scene.Rumour(7);
  EXPECT_EQ(scene.count(), 0u);
  scene.Healthy();
  EXPECT_EQ(scene.Changes(), "");
}

// It said so before the kHealthy; that its port was refused, too, is remembered and moves nothing.
TEST(StmRumour, AMarkOfOneThatIsOnlyRememberedStartsNoHoldAgain) {
  Scene scene(Scene::Swim());
  scene.Rumour(7);
  scene.Healthy();
  EXPECT_EQ(scene.Rumour(7, kKey, true), Outcome::kApplied);
  EXPECT_FALSE(scene.Running());
  EXPECT_EQ(scene.count(), 1u);  // and the promotion goes on
  scene.Healthy();
  EXPECT_EQ(scene.state(), State::kActive);
}

// ---- When there is no room ----

TEST(StmRumour, EightObserversAreKept) {
  StmConfig config = Scene::Mesh();
  config.demote_threshold = 10;
  Scene scene(config);
  for (PeerId observer = 11; observer <= 18; ++observer) EXPECT_EQ(scene.Rumour(observer), Outcome::kApplied);
  EXPECT_EQ(scene.Rumour(19), Outcome::kFull);
  EXPECT_EQ(scene.Rumour(11), Outcome::kDuplicate);
  EXPECT_EQ(scene.count(), 8u);
  EXPECT_EQ(scene.Rumour(10), Outcome::kApplied);  // a lower one takes the place of the highest
  EXPECT_EQ(scene.count(), 8u);
  EXPECT_EQ(scene.stm.counters().witnesses_displaced, 1u);
  EXPECT_EQ(scene.Rumour(18), Outcome::kFull);
}

// ---- Whose word counts ----

// What can become of observer 7 so that its word counts for nothing.
enum class Fate { kUnknown, kSubject, kSuspect, kInactive, kLeft, kReplaced };
constexpr Fate kFates[] = {Fate::kUnknown,  Fate::kSubject, Fate::kSuspect,
                           Fate::kInactive, Fate::kLeft,    Fate::kReplaced};

PeerId Meet(Scene& scene, Fate fate) {
  switch (fate) {
    case Fate::kUnknown:
      return kNoPeer;
    case Fate::kSubject:
      return kPeer;
    case Fate::kSuspect:
      scene.MakeSuspect(7);
      break;
    case Fate::kInactive:
      scene.stm.Bury(scene.now, 7, kKey);
      break;
    case Fate::kLeft:
      scene.Left(7);
      break;
    case Fate::kReplaced:
      scene.Replaced(7);
      break;
  }
  scene.changes.clear();
  return 7;
}

TEST(StmRumour, OfAnObserverThatIsNotActiveHereCountsForNothing) {
  for (const Fate fate : kFates) {
    Scene scene(Scene::Swim());
    const PeerId observer = Meet(scene, fate);
    const std::size_t records = scene.stm.records();
    EXPECT_EQ(scene.Rumour(observer), Outcome::kZeroWeight);
    EXPECT_EQ(scene.Verdict(observer), Outcome::kZeroWeight);
    EXPECT_EQ(scene.stm.records(), records);
    scene.MakeSuspect();
    scene.At(seconds(10));
    EXPECT_EQ(scene.Rumour(observer, kHigher), Outcome::kZeroWeight);
    EXPECT_EQ(scene.Verdict(observer, kHigher), Outcome::kZeroWeight);
    EXPECT_EQ(scene.HoldEnd(), seconds(90));
    EXPECT_EQ(scene.stm.HoldOf(kPeer)->key, kKey);
    EXPECT_EQ(scene.Changes(), "");
  }
}

TEST(StmRumour, OfAnObserverWithAPendingCountCounts) {
  Scene scene(Scene::Swim());
  scene.Suspect(7);
  EXPECT_EQ(scene.Rumour(7), Outcome::kApplied);
}

TEST(StmRumour, OfAnObserverThatCameBackCounts) {
  Scene scene(Scene::Swim());
  scene.MakeSuspect(7);
  EXPECT_EQ(scene.Rumour(7), Outcome::kZeroWeight);
  scene.Healthy(7);
  EXPECT_EQ(scene.Rumour(7), Outcome::kZeroWeight);
  scene.Healthy(7);
  EXPECT_EQ(scene.Rumour(7), Outcome::kApplied);
}

// Nobody is deaf to the doubted there: what they say counts, and what they said stands.
TEST(StmRumour, WhereTheDoubtedAreHeardTheirWordCounts) {
  StmConfig config = Scene::Swim();
  config.doubt_the_doubted = false;
  for (const Fate fate : kFates) {
    const bool nobody = fate == Fate::kUnknown || fate == Fate::kSubject;
    Scene before(config);
    const PeerId observer = Meet(before, fate);
    EXPECT_EQ(before.Rumour(observer), nobody ? Outcome::kZeroWeight : Outcome::kApplied);
    EXPECT_EQ(before.Changes(), nobody ? "" : "ACTIVE>SUSPECT gossip");
  }
  for (const Fate fate : {Fate::kSuspect, Fate::kInactive}) {
    Scene after(config);
    after.Rumour(7);
    Meet(after, fate);
    EXPECT_EQ(after.stm.counters().taken_back, 0U);
    EXPECT_TRUE(after.stm.Accuses(7, kPeer));
  }
}

// ---- What is taken back ----

enum class End { kSuspected, kBuried, kLeft, kReplaced, kRestarted, kForgotten };
constexpr End kEnds[] = {End::kSuspected, End::kBuried, End::kLeft, End::kReplaced, End::kRestarted, End::kForgotten};

void Befall(Scene& scene, PeerId observer, End end) {
  if (end == End::kSuspected) scene.Dead(observer);
  if (end == End::kBuried) scene.stm.Bury(scene.now, observer, kKey);
  if (end == End::kLeft) scene.Left(observer);
  if (end == End::kReplaced) scene.Replaced(observer);
  if (end == End::kRestarted) scene.Restarted(observer, {6, 0});
  if (end == End::kForgotten) scene.stm.Forget(observer);
  scene.changes.clear();
}

TEST(StmTakenBack, RumoursFallOutOfTheDemoteCount) {
  for (const End end : kEnds) {
    Scene scene(Scene::Mesh());
    scene.Rumour(7);
    scene.Rumour(8);
    Befall(scene, 7, end);
    EXPECT_EQ(scene.count(), 1u) << static_cast<int>(end);
    EXPECT_EQ(scene.stm.counters().taken_back, 1u);
    scene.Rumour(9);
    EXPECT_EQ(scene.Changes(), "");
    scene.Rumour(10);
    EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT gossip");
  }
}

TEST(StmTakenBack, SignalsFromOutsideFallOutOfTheDemoteCount) {
  for (const End end : kEnds) {
    Scene scene(Scene::Mesh());
    scene.Outside(7, Signal::kSuspect);
    scene.Outside(8, Signal::kSuspect);
    Befall(scene, 7, end);
    EXPECT_EQ(scene.count(), 1u) << static_cast<int>(end);
  }
}

TEST(StmTakenBack, SignalsFromOutsideFallOutOfThePromoteCount) {
  for (const End end : kEnds) {
    Scene scene(Scene::Mesh());
    scene.MakeSuspect();
    scene.Outside(7, Signal::kHealthy);
    EXPECT_EQ(scene.count(), 1u);
    Befall(scene, 7, end);
    EXPECT_EQ(scene.count(), 0u) << static_cast<int>(end);
    scene.Healthy();
    EXPECT_EQ(scene.Changes(), "");
  }
}

TEST(StmTakenBack, OnlyWhatStillCounts) {
  Scene scene(Scene::Mesh());
  scene.Outside(7, Signal::kSuspect);
  scene.Healthy();
  scene.Batch("ss");
  scene.Left(7);  // what it said was void already
  EXPECT_EQ(scene.count(), 2u);
}

TEST(StmTakenBack, TheEndOfTheHoldGrows) {
  for (const End end : kEnds) {
    Scene scene(Scene::Swim());
    scene.terms = {.min = milliseconds(2500), .max = seconds(10), .confirmers = 1};
    scene.MakeSuspect();
    scene.Rumour(7);
    EXPECT_EQ(scene.HoldEnd(), milliseconds(2500));
    scene.At(seconds(1));
    scene.terms = kMeshHold;
    Befall(scene, 7, end);
    EXPECT_EQ(scene.HoldEnd(), seconds(10)) << static_cast<int>(end);
    EXPECT_TRUE(scene.EndsExactlyAt(seconds(10)));
  }
}

TEST(StmTakenBack, AHoldThatNobodyStandsBehindIsCancelled) {
  for (const End end : kEnds) {
    Scene scene(Scene::Swim());
    scene.Rumour(7);
    Befall(scene, 7, end);
    EXPECT_EQ(scene.state(), State::kSuspect);
    EXPECT_FALSE(scene.Running()) << static_cast<int>(end);
    EXPECT_EQ(scene.HoldEnd(), Scene::kNone);
    scene.At(seconds(20));
    EXPECT_EQ(scene.Rumour(8), Outcome::kApplied);
    EXPECT_EQ(scene.HoldEnd(), seconds(110));
  }
}

TEST(StmTakenBack, OurOwnEvidenceStandsAlone) {
  Scene scene(Scene::Swim());
  scene.Rumour(7);
  scene.Dead();
  scene.Left(7);
  EXPECT_TRUE(scene.Running());
}

TEST(StmTakenBack, NeverEndsAHoldEarlierThanNow) {
  Scene scene(Scene::Swim());
  scene.terms = {.min = seconds(1), .max = seconds(10), .confirmers = 2};
  scene.MakeSuspect();
  scene.Rumour(7);
  scene.Rumour(8);
  scene.At(seconds(30));  // long over, and nobody has called Advance
  scene.Left(7);
  EXPECT_EQ(scene.HoldEnd(), seconds(30));
  EXPECT_EQ(scene.state(), State::kSuspect);
}

TEST(StmTakenBack, WhoIsHeardOfAgainMaySayItAgain) {
  Scene scene(Scene::Mesh());
  scene.Rumour(7);
  scene.Restarted(7, {6, 0});
  EXPECT_EQ(scene.count(), 0u);
  EXPECT_EQ(scene.Rumour(7), Outcome::kApplied);
  EXPECT_EQ(scene.count(), 1u);
}

TEST(StmTakenBack, AHoldThatOnlyOutsidersBeganEndsWithTheLastThatSpeaksAgainstThePeer) {
  Scene scene(Scene::Mesh());
  scene.Outside(6, Signal::kSuspect);
  scene.Outside(6, Signal::kHealthy);
  scene.Outside(7, Signal::kDead);
  scene.Outside(8, Signal::kDead);
  EXPECT_EQ(scene.HoldEnd(), seconds(90));
  scene.Left(7);
  EXPECT_TRUE(scene.Running());
  scene.Left(8);  // what 6 said last is that the peer lives
  EXPECT_FALSE(scene.Running());
  EXPECT_EQ(scene.state(), State::kSuspect);
}

TEST(StmTakenBack, AVoiceFromBeforeAHealthyHoldsNoHold) {
  Scene scene({.demote_threshold = 1, .rumour_weight = 1});
  scene.Outside(20, Signal::kSuspect);
  scene.Batch("hh");
  EXPECT_EQ(scene.state(), State::kActive);
  scene.Outside(21, Signal::kSuspect);
  EXPECT_TRUE(scene.Running());
  scene.Left(21);
  EXPECT_FALSE(scene.Running());
}

TEST(StmTakenBack, WhatTheTakenBackSaidFromOutsideIsNotCountedAgain) {
  Scene scene(Scene::Mesh());
  scene.Suspect();
  const Observation what{.peer = kPeer,
                         .observer = 7,
                         .signal = Signal::kSuspect,
                         .epoch = 5,
                         .sequence = 1,
                         .nonce = 1,
                         .timestamp = Scene::kWall};
  EXPECT_EQ(scene.Apply(what), Outcome::kApplied);
  scene.Restarted(7, {6, 0});
  EXPECT_EQ(scene.Apply(what), Outcome::kStale);
  EXPECT_EQ(scene.count(), 1u);
}

TEST(StmTakenBack, InSeveralPeersAtOnce) {
  Scene scene(Scene::Swim());
  for (const PeerId peer : {2u, 3u, 4u}) scene.stm.Rumour(scene.now, peer, kKey, {7}, scene.terms, scene.changes);
  scene.stm.Rumour(scene.now, 4, kKey, {8}, scene.terms, scene.changes);
  scene.Left(7);
  EXPECT_FALSE(scene.stm.HoldOf(2)->running);
  EXPECT_FALSE(scene.stm.HoldOf(3)->running);
  EXPECT_TRUE(scene.stm.HoldOf(4)->running);
  EXPECT_EQ(scene.stm.counters().taken_back, 3u);
}

TEST(StmTakenBack, TheWordOfOneThatRecoversDoesNotComeBackByItself) {
  Scene scene(Scene::Swim());
  scene.Rumour(7);
  scene.stm.Rumour(scene.now, 7, kKey, {8}, scene.terms, scene.changes);  // 8 says that 7 is suspect
  EXPECT_FALSE(scene.Running());
  scene.At(kOne);
  scene.stm.Refute(scene.now, 7, kHigher, scene.changes);
  EXPECT_FALSE(scene.Running());  // its word does not come back by itself
  EXPECT_EQ(scene.Rumour(7), Outcome::kApplied);
  EXPECT_TRUE(scene.Running());
}

}  // namespace
}  // namespace nekton
