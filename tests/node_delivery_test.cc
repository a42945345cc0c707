// The queue between a node and its users, step by step on one thread.
#include <algorithm>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster.h"
#include "tests/node_fixture.h"
#include "transport/delivery.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

MemberPtr Member(const std::string& name, MemberStatus status, bool self = false) {
  MemberInfo info;
  info.name = name;
  info.status = status;
  info.self = self;
  return std::make_shared<const MemberInfo>(std::move(info));
}

class DeliveryTest : public testing::Test {
 protected:
  static std::shared_ptr<Delivery> Make(std::size_t bound, LogSink log = nullptr) {
    return std::make_shared<Delivery>(Delivery::Options{bound, std::move(log)});
  }
  static void Publish(Delivery& delivery, const std::vector<std::string>& names) {
    std::vector<Event> events;
    for (const std::string& name : names) {
      Event event;
      event.kind = EventKind::kJoined;
      event.member = Member(name, MemberStatus::kActive);
      events.push_back(std::move(event));
    }
    delivery.Publish(nullptr, events);
    EXPECT_TRUE(events.empty());
  }
  static EventHandler Into(std::vector<std::string>& heard) {
    return [&heard](const Event& e) { heard.push_back(e.kind == EventKind::kResync ? "resync" : e.member->name); };
  }
};

TEST_F(DeliveryTest, EventsComeInOrderToThoseWhoWereThere) {
  const auto delivery = Make(10);
  std::vector<std::string> first, second;
  Publish(*delivery, {"nobody hears"});
  const auto a = delivery->Subscribe(Into(first), SubscribeFrom::kNow);
  Publish(*delivery, {"x"});
  const auto b = delivery->Subscribe(Into(second), SubscribeFrom::kNow);
  Publish(*delivery, {"y", "z"});
  EXPECT_THAT(first, IsEmpty()) << "never inside Publish()";
  delivery->Dispatch();
  EXPECT_THAT(first, ElementsAre("x", "y", "z"));
  EXPECT_THAT(second, ElementsAre("y", "z"));
}

TEST_F(DeliveryTest, AnOverflowIsOneResyncInPlaceOfAllThatWaited) {
  const auto delivery = Make(3);
  std::vector<std::string> heard;
  const auto watch = delivery->Subscribe(Into(heard), SubscribeFrom::kNow);
  Publish(*delivery, {"1", "2", "3"});
  delivery->Dispatch();
  EXPECT_THAT(heard, ElementsAre("1", "2", "3")) << "the bound itself fits";
  heard.clear();

  Publish(*delivery, {"4", "5"});
  Publish(*delivery, {"6", "7"});  // beyond it: 4 to 7 are lost
  Publish(*delivery, {"8", "9"});
  Publish(*delivery, {"10"});  // beyond it again: 8 to 10 are lost, and still there is one notice
  Publish(*delivery, {"11"});
  delivery->Dispatch();
  EXPECT_THAT(heard, ElementsAre("resync", "11"));
  EXPECT_EQ(delivery->losses().events, 7U);
  EXPECT_EQ(delivery->losses().resyncs, 2U);
}

TEST_F(DeliveryTest, ASnapshotAndTheEventsAfterItFitTogether) {
  const auto delivery = Make(10);
  std::vector<std::string> other, late;
  const auto a = delivery->Subscribe(Into(other), SubscribeFrom::kNow);
  const MembersView view({Member("me", MemberStatus::kActive, true), Member("in", MemberStatus::kActive),
                          Member("doubted", MemberStatus::kSuspect), Member("dead", MemberStatus::kInactive)},
                         1);
  std::vector<Event> events(1);
  events[0].kind = EventKind::kJoined;
  events[0].member = Member("in", MemberStatus::kActive);
  delivery->Publish(&view, events);
  const auto b = delivery->Subscribe(Into(late), SubscribeFrom::kSnapshot);
  Publish(*delivery, {"new"});
  delivery->Dispatch();
  EXPECT_THAT(other, ElementsAre("in", "new"));
  EXPECT_THAT(late, ElementsAre("in", "doubted", "new")) << "neither twice nor left out";
}

TEST_F(DeliveryTest, ASubscriptionMayEndAndBeginInACallback) {
  const auto delivery = Make(10);
  std::vector<std::string> heard;
  Subscription self, victim, fresh;
  self = delivery->Subscribe(
      [&](const Event& e) {
        heard.push_back("self " + e.member->name);
        victim.Cancel();
        fresh = delivery->Subscribe([&](const Event& f) { heard.push_back("fresh " + f.member->name); },
                                    SubscribeFrom::kNow);
        self.Cancel();
      },
      SubscribeFrom::kNow);
  victim = delivery->Subscribe([&](const Event&) { heard.push_back("victim"); }, SubscribeFrom::kNow);
  Publish(*delivery, {"x", "y"});
  delivery->Dispatch();
  EXPECT_THAT(heard, ElementsAre("self x")) << "who subscribes hears what is published from then on";
  Publish(*delivery, {"z"});
  delivery->Dispatch();
  EXPECT_THAT(heard, ElementsAre("self x", "fresh z"));
}

TEST_F(DeliveryTest, ACallbackThatDispatchesFindsNothing) {
  const auto delivery = Make(10);
  std::vector<std::string> heard;
  const auto watch = delivery->Subscribe(
      [&](const Event& e) {
        heard.push_back(e.member->name);
        delivery->Dispatch();  // a handler that runs the user's loop
        heard.push_back("end of " + e.member->name);
      },
      SubscribeFrom::kNow);
  Publish(*delivery, {"x", "y"});
  delivery->Dispatch();
  EXPECT_THAT(heard, ElementsAre("x", "end of x", "y", "end of y"));
}

TEST_F(DeliveryTest, NothingComesAfterStop) {
  std::vector<std::string> lines;
  const auto delivery = Make(10, [&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  std::vector<std::string> heard;
  const auto watch = delivery->Subscribe(
      [&](const Event& e) {
        heard.push_back(e.member->name);
        delivery->Stop();
      },
      SubscribeFrom::kNow);
  Publish(*delivery, {"x", "y"});
  delivery->Dispatch();
  EXPECT_THAT(heard, ElementsAre("x"));
  Publish(*delivery, {"z"});
  delivery->Log(LogLevel::kInfo, "line");
  delivery->LeaveEnded(absl::OkStatus());
  delivery->Dispatch();
  EXPECT_THAT(heard, ElementsAre("x"));
  EXPECT_THAT(lines, IsEmpty());
  EXPECT_TRUE(absl::IsFailedPrecondition(delivery->OnLeft([](const absl::Status&) { FAIL(); })));
  EXPECT_TRUE(absl::IsCancelled(delivery->WaitLeft(std::chrono::hours(1))));
  EXPECT_TRUE(absl::IsCancelled(delivery->WaitJoined(Duration::max())));
}

TEST_F(DeliveryTest, CompletionsComeOnceAndAfterTheEventsThatLedToThem) {
  const auto delivery = Make(10);
  std::vector<std::string> heard;
  const auto watch = delivery->Subscribe(Into(heard), SubscribeFrom::kNow);
  const auto done = [&](const absl::Status& s) { heard.push_back("left: " + s.ToString()); };
  EXPECT_TRUE(delivery->OnLeft(done).ok());
  delivery->Dispatch();
  EXPECT_THAT(heard, IsEmpty());
  Publish(*delivery, {"x"});
  delivery->LeaveEnded(absl::OkStatus());
  delivery->LeaveEnded(absl::UnavailableError("a second one"));
  delivery->Dispatch();
  EXPECT_THAT(heard, ElementsAre("x", "left: OK"));
  EXPECT_TRUE(delivery->OnLeft(done).ok());
  delivery->Dispatch();
  EXPECT_THAT(heard, ElementsAre("x", "left: OK", "left: OK")) << "who asks later hears it, too";
  EXPECT_TRUE(delivery->WaitLeft(Duration::zero()).ok());
}

TEST_F(DeliveryTest, WaitersForTheLeaveAreBounded) {
  const auto delivery = Make(10);
  for (std::size_t i = 0; i < Delivery::kCompletionsMax; ++i) {
    ASSERT_TRUE(delivery->OnLeft([](const absl::Status&) {}).ok());
  }
  EXPECT_TRUE(absl::IsResourceExhausted(delivery->OnLeft([](const absl::Status&) {})));
  delivery->LeaveEnded(absl::OkStatus());
  EXPECT_TRUE(absl::IsResourceExhausted(delivery->OnLeft([](const absl::Status&) {}))) << "none was told yet";
  delivery->Dispatch();
  EXPECT_TRUE(delivery->OnLeft(nullptr).ok());
  delivery->Dispatch();
}

TEST_F(DeliveryTest, WhatElseWaitsIsNoneOfThem) {
  const auto delivery = Make(10);
  for (std::size_t i = 0; i < Delivery::kCompletionsMax; ++i) delivery->Post([] {});
  EXPECT_TRUE(delivery->OnLeft([](const absl::Status&) {}).ok());
}

TEST_F(DeliveryTest, PlacesOfCompletionsAreBoundedAndGivenBack) {
  Delivery::Options options;
  options.completions = 2;
  auto delivery = std::make_shared<Delivery>(options);
  auto first = delivery->TakePlace();
  auto second = delivery->TakePlace();
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_TRUE(absl::IsResourceExhausted(delivery->TakePlace().status()));
  EXPECT_TRUE(absl::IsResourceExhausted(delivery->TakePlace().status())) << "a refusal takes none";
  const Delivery::Place copy = *first;
  *first = nullptr;
  EXPECT_FALSE(delivery->TakePlace().ok()) << "a copy of it is left";
  *second = nullptr;
  EXPECT_TRUE(delivery->TakePlace().ok());
  delivery.reset();  // before `copy`, which outlives it
}

TEST_F(DeliveryTest, LinesOfTheLogAreBoundedAndThoseLostAreCounted) {
  std::size_t lines = 0;
  const auto delivery = Make(10, [&](LogLevel, std::string_view) { ++lines; });
  for (std::size_t i = 0; i < Delivery::kLinesMax + 5; ++i) delivery->Log(LogLevel::kWarning, "line");
  delivery->Dispatch();
  EXPECT_EQ(lines, Delivery::kLinesMax);
  EXPECT_EQ(delivery->losses().lines, 5U);
}

TEST_F(DeliveryTest, TheFailureToJoinTellsTheLastResultOfEachAddressAndIsBounded) {
  const auto delivery = Make(10);
  for (int i = 0; i < 200; ++i) {
    std::vector<Event> events(2);
    events[0].kind = events[1].kind = EventKind::kJoinResult;
    events[0].address = Address::V4(127, 0, 0, 1, static_cast<std::uint16_t>(i + 1));
    events[0].status = absl::UnavailableError("nobody there");
    events[1].status = absl::UnavailableError("seed cluster:1 does not resolve: no such host");
    delivery->Publish(nullptr, events);
  }
  const std::string message(delivery->WaitJoined(Duration::zero()).message());
  EXPECT_THAT(message, testing::HasSubstr("127.0.0.1:200: nobody there; seed cluster:1 does not resolve"));
  EXPECT_THAT(message, testing::Not(testing::HasSubstr("127.0.0.1:100:")));
  EXPECT_EQ(message.find("cluster"), message.rfind("cluster")) << "each once";
}

// A subscriber sleeps for ten seconds of the group's time while two thousand things happen to its member. Whoever publishes
// never waits for it, nobody is suspected for it, one event stands for all that was lost, and the snapshot is the truth.
TEST_F(DeliveryTest, ASubscriberThatSleepsTenSecondsHoldsUpNobody) {
  Cluster c({.nodes = 5, .seed = 2});
  ASSERT_TRUE(c.Converge());
  const auto delivery = Make(1000);
  std::vector<Event> pending;
  const auto publish = [&] {
    const auto& member = c.member(0);
    const MembersView view(member.Members(), member.version(), member.contact());
    delivery->Publish(&view, pending);
  };
  c.sim().SetHandler([&](const SimEvent& event) {
    if (event.member != 0) return;
    pending.push_back(event.event);
    publish();
  });
  std::promise<void> asleep;
  std::promise<void> awake;
  std::vector<EventKind> heard;
  std::string last;
  std::promise<void> end;
  const auto watch = delivery->Subscribe(
      [&](const Event& event) {
        heard.push_back(event.kind);
        if (heard.size() == 1) {
          asleep.set_value();
          awake.get_future().wait();
        }
        if (event.kind == EventKind::kBroadcast) last = event.broadcast->bytes;
        if (last == "end") end.set_value();
      },
      SubscribeFrom::kNow);
  std::thread dispatcher([&] { delivery->Run(); });
  const Duration since = c.now();
  const std::size_t before = c.Events({.observer = 0}).size();
  ASSERT_TRUE(c.sim().Order(0, Broadcast{"first", "0"}).ok());
  asleep.get_future().wait();
  for (int i = 0; i < 2000; ++i) {
    ASSERT_TRUE(c.sim().Order(static_cast<SimId>(i) % 5, Broadcast{"k", std::to_string(i)}).ok());
    ASSERT_TRUE(c.sim().Order(0, SetTag{"t", std::to_string(i)}).ok());
    c.RunFor(5ms);
  }
  EXPECT_EQ(c.now() - since, 10s);
  EXPECT_EQ(c.Count(EventKind::kSuspected), 0u);
  const Delivery::Losses lost = delivery->losses();
  EXPECT_GE(lost.events, 2000u);
  EXPECT_GE(lost.resyncs, 2u) << "the queue has overflowed again and again";
  ASSERT_TRUE(c.sim().Order(0, Broadcast{"last", "end"}).ok());
  awake.set_value();
  end.get_future().wait();
  delivery->Stop();
  dispatcher.join();
  ASSERT_GE(heard.size(), 3u);
  EXPECT_EQ(std::count(heard.begin(), heard.end(), EventKind::kResync), 1);
  EXPECT_EQ(heard[1], EventKind::kResync) << "it stands where the lost ones were";
  // Each event was told or counted as lost; the notice itself was published by nobody.
  const std::size_t published = c.Events({.observer = 0}).size() - before;
  EXPECT_EQ(heard.size() - 1 + lost.events, published);
  EXPECT_EQ(delivery->view().Find("n0")->tags.at("t"), "1999");
}

// The same on real sockets, with an overflow by one.
TEST(NodeDelivery, ExactlyOneResyncStandsForAllThatWaited) {
  NodeOptions options;
  options.event_queue = 8;
  Config config;
  config.name = "alone";
  config.standalone = true;
  const auto node = MustStart(config, options);
  std::promise<void> asleep;
  std::promise<void> awake;
  std::mutex mutex;
  std::vector<std::string> heard;
  const auto watch = node->Subscribe([&](const Event& event) {
    {
      const std::lock_guard lock(mutex);
      heard.push_back(event.kind == EventKind::kBroadcast ? event.broadcast->bytes : std::string(Name(event.kind)));
    }
    if (heard.size() > 1) return;
    asleep.set_value();
    awake.get_future().wait();
  });
  ASSERT_TRUE(node->Broadcast("k", "first", 60s).ok());
  asleep.get_future().wait();
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(node->Broadcast("k", std::to_string(i), 60s).ok());
  EXPECT_EQ(CounterOf(*node, "node_resyncs"), 0u) << "so many fit";
  ASSERT_TRUE(node->Broadcast("k", "one too many", 60s).ok());
  EXPECT_EQ(CounterOf(*node, "node_resyncs"), 1u);
  EXPECT_EQ(CounterOf(*node, "node_events_lost"), 9u);
  EXPECT_EQ(node->HeldBroadcasts(60s)->at(0).bytes, "one too many") << "what was lost is there to be read";
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(node->Broadcast("k", "after", 60s).ok());
  awake.set_value();
  ASSERT_TRUE(WaitFor([&] {
    const std::lock_guard lock(mutex);
    return heard.size() == 9;
  }));
  EXPECT_THAT(heard, ElementsAre("first", "resync", "after", "after", "after", "after", "after", "after", "after"));
}

}  // namespace
}  // namespace nekton
