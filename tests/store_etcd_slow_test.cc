// The register and the fence in a real etcd on loopback, alone and as three of which the leader dies. Skipped where etcd is
// not installed (Debian: etcd-server).
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/etcd_server.h"
#include "tests/register_conformance.h"
#include "tests/scratch_path.h"
#include "transport/lease_keeper.h"
#include "transport/store_etcd_fence.h"
#include "transport/store_etcd_register.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::unique_ptr<Register> OpenEtcd(const EtcdOptions& options) {
  absl::StatusOr<std::unique_ptr<Register>> opened = OpenEtcdRegister(options);
  EXPECT_TRUE(opened.ok()) << opened.status();
  return opened.ok() ? *std::move(opened) : nullptr;
}

// One for the whole suite; each test has a prefix of its own.
const RegisterKind kEtcd{"etcd", []() -> std::function<std::unique_ptr<Register>()> {
                           if (!EtcdCluster::Installed()) return nullptr;
                           static const std::string dir = ScratchDir();  // so that it outlives the cluster
                           static EtcdCluster cluster(1, dir);
                           static const bool ready = cluster.WaitReady();
                           EXPECT_TRUE(ready);
                           static std::atomic<int> count{0};
                           EtcdOptions options;
                           options.endpoints = cluster.Endpoints();
                           options.prefix = absl::StrCat("test", count++, "/");
                           return [options] { return OpenEtcd(options); };
                         }};
INSTANTIATE_TEST_SUITE_P(Slow, RegisterConformance, testing::Values(kEtcd), [](const auto& i) { return i.param.name; });

class EtcdTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!EtcdCluster::Installed()) GTEST_SKIP() << "etcd is not installed (Debian: etcd-server)";
  }
  EtcdOptions Options(const EtcdCluster& cluster) {
    EtcdOptions options;
    options.endpoints = cluster.Endpoints();
    options.timeout = 1s;
    return options;
  }
};

TEST_F(EtcdTest, WhatIsWrongIsNamed) {
  EtcdOptions options;
  EXPECT_THAT(std::string(OpenEtcdRegister(options).status().message()), HasSubstr("endpoints"));
  options.endpoints = {"127.0.0.1:2379"};
  EXPECT_THAT(std::string(OpenEtcdRegister(options).status().message()), HasSubstr("must be http://"));
  options.endpoints = {"http://127.0.0.1:1"};
  const RegisterAnswer answer = ReadNow(*OpenEtcd(options), "k");
  EXPECT_EQ(answer.verdict, RegisterVerdict::kUnknown);
  EXPECT_THAT(answer.why, HasSubstr("127.0.0.1:1"));
}

// Killed with -9 again and again while it is written to: what was confirmed stays, and no version comes twice.
TEST_F(EtcdTest, WhatWasConfirmedOutlivesAKill) {
  EtcdCluster cluster(1, ScratchDir());
  ASSERT_TRUE(cluster.WaitReady());
  const std::unique_ptr<Register> r = OpenEtcd(Options(cluster));
  std::uint64_t confirmed = kAbsent;
  std::uint64_t version = kAbsent;
  int unknown = 0;
  for (int round = 0; round < 3; ++round) {
    std::atomic<bool> killed{false};
    std::thread killer([&] {
      std::this_thread::sleep_for(50ms * (round + 1));
      cluster.Kill(0);
      killed = true;
    });
    for (int i = 0; !killed || i < 3; ++i) {
      const RegisterAnswer answer = WriteNow(*r, "k", version, absl::StrCat(round, ":", i));
      if (answer.verdict == RegisterVerdict::kUnknown) {
        ++unknown;
        break;
      }
      ASSERT_EQ(answer.verdict, RegisterVerdict::kYes);
      ASSERT_GT(answer.version, confirmed);
      confirmed = version = answer.version;
    }
    killer.join();
    cluster.Start(0);
    ASSERT_TRUE(cluster.WaitReady());
    RegisterAnswer there;
    for (int i = 0; i < 100 && there.verdict != RegisterVerdict::kYes; ++i) there = ReadNow(*r, "k");
    ASSERT_EQ(there.verdict, RegisterVerdict::kYes) << there.why;
    EXPECT_GE(there.version, confirmed);
    confirmed = version = there.version;
  }
  EXPECT_GT(unknown, 0);
  EXPECT_GT(confirmed, kAbsent);
}

// Three contenders over three nodes; the nodes die in turn, the leader among them, and come again. Safe all the while, and
// somebody holds it soon after each.
TEST_F(EtcdTest, TheLeaderDiesInTheMiddleOfRenewals) {
  EtcdCluster cluster(3, ScratchDir());
  ASSERT_TRUE(cluster.WaitReady());
  std::vector<std::unique_ptr<LeaseKeeper>> keepers;
  std::vector<LeaseHandle> handles;
  std::atomic<int> acquired{0};
  LeaseOptions options;
  options.duration = 2s;
  for (int i = 0; i < 3; ++i) {
    EtcdOptions etcd = Options(cluster);
    etcd.timeout = 500ms;
    std::rotate(etcd.endpoints.begin(), etcd.endpoints.begin() + i, etcd.endpoints.end());
    LeaseKeeperOptions keeper;
    keeper.holder = absl::StrCat("m", i);
    keepers.push_back(*LeaseKeeper::Start(std::shared_ptr<Register>(OpenEtcd(etcd)), keeper));
    LeaseCallbacks callbacks;
    callbacks.acquired = [&](FencingToken) { ++acquired; };
    handles.push_back(*keepers.back()->Acquire("job", options, callbacks));
  }
  std::atomic<bool> end{false};
  std::atomic<int> both{0};
  std::atomic<std::uint64_t> looks{0};
  std::uint64_t last = 0;
  std::atomic<bool> lower{false};
  std::thread looker([&] {
    while (!end) {
      // Two at one instant: the first is asked again after the second.
      for (std::size_t a = 0; a < handles.size(); ++a) {
        const std::optional<FencingToken> token = handles[a].Check();
        if (!token) continue;
        lower = lower || token->value < last;
        last = token->value;
        for (std::size_t b = 0; b < handles.size(); ++b) {
          if (b != a && handles[b].Check() && handles[a].Check() == token) ++both;
        }
      }
      ++looks;
      std::this_thread::sleep_for(1ms);
    }
  });
  const auto somebody_holds = [&] {
    const auto limit = std::chrono::steady_clock::now() + 30s;
    while (std::chrono::steady_clock::now() < limit) {
      for (const LeaseHandle& handle : handles) {
        if (handle.Left() > 1s) return true;  // renewed within the last second
      }
      std::this_thread::sleep_for(10ms);
    }
    return false;
  };
  ASSERT_TRUE(somebody_holds());
  for (std::size_t node = 0; node < 3; ++node) {  // one of them is the leader
    std::this_thread::sleep_for(500ms);           // renewals are under way
    cluster.Kill(node);
    std::this_thread::sleep_for(2500ms);  // longer than the lease: only new renewals keep it
    EXPECT_TRUE(somebody_holds()) << "after the death of node " << node;
    cluster.Start(node);
    ASSERT_TRUE(cluster.WaitReady());
  }
  EXPECT_TRUE(somebody_holds());
  end = true;
  looker.join();
  EXPECT_EQ(both, 0);
  EXPECT_FALSE(lower);
  EXPECT_GT(looks, 1000u);
  EXPECT_GE(acquired, 1);
}

TEST_F(EtcdTest, TheFenceAndThePutsAreOneTransaction) {
  EtcdCluster cluster(1, ScratchDir());
  ASSERT_TRUE(cluster.WaitReady());
  FencingToken record{7};
  EtcdFence::Options options;
  options.rules.confirm = true;
  options.rules.remembered = 2;
  options.record = [&](const std::string&) -> absl::StatusOr<FencingToken> { return record; };
  absl::StatusOr<EtcdFence> fence = EtcdFence::Open(Options(cluster), options);
  ASSERT_TRUE(fence.ok());
  const std::unique_ptr<Register> r = OpenEtcd(Options(cluster));
  const auto by = [](std::string holder, std::uint64_t counter, std::string id = "") {
    FencedRequest request;
    request.claim = {.lease = "job", .holder = std::move(holder), .generation = 1, .token = {counter}};
    request.id = std::move(id);
    return request;
  };
  const auto apply = [&](const FencedRequest& request, const std::string& value) {
    absl::StatusOr<FencedAnswer> answer = fence->Apply(request, {{"data", value}}, "did " + value);
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? *answer : FencedAnswer{};
  };
  using enum FenceOutcome;
  EXPECT_EQ(apply(by("a", 5), "five").outcome, kApplied);
  EXPECT_EQ(apply(by("a", 7, "x"), "seven").outcome, kApplied);
  EXPECT_EQ(apply(by("a", 5), "stale").outcome, kStale);
  EXPECT_EQ(apply(by("b", 7), "split").outcome, kSplitAuthority);
  EXPECT_EQ(apply(by("b", 1000), "invented").outcome, kUnproven);
  EXPECT_EQ(ReadNow(*r, "data").value, "seven");
  record = {256};
  EXPECT_EQ(fence->Advance(by("b", 256))->outcome, kApplied);
  EXPECT_EQ(apply(by("a", 7, "x"), "again").outcome, kStale) << "fence before replay";
  const FencedAnswer repeated = apply(by("b", 256, "x"), "again");
  EXPECT_EQ(repeated.outcome, kRepeated);
  EXPECT_EQ(repeated.result, "did seven");
  EXPECT_EQ(apply(by("a", 255), "bytes compare like numbers").outcome, kStale);
  EXPECT_EQ(ReadNow(*r, "data").value, "seven");
  EXPECT_EQ(apply(by("b", 256, "y"), "y").outcome, kApplied);
  EXPECT_EQ(apply(by("b", 256, "z"), "z").outcome, kApplied);
  EXPECT_EQ(apply(by("b", 256, "x"), "only two are remembered").outcome, kApplied);
  // Two that write at once: nothing is lost, and the older one ends up refused.
  record = {300};
  std::thread other([&] {
    absl::StatusOr<EtcdFence> theirs = EtcdFence::Open(Options(cluster), options);
    for (int i = 0; i < 20; ++i) theirs->Apply(by("b", 256), {{"data", "b"}}).IgnoreError();
  });
  for (int i = 0; i < 20; ++i) {
    absl::StatusOr<FencedAnswer> answer = fence->Apply(by("c", 300), {{"data", "c"}});
    EXPECT_TRUE(absl::IsAborted(answer.status()) || answer->outcome == kApplied) << answer.status();
  }
  other.join();
  EXPECT_EQ(ReadNow(*r, "data").value, "c");
}

}  // namespace
}  // namespace nekton
