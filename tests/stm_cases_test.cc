// The gates, and the cases E1-E10 of heartbeat-and-stm as far as they need no sequence, nonce or timestamp.
#include "stm/stm.h"

#include <gtest/gtest.h>

#include "tests/stm_scene.h"

namespace nekton {
namespace {

using std::chrono::seconds;

constexpr PeerId kPeer = Scene::kPeer;
constexpr LifeKey kKey = Scene::kKey;
constexpr LifeKey kOlder{5, 2};

// ---- Gates ----

TEST(StmGate, MalformedIsInvalidAndChangesNothing) {
  Scene scene(Scene::Mesh());
  Observation ok{.peer = kPeer, .observer = Scene::kUs, .signal = Signal::kDead};
  Observation bad = ok;
  bad.peer = kNoPeer;
  EXPECT_EQ(scene.Apply(bad), Outcome::kInvalid);
  bad = ok;
  bad.observer = kNoPeer;
  EXPECT_EQ(scene.Apply(bad), Outcome::kInvalid);
  bad = ok;
  bad.signal = static_cast<Signal>(3);
  EXPECT_EQ(scene.Apply(bad), Outcome::kInvalid);
  EXPECT_EQ(scene.stm.Rumour(scene.now, kNoPeer, kKey, 7, 1, scene.terms, scene.changes), Outcome::kInvalid);
  EXPECT_EQ(scene.stm.Verdict(scene.now, kNoPeer, kKey, 7, 1, scene.terms, scene.changes), Outcome::kInvalid);
  EXPECT_EQ(scene.stm.Refute(scene.now, kNoPeer, kKey, scene.changes), Outcome::kInvalid);
  EXPECT_EQ(scene.Rumour(kNoPeer), Outcome::kInvalid);
  EXPECT_EQ(scene.Rumour(7, kKey, 2), Outcome::kInvalid);
  EXPECT_EQ(scene.Verdict(kNoPeer), Outcome::kInvalid);
  scene.stm.Left(scene.now, kNoPeer, kKey, scene.changes);
  scene.stm.Replaced(scene.now, kNoPeer, kKey, scene.changes);
  scene.stm.Restarted(scene.now, kNoPeer, kKey, scene.changes);
  scene.stm.Bury(scene.now, kNoPeer, kKey);
  EXPECT_EQ(scene.stm.records(), 0u);
  EXPECT_EQ(scene.Changes(), "");
  EXPECT_EQ(scene.stm.count(Outcome::kInvalid), 13u);
}

TEST(StmGate, WeightZeroChangesNothing) {
  for (const Signal signal : {Signal::kHealthy, Signal::kSuspect, Signal::kDead}) {
    Scene scene(Scene::Mesh());
    scene.Suspect();
    EXPECT_EQ(scene.Apply({.peer = kPeer, .observer = Scene::kUs, .signal = signal, .weight = 0}),
              Outcome::kZeroWeight);
    scene.Suspect();
    EXPECT_EQ(scene.Changes(), "");
    scene.Suspect();
    EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT demotion_threshold");
  }
}

TEST(StmGate, AnEarlierGenerationIsAnOldEpoch) {
  Scene scene(Scene::Mesh());
  const Observation old{.peer = kPeer, .observer = Scene::kUs, .signal = Signal::kDead, .epoch = 4};
  EXPECT_EQ(scene.Apply(old), Outcome::kOldEpoch);  // the caller's key says 5
  EXPECT_EQ(scene.stm.records(), 0u);
  scene.Suspect();  // and so does the record, whatever the caller says now
  scene.key = {};
  EXPECT_EQ(scene.Apply(old), Outcome::kOldEpoch);
  EXPECT_EQ(scene.state(), State::kActive);
}

TEST(StmGate, EveryOutcomeIsCounted) {
  Scene scene(Scene::Mesh());
  scene.Healthy();
  scene.Suspect();
  scene.Suspect();
  scene.Rumour(7, kOlder);
  EXPECT_EQ(scene.stm.count(Outcome::kNoEffect), 1u);
  EXPECT_EQ(scene.stm.count(Outcome::kApplied), 2u);
  EXPECT_EQ(scene.stm.count(Outcome::kOutranked), 1u);
  EXPECT_EQ(scene.stm.count(Outcome::kDuplicate), 0u);
}

// ---- The cases of heartbeat-and-stm, thresholds 3 / 2 ----

TEST(StmCase, E2AnOlderEpochAfterANewerOneIsIgnored) {
  Scene scene(Scene::Mesh());
  scene.key = {};
  EXPECT_EQ(scene.Apply({.peer = kPeer, .observer = 7, .signal = Signal::kSuspect, .epoch = 5}), Outcome::kApplied);
  EXPECT_EQ(scene.Apply({.peer = kPeer, .observer = 8, .signal = Signal::kDead, .epoch = 4}), Outcome::kOldEpoch);
  EXPECT_EQ(scene.state(), State::kActive);
}

TEST(StmCase, E3ThreeHealthyAndOneSuspectInOrder) {
  Scene scene(Scene::Mesh());
  scene.MakeSuspect();
  scene.Healthy();
  scene.Healthy();
  scene.Healthy();
  scene.Suspect();
  EXPECT_EQ(scene.Changes(), "SUSPECT>ACTIVE promotion_threshold");
  scene.Suspect();  // the fourth counted 1 in ACTIVE, so this is the second of three
  EXPECT_EQ(scene.Changes(), "");
  scene.Suspect();
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT demotion_threshold");
}

TEST(StmCase, E4TheThirdHealthyMeetsActive) {
  Scene scene(Scene::Mesh());
  scene.MakeSuspect();
  EXPECT_EQ(scene.Healthy(), Outcome::kApplied);
  EXPECT_EQ(scene.Healthy(), Outcome::kApplied);
  EXPECT_EQ(scene.Healthy(), Outcome::kNoEffect);
  EXPECT_EQ(scene.Changes(), "SUSPECT>ACTIVE promotion_threshold");
  EXPECT_EQ(scene.stm.records(), 0u);
}

TEST(StmCase, E5FlappingWithinASecondChangesNothing) {
  for (const bool suspected : {false, true}) {
    Scene scene(Scene::Mesh());
    if (suspected) scene.MakeSuspect();
    for (int i = 0; i < 20; ++i) {
      scene.At(std::chrono::milliseconds(10 * i));
      i % 2 == 0 ? scene.Healthy() : scene.Suspect();
    }
    EXPECT_EQ(scene.Changes(), "");
  }
}

TEST(StmCase, E8FiveObserversSuspectAtTheThird) {
  Scene scene(Scene::Mesh());
  for (PeerId observer = 11; observer <= 15; ++observer) {
    scene.Apply({.peer = kPeer, .observer = observer, .signal = Signal::kSuspect});
    EXPECT_EQ(scene.state(), observer < 13 ? State::kActive : State::kSuspect);
  }
  ASSERT_EQ(scene.changes.size(), 1u);
  EXPECT_EQ(scene.changes[0].observer, 13u);
}

TEST(StmCase, E9OneHealthyRevivesAfterTheRecoveryHold) {
  Scene scene(Scene::Mesh());
  scene.MakeInactive();
  scene.At(seconds(90 + 89));
  scene.Healthy();
  EXPECT_EQ(scene.state(), State::kInactive);
  scene.At(seconds(90 + 91));
  scene.Healthy();
  EXPECT_EQ(scene.Changes(), "INACTIVE>ACTIVE recovery_window_elapsed");
  EXPECT_EQ(scene.stm.records(), 0u);
  scene.Suspect();  // counts 1 in ACTIVE
  scene.Suspect();
  EXPECT_EQ(scene.Changes(), "");
  scene.Suspect();
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT demotion_threshold");
}

TEST(StmCase, E9AtTheStrictSettingTheCountIsKept) {
  StmConfig config = Scene::Mesh();
  config.recovery_threshold = 2;
  Scene scene(config);
  scene.MakeInactive();
  scene.At(seconds(90 + 89));
  scene.Healthy();
  scene.At(seconds(90 + 91));
  scene.Healthy();
  EXPECT_EQ(scene.Changes(), "INACTIVE>ACTIVE recovery_window_elapsed");
}

TEST(StmCase, E10AnUnknownPeerStartsActive) {
  Scene scene(Scene::Mesh());
  EXPECT_EQ(scene.state(77), State::kActive);
  EXPECT_EQ(scene.stm.HoldOf(77), std::nullopt);
  EXPECT_EQ(scene.Suspect(77), Outcome::kApplied);
  EXPECT_EQ(scene.state(77), State::kActive);
  EXPECT_EQ(scene.stm.records(), 1u);
}

}  // namespace
}  // namespace nekton
