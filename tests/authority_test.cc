// The authority: what it writes, when, and when it does not.
#include "lease/authority.h"

#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lease/homes.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr LeaseTerms kTerms{.read = 120s, .write = 6s, .drift_ppm = 0};
constexpr Duration kWait = kTerms.write_wait();

Tick At(Duration time) { return {Instant(time), RawInstant(time), WallTime(time)}; }

SigningKey Key(int n) {
  std::array<std::byte, 32> seed{};
  seed[0] = static_cast<std::byte>(n);
  return SigningKey(seed);
}

ViewMember M(std::string name, std::uint64_t generation = 1) {
  return {std::move(name), generation, Address::V4(10, 0, 0, 1, 7946)};
}

// The authority "root" with a store that works, and the views that it announced.
struct Scene {
  Authority authority{Key(1), "group", kTerms, M("root")};
  std::vector<View> views;
  std::vector<std::string> admitted;
  std::vector<std::string> removed;
  std::vector<LeaseMove> moves;
  bool store_works = true;
  Duration now = 100s;

  Scene() {
    Do([&](AuthorityOutput& out) { EXPECT_TRUE(authority.Begin(At(now), View{}, out).ok()); });
  }
  template <typename What>
  void Do(What what) {
    AuthorityOutput out;
    what(out);
    Take(out);
  }
  void Take(AuthorityOutput& out) {
    if (out.announce) views.push_back(*out.announce);
    admitted.insert(admitted.end(), out.admitted.begin(), out.admitted.end());
    removed.insert(removed.end(), out.removed.begin(), out.removed.end());
    moves.insert(moves.end(), out.moves.begin(), out.moves.end());
    if (!out.store) return;
    AuthorityOutput next;
    authority.Stored(At(now), out.store->epoch(), store_works ? absl::OkStatus() : absl::UnavailableError("disk"),
                     next);
    Take(next);
  }
  void RunTo(Duration time) {
    for (int i = 0; i < 1000; ++i) {
      const Instant wake = authority.NextWake();
      if (wake > Instant(time)) break;
      now = std::max(now, wake.time_since_epoch());
      Do([&](AuthorityOutput& out) { authority.Wake(At(now), out); });
    }
    now = time;
  }
  absl::Status Join(const ViewMember& member) {
    absl::Status status;
    Do([&](AuthorityOutput& out) { status = authority.Join(At(now), member, out); });
    return status;
  }
  void MustJoin(const ViewMember& member) { EXPECT_TRUE(Join(member).ok()); }
  void Gone(const std::string& name, std::uint64_t generation = 1) {
    Do([&](AuthorityOutput& out) { authority.Gone(At(now), name, generation, out); });
  }
  LeaseGrant Renew(const std::string& name, std::uint64_t epoch, std::uint64_t generation = 1) {
    return authority.Renew(At(now), name, generation, epoch);
  }
  std::uint64_t epoch() const { return authority.view().epoch(); }
  std::vector<std::string> members() const {
    std::vector<std::string> names;
    for (const ViewMember& member : authority.view().members) names.push_back(member.name);
    return names;
  }
};

TEST(AuthorityTest, TheFirstViewIsItsOwn) {
  Scene s;
  EXPECT_EQ(s.epoch(), 1u);
  EXPECT_THAT(s.members(), ElementsAre("root"));
  EXPECT_TRUE(VerifyHead(Key(1).public_key(), "group", s.authority.view().head));
  EXPECT_EQ(s.authority.settled(), 1u);
}

// Join, removal, rejoin: 2, 3, 4.
TEST(AuthorityTest, JoinRemovalAndRejoinAreAnEpochEach) {
  Scene s;
  s.RunTo(110s);
  EXPECT_TRUE(s.Join(M("beta")).ok());
  EXPECT_EQ(s.epoch(), 2u) << "a lone one goes at once";
  EXPECT_THAT(s.admitted, ElementsAre("beta"));
  EXPECT_TRUE(s.Renew("beta", 2).renewed);
  s.RunTo(120s);
  s.Gone("beta");
  EXPECT_EQ(s.epoch(), 3u);
  EXPECT_THAT(s.members(), ElementsAre("root"));
  EXPECT_THAT(s.removed, ElementsAre("beta"));
  EXPECT_FALSE(s.Renew("beta", 2).renewed);
  s.RunTo(130s);
  EXPECT_TRUE(s.Join(M("beta")).ok());
  EXPECT_EQ(s.epoch(), 4u);
  EXPECT_THAT(s.members(), ElementsAre("beta", "root"));
  EXPECT_EQ(s.views.size(), 4u);
}

TEST(AuthorityTest, ARemovalWaitsForTheWriteLeaseThatItGranted) {
  Scene s;
  s.MustJoin(M("beta"));
  s.RunTo(110s);
  EXPECT_TRUE(s.Renew("beta", 2).renewed);
  s.RunTo(111s);
  s.Gone("beta");
  EXPECT_FALSE(s.Renew("beta", 2).renewed) << "it stops renewing first";
  s.RunTo(110s + kWait - 1ns);
  EXPECT_EQ(s.epoch(), 2u);
  s.RunTo(110s + kWait);
  EXPECT_EQ(s.epoch(), 3u);
}

TEST(AuthorityTest, TheSlowerClockDecidesHowLongItWaits) {
  Scene s;
  s.MustJoin(M("beta"));
  s.RunTo(110s);
  s.Renew("beta", 2);
  s.Gone("beta");
  // Boot time jumps over a suspend; by the raw clock the lease still runs.
  AuthorityOutput out;
  s.authority.Wake({Instant(200s), RawInstant(112s), {}}, out);
  EXPECT_FALSE(out.store.has_value());
  s.authority.Wake({Instant(198s + kWait), RawInstant(110s + kWait), {}}, out);
  EXPECT_TRUE(out.store.has_value());
}

TEST(AuthorityTest, WhoIsBackBeforeTheRemovalIsWrittenStays) {
  Scene s;
  s.MustJoin(M("beta"));
  s.RunTo(110s);
  s.Renew("beta", 2);
  s.Gone("beta");
  s.authority.Back(At(s.now), "beta", 1);
  s.RunTo(130s);
  EXPECT_EQ(s.epoch(), 2u);
  EXPECT_TRUE(s.Renew("beta", 2).renewed);
  s.Gone("beta");
  EXPECT_TRUE(s.Join(M("beta")).ok()) << "a join says the same";
  s.RunTo(150s);
  EXPECT_EQ(s.epoch(), 2u);
}

TEST(AuthorityTest, DuplicatesAndTheFailuresOfFormerLivesChangeNothing) {
  Scene s;
  s.MustJoin(M("beta", 5));
  s.RunTo(120s);
  s.Gone("beta", 4);
  s.Gone("stranger");
  EXPECT_TRUE(s.Join(M("beta", 5)).ok());
  s.RunTo(130s);
  EXPECT_EQ(s.epoch(), 2u);
  s.Gone("beta", 5);
  s.Gone("beta", 5);
  s.RunTo(140s);
  EXPECT_EQ(s.epoch(), 3u);
}

TEST(AuthorityTest, ARestartIsOneEpochAfterTheWait) {
  Scene s;
  s.MustJoin(M("beta", 1));
  s.RunTo(110s);
  s.Renew("beta", 2);
  EXPECT_TRUE(s.Join(M("beta", 2)).ok());
  EXPECT_FALSE(s.Renew("beta", 2, 1).renewed) << "its former life is renewed no more";
  EXPECT_FALSE(s.Renew("beta", 2, 2).renewed) << "and the new one is not in the view";
  s.RunTo(110s + kWait - 1ns);
  EXPECT_EQ(s.epoch(), 2u);
  s.RunTo(111s + kWait);
  EXPECT_EQ(s.epoch(), 3u);
  EXPECT_EQ(s.authority.view().Find("beta")->generation, 2u);
  EXPECT_TRUE(s.Renew("beta", 3, 2).renewed);
  EXPECT_EQ(s.Join(M("beta", 1)).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(AuthorityTest, JoinsThatComeTogetherShareAnEpoch) {
  Scene s;
  s.RunTo(110s);
  for (const char* name : {"a", "b", "c", "d"}) EXPECT_TRUE(s.Join(M(name)).ok());
  EXPECT_EQ(s.epoch(), 2u);
  s.RunTo(110s + Authority::kTogether - 1ns);
  EXPECT_EQ(s.epoch(), 2u);
  s.RunTo(111s);
  EXPECT_EQ(s.epoch(), 3u);
  EXPECT_THAT(s.members(), ElementsAre("a", "b", "c", "d", "root"));
  EXPECT_EQ(s.admitted.size(), 4u);
}

TEST(AuthorityTest, NothingIsToldBeforeItIsStored) {
  Scene s;
  s.RunTo(110s);
  s.store_works = false;
  EXPECT_TRUE(s.Join(M("beta")).ok());
  s.RunTo(115s);
  EXPECT_EQ(s.epoch(), 1u);
  EXPECT_THAT(s.admitted, IsEmpty());
  EXPECT_EQ(s.views.size(), 1u);
  s.store_works = true;
  s.RunTo(117s);
  EXPECT_EQ(s.epoch(), 2u) << "it tries again";
  EXPECT_THAT(s.admitted, ElementsAre("beta"));
}

TEST(AuthorityTest, ItGoesOnFromItsStoreAndWaitsOnceForWhatItMayHaveGranted) {
  Scene first;
  first.MustJoin(M("beta"));
  first.RunTo(110s);
  const View stored = first.authority.view();
  Authority again(Key(1), "group", kTerms, M("root", 2));
  AuthorityOutput out;
  ASSERT_TRUE(again.Begin(At(500s), stored, out).ok());
  EXPECT_TRUE(again.Renew(At(500s), "beta", 1, 2).renewed) << "its view is in force";
  EXPECT_TRUE(again.Join(At(501s), M("gamma"), out).ok());
  again.Wake(At(500s + kWait - 1ns), out);
  EXPECT_FALSE(out.store.has_value()) << "it hears first what members hold";
  EXPECT_EQ(again.NextWake(), Instant(500s + kWait));
  again.Gone(At(500s + kWait - 1ns), "beta", 1, out);
  again.Wake(At(500s + kWait), out);
  ASSERT_TRUE(out.store.has_value());
  EXPECT_EQ(out.store->epoch(), 3u);
  EXPECT_EQ(out.store->Find("root")->generation, 2u);
  EXPECT_NE(out.store->Find("gamma"), nullptr);
}

TEST(AuthorityTest, WhoRestartsWhileItsFirstViewIsBeingStoredIsInTheNextOnce) {
  Scene s;
  s.RunTo(110s);
  AuthorityOutput out;
  ASSERT_TRUE(s.authority.Join(At(s.now), M("beta", 1), out).ok());
  ASSERT_TRUE(out.store.has_value());
  const std::uint64_t epoch = out.store->epoch();
  AuthorityOutput second;
  ASSERT_TRUE(s.authority.Join(At(s.now), M("beta", 2), second).ok());
  EXPECT_FALSE(second.store.has_value());
  s.Do([&](AuthorityOutput& stored) { s.authority.Stored(At(s.now), epoch, absl::OkStatus(), stored); });
  s.RunTo(130s);
  ASSERT_EQ(s.epoch(), epoch + 1);
  EXPECT_THAT(s.members(), ElementsAre("beta", "root"));
  EXPECT_EQ(s.authority.view().Find("beta")->generation, 2u);
}

// What an authority moved before it was restarted it does not know any more; but whoever holds it does.
TEST(AuthorityTest, MovesOfItsFormerLifeEndWithTheNextView) {
  Scene first;
  first.MustJoin(M("beta"));
  first.RunTo(110s);
  Authority again(Key(1), "group", kTerms, M("root", 2));
  AuthorityOutput out;
  ASSERT_TRUE(again.Begin(At(500s), first.authority.view(), out).ok());
  again.Renew(At(500s), "beta", 1, 2);
  again.Wake(At(500s + kWait - 1ns), out);
  const ObjectId object = ObjectNamed("a");
  const std::string to = Homes(again.view()).HomeOf(object) == "beta" ? "root" : "beta";
  EXPECT_EQ(again.Move(At(500s + kWait - 1ns), object, to, out).code(), absl::StatusCode::kFailedPrecondition);
  again.Wake(At(500s + kWait), out);
  ASSERT_TRUE(out.store.has_value());
  EXPECT_TRUE(out.store->ends_moves);
}

TEST(AuthorityTest, WhatAStoreLacksIsHeardOfBeforeAnythingIsWritten) {
  Scene first;
  first.MustJoin(M("beta"));
  const View stored = first.authority.view();
  first.RunTo(110s);
  first.MustJoin(M("gamma"));
  Authority again(Key(1), "group", kTerms, M("root", 2));
  AuthorityOutput out;
  ASSERT_TRUE(again.Begin(At(500s), stored, out).ok());
  again.Saw(first.authority.view().head);
  EXPECT_TRUE(again.behind());
  again.Wake(At(600s), out);
  EXPECT_FALSE(out.store.has_value());
}

TEST(AuthorityTest, AStoreOfAnotherAuthorityIsRefused) {
  const View stored = SignView(Key(2), "group", 9, {M("root")});
  Authority authority(Key(1), "group", kTerms, M("root"));
  AuthorityOutput out;
  EXPECT_EQ(authority.Begin(At(1s), stored, out).code(), absl::StatusCode::kDataLoss);
}

TEST(AuthorityTest, ARestoredStoreIsNoticedAndNothingIsWrittenFromThenOn) {
  Scene s;
  s.MustJoin(M("beta"));
  s.RunTo(110s);
  const View seen = SignView(Key(1), "group", 5, {M("root"), M("beta")});
  s.authority.Saw(SignView(Key(2), "group", 9, {M("root")}).head);
  EXPECT_FALSE(s.authority.behind()) << "not its signature";
  s.authority.Saw(SignView(Key(1), "group", 1, {M("root")}).head);
  EXPECT_FALSE(s.authority.behind()) << "an old one";
  s.authority.Saw(seen.head);
  EXPECT_TRUE(s.authority.behind());
  EXPECT_EQ(s.Join(M("gamma")).code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(s.Renew("beta", 2).renewed);
  s.RunTo(200s);
  EXPECT_EQ(s.epoch(), 2u);
  Scene same;
  same.MustJoin(M("beta"));
  same.RunTo(110s);
  same.authority.Saw(SignView(Key(1), "group", 2, {M("root")}).head);
  EXPECT_TRUE(same.authority.behind()) << "the same epoch, with other members";
}

TEST(AuthorityTest, AViewIsSettledWhenAllWhoCouldCommitUnderAnOlderOneHaveIt) {
  Scene s;
  s.MustJoin(M("beta"));
  s.RunTo(110s);
  EXPECT_TRUE(s.Renew("beta", 2).renewed);
  EXPECT_EQ(s.authority.settled(), 2u);
  s.MustJoin(M("gamma"));
  EXPECT_EQ(s.epoch(), 3u);
  EXPECT_EQ(s.Renew("gamma", 3).settled, 2u) << "beta may still commit under 2";
  EXPECT_FALSE(s.Renew("beta", 2).renewed) << "and gets no more for it";
  s.RunTo(112s);
  EXPECT_EQ(s.Renew("beta", 3).settled, 3u);
  EXPECT_EQ(s.Renew("gamma", 3).settled, 3u);
}

TEST(AuthorityTest, OrWhenTheirLeasesHaveRunOut) {
  Scene s;
  s.MustJoin(M("beta"));
  s.RunTo(110s);
  s.Renew("beta", 2);
  s.MustJoin(M("gamma"));
  s.Renew("gamma", 3);
  s.RunTo(110s + kWait - 1ns);
  EXPECT_EQ(s.Renew("gamma", 3).settled, 2u);
  s.RunTo(110s + kWait);
  EXPECT_EQ(s.Renew("gamma", 3).settled, 3u);
}

TEST(AuthorityTest, AnObjectIsMovedToItsNewHomeOnlyWhenTheOldOneHasDrained) {
  Scene s;
  s.MustJoin(M("beta"));
  s.MustJoin(M("gamma"));
  s.RunTo(110s);
  s.Renew("beta", s.epoch());
  s.Renew("gamma", s.epoch());
  const Homes homes(s.authority.view());
  ObjectId object;
  for (int i = 0; homes.HomeOf(object = ObjectNamed(std::to_string(i))) != "beta"; ++i) {
  }
  absl::Status status;
  s.Do([&](AuthorityOutput& out) { status = s.authority.Move(At(s.now), object, "gamma", out); });
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(s.moves.size(), 1u);
  EXPECT_TRUE(VerifyMove(Key(1).public_key(), "group", s.moves[0]));
  EXPECT_EQ(s.authority.Pending("beta").size(), 1u);
  EXPECT_THAT(s.authority.Pending("gamma"), IsEmpty());
  s.Do([&](AuthorityOutput& out) { s.authority.Moved(At(s.now), s.moves[0].object, s.moves[0].epoch, "gamma", out); });
  EXPECT_EQ(s.authority.Pending("beta").size(), 1u) << "gamma could not have it yet";
  s.Do([&](AuthorityOutput& out) { s.authority.Moved(At(s.now), s.moves[0].object, s.moves[0].epoch, "beta", out); });
  EXPECT_EQ(s.moves.size(), 2u) << "due to the new home";
  EXPECT_EQ(s.authority.Pending("gamma").size(), 1u);
  s.Do([&](AuthorityOutput& out) { s.authority.Moved(At(s.now), s.moves[0].object, s.moves[0].epoch, "gamma", out); });
  EXPECT_THAT(s.authority.Pending("gamma"), IsEmpty());
  s.MustJoin(M("delta"));
  s.RunTo(120s);
  EXPECT_TRUE(s.authority.view().ends_moves);
  s.MustJoin(M("epsilon"));
  s.RunTo(130s);
  EXPECT_FALSE(s.authority.view().ends_moves);
}

TEST(AuthorityTest, MovesThatMakeNoSenseAreRefusedWithTheReason) {
  Scene s;
  s.MustJoin(M("beta"));
  s.RunTo(110s);
  const auto move = [&](const ObjectId& object, std::string_view to) {
    absl::Status status;
    s.Do([&](AuthorityOutput& out) { status = s.authority.Move(At(s.now), object, to, out); });
    return status;
  };
  const ObjectId object = ObjectNamed("x");
  const std::string home(Homes(s.authority.view()).HomeOf(object));
  EXPECT_EQ(move(object, "nobody").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(move(object, home).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(move(object, home == "root" ? "beta" : "root").ok());
  EXPECT_EQ(move(object, home).code(), absl::StatusCode::kFailedPrecondition) << "once a view";
}

TEST(AuthorityTest, BadJoinsNameTheField) {
  Scene s;
  EXPECT_NE(s.Join(M("")).message().find("name"), absl::string_view::npos);
  EXPECT_NE(s.Join(M(std::string(129, 'x'))).message().find("1 to 128 bytes"), absl::string_view::npos);
  EXPECT_NE(s.Join(M("beta", 0)).message().find("generation = 0"), absl::string_view::npos);
  EXPECT_EQ(s.Join(M("root", 9)).code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace nekton
