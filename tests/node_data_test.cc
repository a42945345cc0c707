// Tags and broadcasts between nodes on real sockets, and from inside callbacks.
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/node_fixture.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

class NodeDataTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"alpha", "beta", "gamma"}) {
      std::vector<std::string> seeds;
      if (!nodes_.empty()) seeds.push_back(nodes_[0]->local().ToString());
      nodes_.push_back(MustStart(FastConfig(name, seeds)));
      ASSERT_NE(nodes_.back(), nullptr);
    }
    for (const auto& node : nodes_) {
      ASSERT_TRUE(WaitFor([&] { return node->Members().Alive().size() == 3; }));
    }
  }

  static std::map<std::string, std::string> TagsOf(const Node& node, const std::string& name) {
    const MemberPtr member = node.Members().Find(name);
    return member == nullptr ? std::map<std::string, std::string>() : member->tags;
  }
  bool AllShow(const std::string& name, const std::map<std::string, std::string>& tags) {
    return WaitFor([&] {
      return std::all_of(nodes_.begin(), nodes_.end(), [&](const auto& node) { return TagsOf(*node, name) == tags; });
    });
  }
  // "origin key=bytes" of what a log heard, in its order.
  static std::vector<std::string> Told(const EventLog& log) {
    std::vector<std::string> told;
    for (const Event& event : log.all()) {
      if (event.kind != EventKind::kBroadcast) continue;
      const BroadcastInfo& said = *event.broadcast;
      told.push_back(absl::StrCat(said.origin, " ", said.key, "=", said.bytes));
    }
    return told;
  }

  std::vector<std::unique_ptr<Node>> nodes_;
};

TEST_F(NodeDataTest, TagsChangeEverywhereWithOneEventEach) {
  EventLog log;
  const Subscription watch = nodes_[2]->Subscribe(log.Handler());
  ASSERT_TRUE(nodes_[1]->SetTags({{"role", "db"}, {"zone", "a"}}, 60s).ok());
  ASSERT_TRUE(AllShow("beta", {{"role", "db"}, {"zone", "a"}}));
  ASSERT_TRUE(nodes_[1]->SetTag("zone", "b", 60s).ok());
  ASSERT_TRUE(AllShow("beta", {{"role", "db"}, {"zone", "b"}}));
  ASSERT_TRUE(nodes_[1]->EraseTag("role", 60s).ok());
  ASSERT_TRUE(AllShow("beta", {{"zone", "b"}}));
  EXPECT_TRUE(WaitFor([&] { return log.Count(EventKind::kUpdated, "beta") == 3; })) << log.text();

  const absl::Status refused = nodes_[1]->SetTag("more", std::string(1000, 'x'), 60s);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("at most 512"));
  EXPECT_THAT(TagsOf(*nodes_[1], "beta"), ElementsAre(Pair("zone", "b")));
}

TEST_F(NodeDataTest, ABroadcastIsToldToEachOfThemOnce) {
  std::vector<EventLog> logs(3);
  std::vector<Subscription> watches;
  for (std::size_t i = 0; i < 3; ++i) watches.push_back(nodes_[i]->Subscribe(logs[i].Handler()));
  ASSERT_TRUE(nodes_[0]->Broadcast("config", "v7", 60s).ok());
  ASSERT_TRUE(WaitFor([&] {
    return std::all_of(logs.begin(), logs.end(), [](const EventLog& log) { return Told(log).size() == 1; });
  }));
  ASSERT_TRUE(nodes_[2]->Broadcast("config", "v8", 60s).ok());
  ASSERT_TRUE(WaitFor([&] {
    return std::all_of(logs.begin(), logs.end(), [](const EventLog& log) { return Told(log).size() == 2; });
  }));
  for (const EventLog& log : logs) EXPECT_THAT(Told(log), ElementsAre("alpha config=v7", "gamma config=v8"));

  const auto held = nodes_[1]->HeldBroadcasts(60s);
  ASSERT_TRUE(held.ok()) << held.status();
  ASSERT_THAT(*held, testing::SizeIs(1));
  EXPECT_EQ(held->front().origin, "gamma");
  EXPECT_EQ(held->front().bytes, "v8");
  std::promise<std::size_t> count;
  ASSERT_TRUE(nodes_[1]->HeldBroadcastsAsync([&](const auto& all) { count.set_value(all.size()); }).ok());
  EXPECT_EQ(count.get_future().get(), 1u);

  const absl::Status refused = nodes_[0]->Broadcast("config", std::string(2000, 'x'), 60s);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("at most 1024"));

  const auto late = MustStart(FastConfig("delta", {nodes_[1]->local().ToString()}));
  EventLog log;
  const Subscription watch = late->Subscribe(log.Handler());
  EXPECT_TRUE(WaitFor([&] { return late->Members().Alive().size() == 4; }));
  ASSERT_TRUE(nodes_[0]->Broadcast("config", "v9", 60s).ok());
  ASSERT_TRUE(WaitFor([&] { return !Told(log).empty() && Told(log).back() == "alpha config=v9"; }));
}

// A handler may call all of it; what would wait for its own thread says so.
TEST_F(NodeDataTest, CallsFromACallbackAreTakenOrRefusedAndNeverWait) {
  std::promise<std::vector<absl::Status>> blocking;
  std::promise<absl::Status> tag_done;
  std::promise<absl::Status> broadcast_done;
  std::once_flag once;
  const Subscription watch = nodes_[1]->Subscribe([&](const Event& event) {
    if (event.kind != EventKind::kBroadcast || event.broadcast->key != "go") return;
    std::call_once(once, [&] {
      std::vector<absl::Status> now = {nodes_[1]->SetTag("a", "1"), nodes_[1]->EraseTag("a"), nodes_[1]->SetTags({}),
                                       nodes_[1]->Broadcast("k", "v")};
      EXPECT_TRUE(nodes_[1]->SetTagAsync("heard", "go", [&](const absl::Status& s) { tag_done.set_value(s); }).ok());
      EXPECT_TRUE(
          nodes_[1]->BroadcastAsync("answer", "yes", [&](const absl::Status& s) { broadcast_done.set_value(s); }).ok());
      EXPECT_TRUE(nodes_[1]->EraseTagAsync("none").ok());
      blocking.set_value(std::move(now));
    });
  });
  EventLog log;
  const Subscription answers = nodes_[0]->Subscribe(log.Handler());
  ASSERT_TRUE(nodes_[0]->BroadcastAsync("go", "").ok());
  for (const absl::Status& status : blocking.get_future().get()) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  }
  EXPECT_TRUE(tag_done.get_future().get().ok());
  EXPECT_TRUE(broadcast_done.get_future().get().ok());
  EXPECT_TRUE(AllShow("beta", {{"heard", "go"}}));
  EXPECT_TRUE(WaitFor([&] { return Told(log) == std::vector<std::string>{"alpha go=", "beta answer=yes"}; }));
}

// Whoever changes something finds it changed: in Members(), and told, when he hears that it is done.
TEST_F(NodeDataTest, WhatIsDoneHasBeenPublishedAndTold) {
  Node& node = *nodes_[0];
  const auto own = [&] { return TagsOf(node, "alpha")["turn"]; };
  EventLog log;
  const Subscription watch = node.Subscribe(log.Handler());
  for (std::size_t turn = 1; turn <= 20; ++turn) {
    const std::string value = std::to_string(turn);
    std::promise<void> done;
    ASSERT_TRUE(node.SetTagAsync("turn", value,
                                 [&](const absl::Status&) {
                                   EXPECT_EQ(own(), value);
                                   EXPECT_EQ(log.Count(EventKind::kUpdated, "alpha"), 2 * turn - 1);
                                   done.set_value();
                                 })
                    .ok());
    done.get_future().get();
    ASSERT_TRUE(node.SetTag("turn", value + "!", 60s).ok());
    EXPECT_EQ(own(), value + "!");
    std::promise<std::size_t> held;
    ASSERT_TRUE(node.BroadcastAsync("turn", value).ok());
    ASSERT_TRUE(
        node.HeldBroadcastsAsync([&](const auto&) { held.set_value(log.Count(EventKind::kBroadcast, "alpha")); }).ok());
    EXPECT_EQ(held.get_future().get(), turn);
  }
}

TEST_F(NodeDataTest, WhoAsksWithoutACallbackIsToldNothing) {
  EXPECT_TRUE(nodes_[0]->HeldBroadcastsAsync(nullptr).ok());
  EXPECT_TRUE(nodes_[0]->ExplainAsync("beta", nullptr).ok());
  EXPECT_TRUE(nodes_[0]->LevelAsync("beta", nullptr).ok());
  EXPECT_TRUE(nodes_[0]->SetTag("still", "here", 60s).ok());
}

TEST_F(NodeDataTest, AStoppedNodeTakesNoData) {
  nodes_[1]->Stop();
  for (const absl::Status& status :
       {nodes_[1]->SetTag("a", "1"), nodes_[1]->SetTagsAsync({}), nodes_[1]->Broadcast("k", "v"),
        nodes_[1]->BroadcastAsync("k", "v", [](const absl::Status&) { ADD_FAILURE(); })}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  }
}

TEST(NodeDataAlone, AStandaloneNodeHasTagsAndHearsItself) {
  Config config = FastConfig("alpha");
  config.standalone = true;
  const auto node = MustStart(config);
  EventLog log;
  const Subscription watch = node->Subscribe(log.Handler());
  ASSERT_TRUE(node->SetTag("a", "1", 60s).ok());
  EXPECT_TRUE(WaitFor([&] { return node->Members().self()->tags.contains("a"); }));
  ASSERT_TRUE(node->Broadcast("k", "v", 60s).ok());
  EXPECT_TRUE(WaitFor(
      [&] { return log.Count(EventKind::kUpdated, "alpha") == 1 && log.Count(EventKind::kBroadcast, "alpha") == 1; }));
}

}  // namespace
}  // namespace nekton
