// Verdicts of other members: where they commit, and where they are rumours.
#include <string_view>
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

HoldTerms Hearer() { return {.min = seconds(20), .max = seconds(80), .confirmers = 3, .margin = seconds(10)}; }

// ---- Where the hold runs ----

TEST(StmVerdict, ShortensTheHoldToItsMinimumWhereAnotherMemberStandsBehindIt) {
  Scene scene(Scene::Swim());
  scene.terms = Hearer();
  scene.Rumour(6);
  EXPECT_EQ(scene.HoldEnd(), seconds(90));
  EXPECT_EQ(scene.Verdict(7), Outcome::kApplied);
  EXPECT_EQ(scene.HoldEnd(), seconds(20));  // the margin falls away, too
  EXPECT_TRUE(scene.EndsExactlyAt(seconds(20)));
  ASSERT_EQ(scene.changes.size(), 1u);
  EXPECT_EQ(scene.changes[0].observer, kNoPeer);
  EXPECT_EQ(scene.Changes(), "SUSPECT>INACTIVE gossip");
}

TEST(StmVerdict, ShortensTheHoldToItsMinimumWhereWeOurselvesStandBehindIt) {
  Scene scene(Scene::Swim());
  scene.terms = Hearer();
  scene.MakeSuspect();
  EXPECT_EQ(scene.HoldEnd(), seconds(80));
  scene.Verdict(7);
  EXPECT_EQ(scene.HoldEnd(), seconds(20));
}

TEST(StmVerdict, AloneIsOnlyARumourHoweverOften) {
  Scene scene(Scene::Swim());
  scene.terms = Hearer();
  EXPECT_EQ(scene.Verdict(7), Outcome::kApplied);
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT gossip");
  EXPECT_EQ(scene.Verdict(7), Outcome::kDuplicate);
  EXPECT_EQ(scene.Rumour(7), Outcome::kDuplicate);
  EXPECT_EQ(scene.HoldEnd(), seconds(90));
  EXPECT_TRUE(scene.EndsExactlyAt(seconds(90)));
  EXPECT_EQ(scene.Changes(), "SUSPECT>INACTIVE confirm_dead_hold_elapsed");
}

TEST(StmVerdict, OfTheMemberWhoseRumourItWasIsStillAlone) {
  Scene scene(Scene::Swim());
  scene.terms = Hearer();
  scene.Rumour(7);
  EXPECT_EQ(scene.Verdict(7), Outcome::kApplied);
  EXPECT_EQ(scene.HoldEnd(), seconds(90));
  EXPECT_EQ(scene.Rumour(8), Outcome::kApplied);  // the second witness
  EXPECT_EQ(scene.HoldEnd(), seconds(20));
}

TEST(StmVerdict, OurOwnSuspectAfterItIsTheSecondWitness) {
  Scene scene(Scene::Swim());
  scene.terms = Hearer();
  scene.Verdict(7);
  scene.At(seconds(1));
  scene.Batch("ssss");
  EXPECT_EQ(scene.HoldEnd(), seconds(90));
  scene.Suspect();
  EXPECT_EQ(scene.HoldEnd(), seconds(20));
}

TEST(StmVerdict, AnObservationFromOutsideIsNoSecondWitness) {
  Scene scene(Scene::Swim());
  scene.terms = Hearer();
  scene.Verdict(7);
  scene.Outside(8, Signal::kDead);
  EXPECT_EQ(scene.HoldEnd(), seconds(90));
}

TEST(StmVerdict, OfTheOutsiderThatBeganTheHoldIsStillAlone) {
  Scene scene(Scene::Swim());
  scene.terms = Hearer();
  scene.Outside(7, Signal::kDead);
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT demotion_threshold");
  scene.Verdict(7);
  EXPECT_GT(scene.HoldEnd(), seconds(20));  // one member's word by two ways is one
}

TEST(StmVerdict, OfTwoMembersAreTwoWitnesses) {
  Scene scene(Scene::Swim());
  scene.terms = Hearer();
  scene.Verdict(7);
  scene.Verdict(8);
  EXPECT_EQ(scene.HoldEnd(), seconds(20));
}

TEST(StmVerdict, AfterTheMinimumEndsTheHoldNowAndAdvanceAloneCommits) {
  for (const Duration at : {Duration(seconds(20)), Duration(seconds(20) + kOne), Duration(seconds(50))}) {
    Scene scene(Scene::Swim());
    scene.terms = Hearer();
    scene.Rumour(6);
    scene.changes.clear();
    scene.At(at);
    scene.Verdict(7);
    EXPECT_EQ(scene.Changes(), "");
    EXPECT_EQ(scene.NextDeadline(), at);
    scene.Advance();
    EXPECT_EQ(scene.Changes(), "SUSPECT>INACTIVE gossip");
    scene.Verdict(8);
    EXPECT_EQ(scene.Changes(), "");
  }
}

TEST(StmVerdict, BringsAYoungHoldForwardAndNoCloserThanItsMinimum) {
  for (const Duration at : {Duration::zero(), Duration(seconds(1)), Duration(seconds(20) - kOne)}) {
    Scene scene(Scene::Swim());
    scene.terms = Hearer();
    scene.Rumour(6);
    scene.At(at);
    scene.Verdict(7);
    EXPECT_TRUE(scene.EndsExactlyAt(seconds(20)));
  }
}

TEST(StmVerdict, CopiesAndOrderOfTheNewsDoNotMatter) {
  for (const std::string_view order : {"RV", "VR", "RVV", "VRR", "VVRV", "RRVVRR"}) {
    Scene scene(Scene::Swim());
    scene.terms = Hearer();
    for (const char kind : order) kind == 'R' ? scene.Rumour(6) : scene.Verdict(7);
    EXPECT_EQ(scene.HoldEnd(), seconds(20)) << order;
    EXPECT_TRUE(scene.EndsExactlyAt(seconds(20))) << order;
    EXPECT_EQ(scene.Changes(), "SUSPECT>INACTIVE gossip") << order;
  }
}

TEST(StmVerdict, ARefutationStillComesInTime) {
  Scene scene(Scene::Swim());
  scene.terms = Hearer();
  scene.Rumour(6);
  scene.Verdict(7);
  scene.Changes();
  scene.At(seconds(20) - kOne);
  scene.Advance();
  scene.Refute(kHigher);
  EXPECT_EQ(scene.Changes(), "SUSPECT>ACTIVE refuted");
}

TEST(StmVerdict, OfTwoMembersWithAFixedHoldSavesOnlyTheMargin) {
  Scene scene(Scene::Swim());
  scene.terms = FixedHold(seconds(30));
  scene.terms.margin = seconds(10);
  scene.Rumour(6);
  EXPECT_EQ(scene.HoldEnd(), seconds(40));
  scene.Verdict(7);
  EXPECT_EQ(scene.HoldEnd(), seconds(30));
}

TEST(StmVerdict, RefusedPortsMayEndItSooner) {
  Scene scene(Scene::Swim());
  scene.terms = Hearer();
  scene.terms.confirmers = 1;
  scene.terms.refused = seconds(1);
  scene.Rumour(6, kKey, true);
  scene.Verdict(7);
  EXPECT_EQ(scene.HoldEnd(), seconds(20));
  EXPECT_EQ(scene.Verdict(7, kKey, true), Outcome::kApplied);  // now with the mark
  EXPECT_TRUE(scene.EndsExactlyAt(seconds(1)));
  EXPECT_EQ(scene.Changes(), "SUSPECT>INACTIVE refused");
}

TEST(StmVerdict, TakenBackTheHoldIsAsLongAsBefore) {
  Scene scene(Scene::Swim());
  scene.terms = Hearer();
  scene.Rumour(6);
  scene.Verdict(7);
  scene.At(seconds(1));
  scene.Left(7);
  EXPECT_EQ(scene.HoldEnd(), seconds(90));
  scene.Verdict(8);
  EXPECT_EQ(scene.HoldEnd(), seconds(20));
  scene.Left(6);  // now it stands alone
  EXPECT_EQ(scene.HoldEnd(), seconds(90));
}

// ---- Where it is a rumour ----

TEST(StmVerdict, OnAnActivePeerIsARumour) {
  Scene scene(Scene::Swim());
  EXPECT_EQ(scene.Verdict(7), Outcome::kApplied);
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT gossip");
  EXPECT_EQ(scene.NextDeadline(), seconds(90));
  EXPECT_EQ(scene.Rumour(7), Outcome::kDuplicate);

  StmConfig config = Scene::Swim();
  config.rumour_weight = 2;  // of 5
  Scene light(config);
  light.Verdict(7);
  light.Verdict(7);
  EXPECT_EQ(light.count(), 2u);
  EXPECT_EQ(light.Changes(), "");
}

TEST(StmVerdict, AboveTheKeyWeHoldIsARumour) {
  Scene scene(Scene::Swim());
  scene.terms = Hearer();
  scene.MakeSuspect();
  scene.At(seconds(15));
  EXPECT_EQ(scene.Verdict(7, kHigher), Outcome::kApplied);
  EXPECT_EQ(scene.Changes(), "");
  EXPECT_EQ(scene.HoldEnd(), seconds(15 + 90));  // started anew, and our own evidence was of the key before
  EXPECT_EQ(scene.Rumour(8, kHigher), Outcome::kApplied);
  EXPECT_EQ(scene.HoldEnd(), seconds(15 + 20));
}

TEST(StmVerdict, BelowTheKeyWeHoldIsOutranked) {
  Scene scene(Scene::Swim());
  scene.MakeSuspect();
  EXPECT_EQ(scene.Verdict(7, kOlder), Outcome::kOutranked);
  EXPECT_EQ(scene.HoldEnd(), seconds(90));
  EXPECT_EQ(scene.Verdict(7), Outcome::kApplied);  // and left no trace
}

TEST(StmVerdict, WhereTheHoldWasCancelledIsARumour) {
  Scene scene(Scene::Swim());
  scene.terms = Hearer();
  scene.Rumour(6);
  scene.At(seconds(10));
  scene.Healthy();
  scene.Changes();
  EXPECT_EQ(scene.Verdict(7), Outcome::kApplied);
  EXPECT_EQ(scene.Changes(), "");
  EXPECT_EQ(scene.HoldEnd(), seconds(10 + 90));  // alone: what 6 said was before the cancel
  EXPECT_EQ(scene.Rumour(6), Outcome::kDuplicate);
  EXPECT_EQ(scene.Rumour(8), Outcome::kApplied);
  EXPECT_EQ(scene.HoldEnd(), seconds(10 + 20));
}

TEST(StmVerdict, OfAWitnessFromBeforeTheCancelIsNewsOnce) {
  Scene scene(Scene::Swim());
  scene.terms = Hearer();
  scene.Rumour(6);
  scene.At(seconds(10));
  scene.Healthy();
  EXPECT_EQ(scene.Verdict(6), Outcome::kApplied);
  EXPECT_EQ(scene.HoldEnd(), seconds(100));
  scene.Healthy();
  EXPECT_EQ(scene.Verdict(6), Outcome::kDuplicate);
  EXPECT_FALSE(scene.Running());
}

TEST(StmVerdict, OnTheDeadChangesNothing) {
  Scene scene(Scene::Swim());
  scene.MakeInactive();
  scene.Verdict(7);
  scene.Verdict(8, kHigher);
  EXPECT_EQ(scene.state(), State::kInactive);
  EXPECT_EQ(scene.Changes(), "");
}

TEST(StmVerdict, OnAnUnknownPeerIsATombstoneWithoutAnEvent) {
  for (const StmConfig& config : {Scene::Swim(), Scene::Mesh(), kPairStm}) {
    Scene scene(config);
    scene.stm.Bury(scene.now, kPeer, kKey);
    EXPECT_EQ(scene.state(), State::kInactive);
    EXPECT_EQ(scene.Changes(), "");
  }
}

TEST(StmVerdict, InMeshAndPairChangesNoKnownMember) {
  for (const StmConfig& config : {Scene::Mesh(), kPairStm}) {
    Scene scene(config);
    for (PeerId observer = 11; observer < 20; ++observer) EXPECT_EQ(scene.Verdict(observer), Outcome::kZeroWeight);
    EXPECT_EQ(scene.stm.records(), 0u);
    scene.MakeSuspect();
    for (PeerId observer = 11; observer < 20; ++observer) {
      EXPECT_EQ(scene.Verdict(observer, kHigher), Outcome::kZeroWeight);
    }
    EXPECT_EQ(scene.HoldEnd(), seconds(90));
    EXPECT_EQ(scene.stm.HoldOf(kPeer)->key, kKey);
    EXPECT_EQ(scene.stm.count(Outcome::kZeroWeight), 18u);
  }
}

TEST(StmVerdict, InThePairRumoursCountForNothingEither) {
  Scene scene(kPairStm);
  EXPECT_EQ(scene.Rumour(7), Outcome::kZeroWeight);
  EXPECT_EQ(scene.stm.records(), 0u);
}

// ---- Whose evidence a hold stands on does not depend on what came last. ----

constexpr HoldTerms kLan{.min = milliseconds(2500), .max = seconds(10), .confirmers = 3, .margin = seconds(1)};

TEST(StmOwn, PartOfARoundBesideRumoursCountsAlikeInEitherOrder) {
  StmConfig config = Scene::Swim();
  config.rumour_weight = 1;
  Scene rumours_first(config);
  Scene ours_first(config);
  rumours_first.terms = ours_first.terms = kLan;
  for (PeerId observer = 11; observer <= 14; ++observer) rumours_first.Rumour(observer);
  rumours_first.Suspect();
  ours_first.Suspect();
  for (PeerId observer = 11; observer <= 14; ++observer) ours_first.Rumour(observer);
  EXPECT_EQ(rumours_first.HoldEnd(), milliseconds(3500));  // four members, and not yet we ourselves
  EXPECT_EQ(ours_first.HoldEnd(), milliseconds(3500));
}

TEST(StmOwn, WhatCountedWhileActiveCountsInTheHold) {
  Scene before(Scene::Swim());
  Scene after(Scene::Swim());
  before.terms = after.terms = kLan;
  before.Batch("ssss");
  before.Rumour(11);
  EXPECT_EQ(before.HoldEnd(), seconds(11));
  before.Suspect();
  after.Rumour(11);
  after.Batch("sssss");
  EXPECT_EQ(before.HoldEnd(), milliseconds(6250));
  EXPECT_EQ(after.HoldEnd(), milliseconds(6250));
}

TEST(StmOwn, WhatAHealthyEndedCountsNoMore) {
  Scene scene(Scene::Swim());
  scene.terms = kLan;
  scene.Batch("ssssh");
  scene.Rumour(11);
  scene.Suspect();
  EXPECT_EQ(scene.HoldEnd(), seconds(11));
}

}  // namespace
}  // namespace nekton
