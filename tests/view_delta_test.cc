// Differences of views, and the memory that they are made from.
#include "lease/view_delta.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "lease/fetched_view.h"
#include "lease/view_history.h"
#include "swim/random.h"
#include "tests/cluster.h"

namespace nekton {
namespace {

ViewMember M(int n, std::uint64_t generation = 1) {
  return {absl::StrCat("m", n), generation, Address::V4(10, 0, 0, static_cast<std::uint8_t>(n), 7946)};
}
View ViewOf(std::uint64_t epoch, std::vector<ViewMember> members, bool ends_moves = false) {
  return SignView(ClusterKey(), "g", epoch, std::move(members), ends_moves);
}

// A chain of views in which each differs a little, or much, from the one before.
std::vector<View> Chain(std::uint64_t seed, std::size_t length) {
  Random random(seed);
  std::vector<View> chain;
  std::vector<ViewMember> members = {M(0)};
  for (std::uint64_t epoch = 1; chain.size() < length; ++epoch) {
    for (std::uint32_t n = random.Below(6); n > 0; --n) {
      const int who = static_cast<int>(random.Below(30));
      const std::string name = M(who).name;
      const auto at = std::find_if(members.begin(), members.end(), [&](const ViewMember& m) { return m.name == name; });
      if (at == members.end()) {
        members.push_back(M(who, random.Below(5) + 1));
      } else if (random.Below(2) == 0) {
        members.erase(at);
      } else {
        at->generation += 1;
      }
    }
    chain.push_back(ViewOf(epoch, members, random.Below(4) == 0));
  }
  return chain;
}

TEST(ViewDeltaTest, FromEachViewThatIsRememberedToTheLast) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const std::vector<View> chain = Chain(seed, 40);
    ViewHistory history;
    for (std::size_t i = 1; i < chain.size(); ++i) history.Add(chain[i - 1], chain[i]);
    for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
      const auto delta = history.Since(chain[i].epoch(), chain[i].head.digest, chain.back());
      ASSERT_TRUE(delta.has_value());
      const absl::StatusOr<ViewDelta> read = DecodeViewDelta(EncodeViewDelta(*delta));
      ASSERT_TRUE(read.ok()) << read.status();
      EXPECT_EQ(*read, *delta);
      const absl::StatusOr<View> view = Apply(chain[i], *read);
      ASSERT_TRUE(view.ok()) << view.status();
      EXPECT_EQ(view->members, chain.back().members);
      EXPECT_EQ(view->head, chain.back().head);
      EXPECT_EQ(view->ends_moves, chain.back().ends_moves);
      for (std::size_t other = 0; other < chain.size(); ++other) {
        if (other == i) continue;
        EXPECT_FALSE(Apply(chain[other], *read).ok());
      }
    }
  }
}

TEST(ViewDeltaTest, AnotherDigestOrEpochIsNotRemembered) {
  const View one = ViewOf(4, {M(1), M(2)});
  const View two = ViewOf(5, {M(1)});
  ViewHistory history;
  history.Add(View(), one);
  EXPECT_EQ(history.steps(), 0u) << "nobody holds a view of epoch 0";
  history.Add(one, two);
  EXPECT_TRUE(history.Since(4, one.head.digest, two).has_value());
  EXPECT_FALSE(history.Since(4, two.head.digest, two).has_value());
  EXPECT_FALSE(history.Since(4, ViewDigest(), two).has_value());
  EXPECT_FALSE(history.Since(3, one.head.digest, two).has_value());
  EXPECT_FALSE(history.Since(5, two.head.digest, two).has_value());
}

TEST(ViewDeltaTest, TheMemoryIsBounded) {
  ViewHistory history;
  std::vector<View> views = {ViewOf(1, {M(0)})};
  for (std::uint64_t epoch = 2; epoch < 200; ++epoch) {
    views.push_back(ViewOf(epoch, {M(0, epoch)}));
    history.Add(views[views.size() - 2], views.back());
    EXPECT_LE(history.steps(), ViewHistory::kStepsMax);
  }
  EXPECT_EQ(history.steps(), ViewHistory::kStepsMax);
  const auto since = [&](std::size_t back) {
    const View& base = views[views.size() - 1 - back];
    return history.Since(base.epoch(), base.head.digest, views.back()).has_value();
  };
  EXPECT_TRUE(since(ViewHistory::kStepsMax));
  EXPECT_FALSE(since(ViewHistory::kStepsMax + 1));
  // Names, too: large steps push out the others, and one that is too large is not kept.
  std::vector<ViewMember> many;
  for (int i = 0; i < 3000; ++i) many.push_back(M(i));
  const View large = ViewOf(200, many);
  history.Add(views.back(), large);
  EXPECT_GT(history.names(), 3000u - 2);
  EXPECT_LE(history.names(), ViewHistory::kNamesMax);
  const View empty = ViewOf(201, {});
  history.Add(large, empty);
  EXPECT_EQ(history.steps(), 1u);
  for (int i = 3000; i < 5000; ++i) many.push_back(M(i));
  const View larger = ViewOf(202, many);
  history.Add(empty, larger);
  EXPECT_EQ(history.steps(), 0u);
  EXPECT_EQ(history.names(), 0u);
}

TEST(ViewDeltaTest, NoBytesAreReadWrongly) {
  const View one = ViewOf(4, {M(1), M(2), M(3)});
  const View two = ViewOf(5, {M(1), M(2, 2), M(4)}, true);
  ViewHistory history;
  history.Add(one, two);
  const std::vector<std::byte> delta = EncodeFetched(*history.Since(4, one.head.digest, two));
  const std::vector<std::byte> whole = EncodeFetched(two);
  EXPECT_TRUE(IsDelta(delta));
  EXPECT_FALSE(IsDelta(whole));
  EXPECT_FALSE(IsDelta({}));
  Random random(8);
  for (const std::vector<std::byte>& good : {delta, whole}) {
    ASSERT_TRUE(DecodeFetched(good).ok());
    for (std::size_t size = 0; size < good.size(); ++size) {
      EXPECT_FALSE(DecodeFetched(std::span(good).first(size)).ok());
    }
    for (int i = 0; i < 20'000; ++i) {
      std::vector<std::byte> bad = good;
      for (std::uint32_t n = 1 + random.Below(3); n > 0; --n) {
        bad[random.Below(static_cast<std::uint32_t>(bad.size()))] = static_cast<std::byte>(random.Below(256));
      }
      const absl::StatusOr<FetchedView> read = DecodeFetched(bad);
      if (!read.ok()) continue;
      EXPECT_EQ(EncodeFetched(*read), bad);
      if (!IsDelta(bad)) continue;
      const absl::StatusOr<View> view = Apply(one, std::get<ViewDelta>(*read));
      if (!view.ok()) continue;
      EXPECT_EQ(view->members, two.members);
    }
  }
}

TEST(ViewDeltaTest, WhatCannotBeIsRefusedWithTheReason) {
  const View one = ViewOf(4, {M(1)});
  ViewDelta delta;
  delta.base = 4;
  delta.head = ViewOf(5, {}).head;
  delta.changes = {{M(1), true}};
  EXPECT_TRUE(Apply(one, delta).ok());
  const auto refused = [](ViewDelta bad) { return !DecodeViewDelta(EncodeViewDelta(bad)).ok(); };
  EXPECT_FALSE(refused(delta));
  ViewDelta bad = delta;
  bad.changes = {{M(1), true}, {M(1), true}};
  EXPECT_TRUE(refused(bad));
  bad.changes = {{M(2), true}, {M(1), true}};
  EXPECT_TRUE(refused(bad));
  bad.changes = {{ViewMember(), true}};
  EXPECT_TRUE(refused(bad));
  // A count that is a lie takes no memory.
  std::vector<std::byte> bytes = EncodeViewDelta(delta);
  bytes.resize(8 + kViewHeadSize + 1);
  for (int i = 0; i < 4; ++i) bytes.push_back(std::byte{0xff});
  bytes.push_back(std::byte{1});
  EXPECT_FALSE(DecodeViewDelta(bytes).ok());
  // And what comes of it is no larger than a view may be.
  std::vector<ViewMember> many;
  for (std::size_t i = 0; i < kViewMembersMax; ++i) many.push_back(M(static_cast<int>(i)));
  const View full = ViewOf(4, many);
  delta.changes = {{{"more", 1, {}}, false}};
  EXPECT_EQ(Apply(full, delta).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace nekton
