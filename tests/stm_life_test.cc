// Departures, restarts, burials, forgetting; and what a StateChange says.
#include <set>
#include <string_view>

#include <gtest/gtest.h>

#include "stm/stm.h"
#include "tests/stm_scene.h"

namespace nekton {
namespace {

using std::chrono::hours;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr PeerId kPeer = Scene::kPeer;
constexpr LifeKey kKey = Scene::kKey;
constexpr LifeKey kHigher{5, 4};
constexpr LifeKey kRestarted{6, 0};
constexpr LifeKey kOlder{5, 2};
constexpr nanoseconds kOne{1};

// ---- Departures ----

TEST(StmDeparted, NothingCountsUntilAHigherKey) {
  for (const bool replaced : {false, true}) {
    Scene scene(Scene::Mesh());
    replaced ? scene.Replaced() : scene.Left();
    EXPECT_EQ(scene.Changes(), replaced ? "ACTIVE>INACTIVE replaced" : "ACTIVE>INACTIVE left");
    scene.At(hours(1));
    EXPECT_EQ(scene.Healthy(), Outcome::kLeft);
    EXPECT_EQ(scene.Suspect(), Outcome::kLeft);
    EXPECT_EQ(scene.Dead(), Outcome::kLeft);
    EXPECT_EQ(scene.Rumour(7), Outcome::kLeft);
    EXPECT_EQ(scene.Refute(kKey), Outcome::kLeft);
    scene.Restarted(kPeer, kKey);
    EXPECT_EQ(scene.stm.count(Outcome::kLeft), 6u);
    EXPECT_EQ(scene.Changes(), "");
    scene.key = kHigher;
    EXPECT_EQ(scene.Suspect(), Outcome::kApplied);  // heard again, though still INACTIVE
    EXPECT_EQ(scene.Healthy(), Outcome::kApplied);
    EXPECT_EQ(scene.Changes(), "INACTIVE>ACTIVE recovery_window_elapsed");
  }
}

TEST(StmDeparted, AVerdictAboutOneThatLeftIsIgnoredToo) {
  Scene scene(Scene::Swim());
  scene.Left();
  EXPECT_EQ(scene.Verdict(7), Outcome::kLeft);
  EXPECT_EQ(scene.Verdict(7, kHigher), Outcome::kApplied);
  EXPECT_EQ(scene.state(), State::kInactive);
}

TEST(StmDeparted, ARefutationAtAHigherKeyBringsItBack) {
  Scene scene(Scene::Swim());
  scene.Left();
  scene.changes.clear();
  EXPECT_EQ(scene.Refute(kHigher), Outcome::kApplied);
  EXPECT_EQ(scene.Changes(), "INACTIVE>ACTIVE refuted");
  EXPECT_EQ(scene.Suspect(), Outcome::kApplied);
}

TEST(StmDeparted, CommitsFromAnyStateAndOnce) {
  Scene scene(Scene::Swim());
  scene.MakeSuspect();
  scene.At(seconds(7));
  scene.Left();
  ASSERT_EQ(scene.changes.size(), 1u);
  EXPECT_EQ(scene.changes[0].lasted, seconds(7));
  EXPECT_EQ(scene.changes[0].observer, kNoPeer);
  EXPECT_EQ(scene.Changes(), "SUSPECT>INACTIVE left");
  EXPECT_EQ(scene.NextDeadline(), Scene::kNone);
  scene.Left(kPeer, kHigher);
  EXPECT_EQ(scene.Changes(), "");
  EXPECT_EQ(scene.Refute(kHigher), Outcome::kLeft);  // the later goodbye counts
  scene.Left(kPeer, kHigher);
  EXPECT_EQ(scene.stm.count(Outcome::kNoEffect), 1u);

  Scene dead(Scene::Swim());
  dead.MakeInactive();
  dead.Left();
  EXPECT_EQ(dead.Changes(), "");
  EXPECT_EQ(dead.Suspect(), Outcome::kLeft);
}

TEST(StmDeparted, BelowTheKeyWeHoldIsOutranked) {
  Scene scene(Scene::Swim());
  scene.MakeSuspect();
  scene.Left(kPeer, kOlder);
  scene.Replaced(kPeer, kOlder);
  scene.Restarted(kPeer, kOlder);
  EXPECT_EQ(scene.Changes(), "");
  EXPECT_EQ(scene.HoldEnd(), seconds(90));
  EXPECT_EQ(scene.stm.count(Outcome::kOutranked), 3u);
}

// ---- Restarts ----

TEST(StmRestart, OfAnAbsentRecordEmitsAndCreatesNone) {
  Scene scene(Scene::Mesh());
  scene.Restarted(kPeer, kRestarted);
  ASSERT_EQ(scene.changes.size(), 1u);
  EXPECT_EQ(scene.changes[0].peer, kPeer);
  EXPECT_EQ(scene.changes[0].key, kRestarted);
  EXPECT_EQ(scene.changes[0].observer, kNoPeer);
  EXPECT_EQ(scene.changes[0].at, Scene::kStart);
  EXPECT_EQ(scene.Changes(), "ACTIVE>ACTIVE restarted");
  EXPECT_EQ(scene.stm.records(), 0u);
}

TEST(StmRestart, AlwaysEmitsAndStartsAfresh) {
  Scene scene(Scene::Mesh());
  scene.Batch("ss");
  scene.Restarted(kPeer, kRestarted);
  EXPECT_EQ(scene.Changes(), "ACTIVE>ACTIVE restarted");
  EXPECT_EQ(scene.count(), 0u);

  scene.key = kRestarted;
  scene.MakeSuspect();
  scene.Restarted(kPeer, {7, 0});
  EXPECT_EQ(scene.Changes(), "SUSPECT>ACTIVE restarted");
  EXPECT_EQ(scene.stm.HoldOf(kPeer), std::nullopt);

  scene.key = {7, 0};
  scene.MakeInactive();  // and no recovery hold stands in its way
  scene.Restarted(kPeer, {8, 0});
  EXPECT_EQ(scene.Changes(), "INACTIVE>ACTIVE restarted");
  EXPECT_EQ(scene.Suspect(), Outcome::kOldEpoch);  // of the life before
}

TEST(StmRestart, BringsBackWhoLeft) {
  Scene scene(Scene::Mesh());
  scene.Left();
  scene.changes.clear();
  scene.At(seconds(4));
  scene.Restarted(kPeer, kRestarted);
  ASSERT_EQ(scene.changes.size(), 1u);
  EXPECT_EQ(scene.changes[0].lasted, seconds(4));
  EXPECT_EQ(scene.Changes(), "INACTIVE>ACTIVE restarted");
  scene.key = kRestarted;
  EXPECT_EQ(scene.Suspect(), Outcome::kApplied);
}

// ---- Burials, forgetting ----

TEST(StmBury, MakesATombstoneWithoutAnEvent) {
  Scene scene(Scene::Swim());
  scene.stm.Bury(scene.now, kPeer, kKey);
  EXPECT_EQ(scene.state(), State::kInactive);
  EXPECT_EQ(scene.Changes(), "");
  EXPECT_EQ(scene.NextDeadline(), Scene::kNone);
  EXPECT_EQ(scene.Refute(kKey), Outcome::kOutranked);
  EXPECT_EQ(scene.Refute(kHigher), Outcome::kApplied);
  EXPECT_EQ(scene.Changes(), "INACTIVE>ACTIVE refuted");
}

TEST(StmBury, StartsTheRecoveryHold) {
  Scene scene(Scene::Mesh());
  scene.At(seconds(10));
  scene.stm.Bury(scene.now, kPeer, kKey);
  scene.At(seconds(100) - kOne);
  scene.Healthy();
  EXPECT_EQ(scene.Changes(), "");
  scene.At(seconds(100));
  scene.Healthy();
  EXPECT_EQ(scene.Changes(), "INACTIVE>ACTIVE recovery_window_elapsed");
}

TEST(StmBury, LeavesAPeerWithARecordAlone) {
  Scene scene(Scene::Swim());
  scene.MakeSuspect();
  scene.stm.Bury(scene.now, kPeer, kKey);
  EXPECT_EQ(scene.state(), State::kSuspect);
  EXPECT_EQ(scene.stm.count(Outcome::kNoEffect), 1u);
}

TEST(StmForget, DropsEverything) {
  Scene scene(Scene::Swim());
  scene.MakeSuspect(1);
  scene.Left(2);
  scene.Suspect(3);
  scene.changes.clear();
  EXPECT_EQ(scene.stm.records(), 3u);
  for (const PeerId peer : {1u, 2u, 3u, 4u}) scene.stm.Forget(peer);
  EXPECT_EQ(scene.stm.records(), 0u);
  EXPECT_EQ(scene.NextDeadline(), Scene::kNone);
  EXPECT_EQ(scene.state(1), State::kActive);
  EXPECT_EQ(scene.state(2), State::kActive);
  scene.key = {};  // the handle of another, with a key of its own
  EXPECT_EQ(scene.Suspect(2), Outcome::kApplied);
  EXPECT_EQ(scene.Changes(), "");
}

// ---- What a StateChange says ----

TEST(StmChange, NamesThePeerTheObserverTheKeyAndTheTimes) {
  Scene scene(Scene::Mesh());
  scene.At(seconds(20));
  scene.Suspect(42);
  scene.Suspect(42);
  scene.Apply({.peer = 42, .observer = 7, .signal = Signal::kSuspect});
  scene.At(seconds(25));
  scene.Healthy(42);
  scene.Healthy(42);
  ASSERT_EQ(scene.changes.size(), 2u);
  const StateChange& down = scene.changes[0];
  EXPECT_EQ(down.peer, 42u);
  EXPECT_EQ(down.observer, 7u);  // whose evidence completed it
  EXPECT_EQ(down.key, kKey);
  EXPECT_EQ(down.at, Scene::kStart + seconds(20));
  EXPECT_EQ(down.lasted, Duration::zero());  // since when it was ACTIVE is not known
  const StateChange& up = scene.changes[1];
  EXPECT_EQ(up.observer, Scene::kUs);
  EXPECT_EQ(up.at, Scene::kStart + seconds(25));
  EXPECT_EQ(up.lasted, seconds(5));
}

TEST(StmChange, TimeAndTheSubjectItselfAreNoObservers) {
  Scene scene(Scene::Swim());
  scene.Dead();
  scene.At(seconds(90));
  scene.Advance();
  scene.At(seconds(97));
  scene.Refute(kHigher);
  ASSERT_EQ(scene.changes.size(), 3u);
  EXPECT_EQ(scene.changes[1].observer, kNoPeer);
  EXPECT_EQ(scene.changes[1].lasted, seconds(90));
  EXPECT_EQ(scene.changes[2].observer, kNoPeer);
  EXPECT_EQ(scene.changes[2].key, kHigher);
  EXPECT_EQ(scene.changes[2].lasted, seconds(7));
}

TEST(StmChange, AnEpochAboveTheKeyIsAKeyOfItsOwn) {
  Scene scene(Scene::Mesh());
  scene.Apply({.peer = kPeer, .observer = Scene::kUs, .signal = Signal::kDead, .epoch = 8});
  ASSERT_EQ(scene.changes.size(), 1u);
  EXPECT_EQ(scene.changes[0].key, (LifeKey{8, 0}));
}

TEST(StmChange, EveryNameIsDifferent) {
  std::set<std::string_view> names;
  for (int i = 0; i <= 10; ++i) names.insert(Name(static_cast<Transition>(i)));
  EXPECT_EQ(names.size(), 11u);  // the last is "unknown"
  names.clear();
  for (std::size_t i = 0; i <= kOutcomes; ++i) names.insert(Name(static_cast<Outcome>(i)));
  EXPECT_EQ(names.size(), kOutcomes + 1);
  names.clear();
  for (int i = 0; i <= 8; ++i) names.insert(Name(static_cast<Reason>(i)));
  EXPECT_EQ(names.size(), 9u);
  EXPECT_EQ(Name(Signal::kHealthy), "HEALTHY");
  EXPECT_EQ(Name(Signal::kSuspect), "SUSPECT");
  EXPECT_EQ(Name(Signal::kDead), "DEAD");
  EXPECT_EQ(Name(State::kActive), "ACTIVE");
  EXPECT_EQ(Name(State::kSuspect), "SUSPECT");
  EXPECT_EQ(Name(State::kInactive), "INACTIVE");
}

}  // namespace
}  // namespace nekton
