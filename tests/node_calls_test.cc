// What users ask of a running node, or hand in to it: explanations and observations.
#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <uv.h>

#include "tests/node_fixture.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// Two nodes that know each other; beta does not answer for itself here, so what alpha holds of it is up to the test.
class NodeCallsTest : public testing::Test {
 protected:
  void SetUp() override {
    Config config = FastConfig("alpha");
    config.period = 1s;  // a round takes long, so that what is handed in decides
    config.tolerated_pause = 3s;
    config.max_local_pause = 500ms;
    config.forget_after = 90s;
    alpha_ = MustStart(config);
    config.name = "beta";
    config.seeds = {alpha_->local().ToString()};
    beta_ = MustStart(config);
    ASSERT_TRUE(WaitFor([&] { return Has(*alpha_, "beta", MemberStatus::kActive); }));
  }

  static std::vector<PeerObservation> Suspects(std::size_t count) {
    return std::vector<PeerObservation>(count, {.peer = "beta", .signal = Signal::kSuspect});
  }

  std::unique_ptr<Node> alpha_;
  std::unique_ptr<Node> beta_;
};

TEST_F(NodeCallsTest, ObservationsAreDebouncedAndExplained) {
  EventLog log;
  const Subscription watch = alpha_->Subscribe(log.Handler());
  EXPECT_TRUE(alpha_->Observe({}).ok());
  EXPECT_TRUE(alpha_->Observe(Suspects(8), 60s).ok());
  ASSERT_TRUE(WaitFor([&] { return log.Count(EventKind::kSuspected, "beta") == 1; })) << log.text();
  EXPECT_THAT(log.text(), HasSubstr("application"));

  const auto why = alpha_->Explain("beta", 60s);
  ASSERT_TRUE(why.ok()) << why.status();
  EXPECT_EQ(why->member->name, "beta");
  ASSERT_FALSE(why->why.recent.empty());
  EXPECT_THAT(Describe(*why), HasSubstr("alpha"));
  EXPECT_GE(CounterOf(*alpha_, "stm_input_applied"), 5u);
}

TEST_F(NodeCallsTest, MistakesAreToldAndNothingIsApplied) {
  std::vector<PeerObservation> mixed = Suspects(5);
  mixed.push_back({.peer = "nobody", .signal = Signal::kSuspect});
  mixed.push_back({.peer = "alpha", .signal = Signal::kSuspect});
  const absl::Status status = alpha_->Observe(mixed, 60s);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("observations[5].peer = \"nobody\""));
  EXPECT_THAT(std::string(status.message()), HasSubstr("observations[6].peer"));
  EXPECT_EQ(alpha_->Explain("nobody", 60s).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(alpha_->Explain("beta", -1s).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Has(*alpha_, "beta", MemberStatus::kActive));
}

TEST_F(NodeCallsTest, TheAsynchronousFormsAreLegalInCallbacksWhereTheOthersWouldBlock) {
  std::promise<std::string> told;
  std::promise<absl::StatusCode> blocking;
  ASSERT_TRUE(alpha_
                  ->ObserveAsync(Suspects(1),
                                 [&](const absl::Status& status) {
                                   EXPECT_TRUE(status.ok()) << status;
                                   blocking.set_value(alpha_->Explain("beta").status().code());
                                   EXPECT_TRUE(alpha_
                                                   ->ExplainAsync("beta",
                                                                  [&](const absl::StatusOr<MemberExplanation>& why) {
                                                                    told.set_value(why.ok() ? Describe(*why) : "");
                                                                  })
                                                   .ok());
                                 })
                  .ok());
  EXPECT_EQ(blocking.get_future().get(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(told.get_future().get(), HasSubstr("beta is ACTIVE"));
}

TEST_F(NodeCallsTest, TheDetectorIsSwappedWhileItRunsAndNobodyHealthyIsSuspected) {
  EventLog log;
  const Subscription watch = alpha_->Subscribe(log.Handler());
  for (const DetectorKind detector : {DetectorKind::kPhi, DetectorKind::kFixed, DetectorKind::kPhi}) {
    EXPECT_TRUE(alpha_->Reconfigure(detector).ok());
    const std::uint64_t rounds = CounterOf(*alpha_, "probe_rounds");
    EXPECT_TRUE(WaitFor([&] { return CounterOf(*alpha_, "probe_rounds") > rounds; }));
  }
  EXPECT_EQ(alpha_->Reconfigure(static_cast<DetectorKind>(9)).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(log.Count(EventKind::kSuspected), 0u) << log.text();
}

TEST_F(NodeCallsTest, AStoppedNodeAnswersNobodyAndHoldsNobodyUp) {
  alpha_->Stop();
  EXPECT_EQ(alpha_->Explain("beta").status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(alpha_->Observe(Suspects(1)).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(alpha_->ObserveAsync(Suspects(1)).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(alpha_->Reconfigure(DetectorKind::kPhi).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(NodeCallsTest, ManyThreadsMayAskWhileItStops) {
  std::atomic<int> answered = 0;
  std::vector<std::thread> askers;
  for (int i = 0; i < 4; ++i) {
    askers.emplace_back([&] {
      for (;;) {
        const auto why = alpha_->Explain("beta", 60s);
        if (why.ok()) {
          ++answered;
          continue;
        }
        const absl::StatusCode code = why.status().code();
        EXPECT_TRUE(code == absl::StatusCode::kFailedPrecondition || code == absl::StatusCode::kCancelled);
        return;
      }
    });
  }
  EXPECT_TRUE(WaitFor([&] { return answered > 20; }));
  alpha_->Stop();
  for (std::thread& asker : askers) asker.join();
}

// On the user's loop: whoever asks from another thread waits for a turn of it, and no longer than it said.
TEST(NodeCallsAttachTest, ALoopThatDoesNotRunIsADeadlineAndNoDeadlock) {
  uv_loop_t loop;
  ASSERT_EQ(uv_loop_init(&loop), 0);
  {
    auto node = Node::Attach(&loop, FastConfig("alone"));
    ASSERT_TRUE(node.ok()) << node.status();
    absl::Status from_outside;
    std::thread asker([&] { from_outside = (*node)->Explain("alone", 20ms).status(); });
    asker.join();
    EXPECT_EQ(from_outside.code(), absl::StatusCode::kDeadlineExceeded);
    EXPECT_EQ((*node)->Explain("alone").status().code(), absl::StatusCode::kFailedPrecondition)
        << "on the loop's thread";
    bool told = false;
    ASSERT_TRUE((*node)->ExplainAsync("alone", [&](const auto& why) { told = why.ok(); }).ok());
    for (int turns = 0; turns < 1000 && !told; ++turns) uv_run(&loop, UV_RUN_NOWAIT);
    EXPECT_TRUE(told);
  }
  uv_run(&loop, UV_RUN_DEFAULT);
  EXPECT_EQ(uv_loop_close(&loop), 0);
}

}  // namespace
}  // namespace nekton
