// The gates for signals, in the order in which they stand; replays, and wall clocks that jump.
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "stm/stm.h"
#include "tests/stm_scene.h"

namespace nekton {
namespace {

using std::chrono::hours;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr PeerId kPeer = Scene::kPeer;
constexpr PeerId kUs = Scene::kUs;
constexpr LifeKey kKey = Scene::kKey;
constexpr LifeKey kHigher{5, 4};
constexpr nanoseconds kOne{1};

// From outside, with all its numbers given.
Observation From(PeerId observer, std::uint64_t number, Signal signal = Signal::kSuspect) {
  return {.peer = kPeer,
          .observer = observer,
          .signal = signal,
          .epoch = kKey.generation,
          .sequence = number,
          .nonce = number,
          .timestamp = Scene::kWall};
}

// ---- 1: malformed ----

TEST(StmGate, G1AnObservationThatLacksAPartIsInvalidAndChangesNothing) {
  Scene scene(Scene::Mesh());
  const Observation ok{.peer = kPeer, .observer = kUs, .signal = Signal::kDead};
  std::vector<Observation> bad(3, ok);
  bad[0].peer = kNoPeer;
  bad[1].observer = kNoPeer;
  bad[2].signal = static_cast<Signal>(3);
  for (const Observation& what : bad) {
    EXPECT_EQ(scene.Apply(what), Outcome::kInvalid);
    EXPECT_EQ(scene.stm.Check(scene.now, what).code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(scene.stm.records(), 0u);
  EXPECT_EQ(scene.Changes(), "");
  EXPECT_EQ(scene.stm.count(Outcome::kInvalid), 3u);  // Check counts nothing
}

TEST(StmGate, G1EveryOtherInputWithoutAPeerIsInvalidToo) {
  Scene scene(Scene::Swim());
  EXPECT_EQ(scene.stm.Rumour(scene.now, kNoPeer, kKey, {7}, scene.terms, scene.changes), Outcome::kInvalid);
  EXPECT_EQ(scene.stm.Verdict(scene.now, kNoPeer, kKey, {7}, scene.terms, scene.changes), Outcome::kInvalid);
  EXPECT_EQ(scene.stm.Refute(scene.now, kNoPeer, kKey, scene.changes), Outcome::kInvalid);
  scene.Left(kNoPeer);
  scene.Replaced(kNoPeer);
  scene.Restarted(kNoPeer, kKey);
  scene.stm.Bury(scene.now, kNoPeer, kKey);
  scene.stm.Forget(kNoPeer);
  EXPECT_EQ(scene.stm.records(), 0u);
  EXPECT_EQ(scene.Changes(), "");
  EXPECT_EQ(scene.stm.count(Outcome::kInvalid), 7u);
}

TEST(StmGate, G1CheckNamesEveryFieldThatIsWrong) {
  Scene scene(Scene::Mesh());
  EXPECT_TRUE(scene.stm.Check(scene.now, From(7, 1)).ok());
  const Observation bad{.signal = static_cast<Signal>(9), .timestamp = Scene::kWall + seconds(31)};
  const std::string text(scene.stm.Check(scene.now, bad).message());
  for (const char* field : {"peer = none: ", "observer = none: ", "signal = 9: ", "timestamp = 1576800031 s: "}) {
    EXPECT_NE(text.find(field), std::string::npos) << field << text;
  }
}

TEST(StmGate, G1WeightZeroChangesNothing) {
  for (const Signal signal : {Signal::kHealthy, Signal::kSuspect, Signal::kDead}) {
    Scene scene(Scene::Mesh());
    scene.Suspect();
    EXPECT_EQ(scene.Apply({.peer = kPeer, .observer = kUs, .signal = signal, .weight = 0}), Outcome::kZeroWeight);
    EXPECT_EQ(scene.count(), 1u);
    EXPECT_EQ(scene.Changes(), "");
  }
}

TEST(StmGate, G1WeightZeroComesBeforeTheAge) {
  Scene scene(Scene::Mesh());
  Observation what = From(7, 1);
  what.weight = 0;
  what.timestamp = Scene::kWall + hours(1);
  EXPECT_EQ(scene.Apply(what), Outcome::kZeroWeight);
}

// ---- 2: timestamps from outside ----

TEST(StmGate, G2ATimestampExactlyThirtySecondsAheadIsApplied) {
  for (const auto& [ahead, outcome] :
       {std::pair(seconds(30) - kOne, Outcome::kApplied), std::pair(nanoseconds(seconds(30)), Outcome::kApplied),
        std::pair(seconds(30) + kOne, Outcome::kFuture)}) {
    Scene scene(Scene::Mesh());
    Observation what = From(7, 1);
    what.timestamp = Scene::kWall + ahead;
    EXPECT_EQ(scene.stm.Check(scene.now, what).ok(), outcome == Outcome::kApplied) << ahead.count();
    EXPECT_EQ(scene.Apply(what), outcome) << ahead.count();
    EXPECT_EQ(scene.stm.records(), outcome == Outcome::kApplied ? 1u : 0u);
  }
}

TEST(StmGate, G2ATimestampExactlyNinetySecondsOldIsApplied) {
  for (const auto& [age, outcome] :
       {std::pair(seconds(90) - kOne, Outcome::kApplied), std::pair(nanoseconds(seconds(90)), Outcome::kApplied),
        std::pair(seconds(90) + kOne, Outcome::kStale)}) {
    Scene scene(Scene::Mesh());
    Observation what = From(7, 1);
    what.timestamp = Scene::kWall - age;
    EXPECT_TRUE(scene.stm.Check(scene.now, what).ok());  // late is no mistake of the caller
    EXPECT_EQ(scene.Apply(what), outcome) << age.count();
    EXPECT_EQ(scene.stm.records(), outcome == Outcome::kApplied ? 1u : 0u);
  }
}

TEST(StmGate, G2TheLimitsAreThoseOfTheConfiguration) {
  StmConfig config = Scene::Mesh();
  config.max_future_skew = {};
  config.max_age = kOne;
  Scene scene(config);
  Observation what = From(7, 1);
  what.timestamp = Scene::kWall + kOne;
  EXPECT_EQ(scene.Apply(what), Outcome::kFuture);
  what.timestamp = Scene::kWall - kOne - kOne;
  EXPECT_EQ(scene.Apply(what), Outcome::kStale);
  what.timestamp = Scene::kWall - kOne;
  EXPECT_EQ(scene.Apply(what), Outcome::kApplied);
}

TEST(StmGate, G2TheEndsOfTimeDoNotOverflow) {
  Scene scene(Scene::Mesh());
  Observation what = From(7, 1);
  what.timestamp = WallTime::max();
  EXPECT_EQ(scene.Apply(what), Outcome::kFuture);
  EXPECT_EQ(scene.stm.Check(scene.now, what).code(), absl::StatusCode::kInvalidArgument);
  what.timestamp = WallTime::min();
  EXPECT_EQ(scene.Apply(what), Outcome::kStale);
  EXPECT_TRUE(scene.stm.Check(scene.now, what).ok());
}

TEST(StmGate, G2AnHourOfOurWallClockForthMakesObservationsStale) {
  Scene scene(Scene::Mesh());
  EXPECT_EQ(scene.Apply(From(7, 1)), Outcome::kApplied);
  scene.Jump(hours(1));
  EXPECT_EQ(scene.Apply(From(7, 2)), Outcome::kStale);
  EXPECT_EQ(scene.Outside(8, Signal::kSuspect), Outcome::kApplied);
  EXPECT_EQ(scene.count(), 2u);
}

TEST(StmGate, G2AnHourOfOurWallClockBackMakesObservationsFuture) {
  Scene scene(Scene::Mesh());
  EXPECT_EQ(scene.Apply(From(7, 1)), Outcome::kApplied);
  scene.Jump(-hours(1));
  EXPECT_EQ(scene.Apply(From(7, 2)), Outcome::kFuture);
  EXPECT_EQ(scene.Outside(8, Signal::kSuspect), Outcome::kApplied);
  EXPECT_EQ(scene.count(), 2u);
}

TEST(StmGate, G2NoJumpOfTheWallClockTouchesOurOwnSignals) {
  for (const nanoseconds jump : {nanoseconds(hours(1)), nanoseconds(-hours(1))}) {
    Scene scene(Scene::Mesh());
    for (int i = 0; i < 3; ++i) {
      scene.At(seconds(i));
      scene.Jump(i % 2 == 0 ? jump : -jump);
      EXPECT_EQ(scene.Suspect(), Outcome::kApplied) << i;
    }
    EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT demotion_threshold");
    EXPECT_EQ(scene.HoldEnd(), seconds(92));
    scene.At(seconds(50));
    scene.Jump(jump);
    EXPECT_EQ(scene.NextDeadline(), seconds(92));
    EXPECT_TRUE(scene.EndsExactlyAt(seconds(92)));
  }
}

TEST(StmGate, G2OurOwnMayCarryNoTimestampThatDecides) {
  Scene scene(Scene::Mesh());
  scene.now.wall = WallTime::min();  // a machine without a clock
  EXPECT_EQ(scene.Suspect(), Outcome::kApplied);
  scene.now.wall = WallTime{};
  EXPECT_EQ(scene.Suspect(), Outcome::kApplied);
  EXPECT_EQ(scene.count(), 2u);
}

// ---- 3: earlier lives ----

TEST(StmGate, G3AnEarlierGenerationIsAnOldEpoch) {
  Scene scene(Scene::Mesh());
  const Observation old{.peer = kPeer, .observer = kUs, .signal = Signal::kDead, .epoch = 4};
  EXPECT_EQ(scene.Apply(old), Outcome::kOldEpoch);  // the caller's key says 5
  EXPECT_EQ(scene.stm.records(), 0u);
  scene.Suspect();  // and so does the record, whatever the caller says now
  scene.key = {};
  EXPECT_EQ(scene.Apply(old), Outcome::kOldEpoch);
  EXPECT_EQ(scene.state(), State::kActive);
  EXPECT_EQ(scene.count(), 1u);
}

TEST(StmGate, G3AnEarlierIncarnationIsNoOldEpoch) {
  Scene scene(Scene::Mesh());
  scene.key = kHigher;
  scene.Suspect();
  scene.key = kKey;  // the engine knows less; a signal is about the life, not the incarnation
  EXPECT_EQ(scene.Suspect(), Outcome::kApplied);
  EXPECT_EQ(scene.count(), 2u);
}

TEST(StmGate, G3OfAPeerThatLeftNothingCountsUntilAHigherKey) {
  Scene scene(Scene::Mesh());
  scene.Left();
  scene.changes.clear();
  EXPECT_EQ(scene.Batch("hsd"), "???");
  EXPECT_EQ(scene.stm.count(Outcome::kLeft), 3u);
  scene.key = kHigher;
  EXPECT_EQ(scene.Suspect(), Outcome::kApplied);
}

// ---- 4: duplicates ----

TEST(StmGate, G4TheSameNonceOfAnObserverIsADuplicate) {
  Scene scene(Scene::Mesh());
  EXPECT_EQ(scene.Apply(From(7, 1)), Outcome::kApplied);
  EXPECT_EQ(scene.Apply(From(7, 1)), Outcome::kDuplicate);
  Observation later = From(7, 1, Signal::kDead);
  later.sequence = 9;
  EXPECT_EQ(scene.Apply(later), Outcome::kDuplicate);
  EXPECT_EQ(scene.Apply(From(8, 1)), Outcome::kApplied);  // another's may be the same
  EXPECT_EQ(scene.count(), 2u);
}

TEST(StmGate, G4SixteenNoncesOfAnObserverAreRemembered) {
  StmConfig config = Scene::Mesh();
  config.demote_threshold = 100;
  Scene scene(config);
  for (std::uint64_t i = 1; i <= 17; ++i) scene.Apply(From(7, i));
  Observation again = From(7, 2);
  again.sequence = 100;
  EXPECT_EQ(scene.Apply(again), Outcome::kDuplicate);
  again.nonce = 1;  // the seventeenth pushed it out
  EXPECT_EQ(scene.Apply(again), Outcome::kApplied);
}

TEST(StmGate, G4AnUnknownObserverAtTheTimeOfOneThatMadeRoomIsStale) {
  for (const auto& [after, outcome] : {std::pair(-kOne, Outcome::kStale), std::pair(nanoseconds(0), Outcome::kStale),
                                       std::pair(kOne, Outcome::kApplied)}) {
    StmConfig config = Scene::Mesh();
    config.demote_threshold = 100;
    Scene scene(config);
    scene.Apply(From(500, 1));
    for (PeerId observer = 501; observer <= 516; ++observer) {
      Observation later = From(observer, 1);
      later.timestamp = Scene::kWall + seconds(1);
      scene.Apply(later);
    }
    Observation unknown = From(600, 1);
    unknown.timestamp = Scene::kWall + after;
    EXPECT_EQ(scene.Apply(unknown), outcome) << after.count();
  }
}

TEST(StmGate, G4AReplayInTurnBySeventeenObserversChangesNothing) {
  StmConfig config = Scene::Mesh();
  config.demote_threshold = 100;
  Scene scene(config);
  std::vector<Observation> all;
  for (PeerId observer = 500; observer < 517; ++observer) {
    all.push_back(From(observer, 1));
    all.back().timestamp = Scene::kWall + nanoseconds(observer);
  }
  for (const Observation& what : all) EXPECT_EQ(scene.Apply(what), Outcome::kApplied);
  for (int round = 0; round < 5; ++round) {
    for (const Observation& what : all) scene.Apply(what);
  }
  EXPECT_EQ(scene.count(), 17u);
  EXPECT_EQ(scene.stm.count(Outcome::kApplied), 17u);
}

// ---- 5: the order of each observer ----

TEST(StmGate, G5OfEachPartOfTheOrderLessIsOutOfOrder) {
  for (int part = 0; part < 3; ++part) {
    Scene scene(Scene::Mesh());
    EXPECT_EQ(scene.Apply(From(7, 10)), Outcome::kApplied);
    Observation less = From(7, 20, Signal::kDead);
    if (part == 0) less.sequence = 9;
    if (part > 0) less.sequence = 10;
    if (part == 1) less.timestamp = Scene::kWall - kOne;
    if (part == 2) less.nonce = 9;
    EXPECT_EQ(scene.Apply(less), Outcome::kOutOfOrder) << part;
    EXPECT_EQ(scene.state(), State::kActive);
  }
}

TEST(StmGate, G5ASequenceMayStartAnewWithAnEpoch) {
  Scene scene(Scene::Mesh());
  scene.Apply(From(7, 10));
  Observation next = From(7, 1);
  next.epoch = 6;
  EXPECT_EQ(scene.Apply(next), Outcome::kApplied);
}

TEST(StmGate, G5TheSameSequenceAndSignalIsSupersededAndMovesNoCounter) {
  Scene scene(Scene::Mesh());
  scene.Apply(From(7, 10));
  Observation again = From(7, 10);
  again.nonce = 11;
  EXPECT_EQ(scene.Apply(again), Outcome::kSuperseded);
  again.timestamp = Scene::kWall + kOne;
  again.nonce = 5;
  EXPECT_EQ(scene.Apply(again), Outcome::kSuperseded);
  EXPECT_EQ(scene.count(), 1u);
  again.timestamp = Scene::kWall;
  again.nonce = 99;
  EXPECT_EQ(scene.Apply(again), Outcome::kOutOfOrder);  // below the one that took the place
}

TEST(StmGate, G5OurOwnHaveAnOrderToo) {
  Scene scene(Scene::Mesh());
  Observation own{.peer = kPeer, .observer = kUs, .signal = Signal::kSuspect, .sequence = 5, .nonce = 50};
  EXPECT_EQ(scene.Apply(own), Outcome::kApplied);
  EXPECT_EQ(scene.Apply(own), Outcome::kDuplicate);
  own.sequence = 4;
  own.nonce = 51;
  EXPECT_EQ(scene.Apply(own), Outcome::kOutOfOrder);
}

TEST(StmGate, AHealthyOnAnAbsentRecordPassesOneToThreeAndLeavesNoTrace) {
  Scene scene(Scene::Mesh());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(scene.Apply(From(7, 1, Signal::kHealthy)), Outcome::kNoEffect);
  Observation old = From(7, 1, Signal::kHealthy);
  old.timestamp = Scene::kWall - hours(1);
  EXPECT_EQ(scene.Apply(old), Outcome::kStale);
  old.timestamp = Scene::kWall;
  old.epoch = 4;
  EXPECT_EQ(scene.Apply(old), Outcome::kOldEpoch);
  EXPECT_EQ(scene.stm.records(), 0u);
}

// Of what it saw before anybody spoke against the peer nothing was remembered, so its age must tell.
TEST(StmGate, AReplayOfAHealthyFromBeforeTheRecordIsStale) {
  Scene scene(Scene::Mesh());
  const Observation before = From(7, 1, Signal::kHealthy);
  EXPECT_EQ(scene.Apply(before), Outcome::kNoEffect);
  scene.At(nanoseconds(1));
  scene.MakeSuspect();
  scene.At(seconds(10));
  EXPECT_EQ(scene.Apply(before), Outcome::kStale);
  EXPECT_TRUE(scene.Running());
  Observation then = From(8, 1, Signal::kHealthy);
  then.timestamp = Scene::kWall + nanoseconds(1);
  EXPECT_EQ(scene.Apply(then), Outcome::kApplied);  // at the very instant
  EXPECT_FALSE(scene.Running());
}

// ---- Recorded in every case ----

TEST(StmGate, TheObservationThatCommittedIsADuplicateAfterwards) {
  Scene scene(Scene::Mesh());
  for (std::uint64_t i = 1; i <= 3; ++i) scene.Apply(From(7, i));
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT demotion_threshold");
  for (std::uint64_t i = 4; i <= 5; ++i) scene.Apply(From(7, i, Signal::kHealthy));
  EXPECT_EQ(scene.Changes(), "SUSPECT>ACTIVE promotion_threshold");
  for (std::uint64_t i = 1; i <= 5; ++i) {
    EXPECT_EQ(scene.Apply(From(7, i, i < 4 ? Signal::kSuspect : Signal::kHealthy)), Outcome::kDuplicate);
  }
  EXPECT_EQ(scene.count(), 0u);
}

TEST(StmGate, WhatFallsInAHoldIsRecorded) {
  Scene scene(Scene::Mesh());
  scene.MakeSuspect();
  EXPECT_EQ(scene.Apply(From(7, 1)), Outcome::kApplied);
  EXPECT_EQ(scene.Apply(From(7, 1)), Outcome::kDuplicate);
}

TEST(StmGate, WhatFallsInARecoveryHoldIsRecorded) {
  StmConfig config = Scene::Mesh();
  config.recovery_threshold = 2;
  Scene scene(config);
  scene.MakeInactive();
  Observation healthy = From(7, 1, Signal::kHealthy);
  healthy.timestamp = scene.now.wall;
  EXPECT_EQ(scene.Apply(healthy), Outcome::kApplied);
  scene.At(seconds(180));
  EXPECT_EQ(scene.Apply(healthy), Outcome::kDuplicate);
  EXPECT_EQ(scene.state(), State::kInactive);
  EXPECT_EQ(scene.count(), 1u);
}

TEST(StmGate, AReplayIsKnownForAsLongAsItsAgeWouldPass) {
  for (const nanoseconds ahead : {nanoseconds(0), nanoseconds(seconds(30)), -nanoseconds(seconds(30))}) {
    Scene scene(Scene::Mesh());
    Observation what = From(7, 1);
    what.timestamp = Scene::kWall + ahead;
    scene.Apply(what);
    scene.Suspect(2);  // so that there is something else to keep
    scene.At(seconds(90) + ahead - kOne);
    scene.Advance();
    EXPECT_EQ(scene.Apply(what), Outcome::kDuplicate) << ahead.count();
    scene.At(seconds(90) + ahead + kOne);
    scene.Advance();
    EXPECT_EQ(scene.Apply(what), Outcome::kStale) << ahead.count();
  }
}

}  // namespace
}  // namespace nekton
