// Leases as a program uses them: threads, callbacks, handles. Over a register in memory that can be made silent.
#include <time.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/scratch_path.h"
#include "transport/lease_keeper.h"
#include "transport/register_worker.h"
#include "transport/store_sqlite_register.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

// A register whose network can be cut: then nothing is done and nothing answered.
class CutRegister final : public Register {
 public:
  explicit CutRegister(std::shared_ptr<SharedTable> table) : inner_(MakeLocalRegister(std::move(table))) {}
  void Read(std::string key, Done done) override {
    if (!cut) inner_->Read(std::move(key), std::move(done));
  }
  void CompareAndSet(std::string key, std::uint64_t expected, std::optional<std::string> value, Done done) override {
    if (!cut) inner_->CompareAndSet(std::move(key), expected, std::move(value), std::move(done));
  }
  std::uint64_t Watch(std::string key, Changed changed) override {
    return inner_->Watch(std::move(key), [this, changed = std::move(changed)](const RegisterAnswer& there) {
      if (!cut) changed(there);
    });
  }
  void Unwatch(std::uint64_t watch) override { inner_->Unwatch(watch); }
  std::atomic<bool> cut{false};

 private:
  std::unique_ptr<Register> inner_;
};

// What callbacks told, to be waited for.
class Log {
 public:
  void Add(std::string line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
    changed_.notify_all();
  }
  bool WaitFor(const std::string& line, std::size_t times = 1) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(
        lock, 30s, [&] { return static_cast<std::size_t>(std::count(lines_.begin(), lines_.end(), line)) >= times; });
  }
  std::vector<std::string> lines() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  LeaseCallbacks Callbacks() {
    return {.acquired = [this](FencingToken) { Add("acquired"); },
            .about_to_lose = [this](FencingToken) { Add("about to lose"); },
            .lost = [this](FencingToken, LossReason reason,
                           const std::string&) { Add(absl::StrCat("lost ", std::string(Name(reason)))); },
            .released = [this](LossReason reason) { Add(absl::StrCat("released ", std::string(Name(reason)))); }};
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
};

template <typename Condition>
bool Eventually(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + 30s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

class LeaseKeeperTest : public testing::Test {
 protected:
  std::unique_ptr<LeaseKeeper> Start(const std::string& holder, std::shared_ptr<Register> over = nullptr) {
    if (over == nullptr) over = std::make_shared<CutRegister>(table_);
    absl::StatusOr<std::unique_ptr<LeaseKeeper>> keeper = LeaseKeeper::Start(
        std::move(over), {.holder = holder, .generation = 0, .drift_ppm = kDriftPpm, .leases_max = 8});
    EXPECT_TRUE(keeper.ok()) << keeper.status();
    return *std::move(keeper);
  }
  static LeaseOptions Lasting(Duration duration) {
    LeaseOptions options;
    options.duration = duration;
    return options;
  }
  std::shared_ptr<SharedTable> table_ = std::make_shared<SharedTable>();
  Log log_;
  Log other_log_;
};

TEST_F(LeaseKeeperTest, AReleaseHandsOverAndTheTokenRises) {
  const auto alpha = Start("alpha");
  const auto beta = Start("beta");
  LeaseHandle first = *alpha->AcquireWithin("job", {}, 30s, log_.Callbacks());
  ASSERT_TRUE(log_.WaitFor("acquired"));
  const std::optional<FencingToken> token = first.Check();
  ASSERT_TRUE(token.has_value());
  EXPECT_GT(first.Left(), 5s);
  LeaseHandle second = *beta->Acquire("job", {}, other_log_.Callbacks());
  EXPECT_FALSE(second.Check());
  first.Release();
  EXPECT_FALSE(first.Check()) << "before anybody else can have it";
  ASSERT_TRUE(other_log_.WaitFor("acquired"));
  ASSERT_TRUE(second.Check().has_value());
  EXPECT_EQ(second.Check()->value, token->value + 1);
  ASSERT_TRUE(log_.WaitFor("released none"));
  EXPECT_THAT(log_.lines(), ElementsAre("acquired", "released none"));
}

TEST_F(LeaseKeeperTest, TheSameMemberGetsAGreaterTokenAtOnce) {
  const auto keeper = Start("alpha");
  std::uint64_t last = 0;
  for (int i = 0; i < 20; ++i) {
    absl::StatusOr<LeaseHandle> handle = keeper->AcquireWithin("job", {}, 30s);
    ASSERT_TRUE(handle.ok()) << handle.status();
    const std::optional<FencingToken> token = handle->Check();
    ASSERT_TRUE(token.has_value());
    EXPECT_GT(token->value, last);
    last = token->value;
    if (i % 2 == 0) {
      EXPECT_TRUE(handle->ReleaseWithin(30s).ok());
    }
  }
}

TEST_F(LeaseKeeperTest, HandlesAreReleasedByTheirEndAndHoldNothingAfterTheKeeper) {
  auto alpha = Start("alpha");
  const auto beta = Start("beta");
  { const LeaseHandle gone = *alpha->AcquireWithin("job", {}, 30s); }
  LeaseHandle here = *beta->AcquireWithin("job", {}, 30s);
  LeaseHandle moved = *alpha->AcquireWithin("other", {}, 30s, log_.Callbacks());
  LeaseHandle orphan = std::move(moved);
  EXPECT_FALSE(moved.Check());
  ASSERT_TRUE(orphan.Check().has_value());
  alpha.reset();
  EXPECT_FALSE(orphan.Check());
  EXPECT_LT(orphan.Left(), 0s);
  EXPECT_TRUE(here.Check().has_value());
  // It was given back on the way, without waiting.
  EXPECT_TRUE(beta->AcquireWithin("other", {}, 30s).ok());
  orphan.Release();
  EXPECT_EQ(orphan.ReleaseWithin(1s).code(), absl::StatusCode::kUnavailable);
}

TEST_F(LeaseKeeperTest, WhatIsWrongIsNamed) {
  EXPECT_EQ(LeaseKeeper::Start(nullptr, {.holder = "a"}).status().message(), "register: it is null");
  EXPECT_THAT(std::string(LeaseKeeper::Start(std::make_shared<CutRegister>(table_), {}).status().message()),
              HasSubstr("holder"));
  const auto keeper = Start("alpha");
  EXPECT_THAT(std::string(keeper->Acquire("", {}, {}).status().message()), HasSubstr("name: must have 1"));
  EXPECT_THAT(std::string(keeper->Acquire("job", Lasting(1ms), {}).status().message()), HasSubstr("duration"));
  LeaseOptions late;
  late.handover_delay = 11s;
  EXPECT_THAT(std::string(keeper->Acquire("job", late, {}).status().message()), HasSubstr("handover_delay"));
  std::vector<LeaseHandle> handles;
  for (int i = 0; i < 8; ++i) handles.push_back(*keeper->Acquire(absl::StrCat("job", i), {}, {}));
  EXPECT_EQ(keeper->Acquire("job3", {}, {}).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(keeper->Acquire("job9", {}, {}).status().code(), absl::StatusCode::kResourceExhausted);
  // Room again once it is settled.
  EXPECT_TRUE(handles[3].ReleaseWithin(30s).ok());
  EXPECT_TRUE(Eventually([&] { return keeper->Acquire("job9", {}, {}).ok(); }));
}

TEST_F(LeaseKeeperTest, WaitingEndsAtItsTimeAndContendingWithIt) {
  const auto alpha = Start("alpha");
  const auto beta = Start("beta");
  LeaseHandle held = *alpha->AcquireWithin("job", {}, 30s);
  EXPECT_EQ(beta->AcquireWithin("job", {}, 10ms).status().code(), absl::StatusCode::kDeadlineExceeded);
  ASSERT_TRUE(held.ReleaseWithin(30s).ok());
  EXPECT_TRUE(alpha->AcquireWithin("job", {}, 30s).ok());
}

// A register that falls silent: told, and over, without any answer; then another takes it.
TEST_F(LeaseKeeperTest, SilenceEndsTheLeaseAndIsTold) {
  const auto network = std::make_shared<CutRegister>(table_);
  const auto alpha = Start("alpha", network);
  const auto beta = Start("beta");
  LeaseHandle first = *alpha->AcquireWithin("job", Lasting(200ms), 30s, log_.Callbacks());
  ASSERT_TRUE(log_.WaitFor("acquired"));
  network->cut = true;
  LeaseHandle second = *beta->Acquire("job", Lasting(200ms), other_log_.Callbacks());
  while (!second.Check()) {
    // In this order: what ends between the two is not held by both.
    const bool later = second.Check().has_value();
    EXPECT_FALSE(later && first.Check().has_value());
    std::this_thread::yield();
  }
  EXPECT_FALSE(first.Check());
  ASSERT_TRUE(log_.WaitFor("lost expired"));
  EXPECT_FALSE(first.Check());
}

// ---- apache/curator#1193, vmware/pinniped#800: a handler that blocks must delay neither the end of a lease nor what Check()
// says of it. ----

TEST_F(LeaseKeeperTest, FieldABlockedHandlerDelaysNothing) {
  const auto network = std::make_shared<CutRegister>(table_);
  const auto alpha = Start("alpha", network);
  std::promise<void> unblock;
  std::atomic<bool> blocked{false};
  LeaseCallbacks callbacks = log_.Callbacks();
  callbacks.acquired = [&](FencingToken) {
    log_.Add("acquired");
    if (!blocked.exchange(true)) unblock.get_future().wait();
  };
  LeaseHandle lease = *alpha->AcquireWithin("job", Lasting(500ms), 30s, callbacks);
  ASSERT_TRUE(Eventually([&] { return blocked.load(); }));
  // It is renewed all the while.
  const Instant end = ReadLeaseClocks().boot + 1s;
  ASSERT_TRUE(Eventually([&] { return ReadLeaseClocks().boot > end; }));
  std::optional<FencingToken> token;
  ASSERT_TRUE(Eventually([&] { return (token = lease.Check()).has_value(); }));
  network->cut = true;
  // For long enough that no renewal from before the cut is still on its way: one that comes late goes on with the token.
  Instant ended = ReadLeaseClocks().boot;
  ASSERT_TRUE(Eventually([&] {
    const Instant now = ReadLeaseClocks().boot;
    if (lease.Check()) ended = now;
    return now - ended > 2s;
  })) << "and ends though nobody can be told";
  network->cut = false;
  ASSERT_TRUE(Eventually([&] { return lease.Check().has_value(); })) << "and is taken again";
  EXPECT_GT(*lease.Check(), *token);
  unblock.set_value();
  ASSERT_TRUE(log_.WaitFor("acquired", 2));
  const std::vector<std::string> lines = log_.lines();
  int balance = 0;
  for (const std::string& line : lines) {
    balance += line == "acquired" ? 1 : 0;
    balance -= line.starts_with("lost") ? 1 : 0;
    EXPECT_TRUE(balance == 0 || balance == 1) << line;
  }
}

TEST_F(LeaseKeeperTest, CallbacksMayCallAndTheBlockingFormsAreRefusedThere) {
  auto keeper = Start("alpha");
  std::promise<std::vector<absl::StatusCode>> seen;
  LeaseHandle inner;
  LeaseHandle outer;
  std::promise<void> assigned;
  std::shared_future<void> ready = assigned.get_future().share();
  LeaseCallbacks callbacks;
  callbacks.acquired = [&](FencingToken) {
    ready.wait();
    std::vector<absl::StatusCode> codes;
    codes.push_back(keeper->AcquireWithin("third", {}, 30s).status().code());
    codes.push_back(outer.ReleaseWithin(30s).code());
    inner = *keeper->Acquire("inner", {}, log_.Callbacks());
    outer.Release();
    outer = LeaseHandle();  // its own end, inside its own callback
    seen.set_value(codes);
  };
  outer = *keeper->Acquire("outer", {}, callbacks);
  assigned.set_value();
  EXPECT_THAT(seen.get_future().get(),
              ElementsAre(absl::StatusCode::kFailedPrecondition, absl::StatusCode::kFailedPrecondition));
  ASSERT_TRUE(log_.WaitFor("acquired"));
  EXPECT_TRUE(inner.Check().has_value());
}

// Answers of the register are under way at the end. None of them may be what ends the register, on its own thread: so the
// keeper lets go of it itself, whoever still has handles.
TEST_F(LeaseKeeperTest, ItMayEndAtAnyMomentAndTheRegisterEndsWithIt) {
  for (int i = 0; i < 100; ++i) {
    std::shared_ptr<Register> over = MakeLocalRegister(table_);
    const std::weak_ptr<Register> watched = over;
    auto keeper = Start("alpha", std::move(over));
    std::vector<LeaseHandle> handles;
    for (int k = 0; k < 1 + i % 7; ++k) handles.push_back(*keeper->Acquire(absl::StrCat("job", k), {}, {}));
    keeper.reset();
    EXPECT_TRUE(watched.expired());
    for (const LeaseHandle& handle : handles) EXPECT_FALSE(handle.Check());
  }
}

TEST_F(LeaseKeeperTest, AKeeperMayEndInsideACallback) {
  auto keeper = Start("alpha");
  std::promise<void> ended;
  LeaseCallbacks callbacks;
  callbacks.acquired = [&](FencingToken) {
    keeper.reset();
    ended.set_value();
  };
  const LeaseHandle lease = *keeper->Acquire("job", {}, callbacks);
  ended.get_future().get();
  EXPECT_FALSE(lease.Check());
}

TEST_F(LeaseKeeperTest, AResourcesRefusalRaisesTheToken) {
  const auto keeper = Start("alpha");
  LeaseHandle lease = *keeper->AcquireWithin("job", {}, 30s, log_.Callbacks());
  ASSERT_TRUE(log_.WaitFor("acquired"));
  lease.RaiseAbove(FencingToken{40});
  ASSERT_TRUE(log_.WaitFor("lost behind"));
  ASSERT_TRUE(log_.WaitFor("acquired", 2));
  EXPECT_EQ(lease.Check()->value, 41u);
}

TEST_F(LeaseKeeperTest, AnyThreadMayAsk) {
  const auto keeper = Start("alpha");
  LeaseHandle lease = *keeper->Acquire("job", Lasting(100ms), {});
  std::atomic<bool> end{false};
  std::atomic<std::uint64_t> highest{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      std::uint64_t last = 0;
      while (!end) {
        const std::optional<FencingToken> token = lease.Check();
        std::this_thread::yield();
        if (!token) continue;
        EXPECT_GE(token->value, last);
        last = token->value;
        highest = std::max(highest.load(), last);
      }
    });
  }
  for (std::uint64_t i = 1; i <= 3; ++i) {
    EXPECT_TRUE(Eventually([&] { return highest >= i; }));
    lease.RaiseAbove(FencingToken{highest});
  }
  end = true;
  for (std::thread& thread : threads) thread.join();
}

TEST_F(LeaseKeeperTest, OverSqlite) {
  SqliteRegisterOptions options;
  options.path = ScratchPath("leases.db");
  const auto open = [&] { return std::shared_ptr<Register>(*OpenSqliteRegister(options)); };
  const auto alpha = Start("alpha", open());
  const auto beta = Start("beta", open());
  LeaseHandle first = *alpha->AcquireWithin("job", {}, 30s);
  LeaseHandle second = *beta->Acquire("job", {}, other_log_.Callbacks());
  const FencingToken token = *first.Check();
  first.Release();
  ASSERT_TRUE(other_log_.WaitFor("acquired"));
  EXPECT_EQ(second.Check()->value, token.value + 1);
}

// ---- golang/go#24595: the clock must count the time that a machine was suspended. ----

TEST(LeaseClocksTest, FieldTheyAreTheClocksThatCountSuspendAndAreNotSlewed) {
  const auto read = [](clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return Duration(now.tv_sec * 1'000'000'000LL + now.tv_nsec);
  };
  const Duration boot_before = read(CLOCK_BOOTTIME);
  const Duration raw_before = read(CLOCK_MONOTONIC_RAW);
  const Tick tick = ReadLeaseClocks();
  EXPECT_GE(tick.boot.time_since_epoch(), boot_before);
  EXPECT_LE(tick.boot.time_since_epoch(), read(CLOCK_BOOTTIME));
  EXPECT_GE(tick.raw.time_since_epoch(), raw_before);
  EXPECT_LE(tick.raw.time_since_epoch(), read(CLOCK_MONOTONIC_RAW));
}

}  // namespace
}  // namespace nekton
