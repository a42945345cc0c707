// What users ask of a running node, or hand in to it: explanations and observations.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <uv.h>

#include "tests/node_fixture.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// Two nodes that know each other; beta does not answer for itself here, so what alpha holds of it is up to the test.
class NodeCallsTest : public testing::Test {
 protected:
  void SetUp() override {
    Config config = FastConfig("alpha");
    config.period = 1s;  // a round takes long, so that what is handed in decides
    config.tolerated_pause = 3s;
    config.max_local_pause = 500ms;
    config.forget_after = 90s;
    alpha_ = MustStart(config);
    config.name = "beta";
    config.seeds = {alpha_->local().ToString()};
    beta_ = MustStart(config);
    ASSERT_TRUE(WaitFor([&] { return Has(*alpha_, "beta", MemberStatus::kActive); }));
  }

  static std::vector<PeerObservation> Suspects(std::size_t count) {
    return std::vector<PeerObservation>(count, {.peer = "beta", .signal = Signal::kSuspect});
  }

  std::unique_ptr<Node> alpha_;
  std::unique_ptr<Node> beta_;
};

TEST_F(NodeCallsTest, ObservationsAreDebouncedAndExplained) {
  EventLog log;
  const Subscription watch = alpha_->Subscribe(log.Handler());
  EXPECT_TRUE(alpha_->Observe({}).ok());
  EXPECT_TRUE(alpha_->Observe(Suspects(8), 60s).ok());
  ASSERT_TRUE(WaitFor([&] { return log.Count(EventKind::kSuspected, "beta") == 1; })) << log.text();
  EXPECT_THAT(log.text(), HasSubstr("application"));

  const auto why = alpha_->Explain("beta", 60s);
  ASSERT_TRUE(why.ok()) << why.status();
  EXPECT_EQ(why->member->name, "beta");
  ASSERT_FALSE(why->why.recent.empty());
  EXPECT_THAT(Describe(*why), HasSubstr("alpha"));
  EXPECT_GE(CounterOf(*alpha_, "stm_input_applied"), 5u);
}

TEST_F(NodeCallsTest, MistakesAreToldAndNothingIsApplied) {
  std::vector<PeerObservation> mixed = Suspects(5);
  mixed.push_back({.peer = "nobody", .signal = Signal::kSuspect});
  mixed.push_back({.peer = "alpha", .signal = Signal::kSuspect});
  const absl::Status status = alpha_->Observe(mixed, 60s);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("observations[5].peer = \"nobody\""));
  EXPECT_THAT(std::string(status.message()), HasSubstr("observations[6].peer"));
  EXPECT_EQ(alpha_->Explain("nobody", 60s).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(alpha_->Explain("beta", -1s).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Has(*alpha_, "beta", MemberStatus::kActive));
}

TEST_F(NodeCallsTest, TheAsynchronousFormsAreLegalInCallbacksWhereTheOthersWouldBlock) {
  std::promise<std::string> told;
  std::promise<absl::StatusCode> blocking;
  ASSERT_TRUE(alpha_
                  ->ObserveAsync(Suspects(1),
                                 [&](const absl::Status& status) {
                                   EXPECT_TRUE(status.ok()) << status;
                                   blocking.set_value(alpha_->Explain("beta").status().code());
                                   EXPECT_TRUE(alpha_
                                                   ->ExplainAsync("beta",
                                                                  [&](const absl::StatusOr<MemberExplanation>& why) {
                                                                    told.set_value(why.ok() ? Describe(*why) : "");
                                                                  })
                                                   .ok());
                                 })
                  .ok());
  EXPECT_EQ(blocking.get_future().get(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(told.get_future().get(), HasSubstr("beta is ACTIVE"));
}

TEST_F(NodeCallsTest, TheDetectorIsSwappedWhileItRunsAndNobodyHealthyIsSuspected) {
  EventLog log;
  const Subscription watch = alpha_->Subscribe(log.Handler());
  for (const DetectorKind detector : {DetectorKind::kPhi, DetectorKind::kFixed, DetectorKind::kPhi}) {
    EXPECT_TRUE(alpha_->Reconfigure(detector).ok());
    const std::uint64_t rounds = CounterOf(*alpha_, "probe_rounds");
    EXPECT_TRUE(WaitFor([&] { return CounterOf(*alpha_, "probe_rounds") > rounds; }));
  }
  EXPECT_EQ(alpha_->Reconfigure(static_cast<DetectorKind>(9)).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(log.Count(EventKind::kSuspected), 0u) << log.text();
}

TEST_F(NodeCallsTest, AStoppedNodeAnswersNobodyAndHoldsNobodyUp) {
  alpha_->Stop();
  EXPECT_EQ(alpha_->Explain("beta").status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(alpha_->Observe(Suspects(1)).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(alpha_->ObserveAsync(Suspects(1)).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(alpha_->Reconfigure(DetectorKind::kPhi).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(NodeCallsTest, ManyThreadsMayAskWhileItStops) {
  std::atomic<int> answered = 0;
  std::vector<std::thread> askers;
  for (int i = 0; i < 4; ++i) {
    askers.emplace_back([&] {
      for (;;) {
        const auto why = alpha_->Explain("beta", 60s);
        if (why.ok()) {
          ++answered;
          continue;
        }
        const absl::StatusCode code = why.status().code();
        EXPECT_TRUE(code == absl::StatusCode::kFailedPrecondition || code == absl::StatusCode::kCancelled);
        return;
      }
    });
  }
  EXPECT_TRUE(WaitFor([&] { return answered > 20; }));
  alpha_->Stop();
  for (std::thread& asker : askers) asker.join();
}

// A node whose callbacks wait until they are let go.
class BlockedNode {
 public:
  explicit BlockedNode(std::size_t places) {
    NodeOptions options;
    options.callback_queue = places;
    Config config;
    config.name = "alone";
    config.standalone = true;
    node = MustStart(config, std::move(options));
    watch_ = node->Subscribe([this](const Event&) {
      entered_.store(true);
      opened_.wait();
    });
    EXPECT_TRUE(node->SetTag("x", "y", 60s).ok());  // the event of it blocks
    EXPECT_TRUE(WaitFor([&] { return entered_.load(); }));
  }
  void LetGo() { gate_.set_value(); }

  std::unique_ptr<Node> node;

 private:
  std::promise<void> gate_;
  const std::shared_future<void> opened_ = gate_.get_future().share();
  std::atomic<bool> entered_ = false;
  Subscription watch_;
};

// Completions wait behind a handler that blocks: so many, and no more; none of those that were promised is lost.
TEST(NodeCallbacks, AreBoundedByARefusalAndNoneIsLost) {
  BlockedNode blocked(100);
  Node& node = *blocked.node;
  std::vector<std::atomic<int>> called(300);
  std::size_t taken = 0;
  for (std::size_t i = 0; i < called.size(); ++i) {
    absl::Status status;
    do {  // the loop's own queue may be full for a moment
      status = node.SetTagAsync("k", std::to_string(i), [&called, i](const absl::Status& set) {
        EXPECT_TRUE(set.ok()) << set;
        ++called[i];
      });
    } while (absl::IsResourceExhausted(status) &&
             std::string(status.message()).find("calls wait for") == std::string::npos);
    if (status.ok()) {
      EXPECT_EQ(taken, i) << "what comes after a refusal is refused, too";
      ++taken;
    } else {
      EXPECT_THAT(std::string(status.message()), HasSubstr("100 calls wait for their callbacks"));
      EXPECT_THAT(std::string(status.message()), HasSubstr("NodeOptions::callback_queue"));
    }
  }
  EXPECT_EQ(taken, 100u);
  // Who wants no callback, or waits, needs no place.
  EXPECT_TRUE(node.SetTagAsync("k", "without").ok());
  EXPECT_TRUE(node.SetTag("k", "waiting", 60s).ok());
  blocked.LetGo();
  EXPECT_TRUE(WaitFor([&] { return called[99] == 1; }));
  for (std::size_t i = 0; i < called.size(); ++i) EXPECT_EQ(called[i], i < 100 ? 1 : 0) << i;
  EXPECT_TRUE(WaitFor([&] { return node.SetTagAsync("k", "again", [](const absl::Status&) {}).ok(); }));
}

TEST(NodeCallbacks, EachAsynchronousFormHasItsPlace) {
  BlockedNode blocked(1);
  Node& node = *blocked.node;
  const auto done = [](const auto&) {};
  // To nobody: it has ended, and its callback waits.
  ASSERT_TRUE(node.RequestAsync("nobody", {}, {}, done).ok());
  const std::vector<std::pair<const char*, absl::Status>> refused = {
      {"Observe", node.ObserveAsync({}, done)},
      {"Reconfigure", node.ReconfigureAsync(Reconfigure{}, done)},
      {"Maintenance", node.MaintenanceAsync("x", 1s, done)},
      {"Expel", node.ExpelAsync("x", done)},
      {"Explain", node.ExplainAsync("x", done)},
      {"Watch", node.WatchAsync("x", 1s, {1}, done)},
      {"Unwatch", node.UnwatchAsync("x", done)},
      {"Level", node.LevelAsync("x", done)},
      {"SetTag", node.SetTagAsync("k", "v", done)},
      {"EraseTag", node.EraseTagAsync("k", done)},
      {"SetTags", node.SetTagsAsync({}, done)},
      {"Broadcast", node.BroadcastAsync("k", "v", done)},
      {"HeldBroadcasts", node.HeldBroadcastsAsync(done)},
      {"SendReliable", node.SendReliableAsync("x", {}, {}, done).status()},
      {"Request", node.RequestAsync("x", {}, {}, done).status()},
  };
  for (const auto& [name, status] : refused) {
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << name << ": " << status;
  }
  EXPECT_TRUE(node.HeldBroadcasts(60s)->empty()) << "what was refused was not done";
  blocked.LetGo();
}

TEST(NodeCallbacks, ThoseOfJoinsToo) {
  NodeOptions options;
  options.callback_queue = 1;
  const auto node = MustStart(FastConfig("alpha"), options);
  const auto done = [](const JoinReport&) {};
  ASSERT_TRUE(node->JoinAsync({"127.0.0.1:1"}, 1h, done).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(node->JoinAsync({"127.0.0.1:2"}, 1h, done)));
  EXPECT_TRUE(node->JoinAsync({"127.0.0.1:2"}, 1h, nullptr).ok());
  options.callback_queue = 0;
  EXPECT_THAT(std::string(Node::Start(FastConfig("beta"), options).status().message()), HasSubstr("callback_queue"));
}

// Whoever gives no handler is told nothing, and nothing breaks.
TEST_F(NodeCallsTest, NoHandlerIsNone) {
  Subscription none = alpha_->Subscribe(nullptr);
  const Subscription other = alpha_->Subscribe(EventHandler(), SubscribeFrom::kSnapshot);
  EventLog log;
  const Subscription watch = alpha_->Subscribe(log.Handler(), SubscribeFrom::kSnapshot);
  EXPECT_TRUE(alpha_->ObserveAsync({}, nullptr).ok());
  EXPECT_TRUE(alpha_->ReconfigureAsync(Reconfigure{}, nullptr).ok());
  EXPECT_TRUE(alpha_->MaintenanceAsync("beta", 1s, nullptr).ok());
  EXPECT_TRUE(alpha_->ExpelAsync("nobody", nullptr).ok());
  EXPECT_TRUE(alpha_->ExplainAsync("beta", nullptr).ok());
  EXPECT_TRUE(alpha_->WatchAsync("beta", 1s, {1}, nullptr).ok());
  EXPECT_TRUE(alpha_->LevelAsync("beta", nullptr).ok());
  EXPECT_TRUE(alpha_->UnwatchAsync("beta", nullptr).ok());
  EXPECT_TRUE(alpha_->SetTagAsync("k", "v", nullptr).ok());
  EXPECT_TRUE(alpha_->EraseTagAsync("k", nullptr).ok());
  EXPECT_TRUE(alpha_->SetTagsAsync({}, nullptr).ok());
  EXPECT_TRUE(alpha_->BroadcastAsync("k", "v", nullptr).ok());
  EXPECT_TRUE(alpha_->HeldBroadcastsAsync(nullptr).ok());
  EXPECT_TRUE(alpha_->SendReliableAsync("beta", {}, {}, nullptr).ok());
  EXPECT_TRUE(alpha_->RequestAsync("beta", {}, {}, nullptr).ok());
  EXPECT_TRUE(alpha_->JoinAsync({"127.0.0.1:1"}, 1s, nullptr).ok());
  alpha_->OnMessage(nullptr);
  alpha_->OnRequest(RequestHandler());
  EXPECT_EQ(alpha_->Join({}, 1s).status.code(), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(WaitFor([&] { return log.Count(EventKind::kBroadcast) == 1; })) << log.text();
  EXPECT_TRUE(alpha_->LeaveAsync(1ms, nullptr).ok());
  none.Cancel();
  EXPECT_TRUE(WaitFor([&] { return log.Count(EventKind::kLeaveDone) == 1; }));
}

TEST_F(NodeCallsTest, AResponderThatWasMovedAwaySaysSo) {
  std::promise<void> answered;
  alpha_->OnRequest([&](const Message&, Responder responder) {
    Responder kept = std::move(responder);
    // The mistake that is easily made: it is moved into the callback's keeping before it is asked.
    EXPECT_THAT(std::string(alpha_->RequestAsync("beta", {}, {.deadline_of = &responder}, nullptr).status().message()),
                HasSubstr("deadline_of: it was moved away"));
    EXPECT_EQ(responder.Answer({}).code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(responder.Fail(absl::InternalError("x")).code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_TRUE(responder.cancelled());
    EXPECT_EQ(responder.remaining(), 0ns);
    EXPECT_EQ(responder.member(), "");
    responder.OnCancel([] { ADD_FAILURE(); });
    EXPECT_TRUE(kept.Answer({}).ok());
    kept.OnCancel(nullptr);
    answered.set_value();
  });
  ASSERT_TRUE(WaitFor([&] { return Has(*beta_, "alpha", MemberStatus::kActive); }));
  EXPECT_TRUE(beta_->Request("alpha", {}, {.budget = 60s}).ok());
  answered.get_future().wait();
}

// However often it is called, one waits for each responder: the latest.
TEST_F(NodeCallsTest, CallbacksOfACancelledRequestDoNotPileUp) {
  std::promise<absl::StatusOr<RequestId>> id;
  std::atomic<int> first = 0;
  std::atomic<int> latest = 0;
  std::atomic<bool> asked = false;
  const auto token = std::make_shared<int>(0);
  alpha_->OnRequest([&](const Message&, Responder responder) {
    asked = true;
    while (!responder.cancelled()) std::this_thread::yield();
    for (int i = 0; i < 100'000; ++i) responder.OnCancel([&first, token] { ++first; });
    EXPECT_LE(token.use_count(), 3) << "it holds the last one alone";
    responder.OnCancel([&latest] { ++latest; });
    EXPECT_EQ(latest, 0) << "not inside the call";
  });
  ASSERT_TRUE(WaitFor([&] { return Has(*beta_, "alpha", MemberStatus::kActive); }));
  const auto request = beta_->RequestAsync("alpha", {}, {.budget = 1h}, nullptr);
  ASSERT_TRUE(request.ok()) << request.status();
  ASSERT_TRUE(WaitFor([&] { return asked.load(); }));
  ASSERT_TRUE(beta_->CancelRequest(*request).ok());
  ASSERT_TRUE(WaitFor([&] { return latest == 1; }));
  EXPECT_EQ(first, 0);
  alpha_->Stop();
  EXPECT_EQ(token.use_count(), 1);
}

// Of 100 ms, 80 are spent when the next one is asked: that has at most 20, whatever is asked for. On a slow machine it takes
// more than 100 until it comes there in time.
TEST_F(NodeCallsTest, TheNextHopHasWhatIsLeft) {
  Config config = FastConfig("gamma", {alpha_->local().ToString()});
  config.period = 1s;
  config.tolerated_pause = 3s;
  config.forget_after = 90s;
  config.max_local_pause = 500ms;
  const auto gamma = MustStart(config);
  ASSERT_TRUE(WaitFor([&] { return Has(*beta_, "gamma", MemberStatus::kActive); }));
  ASSERT_TRUE(WaitFor([&] { return Has(*alpha_, "beta", MemberStatus::kActive); }));
  ASSERT_TRUE(WaitFor([&] { return Has(*gamma, "beta", MemberStatus::kActive); }));
  std::atomic<std::int64_t> budget = 0;
  std::atomic<std::int64_t> left_there = -1;
  std::atomic<std::int64_t> left_before = -1;
  gamma->OnRequest([&](const Message&, Responder responder) {
    left_there = responder.remaining().count();
    responder.Answer({}).IgnoreError();
  });
  beta_->OnRequest([&](const Message&, Responder responder) {
    while (responder.remaining().count() > budget / 5) std::this_thread::yield();
    left_before = responder.remaining().count();
    beta_->RequestAsync("gamma", {}, {.budget = 1h, .deadline_of = &responder}, nullptr).status().IgnoreError();
  });
  for (Duration all = 100ms; left_there <= 0; all *= 2) {
    ASSERT_LT(all, 100s);
    budget = all.count();
    alpha_->Request("beta", {}, {.budget = all}).IgnoreError();
  }
  EXPECT_LE(left_there, left_before);
  EXPECT_LE(left_there, budget / 5);
}

// On the user's loop: whoever asks from another thread waits for a turn of it, and no longer than it said.
TEST(NodeCallsAttachTest, ALoopThatDoesNotRunIsADeadlineAndNoDeadlock) {
  uv_loop_t loop;
  ASSERT_EQ(uv_loop_init(&loop), 0);
  {
    auto node = Node::Attach(&loop, FastConfig("alone"));
    ASSERT_TRUE(node.ok()) << node.status();
    absl::Status from_outside;
    std::thread asker([&] { from_outside = (*node)->Explain("alone", 20ms).status(); });
    asker.join();
    EXPECT_EQ(from_outside.code(), absl::StatusCode::kDeadlineExceeded);
    EXPECT_EQ((*node)->Explain("alone").status().code(), absl::StatusCode::kFailedPrecondition)
        << "on the loop's thread";
    bool told = false;
    ASSERT_TRUE((*node)->ExplainAsync("alone", [&](const auto& why) { told = why.ok(); }).ok());
    for (int turns = 0; turns < 1000 && !told; ++turns) uv_run(&loop, UV_RUN_NOWAIT);
    EXPECT_TRUE(told);
  }
  uv_run(&loop, UV_RUN_DEFAULT);
  EXPECT_EQ(uv_loop_close(&loop), 0);
}

}  // namespace
}  // namespace nekton
