// Watching a member over real sockets.
#include <chrono>
#include <future>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/node_fixture.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

class NodeWatchTest : public testing::Test {
 protected:
  void SetUp() override {
    alpha_ = MustStart(FastConfig("alpha"));
    beta_ = MustStart(FastConfig("beta", {alpha_->local().ToString()}));
    ASSERT_TRUE(WaitFor([&] { return Has(*alpha_, "beta", MemberStatus::kActive); }));
    ASSERT_TRUE(WaitFor([&] { return Has(*beta_, "alpha", MemberStatus::kActive); }));
  }

  std::unique_ptr<Node> alpha_;
  std::unique_ptr<Node> beta_;
};

TEST_F(NodeWatchTest, TheLevelOfANodeThatStopsReachesItsThresholds) {
  EventLog log;
  const Subscription events = alpha_->Subscribe(log.Handler());
  ASSERT_TRUE(alpha_->Watch("beta", 20ms, {8, 1}, 60s).ok());
  ASSERT_TRUE(WaitFor([&] { return CounterOf(*beta_, "watch_datagrams_sent") > 20; }));
  const auto level = alpha_->Level("beta", 60s);
  ASSERT_TRUE(level.ok()) << level.status();
  EXPECT_GE(*level, 0);

  beta_->Stop();
  // From now on there is but one rise. On a machine that is slow enough there were others before it.
  const auto last = [&] {
    std::vector<double> reached;
    for (const Event& event : log.all()) {
      if (event.kind != EventKind::kLevel) continue;
      EXPECT_EQ(event.member->name, "beta");
      if (event.rose) reached.push_back(event.threshold);
      if (!event.rose) reached.clear();
    }
    return reached;
  };
  EXPECT_TRUE(WaitFor([&] { return last().size() == 2; })) << log.text();
  EXPECT_THAT(last(), ElementsAre(1, 8));
  EXPECT_GE(alpha_->Level("beta", 60s).value_or(-1), 8);
  EXPECT_THAT(log.text(), HasSubstr("reached 8"));
  EXPECT_EQ(log.Count(EventKind::kWatchEnded), 0u);
}

TEST_F(NodeWatchTest, UnwatchAndMistakes) {
  EventLog log;
  const Subscription events = alpha_->Subscribe(log.Handler());
  const absl::Status wrong = alpha_->Watch("alpha", 1ms, {}, 60s);
  EXPECT_EQ(wrong.code(), absl::StatusCode::kInvalidArgument);
  for (const char* word : {"member", "interval", "thresholds"}) {
    EXPECT_THAT(std::string(wrong.message()), HasSubstr(word));
  }
  EXPECT_EQ(alpha_->Watch("nobody", 20ms, {8}, 60s).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(alpha_->Level("nobody", 60s).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(alpha_->Level("alpha", 60s).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(alpha_->Level("beta", -1ns).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(alpha_->Unwatch("beta", 60s).code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(alpha_->Watch("beta", 20ms, {8}, 60s).ok());
  EXPECT_TRUE(alpha_->Unwatch("beta", 60s).ok());
  EXPECT_TRUE(WaitFor([&] { return log.Count(EventKind::kWatchEnded, "beta") == 1; }));
}

TEST_F(NodeWatchTest, TheAsynchronousFormsAreLegalInCallbacks) {
  std::promise<absl::StatusOr<double>> level;
  std::promise<absl::Status> ended;
  absl::StatusCode blocking = absl::StatusCode::kOk;
  ASSERT_TRUE(
      alpha_
          ->WatchAsync("beta", 20ms, {1000},
                       [&](const absl::Status& status) {
                         EXPECT_TRUE(status.ok()) << status;
                         blocking = alpha_->Level("beta").status().code();
                         EXPECT_TRUE(alpha_->LevelAsync("beta", [&](const auto& its) { level.set_value(its); }).ok());
                         EXPECT_TRUE(alpha_->UnwatchAsync("beta", [&](const auto& its) { ended.set_value(its); }).ok());
                       })
          .ok());
  EXPECT_GE(level.get_future().get().value_or(-1), 0);
  EXPECT_TRUE(ended.get_future().get().ok());
  EXPECT_EQ(blocking, absl::StatusCode::kFailedPrecondition);
}

TEST_F(NodeWatchTest, AStoppedNodeWatchesNobody) {
  alpha_->Stop();
  EXPECT_EQ(alpha_->Watch("beta", 20ms, {8}).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(alpha_->WatchAsync("beta", 20ms, {8}).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(alpha_->Unwatch("beta").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(alpha_->UnwatchAsync("beta").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(alpha_->Level("beta").status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace nekton
