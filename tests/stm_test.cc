// The transition table, cell by cell; refutations; what a StateChange says; what a peer costs.
#include "stm/stm.h"

#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "tests/count_allocations.h"
#include "tests/stm_scene.h"

namespace nekton {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr PeerId kPeer = Scene::kPeer;
constexpr LifeKey kKey = Scene::kKey;
constexpr LifeKey kRefuted{5, 4};    // the same life, one incarnation on
constexpr LifeKey kRestarted{6, 0};  // the next life
constexpr LifeKey kOlder{5, 2};
constexpr std::uint32_t kHuge = std::numeric_limits<std::uint32_t>::max();

// ---- ACTIVE ----

TEST(StmActive, HealthyOnAnAbsentRecordCreatesNone) {
  Scene scene(Scene::Mesh());
  EXPECT_EQ(scene.Healthy(), Outcome::kNoEffect);
  EXPECT_EQ(scene.stm.records(), 0u);
  EXPECT_EQ(scene.state(), State::kActive);
}

TEST(StmActive, HealthyResetsTheDemoteCountAndFreesTheRecord) {
  Scene scene(Scene::Mesh());
  scene.Suspect();
  scene.Suspect();
  EXPECT_EQ(scene.stm.records(), 1u);
  EXPECT_EQ(scene.Healthy(), Outcome::kApplied);
  EXPECT_EQ(scene.stm.records(), 0u);
  scene.Suspect();
  scene.Suspect();
  EXPECT_EQ(scene.Changes(), "");
  scene.Suspect();
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT demotion_threshold");
}

TEST(StmActive, SuspectsDemoteAtTheThresholdAndNotBefore) {
  Scene scene(Scene::Mesh());
  EXPECT_EQ(scene.Suspect(), Outcome::kApplied);
  EXPECT_EQ(scene.Suspect(), Outcome::kApplied);
  EXPECT_EQ(scene.Changes(), "");
  EXPECT_EQ(scene.NextDeadline(), Scene::kNone);
  EXPECT_EQ(scene.Suspect(), Outcome::kApplied);
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT demotion_threshold");
  EXPECT_EQ(scene.NextDeadline(), seconds(90));
}

TEST(StmActive, SuspectCountsItsWeight) {
  Scene scene(Scene::Swim());
  Observation last{.peer = kPeer, .observer = Scene::kUs, .signal = Signal::kSuspect, .weight = 4};
  scene.Apply(last);
  EXPECT_EQ(scene.state(), State::kActive);
  last.weight = 1;
  scene.Apply(last);
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT demotion_threshold");
}

TEST(StmActive, WeightsDoNotOverflow) {
  StmConfig config = Scene::Mesh();
  config.demote_threshold = kHuge;
  Scene scene(config);
  scene.Apply({.peer = kPeer, .observer = Scene::kUs, .signal = Signal::kSuspect, .weight = kHuge - 1});
  EXPECT_EQ(scene.Changes(), "");
  scene.Apply({.peer = kPeer, .observer = Scene::kUs, .signal = Signal::kSuspect, .weight = kHuge});
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT demotion_threshold");
}

TEST(StmActive, DeadSuspectsAtOnceAndNeverKills) {
  Scene scene(Scene::Mesh());
  EXPECT_EQ(scene.Dead(), Outcome::kApplied);
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT demotion_threshold");
  EXPECT_EQ(scene.NextDeadline(), seconds(90));
  for (int i = 0; i < 10; ++i) scene.Dead();
  EXPECT_EQ(scene.Changes(), "");
  EXPECT_EQ(scene.state(), State::kSuspect);
}

TEST(StmActive, ARefusedPortIsNamedAsTheReason) {
  Scene scene(Scene::Mesh());
  Observation refused{
      .peer = kPeer, .observer = Scene::kUs, .signal = Signal::kSuspect, .reason = Reason::kRefused, .weight = 3};
  scene.Apply(refused);
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT refused");
}

// ---- SUSPECT ----

TEST(StmSuspect, HealthyPromotesAtTheThresholdAndNotBefore) {
  Scene scene(Scene::Mesh());
  scene.MakeSuspect();
  EXPECT_EQ(scene.Healthy(), Outcome::kApplied);
  EXPECT_EQ(scene.Changes(), "");
  EXPECT_EQ(scene.Healthy(), Outcome::kApplied);
  EXPECT_EQ(scene.Changes(), "SUSPECT>ACTIVE promotion_threshold");
  EXPECT_EQ(scene.stm.records(), 0u);
  EXPECT_EQ(scene.NextDeadline(), Scene::kNone);
}

TEST(StmSuspect, HealthyCountsItsWeight) {
  Scene scene(Scene::Mesh());
  scene.MakeSuspect();
  scene.Apply({.peer = kPeer, .observer = Scene::kUs, .signal = Signal::kHealthy, .weight = 2});
  EXPECT_EQ(scene.Changes(), "SUSPECT>ACTIVE promotion_threshold");
}

TEST(StmSuspect, TheFirstHealthyCancelsTheHold) {
  Scene scene(Scene::Mesh());
  scene.MakeSuspect();
  scene.Healthy();
  EXPECT_FALSE(scene.stm.HoldOf(kPeer)->running);
  EXPECT_EQ(scene.HoldEnd(), Scene::kNone);
  EXPECT_EQ(scene.NextDeadline(), Scene::kNone);
  scene.At(std::chrono::hours(24));
  scene.Advance();
  EXPECT_EQ(scene.state(), State::kSuspect);
}

TEST(StmSuspect, SuspectAndDeadResetThePromoteCount) {
  for (const Signal signal : {Signal::kSuspect, Signal::kDead}) {
    Scene scene(Scene::Mesh());
    scene.MakeSuspect();
    scene.Healthy();
    EXPECT_EQ(scene.Say(signal), Outcome::kApplied);
    scene.Healthy();
    EXPECT_EQ(scene.Changes(), "");
    scene.Healthy();
    EXPECT_EQ(scene.Changes(), "SUSPECT>ACTIVE promotion_threshold");
  }
}

TEST(StmSuspect, SuspectAndDeadLeaveARunningHoldAlone) {
  for (const Signal signal : {Signal::kSuspect, Signal::kDead}) {
    Scene scene(Scene::Mesh());
    scene.MakeSuspect();
    scene.At(seconds(50));
    EXPECT_EQ(scene.Say(signal), Outcome::kNoEffect);
    EXPECT_EQ(scene.NextDeadline(), seconds(90));
  }
}

TEST(StmSuspect, SuspectAndDeadStartACancelledHoldAgainOnItsFirstTerms) {
  for (const Signal signal : {Signal::kSuspect, Signal::kDead}) {
    Scene scene(Scene::Mesh());
    scene.MakeSuspect();
    scene.At(seconds(89));
    scene.Healthy();
    scene.terms = {.min = seconds(1), .max = seconds(1)};
    scene.At(seconds(100));
    EXPECT_EQ(scene.Say(signal), Outcome::kApplied);
    EXPECT_EQ(scene.NextDeadline(), seconds(190));
    EXPECT_EQ(scene.stm.HoldOf(kPeer)->since, Scene::kStart);
  }
}

TEST(StmSuspect, TheDemoteCountBeginsAnewAfterPromotion) {
  Scene scene(Scene::Mesh());
  scene.Suspect();
  scene.Suspect();
  scene.Suspect();
  scene.Healthy();
  scene.Healthy();
  scene.Changes();
  scene.Suspect();
  scene.Suspect();
  EXPECT_EQ(scene.Changes(), "");
}

// ---- INACTIVE ----

TEST(StmInactive, SuspectAndDeadStayAndResetThePromoteCount) {
  StmConfig config = Scene::Mesh();
  config.recovery_threshold = 2;
  for (const Signal signal : {Signal::kSuspect, Signal::kDead}) {
    Scene scene(config);
    scene.MakeInactive();
    EXPECT_EQ(scene.Say(signal), Outcome::kNoEffect);
    scene.At(seconds(1000));
    scene.Healthy();
    EXPECT_EQ(scene.Say(signal), Outcome::kApplied);
    scene.Healthy();
    EXPECT_EQ(scene.Changes(), "");
    scene.Healthy();
    EXPECT_EQ(scene.Changes(), "INACTIVE>ACTIVE recovery_window_elapsed");
  }
}

TEST(StmInactive, RecoveryHoldCountsFromTheCommitOfInactive) {
  for (const auto& [after, changes] :
       {std::pair(seconds(90) - nanoseconds(1), ""),
        std::pair(nanoseconds(seconds(90)), "INACTIVE>ACTIVE recovery_window_elapsed"),
        std::pair(seconds(90) + nanoseconds(1), "INACTIVE>ACTIVE recovery_window_elapsed")}) {
    Scene scene(Scene::Mesh());
    scene.MakeInactive();  // 90 s after the start
    scene.At(seconds(90) + after);
    EXPECT_EQ(scene.Healthy(), Outcome::kApplied);
    EXPECT_EQ(scene.Changes(), changes) << after.count();
  }
}

TEST(StmInactive, TimeAloneNeverRevives) {
  Scene scene(Scene::Mesh());
  scene.MakeInactive();
  scene.Healthy();  // the count is reached, the recovery hold is not over
  EXPECT_EQ(scene.NextDeadline(), Scene::kNone);
  scene.At(std::chrono::hours(24));
  scene.Advance();
  EXPECT_EQ(scene.Changes(), "");
}

TEST(StmInactive, ASuspectOfAHigherEpochNeverRevives) {
  for (const Revive revive : {Revive::kHealthy, Revive::kRefutation, Revive::kJoinOnly}) {
    StmConfig config = Scene::Mesh();
    config.revive = revive;
    Scene scene(config);
    scene.MakeInactive();
    scene.At(std::chrono::hours(1));
    scene.key = kRestarted;
    for (int i = 0; i < 10; ++i) scene.Suspect();
    scene.Dead();
    EXPECT_EQ(scene.state(), State::kInactive);
    EXPECT_EQ(scene.Changes(), "");
  }
}

TEST(StmInactive, ReviveByHealthSignals) {
  Scene scene(Scene::Mesh());
  scene.MakeInactive();
  EXPECT_EQ(scene.Refute(kRefuted), Outcome::kApplied);  // a kHealthy like another: the recovery hold still runs
  EXPECT_EQ(scene.state(), State::kInactive);
  scene.At(seconds(180));
  EXPECT_EQ(scene.Refute({5, 5}), Outcome::kApplied);
  EXPECT_EQ(scene.Changes(), "INACTIVE>ACTIVE refuted");
}

TEST(StmInactive, ReviveByRefutationOnly) {
  Scene scene(Scene::Swim());
  scene.MakeInactive();
  scene.At(std::chrono::hours(1));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(scene.Healthy(), Outcome::kNoEffect);
  EXPECT_EQ(scene.Refute(kKey), Outcome::kOutranked);
  EXPECT_EQ(scene.Changes(), "");
  EXPECT_EQ(scene.Refute(kRefuted), Outcome::kApplied);
  EXPECT_EQ(scene.Changes(), "INACTIVE>ACTIVE refuted");
  EXPECT_EQ(scene.stm.records(), 0u);
}

TEST(StmInactive, ReviveByJoinOnly) {
  StmConfig config = Scene::Mesh();
  config.revive = Revive::kJoinOnly;
  Scene scene(config);
  scene.MakeInactive();
  scene.At(std::chrono::hours(1));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(scene.Healthy(), Outcome::kNoEffect);
  EXPECT_EQ(scene.Refute({5, 9}), Outcome::kNoEffect);
  EXPECT_EQ(scene.Changes(), "");
  scene.stm.Restarted(scene.now, kPeer, kRestarted, scene.changes);
  EXPECT_EQ(scene.Changes(), "INACTIVE>ACTIVE restarted");
}

TEST(StmInactive, TheKeyRisesWithAnyNewerEvidence) {
  for (int kind = 0; kind < 3; ++kind) {
    Scene scene(Scene::Swim());
    scene.MakeInactive();
    scene.key = kRefuted;
    if (kind == 0) scene.Suspect();
    if (kind == 1) scene.Rumour(7, kRefuted);
    if (kind == 2) scene.Verdict(7, kRefuted);
    EXPECT_EQ(scene.Refute(kRefuted), Outcome::kOutranked) << kind;
    EXPECT_EQ(scene.Refute({5, 5}), Outcome::kApplied) << kind;
  }
}

// ---- Refutation of the living ----

TEST(StmRefute, MakesASuspectActiveAtOnce) {
  for (const StmConfig& config : {Scene::Mesh(), Scene::Swim()}) {
    Scene scene(config);
    scene.MakeSuspect();
    EXPECT_EQ(scene.Refute(kOlder), Outcome::kOutranked);
    EXPECT_EQ(scene.Refute(kKey), Outcome::kOutranked);
    EXPECT_EQ(scene.Changes(), "");
    EXPECT_EQ(scene.Refute(kRefuted), Outcome::kApplied);
    EXPECT_EQ(scene.Changes(), "SUSPECT>ACTIVE refuted");
    EXPECT_EQ(scene.stm.records(), 0u);
    EXPECT_EQ(scene.NextDeadline(), Scene::kNone);
  }
}

TEST(StmRefute, ClearsAPendingDemotion) {
  Scene scene(Scene::Mesh());
  scene.Suspect();
  EXPECT_EQ(scene.Refute(kRefuted), Outcome::kApplied);
  EXPECT_EQ(scene.stm.records(), 0u);
  EXPECT_EQ(scene.Refute(kRefuted), Outcome::kNoEffect);
  EXPECT_EQ(scene.Changes(), "");
}

// ---- What a StateChange says ----

TEST(StmChange, NamesThePeerTheObserverTheKeyAndTheTimes) {
  Scene scene(Scene::Mesh());
  scene.At(seconds(10));
  scene.Suspect(42);
  scene.Suspect(42);
  scene.At(seconds(20));
  scene.Apply({.peer = 42, .observer = 7, .signal = Signal::kSuspect});
  scene.At(seconds(21));
  scene.Healthy(42);
  scene.At(seconds(25));
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
  scene.Refute(kRefuted);
  ASSERT_EQ(scene.changes.size(), 3u);
  EXPECT_EQ(scene.changes[1].observer, kNoPeer);
  EXPECT_EQ(scene.changes[1].lasted, seconds(90));
  EXPECT_EQ(scene.changes[2].observer, kNoPeer);
  EXPECT_EQ(scene.changes[2].key, kRefuted);
  EXPECT_EQ(scene.changes[2].lasted, seconds(7));
}

TEST(StmChange, AnEpochAboveTheKeyIsAKeyOfItsOwn) {
  Scene scene(Scene::Mesh());
  scene.Apply({.peer = kPeer, .observer = Scene::kUs, .signal = Signal::kDead, .epoch = 8});
  ASSERT_EQ(scene.changes.size(), 1u);
  EXPECT_EQ(scene.changes[0].key, (LifeKey{8, 0}));
}

TEST(StmChange, ChangesAreAppended) {
  Scene scene(Scene::Mesh());
  scene.Dead(1);
  scene.Dead(2);
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT demotion_threshold, ACTIVE>SUSPECT demotion_threshold");
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

// ---- Cost ----

TEST(StmCost, HealthyPeersAllocateNothing) {
  Scene scene(Scene::Swim());
  const std::uint64_t before = allocations;
  for (PeerId peer = 0; peer < 10'000; ++peer) scene.Healthy(peer);
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(scene.stm.records(), 0u);
}

TEST(StmCost, SuspicionsComeAndGoWithoutAllocationOnceGrown) {
  Scene scene(Scene::Swim());
  const auto churn = [&scene](int rounds) {
    for (int round = 0; round < rounds; ++round) {
      for (PeerId peer = 0; peer < 20; ++peer) scene.Dead(peer + static_cast<PeerId>(round) * 20);
      for (PeerId peer = 0; peer < 20; ++peer) {
        scene.stm.Refute(scene.now, peer + static_cast<PeerId>(round) * 20, kRefuted, scene.changes);
      }
      scene.changes.clear();
    }
  };
  churn(100);
  const std::uint64_t before = allocations;
  churn(1000);
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(scene.stm.records(), 0u);
}

TEST(StmCost, MovesWithItsRecords) {
  Scene scene(Scene::Swim());
  scene.MakeSuspect();
  Stm moved = std::move(scene.stm);
  EXPECT_EQ(moved.StateOf(kPeer), State::kSuspect);
  EXPECT_EQ(moved.NextDeadline(), Scene::kStart + seconds(90));
}

}  // namespace
}  // namespace nekton
