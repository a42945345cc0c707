// The cases E1 - E10 of heartbeat-and-stm, thresholds 3 / 2, and how it is read where it contradicts itself.
#include <algorithm>
#include <string>
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

constexpr PeerId kPeer = Scene::kPeer;
constexpr LifeKey kKey = Scene::kKey;
constexpr nanoseconds kOne{1};

// From outside, with all its numbers given.
Observation From(PeerId observer, std::uint64_t sequence, std::uint64_t nonce, Signal signal = Signal::kSuspect) {
  return {.peer = kPeer,
          .observer = observer,
          .signal = signal,
          .epoch = kKey.generation,
          .sequence = sequence,
          .nonce = nonce,
          .timestamp = Scene::kWall};
}

// ---- The cases ----

TEST(StmCase, E1AnEmptyBatchOrANullObservationChangesNothing) {
  Scene scene(Scene::Mesh());
  EXPECT_EQ(scene.Batch(""), "");
  EXPECT_EQ(scene.Apply({}), Outcome::kInvalid);
  EXPECT_EQ(scene.stm.Check(scene.now, {}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(scene.stm.records(), 0u);
  EXPECT_EQ(scene.Changes(), "");
}

TEST(StmCase, E2AnOlderEpochAfterANewerOneIsIgnored) {
  Scene scene(Scene::Mesh());
  scene.key = {};
  EXPECT_EQ(scene.Apply({.peer = kPeer, .observer = 7, .signal = Signal::kSuspect, .epoch = 5}), Outcome::kApplied);
  EXPECT_EQ(scene.Apply({.peer = kPeer, .observer = 8, .signal = Signal::kDead, .epoch = 4}), Outcome::kOldEpoch);
  EXPECT_EQ(scene.Apply({.peer = kPeer, .observer = 7, .signal = Signal::kHealthy, .epoch = 4}), Outcome::kOldEpoch);
  EXPECT_EQ(scene.state(), State::kActive);
  EXPECT_EQ(scene.count(), 1u);
}

TEST(StmCase, E3ThreeHealthyAndOneSuspectAreAppliedInOrder) {
  Scene scene(Scene::Mesh());
  scene.MakeSuspect();
  EXPECT_EQ(scene.Batch("hhhs"), "aaaa");
  EXPECT_EQ(scene.Changes(), "SUSPECT>ACTIVE promotion_threshold");
  EXPECT_EQ(scene.count(), 1u);  // the fourth, in ACTIVE
}

TEST(StmCase, E3OneSuspectAndThreeHealthyIsAnotherOrder) {
  Scene scene(Scene::Mesh());
  scene.MakeSuspect();
  EXPECT_EQ(scene.Batch("hshh"), "aaaa");
  EXPECT_EQ(scene.Changes(), "SUSPECT>ACTIVE promotion_threshold");
  EXPECT_EQ(scene.count(), 0u);
}

TEST(StmCase, E3ThresholdsAreCheckedAfterEach) {
  Scene scene(Scene::Mesh());
  scene.Batch("ssshhsss");
  EXPECT_EQ(scene.Changes(),
            "ACTIVE>SUSPECT demotion_threshold, SUSPECT>ACTIVE promotion_threshold, ACTIVE>SUSPECT demotion_threshold");
}

TEST(StmCase, E4TheSecondOfThreeHealthyPromotesAndTheThirdMeetsActive) {
  Scene scene(Scene::Mesh());
  scene.MakeSuspect();
  scene.Healthy();
  EXPECT_EQ(scene.state(), State::kSuspect);
  scene.Healthy();
  EXPECT_EQ(scene.state(), State::kActive);
  EXPECT_EQ(scene.count(), 0u);
  scene.Healthy();
  EXPECT_EQ(scene.Changes(), "SUSPECT>ACTIVE promotion_threshold");
  EXPECT_EQ(scene.count(), 0u);
}

TEST(StmCase, E5FlappingWithinASecondChangesNothingAndCountsNoFurtherThanOne) {
  for (const bool suspected : {false, true}) {
    Scene scene(Scene::Mesh());
    if (suspected) scene.MakeSuspect();
    for (int i = 0; i < 20; ++i) {
      scene.At(milliseconds(50 * i));
      i % 2 == 0 ? scene.Healthy() : scene.Suspect();
      EXPECT_LE(scene.count(), 1u);
    }
    EXPECT_EQ(scene.Changes(), "");
  }
}

TEST(StmCase, E6ThirtyOneSecondsAheadIsAnErrorAndThirtyAreApplied) {
  Scene scene(Scene::Mesh());
  Observation what = From(7, 1, 1);
  what.timestamp = Scene::kWall + seconds(31);
  EXPECT_EQ(scene.stm.Check(scene.now, what).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(scene.Apply(what), Outcome::kFuture);
  EXPECT_EQ(scene.stm.records(), 0u);
  what.timestamp = Scene::kWall + seconds(30);
  EXPECT_TRUE(scene.stm.Check(scene.now, what).ok());
  EXPECT_EQ(scene.Apply(what), Outcome::kApplied);
}

TEST(StmCase, E7OfTheSameSequenceAndSignalAnyOrderCountsOne) {
  std::vector<std::uint64_t> nonces{10, 20, 30, 40};
  do {
    Scene scene(Scene::Mesh());
    for (const std::uint64_t nonce : nonces) scene.Apply(From(7, 1, nonce));
    EXPECT_EQ(scene.count(), 1u);
    for (const std::uint64_t nonce : nonces) {
      const Outcome outcome = scene.Apply(From(7, 1, nonce));
      EXPECT_TRUE(outcome == Outcome::kDuplicate || outcome == Outcome::kOutOfOrder);
    }
    EXPECT_EQ(scene.Apply(From(7, 1, 39)), Outcome::kOutOfOrder);  // the largest has won
    EXPECT_EQ(scene.count(), 1u);
  } while (std::next_permutation(nonces.begin(), nonces.end()));
}

TEST(StmCase, E7OfTheSameSequenceWithOtherSignalsTheLargestDecides) {
  for (const bool suspected : {false, true}) {
    for (const Signal larger : {Signal::kHealthy, Signal::kSuspect}) {
      const Signal smaller = larger == Signal::kHealthy ? Signal::kSuspect : Signal::kHealthy;
      for (const bool smaller_first : {false, true}) {
        Scene scene(Scene::Mesh());
        scene.Batch(suspected ? "d" : "sh");  // a record, and nothing counted
        scene.changes.clear();
        if (smaller_first) scene.Apply(From(7, 1, 10, smaller));
        scene.Apply(From(7, 1, 20, larger));
        scene.Apply(From(7, 1, 10, smaller));
        EXPECT_EQ(scene.Changes(), "");
        EXPECT_EQ(scene.count(), (larger == Signal::kHealthy) == suspected ? 1u : 0u);
        EXPECT_EQ(suspected && scene.Running(), suspected && larger == Signal::kSuspect);
      }
    }
  }
}

TEST(StmCase, E8FiveObserversSuspectAtTheThird) {
  Scene scene(Scene::Mesh());
  for (PeerId observer = 11; observer <= 15; ++observer) {
    EXPECT_EQ(scene.Apply(From(observer, 1, observer)), Outcome::kApplied);
    EXPECT_EQ(scene.state(), observer < 13 ? State::kActive : State::kSuspect);
  }
  ASSERT_EQ(scene.changes.size(), 1u);
  EXPECT_EQ(scene.changes[0].observer, 13u);
  for (PeerId observer = 11; observer <= 15; ++observer) {
    EXPECT_EQ(scene.Apply(From(observer, 1, observer)), Outcome::kDuplicate);  // all five were taken
  }
}

TEST(StmCase, E8FiveCopiesOfOneAreAppliedOnce) {
  Scene scene(Scene::Mesh());
  EXPECT_EQ(scene.Apply(From(11, 1, 1)), Outcome::kApplied);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(scene.Apply(From(11, 1, 1)), Outcome::kDuplicate);
  EXPECT_EQ(scene.count(), 1u);
}

TEST(StmCase, E9OneHealthyRevivesAfterTheRecoveryHold) {
  Scene scene(Scene::Mesh());
  scene.MakeInactive();
  scene.At(seconds(90 + 91));
  scene.Healthy();
  EXPECT_EQ(scene.Changes(), "INACTIVE>ACTIVE recovery_window_elapsed");
  EXPECT_EQ(scene.count(), 0u);
  scene.Suspect();
  EXPECT_EQ(scene.count(), 1u);
  EXPECT_EQ(scene.state(), State::kActive);
  scene.Suspect();
  EXPECT_EQ(scene.Changes(), "");
  scene.Suspect();
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT demotion_threshold");
}

TEST(StmCase, E9WithinTheRecoveryHoldItStaysAndTheCountIsKept) {
  StmConfig config = Scene::Mesh();
  config.recovery_threshold = 2;
  Scene scene(config);
  scene.MakeInactive();
  scene.At(seconds(90 + 89));
  EXPECT_EQ(scene.Healthy(), Outcome::kApplied);
  EXPECT_EQ(scene.state(), State::kInactive);
  EXPECT_EQ(scene.count(), 1u);
  scene.At(seconds(90 + 91));
  scene.Healthy();
  EXPECT_EQ(scene.Changes(), "INACTIVE>ACTIVE recovery_window_elapsed");
}

TEST(StmCase, E10AnUnknownPeerStartsActiveAndItsFirstSuspectCountsOne) {
  Scene scene(Scene::Mesh());
  EXPECT_EQ(scene.state(), State::kActive);
  EXPECT_EQ(scene.stm.HoldOf(kPeer), std::nullopt);
  EXPECT_EQ(scene.Suspect(), Outcome::kApplied);
  EXPECT_EQ(scene.state(), State::kActive);
  EXPECT_EQ(scene.count(), 1u);
  EXPECT_EQ(scene.stm.records(), 1u);
}

// ---- Where the source contradicts itself ----

TEST(StmReading, AnOldDuplicateIsStaleSinceAgesComeBeforeDuplicates) {
  Scene scene(Scene::Mesh());
  scene.Apply(From(7, 1, 1));
  scene.Jump(hours(1));
  EXPECT_EQ(scene.Apply(From(7, 1, 1)), Outcome::kStale);
  scene.Jump(-hours(2));
  EXPECT_EQ(scene.Apply(From(7, 1, 1)), Outcome::kFuture);
}

TEST(StmReading, ADuplicateOfAnEarlierLifeIsAnOldEpochSinceEpochsComeBeforeDuplicates) {
  Scene scene(Scene::Mesh());
  scene.Apply(From(7, 1, 1));
  scene.key = {6, 0};
  scene.Suspect();
  EXPECT_EQ(scene.Apply(From(7, 1, 1)), Outcome::kOldEpoch);
}

TEST(StmReading, ACopyIsADuplicateNotOutOfOrderSinceDuplicatesComeBeforeOrder) {
  Scene scene(Scene::Mesh());
  scene.Apply(From(7, 1, 1));
  scene.Apply(From(7, 2, 2));
  EXPECT_EQ(scene.Apply(From(7, 1, 1)), Outcome::kDuplicate);
}

TEST(StmReading, EachObserverHasItsOwnOrderSoThatWitnessesAreNotSilenced) {
  Scene scene(Scene::Mesh());
  EXPECT_EQ(scene.Apply(From(11, 500, 500)), Outcome::kApplied);
  EXPECT_EQ(scene.Apply(From(12, 7, 7)), Outcome::kApplied);  // far below the first by one common key
  Observation earlier = From(13, 1, 1);
  earlier.timestamp = Scene::kWall - seconds(10);
  EXPECT_EQ(scene.Apply(earlier), Outcome::kApplied);
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT demotion_threshold");
}

TEST(StmReading, TheKeyOfWhatCommittedIsRecorded) {
  Scene scene(Scene::Mesh());
  for (const std::uint64_t sequence : {1u, 2u, 10u}) scene.Apply(From(7, sequence, sequence));
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT demotion_threshold");
  // Late, with a nonce of its own. It would count if the last recorded were the second.
  EXPECT_EQ(scene.Apply(From(7, 5, 5, Signal::kHealthy)), Outcome::kOutOfOrder);
  EXPECT_EQ(scene.count(), 0u);
}

TEST(StmReading, ADeathIsConfirmedByTimeAloneWithoutOneMoreObservation) {
  Scene scene(Scene::Mesh());
  scene.Batch("sss");
  scene.changes.clear();
  scene.At(seconds(90));
  scene.Advance();
  EXPECT_EQ(scene.Changes(), "SUSPECT>INACTIVE confirm_dead_hold_elapsed");
}

TEST(StmReading, AnObservationThatComesAfterTheHoldConfirmsNothing) {
  Scene scene(Scene::Mesh());
  scene.Batch("sss");
  scene.changes.clear();
  scene.At(seconds(91));
  scene.Batch("sssss");
  EXPECT_EQ(scene.Changes(), "");
}

TEST(StmReading, RecoveryCountsFromInactiveNotFromSuspect) {
  Scene scene(Scene::Mesh());
  scene.MakeInactive();  // SUSPECT for 90 s already
  scene.At(seconds(90) + kOne);
  scene.Batch("hhhh");
  EXPECT_EQ(scene.Changes(), "");
  scene.At(seconds(180) - kOne);
  scene.Batch("hhhh");
  EXPECT_EQ(scene.Changes(), "");
}

TEST(StmReading, OneHealthyIsEnoughAfterTheRecoveryHold) {
  Scene scene(Scene::Mesh());
  ASSERT_EQ(kMeshStm.promote_threshold, 2u);
  scene.MakeInactive();
  scene.At(seconds(180));
  scene.Healthy();
  EXPECT_EQ(scene.Changes(), "INACTIVE>ACTIVE recovery_window_elapsed");
}

TEST(StmReading, TheStrictSettingAsksForPromoteThresholdAfterTheRecoveryHold) {
  StmConfig strict = Scene::Mesh();
  strict.recovery_threshold = strict.promote_threshold;
  Scene scene(strict);
  scene.MakeInactive();
  scene.At(seconds(180));
  scene.Healthy();
  EXPECT_EQ(scene.Changes(), "");
  scene.Healthy();
  EXPECT_EQ(scene.Changes(), "INACTIVE>ACTIVE recovery_window_elapsed");
}

TEST(StmReading, NothingCountsAgainstTheInactiveAndTheHealthySoFarAreVoid) {
  StmConfig config = Scene::Mesh();
  config.recovery_threshold = 3;
  Scene scene(config);
  scene.MakeInactive();
  scene.Batch("ss");
  EXPECT_EQ(scene.count(), 0u);
  scene.At(seconds(180));
  scene.Batch("hhs");
  EXPECT_EQ(scene.count(), 0u);
  scene.Batch("hh");
  EXPECT_EQ(scene.Changes(), "");
  scene.Batch("h");
  EXPECT_EQ(scene.Changes(), "INACTIVE>ACTIVE recovery_window_elapsed");
}

TEST(StmReading, ADeadIsMoreThanASuspectThatCounts) {
  Scene scene(Scene::Mesh());
  scene.Dead();  // the pseudo-code would count 1 of 3
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT demotion_threshold");
}

TEST(StmReading, ADeadIsNeverAVerdict) {
  Scene scene(Scene::Mesh());
  scene.MakeSuspect();
  for (const Duration at :
       {Duration(seconds(1)), Duration(seconds(90) - kOne), Duration(seconds(90)), Duration(hours(1))}) {
    scene.At(at);
    for (PeerId observer = 11; observer < 20; ++observer) scene.Outside(observer, Signal::kDead);
    scene.Dead();
    EXPECT_EQ(scene.Changes(), "");
  }
}

TEST(StmReading, ALoneResetOrAClosedTransportStartsAHoldAndEndsNone) {
  for (const Reason reason : {Reason::kRefused, Reason::kTransportClosed}) {
    Scene scene(Scene::Mesh());
    for (int i = 0; i < 10; ++i) {
      scene.Apply({.peer = kPeer, .observer = Scene::kUs, .signal = Signal::kDead, .reason = reason});
    }
    EXPECT_EQ(scene.state(), State::kSuspect);
    EXPECT_EQ(scene.HoldEnd(), seconds(90));
  }
}

// HB's prose and table: the first healthy in SUSPECT cancels escalation, though its pseudo-code clears the hold only
// with the promotion.
TEST(StmReading, OneHealthyInSuspectCancelsTheEscalation) {
  Scene scene(Scene::Mesh());
  scene.Batch("sssh");
  scene.changes.clear();
  scene.At(hours(1));
  scene.Advance();
  scene.Suspect();
  scene.Advance();
  EXPECT_EQ(scene.Changes(), "");
  EXPECT_TRUE(scene.EndsExactlyAt(hours(1) + seconds(90)));
}

}  // namespace
}  // namespace nekton
