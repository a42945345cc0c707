// The leases of a home: who may serve what, until when.
#include "lease/home_leases.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;

constexpr LeaseTerms kTerms{.read = 120s, .write = 6s, .drift_ppm = 0};

Tick At(Duration time) { return {Instant(time), RawInstant(time), WallTime(time)}; }

// The authority acknowledges at once a ping that is sent now.
bool RenewAt(HomeLeases& leases, Duration time, std::uint64_t epoch, std::uint64_t settled) {
  return leases.Renew(At(time), leases.Stamp(At(time)), epoch, settled);
}

View ViewOf(std::uint64_t epoch, std::vector<ViewMember> members, bool ends_moves = false) {
  std::array<std::byte, 32> seed{};
  return SignView(SigningKey(seed), "group", epoch, std::move(members), ends_moves);
}
ViewMember M(std::string name, std::uint64_t generation = 1) { return {std::move(name), generation, {}}; }

// An object whose home is `home` in the view.
ObjectId HomedAt(const View& view, std::string_view home, int skip = 0) {
  const Homes homes(view);
  for (int i = 0;; ++i) {
    const ObjectId object = ObjectNamed(absl::StrCat("object ", i));
    if (homes.HomeOf(object) == home && skip-- == 0) return object;
  }
}

struct Alpha {
  HomeLeases leases{"alpha", 1, kTerms};
  View view = ViewOf(2, {M("alpha"), M("beta")});
  Alpha() {
    leases.SetAuthority(true);
    leases.Install(view);
    RenewAt(leases, 10s, 2, 2);
  }
};

TEST(HomeLeasesTest, BeforeAnyViewNothingIsOurs) {
  HomeLeases leases("alpha", 1, kTerms);
  leases.SetAuthority(true);
  EXPECT_EQ(leases.Find(ObjectNamed("x")).state, HomeState::kNotHome);
  EXPECT_FALSE(RenewAt(leases, 0s, 0, 0));
  EXPECT_FALSE(leases.MayRead(At(0s)));
  EXPECT_FALSE(leases.MayCommit(At(0s)));
}

TEST(HomeLeasesTest, AViewAloneGivesNoLease) {
  HomeLeases leases("alpha", 1, kTerms);
  leases.SetAuthority(true);
  leases.Install(ViewOf(1, {M("alpha")}));
  EXPECT_FALSE(leases.MayRead(At(0s)));
  EXPECT_FALSE(leases.MayCommit(At(0s)));
}

TEST(HomeLeasesTest, BothLeasesEndAtTheirInstantsExactly) {
  Alpha a;
  EXPECT_TRUE(a.leases.MayCommit(At(16s)));
  EXPECT_FALSE(a.leases.MayCommit(At(16s + 1ns)));
  EXPECT_EQ(a.leases.WriteLeft(At(15s)), 1s);
  EXPECT_EQ(a.leases.WriteLeft(At(17s)), 0s);
  EXPECT_TRUE(a.leases.MayRead(At(130s)));
  EXPECT_FALSE(a.leases.MayRead(At(130s + 1ns)));
  EXPECT_EQ(a.leases.ReadLeft(At(100s)), 30s);
}

TEST(HomeLeasesTest, TheDriftMarginShortensThem) {
  HomeLeases leases("alpha", 1, LeaseTerms{});
  leases.SetAuthority(true);
  leases.Install(ViewOf(1, {M("alpha")}));
  RenewAt(leases, 0s, 1, 1);
  EXPECT_TRUE(leases.MayCommit(At(LeaseTerms{}.write_usable())));
  EXPECT_FALSE(leases.MayCommit(At(LeaseTerms{}.write_usable() + 1ns)));
  EXPECT_LT(LeaseTerms{}.write_usable(), 5'900ms);
}

// A pause stops neither: suspend stops the raw clock alone, slewing slows boot time alone.
TEST(HomeLeasesTest, TheClockThatRanLongerCounts) {
  Alpha a;
  EXPECT_FALSE(a.leases.MayCommit({Instant(17s), RawInstant(10s), {}}));
  EXPECT_FALSE(a.leases.MayCommit({Instant(10s), RawInstant(17s), {}}));
  // 4 s in which boot time was slewed to 3.6, then 2.1 s of sleep.
  a.leases.Advance({Instant(13'600ms), RawInstant(14s), {}});
  EXPECT_FALSE(a.leases.MayCommit({Instant(15'700ms), RawInstant(14s), {}}));
}

TEST(HomeLeasesTest, ARenewalCountsFromTheSendingOfThePing) {
  Alpha a;
  const Duration early = a.leases.Stamp(At(12s));
  const Duration late = a.leases.Stamp(At(14s));
  EXPECT_TRUE(a.leases.Renew(At(15s), late, 2, 2));
  EXPECT_TRUE(a.leases.MayCommit(At(20s)));
  // An answer that waited in a socket acknowledges an older ping.
  EXPECT_FALSE(a.leases.Renew(At(16s), early, 2, 2));
  EXPECT_TRUE(a.leases.MayCommit(At(20s)));
  EXPECT_FALSE(a.leases.MayCommit(At(20s + 1ns)));
}

TEST(HomeLeasesTest, AnAnswerUnderAnotherViewRenewsNothing) {
  Alpha a;
  EXPECT_FALSE(RenewAt(a.leases, 14s, 1, 1));
  EXPECT_FALSE(RenewAt(a.leases, 14s, 3, 3));
  EXPECT_FALSE(a.leases.MayCommit(At(17s)));
}

TEST(HomeLeasesTest, WithoutTheAuthorityReadsGoOnAndCommitsDoNot) {
  Alpha a;
  a.leases.SetAuthority(false);
  EXPECT_FALSE(a.leases.MayCommit(At(11s)));
  EXPECT_EQ(a.leases.WriteLeft(At(11s)), 0s);
  EXPECT_TRUE(a.leases.MayRead(At(11s)));
}

TEST(HomeLeasesTest, ANewcomerCommitsNothingBeforeItsViewIsSettled) {
  HomeLeases beta("beta", 1, kTerms);
  beta.SetAuthority(true);
  beta.Install(ViewOf(5, {M("alpha"), M("beta")}));
  EXPECT_TRUE(RenewAt(beta, 0s, 5, 4));
  EXPECT_FALSE(beta.MayCommit(At(1s)));
  EXPECT_TRUE(beta.MayRead(At(1s)));
  EXPECT_TRUE(RenewAt(beta, 2s, 5, 5));
  EXPECT_TRUE(beta.MayCommit(At(3s)));
  // A further view that takes another in does not stop it.
  beta.Install(ViewOf(6, {M("alpha"), M("beta"), M("gamma")}));
  EXPECT_TRUE(RenewAt(beta, 4s, 6, 5));
  EXPECT_TRUE(beta.MayCommit(At(5s)));
}

// It cannot know whether in the one that it missed moves ended, or it was out: somebody may still serve what is ours now.
TEST(HomeLeasesTest, WhoMissedAViewCommitsNothingBeforeTheNextIsSettled) {
  Alpha a;
  a.leases.Install(ViewOf(3, {M("alpha"), M("beta"), M("gamma")}));
  EXPECT_TRUE(a.leases.MayCommit(At(11s)));
  a.leases.Install(ViewOf(5, {M("alpha"), M("beta"), M("gamma")}));
  EXPECT_TRUE(RenewAt(a.leases, 11s, 5, 4));
  EXPECT_FALSE(a.leases.MayCommit(At(12s)));
  EXPECT_TRUE(a.leases.MayRead(At(12s)));
  EXPECT_TRUE(RenewAt(a.leases, 12s, 5, 5));
  EXPECT_TRUE(a.leases.MayCommit(At(12s)));
}

TEST(HomeLeasesTest, ARestartIsANewcomer) {
  Alpha a;
  a.leases.Install(ViewOf(3, {M("alpha", 2), M("beta")}));  // our next life, or another process
  EXPECT_FALSE(a.leases.MayRead(At(11s)));
  EXPECT_FALSE(a.leases.MayCommit(At(11s)));
  EXPECT_FALSE(RenewAt(a.leases, 11s, 3, 3));
  EXPECT_EQ(a.leases.Find(HomedAt(a.view, "alpha")).state, HomeState::kNotHome);
}

TEST(HomeLeasesTest, WhoIsRemovedHoldsNothingAndNeedsARenewalWhenItIsBack) {
  Alpha a;
  a.leases.Install(ViewOf(3, {M("beta")}));
  EXPECT_FALSE(a.leases.MayRead(At(11s)));
  a.leases.Install(ViewOf(4, {M("alpha"), M("beta")}));
  EXPECT_FALSE(a.leases.MayRead(At(11s)));
  EXPECT_TRUE(RenewAt(a.leases, 12s, 4, 3));
  EXPECT_TRUE(a.leases.MayRead(At(12s)));
  EXPECT_FALSE(a.leases.MayCommit(At(12s))) << "it is a newcomer again";
}

TEST(HomeLeasesTest, AViewFencesTheObjectsThatWeServedAndThatLeft) {
  HomeLeases leases("alpha", 1, kTerms);
  const View alone = ViewOf(1, {M("alpha")});
  const View both = ViewOf(2, {M("alpha"), M("beta")});
  leases.Install(alone);
  const ObjectId stays = HomedAt(both, "alpha");
  const ObjectId goes = HomedAt(both, "beta");
  const ObjectId unused = HomedAt(both, "beta", 1);
  EXPECT_EQ(leases.Find(stays).state, HomeState::kActive);
  EXPECT_EQ(leases.Find(goes).epoch, 1u);
  EXPECT_EQ(leases.Install(both), (std::vector<Fence>{{goes, "alpha", 1, "beta", 2, FenceReason::kLeaseLeftView}}));
  EXPECT_EQ(leases.Find(stays).epoch, 2u);
  EXPECT_EQ(leases.Find(goes).state, HomeState::kNotHome);
  EXPECT_EQ(leases.Find(unused).state, HomeState::kNotHome);
  EXPECT_THAT(leases.Install(both), IsEmpty());
  EXPECT_THAT(leases.Install(alone), IsEmpty());
  EXPECT_EQ(leases.epoch(), 2u);
}

TEST(HomeLeasesTest, AMoveDrainsTheOldHomeAndActivatesTheNew) {
  Alpha a;
  HomeLeases beta("beta", 1, kTerms);
  beta.SetAuthority(true);
  beta.Install(a.view);
  RenewAt(beta, 10s, 2, 2);
  const LeaseMove move{HomedAt(a.view, "alpha"), 2, "alpha", "beta", {}};
  EXPECT_TRUE(a.leases.Move(move));
  EXPECT_EQ(a.leases.Find(move.object).state, HomeState::kDraining);
  EXPECT_EQ(a.leases.Find(move.object).moved_to, "beta");
  EXPECT_EQ(beta.Find(move.object).state, HomeState::kNotHome);
  EXPECT_TRUE(beta.Move(move));
  EXPECT_EQ(beta.Find(move.object).state, HomeState::kActive);
  // The next view supersedes it, and because it ends a move, all wait until it is settled.
  const View next = ViewOf(3, {M("alpha"), M("beta")}, true);
  EXPECT_EQ(beta.Install(next),
            (std::vector<Fence>{{move.object, "beta", 2, "alpha", 3, FenceReason::kLeaseLeftView}}));
  EXPECT_THAT(a.leases.Install(next), IsEmpty()) << "it is home to what it had drained";
  EXPECT_EQ(a.leases.Find(move.object).state, HomeState::kActive);
  EXPECT_TRUE(RenewAt(a.leases, 12s, 3, 2));
  EXPECT_FALSE(a.leases.MayCommit(At(12s)));
  EXPECT_TRUE(RenewAt(a.leases, 13s, 3, 3));
  EXPECT_TRUE(a.leases.MayCommit(At(13s)));
}

TEST(HomeLeasesTest, MovesThatMakeNoSenseAreRefused) {
  Alpha a;
  const ObjectId object = HomedAt(a.view, "alpha");
  EXPECT_FALSE(a.leases.Move({object, 1, "alpha", "beta", {}})) << "of another view";
  EXPECT_FALSE(a.leases.Move({object, 2, "alpha", "gamma", {}})) << "to no member";
  EXPECT_FALSE(a.leases.Move({object, 2, "beta", "beta", {}})) << "from nobody";
  EXPECT_FALSE(a.leases.Move({object, 2, "alpha", "alpha", {}}));
  EXPECT_EQ(a.leases.Find(object).state, HomeState::kActive);
}

TEST(HomeLeasesTest, VoidEndsBothLeasesAtOnce) {
  Alpha a;
  a.leases.Void();
  EXPECT_FALSE(a.leases.MayRead(At(10s)));
  EXPECT_FALSE(a.leases.MayCommit(At(10s)));
}

}  // namespace
}  // namespace nekton
