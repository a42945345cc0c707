// Records: how long one is kept, who makes room for whom, what is counted, and what a peer costs.
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "stm/stm.h"
#include "tests/count_allocations.h"
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

// ---- How long a record is kept ----

TEST(StmRecord, OfAnActivePeerIsKeptForExactlyMaxAgeAfterTheLastThatWasApplied) {
  Scene scene(Scene::Mesh());
  scene.Suspect();
  scene.At(seconds(10));
  scene.Healthy();
  EXPECT_EQ(scene.NextDeadline(), seconds(100) + kOne);
  scene.At(seconds(20));
  scene.Apply({.peer = kPeer, .observer = Scene::kUs, .signal = Signal::kSuspect, .sequence = 1, .nonce = 1});
  EXPECT_EQ(scene.NextDeadline(), seconds(100) + kOne);  // a replay is not applied
  scene.At(seconds(100));
  scene.Advance();
  EXPECT_EQ(scene.stm.records(), 1u);
  scene.At(seconds(100) + kOne);
  scene.Advance();
  EXPECT_EQ(scene.stm.records(), 0u);
  EXPECT_EQ(scene.NextDeadline(), Scene::kNone);
  EXPECT_EQ(scene.Changes(), "");
}

TEST(StmRecord, AReplayIsKnownForAsLongAsItsAgeWouldPass) {
  Scene scene(Scene::Mesh());
  const Observation said = scene.Numbered({.peer = kPeer, .observer = 7, .signal = Signal::kSuspect});
  Observation outside = said;
  outside.timestamp = scene.now.wall;
  EXPECT_EQ(scene.Apply(outside), Outcome::kApplied);
  scene.At(seconds(90));
  scene.Advance();
  EXPECT_EQ(scene.Apply(outside), Outcome::kDuplicate);
  scene.At(seconds(90) + kOne);
  scene.Advance();
  EXPECT_EQ(scene.Apply(outside), Outcome::kStale);
}

TEST(StmRecord, AfterAPromotionARefutationOrARestartItGoesLikewise) {
  for (int kind = 0; kind < 3; ++kind) {
    Scene scene(Scene::Mesh());
    scene.MakeSuspect();
    scene.At(seconds(10));
    if (kind == 0) scene.Batch("hh");
    if (kind == 1) scene.Refute(kHigher);
    if (kind == 2) scene.Restarted(kPeer, kRestarted);
    EXPECT_EQ(scene.state(), State::kActive);
    scene.At(seconds(100));
    scene.Advance();
    EXPECT_EQ(scene.stm.records(), 1u) << kind;
    scene.At(seconds(100) + kOne);
    scene.Advance();
    EXPECT_EQ(scene.stm.records(), 0u) << kind;
  }
}

TEST(StmRecord, ThePendingCountGoesWithIt) {
  Scene scene(Scene::Mesh());
  scene.Batch("ss");
  scene.At(seconds(90) + kOne);
  scene.Advance();
  scene.Suspect();
  EXPECT_EQ(scene.Changes(), "");
  EXPECT_EQ(scene.count(), 1u);
}

TEST(StmRecord, OfASuspectOrInactivePeerIsKept) {
  Scene scene(Scene::Mesh());
  scene.terms = FixedHold(hours(2));
  scene.MakeSuspect(2);
  scene.Left(3);
  scene.changes.clear();
  scene.At(hours(1));
  scene.Advance();
  EXPECT_EQ(scene.stm.records(), 2u);
  EXPECT_EQ(scene.Changes(), "");
}

// Of four records, those that only observations from outside speak of get two.
StmConfig Four() {
  StmConfig config = Scene::Mesh();
  config.max_records = 4;
  return config;
}
Outcome Stranger(Scene& scene, PeerId peer) {
  scene.now.boot += kOne;
  return scene.Apply({.peer = peer, .observer = 7, .signal = Signal::kSuspect, .timestamp = scene.now.wall});
}

TEST(StmRecord, StrangersGetHalfAndMakeRoomForEachOther) {
  Scene scene(Four());
  for (PeerId peer = 10; peer < 15; ++peer) EXPECT_EQ(Stranger(scene, peer), Outcome::kApplied);
  EXPECT_EQ(scene.stm.records(), 2u);
  EXPECT_EQ(scene.stm.counters().records_displaced, 3u);
  EXPECT_TRUE(scene.stm.Explain(scene.now, 13).recorded);  // the last two
  EXPECT_TRUE(scene.stm.Explain(scene.now, 14).recorded);
}

TEST(StmRecord, StrangersThatAreSuspectMakeNoRoom) {
  Scene scene(Four());
  scene.key = {};
  for (const PeerId peer : {10u, 11u}) {
    scene.Apply({.peer = peer, .observer = 7, .signal = Signal::kDead, .timestamp = scene.now.wall});
  }
  EXPECT_EQ(Stranger(scene, 12), Outcome::kFull);
  EXPECT_EQ(scene.Suspect(12), Outcome::kApplied);
}

TEST(StmRecord, ASignalOfOurOwnOrAMembersWordMakesNoStranger) {
  for (const bool rumour : {false, true}) {
    Scene scene(Four());
    for (PeerId peer = 10; peer < 12; ++peer) {
      Stranger(scene, peer);
      if (rumour) scene.stm.Rumour(scene.now, peer, kKey, {8}, scene.terms, scene.changes);
      if (!rumour) scene.Suspect(peer);
    }
    for (PeerId peer = 20; peer < 22; ++peer) EXPECT_EQ(Stranger(scene, peer), Outcome::kApplied);
    EXPECT_EQ(scene.stm.records(), 4u) << rumour;
    EXPECT_EQ(scene.Suspect(30), Outcome::kApplied);  // a stranger goes first, though the others are older
    EXPECT_TRUE(scene.stm.Explain(scene.now, 10).recorded);
    EXPECT_FALSE(scene.stm.Explain(scene.now, 20).recorded);
  }
}

TEST(StmRecord, WhenAllAreDoubtedOneMoreIsRefused) {
  Scene scene(Four());
  for (PeerId peer = 10; peer < 14; ++peer) scene.MakeSuspect(peer);
  EXPECT_EQ(scene.Suspect(20), Outcome::kFull);
  EXPECT_EQ(scene.Healthy(20), Outcome::kNoEffect);
  scene.stm.Rumour(scene.now, 20, kKey, {8}, scene.terms, scene.changes);
  scene.Left(20);
  EXPECT_EQ(scene.stm.count(Outcome::kFull), 3u);
  EXPECT_EQ(scene.Changes(), "");
  scene.stm.Forget(10);
  EXPECT_EQ(scene.Suspect(20), Outcome::kApplied);
}

// ---- What is counted ----

TEST(StmCounts, FlapsAreReturnsFromSuspectToActive) {
  Scene scene(Scene::Mesh());
  for (std::uint32_t i = 1; i <= 3; ++i) {
    scene.MakeSuspect();
    scene.Batch("hh");
    EXPECT_EQ(scene.stm.Explain(scene.now, kPeer).flaps, i);
  }
  scene.MakeSuspect();
  scene.Refute(kHigher);
  EXPECT_EQ(scene.stm.counters().flaps, 4u);
  scene.MakeInactive();
  scene.At(hours(1));
  scene.Healthy();
  EXPECT_EQ(scene.stm.counters().flaps, 4u);  // that is a recovery
  scene.Healthy(2);
  scene.Suspect(2);
  scene.Healthy(2);
  EXPECT_EQ(scene.stm.counters().flaps, 4u);  // it was never SUSPECT
}

TEST(StmCounts, EveryOutcomeOnce) {
  StmConfig config = Scene::Mesh();
  config.max_records = 2;
  Scene scene(config);
  const Observation first{.peer = kPeer,
                          .observer = 7,
                          .signal = Signal::kSuspect,
                          .epoch = 5,
                          .sequence = 9,
                          .nonce = 9,
                          .timestamp = Scene::kWall};
  Observation other = first;
  other.nonce = 10;
  std::vector<Observation> inputs{{}, first, first, other, first, first, first};
  inputs[4].timestamp = Scene::kWall + hours(1);
  inputs[5].timestamp = Scene::kWall - hours(1);
  inputs[6].epoch = 4;
  for (const Observation& input : inputs) scene.Apply(input);
  other.nonce = other.sequence = 8;
  scene.Apply(other);
  scene.Healthy(2);
  scene.Rumour(7, kOlder);
  scene.Rumour(kNoPeer);
  scene.Left();
  scene.Suspect();
  scene.MakeSuspect(2);
  scene.Suspect(3);
  std::uint64_t inputs_in_all = 0;
  for (std::size_t i = 0; i < kOutcomes; ++i) {
    const auto outcome = static_cast<Outcome>(i);
    EXPECT_EQ(scene.stm.count(outcome), outcome == Outcome::kApplied ? 3u : 1u) << Name(outcome);
    inputs_in_all += scene.stm.count(outcome);
  }
  EXPECT_EQ(inputs_in_all, 15u);
}

TEST(StmCounts, WhoHadToGoForWhom) {
  StmConfig config = Scene::Mesh();
  config.max_records = 4;
  config.demote_threshold = 1000;
  Scene scene(config);
  for (PeerId peer = 2; peer <= 6; ++peer) scene.Suspect(peer);
  EXPECT_EQ(scene.stm.counters().records_displaced, 1u);
  EXPECT_EQ(scene.stm.records(), 4u);
  for (PeerId observer = 500; observer < 519; ++observer) {
    scene.Apply({.peer = 6, .observer = observer, .signal = Signal::kSuspect});
  }
  EXPECT_EQ(scene.stm.counters().observers_displaced, 4u);  // 16 of 20
}

TEST(StmCounts, AreToldByStableNames) {
  Scene scene(Scene::Mesh());
  scene.MakeSuspect();
  scene.Batch("hh");
  std::vector<std::pair<std::string, std::uint64_t>> told;
  scene.stm.counters().ForEach([&told](std::string_view prefix, std::string_view name, std::uint64_t value) {
    told.emplace_back(std::string(prefix) + std::string(name), value);
  });
  EXPECT_EQ(told.size(), kOutcomes + 6);
  EXPECT_EQ(told[0], (std::pair<std::string, std::uint64_t>("stm_input_applied", 3)));
  EXPECT_EQ(told[kOutcomes], (std::pair<std::string, std::uint64_t>("stm_records_displaced", 0)));
  EXPECT_EQ(told[kOutcomes + 4], (std::pair<std::string, std::uint64_t>("stm_flaps", 1)));
  std::set<std::string> names;
  for (const auto& each : told) names.insert(each.first);
  EXPECT_EQ(names.size(), told.size());
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
  int second = 0;
  const auto churn = [&](int rounds) {
    for (int round = 0; round < rounds; ++round) {
      scene.At(seconds(second += 100));
      for (PeerId peer = 0; peer < 20; ++peer) {
        scene.Dead(peer);
        scene.stm.Rumour(scene.now, peer, kKey, {200 + peer}, scene.terms, scene.changes);
        scene.stm.Refute(scene.now, peer, kHigher, scene.changes);
      }
      scene.At(seconds(second += 100));
      scene.Advance();
      EXPECT_EQ(scene.stm.records(), 0u);
      scene.changes.clear();
    }
  };
  churn(100);
  const std::uint64_t before = allocations;
  churn(1000);
  EXPECT_EQ(allocations, before);
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
