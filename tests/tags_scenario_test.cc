// Tags that change while the group runs, in the simulator.
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cluster.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::string TagOf(const Cluster& c, SimId observer, const std::string& member, const std::string& key) {
  for (const MemberPtr& row : c.member(observer).Members()) {
    if (row->name != member) continue;
    const auto found = row->tags.find(key);
    return found == row->tags.end() ? "" : found->second;
  }
  return "";
}

std::function<bool()> AllShow(Cluster& c, SimId member, const std::string& value) {
  return [&c, member, value] {
    for (SimId id = 0; id < c.size(); ++id) {
      if (c.sim().live(id) && TagOf(c, id, c.sim().name(member), "v") != value) return false;
    }
    return true;
  };
}

// The values of a member's tag as an observer's events told them, in their order.
std::vector<std::uint64_t> Told(const Cluster& c, SimId observer, SimId member, Duration since) {
  std::vector<std::uint64_t> values;
  for (const SimEvent& event :
       c.Events({.kind = EventKind::kUpdated, .observer = observer, .subject = member, .since = since})) {
    values.push_back(std::stoull(event.event.member->tags.at("v")));
  }
  return values;
}

TEST(TagsScenario, AChangeArrivesEverywhereAsOneEventAndAtWhoComesLater) {
  Cluster c({.nodes = 20, .seed = 1});
  ASSERT_TRUE(c.Converge());
  const Duration since = c.now();
  ASSERT_TRUE(c.sim().Order(7, SetTag{"v", "1"}).ok());
  ASSERT_TRUE(c.RunUntil(AllShow(c, 7, "1"), 5s));
  c.RunFor(10s);
  for (SimId id = 0; id < 20; ++id) {
    EXPECT_EQ(c.Count({.kind = EventKind::kUpdated, .observer = id, .subject = 7, .since = since}), 1u) << id;
  }
  EXPECT_EQ(c.Count({.kind = EventKind::kUpdated, .since = since}), 20u);
  EXPECT_EQ(c.Count({.kind = EventKind::kAccused, .since = since}), 0u);
  c.Crash(3);
  c.Restart(3);
  const SimId late = c.AddNode();
  ASSERT_TRUE(c.Converge());
  EXPECT_EQ(TagOf(c, 3, "n7", "v"), "1");
  EXPECT_EQ(TagOf(c, late, "n7", "v"), "1");
  EXPECT_EQ(c.Count({.kind = EventKind::kUpdated, .observer = late}), 0u) << "it joined with them";
}

// Whoever misses all copies learns it when tables are compared.
TEST(TagsScenario, AChangeIsMendedWhereAllItsCopiesWereLost) {
  Cluster c({.nodes = 8, .seed = 2});
  ASSERT_TRUE(c.Converge());
  c.RunFor(5s);
  c.Partition({{5}, {0, 1, 2, 3, 4, 6, 7}});
  ASSERT_TRUE(c.sim().Order(1, SetTag{"v", "1"}).ok());
  c.RunFor(2s);
  c.Heal();
  EXPECT_EQ(TagOf(c, 5, "n1", "v"), "");
  ASSERT_TRUE(c.RunUntil(AllShow(c, 1, "1"), 30s));
  EXPECT_EQ(c.Count({.kind = EventKind::kUpdated, .observer = 5, .subject = 1}), 1u);
}

TEST(TagsScenario, AMetadataLimitIsAnErrorAndNoEnd) {
  Cluster c({.nodes = 5, .seed = 3});
  ASSERT_TRUE(c.Converge());
  Config too_much = Config::Lan();
  too_much.tags = {{"v", std::string(509, 'x')}};
  EXPECT_THAT(std::string(too_much.Validate().message()), HasSubstr("513 bytes, at most 512"));
  // A key of one byte and the lengths take 4.
  for (const std::size_t size : {std::size_t{507}, std::size_t{508}}) {
    std::string value(size, '\0');
    value.back() = 'x';
    ASSERT_TRUE(c.sim().Order(2, SetTag{"v", value}).ok());
    ASSERT_TRUE(c.RunUntil(AllShow(c, 2, value), 10s)) << size;
  }
  const std::string kept = TagOf(c, 2, "n2", "v");
  for (const std::size_t size : {std::size_t{509}, std::size_t{1} << 20}) {
    const absl::Status refused = c.sim().Order(2, SetTag{"v", std::string(size, '\0')});
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(refused.message()), HasSubstr("at most 512"));
  }
  c.RunFor(10s);
  EXPECT_TRUE(AllShow(c, 2, kept)());
  EXPECT_TRUE(c.Converge(1s)) << "it runs on";
}

// A new life begins with the same numbers, and a burst comes half lost.
TEST(TagsScenario, ARestartsTagsHoldAndABurstEndsWithItsLast) {
  Cluster c({.nodes = 10, .seed = 4});
  ASSERT_TRUE(c.Converge());
  ASSERT_TRUE(c.sim().Order(4, SetTag{"v", "1"}).ok());
  ASSERT_TRUE(c.RunUntil(AllShow(c, 4, "1"), 10s));
  c.Crash(4);
  c.Restart(4);
  ASSERT_TRUE(c.sim().Order(4, SetTag{"v", "2"}).ok()) << "under the incarnation that the former life had";
  ASSERT_TRUE(c.RunUntil(AllShow(c, 4, "2"), 30s));
  ASSERT_TRUE(c.Converge());

  c.Lose(0.3);
  const Duration since = c.now();
  const std::uint64_t before = c.member(4).Self()->key.incarnation;
  for (int value = 0; value < 1000; ++value) {
    ASSERT_TRUE(c.sim().Order(4, SetTag{"v", std::to_string(value)}).ok());
    c.RunFor(1ms);
  }
  ASSERT_TRUE(c.RunUntil(AllShow(c, 4, "999"), 30s));
  c.Lose(0);
  c.RunFor(30s);
  for (SimId id = 0; id < 10; ++id) {
    const std::vector<std::uint64_t> told = Told(c, id, 4, since);
    ASSERT_FALSE(told.empty()) << id;
    EXPECT_EQ(told.back(), 999u) << id;
    for (std::size_t i = 1; i < told.size(); ++i) EXPECT_LT(told[i - 1], told[i]) << id;
    EXPECT_LE(told.size(), 1000u) << id;
    EXPECT_TRUE(id != 4 || told.size() == 1000) << "of our own each";
  }
  EXPECT_GE(c.member(4).Self()->key.incarnation, before + 1000);
}

// Who changes nothing but its tags, and often, is not suspected for it, and costs no more than gossip rounds.
TEST(TagsScenario, ManyChangesOfOneMemberQueueOneNewsAlone) {
  Cluster c({.nodes = 5, .seed = 5, .record = false});
  ASSERT_TRUE(c.Converge());
  const std::uint64_t before = c.sim().counters().bytes_sent;
  for (int value = 0; value < 20000; ++value) {
    ASSERT_TRUE(c.sim().Order(1, SetTag{"v", std::to_string(value)}).ok());
    if (value % 20 == 0) c.RunFor(1ms);
  }
  ASSERT_TRUE(c.RunUntil(AllShow(c, 1, "19999"), 10s));
  EXPECT_LT(c.sim().counters().bytes_sent - before, 40000u) << "of a second and what follows";
}

}  // namespace
}  // namespace nekton
