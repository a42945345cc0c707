// The transition table, cell by cell, each threshold one before, at and one after it; refutations.
#include "stm/stm.h"

#include <limits>
#include <utility>

#include <gtest/gtest.h>

#include "tests/stm_scene.h"

namespace nekton {
namespace {

using std::chrono::hours;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr PeerId kPeer = Scene::kPeer;
constexpr PeerId kUs = Scene::kUs;
constexpr LifeKey kKey = Scene::kKey;
constexpr LifeKey kHigher{5, 4};     // the same life, one incarnation on
constexpr LifeKey kRestarted{6, 0};  // the next life
constexpr LifeKey kOlder{5, 2};
constexpr std::uint32_t kHuge = std::numeric_limits<std::uint32_t>::max();
constexpr nanoseconds kOne{1};

// Every reason but kRefused, which is told apart in the transition.
constexpr Reason kReasons[] = {Reason::kHeard,      Reason::kProbeTimeout,    Reason::kDeadline,   Reason::kPhi,
                               Reason::kAsymmetric, Reason::kTransportClosed, Reason::kApplication};

// ---- ACTIVE ----

TEST(StmActive, HealthyOnAnAbsentRecordCreatesNone) {
  Scene scene(Scene::Mesh());
  EXPECT_EQ(scene.Healthy(), Outcome::kNoEffect);
  EXPECT_EQ(scene.stm.records(), 0u);
  EXPECT_EQ(scene.state(), State::kActive);
}

TEST(StmActive, HealthyResetsTheDemoteCount) {
  Scene scene(Scene::Mesh());
  scene.Batch("ss");
  EXPECT_EQ(scene.count(), 2u);
  EXPECT_EQ(scene.Healthy(), Outcome::kApplied);
  EXPECT_EQ(scene.count(), 0u);
  scene.Batch("ss");
  EXPECT_EQ(scene.Changes(), "");
  scene.Suspect();
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT demotion_threshold");
}

TEST(StmActive, SuspectsDemoteAtTheThresholdOneBeforeAndOneAfter) {
  for (std::uint32_t threshold = 1; threshold <= 4; ++threshold) {
    StmConfig config = Scene::Mesh();
    config.demote_threshold = threshold;
    Scene scene(config);
    for (std::uint32_t i = 1; i < threshold; ++i) EXPECT_EQ(scene.Suspect(), Outcome::kApplied);
    EXPECT_EQ(scene.Changes(), "");
    EXPECT_EQ(scene.Suspect(), Outcome::kApplied);
    EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT demotion_threshold");
    EXPECT_EQ(scene.HoldEnd(), seconds(90));
    EXPECT_EQ(scene.Suspect(), Outcome::kApplied);
    EXPECT_EQ(scene.Changes(), "");
  }
}

TEST(StmActive, SuspectCountsItsWeight) {
  Scene scene(Scene::Swim());
  scene.Apply({.peer = kPeer, .observer = kUs, .signal = Signal::kSuspect, .weight = 4});
  EXPECT_EQ(scene.state(), State::kActive);
  EXPECT_EQ(scene.count(), 4u);
  scene.Suspect();
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT demotion_threshold");
}

TEST(StmActive, WeightsDoNotOverflow) {
  StmConfig config = Scene::Mesh();
  config.demote_threshold = 1'000'000;
  Scene scene(config);
  scene.Apply({.peer = kPeer, .observer = kUs, .signal = Signal::kSuspect, .weight = 999'999});
  EXPECT_EQ(scene.Changes(), "");
  scene.Apply({.peer = kPeer, .observer = kUs, .signal = Signal::kSuspect, .weight = kHuge});
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT demotion_threshold");
  scene.Apply({.peer = kPeer, .observer = kUs, .signal = Signal::kHealthy, .weight = 1});
  scene.Apply({.peer = kPeer, .observer = kUs, .signal = Signal::kHealthy, .weight = kHuge});
  EXPECT_EQ(scene.Changes(), "SUSPECT>ACTIVE promotion_threshold");
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

TEST(StmActive, ARefusedPortIsNamedInTheTransition) {
  Scene scene(Scene::Mesh());
  scene.Refused();
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT refused");
}

// ---- SUSPECT ----

TEST(StmSuspect, HealthyPromotesAtTheThresholdOneBeforeAndOneAfter) {
  for (std::uint32_t threshold = 1; threshold <= 4; ++threshold) {
    StmConfig config = Scene::Mesh();
    config.promote_threshold = threshold;
    Scene scene(config);
    scene.MakeSuspect();
    for (std::uint32_t i = 1; i < threshold; ++i) EXPECT_EQ(scene.Healthy(), Outcome::kApplied);
    EXPECT_EQ(scene.Changes(), "");
    EXPECT_EQ(scene.Healthy(), Outcome::kApplied);
    EXPECT_EQ(scene.Changes(), "SUSPECT>ACTIVE promotion_threshold");
    EXPECT_EQ(scene.count(), 0u);
    scene.Healthy();
    EXPECT_EQ(scene.Changes(), "");
  }
}

TEST(StmSuspect, HealthyCountsItsWeight) {
  Scene scene(Scene::Mesh());
  scene.MakeSuspect();
  scene.Apply({.peer = kPeer, .observer = kUs, .signal = Signal::kHealthy, .weight = 2});
  EXPECT_EQ(scene.Changes(), "SUSPECT>ACTIVE promotion_threshold");
}

TEST(StmSuspect, TheFirstHealthyCancelsTheHold) {
  Scene scene(Scene::Mesh());
  scene.MakeSuspect();
  scene.At(seconds(90) - kOne);
  scene.Healthy();
  EXPECT_FALSE(scene.Running());
  EXPECT_EQ(scene.HoldEnd(), Scene::kNone);
  EXPECT_EQ(scene.NextDeadline(), Scene::kNone);
  scene.At(hours(24));
  scene.Advance();
  EXPECT_EQ(scene.state(), State::kSuspect);
}

TEST(StmSuspect, SuspectAndDeadResetThePromoteCount) {
  for (const Signal signal : {Signal::kSuspect, Signal::kDead}) {
    Scene scene(Scene::Mesh());
    scene.MakeSuspect();
    scene.Healthy();
    EXPECT_EQ(scene.count(), 1u);
    EXPECT_EQ(scene.Say(signal), Outcome::kApplied);
    EXPECT_EQ(scene.count(), 0u);
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
    EXPECT_EQ(scene.Say(signal), Outcome::kApplied);
    EXPECT_EQ(scene.NextDeadline(), seconds(90));
  }
}

TEST(StmSuspect, SuspectAndDeadStartACancelledHoldAgainOnItsFirstTerms) {
  for (const Signal signal : {Signal::kSuspect, Signal::kDead}) {
    Scene scene(Scene::Mesh());
    scene.MakeSuspect();
    scene.At(seconds(89));
    scene.Healthy();
    scene.terms = FixedHold(seconds(1));
    scene.At(seconds(100));
    EXPECT_EQ(scene.Say(signal), Outcome::kApplied);
    EXPECT_EQ(scene.NextDeadline(), seconds(190));
    EXPECT_EQ(scene.stm.HoldOf(kPeer)->since, Scene::kStart);
  }
}

TEST(StmSuspect, SuspectAndDeadAtAHigherKeyStartTheHoldAnew) {
  for (const Signal signal : {Signal::kSuspect, Signal::kDead}) {
    Scene scene(Scene::Mesh());
    scene.MakeSuspect();
    scene.At(seconds(50));
    scene.key = kHigher;
    EXPECT_EQ(scene.Say(signal), Outcome::kApplied);
    EXPECT_EQ(scene.NextDeadline(), seconds(140));
    EXPECT_EQ(scene.stm.HoldOf(kPeer)->key, kHigher);
    EXPECT_EQ(scene.Changes(), "");
  }
}

TEST(StmSuspect, TheDemoteCountBeginsAnewAfterPromotion) {
  Scene scene(Scene::Mesh());
  scene.Batch("ssshh");
  scene.Changes();
  scene.Batch("ss");
  EXPECT_EQ(scene.Changes(), "");
  EXPECT_EQ(scene.count(), 2u);
}

// ---- INACTIVE ----

TEST(StmInactive, SuspectAndDeadStayAndResetThePromoteCount) {
  StmConfig config = Scene::Mesh();
  config.recovery_threshold = 2;
  for (const Signal signal : {Signal::kSuspect, Signal::kDead}) {
    Scene scene(config);
    scene.MakeInactive();
    EXPECT_EQ(scene.Say(signal), Outcome::kApplied);
    scene.At(seconds(1000));
    scene.Healthy();
    EXPECT_EQ(scene.Say(signal), Outcome::kApplied);
    scene.Healthy();
    EXPECT_EQ(scene.Changes(), "");
    scene.Healthy();
    EXPECT_EQ(scene.Changes(), "INACTIVE>ACTIVE recovery_window_elapsed");
  }
}

TEST(StmInactive, HealthyRevivesAtTheRecoveryThresholdOneBeforeAndOneAfter) {
  for (std::uint32_t threshold = 1; threshold <= 3; ++threshold) {
    StmConfig config = Scene::Mesh();
    config.recovery_threshold = threshold;
    Scene scene(config);
    scene.MakeInactive();
    scene.At(hours(1));
    for (std::uint32_t i = 1; i < threshold; ++i) EXPECT_EQ(scene.Healthy(), Outcome::kApplied);
    EXPECT_EQ(scene.Changes(), "");
    scene.Healthy();
    EXPECT_EQ(scene.Changes(), "INACTIVE>ACTIVE recovery_window_elapsed");
    EXPECT_EQ(scene.Healthy(), Outcome::kApplied);
    EXPECT_EQ(scene.Changes(), "");
  }
}

TEST(StmInactive, RecoveryHoldAtExactlyOneNanosecondBeforeAndOneAfter) {
  for (const auto& [after, changes] : {std::pair(seconds(90) - kOne, ""),
                                       std::pair(nanoseconds(seconds(90)), "INACTIVE>ACTIVE recovery_window_elapsed"),
                                       std::pair(seconds(90) + kOne, "INACTIVE>ACTIVE recovery_window_elapsed")}) {
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
  scene.At(hours(24));
  scene.Advance();
  EXPECT_EQ(scene.Changes(), "");
}

TEST(StmInactive, ASuspectOfAHigherEpochNeverRevives) {
  for (const Revive revive : {Revive::kHealthy, Revive::kRefutation, Revive::kJoinOnly}) {
    StmConfig config = Scene::Mesh();
    config.revive = revive;
    Scene scene(config);
    scene.MakeInactive();
    scene.At(hours(1));
    scene.key = kRestarted;
    scene.Batch("ssssssssd");
    EXPECT_EQ(scene.state(), State::kInactive);
    EXPECT_EQ(scene.Changes(), "");
  }
}

TEST(StmInactive, AHealthyOfAHigherEpochStartsAfreshUnlessByJoinOnly) {
  for (const Revive revive : {Revive::kHealthy, Revive::kRefutation, Revive::kJoinOnly}) {
    StmConfig config = Scene::Mesh();
    config.revive = revive;
    Scene scene(config);
    scene.MakeInactive();
    scene.key = kRestarted;
    scene.Healthy();  // at once: the recovery hold was that of the life before
    EXPECT_EQ(scene.Changes(), revive == Revive::kJoinOnly ? "" : "INACTIVE>ACTIVE restarted");
  }
}

TEST(StmInactive, ReviveByHealthSignals) {
  Scene scene(Scene::Mesh());
  scene.MakeInactive();
  scene.At(seconds(180) - kOne);
  EXPECT_EQ(scene.Refute(kHigher), Outcome::kApplied);  // a kHealthy like another: the recovery hold still runs
  EXPECT_EQ(scene.state(), State::kInactive);
  scene.At(seconds(180));
  EXPECT_EQ(scene.Refute({5, 5}), Outcome::kApplied);
  EXPECT_EQ(scene.Changes(), "INACTIVE>ACTIVE refuted");
}

TEST(StmInactive, ReviveByRefutationOnly) {
  Scene scene(Scene::Swim());
  scene.MakeInactive();
  scene.At(hours(1));
  EXPECT_EQ(scene.Batch("hhhhhhhhhh"), "aaaaaaaaaa");
  EXPECT_EQ(scene.Refute(kKey), Outcome::kOutranked);
  EXPECT_EQ(scene.Changes(), "");
  EXPECT_EQ(scene.Refute(kHigher), Outcome::kApplied);
  EXPECT_EQ(scene.Changes(), "INACTIVE>ACTIVE refuted");
}

TEST(StmInactive, ReviveByJoinOnly) {
  StmConfig config = Scene::Mesh();
  config.revive = Revive::kJoinOnly;
  Scene scene(config);
  scene.MakeInactive();
  scene.At(hours(1));
  EXPECT_EQ(scene.Batch("hhhhhhhhhh"), "aaaaaaaaaa");
  EXPECT_EQ(scene.Refute({5, 9}), Outcome::kApplied);
  EXPECT_EQ(scene.Changes(), "");
  scene.Restarted(kPeer, kRestarted);
  EXPECT_EQ(scene.Changes(), "INACTIVE>ACTIVE restarted");
}

TEST(StmInactive, TheKeyRisesWithAnyNewerEvidence) {
  for (int kind = 0; kind < 3; ++kind) {
    Scene scene(Scene::Swim());
    scene.MakeInactive();
    scene.key = kHigher;
    if (kind == 0) scene.Suspect();
    if (kind == 1) scene.Rumour(7, kHigher);
    if (kind == 2) scene.Verdict(7, kHigher);
    EXPECT_EQ(scene.Refute(kHigher), Outcome::kOutranked) << kind;
    EXPECT_EQ(scene.Refute({5, 5}), Outcome::kApplied) << kind;
  }
}

// ---- A reason explains and decides nothing ----

TEST(StmReason, ChangesNoCellOfTheTable) {
  // From ACTIVE, SUSPECT and INACTIVE (long ago), what one signal of weight 1 commits.
  const char* const expected[3][3] = {
      {"", "", "INACTIVE>ACTIVE recovery_window_elapsed"}, {"", "", ""}, {"ACTIVE>SUSPECT demotion_threshold", "", ""}};
  for (const Reason reason : kReasons) {
    for (const Signal signal : {Signal::kHealthy, Signal::kSuspect, Signal::kDead}) {
      for (const State from : {State::kActive, State::kSuspect, State::kInactive}) {
        Scene scene(Scene::Mesh());
        if (from == State::kSuspect) scene.MakeSuspect();
        if (from == State::kInactive) scene.MakeInactive();
        if (from != State::kSuspect) scene.At(hours(1));
        scene.Apply({.peer = kPeer, .observer = kUs, .signal = signal, .reason = reason});
        EXPECT_EQ(scene.Changes(), expected[static_cast<int>(signal)][static_cast<int>(from)])
            << Name(reason) << " " << Name(signal) << " " << Name(from);
      }
    }
  }
}

TEST(StmReason, OfTheSignalsIsThatOfNoThreshold) {
  Scene scene(Scene::Mesh());
  for (const Reason reason : {Reason::kPhi, Reason::kTransportClosed, Reason::kAsymmetric}) {
    EXPECT_EQ(scene.Changes(), "");
    scene.Apply({.peer = kPeer, .observer = kUs, .signal = Signal::kSuspect, .reason = reason});
  }
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT demotion_threshold");
}

// ---- Refutation of the living ----

TEST(StmRefute, MakesASuspectActiveAtOnce) {
  for (const StmConfig& config : {Scene::Mesh(), Scene::Swim()}) {
    Scene scene(config);
    scene.MakeSuspect();
    EXPECT_EQ(scene.Refute(kOlder), Outcome::kOutranked);
    EXPECT_EQ(scene.Refute(kKey), Outcome::kOutranked);
    EXPECT_EQ(scene.Changes(), "");
    EXPECT_EQ(scene.Refute(kHigher), Outcome::kApplied);
    EXPECT_EQ(scene.Changes(), "SUSPECT>ACTIVE refuted");
    EXPECT_EQ(scene.count(), 0u);
  }
}

TEST(StmRefute, ClearsAPendingDemotion) {
  Scene scene(Scene::Mesh());
  scene.Suspect();
  scene.Rumour(7);
  EXPECT_EQ(scene.count(), 2u);
  EXPECT_EQ(scene.Refute(kHigher), Outcome::kApplied);
  EXPECT_EQ(scene.count(), 0u);
  EXPECT_EQ(scene.Refute(kHigher), Outcome::kOutranked);
  EXPECT_EQ(scene.Changes(), "");
}

TEST(StmRefute, OfAPeerWithoutARecordHasNoEffect) {
  Scene scene(Scene::Swim());
  EXPECT_EQ(scene.Refute(kHigher), Outcome::kNoEffect);
  EXPECT_EQ(scene.stm.records(), 0u);
}

}  // namespace
}  // namespace nekton
