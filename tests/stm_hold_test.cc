// Holds, pauses of our own, and restarts, burials and forgetting.
#include "stm/stm.h"

#include <vector>

#include <gtest/gtest.h>

#include "tests/stm_scene.h"

namespace nekton {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr PeerId kPeer = Scene::kPeer;
constexpr LifeKey kKey = Scene::kKey;
constexpr LifeKey kRestarted{6, 0};

std::vector<PeerId> Peers(const std::vector<StateChange>& changes) {
  std::vector<PeerId> peers;
  for (const StateChange& change : changes) peers.push_back(change.peer);
  return peers;
}

// ---- Length and end ----

TEST(StmHold, EndsExactlyWhenItIsDue) {
  Scene scene(Scene::Mesh());
  scene.MakeSuspect();
  scene.At(seconds(90) - nanoseconds(1));
  scene.Advance();
  EXPECT_EQ(scene.Changes(), "");
  scene.At(seconds(90));
  scene.Advance();
  EXPECT_EQ(scene.Changes(), "SUSPECT>INACTIVE confirm_dead_hold_elapsed");
  EXPECT_EQ(scene.NextDeadline(), Scene::kNone);
  EXPECT_EQ(scene.stm.HoldOf(kPeer), std::nullopt);
}

TEST(StmHold, ALateAdvanceCommitsAtItsOwnTime) {
  Scene scene(Scene::Mesh());
  scene.MakeSuspect();
  scene.At(seconds(90) + nanoseconds(1));
  scene.Advance();
  ASSERT_EQ(scene.changes.size(), 1u);
  EXPECT_EQ(scene.changes[0].at, Scene::kStart + seconds(90) + nanoseconds(1));
  EXPECT_EQ(scene.changes[0].lasted, seconds(90) + nanoseconds(1));
}

TEST(StmHold, OnlyAdvanceConfirmsADeath) {
  Scene scene(Scene::Mesh());
  scene.MakeSuspect();
  scene.At(hours(1));
  scene.Suspect();
  scene.Dead();
  EXPECT_EQ(scene.state(), State::kSuspect);
  scene.Healthy();  // an answer that was waiting is handled before the time that ran out
  scene.Advance();
  EXPECT_EQ(scene.state(), State::kSuspect);
}

TEST(StmHold, LastsTheMaximumWithoutConfirmersElseTheMinimumAndTheMargin) {
  struct Row {
    std::uint32_t confirmers;
    Duration margin;
    Duration end;
  };
  for (const Row& row : {Row{0, {}, seconds(10)}, Row{1, {}, milliseconds(2500)}, Row{3, {}, milliseconds(2500)},
                         Row{0, seconds(1), seconds(11)}, Row{3, seconds(1), milliseconds(3500)}}) {
    Scene scene(Scene::Swim());
    scene.terms = {.min = milliseconds(2500), .max = seconds(10), .confirmers = row.confirmers, .margin = row.margin};
    scene.MakeSuspect();
    EXPECT_EQ(scene.NextDeadline(), row.end);
    EXPECT_EQ(scene.HoldEnd(), row.end);
  }
}

TEST(StmHold, OfUnlimitedLengthNeverEnds) {
  Scene scene(Scene::Swim());
  scene.terms = {.min = Duration::max(), .max = Duration::max(), .confirmers = 1, .margin = Duration::max()};
  scene.MakeSuspect();
  EXPECT_EQ(scene.stm.NextDeadline(), kNever);
  scene.now.boot = kNever;
  scene.Advance();
  EXPECT_EQ(scene.state(), State::kSuspect);
}

TEST(StmHold, TellsSinceWhenAndAtWhichKey) {
  Scene scene(Scene::Mesh());
  EXPECT_EQ(scene.stm.HoldOf(kPeer), std::nullopt);
  scene.Suspect();
  EXPECT_EQ(scene.stm.HoldOf(kPeer), std::nullopt);
  scene.At(seconds(3));
  scene.MakeSuspect();
  const Stm::Hold hold = scene.stm.HoldOf(kPeer).value();
  EXPECT_EQ(hold.since, Scene::kStart + seconds(3));
  EXPECT_EQ(hold.end, Scene::kStart + seconds(93));
  EXPECT_TRUE(hold.running);
  EXPECT_EQ(hold.key, kKey);
}

TEST(StmHold, SeveralEndInTheOrderOfTimeThenId) {
  Scene scene(Scene::Mesh());
  // Groups of ends 1 s apart, the ids within each in no order.
  const std::vector<std::vector<PeerId>> groups{{900'000, 3, 17}, {2, 800, 1}, {5, 4, 6}};
  for (std::size_t i = 0; i < groups.size(); ++i) {
    scene.At(seconds(i));
    for (const PeerId peer : groups[i]) scene.Dead(peer);
  }
  scene.changes.clear();
  scene.At(seconds(91));
  scene.Advance();
  EXPECT_EQ(Peers(scene.changes), (std::vector<PeerId>{3, 17, 900'000, 1, 2, 800}));
  EXPECT_EQ(scene.NextDeadline(), seconds(92));
  scene.changes.clear();
  scene.At(seconds(92));
  scene.Advance();
  EXPECT_EQ(Peers(scene.changes), (std::vector<PeerId>{4, 5, 6}));
}

TEST(StmHold, NextDeadlineIsTheEarliest) {
  Scene scene(Scene::Mesh());
  EXPECT_EQ(scene.NextDeadline(), Scene::kNone);
  scene.MakeSuspect(1);
  scene.At(seconds(5));
  scene.MakeSuspect(2);
  EXPECT_EQ(scene.NextDeadline(), seconds(90));
  scene.Healthy(1);
  EXPECT_EQ(scene.NextDeadline(), seconds(95));
  scene.Suspect(1);
  EXPECT_EQ(scene.NextDeadline(), seconds(95));
  scene.stm.Forget(2);
  scene.stm.Forget(1);
  EXPECT_EQ(scene.NextDeadline(), Scene::kNone);
}

// ---- Pauses of our own ----

TEST(StmPause, ExtendsARumouredHoldByTheOvershoot) {
  Scene scene(Scene::Swim());
  scene.Rumour(7);
  scene.changes.clear();
  scene.At(seconds(200));
  scene.stm.Paused(scene.now, seconds(150));
  EXPECT_EQ(scene.NextDeadline(), seconds(240));
  scene.At(seconds(240) - nanoseconds(1));
  scene.Advance();
  EXPECT_EQ(scene.Changes(), "");
  scene.At(seconds(240));
  scene.Advance();
  EXPECT_EQ(scene.Changes(), "SUSPECT>INACTIVE confirm_dead_hold_elapsed");
}

TEST(StmPause, AHoldOfOurOwnNeedsOneMoreSuspect) {
  for (const Signal signal : {Signal::kSuspect, Signal::kDead}) {
    Scene scene(Scene::Swim());
    scene.MakeSuspect();
    scene.At(seconds(20));
    scene.stm.Paused(scene.now, seconds(10));
    EXPECT_EQ(scene.NextDeadline(), Scene::kNone);
    EXPECT_EQ(scene.HoldEnd(), seconds(100));
    EXPECT_TRUE(scene.stm.HoldOf(kPeer)->running);
    scene.At(seconds(50));
    EXPECT_EQ(scene.Say(signal), Outcome::kApplied);
    EXPECT_EQ(scene.NextDeadline(), seconds(100));
    scene.At(seconds(100) - nanoseconds(1));
    scene.Advance();
    EXPECT_EQ(scene.Changes(), "");
    scene.At(seconds(100));
    scene.Advance();
    EXPECT_EQ(scene.Changes(), "SUSPECT>INACTIVE confirm_dead_hold_elapsed");
  }
}

TEST(StmPause, TheSuspectThatIsNeededMayComeAfterTheEnd) {
  Scene scene(Scene::Swim());
  scene.MakeSuspect();
  scene.At(seconds(20));
  scene.stm.Paused(scene.now, seconds(10));
  scene.At(hours(1));
  scene.Advance();
  EXPECT_EQ(scene.Changes(), "");
  scene.Suspect();
  EXPECT_EQ(scene.Changes(), "");  // a signal never kills
  EXPECT_EQ(scene.NextDeadline(), hours(1));
  scene.Advance();
  EXPECT_EQ(scene.Changes(), "SUSPECT>INACTIVE confirm_dead_hold_elapsed");
}

TEST(StmPause, PausesAddUpAndOneSuspectAnswersThemAll) {
  Scene scene(Scene::Swim());
  scene.MakeSuspect();
  scene.stm.Paused(scene.now, seconds(10));
  scene.stm.Paused(scene.now, seconds(5));
  scene.Suspect();
  EXPECT_EQ(scene.NextDeadline(), seconds(105));
  scene.stm.Paused(scene.now, seconds(1));
  EXPECT_EQ(scene.NextDeadline(), Scene::kNone);
  scene.Suspect();
  EXPECT_EQ(scene.NextDeadline(), seconds(106));
}

TEST(StmPause, LeavesACancelledHoldAlone) {
  Scene scene(Scene::Swim());
  scene.MakeSuspect();
  scene.Healthy();
  scene.stm.Paused(scene.now, seconds(10));
  scene.At(seconds(20));
  scene.Suspect();  // starts it; that is evidence from after the pause
  EXPECT_EQ(scene.NextDeadline(), seconds(110));
}

TEST(StmPause, WhoStartedTheHoldLastDecides) {
  Scene ours(Scene::Swim());
  ours.Rumour(7);
  ours.Healthy();
  ours.Suspect();
  ours.stm.Paused(ours.now, seconds(10));
  EXPECT_EQ(ours.NextDeadline(), Scene::kNone);

  Scene theirs(Scene::Swim());
  theirs.MakeSuspect();
  theirs.stm.Paused(theirs.now, seconds(10));
  theirs.Rumour(7, {5, 4});
  EXPECT_EQ(theirs.NextDeadline(), seconds(90));
  EXPECT_EQ(theirs.Suspect(), Outcome::kNoEffect);  // none is needed
  theirs.stm.Paused(theirs.now, seconds(10));
  EXPECT_EQ(theirs.NextDeadline(), seconds(100));
}

TEST(StmPause, AHealthySignalOrAVerdictIsNotDelayed) {
  Scene healthy(Scene::Swim());
  healthy.MakeSuspect();
  healthy.stm.Paused(healthy.now, seconds(10));
  healthy.Healthy();
  healthy.Healthy();
  EXPECT_EQ(healthy.Changes(), "SUSPECT>ACTIVE promotion_threshold");

  Scene verdict(Scene::Swim());
  verdict.MakeSuspect();
  verdict.stm.Paused(verdict.now, seconds(10));
  verdict.At(seconds(99));
  verdict.Verdict(7);  // it takes the place of the kSuspect that was awaited
  EXPECT_EQ(verdict.NextDeadline(), seconds(100));
  verdict.At(seconds(100));
  verdict.Advance();
  EXPECT_EQ(verdict.Changes(), "SUSPECT>INACTIVE gossip");
}

TEST(StmPause, OfNoLengthIsNone) {
  Scene scene(Scene::Swim());
  scene.MakeSuspect();
  scene.stm.Paused(scene.now, Duration::zero());
  scene.stm.Paused(scene.now, -seconds(1));
  EXPECT_EQ(scene.NextDeadline(), seconds(90));
}

TEST(StmPause, KeepsTheOrderOfManyHolds) {
  Scene scene(Scene::Swim());
  for (PeerId peer = 50; peer > 0; --peer) {
    scene.At(milliseconds(peer % 7));
    scene.stm.Rumour(scene.now, peer, kKey, 99, 1, scene.terms, scene.changes);
  }
  scene.changes.clear();
  scene.stm.Paused(scene.now, seconds(10));
  scene.At(seconds(200));
  scene.Advance();
  std::vector<PeerId> expected;
  for (PeerId rest = 0; rest < 7; ++rest) {
    for (PeerId peer = 1; peer <= 50; ++peer) {
      if (peer % 7 == rest) expected.push_back(peer);
    }
  }
  EXPECT_EQ(Peers(scene.changes), expected);
}

// ---- Lifecycle ----

TEST(StmRestart, AlwaysEmitsAndStartsAfresh) {
  Scene scene(Scene::Mesh());
  scene.stm.Restarted(scene.now, kPeer, kRestarted, scene.changes);
  ASSERT_EQ(scene.changes.size(), 1u);
  EXPECT_EQ(scene.changes[0].key, kRestarted);
  EXPECT_EQ(scene.changes[0].observer, kNoPeer);
  EXPECT_EQ(scene.Changes(), "ACTIVE>ACTIVE restarted");
  EXPECT_EQ(scene.stm.records(), 0u);

  scene.Suspect();
  scene.Suspect();
  scene.stm.Restarted(scene.now, kPeer, kRestarted, scene.changes);
  EXPECT_EQ(scene.Changes(), "ACTIVE>ACTIVE restarted");
  EXPECT_EQ(scene.stm.records(), 0u);

  scene.MakeSuspect();
  scene.stm.Restarted(scene.now, kPeer, kRestarted, scene.changes);
  EXPECT_EQ(scene.Changes(), "SUSPECT>ACTIVE restarted");
  EXPECT_EQ(scene.NextDeadline(), Scene::kNone);

  scene.MakeInactive();  // and no recovery hold stands in its way
  scene.stm.Restarted(scene.now, kPeer, kRestarted, scene.changes);
  EXPECT_EQ(scene.Changes(), "INACTIVE>ACTIVE restarted");
}

TEST(StmRestart, BringsBackWhoLeft) {
  Scene scene(Scene::Mesh());
  scene.stm.Left(scene.now, kPeer, kKey, scene.changes);
  scene.changes.clear();
  scene.At(seconds(4));
  scene.stm.Restarted(scene.now, kPeer, kRestarted, scene.changes);
  ASSERT_EQ(scene.changes.size(), 1u);
  EXPECT_EQ(scene.changes[0].lasted, seconds(4));
  EXPECT_EQ(scene.Changes(), "INACTIVE>ACTIVE restarted");
  scene.key = kRestarted;
  EXPECT_EQ(scene.Suspect(), Outcome::kApplied);
}

TEST(StmBury, MakesATombstoneWithoutAnEvent) {
  Scene scene(Scene::Swim());
  scene.stm.Bury(scene.now, kPeer, kKey);
  EXPECT_EQ(scene.state(), State::kInactive);
  EXPECT_EQ(scene.Changes(), "");
  EXPECT_EQ(scene.NextDeadline(), Scene::kNone);
  EXPECT_EQ(scene.Refute(kKey), Outcome::kOutranked);
  EXPECT_EQ(scene.Refute({5, 4}), Outcome::kApplied);
  EXPECT_EQ(scene.Changes(), "INACTIVE>ACTIVE refuted");
}

TEST(StmBury, StartsTheRecoveryHold) {
  Scene scene(Scene::Mesh());
  scene.At(seconds(10));
  scene.stm.Bury(scene.now, kPeer, kKey);
  scene.At(seconds(100) - nanoseconds(1));
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
  scene.stm.Left(scene.now, 2, kKey, scene.changes);
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

}  // namespace
}  // namespace nekton
