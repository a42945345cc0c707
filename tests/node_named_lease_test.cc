// Named leases of nodes, on real sockets: calls from any place, what a death of the holder hints at, and the end of a node.
#include <uv.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "transport/node.h"
#include "transport/register_worker.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// A register without watches, whose network can be cut, and which counts what is read.
class PlainRegister final : public Register {
 public:
  explicit PlainRegister(std::shared_ptr<SharedTable> table) : inner_(MakeLocalRegister(std::move(table))) {}
  void Read(std::string key, Done done) override {
    ++reads;
    if (!cut) inner_->Read(std::move(key), std::move(done));
  }
  void CompareAndSet(std::string key, std::uint64_t expected, std::optional<std::string> value, Done done) override {
    if (!cut) inner_->CompareAndSet(std::move(key), expected, std::move(value), std::move(done));
  }
  std::atomic<bool> cut{false};
  std::atomic<int> reads{0};

 private:
  std::unique_ptr<Register> inner_;
};

bool Await(const std::function<bool()>& what) {
  for (const auto end = std::chrono::steady_clock::now() + 30s; std::chrono::steady_clock::now() < end;) {
    if (what()) return true;
    std::this_thread::yield();
  }
  return false;
}

// What callbacks tell, one a line, with the token.
struct Told {
  std::mutex mutex;
  std::vector<std::string> lines;
  void Add(std::string line) {
    const std::lock_guard lock(mutex);
    lines.push_back(std::move(line));
  }
  bool Has(const std::string& line) {
    const std::lock_guard lock(mutex);
    return std::find(lines.begin(), lines.end(), line) != lines.end();
  }
  LeaseCallbacks Callbacks() {
    return {
        .acquired = [this](FencingToken token) { Add(absl::StrCat("acquired ", token.value)); },
        .about_to_lose = [this](FencingToken token) { Add(absl::StrCat("about to lose ", token.value)); },
        .lost = [this](FencingToken token, LossReason reason,
                       const std::string&) { Add(absl::StrCat("lost ", token.value, " ", std::string(Name(reason)))); },
        .released = [this](LossReason) { Add("released"); }};
  }
};

class NodeNamedLeaseTest : public testing::Test {
 protected:
  std::unique_ptr<Node> Start(const std::string& name, std::shared_ptr<Register> over, const std::string& seed = "") {
    Config config = Config::Local();
    config.name = name;
    config.bind = "127.0.0.1:0";
    config.standalone = seed == "alone";
    if (!seed.empty() && !config.standalone) config.seeds = {seed};
    NodeOptions options;
    options.lease_register = std::move(over);
    auto node = Node::Start(config, std::move(options));
    EXPECT_TRUE(node.ok()) << node.status();
    return node.ok() ? *std::move(node) : nullptr;
  }
  std::unique_ptr<Node> Alone(const std::string& name) { return Start(name, MakeLocalRegister(table_), "alone"); }

  const std::shared_ptr<SharedTable> table_ = std::make_shared<SharedTable>();
  Told told_;
};

TEST_F(NodeNamedLeaseTest, OneHasItAfterTheOtherUnderAHigherToken) {
  const auto alpha = Alone("alpha");
  const auto beta = Alone("beta");
  absl::StatusOr<LeaseHandle> first = alpha->AcquireLease("job", {}, 30s);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(first->Check().has_value());
  const std::uint64_t token = first->Check()->value;
  absl::StatusOr<LeaseHandle> second = beta->AcquireLeaseAsync("job", {}, told_.Callbacks());
  ASSERT_TRUE(second.ok());
  EXPECT_FALSE(second->Check());
  EXPECT_EQ(beta->AcquireLeaseAsync("job").status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(first->ReleaseWithin(30s).ok());
  ASSERT_TRUE(Await([&] { return told_.Has(absl::StrCat("acquired ", token + 1)); }));
  EXPECT_EQ(second->Check()->value, token + 1);
  EXPECT_EQ(alpha->AcquireLease("job", {}, 10ms).status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(NodeNamedLeaseTest, TheEndIsToldBeforeAndAfterWithTheToken) {
  const auto network = std::make_shared<PlainRegister>(table_);
  const auto alpha = Start("alpha", network, "alone");
  LeaseOptions quick;
  quick.duration = 300ms;
  absl::StatusOr<LeaseHandle> lease = alpha->AcquireLease("job", quick, 30s, told_.Callbacks());
  ASSERT_TRUE(lease.ok()) << lease.status();
  network->cut = true;
  // The last of them: a renewal from before the cut may have been late, and another acquisition may follow it.
  ASSERT_TRUE(Await([&] {
    const std::lock_guard lock(told_.mutex);
    return !told_.lines.empty() && told_.lines.back().starts_with("lost ");
  }));
  EXPECT_FALSE(lease->Check());
  const std::lock_guard lock(told_.mutex);
  ASSERT_GE(told_.lines.size(), 3u);
  const auto end = told_.lines.end();
  ASSERT_TRUE((end - 3)->starts_with("acquired ") || (end - 3)->starts_with("about to lose "));
  const std::string token = (end - 2)->substr(std::string("about to lose ").size());
  EXPECT_EQ(*(end - 2), "about to lose " + token);
  EXPECT_EQ(*(end - 1), "lost " + token + " expired");
}

// The holder dies, and nobody could release. Who waits looks at once, though it would not have looked for hours; and it does
// not get it one moment earlier.
TEST_F(NodeNamedLeaseTest, ADeadHolderIsAHintAndNoMore) {
  const auto of_alpha = std::make_shared<PlainRegister>(table_);
  const auto of_beta = std::make_shared<PlainRegister>(table_);
  auto alpha = Start("alpha", of_alpha);
  const auto beta = Start("beta", of_beta, alpha->local().ToString());
  LeaseOptions longest;
  longest.duration = 24h;
  longest.spread = 1ms;
  absl::StatusOr<LeaseHandle> held = alpha->AcquireLease("job", longest, 30s);
  ASSERT_TRUE(held.ok()) << held.status();
  const absl::StatusOr<LeaseHandle> waits = beta->AcquireLeaseAsync("job", longest, told_.Callbacks());
  ASSERT_TRUE(waits.ok());
  ASSERT_TRUE(beta->WaitJoined(30s).ok());
  ASSERT_TRUE(Await([&] { return of_beta->reads >= 1; }));
  const int before = of_beta->reads;
  of_alpha->cut = true;
  alpha.reset();
  EXPECT_FALSE(held->Check());
  EXPECT_TRUE(Await([&] { return of_beta->reads > before; }));
  EXPECT_FALSE(waits->Check());
}

TEST_F(NodeNamedLeaseTest, TheBlockingFormsAreRefusedWhereTheyWouldBlockTheNode) {
  const auto alpha = Alone("alpha");
  absl::StatusOr<LeaseHandle> other = alpha->AcquireLease("other", {}, 30s);
  ASSERT_TRUE(other.ok());
  // Where the callbacks of the node are.
  std::promise<std::vector<absl::StatusCode>> seen;
  LeaseHandle inner;
  const auto in_callback = [&](const absl::Status&) {
    std::vector<absl::StatusCode> codes = {alpha->AcquireLease("third", {}, 30s).status().code(),
                                           other->ReleaseWithin(30s).code()};
    inner = *alpha->AcquireLeaseAsync("inner", {}, told_.Callbacks());
    seen.set_value(std::move(codes));
  };
  ASSERT_TRUE(alpha->SetTagAsync("any", "thing", in_callback).ok());
  EXPECT_THAT(seen.get_future().get(),
              testing::ElementsAre(absl::StatusCode::kFailedPrecondition, absl::StatusCode::kFailedPrecondition));
  ASSERT_TRUE(Await([&] { return inner.Check().has_value(); }));
  // In a lease's own callback, where everything else may be called.
  std::promise<absl::StatusCode> code;
  LeaseCallbacks callbacks;
  callbacks.acquired = [&](FencingToken) {
    EXPECT_TRUE(alpha->SetTag("leader", "yes").ok());
    code.set_value(alpha->AcquireLease("fourth", {}, 30s).status().code());
  };
  const absl::StatusOr<LeaseHandle> outer = alpha->AcquireLeaseAsync("outer", {}, callbacks);
  ASSERT_TRUE(outer.ok());
  EXPECT_EQ(code.get_future().get(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(NodeNamedLeaseTest, OnALoopOfTheUsersItIsRefusedThereAndWorksWithoutIt) {
  uv_loop_t loop;
  ASSERT_EQ(uv_loop_init(&loop), 0);
  Config config = Config::Local();
  config.name = "alpha";
  config.standalone = true;
  NodeOptions options;
  options.lease_register = MakeLocalRegister(table_);
  auto attached = Node::Attach(&loop, config, std::move(options));
  ASSERT_TRUE(attached.ok()) << attached.status();
  const std::unique_ptr<Node> node = *std::move(attached);
  EXPECT_EQ(node->AcquireLease("job", {}, 30s).status().code(), absl::StatusCode::kFailedPrecondition);
  absl::StatusOr<LeaseHandle> lease = node->AcquireLeaseAsync("job", {}, told_.Callbacks());
  ASSERT_TRUE(lease.ok());
  EXPECT_TRUE(Await([&] { return lease->Check().has_value(); })) << "though the loop does not run";
  EXPECT_EQ(lease->ReleaseWithin(30s).code(), absl::StatusCode::kFailedPrecondition);
  node->Stop();
  EXPECT_FALSE(lease->Check());
  while (uv_run(&loop, UV_RUN_NOWAIT) != 0) {
  }
  EXPECT_EQ(uv_loop_close(&loop), 0);
}

TEST_F(NodeNamedLeaseTest, TheEndOfANodeReleasesWhatItHeldAndFreesWhoWaits) {
  auto alpha = Alone("alpha");
  const auto beta = Alone("beta");
  absl::StatusOr<LeaseHandle> held = alpha->AcquireLease("job", {}, 30s);
  ASSERT_TRUE(held.ok());
  const std::uint64_t token = held->Check()->value;
  std::thread waits([&] {
    const absl::StatusOr<LeaseHandle> never = beta->AcquireLease("job", {}, 1h);
    EXPECT_TRUE(never.ok()) << never.status();
    EXPECT_EQ(never->Check()->value, token + 1);
  });
  alpha->Stop();
  EXPECT_FALSE(held->Check());
  waits.join();
  EXPECT_EQ(alpha->AcquireLeaseAsync("job").status().code(), absl::StatusCode::kFailedPrecondition);
  alpha.reset();
  held->Release();

  const absl::StatusOr<LeaseHandle> again = beta->AcquireLease("job", {}, 30s);
  ASSERT_TRUE(again.ok());
  const auto gamma = Alone("gamma");
  std::promise<absl::Status> ended;
  std::thread blocked([&] { ended.set_value(gamma->AcquireLease("job", {}, 1h).status()); });
  // It may be before or after it began to wait.
  gamma->Stop();
  const absl::Status status = ended.get_future().get();
  EXPECT_TRUE(absl::IsCancelled(status) || absl::IsFailedPrecondition(status)) << status;
  blocked.join();
}

TEST_F(NodeNamedLeaseTest, ANodeMayBeStoppedAndDestroyedInALeasesCallback) {
  for (const bool destroyed : {false, true}) {
    auto alpha = Alone("alpha");
    std::promise<void> ended;
    LeaseCallbacks callbacks;
    callbacks.acquired = [&](FencingToken) {
      alpha->Stop();
      if (destroyed) alpha.reset();
      ended.set_value();
    };
    const absl::StatusOr<LeaseHandle> lease = alpha->AcquireLeaseAsync(absl::StrCat("job", destroyed), {}, callbacks);
    ASSERT_TRUE(lease.ok());
    ended.get_future().get();
    EXPECT_FALSE(lease->Check());
  }
}

TEST_F(NodeNamedLeaseTest, WithoutARegisterThereAreNone) {
  const auto alpha = Start("alpha", nullptr, "alone");
  const absl::Status status = alpha->AcquireLeaseAsync("job").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("lease_register"));
  EXPECT_EQ(alpha->AcquireLease("job", {}, 1s).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(alpha->AcquireLease("job", {}, -1s).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace nekton
