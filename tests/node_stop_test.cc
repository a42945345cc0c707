// Stopping a node, in every state and from everywhere.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "tests/node_fixture.h"
#include "tests/uv_fixture.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

// Threads and descriptors are those of before when a test is over.
class NodeStopTest : public testing::Test {
 protected:
  NodeStopTest() : threads_(BaseThreads()) {
    { const auto first = MustStart(FastConfig("first")); }  // libuv opens some descriptors once for the process
    descriptors_ = Descriptors();
  }
  void TearDown() override {
    EXPECT_TRUE(WaitFor([&] { return Threads() == threads_; })) << Threads() << " instead of " << threads_;
    EXPECT_EQ(Descriptors(), descriptors_);
  }
  // Those of the process without any node. The thread sanitizer adds one of its own when the first thread begins, and
  // the kernel takes a joined thread off its list a little later.
  static std::size_t BaseThreads() {
    static const std::size_t base = [] {
      std::thread([] {}).join();
      std::size_t least = Threads();
      WaitFor([&, turns = 0]() mutable {
        least = std::min(least, Threads());
        return ++turns == 50;
      });
      return least;
    }();
    return base;
  }
  static std::string DeadSeed() {
    const RawSocket gone(SOCK_STREAM);
    return gone.local().ToString();
  }
  // Accepts and never answers: a join through it hangs until its deadline.
  class SilentSeed {
   public:
    SilentSeed() : listener_(SOCK_STREAM) { EXPECT_EQ(listen(listener_.fd(), 1024), 0); }
    std::string text() const { return listener_.local().ToString(); }

   private:
    RawSocket listener_;
  };

  std::size_t threads_;
  std::size_t descriptors_ = 0;
};

TEST_F(NodeStopTest, AtOnceTwiceAndWithoutStop) {
  const SilentSeed silent;
  for (int i = 0; i < Storm(20); ++i) {
    auto node = MustStart(FastConfig("alpha", {DeadSeed(), silent.text()}));
    if (i % 3 == 0) node->Stop();
    if (i % 3 == 1) {
      node->Stop();
      node->Stop();
    }
    if (i % 2 == 0) {
      EXPECT_TRUE(i % 3 == 2 || absl::IsFailedPrecondition(node->Leave(1s)));
      EXPECT_TRUE(i % 3 == 2 || absl::IsFailedPrecondition(node->LeaveAsync(1s, [](const absl::Status&) {})));
    }
    EXPECT_EQ(node->Members().All().size(), 1U) << "the last snapshot stays";
  }
}

TEST_F(NodeStopTest, ByTwoThreadsAtOnce) {
  const SilentSeed silent;
  for (int i = 0; i < Storm(20); ++i) {
    auto node = MustStart(FastConfig("alpha", {silent.text()}));
    std::atomic<int> ready = 0;
    const auto stop = [&] {
      ++ready;
      while (ready < 2) std::this_thread::yield();
      node->Stop();
    };
    std::thread other(stop);
    stop();
    other.join();
  }
}

TEST_F(NodeStopTest, DuringAJoinAndInAGroup) {
  for (int i = 0; i < Storm(10); ++i) {
    auto alpha = MustStart(FastConfig("alpha"));
    auto beta = MustStart(FastConfig("beta", {alpha->local().ToString()}));
    if (i % 2 == 0) beta->WaitJoined(60s).IgnoreError();
    if (i % 3 == 0) beta->Leave(10s).IgnoreError();
    if (i % 5 == 0) std::swap(alpha, beta);
    alpha.reset();
  }
}

// From a callback: by Stop(), and by the destructor.
TEST_F(NodeStopTest, InACallback) {
  for (int i = 0; i < Storm(20); ++i) {
    auto alpha = MustStart(FastConfig("alpha"));
    const std::string seed = alpha->local().ToString();
    auto beta = MustStart(FastConfig("beta"));
    std::atomic<bool> gone = false;
    std::atomic<int> late = 0;
    auto watch = beta->Subscribe([&, destroy = i % 2 == 0](const Event&) {
      if (gone) {
        ++late;
        return;
      }
      beta->Stop();
      if (destroy) beta.reset();
      gone = true;
    });
    ASSERT_TRUE(beta->Join({seed}).ok());
    ASSERT_TRUE(WaitFor([&] { return gone.load(); }));
    watch.Cancel();  // also when the node is gone
    EXPECT_EQ(late, 0) << "no callback after it";
    beta.reset();
  }
}

TEST_F(NodeStopTest, WhileAnotherThreadWaits) {
  for (int i = 0; i < Storm(10); ++i) {
    auto node = MustStart(FastConfig("alpha"));
    std::atomic<bool> waits = false;
    auto waiter = std::async(std::launch::async, [&] {
      waits = true;
      return node->WaitJoined(1h);
    });
    ASSERT_TRUE(WaitFor([&] { return waits.load(); }));
    node->Stop();
    const absl::Status status = waiter.get();
    EXPECT_TRUE(absl::IsCancelled(status)) << status;
  }
}

// Stop() waits for a running callback, and that callback may call Stop() itself.
TEST_F(NodeStopTest, WhileACallbackRuns) {
  for (int i = 0; i < Storm(10); ++i) {
    auto alpha = MustStart(FastConfig("alpha"));
    std::atomic<bool> inside = false, release = false, finished = false;
    const auto watch = alpha->Subscribe([&](const Event&) {
      if (inside.exchange(true)) return;
      while (!release) std::this_thread::yield();
      alpha->Stop();
      finished = true;
    });
    auto beta = MustStart(FastConfig("beta", {alpha->local().ToString()}));
    ASSERT_TRUE(WaitFor([&] { return inside.load(); }));
    std::thread stopper([&] {
      alpha->Stop();
      EXPECT_TRUE(finished) << "returned while the callback ran";
    });
    release = true;
    stopper.join();
  }
}

TEST_F(NodeStopTest, ASubscriptionEndsWithItsLastCallOverAndMayOutliveTheNode) {
  auto alpha = MustStart(FastConfig("alpha"));
  auto beta = MustStart(FastConfig("beta", {alpha->local().ToString()}));
  ASSERT_TRUE(beta->WaitJoined(60s).ok());
  std::atomic<bool> inside = false, finished = false;
  auto slow = beta->Subscribe(
      [&](const Event&) {
        inside = true;
        std::this_thread::sleep_for(20ms);
        finished = true;
      },
      SubscribeFrom::kSnapshot);
  ASSERT_TRUE(WaitFor([&] { return inside.load(); }));
  slow.Cancel();
  EXPECT_TRUE(finished);

  // In its own call it returns at once.
  std::atomic<bool> cancelled = false;
  Subscription own;
  std::mutex mutex;
  {
    const std::lock_guard lock(mutex);
    own = beta->Subscribe(
        [&](const Event&) {
          const std::lock_guard inner(mutex);
          own.Cancel();
          cancelled = true;
        },
        SubscribeFrom::kSnapshot);
  }
  ASSERT_TRUE(WaitFor([&] { return cancelled.load(); }));

  auto outlives = beta->Subscribe([](const Event&) {});
  beta.reset();
  outlives.Cancel();
  Subscription dead = alpha->Subscribe([](const Event&) {});
  alpha->Stop();
  const Subscription never = alpha->Subscribe([](const Event&) { ADD_FAILURE(); }, SubscribeFrom::kSnapshot);
  alpha.reset();
}

// A handler that owns things whose destructors call the node.
TEST_F(NodeStopTest, WhatAHandlerOwnsMayCallTheNodeWhenItDies) {
  auto alpha = MustStart(FastConfig("alpha"));
  struct Owned {
    Node* node;
    std::atomic<int>* died;
    ~Owned() {
      node->Members();
      node->Join({"127.0.0.1:1"}).IgnoreError();
      ++*died;
    }
  };
  std::atomic<int> died = 0;
  Subscription watch;
  std::mutex mutex;
  {
    const std::lock_guard lock(mutex);
    watch = alpha->Subscribe([&, owned = std::make_shared<Owned>(Owned{alpha.get(), &died})](const Event&) {
      const std::lock_guard inner(mutex);
      watch.Cancel();
    });
  }
  died = 0;  // the temporary's
  auto beta = MustStart(FastConfig("beta", {alpha->local().ToString()}));
  ASSERT_TRUE(WaitFor([&] { return died.load() == 1; }));
  EXPECT_TRUE(
      alpha->LeaveAsync(1h, [owned = std::make_shared<Owned>(Owned{alpha.get(), &died})](const absl::Status&) {}).ok());
  alpha->Stop();
  alpha.reset();
}

// Seen in the field: everything from eight threads while nodes come and go.
TEST_F(NodeStopTest, EveryFunctionFromManyThreads) {
  auto alpha = MustStart(FastConfig("alpha"));
  const std::string seed = alpha->local().ToString();
  std::atomic<bool> done = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      while (!done) {
        std::vector<Subscription> kept;
        kept.push_back(alpha->Subscribe([&](const Event&) { alpha->Members(); }, SubscribeFrom::kSnapshot));
        for (const MemberPtr& m : alpha->Members().Alive()) EXPECT_FALSE(m->name.empty());
        EXPECT_NE(alpha->Members().Find("alpha"), nullptr);
        EXPECT_FALSE(alpha->Counters().empty());
        alpha->Join({"127.0.0.1:" + std::to_string(1 + t)}).IgnoreError();
        alpha->WaitJoined(1ms).IgnoreError();
        if (t == 0) alpha->LeaveAsync(1s, [](const absl::Status&) {}).IgnoreError();
        if (t == 1) alpha->Leave(1ms).IgnoreError();
        alpha->local();
      }
    });
  }
  for (int i = 0; i < Storm(10); ++i) {
    auto guest = MustStart(FastConfig("guest" + std::to_string(i), {seed}));
    guest->WaitJoined(10ms).IgnoreError();
  }
  alpha->Stop();  // in the middle
  done = true;
  for (std::thread& thread : threads) thread.join();
}

// ---- attached to a loop of the user's

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

// Seen in the field. The fixture closes the loop and counts what is left.
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
  for (int i = 0; i < 3; ++i) {
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
  }
  EXPECT_EQ(CounterOf(*alpha, "probe_attempts_failed"), 0U);
  EXPECT_EQ(CounterOf(*alpha, "suspicions_own"), 0U);
  EXPECT_EQ(CounterOf(*alpha, "pauses_of_this_process"), 0U) << "a stall short enough to be nobody's excuse";
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

}  // namespace
}  // namespace nekton
