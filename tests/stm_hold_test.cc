// How a hold ends: its time, confirmations, refused ports, and its start anew.
#include <algorithm>
#include <cmath>
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
constexpr LifeKey kHigher{5, 4};
constexpr nanoseconds kOne{1};

constexpr Duration kMin = milliseconds(2500);
constexpr Duration kMax = seconds(10);
constexpr Duration kMargin = seconds(1);

// Of a cluster of n members: K_eff = min(3, n - 2).
HoldTerms Of(std::uint32_t n) {
  return {.min = kMin, .max = kMax, .confirmers = std::min(3u, n - 2), .margin = kMargin, .refused = seconds(1)};
}

// What is left of kMax after c confirmations among k, with 64 bits of mantissa.
Duration Shrunk(std::uint32_t c, std::uint32_t k) {
  if (k == 0) return kMax;
  const auto span = static_cast<long double>((kMax - kMin).count());
  return kMax - Duration(std::llround(span * std::log(std::min(c, k) + 1.0L) / std::log(k + 1.0L)));
}

std::vector<PeerId> Peers(const std::vector<StateChange>& changes) {
  std::vector<PeerId> peers;
  for (const StateChange& change : changes) peers.push_back(change.peer);
  return peers;
}

// ---- The end ----

TEST(StmHold, EndsExactlyWhenItIsDueNotOneNanosecondBefore) {
  for (const HoldTerms& terms : {kMeshHold, kPairHold, Of(5)}) {
    Scene scene(Scene::Mesh());
    scene.terms = terms;
    scene.MakeSuspect();
    EXPECT_EQ(scene.NextDeadline(), terms.max);
    scene.At(terms.max - kOne);
    scene.Advance();
    EXPECT_EQ(scene.Changes(), "");
    scene.At(terms.max);
    scene.Advance();
    EXPECT_EQ(scene.Changes(), "SUSPECT>INACTIVE confirm_dead_hold_elapsed");
    EXPECT_EQ(scene.NextDeadline(), Scene::kNone);
    EXPECT_EQ(scene.stm.HoldOf(kPeer), std::nullopt);
  }
}

TEST(StmHold, ALateAdvanceCommitsAtItsOwnTime) {
  Scene scene(Scene::Mesh());
  scene.MakeSuspect();
  scene.At(seconds(90) + kOne);
  scene.Advance();
  ASSERT_EQ(scene.changes.size(), 1u);
  EXPECT_EQ(scene.changes[0].at, Scene::kStart + seconds(90) + kOne);
  EXPECT_EQ(scene.changes[0].lasted, seconds(90) + kOne);
}

TEST(StmHold, OnlyAdvanceConfirmsADeath) {
  Scene scene(Scene::Mesh());
  scene.MakeSuspect();
  scene.At(hours(1));
  scene.Batch("sd");
  EXPECT_EQ(scene.state(), State::kSuspect);
  scene.Healthy();  // an answer that was waiting is handled before the time that ran out
  scene.Advance();
  EXPECT_EQ(scene.state(), State::kSuspect);
}

TEST(StmHold, OfUnlimitedLengthNeverEnds) {
  Scene scene(Scene::Swim());
  scene.terms = {.min = Duration::max(), .max = Duration::max(), .confirmers = 1, .margin = Duration::max()};
  scene.Rumour(7);
  EXPECT_EQ(scene.stm.NextDeadline(), kNever);
  scene.now.boot = kNever;
  scene.Advance();
  EXPECT_EQ(scene.state(), State::kSuspect);
}

TEST(StmHold, OfNoLengthEndsWithTheNextAdvance) {
  Scene scene(Scene::Mesh());
  scene.terms = {};
  scene.Dead();
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT demotion_threshold");  // at most one transition for an input
  EXPECT_EQ(scene.NextDeadline(), Duration::zero());
  scene.Advance();
  EXPECT_EQ(scene.Changes(), "SUSPECT>INACTIVE confirm_dead_hold_elapsed");
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

// ---- Confirmations ----

TEST(StmHold, OfAHearerShrinksWithEachConfirmerAndKeepsItsMargin) {
  for (std::uint32_t n = 2; n <= 7; ++n) {
    Scene scene(Scene::Swim());
    scene.terms = Of(n);
    for (std::uint32_t named = 1; named <= 6; ++named) {
      EXPECT_EQ(scene.Rumour(10 + named), Outcome::kApplied);
      EXPECT_EQ(scene.HoldEnd(), Shrunk(named - 1, scene.terms.confirmers) + kMargin) << n << " " << named;
      EXPECT_EQ(scene.NextDeadline(), scene.HoldEnd());
    }
    EXPECT_TRUE(scene.EndsExactlyAt(Shrunk(5, scene.terms.confirmers) + kMargin)) << n;
    EXPECT_EQ(scene.Changes(), "SUSPECT>INACTIVE confirm_dead_hold_elapsed");
  }
}

TEST(StmHold, OfAnAccuserShrinksWithEachConfirmerAndHasNoMargin) {
  for (std::uint32_t n = 2; n <= 7; ++n) {
    Scene scene(Scene::Swim());
    scene.terms = Of(n);
    scene.MakeSuspect();
    EXPECT_EQ(scene.HoldEnd(), kMax);
    for (std::uint32_t c = 1; c <= 5; ++c) {
      scene.Rumour(10 + c);
      EXPECT_EQ(scene.HoldEnd(), Shrunk(c, scene.terms.confirmers)) << n << " " << c;
    }
    EXPECT_TRUE(scene.EndsExactlyAt(Shrunk(5, scene.terms.confirmers))) << n;
  }
}

TEST(StmHold, OfAHearerThatBecomesAnAccuserLosesItsMarginAndIsConfirmed) {
  for (std::uint32_t n = 2; n <= 5; ++n) {
    for (const Signal signal : {Signal::kSuspect, Signal::kDead}) {
      Scene scene(Scene::Swim());
      scene.terms = Of(n);
      scene.Rumour(11);
      EXPECT_EQ(scene.HoldEnd(), kMax + kMargin);
      scene.At(seconds(1));
      // As much as would have begun it: demote_threshold kSuspect, or one kDead.
      for (int i = 1; i < 5 && signal == Signal::kSuspect; ++i) {
        scene.Suspect();
        EXPECT_EQ(scene.HoldEnd(), kMax + kMargin) << n;
      }
      scene.Say(signal);
      EXPECT_EQ(scene.HoldEnd(), Shrunk(1, scene.terms.confirmers)) << n;
      for (int i = 0; i < 10; ++i) scene.Say(signal);  // only once
      EXPECT_EQ(scene.HoldEnd(), Shrunk(1, scene.terms.confirmers)) << n;
    }
  }
}

TEST(StmHold, AnObservationFromOutsideConfirmsNone) {
  Scene scene(Scene::Swim());
  scene.terms = Of(5);
  scene.Rumour(11);
  for (PeerId observer = 20; observer < 25; ++observer) scene.Outside(observer, Signal::kSuspect);
  EXPECT_EQ(scene.HoldEnd(), kMax + kMargin);
}

TEST(StmHold, TheSameWitnessConfirmsOnce) {
  Scene scene(Scene::Swim());
  scene.terms = Of(5);
  scene.MakeSuspect();
  EXPECT_EQ(scene.Rumour(11), Outcome::kApplied);
  EXPECT_EQ(scene.Rumour(11), Outcome::kDuplicate);
  EXPECT_EQ(scene.HoldEnd(), Shrunk(1, 3));
}

TEST(StmHold, AConfirmationAfterTheShorterEndEndsItNowNotEarlier) {
  Scene scene(Scene::Swim());
  scene.terms = Of(3);
  scene.MakeSuspect();
  scene.At(seconds(7));
  scene.Rumour(11);
  EXPECT_EQ(scene.Changes(), "");
  EXPECT_EQ(scene.HoldEnd(), seconds(7));
  scene.Advance();
  EXPECT_EQ(scene.Changes(), "SUSPECT>INACTIVE confirm_dead_hold_elapsed");
}

TEST(StmHold, TheRumoursThatCommittedItAreItsFirstWitnesses) {
  Scene scene(Scene::Mesh());
  scene.terms = Of(5);
  scene.Rumour(11);
  scene.At(seconds(20));
  scene.Rumour(12);
  scene.Rumour(13);
  EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT gossip");
  EXPECT_EQ(scene.HoldEnd(), seconds(20) + Shrunk(2, 3) + kMargin);
}

TEST(StmHold, TheMeshIsFixedWhoeverConfirms) {
  for (const HoldTerms& terms : {kMeshHold, kPairHold}) {
    Scene scene(Scene::Mesh());
    scene.terms = terms;
    scene.MakeSuspect();
    for (PeerId observer = 11; observer < 18; ++observer) scene.Rumour(observer, kKey, true);
    scene.Refused();
    EXPECT_EQ(scene.HoldEnd(), terms.max);
  }
}

// ---- Refused ports ----

TEST(StmRefused, AloneShortensNothing) {
  Scene scene(Scene::Swim());
  scene.terms = Of(3);
  EXPECT_EQ(scene.Refused(), Outcome::kApplied);
  EXPECT_EQ(scene.HoldEnd(), kMax);
  Scene hearer(Scene::Swim());
  hearer.terms = Of(3);
  hearer.Rumour(11, kKey, true);
  EXPECT_EQ(hearer.HoldEnd(), kMax + kMargin);
}

TEST(StmRefused, OfAllConfirmersAndOneMoreEndsTheHoldOneTermAfterItsStart) {
  for (std::uint32_t n = 3; n <= 6; ++n) {
    const std::uint32_t needed = Of(n).confirmers + 1;
    Scene scene(Scene::Swim());
    scene.terms = Of(n);
    for (std::uint32_t named = 1; named < needed; ++named) scene.Rumour(10 + named, kKey, true);
    scene.Rumour(99);  // one without the mark makes no difference
    EXPECT_GE(scene.HoldEnd(), kMin) << n;
    scene.Rumour(50, kKey, true);
    EXPECT_EQ(scene.HoldEnd(), seconds(1)) << n;
    EXPECT_TRUE(scene.EndsExactlyAt(seconds(1)));
    EXPECT_EQ(scene.Changes(), "SUSPECT>INACTIVE refused");
  }
}

TEST(StmRefused, OfOneObserverByTwoWaysIsOne) {
  Scene scene(Scene::Swim());
  scene.terms = Of(3);
  scene.Apply({.peer = kPeer,
               .observer = 11,
               .signal = Signal::kDead,
               .reason = Reason::kRefused,
               .timestamp = scene.now.wall});
  scene.Rumour(11, kKey, true);
  EXPECT_GE(scene.HoldEnd(), kMin);
}

TEST(StmRefused, OurOwnCountsAmongThem) {
  Scene scene(Scene::Swim());
  scene.terms = Of(3);
  scene.Refused();
  scene.Rumour(11, kKey, true);
  EXPECT_EQ(scene.HoldEnd(), seconds(1));
  Scene later(Scene::Swim());
  later.terms = Of(3);
  later.Rumour(11, kKey, true);
  later.At(milliseconds(500));
  EXPECT_EQ(later.Refused(), Outcome::kApplied);
  EXPECT_EQ(later.HoldEnd(), seconds(1));
}

TEST(StmRefused, OurOwnCountsAlsoAfterATimeout) {
  Scene scene(Scene::Swim());
  scene.terms = Of(3);
  scene.MakeSuspect();
  scene.Rumour(11, kKey, true);
  EXPECT_EQ(scene.HoldEnd(), kMin);
  EXPECT_EQ(scene.Refused(), Outcome::kApplied);
  EXPECT_EQ(scene.HoldEnd(), seconds(1));
  scene.Refused();
  EXPECT_EQ(scene.HoldEnd(), seconds(1));
}

// The kSuspect that said so need not be the one that makes it our own evidence.
TEST(StmRefused, OurOwnCountsWhicheverSignalSaidIt) {
  Scene scene(Scene::Swim());
  scene.terms = Of(3);
  scene.Rumour(11, kKey, true);
  scene.Apply({.peer = Scene::kPeer, .observer = Scene::kUs, .signal = Signal::kSuspect, .reason = Reason::kRefused});
  EXPECT_EQ(scene.HoldEnd(), kMax + kMargin);
  scene.Batch("ssss");
  EXPECT_EQ(scene.HoldEnd(), seconds(1));
}

TEST(StmRefused, NotBeforeTheLastOfThem) {
  for (const auto& [at, end] :
       {std::pair(seconds(1) - kOne, nanoseconds(seconds(1))),
        std::pair(nanoseconds(seconds(1)), nanoseconds(seconds(1))), std::pair(seconds(1) + kOne, seconds(1) + kOne)}) {
    Scene scene(Scene::Swim());
    scene.terms = Of(3);
    scene.Rumour(11, kKey, true);
    scene.At(at);
    EXPECT_EQ(scene.Rumour(12, kKey, true), Outcome::kApplied);
    EXPECT_EQ(scene.state(), State::kSuspect);  // Advance alone commits
    EXPECT_EQ(scene.HoldEnd(), end);
    scene.At(seconds(2));
    scene.Rumour(13, kKey, true);  // one more than are needed changes nothing
    scene.Advance();
    EXPECT_EQ(scene.Changes(), "ACTIVE>SUSPECT gossip, SUSPECT>INACTIVE refused");
  }
}

TEST(StmRefused, AMarkThatFollowsTheRumourCounts) {
  Scene scene(Scene::Swim());
  scene.terms = Of(3);
  scene.Rumour(11);
  scene.Rumour(12);
  EXPECT_EQ(scene.HoldEnd(), kMin + kMargin);
  EXPECT_EQ(scene.Rumour(11, kKey, true), Outcome::kApplied);
  EXPECT_EQ(scene.HoldEnd(), kMin + kMargin);
  EXPECT_EQ(scene.Rumour(12, kKey, true), Outcome::kApplied);
  EXPECT_EQ(scene.HoldEnd(), seconds(1));
}

TEST(StmRefused, WithoutATermOrWithoutConfirmersIsOnlyTold) {
  Scene scene(Scene::Swim());
  scene.terms = Of(3);
  scene.terms.refused = {};
  Scene pair(Scene::Swim());
  pair.terms = Of(2);
  for (Scene* each : {&scene, &pair}) {
    each->Refused();
    for (PeerId observer = 11; observer < 15; ++observer) each->Rumour(observer, kKey, true);
    EXPECT_EQ(each->stm.Explain(each->now, kPeer).hold->refusals, 5u);
  }
  EXPECT_EQ(scene.HoldEnd(), kMin);
  EXPECT_EQ(pair.HoldEnd(), kMax);
}

TEST(StmRefused, NeverLengthensAHold) {
  Scene scene(Scene::Swim());
  scene.terms = Of(3);
  scene.terms.refused = seconds(60);
  scene.Refused();
  scene.Rumour(11, kKey, true);
  EXPECT_EQ(scene.HoldEnd(), kMin);
  EXPECT_TRUE(scene.EndsExactlyAt(kMin));
  EXPECT_EQ(scene.Changes(), "SUSPECT>INACTIVE confirm_dead_hold_elapsed");
}

TEST(StmRefused, AMarkTakenBackGivesTheTimeBack) {
  Scene scene(Scene::Swim());
  scene.terms = Of(3);
  scene.Refused();
  scene.Rumour(11, kKey, true);
  EXPECT_EQ(scene.HoldEnd(), seconds(1));
  scene.Left(11);
  EXPECT_EQ(scene.HoldEnd(), kMax);
  scene.At(seconds(2));
  scene.Rumour(12, kKey, true);
  EXPECT_EQ(scene.HoldEnd(), seconds(2));  // when the new last of them was heard of
}

// ---- Its start anew ----

TEST(StmHold, StartedAnewAfterACancelKeepsItsTermsAndDropsItsConfirmers) {
  Scene scene(Scene::Swim());
  scene.terms = Of(5);
  scene.MakeSuspect();
  scene.Rumour(11, kKey, true);
  scene.Rumour(12, kKey, true);
  scene.terms = kMeshHold;
  scene.At(seconds(2));
  scene.Healthy();
  scene.At(seconds(3));
  scene.Suspect();
  EXPECT_EQ(scene.HoldEnd(), seconds(3) + kMax);
  EXPECT_EQ(scene.Rumour(11, kKey, true), Outcome::kDuplicate);  // was said before the cancel
  EXPECT_EQ(scene.HoldEnd(), seconds(3) + kMax);
  scene.Rumour(13);
  EXPECT_EQ(scene.HoldEnd(), seconds(3) + Shrunk(1, 3));
}

TEST(StmHold, StartedAnewAtAHigherKeyKeepsItsTermsAndDropsItsConfirmers) {
  Scene scene(Scene::Swim());
  scene.terms = Of(5);
  scene.MakeSuspect();
  scene.Rumour(11);
  scene.Rumour(12);
  scene.terms = kMeshHold;
  scene.At(seconds(3));
  scene.Rumour(11, kHigher);
  EXPECT_EQ(scene.HoldEnd(), seconds(3) + kMax + kMargin);  // and what we had seen ourselves was of the key before
  scene.key = kHigher;
  scene.Dead();
  EXPECT_EQ(scene.HoldEnd(), seconds(3) + Shrunk(1, 3));
}

}  // namespace
}  // namespace nekton
