// Why a peer is in its state: the value and the words.
#include "stm/explanation.h"

#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/stm_scene.h"

namespace nekton {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

constexpr PeerId kPeer = Scene::kPeer;
constexpr HoldTerms kShrinking{
    .min = milliseconds(2500), .max = seconds(10), .confirmers = 3, .margin = seconds(1), .refused = seconds(1)};

Explanation Explain(const Scene& scene) { return scene.stm.Explain(scene.now, kPeer); }

std::string Words(const Scene& scene) {
  return Describe(Explain(scene), [](PeerId peer) { return "p" + std::to_string(peer); });
}

TEST(ExplanationTest, AHealthyPeerHasNothingHeldAgainstIt) {
  const Scene scene(Scene::Mesh());
  const Explanation why = Explain(scene);
  EXPECT_EQ(why.peer, kPeer);
  EXPECT_EQ(why.state, State::kActive);
  EXPECT_FALSE(why.recorded);
  EXPECT_EQ(why.count, 0u);
  EXPECT_EQ(Words(scene), "ACTIVE: nothing is held against it");
}

TEST(ExplanationTest, ADoubtedPeerShowsItsCountAndWhoSpoke) {
  Scene scene(Scene::Mesh());
  scene.Suspect();
  scene.At(seconds(2));
  scene.Rumour(7);
  scene.At(seconds(5));
  const Explanation why = Explain(scene);
  EXPECT_TRUE(why.recorded);
  EXPECT_EQ(why.count, 2u);
  EXPECT_EQ(why.threshold, 3u);
  EXPECT_FALSE(why.hold.has_value());
  ASSERT_EQ(why.witnesses.size(), 1u);
  EXPECT_EQ(why.witnesses[0].observer, 7u);
  ASSERT_EQ(why.recent.size(), 2u);
  EXPECT_EQ(why.recent[0].kind, Testimony::Kind::kRumour);
  EXPECT_EQ(why.at - why.recent[0].at, seconds(3));
  EXPECT_EQ(why.recent[1].observer, Scene::kUs);
  EXPECT_EQ(why.at - why.recent[1].at, seconds(5));
  EXPECT_THAT(Words(scene), HasSubstr("SUSPECT signals: 2 of 3"));
  EXPECT_THAT(Words(scene), HasSubstr("against it: p7 (says suspect)"));
  EXPECT_THAT(Words(scene), HasSubstr("3.000 s ago: rumour by p7"));
}

TEST(ExplanationTest, ASuspectShowsWhatIsLeftOfItsHoldAndWhoConfirms) {
  Scene scene(Scene::Swim());
  scene.terms = kShrinking;
  scene.Rumour(7);
  scene.At(seconds(1));
  scene.stm.Rumour(scene.now, kPeer, Scene::kKey, {8, true}, kShrinking, scene.changes);
  const Explanation why = Explain(scene);
  EXPECT_EQ(why.transition, Transition::kGossip);
  EXPECT_EQ(why.observer, 7u);
  EXPECT_EQ(why.since, seconds(1));
  ASSERT_TRUE(why.hold.has_value());
  EXPECT_TRUE(why.hold->running);
  EXPECT_FALSE(why.hold->own);
  EXPECT_EQ(why.hold->left, scene.HoldEnd() - seconds(1));
  EXPECT_EQ(why.hold->left, milliseconds(6250));  // one of three confirmations takes half of what can be saved
  EXPECT_EQ(why.hold->confirmations, 1u);
  EXPECT_EQ(why.hold->confirmers, 3u);
  EXPECT_EQ(why.hold->refusals, 1u);
  EXPECT_THAT(Words(scene), HasSubstr("INACTIVE in 6.250 s; only heard of, 1 confirmation of 3"));
  EXPECT_THAT(Words(scene), HasSubstr("its port refused 1 observer"));
  EXPECT_THAT(Words(scene), HasSubstr("p8 (says suspect, refused)"));
}

TEST(ExplanationTest, MoreConfirmationsThanShortenTheHoldAreToldAsSuch) {
  Scene scene(Scene::Swim());
  scene.terms = kShrinking;
  for (PeerId observer = 7; observer < 7 + 6; ++observer) scene.Rumour(observer);
  const Explanation why = Explain(scene);
  ASSERT_TRUE(why.hold.has_value());
  ASSERT_GT(why.hold->confirmations, why.hold->confirmers);
  EXPECT_THAT(Words(scene), HasSubstr("5 confirmations, of which 3 shorten the hold"));
}

TEST(ExplanationTest, ACancelledHoldSaysSo) {
  Scene scene(Scene::Swim());
  scene.terms = kShrinking;
  scene.Rumour(7);
  scene.Healthy();
  const Explanation why = Explain(scene);
  ASSERT_TRUE(why.hold.has_value());
  EXPECT_FALSE(why.hold->running);
  EXPECT_EQ(why.hold->left, Duration::zero());
  EXPECT_EQ(why.count, 1u);
  EXPECT_EQ(why.threshold, 2u);
  EXPECT_THAT(Words(scene), HasSubstr("hold cancelled"));
  EXPECT_THAT(Words(scene), HasSubstr("counts no more"));
}

TEST(ExplanationTest, AVerdictWithASecondWitnessCondemns) {
  Scene scene(Scene::Swim());
  scene.terms = kShrinking;
  scene.Rumour(7);
  scene.Verdict(7);
  EXPECT_FALSE(Explain(scene).hold->condemned);
  scene.Rumour(8);
  EXPECT_TRUE(Explain(scene).hold->condemned);
  EXPECT_EQ(Explain(scene).hold->left, milliseconds(2500));
  EXPECT_THAT(Words(scene), HasSubstr("p7 (says dead)"));
  EXPECT_THAT(Words(scene), HasSubstr("others hold it dead"));
}

TEST(ExplanationTest, AHoldAfterAPauseAwaitsASignal) {
  Scene scene(Scene::Mesh());
  scene.MakeSuspect();
  scene.At(seconds(5));
  scene.stm.Paused(scene.now, seconds(3));
  EXPECT_TRUE(Explain(scene).hold->awaits_signal);
  EXPECT_THAT(Words(scene), HasSubstr("not before one more SUSPECT signal of ours"));
}

TEST(ExplanationTest, TheDeadShowWhatBringsThemBack) {
  Scene mesh(Scene::Mesh());
  mesh.MakeInactive();
  mesh.now.boot += seconds(30);
  EXPECT_EQ(Explain(mesh).recovery_left, seconds(60));
  EXPECT_THAT(Words(mesh), HasSubstr("INACTIVE for 30.000 s: its hold ran out"));
  EXPECT_THAT(Words(mesh), HasSubstr("HEALTHY signals: 0 of 1 that would make it ACTIVE, not before 60.000 s"));
  Scene swim(Scene::Swim());
  swim.MakeInactive();
  EXPECT_THAT(Words(swim), HasSubstr("by its own refutation only"));
  Scene pair(kPairStm);
  pair.MakeInactive();
  EXPECT_THAT(Words(pair), HasSubstr("by a fresh join only"));
  Scene buried(Scene::Swim());
  buried.stm.Bury(buried.now, kPeer, Scene::kKey);
  EXPECT_THAT(Words(buried), HasSubstr("it was dead when we first heard of it"));
}

TEST(ExplanationTest, ADepartedPeerSaysSo) {
  Scene scene(Scene::Swim());
  scene.stm.Left(scene.now, kPeer, Scene::kKey, scene.changes);
  EXPECT_TRUE(Explain(scene).departed);
  EXPECT_THAT(Words(scene), HasSubstr("INACTIVE, departed for 0.000 s: it left"));
}

TEST(ExplanationTest, FlapsAreCountedForAsLongAsTheyGoOn) {
  Scene scene(Scene::Swim());
  for (std::uint64_t i = 0; i < 5; ++i) {
    scene.At(seconds(80) * static_cast<int>(i));
    const LifeKey key{Scene::kKey.generation, Scene::kKey.incarnation + i};
    scene.Rumour(7, key);
    scene.Refute({key.generation, key.incarnation + 1});
    EXPECT_EQ(Explain(scene).flaps, i + 1);
  }
  EXPECT_EQ(scene.stm.counters().flaps, 5u);
  EXPECT_THAT(Words(scene), HasSubstr("returned from SUSPECT 5 times lately"));
  scene.now.boot = scene.stm.NextDeadline();
  scene.Advance();
  EXPECT_EQ(Explain(scene).flaps, 0u);
}

TEST(ExplanationTest, OnlyTheLastFewWordsAreKeptTheNewestFirst) {
  StmConfig config = Scene::Mesh();
  config.demote_threshold = 100;
  Scene scene(config);
  for (int i = 1; i <= 9; ++i) {
    scene.At(seconds(i));
    scene.Suspect();
  }
  const Explanation why = Explain(scene);
  ASSERT_EQ(why.recent.size(), 4u);
  for (std::size_t i = 0; i < why.recent.size(); ++i) {
    EXPECT_EQ(why.at - why.recent[i].at, seconds(i));
  }
  EXPECT_THAT(Words(scene), Not(HasSubstr("4.000 s ago")));
}

}  // namespace
}  // namespace nekton
