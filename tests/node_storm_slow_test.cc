// A thousand random starts, joins, leaves, stops and calls of up to five nodes, from several threads: nothing hangs, no
// thread or descriptor is left, and at the end those that live find each other.
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "swim/random.h"
#include "tests/node_fixture.h"
#include "transport/uv_hub.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

class NodeStorm : public testing::TestWithParam<bool> {
 protected:
  static constexpr std::size_t kSlots = 5;
  struct Slot {
    std::mutex mutex;  // over the pointer alone: calls overlap with everything
    std::shared_ptr<Node> node;
  };

  std::shared_ptr<Node> At(std::size_t slot) {
    const std::lock_guard lock(slots_[slot].mutex);
    return slots_[slot].node;
  }
  std::vector<std::string> Seeds(Random& random) {
    std::vector<std::string> seeds;
    for (std::size_t i = 0; i < kSlots; ++i) {
      const auto node = At(i);
      if (node != nullptr && random.Below(2) == 0) seeds.push_back(node->local().ToString());
    }
    return seeds;
  }
  std::shared_ptr<Node> Begin(const std::string& name, std::vector<std::string> seeds) {
    NodeOptions options;
    if (GetParam()) options.transport = HubOnUv(hub_);
    auto node = Node::Start(FastConfig(name, std::move(seeds)), std::move(options));
    EXPECT_TRUE(node.ok()) << node.status();
    return node.ok() ? std::shared_ptr<Node>(*std::move(node)) : nullptr;
  }
  void Step(Random& random) {
    const std::size_t slot = random.Below(kSlots);
    std::shared_ptr<Node> node = At(slot);
    switch (random.Below(10)) {
      case 0:
      case 1:
      case 2: {
        auto fresh = Begin(absl::StrCat("n", slot), Seeds(random));
        const std::lock_guard lock(slots_[slot].mutex);
        std::swap(slots_[slot].node, fresh);
        break;  // the old one ends outside of the lock
      }
      case 3: {
        std::shared_ptr<Node> gone;
        const std::lock_guard lock(slots_[slot].mutex);
        std::swap(slots_[slot].node, gone);
        break;
      }
      case 4:
        if (node != nullptr) node->Stop();
        break;
      case 5:
        if (node != nullptr) node->LeaveAsync(50ms, [](const absl::Status&) {}).IgnoreError();
        break;
      case 6:
        if (node != nullptr) node->Leave(20ms).IgnoreError();
        break;
      case 7:
        if (node != nullptr) node->Join(Seeds(random)).IgnoreError();
        break;
      case 8:
        if (node != nullptr) node->JoinAsync({"127.0.0.1:1"}, 30ms, [](const JoinReport&) {}).IgnoreError();
        break;
      default:
        if (node != nullptr) {
          node->SetTag("k", absl::StrCat(random.Below(100)), 20ms).IgnoreError();
          (void)node->Members().Alive();
          (void)node->Counters();
        }
    }
    ++steps_;
  }

  std::array<Slot, kSlots> slots_;
  std::shared_ptr<Hub> hub_ = std::make_shared<Hub>();
  std::atomic<int> steps_ = 0;
};

TEST_P(NodeStorm, AThousandStepsLeaveNothingBehind) {
  { const auto first = MustStart(FastConfig("first")); }  // libuv opens some descriptors once for the process
  const std::size_t descriptors = Descriptors();
  const std::size_t threads = Threads();
  const int wanted = Storm(1000);
  {
    std::vector<std::thread> workers;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      workers.emplace_back([this, seed, wanted] {
        Random random(seed);
        while (steps_ < wanted) Step(random);
      });
    }
    for (std::thread& worker : workers) worker.join();
  }
  EXPECT_GE(steps_, wanted);
  // Whoever is there now starts anew, and they meet.
  for (std::size_t i = 0; i < kSlots; ++i) slots_[i].node.reset();
  std::vector<std::shared_ptr<Node>> last;
  for (int i = 0; i < 3; ++i) {
    last.push_back(Begin(absl::StrCat("last", i), last.empty()
                                                      ? std::vector<std::string>{}
                                                      : std::vector<std::string>{last[0]->local().ToString()}));
  }
  for (const auto& node : last) {
    EXPECT_TRUE(WaitFor([&] { return node->Members().Alive().size() == 3; }));
  }
  last.clear();
  EXPECT_TRUE(WaitFor([&] { return Threads() == threads; })) << Threads() << " threads instead of " << threads;
  EXPECT_EQ(Descriptors(), descriptors);
}

INSTANTIATE_TEST_SUITE_P(Networks, NodeStorm, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& network) { return network.param ? "hub" : "sockets"; });

}  // namespace
}  // namespace nekton
