// Rumours and verdicts of other members.
#include "stm/stm.h"

#include <gtest/gtest.h>

#include "tests/stm_scene.h"

namespace nekton {
namespace {

using std::chrono::hours;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr PeerId kPeer = Scene::kPeer;
constexpr LifeKey kKey = Scene::kKey;
constexpr LifeKey kHigher{5, 4};
constexpr LifeKey kOlder{5, 2};

// ---- Rumours ----

TEST(StmRumour, OneCommitsInTheSwimProfiles) {
  Scene scene(Scene::Swim());
  scene.terms = {.min = seconds(3), .max = seconds(12), .confirmers = 3, .margin = seconds(1)};
  EXPECT_EQ(scene.Rumour(7), Outcome::kApplied);
  ASSERT_EQ(scene.changes.size(), 1u);
  EXPECT_EQ(scene.changes[0].observer, 7u);
  EXPECT_EQ(scene.changes[0].key, kKey);
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT gossip");
  EXPECT_EQ(scene.NextDeadline(), seconds(4));
}

TEST(StmRumour, InTheMeshThatManyDistinctObserversMustAgree) {
  Scene scene(Scene::Mesh());
  EXPECT_EQ(scene.Rumour(7), Outcome::kApplied);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(scene.Rumour(7), Outcome::kDuplicate);
  EXPECT_EQ(scene.Rumour(8), Outcome::kApplied);
  EXPECT_EQ(scene.Changes(), "");
  EXPECT_EQ(scene.Rumour(9), Outcome::kApplied);
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT gossip");
}

TEST(StmRumour, AddsToOurOwnSuspects) {
  Scene scene(Scene::Mesh());
  scene.Suspect();
  scene.Rumour(7);
  EXPECT_EQ(scene.Changes(), "");
  scene.Suspect();
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT demotion_threshold");
}

TEST(StmRumour, AHealthySignalTakesTheRumoursBack) {
  Scene scene(Scene::Mesh());
  scene.Rumour(7);
  scene.Rumour(8);
  EXPECT_EQ(scene.Healthy(), Outcome::kApplied);
  EXPECT_EQ(scene.stm.records(), 0u);
  scene.Rumour(9);
  scene.Rumour(10);
  EXPECT_EQ(scene.Changes(), "");
}

TEST(StmRumour, WithoutConfidenceChangesNothing) {
  Scene scene(Scene::Swim());
  EXPECT_EQ(scene.Rumour(7, kKey, 0), Outcome::kZeroWeight);
  EXPECT_EQ(scene.Rumour(kNoPeer, kKey, 0), Outcome::kZeroWeight);  // who said it is unknown here
  EXPECT_EQ(scene.stm.records(), 0u);
  scene.MakeSuspect();
  scene.At(seconds(10));
  EXPECT_EQ(scene.Rumour(7, kHigher, 0), Outcome::kZeroWeight);
  EXPECT_EQ(scene.NextDeadline(), seconds(90));
  EXPECT_EQ(scene.stm.HoldOf(kPeer)->key, kKey);
}

TEST(StmRumour, OfWeightZeroChangesNothing) {
  StmConfig config = Scene::Mesh();
  config.rumour_weight = 0;
  Scene scene(config);
  for (PeerId observer = 10; observer < 20; ++observer) EXPECT_EQ(scene.Rumour(observer), Outcome::kZeroWeight);
  EXPECT_EQ(scene.stm.records(), 0u);
}

TEST(StmRumour, BelowTheKeyWeHoldIsOutranked) {
  Scene scene(Scene::Mesh());
  scene.Suspect();
  EXPECT_EQ(scene.Rumour(7, kOlder), Outcome::kOutranked);
  EXPECT_EQ(scene.Rumour(8, {4, 99}), Outcome::kOutranked);
  scene.Suspect();
  EXPECT_EQ(scene.Changes(), "");
}

TEST(StmRumour, AHigherKeyVoidsTheRumoursButNotOurOwnSignals) {
  Scene scene(Scene::Mesh());
  scene.Suspect();
  scene.Rumour(7);
  EXPECT_EQ(scene.Rumour(7, kHigher), Outcome::kApplied);  // one of ours, one at the new key
  EXPECT_EQ(scene.Changes(), "");
  EXPECT_EQ(scene.Rumour(8, kHigher), Outcome::kApplied);
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT gossip");
}

TEST(StmRumour, EightObserversAreKept) {
  StmConfig config = Scene::Mesh();
  config.demote_threshold = 10;
  Scene scene(config);
  for (PeerId observer = 11; observer <= 18; ++observer) EXPECT_EQ(scene.Rumour(observer), Outcome::kApplied);
  EXPECT_EQ(scene.Rumour(19), Outcome::kZeroWeight);
  EXPECT_EQ(scene.Rumour(11), Outcome::kDuplicate);
  scene.Suspect();
  EXPECT_EQ(scene.Changes(), "");
  scene.Suspect();
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT demotion_threshold");
}

TEST(StmRumour, AtTheSameKeyLeavesARunningHoldAlone) {
  Scene scene(Scene::Swim());
  scene.Rumour(7);
  scene.At(seconds(10));
  scene.Rumour(8);
  EXPECT_EQ(scene.NextDeadline(), seconds(90));
}

TEST(StmRumour, OfANewObserverStartsACancelledHoldAgain) {
  Scene scene(Scene::Swim());
  scene.Rumour(7);
  scene.At(seconds(10));
  scene.Healthy();
  EXPECT_EQ(scene.Rumour(7), Outcome::kDuplicate);
  EXPECT_EQ(scene.NextDeadline(), Scene::kNone);
  EXPECT_EQ(scene.Rumour(8), Outcome::kApplied);
  EXPECT_EQ(scene.NextDeadline(), seconds(100));
  scene.Healthy();  // the promote count began anew
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT gossip");
}

TEST(StmRumour, AtAHigherKeyRestartsHoldAndCountsWithoutAnEvent) {
  for (const bool cancelled : {false, true}) {
    Scene scene(Scene::Swim());
    scene.MakeSuspect();
    if (cancelled) scene.Healthy();
    scene.terms = {.min = seconds(1), .max = seconds(1)};  // not used: a hold keeps its terms
    scene.At(seconds(80));
    EXPECT_EQ(scene.Rumour(7, kHigher), Outcome::kApplied);
    EXPECT_EQ(scene.Changes(), "");
    EXPECT_EQ(scene.NextDeadline(), seconds(170));
    EXPECT_EQ(scene.stm.HoldOf(kPeer)->key, kHigher);
    EXPECT_EQ(scene.stm.HoldOf(kPeer)->since, Scene::kStart);
    scene.Healthy();
    EXPECT_EQ(scene.Changes(), "");  // one of two, also where one had been counted before
    EXPECT_EQ(scene.Refute(kHigher), Outcome::kOutranked);
    EXPECT_EQ(scene.Refute({5, 5}), Outcome::kApplied);
  }
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

// ---- Verdicts ----

HoldTerms Hearer() { return {.min = seconds(20), .max = seconds(80), .confirmers = 3, .margin = seconds(10)}; }

TEST(StmVerdict, CommitsWhereTheHoldHasRunItsShortest) {
  Scene scene(Scene::Swim());
  scene.terms = Hearer();
  scene.Rumour(6);
  scene.Changes();
  scene.At(seconds(20));
  EXPECT_EQ(scene.Verdict(7), Outcome::kApplied);
  ASSERT_EQ(scene.changes.size(), 1u);
  EXPECT_EQ(scene.changes[0].observer, 7u);
  EXPECT_EQ(scene.changes[0].lasted, seconds(20));
  EXPECT_EQ(scene.Changes(), "SUSPECT>INACTIVE gossip");
  EXPECT_EQ(scene.NextDeadline(), Scene::kNone);
  EXPECT_EQ(scene.Verdict(8), Outcome::kApplied);  // counted, and no second change
  EXPECT_EQ(scene.Changes(), "");
}

TEST(StmVerdict, BringsAYoungHoldForwardAndNoCloser) {
  Scene scene(Scene::Swim());
  scene.terms = Hearer();
  scene.Rumour(6);
  EXPECT_EQ(scene.NextDeadline(), seconds(30));
  scene.Changes();
  for (const Duration at : {Duration(seconds(1)), Duration(seconds(20)) - nanoseconds(1)}) {
    scene.At(at);
    scene.Verdict(7);
    EXPECT_EQ(scene.Changes(), "");
    EXPECT_EQ(scene.NextDeadline(), seconds(20));
  }
  EXPECT_EQ(scene.Verdict(7), Outcome::kDuplicate);
  scene.At(seconds(20));
  scene.Advance();
  EXPECT_EQ(scene.Changes(), "SUSPECT>INACTIVE gossip");
}

TEST(StmVerdict, CopiesAndOrderOfTheNewsDoNotMatter) {
  for (const std::string_view order : {"RV", "VR", "RVV", "VRR", "VVRV"}) {
    Scene scene(Scene::Swim());
    scene.terms = Hearer();
    for (const char kind : order) kind == 'R' ? scene.Rumour(6) : scene.Verdict(7);
    EXPECT_EQ(scene.state(), State::kSuspect) << order;
    EXPECT_GE(scene.NextDeadline(), seconds(20)) << order;
  }
}

TEST(StmVerdict, ARefutationStillComesInTime) {
  Scene scene(Scene::Swim());
  scene.terms = Hearer();
  scene.Rumour(6);
  scene.Verdict(7);
  scene.Changes();
  scene.At(seconds(20) - nanoseconds(1));
  scene.Refute(kHigher);
  EXPECT_EQ(scene.Changes(), "SUSPECT>ACTIVE refuted");
}

TEST(StmVerdict, OnAnActivePeerIsARumour) {
  Scene scene(Scene::Swim());
  EXPECT_EQ(scene.Verdict(7), Outcome::kApplied);
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT gossip");
  EXPECT_EQ(scene.NextDeadline(), seconds(90));
  EXPECT_EQ(scene.Rumour(7), Outcome::kDuplicate);
}

TEST(StmVerdict, AtAHigherKeyIsARumour) {
  Scene scene(Scene::Swim());
  scene.MakeSuspect();
  scene.At(seconds(80));
  EXPECT_EQ(scene.Verdict(7, kHigher), Outcome::kApplied);
  EXPECT_EQ(scene.Changes(), "");
  EXPECT_EQ(scene.NextDeadline(), seconds(170));
  scene.At(seconds(170));
  EXPECT_EQ(scene.Verdict(7, kHigher), Outcome::kApplied);  // now the peer is SUSPECT at that key
  EXPECT_EQ(scene.Changes(), "SUSPECT>INACTIVE gossip");
}

TEST(StmVerdict, BelowTheKeyWeHoldIsOutranked) {
  Scene scene(Scene::Swim());
  scene.MakeSuspect();
  EXPECT_EQ(scene.Verdict(7, kOlder), Outcome::kOutranked);
  EXPECT_EQ(scene.state(), State::kSuspect);
}

TEST(StmVerdict, WhereTheHoldWasCancelledIsARumour) {
  Scene scene(Scene::Swim());
  scene.Rumour(7);
  scene.At(seconds(10));
  scene.Healthy();
  scene.Changes();
  EXPECT_EQ(scene.Verdict(7), Outcome::kDuplicate);
  EXPECT_EQ(scene.Verdict(8), Outcome::kApplied);
  EXPECT_EQ(scene.Changes(), "");
  EXPECT_EQ(scene.NextDeadline(), seconds(100));
}

TEST(StmVerdict, WithoutConfidenceIsCountedOnly) {
  Scene scene(Scene::Swim());
  EXPECT_EQ(scene.Verdict(7, kKey, 0), Outcome::kZeroWeight);
  EXPECT_EQ(scene.Verdict(kNoPeer, kKey, 0), Outcome::kZeroWeight);
  EXPECT_EQ(scene.stm.records(), 0u);
  scene.MakeSuspect();
  EXPECT_EQ(scene.Verdict(7, kKey, 0), Outcome::kZeroWeight);
  EXPECT_EQ(scene.state(), State::kSuspect);
  EXPECT_EQ(scene.stm.count(Outcome::kZeroWeight), 3u);
}

// ---- Those who left ----

TEST(StmDeparted, NothingCountsUntilAHigherKey) {
  for (const bool replaced : {false, true}) {
    Scene scene(Scene::Mesh());
    if (replaced) {
      scene.stm.Replaced(scene.now, kPeer, kKey, scene.changes);
      EXPECT_EQ(scene.Changes(), "ACTIVE>INACTIVE replaced");
    } else {
      scene.stm.Left(scene.now, kPeer, kKey, scene.changes);
      EXPECT_EQ(scene.Changes(), "ACTIVE>INACTIVE left");
    }
    scene.At(hours(1));
    EXPECT_EQ(scene.Healthy(), Outcome::kLeft);
    EXPECT_EQ(scene.Suspect(), Outcome::kLeft);
    EXPECT_EQ(scene.Dead(), Outcome::kLeft);
    EXPECT_EQ(scene.Rumour(7), Outcome::kLeft);
    EXPECT_EQ(scene.Rumour(7, kOlder), Outcome::kLeft);
    EXPECT_EQ(scene.Verdict(7), Outcome::kLeft);
    EXPECT_EQ(scene.Refute(kKey), Outcome::kLeft);
    scene.stm.Restarted(scene.now, kPeer, kKey, scene.changes);
    EXPECT_EQ(scene.stm.count(Outcome::kLeft), 8u);
    EXPECT_EQ(scene.Changes(), "");
    scene.key = kHigher;
    EXPECT_EQ(scene.Suspect(), Outcome::kNoEffect);  // heard again, though still INACTIVE
    EXPECT_EQ(scene.Suspect(), Outcome::kNoEffect);
    EXPECT_EQ(scene.Healthy(), Outcome::kApplied);
    EXPECT_EQ(scene.Changes(), "INACTIVE>ACTIVE recovery_window_elapsed");
  }
}

TEST(StmDeparted, ARefutationAtAHigherKeyBringsItBack) {
  Scene scene(Scene::Swim());
  scene.stm.Left(scene.now, kPeer, kKey, scene.changes);
  scene.changes.clear();
  EXPECT_EQ(scene.Refute(kHigher), Outcome::kApplied);
  EXPECT_EQ(scene.Changes(), "INACTIVE>ACTIVE refuted");
}

TEST(StmDeparted, CommitsFromAnyStateAndOnce) {
  Scene scene(Scene::Swim());
  scene.MakeSuspect();
  scene.At(seconds(7));
  scene.stm.Left(scene.now, kPeer, kKey, scene.changes);
  ASSERT_EQ(scene.changes.size(), 1u);
  EXPECT_EQ(scene.changes[0].lasted, seconds(7));
  EXPECT_EQ(scene.changes[0].observer, kNoPeer);
  EXPECT_EQ(scene.Changes(), "SUSPECT>INACTIVE left");
  EXPECT_EQ(scene.NextDeadline(), Scene::kNone);
  scene.stm.Left(scene.now, kPeer, kHigher, scene.changes);
  scene.stm.Replaced(scene.now, kPeer, kHigher, scene.changes);
  EXPECT_EQ(scene.Changes(), "");
  EXPECT_EQ(scene.Refute(kHigher), Outcome::kLeft);  // the later goodbye counts

  Scene dead(Scene::Swim());
  dead.MakeInactive();
  dead.stm.Left(dead.now, kPeer, kKey, dead.changes);
  EXPECT_EQ(dead.Changes(), "");
  EXPECT_EQ(dead.Suspect(), Outcome::kLeft);
}

TEST(StmDeparted, AGoodbyeBelowTheKeyWeHoldIsOutranked) {
  Scene scene(Scene::Swim());
  scene.MakeSuspect();
  scene.stm.Left(scene.now, kPeer, kOlder, scene.changes);
  scene.stm.Replaced(scene.now, kPeer, kOlder, scene.changes);
  EXPECT_EQ(scene.Changes(), "");
  EXPECT_EQ(scene.stm.count(Outcome::kOutranked), 2u);
}

}  // namespace
}  // namespace nekton
