// The object service of the examples as a client: it follows one MOVED, and no second one.
#include "examples/objects/object_service.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "examples/objects/object_wire.h"
#include "lease/view_store.h"
#include "tests/cluster.h"
#include "transport/node.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<Node> Started(const std::string& name, const Node* seed) {
  Config config = Config::Local();
  config.name = name;
  config.bind = "127.0.0.1:0";
  if (seed != nullptr) config.seeds = {seed->local().ToString()};
  NodeOptions options;
  options.leases.authority = "root";
  options.leases.key = ClusterKey().public_key();
  if (seed == nullptr) {
    options.leases.signing = ClusterKey();
    options.view_store = std::make_shared<MemoryViewStore>();
  }
  absl::StatusOr<std::unique_ptr<Node>> node = Node::Start(config, std::move(options));
  EXPECT_TRUE(node.ok()) << node.status();
  return node.ok() ? *std::move(node) : nullptr;
}

// It is a matter of milliseconds, or of the limit.
bool Await(const std::function<bool()>& what) {
  for (const auto end = std::chrono::steady_clock::now() + 30s; std::chrono::steady_clock::now() < end;) {
    if (what()) return true;
    std::this_thread::yield();
  }
  return false;
}

// A client on the authority, and two others that answer as the test says.
struct Three {
  std::unique_ptr<Node> root = Started("root", nullptr);
  std::unique_ptr<Node> beta = Started("beta", root.get());
  std::unique_ptr<Node> gamma = Started("gamma", root.get());
  std::atomic<int> asked_beta = 0;
  std::atomic<int> asked_gamma = 0;

  bool Form() {
    return Await([&] {
      const auto all = {root.get(), beta.get(), gamma.get()};
      return std::all_of(all.begin(), all.end(), [](const Node* node) {
        return node->view()->view.members.size() == 3 && node->view()->current;
      });
    });
  }
  static void AnswerWith(Node& node, std::atomic<int>& asked, ObjectAnswer answer) {
    node.OnRequest([&asked, answer = std::move(answer)](const Message&, Responder responder) {
      ++asked;
      responder.Answer(Encode(answer)).IgnoreError();
    });
  }
  ObjectService::Result Stat(ObjectService& service) {
    Capability right;
    for (int i = 0; root->HomeOf(right.object) != "beta"; ++i) right.object = ObjectNamed(std::to_string(i));
    right.operations = OperationBit(Operation::kStat);
    right.expires = WallTime::max();
    ObjectService::Result result;
    std::atomic<bool> done = false;
    service.Stat(
        SignCapability(ClusterKey(), "", right),
        [&](const ObjectService::Result& r) {
          result = r;
          done = true;
        },
        20s);
    EXPECT_TRUE(Await([&] { return done.load(); }));
    return result;
  }
  ObjectAnswer MovedTo(std::string where) const {
    return {Verdict::kMoved, root->view()->epoch(), std::move(where), 0, {}};
  }
};

TEST(ObjectServiceTest, AMovedIsFollowedOnce) {
  Three nodes;
  ASSERT_TRUE(nodes.Form());
  ObjectService client(*nodes.root);
  Three::AnswerWith(*nodes.beta, nodes.asked_beta, nodes.MovedTo("gamma"));
  Three::AnswerWith(*nodes.gamma, nodes.asked_gamma, {Verdict::kServe, nodes.root->view()->epoch(), {}, 7, {}});
  const ObjectService::Result result = nodes.Stat(client);
  EXPECT_EQ(result.evidence.status, Name(Verdict::kServe));
  EXPECT_EQ(result.version, 7u);
  EXPECT_TRUE(result.evidence.moved);
  EXPECT_EQ(result.evidence.attempts, 2u);
  EXPECT_EQ(result.evidence.home, "gamma");
  for (const auto& node : {&nodes.root, &nodes.beta, &nodes.gamma}) (*node)->Stop();
}

TEST(ObjectServiceTest, ASecondMovedIsTheAnswer) {
  Three nodes;
  ASSERT_TRUE(nodes.Form());
  ObjectService client(*nodes.root);
  Three::AnswerWith(*nodes.beta, nodes.asked_beta, nodes.MovedTo("gamma"));
  Three::AnswerWith(*nodes.gamma, nodes.asked_gamma, nodes.MovedTo("beta"));
  const ObjectService::Result result = nodes.Stat(client);
  EXPECT_EQ(result.evidence.status, Name(Verdict::kMoved));
  EXPECT_EQ(result.evidence.attempts, 2u);
  EXPECT_EQ(nodes.asked_beta, 1);
  EXPECT_EQ(nodes.asked_gamma, 1);
  for (const auto& node : {&nodes.root, &nodes.beta, &nodes.gamma}) (*node)->Stop();
}

}  // namespace
}  // namespace nekton
