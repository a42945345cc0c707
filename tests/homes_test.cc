// Homes by rendezvous hashing, and the routes that follow them.
#include "lease/homes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "lease/route_cache.h"

namespace nekton {
namespace {

using testing::IsEmpty;

constexpr int kObjects = 20'000;

View ViewOf(std::uint64_t epoch, std::vector<std::string> names) {
  View view;
  view.head.epoch = epoch;
  std::sort(names.begin(), names.end());
  for (std::string& name : names) view.members.push_back({std::move(name), 1, {}});
  return view;
}

std::vector<std::string> Names(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(absl::StrCat("n", i));
  return names;
}

ObjectId Object(int i) { return ObjectNamed(absl::StrCat("object ", i)); }

// Part of the protocol: these may never change.
TEST(HomesTest, ThePublishedVectors) {
  const Homes homes(ViewOf(1, {"alpha", "beta", "gamma"}));
  std::map<std::string, std::string> found;
  for (const char* name : {"", "a", "b", "c", "object 1", "object 2", "object 3", "object 4"}) {
    found[name] = std::string(homes.HomeOf(ObjectNamed(name)));
  }
  const std::map<std::string, std::string> published = {
      {"", "gamma"},         {"a", "alpha"},        {"b", "gamma"},       {"c", "beta"},
      {"object 1", "alpha"}, {"object 2", "alpha"}, {"object 3", "beta"}, {"object 4", "beta"},
  };
  EXPECT_EQ(found, published);
  EXPECT_EQ(ToHex(ObjectNamed("a")), "8928aae63c84d87ea098564d1e03ad813f107add474e56aedd286349c0c03ea4");
}

TEST(HomesTest, NobodyIsHomeInAnEmptyView) {
  EXPECT_EQ(Homes().HomeOf(Object(1)), "");
  EXPECT_EQ(Homes(ViewOf(3, {"only"})).HomeOf(Object(1)), "only");
}

TEST(HomesTest, ARemovalMovesTheObjectsOfTheRemovedAlone) {
  for (int members = 2; members <= 50; members = members < 6 ? members + 1 : members * 3 / 2) {
    std::vector<std::string> names = Names(members);
    const Homes before(ViewOf(1, names));
    const std::string removed = names[static_cast<std::size_t>(members / 2)];
    names.erase(names.begin() + members / 2);
    const Homes after(ViewOf(2, names));
    for (int i = 0; i < kObjects; ++i) {
      const ObjectId object = Object(i);
      if (before.HomeOf(object) == removed) {
        EXPECT_NE(after.HomeOf(object), removed);
      } else {
        ASSERT_EQ(after.HomeOf(object), before.HomeOf(object)) << members << " members, object " << i;
      }
    }
  }
}

TEST(HomesTest, TheLoadIsEven) {
  for (const int members : {2, 10, 50}) {
    const Homes homes(ViewOf(1, Names(members)));
    std::map<std::string, int> load;
    for (int i = 0; i < kObjects; ++i) ++load[std::string(homes.HomeOf(Object(i)))];
    EXPECT_EQ(load.size(), static_cast<std::size_t>(members));
    const double mean = static_cast<double>(kObjects) / members;
    int most = 0;
    for (const auto& [name, count] : load) most = std::max(most, count);
    RecordProperty(absl::StrCat("max_over_mean_", members), absl::StrCat(most / mean));
    // Five standard deviations of a binomial share.
    EXPECT_LT(most, mean + 5 * std::sqrt(mean)) << members;
  }
}

TEST(RouteCacheTest, FindsTheHomeAndKeepsIt) {
  RouteCache cache;
  EXPECT_EQ(cache.Find(Object(1)).home, "");
  cache.Install(ViewOf(2, {"alpha", "beta"}));
  const Route route = cache.Find(Object(1));
  EXPECT_EQ(route.home, Homes(ViewOf(2, {"alpha", "beta"})).HomeOf(Object(1)));
  EXPECT_EQ(route.home_epoch, 2u);
  EXPECT_FALSE(route.moved);
}

TEST(RouteCacheTest, OneFenceForEachRouteToWhoLeft) {
  RouteCache cache;
  cache.Install(ViewOf(2, {"alpha", "beta"}));
  int of_beta = 0;
  for (int i = 0; i < 100; ++i) of_beta += cache.Find(Object(i)).home == "beta" ? 1 : 0;
  ASSERT_GT(of_beta, 0);
  const std::vector<Fence> fences = cache.Install(ViewOf(3, {"alpha"}));
  EXPECT_EQ(fences.size(), static_cast<std::size_t>(of_beta));
  for (const Fence& fence : fences) {
    EXPECT_EQ(fence.stale_home, "beta");
    EXPECT_EQ(fence.stale_home_epoch, 2u);
    EXPECT_EQ(fence.home, "alpha");
    EXPECT_EQ(fence.home_epoch, 3u);
    EXPECT_EQ(fence.reason, FenceReason::kLeftView);
  }
  EXPECT_TRUE(
      std::is_sorted(fences.begin(), fences.end(), [](const Fence& a, const Fence& b) { return a.object < b.object; }));
  for (const auto& [object, route] : cache.routes()) {
    EXPECT_EQ(route.home, "alpha");
    EXPECT_EQ(route.home_epoch, 3u);
  }
  EXPECT_THAT(cache.Install(ViewOf(3, {"alpha"})), IsEmpty());
  EXPECT_THAT(cache.Install(ViewOf(2, {"alpha", "beta"})), IsEmpty());
  EXPECT_EQ(cache.epoch(), 3u);
}

TEST(RouteCacheTest, ARedirectionHoldsUntilTheNextView) {
  RouteCache cache;
  cache.Install(ViewOf(2, {"alpha", "beta"}));
  const ObjectId object = Object(1);
  const std::string home = cache.Find(object).home;
  const std::string other = home == "alpha" ? "beta" : "alpha";
  EXPECT_FALSE(cache.Redirect(object, "stranger", 2));
  EXPECT_FALSE(cache.Redirect(object, other, 1));
  EXPECT_TRUE(cache.Redirect(object, other, 2));
  EXPECT_EQ(cache.Find(object), (Route{other, 2, true}));
  EXPECT_FALSE(cache.Redirect(object, home, 2)) << "at most one a view";
  EXPECT_THAT(cache.Install(ViewOf(3, {"alpha", "beta"})), IsEmpty()) << "both are still members";
  EXPECT_EQ(cache.Find(object), (Route{home, 3, false}));
}

TEST(RouteCacheTest, TheRouteUsedLeastRecentlyMakesRoom) {
  RouteCache cache(3);
  cache.Install(ViewOf(2, {"alpha", "beta"}));
  for (int i = 0; i < 3; ++i) cache.Find(Object(i));
  cache.Find(Object(0));
  cache.Find(Object(3));
  EXPECT_EQ(cache.size(), 3u);
  std::vector<ObjectId> kept;
  for (const auto& [object, route] : cache.routes()) kept.push_back(object);
  EXPECT_THAT(kept, testing::UnorderedElementsAre(Object(0), Object(2), Object(3)));
}

}  // namespace
}  // namespace nekton
