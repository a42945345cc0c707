// Stopping a node, in every state and from everywhere.
#include <algorithm>
#include <atomic>
#include <chrono>
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

// Everything from eight threads while nodes come and go.
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

}  // namespace
}  // namespace nekton
