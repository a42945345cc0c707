// Time in which we ourselves did not run, or heard nobody: it counts toward no hold.
#include <vector>

#include <gtest/gtest.h>

#include "stm/stm.h"
#include "tests/stm_scene.h"

namespace nekton {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr LifeKey kKey = Scene::kKey;
constexpr LifeKey kHigher{5, 4};
constexpr nanoseconds kOne{1};

// A pause that ends now.
void Pause(Scene& scene, Duration overshoot) { scene.stm.Paused(scene.now, overshoot); }
void Deaf(Scene& scene, Duration from, Duration to) {
  scene.stm.Deaf(scene.now, Scene::kStart + from, Scene::kStart + to);
}

// ---- How much ----

TEST(StmPause, ExtendsARumouredHoldByTheOvershoot) {
  Scene scene(Scene::Swim());
  scene.Rumour(7);
  scene.At(seconds(200));
  Pause(scene, seconds(150));
  EXPECT_EQ(scene.NextDeadline(), seconds(240));
  EXPECT_TRUE(scene.EndsExactlyAt(seconds(240)));
  EXPECT_EQ(scene.Changes(), "SUSPECT>INACTIVE confirm_dead_hold_elapsed");
}

TEST(StmPause, ExtendsByTheOverlapAlone) {
  struct Row {
    Duration from, to, end;  // the hold begins at 10 s and is due at 100 s
  };
  for (const Row& row : {Row{seconds(20), seconds(25), seconds(105)},               // within
                         Row{seconds(5), seconds(15), seconds(105)},                // begun within the gap
                         Row{seconds(5), seconds(10), seconds(100)},                // over when it began
                         Row{seconds(5), seconds(10) + kOne, seconds(100) + kOne},  // by one nanosecond not
                         Row{seconds(10), seconds(30), seconds(120)},               // as it began
                         Row{seconds(30), seconds(30), seconds(100)},               // of no length
                         Row{seconds(30), seconds(29), seconds(100)}}) {            // nor backwards
    Scene scene(Scene::Swim());
    scene.At(seconds(10));
    scene.Rumour(7);
    scene.At(seconds(30));
    Deaf(scene, row.from, row.to);
    EXPECT_EQ(scene.HoldEnd(), row.end);
    EXPECT_TRUE(scene.EndsExactlyAt(row.end));
  }
}

// What was asked about one peer has no answer yet.
TEST(StmPause, AHoldThatIsProlongedEndsSoMuchLater) {
  Scene scene(Scene::Swim());
  scene.stm.Prolong(scene.now, Scene::kPeer, seconds(5));
  EXPECT_EQ(scene.stm.records(), 0u) << "of a peer without a hold nothing";
  scene.Rumour(7);
  const Duration end = scene.HoldEnd();
  scene.stm.Prolong(scene.now, Scene::kPeer + 1, seconds(5));
  scene.stm.Prolong(scene.now, Scene::kPeer, Duration::zero());
  EXPECT_EQ(scene.HoldEnd(), end);
  scene.At(end);
  scene.stm.Prolong(scene.now, Scene::kPeer, seconds(5));
  EXPECT_EQ(scene.HoldEnd(), end + seconds(5));
  EXPECT_TRUE(scene.EndsExactlyAt(end + seconds(5)));
}

// That one is dead for others is an answer.
TEST(StmPause, AVerdictIsNotPutOff) {
  Scene scene(Scene::Swim());
  scene.Rumour(7);
  scene.Verdict(8);
  const Duration end = scene.HoldEnd();
  scene.stm.Prolong(scene.now, Scene::kPeer, seconds(5));
  EXPECT_EQ(scene.HoldEnd(), end);
}

TEST(StmPause, WhatIsStillToComeIsNoGapYet) {
  Scene scene(Scene::Swim());
  scene.Rumour(7);
  scene.At(seconds(30));
  Deaf(scene, seconds(20), seconds(60));
  EXPECT_EQ(scene.HoldEnd(), seconds(100));
  Deaf(scene, seconds(40), seconds(60));
  EXPECT_EQ(scene.HoldEnd(), seconds(100));
}

TEST(StmPause, OfNoLengthIsNone) {
  Scene scene(Scene::Swim());
  scene.MakeSuspect();
  scene.At(seconds(10));
  Pause(scene, Duration::zero());
  Pause(scene, -seconds(1));
  Deaf(scene, seconds(5), seconds(5));
  EXPECT_EQ(scene.NextDeadline(), seconds(90));
  EXPECT_EQ(scene.stm.counters().pauses, 0u);
}

TEST(StmPause, GapsAddUp) {
  Scene scene(Scene::Swim());
  scene.Rumour(7);
  scene.At(seconds(20));
  Pause(scene, seconds(10));
  scene.At(seconds(30));
  Deaf(scene, seconds(22), seconds(27));
  EXPECT_EQ(scene.HoldEnd(), seconds(105));
  EXPECT_EQ(scene.stm.counters().pauses, 2u);
}

TEST(StmPause, MovesTheEndOfConfirmationsVerdictsAndRefusalsToo) {
  const HoldTerms terms{
      .min = seconds(20), .max = seconds(80), .confirmers = 1, .margin = seconds(10), .refused = seconds(2)};
  for (int kind = 0; kind < 3; ++kind) {
    Scene scene(Scene::Swim());
    scene.terms = terms;
    scene.Rumour(7, kKey, kind == 2);
    scene.At(seconds(1));
    Pause(scene, seconds(1));
    if (kind == 1) scene.Verdict(8);
    if (kind != 1) scene.Rumour(8, kKey, kind == 2);
    EXPECT_EQ(scene.HoldEnd(), kind == 0 ? seconds(31) : kind == 1 ? seconds(21) : seconds(3)) << kind;
  }
}

TEST(StmPause, KeepsTheOrderOfManyHolds) {
  Scene scene(Scene::Swim());
  for (PeerId peer = 50; peer > 0; --peer) {
    scene.At(milliseconds(peer % 7));
    scene.stm.Rumour(scene.now, peer, kKey, {99}, scene.terms, scene.changes);
  }
  scene.changes.clear();
  scene.At(seconds(20));
  Pause(scene, seconds(10));
  scene.At(seconds(200));
  scene.Advance();
  std::vector<PeerId> ended;
  for (const StateChange& change : scene.changes) ended.push_back(change.peer);
  std::vector<PeerId> expected;
  for (PeerId rest = 0; rest < 7; ++rest) {
    for (PeerId peer = 1; peer <= 50; ++peer) {
      if (peer % 7 == rest) expected.push_back(peer);
    }
  }
  EXPECT_EQ(ended, expected);
}

// ---- Holds with our own evidence await one more signal ----

TEST(StmPause, AHoldOfOurOwnNeedsOneMoreSuspect) {
  for (const bool deaf : {false, true}) {
    for (const Signal signal : {Signal::kSuspect, Signal::kDead}) {
      Scene scene(Scene::Swim());
      scene.MakeSuspect();
      scene.At(seconds(20));
      deaf ? Deaf(scene, seconds(10), seconds(20)) : Pause(scene, seconds(10));
      EXPECT_EQ(scene.NextDeadline(), Scene::kNone);
      EXPECT_EQ(scene.HoldEnd(), seconds(100));
      EXPECT_TRUE(scene.Running());
      scene.At(seconds(50));
      EXPECT_EQ(scene.Say(signal), Outcome::kApplied);
      EXPECT_EQ(scene.NextDeadline(), seconds(100));
      EXPECT_TRUE(scene.EndsExactlyAt(seconds(100)));
    }
  }
}

TEST(StmPause, TheSuspectThatIsNeededMayComeAfterTheEnd) {
  Scene scene(Scene::Swim());
  scene.MakeSuspect();
  scene.At(seconds(20));
  Pause(scene, seconds(10));
  scene.At(hours(1));
  scene.Advance();
  EXPECT_EQ(scene.Changes(), "");
  scene.Suspect();
  EXPECT_EQ(scene.Changes(), "");  // a signal never kills
  EXPECT_EQ(scene.NextDeadline(), hours(1));
  scene.Advance();
  EXPECT_EQ(scene.Changes(), "SUSPECT>INACTIVE confirm_dead_hold_elapsed");
}

TEST(StmPause, OneSuspectAnswersAllGapsBeforeIt) {
  Scene scene(Scene::Swim());
  scene.MakeSuspect();
  scene.At(seconds(10));
  Pause(scene, seconds(2));
  scene.At(seconds(20));
  Pause(scene, seconds(3));
  scene.Suspect();
  EXPECT_EQ(scene.NextDeadline(), seconds(95));
  scene.At(seconds(30));
  Pause(scene, seconds(1));
  EXPECT_EQ(scene.NextDeadline(), Scene::kNone);
  scene.Suspect();
  EXPECT_EQ(scene.NextDeadline(), seconds(96));
}

TEST(StmPause, AGapBeforeTheHoldAsksForNothing) {
  Scene scene(Scene::Swim());
  scene.At(seconds(10));
  scene.MakeSuspect();
  Deaf(scene, seconds(5), seconds(10));
  EXPECT_EQ(scene.NextDeadline(), seconds(100));
}

TEST(StmPause, AHoldThatOnlyOutsidersBeganAwaitsNoSignalOfOurs) {
  Scene scene(Scene::Mesh());
  for (PeerId observer = 7; observer <= 9; ++observer) scene.Outside(observer, Signal::kSuspect);
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT demotion_threshold");
  scene.At(seconds(20));
  Pause(scene, seconds(10));
  EXPECT_EQ(scene.NextDeadline(), seconds(100));
}

TEST(StmPause, ARumourIsNotTheSignalThatIsAwaited) {
  Scene scene(Scene::Swim());
  scene.MakeSuspect();
  scene.At(seconds(20));
  Pause(scene, seconds(10));
  EXPECT_EQ(scene.Rumour(7), Outcome::kApplied);
  EXPECT_EQ(scene.Outside(8, Signal::kDead), Outcome::kApplied);
  EXPECT_EQ(scene.NextDeadline(), Scene::kNone);
}

TEST(StmPause, AVerdictEndsTheWaiting) {
  Scene scene(Scene::Swim());
  scene.terms = {.min = seconds(30), .max = seconds(90), .confirmers = 3};
  scene.MakeSuspect();
  scene.At(seconds(20));
  Pause(scene, seconds(10));
  scene.At(seconds(25));
  EXPECT_EQ(scene.Verdict(7), Outcome::kApplied);
  EXPECT_EQ(scene.NextDeadline(), seconds(40));  // the minimum and the gap
  EXPECT_TRUE(scene.EndsExactlyAt(seconds(40)));
  EXPECT_EQ(scene.Changes(), "SUSPECT>INACTIVE gossip");
}

TEST(StmPause, AVerdictFromBeforeTheGapDoesNotEndTheWaiting) {
  Scene scene(Scene::Swim());
  scene.MakeSuspect();
  scene.Verdict(7);
  scene.At(seconds(20));
  Pause(scene, seconds(10));
  EXPECT_EQ(scene.Verdict(7), Outcome::kDuplicate);
  EXPECT_EQ(scene.NextDeadline(), Scene::kNone);
  EXPECT_EQ(scene.Verdict(8), Outcome::kApplied);
  EXPECT_EQ(scene.NextDeadline(), seconds(100));
}

TEST(StmPause, AVerdictWithoutWeightDoesNotEndTheWaiting) {
  Scene scene(Scene::Mesh());
  scene.MakeSuspect();
  scene.At(seconds(20));
  Pause(scene, seconds(10));
  scene.Verdict(7);
  EXPECT_EQ(scene.NextDeadline(), Scene::kNone);
}

TEST(StmPause, AHearerThatBecameAnAccuserAwaitsASignal) {
  Scene scene(Scene::Swim());
  scene.Rumour(7);
  scene.Dead();
  scene.At(seconds(20));
  Pause(scene, seconds(10));
  EXPECT_EQ(scene.NextDeadline(), Scene::kNone);
}

TEST(StmPause, WhatStartsAnewAfterTheGapAwaitsNothing) {
  Scene cancelled(Scene::Swim());
  cancelled.MakeSuspect();
  cancelled.At(seconds(10));
  cancelled.Healthy();
  Pause(cancelled, seconds(10));
  cancelled.At(seconds(20));
  cancelled.Suspect();
  EXPECT_EQ(cancelled.NextDeadline(), seconds(110));

  Scene higher(Scene::Swim());
  higher.MakeSuspect();
  higher.At(seconds(10));
  Pause(higher, seconds(10));
  higher.Rumour(7, kHigher);
  EXPECT_EQ(higher.NextDeadline(), seconds(100));
}

TEST(StmPause, HealthySignalsAreNotDelayed) {
  Scene scene(Scene::Swim());
  scene.MakeSuspect();
  scene.At(seconds(10));
  Pause(scene, seconds(10));
  scene.Batch("hh");
  EXPECT_EQ(scene.Changes(), "SUSPECT>ACTIVE promotion_threshold");
}

TEST(StmPause, TakenBackWordsStillCountTheGap) {
  Scene scene(Scene::Swim());
  scene.terms = {.min = seconds(20), .max = seconds(80), .confirmers = 2};
  scene.Rumour(7);
  scene.Rumour(8);
  scene.At(seconds(10));
  Pause(scene, seconds(5));
  scene.Left(8);
  EXPECT_EQ(scene.HoldEnd(), seconds(85));
}

// ---- Noticed by itself ----

StmConfig Noticing(Duration max_local_pause) {
  StmConfig config = Scene::Swim();
  config.max_local_pause = max_local_pause;
  return config;
}

TEST(StmLocalPause, ExactlyTheLimitIsNoneAndOneNanosecondMoreIsOne) {
  for (const auto& [late, pauses] :
       {std::pair(seconds(2) - kOne, 0u), std::pair(nanoseconds(seconds(2)), 0u), std::pair(seconds(2) + kOne, 1u)}) {
    Scene scene(Noticing(seconds(2)));
    scene.MakeSuspect();
    scene.At(seconds(90) + late);
    scene.Advance();
    EXPECT_EQ(scene.stm.counters().pauses, pauses) << late.count();
    EXPECT_EQ(scene.Changes(), pauses == 0 ? "SUSPECT>INACTIVE confirm_dead_hold_elapsed" : "");
  }
}

TEST(StmLocalPause, ExtendsByTheOvershootAndAwaitsASignal) {
  Scene scene(Noticing(seconds(2)));
  scene.MakeSuspect(2);
  scene.At(seconds(10));
  scene.MakeSuspect();
  scene.At(seconds(95));  // due at 90 s
  scene.Advance();
  EXPECT_EQ(scene.Changes(), "");
  EXPECT_EQ(scene.HoldEnd(), seconds(105));
  EXPECT_EQ(scene.NextDeadline(), Scene::kNone);
  scene.Suspect();
  EXPECT_TRUE(scene.EndsExactlyAt(seconds(105)));
}

TEST(StmLocalPause, IsNoticedByAnyInput) {
  for (int kind = 0; kind < 5; ++kind) {
    Scene scene(Noticing(seconds(2)));
    scene.MakeSuspect();
    scene.At(seconds(93));
    if (kind == 0) scene.Healthy(2);
    if (kind == 1) scene.stm.Rumour(scene.now, 2, kKey, {7}, scene.terms, scene.changes);
    if (kind == 2) scene.stm.Refute(scene.now, 2, kKey, scene.changes);
    if (kind == 3) scene.Left(2);
    if (kind == 4) scene.stm.Bury(scene.now, 2, kKey);
    EXPECT_EQ(scene.stm.counters().pauses, 1u) << kind;
    EXPECT_EQ(scene.HoldEnd(), seconds(93)) << kind;
  }
}

TEST(StmLocalPause, IsExcusedOnce) {
  Scene scene(Noticing(seconds(2)));
  scene.Rumour(7);
  scene.changes.clear();
  scene.At(seconds(95));
  scene.Healthy(2);
  EXPECT_EQ(scene.HoldEnd(), seconds(95));
  scene.Healthy(2);
  scene.At(seconds(96));
  scene.Advance();
  EXPECT_EQ(scene.stm.counters().pauses, 1u);
  EXPECT_EQ(scene.Changes(), "SUSPECT>INACTIVE confirm_dead_hold_elapsed");
}

TEST(StmLocalPause, WhoRanInBetweenWasNotAwayForLonger) {
  Scene scene(Noticing(seconds(2)));
  scene.MakeSuspect();
  for (const int second : {91, 93, 95}) {  // due since 90 s, and busy with other things
    scene.At(seconds(second));
    scene.Healthy(2);
  }
  scene.At(seconds(97));
  scene.Advance();
  EXPECT_EQ(scene.stm.counters().pauses, 0u);
  EXPECT_EQ(scene.Changes(), "SUSPECT>INACTIVE confirm_dead_hold_elapsed");
}

TEST(StmLocalPause, WhoIsDueForNothingIsNotLate) {
  Scene scene(Noticing(seconds(2)));
  scene.At(hours(1));
  scene.Suspect();
  scene.At(hours(1) + seconds(80));  // the record is due to go ten seconds later
  scene.Suspect();
  EXPECT_EQ(scene.stm.counters().pauses, 0u);
}

TEST(StmLocalPause, ForEverNoticesNone) {
  Scene scene(Scene::Swim());
  scene.MakeSuspect();
  scene.At(hours(24 * 365));
  scene.Advance();
  EXPECT_EQ(scene.stm.counters().pauses, 0u);
  EXPECT_EQ(scene.Changes(), "SUSPECT>INACTIVE confirm_dead_hold_elapsed");
}

TEST(StmLocalPause, AfterOneThatWasToldOnlyTheRestIsNoticed) {
  Scene scene(Noticing(seconds(2)));
  scene.Rumour(7);
  scene.At(seconds(120));
  Pause(scene, seconds(100));
  EXPECT_EQ(scene.HoldEnd(), seconds(190));
  scene.changes.clear();
  scene.Advance();
  EXPECT_EQ(scene.HoldEnd(), seconds(190));
  EXPECT_EQ(scene.stm.counters().pauses, 1u);
}

}  // namespace
}  // namespace nekton
