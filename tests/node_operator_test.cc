// Planned restarts, expulsions and another configuration between nodes on real sockets.
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/node_fixture.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class NodeOperatorTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"alpha", "beta", "gamma"}) {
      std::vector<std::string> seeds;
      if (!nodes_.empty()) seeds.push_back(nodes_[0]->local().ToString());
      nodes_.push_back(MustStart(FastConfig(name, seeds)));
      ASSERT_NE(nodes_.back(), nullptr);
    }
    for (const auto& node : nodes_) {
      ASSERT_TRUE(WaitFor([&] { return node->Members().Alive().size() == 3; }));
    }
  }

  std::vector<std::unique_ptr<Node>> nodes_;
};

// Without it a node that dies is INACTIVE within a second or so here; with it, it is SUSPECT until it ends.
TEST_F(NodeOperatorTest, AMemberInMaintenanceIsNotRemovedUntilItIsOver) {
  EventLog log;
  EventLog beta;
  const Subscription watch = nodes_[0]->Subscribe(log.Handler());
  const Subscription other = nodes_[1]->Subscribe(beta.Handler());
  ASSERT_TRUE(nodes_[2]->Maintenance("gamma", 10min, 60s).ok());
  for (EventLog* told : {&log, &beta}) {
    ASSERT_TRUE(WaitFor([&] { return told->Count(EventKind::kMaintenance, "gamma") == 1; })) << told->text();
  }
  nodes_[2]->Stop();
  ASSERT_TRUE(WaitFor([&] { return Has(*nodes_[0], "gamma", MemberStatus::kSuspect); }));
  const std::uint64_t rounds = CounterOf(*nodes_[0], "probe_rounds");
  ASSERT_TRUE(WaitFor([&] { return CounterOf(*nodes_[0], "probe_rounds") > rounds + 40; })) << "20 periods and more";
  EXPECT_EQ(log.Count(EventKind::kFailed), 0u) << log.text();
  std::promise<absl::Status> ended;
  ASSERT_TRUE(nodes_[1]->MaintenanceAsync("gamma", 0s, [&](const absl::Status& s) { ended.set_value(s); }).ok());
  const absl::Status end = ended.get_future().get();
  ASSERT_TRUE(end.ok()) << end << "\n" << beta.text();
  ASSERT_TRUE(WaitFor([&] { return log.Count(EventKind::kFailed, "gamma") == 1; })) << log.text();
  EXPECT_EQ(nodes_[0]->Maintenance("nobody", 1min, 60s).code(), absl::StatusCode::kNotFound);
}

TEST_F(NodeOperatorTest, AnExpelledNodeIsToldAndGone) {
  EventLog alpha;
  EventLog gamma;
  const Subscription watch = nodes_[0]->Subscribe(alpha.Handler());
  const Subscription expelled = nodes_[2]->Subscribe(gamma.Handler());
  EXPECT_EQ(nodes_[1]->Expel("beta", 60s).code(), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(nodes_[1]->Expel("gamma", 60s).ok());
  ASSERT_TRUE(WaitFor([&] { return alpha.Count(EventKind::kFailed, "gamma") == 1; })) << alpha.text();
  EXPECT_THAT(alpha.text(), HasSubstr("expelled; by beta"));
  ASSERT_TRUE(WaitFor([&] { return gamma.Count(EventKind::kExpelled) == 1; })) << gamma.text();
  EXPECT_EQ(nodes_[2]->SetTag("k", "v", 60s).code(), absl::StatusCode::kFailedPrecondition);
  // Its next life has a higher generation.
  nodes_[2] = MustStart(FastConfig("gamma", {nodes_[0]->local().ToString()}));
  EXPECT_TRUE(WaitFor([&] { return Has(*nodes_[0], "gamma", MemberStatus::kActive); })) << alpha.text();
}

TEST_F(NodeOperatorTest, TheConfigurationIsChangedWhileItRuns) {
  EXPECT_TRUE(nodes_[0]->Reconfigure({.relays = 1, .gossip_fanout = 2}, 60s).ok());
  const absl::Status status = nodes_[0]->Reconfigure({.relays = 99, .gossip_fanout = 0}, 60s);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("relays = 99"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("gossip_fanout = 0"));
  std::promise<absl::Status> done;
  ASSERT_TRUE(
      nodes_[0]->ReconfigureAsync({.isolation_after = 3s}, [&](const absl::Status& s) { done.set_value(s); }).ok());
  EXPECT_TRUE(done.get_future().get().ok());
}

}  // namespace
}  // namespace nekton
