// A node that is the authority, and one that is not, on real sockets: what each of them holds, decides and says.
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "lease/capability.h"
#include "tests/cluster.h"
#include "transport/node.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<Node> Started(const std::string& name, const std::string& seed, std::shared_ptr<ViewStore> store) {
  Config config = Config::Local();
  config.name = name;
  config.bind = "127.0.0.1:0";
  if (!seed.empty()) config.seeds = {seed};
  NodeOptions options;
  options.leases.authority = "root";
  options.leases.key = ClusterKey().public_key();
  if (store != nullptr) options.leases.signing = ClusterKey();
  options.view_store = std::move(store);
  absl::StatusOr<std::unique_ptr<Node>> node = Node::Start(config, std::move(options));
  EXPECT_TRUE(node.ok()) << node.status();
  return node.ok() ? *std::move(node) : nullptr;
}

// It is a matter of milliseconds, or of the limit.
bool Await(const std::function<bool()>& what) {
  for (const auto end = std::chrono::steady_clock::now() + 20s; std::chrono::steady_clock::now() < end;) {
    if (what()) return true;
    std::this_thread::yield();
  }
  return false;
}

TEST(NodeLeaseTest, TwoNodesComeToOneViewAndServeTheirObjects) {
  auto store = std::make_shared<MemoryViewStore>();
  const std::unique_ptr<Node> root = Started("root", "", store);
  ASSERT_NE(root, nullptr);
  const std::unique_ptr<Node> beta = Started("beta", root->local().ToString(), nullptr);
  ASSERT_NE(beta, nullptr);
  ASSERT_TRUE(Await([&] { return beta->view()->view.members.size() == 2 && beta->view()->current; }));
  EXPECT_EQ(beta->view()->epoch(), 2u);
  ASSERT_TRUE(Await([&] { return root->view()->epoch() == 2; }));
  EXPECT_EQ(beta->view()->view.head, root->view()->view.head);
  ASSERT_TRUE(Await([&] {
    const auto standing = beta->Standing();
    return standing.ok() && standing->authority.may_commit;
  }));

  ObjectId object;
  for (int i = 0; beta->HomeOf(object) != "beta"; ++i) object = ObjectNamed(std::to_string(i));
  EXPECT_EQ(beta->FindRoute(object)->home, "beta");
  ObjectRequest request;
  request.epoch = 2;
  request.object = object;
  request.request = 1;
  request.operation = Operation::kCommit;
  request.capability.object = object;
  request.capability.operations = OperationBit(Operation::kCommit);
  request.capability.expires = WallTime::max();
  request.capability = SignCapability(ClusterKey(), "", request.capability);
  std::atomic<int> served = 0;
  std::atomic<int> decided = 0;
  ObjectDecision last;
  const auto serve = [&] {
    ++served;
    return std::vector<std::byte>(3);
  };
  const auto done = [&](const ObjectDecision& decision) {
    last = decision;
    ++decided;
  };
  ASSERT_TRUE(beta->ServeAsync(request, serve, done).ok());
  ASSERT_TRUE(Await([&] { return decided == 1; }));
  EXPECT_EQ(last.verdict, Verdict::kServe);
  EXPECT_GT(last.write_left, 0s);
  ASSERT_TRUE(beta->ServeAsync(request, serve, done).ok());
  ASSERT_TRUE(Await([&] { return decided == 2; }));
  EXPECT_EQ(last.verdict, Verdict::kReplay);
  EXPECT_EQ(last.answer.size(), 3u);
  EXPECT_EQ(served, 1);
  ASSERT_TRUE(root->DecideAsync(request, done).ok());
  ASSERT_TRUE(Await([&] { return decided == 3; }));
  EXPECT_EQ(last.verdict, Verdict::kNotHome);
  EXPECT_EQ(beta->Move(object, "root").code(), absl::StatusCode::kFailedPrecondition);
  root->Stop();
  EXPECT_EQ((*store->Read()).epoch(), 2u);
}

TEST(NodeLeaseTest, WithoutAnAuthorityThereIsNothingToAskFor) {
  Config config = Config::Local();
  config.name = "alone";
  config.standalone = true;
  const auto node = Node::Start(config);
  ASSERT_TRUE(node.ok());
  EXPECT_EQ((*node)->view()->epoch(), 0u);
  EXPECT_EQ((*node)->Standing().status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ((*node)->RouteAsync({}, nullptr).code(), absl::StatusCode::kFailedPrecondition);
  NodeOptions options;
  options.leases.authority = "alone";
  options.leases.signing = ClusterKey();
  options.leases.key = ClusterKey().public_key();
  EXPECT_EQ(Node::Start(config, options).status().code(), absl::StatusCode::kInvalidArgument) << "no store";
}

}  // namespace
}  // namespace nekton
