// Nodes attached to a loop of the user's: where they call back, how they go, and what they hear first.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "swim/random.h"
#include "tests/node_fixture.h"
#include "tests/uv_fixture.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

class NodeAttachTest : public UvTest {
 protected:
  std::unique_ptr<Node> Attach(Config config, NodeOptions options = {}) {
    auto node = Node::Attach(&loop_, std::move(config), std::move(options));
    EXPECT_TRUE(node.ok()) << node.status();
    return *std::move(node);
  }
};

TEST_F(NodeAttachTest, RunsOnTheUsersLoopAndCallsBackThere) {
  auto alpha = Attach(FastConfig("alpha"));
  EXPECT_TRUE(absl::IsFailedPrecondition(alpha->WaitJoined(1h)));
  EXPECT_TRUE(absl::IsFailedPrecondition(alpha->Leave(1h)));
  const auto here = std::this_thread::get_id();
  std::size_t joined = 0;
  const auto watch = alpha->Subscribe([&](const Event& event) {
    EXPECT_EQ(std::this_thread::get_id(), here);
    EXPECT_TRUE(absl::IsFailedPrecondition(alpha->WaitJoined(1h)));
    if (event.kind == EventKind::kJoined) ++joined;
  });
  auto beta = MustStart(FastConfig("beta", {alpha->local().ToString()}));
  ASSERT_TRUE(RunUntil([&] { return joined == 1; }));
  bool left = false;
  EXPECT_TRUE(alpha
                  ->LeaveAsync(10s,
                               [&](const absl::Status& status) {
                                 EXPECT_TRUE(status.ok()) << status;
                                 left = true;
                               })
                  .ok());
  EXPECT_FALSE(left) << "later, not now";
  ASSERT_TRUE(RunUntil([&] { return left; }));
}

TEST_F(NodeAttachTest, ALateSubscriberIsToldInATurnOfTheLoop) {
  auto alpha = Attach(FastConfig("alpha"));
  auto beta = MustStart(FastConfig("beta", {alpha->local().ToString()}));
  ASSERT_TRUE(RunUntil([&] { return alpha->Members().Alive().size() == 2; }));
  EventLog log;
  const auto watch = alpha->Subscribe(log.Handler(), SubscribeFrom::kSnapshot);
  EXPECT_TRUE(log.all().empty()) << "not inside the call";
  ASSERT_TRUE(RunUntil([&] { return log.Count(EventKind::kJoined, "beta") == 1; }));
}

// The fixture closes the loop and counts what is left.
TEST_F(NodeAttachTest, TheLoopClosesCleanInWhateverStateTheNodeWas) {
  auto peer = MustStart(FastConfig("peer"));
  const std::string seed = peer->local().ToString();
  for (int turns : {0, 1, 2, 5, 50}) {
    auto node = Attach(FastConfig("alpha", {seed, "127.0.0.1:1"}));
    RunTurns(turns);
    const Address address = node->local();
    node.reset();  // does not wait for the loop
    RunTurns(2);
    EXPECT_TRUE(BindPair(address).ok()) << "its sockets are closed after two turns";
  }
}

TEST_F(NodeAttachTest, DestroyedInItsCallback) {
  auto alpha = Attach(FastConfig("alpha"));
  int calls = 0;
  const auto watch = alpha->Subscribe([&](const Event&) {
    ++calls;
    alpha.reset();
  });
  auto beta = MustStart(FastConfig("beta", {alpha->local().ToString()}));
  ASSERT_TRUE(RunUntil([&] { return alpha == nullptr; }));
  RunTurns(10);
  EXPECT_EQ(calls, 1);
}

TEST_F(NodeAttachTest, StoppedByAnotherThreadWhileTheLoopRuns) {
  auto alpha = Attach(FastConfig("alpha"));
  std::thread stopper([&] { alpha->Stop(); });
  EXPECT_TRUE(RunUntil([&] { return BindPair(alpha->local()).ok(); }));
  stopper.join();
}

// There it is Stop() alone that waits for the callback: no thread ends.
TEST_F(NodeAttachTest, StoppedByAnotherThreadWhileACallbackRuns) {
  auto alpha = Attach(FastConfig("alpha"));
  std::atomic<bool> inside = false, stopping = false, finished = false;
  const auto watch = alpha->Subscribe([&](const Event&) {
    inside = true;
    while (!stopping) std::this_thread::yield();
    std::this_thread::sleep_for(20ms);
    finished = true;
  });
  auto beta = MustStart(FastConfig("beta", {alpha->local().ToString()}));
  std::thread stopper([&] {
    while (!inside) std::this_thread::yield();
    stopping = true;
    alpha->Stop();
    EXPECT_TRUE(finished) << "returned while the callback ran";
  });
  EXPECT_TRUE(RunUntil([&] { return finished.load(); }));
  stopper.join();
}

TEST_F(NodeAttachTest, APortInUseLeavesTheLoopAsItWas) {
  auto alpha = MustStart(FastConfig("alpha"));
  Config config = FastConfig("beta");
  config.bind = alpha->local().ToString();
  EXPECT_TRUE(absl::IsAlreadyExists(Node::Attach(&loop_, config).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Node::Attach(nullptr, FastConfig("beta")).status()));
}

// Others wait for what happens on the loop; a loop that stands still is told apart.
TEST_F(NodeAttachTest, BlockingFormsOfOtherThreads) {
  auto alpha = Attach(FastConfig("alpha"));
  auto beta = MustStart(FastConfig("beta", {alpha->local().ToString()}));
  std::atomic<bool> done = false;
  std::thread other([&] {
    EXPECT_TRUE(alpha->WaitJoined(60s).ok());
    EXPECT_TRUE(alpha->Leave(10s).ok());
    done = true;
  });
  ASSERT_TRUE(RunUntil([&] { return done.load(); }));
  other.join();
}

TEST_F(NodeAttachTest, LeavingOnALoopThatStandsStillEndsInTime) {
  auto alpha = Attach(FastConfig("alpha"));
  absl::Status status;
  std::thread other([&] { status = alpha->Leave(10ms); });
  other.join();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
}

// An answer that is not taken because too much waits for the loop may be given again; until then it may be cancelled.
TEST_F(NodeAttachTest, ARequestWhoseAnswerWasRefusedIsCancelledAsBefore) {
  std::unique_ptr<Node> alpha = Attach(FastConfig("alpha"));
  const auto beta = MustStart(FastConfig("beta", {alpha->local().ToString()}));
  ASSERT_TRUE(RunUntil([&] { return beta->Members().Alive().size() == 2; }));
  std::optional<Responder> kept;
  int cancels = 0;
  alpha->OnRequest([&](const Message&, Responder responder) { kept.emplace(std::move(responder)); });
  const auto id = beta->RequestAsync("alpha", {}, {.budget = 10min}, nullptr);
  ASSERT_TRUE(id.ok()) << id.status();
  ASSERT_TRUE(RunUntil([&] { return kept.has_value(); }));
  kept->OnCancel([&] { ++cancels; });
  while (alpha->ExplainAsync("alpha", nullptr).ok()) {
  }
  EXPECT_EQ(kept->Answer({}).code(), absl::StatusCode::kResourceExhausted);
  ASSERT_TRUE(beta->CancelRequest(*id).ok());
  EXPECT_TRUE(RunUntil([&] { return cancels == 1; }));
  EXPECT_EQ(kept->Answer({}).code(), absl::StatusCode::kCancelled);
  kept.reset();
  alpha.reset();
}

// The order rule: an ack that waits in the socket, behind a heap of other datagrams, comes before the deadline that
// passed while the loop stood still. Both loops are turned by hand, so it is known what waits.
TEST_F(NodeAttachTest, WaitingInputIsHeardBeforeTimersThatRanOut) {
  Config config = FastConfig("alpha");
  config.period = 1s;
  config.tolerated_pause = 3s;
  config.max_local_pause = 1s;  // so that the pauses below are none that excuse everything
  auto alpha = Attach(config);
  uv_loop_t other;
  ASSERT_EQ(uv_loop_init(&other), 0);
  config.name = "beta";
  config.seeds = {alpha->local().ToString()};
  auto beta = Node::Attach(&other, config);
  ASSERT_TRUE(beta.ok()) << beta.status();
  const auto turn_other = [&] { uv_run(&other, UV_RUN_NOWAIT); };
  ASSERT_TRUE(RunUntil([&] {
    turn_other();
    return alpha->Members().Alive().size() == 2 && (*beta)->Members().Alive().size() == 2;
  }));

  RawSocket stranger(SOCK_DGRAM);
  // A machine under load may make a longer pause of a stall, and that one excuses everything: it does not count.
  int stalls = 0;
  for (int tries = 0; stalls < 3 && tries < 50; ++tries) {
    const std::uint64_t pauses = CounterOf(*alpha, "pauses_of_this_process");
    const std::uint64_t rounds = CounterOf(*alpha, "probe_rounds");
    ASSERT_TRUE(RunUntil([&] {
      if (CounterOf(*alpha, "probe_rounds") > rounds) return true;  // its ping is out
      turn_other();
      return false;
    }));
    const std::uint64_t began = uv_hrtime();
    const std::uint64_t junk = CounterOf(*alpha, "bad_too_short");
    for (int k = 0; k < 200; ++k) stranger.SendTo(alpha->local(), "junk");  // several turns' worth
    const std::uint64_t heard = CounterOf(**beta, "datagrams_received");
    ASSERT_TRUE(WaitFor([&] {
      turn_other();
      return CounterOf(**beta, "datagrams_received") > heard || uv_hrtime() - began > 400000000;
    }));
    StandStillUntil(began + 450000000);  // the attempt's deadline, 200 ms, is long over
    ASSERT_TRUE(RunUntil([&] { return CounterOf(*alpha, "bad_too_short") >= junk + 200; }));
    if (CounterOf(*alpha, "pauses_of_this_process") == pauses) ++stalls;
  }
  EXPECT_EQ(stalls, 3);
  EXPECT_EQ(CounterOf(*alpha, "probe_attempts_failed"), 0U);
  EXPECT_EQ(CounterOf(*alpha, "suspicions_own"), 0U);
  beta->reset();
  uv_run(&other, UV_RUN_DEFAULT);
  EXPECT_EQ(uv_loop_close(&other), 0);
}

// A process that was stopped accuses nobody.
TEST_F(NodeAttachTest, ALoopThatStoodStillAccusesNobody) {
  auto alpha = Attach(FastConfig("alpha"));
  auto beta = MustStart(FastConfig("beta", {alpha->local().ToString()}));
  auto gamma = MustStart(FastConfig("gamma", {alpha->local().ToString()}));
  ASSERT_TRUE(RunUntil([&] { return alpha->Members().Alive().size() == 3 && gamma->Members().Alive().size() == 3; }));
  EventLog log;
  const auto watch = alpha->Subscribe(log.Handler());
  StandStillUntil(uv_hrtime() + 1000000000);
  ASSERT_TRUE(RunUntil([&] { return log.Count(EventKind::kPaused) >= 1; }));
  const std::uint64_t rounds = CounterOf(*alpha, "probe_rounds");
  ASSERT_TRUE(RunUntil([&] { return CounterOf(*alpha, "probe_rounds") >= rounds + 3; }));
  EXPECT_EQ(CounterOf(*alpha, "suspicions_own"), 0U) << log.text();
}

// Calls whatever there is, at random, of a node that is on a loop, from callbacks and from other threads.
class Attacker {
 public:
  Attacker(Node& node, std::uint64_t seed) : node_(&node), random_(seed) {}

  // One call. `depth`: how deep in callbacks of its own calls.
  void Act(int depth = 0) {
    const auto done = [this, depth](const auto&) {
      if (depth < 3 && random_.Below(2) == 0) Act(depth + 1);
      if (on_callback) on_callback();
    };
    // Those of other threads touch nothing of ours.
    const auto other = [](const auto&) {};
    if (on_loop) {
      Call(done);
    } else {
      Call(other);
    }
  }
  void TakeHandlers() {
    node_->OnMessage([this](const Message&) { Called(); });
    node_->OnRequest([this](const Message& request, Responder responder) {
      if (random_.Below(4) == 0) responder.OnCancel([this] { Called(); });
      if (random_.Below(3) != 0) {
        responder.Answer(request.body).IgnoreError();
      } else if (random_.Below(2) == 0) {
        kept.push_back(std::move(responder));
      }
      Called();
    });
  }

  bool on_loop = false;
  std::function<void()> on_callback;
  std::deque<Responder> kept;

 private:
  void Called() {
    Act(1);
    if (on_callback) on_callback();
  }
  template <typename Done>
  void Call(Done done) {
    Node& node = *node_;
    const std::vector<std::byte> body(random_.Below(4) == 0 ? 4000 : 10);
    const std::string text = std::to_string(random_.Below(50));
    switch (random_.Below(24)) {
      case 0:
        return void(node.Members().Alive().size() + node.contact().reachable + node.Counters().size());
      case 1:
        return node.Subscribe([](const Event&) {}, SubscribeFrom::kSnapshot).Cancel();
      case 2:
        return node.Join({"127.0.0.1:1"}).IgnoreError();
      case 3:
        return node.JoinAsync({"127.0.0.1:1"}, 20ms, done).IgnoreError();
      case 4:
        return node.SetTagAsync("t", text, done).IgnoreError();
      case 5:
        return node.EraseTagAsync("t", done).IgnoreError();
      case 6:
        return node.BroadcastAsync("k" + text, text, done).IgnoreError();
      case 7:
        return node.HeldBroadcastsAsync(done).IgnoreError();
      case 8:
        return node.SendTo("beta", std::vector<std::byte>(10)).IgnoreError();
      case 9:
        return node.SendReliableAsync("beta", body, {.budget = 50ms}, done).status().IgnoreError();
      case 10:
        return node.RequestAsync("beta", body, {.budget = 50ms}, done).status().IgnoreError();
      case 11:
        return node.RequestAsync("nobody", body, {}, done).status().IgnoreError();
      case 12:
        return node.CancelRequest(random_.Below(100)).IgnoreError();
      case 13:
        return node.ExplainAsync("beta", done).IgnoreError();
      case 14:
        return node.ObserveAsync({{.peer = "beta", .signal = Signal::kHealthy}}, done).IgnoreError();
      case 15:
        return node.LevelAsync("beta", done).IgnoreError();
      case 16:
        return node.WatchAsync("beta", 100ms, {1}, done).IgnoreError();
      case 17:
        return node.UnwatchAsync("beta", done).IgnoreError();
      case 18:
        return node.ReconfigureAsync(Reconfigure{.relays = random_.Below(4)}, done).IgnoreError();
      case 19:
        return node.MaintenanceAsync("beta", 1s, done).IgnoreError();
      case 20:
        return node.ExpelAsync("nobody", done).IgnoreError();
      case 21:
        return node.Request("beta", body, {.budget = 1ms}).status().IgnoreError();
      case 22:
        return node.SetTag("t", text, 1ms).IgnoreError();
      default:
        return node.WaitJoined(1ms).IgnoreError();
    }
  }

  Node* const node_;
  Random random_;
};

class NodeAttackTest : public NodeAttachTest, public testing::WithParamInterface<int> {
 protected:
  NodeAttackTest() {
    NodeOptions options;
    options.mail_queue = 20;
    options.callback_queue = 50;
    alpha_ = Attach(FastConfig("alpha"), options);
    beta_ = MustStart(FastConfig("beta", {alpha_->local().ToString()}));
    attacker_ = std::make_unique<Attacker>(*alpha_, static_cast<std::uint64_t>(GetParam()));
    attacker_->on_loop = true;
    attacker_->TakeHandlers();
    beta_->OnMessage([](const Message&) {});
    beta_->OnRequest([beta = beta_.get()](const Message& request, Responder responder) {
      beta->SendTo("alpha", request.body).IgnoreError();
      beta->RequestAsync("alpha", {}, {.budget = 30ms}, nullptr).status().IgnoreError();
      responder.Answer(request.body).IgnoreError();
    });
  }
  void MeetEachOther() {
    ASSERT_TRUE(
        RunUntil([&] { return alpha_->Members().Alive().size() == 2 && Has(*beta_, "alpha", MemberStatus::kActive); }));
  }

  std::unique_ptr<Node> alpha_;
  std::unique_ptr<Node> beta_;
  std::unique_ptr<Attacker> attacker_;
};

// At a callback that chance picks, of whatever kind, the node is destroyed: in it, and nothing comes after.
TEST_P(NodeAttackTest, DestroyedInsideACallbackOfAnyKind) {
  ASSERT_NO_FATAL_FAILURE(MeetEachOther());
  int fuse = 20 + GetParam() * 13;
  bool over = false;
  const auto burn = [&] {
    EXPECT_FALSE(over) << "a callback came after the end";
    if (--fuse > 0) return;
    over = true;
    alpha_.reset();
  };
  attacker_->on_callback = [&] {
    if (!over) burn();
  };
  const auto watch = alpha_->Subscribe([&](const Event&) { burn(); });
  ASSERT_TRUE(RunUntil([&] {
    if (!over) attacker_->Act(3);
    if (!over) beta_->RequestAsync("alpha", {}, {.budget = 30ms}, nullptr).status().IgnoreError();
    return over;
  }));
  RunTurns(20);
  attacker_->kept.clear();  // they outlive the node
  beta_.reset();
}

// Four threads and the callbacks call everything while somebody stops it: the loop, a thread, or a callback.
TEST_P(NodeAttackTest, StoppedWhileAllThreadsCallEverything) {
  ASSERT_NO_FATAL_FAILURE(MeetEachOther());
  int fuse = 100 + GetParam() * 37;
  const int who = GetParam() % 3;
  std::atomic<bool> over = false;
  std::atomic<bool> stop = false;
  attacker_->on_callback = [&] {
    if (--fuse != 0) return;
    if (who == 0) alpha_->Stop();
    stop = true;
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Attacker own(*alpha_, static_cast<std::uint64_t>(GetParam() * 10 + t));
      while (!over) {
        own.Act();
        if (t == 0 && who == 1 && stop) alpha_->Stop();
      }
    });
  }
  ASSERT_TRUE(RunUntil([&] {
    if (!stop) attacker_->Act(3);
    return stop.load();
  }));
  if (who == 2) alpha_->Stop();
  ASSERT_TRUE(RunUntil([&] { return absl::IsFailedPrecondition(alpha_->SetTagAsync("t", "late")); }));
  over = true;
  std::atomic<std::size_t> joined = 0;
  std::thread joiner([&] {
    for (std::thread& thread : threads) thread.join();
    joined = threads.size();
  });
  EXPECT_TRUE(RunUntil([&] { return joined == threads.size(); }));
  joiner.join();
  attacker_->kept.clear();
  beta_.reset();
  alpha_.reset();
}

INSTANTIATE_TEST_SUITE_P(Seeds, NodeAttackTest, testing::Range(0, 6));

}  // namespace
}  // namespace nekton
