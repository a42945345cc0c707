// Node::Join with a timeout: what each address is told, on real sockets; and who may not join, and why.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/node_fixture.h"
#include "tests/uv_fixture.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::SizeIs;

std::string Text(const absl::Status& status) { return std::string(status.message()); }

// A port where nobody listens, as long as the test runs: a datagram socket holds it.
class DeadAddress {
 public:
  DeadAddress() : socket_(SOCK_DGRAM) {}
  std::string text() const { return socket_.local().ToString(); }

 private:
  RawSocket socket_;
};

// A name service that the test sets.
class Hosts {
 public:
  ResolveFunction Function() {
    return [state = state_](const std::string& host) -> absl::StatusOr<std::vector<Address>> {
      const std::lock_guard lock(state->mutex);
      ++state->asked;
      const auto found = state->hosts.find(host);
      if (found == state->hosts.end()) return absl::UnavailableError("no such host");
      return found->second;
    };
  }
  void Set(const std::string& host, std::vector<Address> addresses) {
    const std::lock_guard lock(state_->mutex);
    state_->hosts[host] = std::move(addresses);
  }
  int asked() const {
    const std::lock_guard lock(state_->mutex);
    return state_->asked;
  }

 private:
  struct State {
    std::mutex mutex;
    std::map<std::string, std::vector<Address>> hosts;
    int asked = 0;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

TEST(NodeJoinTest, OneGoodAddressIsEnoughAndEachIsReported) {
  auto alpha = MustStart(FastConfig("alpha"));
  auto beta = MustStart(FastConfig("beta"));
  const DeadAddress dead;
  const std::string good = alpha->local().ToString();
  const JoinReport report = beta->Join({dead.text(), good, beta->local().ToString()}, 60s);
  ASSERT_TRUE(report.status.ok()) << report.status;
  EXPECT_NE(beta->Members().Find("alpha"), nullptr) << "the snapshot is there before the call returns";
  ASSERT_THAT(report.results, SizeIs(3));
  EXPECT_EQ(report.results[0].seed, dead.text());
  EXPECT_FALSE(report.results[0].status.ok());
  EXPECT_EQ(report.results[1].address, alpha->local());
  EXPECT_TRUE(report.results[1].status.ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(report.results[2].status)) << "ourselves";
  EXPECT_TRUE(beta->Join({good}, 60s).status.ok()) << "it is a member already";
}

TEST(NodeJoinTest, WhereAllAreDeadTheDeadlineNamesEachAndItsReason) {
  const DeadAddress first, second;
  Hosts hosts;
  auto alpha = MustStart(FastConfig("alpha"), {.log = {}, .resolve = hosts.Function()});
  const auto begin = std::chrono::steady_clock::now();
  const JoinReport report = alpha->Join({first.text(), "nowhere.invalid:7946", second.text()}, 1s);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 1s);
  EXPECT_TRUE(absl::IsDeadlineExceeded(report.status)) << report.status;
  ASSERT_THAT(report.results, SizeIs(3));
  for (const SeedResult& result : report.results) {
    EXPECT_TRUE(absl::IsUnavailable(result.status)) << result.seed << ": " << result.status;
    EXPECT_THAT(Text(report.status), HasSubstr(result.seed));
  }
  EXPECT_THAT(Text(report.status), HasSubstr("refused"));
  EXPECT_THAT(Text(report.status), HasSubstr("no such host"));
  EXPECT_EQ(report.results[1].address.port, 0);
  EXPECT_GE(hosts.asked(), 2) << "looked up anew within the time";
}

TEST(NodeJoinTest, ASeedThatComesUpInTimeLetsUsIn) {
  std::atomic<bool> called = false;
  absl::Status status = absl::UnknownError("");
  std::unique_ptr<Node> beta;
  auto alpha = StartAtSomePort([&] {
    beta = nullptr;  // and with it the callback of another try
    auto holder = std::make_unique<DeadAddress>();
    Config config = FastConfig("alpha");
    config.bind = holder->text();
    beta = MustStart(FastConfig("beta"));
    EXPECT_TRUE(beta->JoinAsync({config.bind}, 60s,
                                [&](const JoinReport& report) {
                                  status = report.status;
                                  called = true;
                                })
                    .ok());
    EXPECT_TRUE(WaitFor([&] { return CounterOf(*beta, "syncs_failed") >= 2; }));
    EXPECT_FALSE(called);
    holder.reset();
    return Node::Start(config);
  });
  ASSERT_NE(alpha, nullptr);
  ASSERT_TRUE(WaitFor([&] { return called.load(); }));
  EXPECT_TRUE(status.ok()) << status;
}

TEST(NodeJoinTest, ANameStandsForAllItsAddressesAndMayResolveLater) {
  auto alpha = MustStart(FastConfig("alpha"));
  Hosts hosts;
  auto beta = MustStart(FastConfig("beta"), {.log = {}, .resolve = hosts.Function()});
  const std::string seed = "cluster:" + std::to_string(alpha->local().port);
  std::atomic<bool> called = false;
  JoinReport report;
  ASSERT_TRUE(beta->JoinAsync({seed}, 60s,
                              [&](const JoinReport& its) {
                                report = its;
                                called = true;
                              })
                  .ok());
  ASSERT_TRUE(WaitFor([&] { return hosts.asked() >= 2; }));
  hosts.Set("cluster", {Address::V4(127, 0, 0, 2, 0), Address::V4(127, 0, 0, 1, 0)});
  ASSERT_TRUE(WaitFor([&] { return called.load(); }));
  EXPECT_TRUE(report.status.ok()) << report.status;
  ASSERT_THAT(report.results, SizeIs(2));
  EXPECT_EQ(report.results[0].seed, seed);
  EXPECT_FALSE(report.results[0].status.ok());
  EXPECT_EQ(report.results[1].address, alpha->local());
  EXPECT_TRUE(report.results[1].status.ok());
}

// ---- Who may not join. ----

TEST(NodeJoinTest, AnotherProfileIsRefusedAtOnceAndTheDifferenceNamed) {
  auto alpha = MustStart(FastConfig("alpha"));
  Config config = Config::Wan();
  config.name = "beta";
  config.bind = "127.0.0.1:0";
  auto beta = MustStart(config);
  const JoinReport report = beta->Join({alpha->local().ToString()}, 10min);
  EXPECT_TRUE(absl::IsFailedPrecondition(report.status)) << report.status;
  EXPECT_THAT(Text(report.status), HasSubstr("period: 0.1 s here, 5 s there"));
  EXPECT_THAT(Text(report.status), HasSubstr("tolerated_pause: 0.3 s here, 12 s there"));
  EXPECT_EQ(alpha->Members().All().size(), 1U);
  EXPECT_EQ(beta->Members().All().size(), 1U);
  EXPECT_THAT(Text(beta->WaitJoined(0s)), HasSubstr("period: 0.1 s here, 5 s there"));
}

TEST(NodeJoinTest, AnotherLabelIsRefusedAtOnceAndCounted) {
  Config red = FastConfig("alpha");
  red.label = "red";
  auto alpha = MustStart(red);
  Config blue = FastConfig("beta");
  blue.label = "blue";
  EventLog log;
  const auto watch = alpha->Subscribe(log.Handler());
  auto beta = MustStart(blue);
  const JoinReport report = beta->Join({alpha->local().ToString()}, 10min);
  EXPECT_TRUE(absl::IsFailedPrecondition(report.status)) << report.status;
  EXPECT_THAT(Text(report.status), HasSubstr("other cluster"));
  EXPECT_TRUE(WaitFor([&] { return CounterOf(*alpha, "bad_label") >= 1; }));
  EXPECT_TRUE(WaitFor([&] { return CounterOf(*beta, "bad_label") >= 1; })) << "of the answer";
  EXPECT_TRUE(WaitFor([&] { return log.Count(EventKind::kForeign) == 1; })) << log.text();
  EXPECT_EQ(alpha->Members().All().size(), 1U);
}

TEST(NodeJoinTest, ANameInUseIsToldToTheSecondAndNobodyFlaps) {
  EventLog log;
  auto alpha = MustStart(FastConfig("alpha"));
  auto first = MustStart(FastConfig("twin", {alpha->local().ToString()}));
  ASSERT_TRUE(first->WaitJoined(60s).ok());
  ASSERT_TRUE(WaitFor([&] { return Has(*alpha, "twin", MemberStatus::kActive); }));
  const auto watch = alpha->Subscribe(log.Handler());
  auto second = MustStart(FastConfig("twin"));
  // Whoever is asked, its owner or another.
  const JoinReport report = second->Join({alpha->local().ToString(), first->local().ToString()}, 1s);
  EXPECT_TRUE(absl::IsDeadlineExceeded(report.status)) << report.status << ": its owner might have left";
  ASSERT_THAT(report.results, SizeIs(2));
  for (const SeedResult& result : report.results) EXPECT_TRUE(absl::IsAlreadyExists(result.status)) << result.status;
  const std::string words = "name in use: \"twin\" is alive at " + first->local().ToString();
  EXPECT_THAT(Text(report.status), HasSubstr(words));
  const absl::Status waited = second->WaitJoined(0s);
  EXPECT_TRUE(absl::IsDeadlineExceeded(waited));
  EXPECT_THAT(Text(waited), HasSubstr(words));
  EXPECT_EQ(alpha->Members().Find("twin")->address, first->local());
  EXPECT_TRUE(WaitFor([&] { return log.Count(EventKind::kNameConflict, "twin") == 1; })) << log.text();
  for (const EventKind kind : {EventKind::kSuspected, EventKind::kRestarted, EventKind::kFailed, EventKind::kUpdated}) {
    EXPECT_EQ(log.Count(kind), 0U) << log.text();
  }
  // Once its owner has left, the name is free, and who waits for it gets it.
  std::thread owner([&] { EXPECT_TRUE(first->Leave(10s).ok()); });
  const JoinReport later = second->Join({alpha->local().ToString()}, 60s);
  owner.join();
  EXPECT_TRUE(later.status.ok()) << later.status;
}

// ---- Calls. ----

TEST(NodeJoinTest, MistakesAreToldAtOnce) {
  auto alpha = MustStart(FastConfig("alpha"));
  EXPECT_TRUE(absl::IsInvalidArgument(alpha->Join({"no port"}, 1s).status));
  EXPECT_THAT(Text(alpha->Join({"127.0.0.1:1"}, 0s).status), HasSubstr("timeout"));
  EXPECT_THAT(Text(alpha->Join({}, 1s).status), HasSubstr("addresses"));
  EXPECT_TRUE(absl::IsInvalidArgument(alpha->JoinAsync({"no port"}, 1s, nullptr)));
  EXPECT_TRUE(absl::IsFailedPrecondition(alpha->Join({alpha->local().ToString()}, 10min).status)) << "itself alone";
  Config lone = FastConfig("lone");
  lone.standalone = true;
  EXPECT_TRUE(absl::IsFailedPrecondition(MustStart(lone)->Join({"127.0.0.1:1"}, 1s).status));
}

TEST(NodeJoinTest, StoppingEndsTheWaitAndDropsTheCallback) {
  const DeadAddress dead;
  const DeadAddress other;  // of the call that waits: once it has been tried, the call is there
  for (const bool stops_first : {false, true}) {
    auto alpha = MustStart(FastConfig("alpha"));
    EventLog log;
    const Subscription watch = alpha->Subscribe(log.Handler());
    std::atomic<bool> called = false;
    EXPECT_TRUE(alpha->JoinAsync({dead.text()}, 10min, [&](const JoinReport&) { called = true; }).ok());
    if (stops_first) alpha->Stop();
    std::thread stopper([&] {
      const auto tried = [&](const Event& e) {
        return e.kind == EventKind::kJoinResult && e.address.ToString() == other.text();
      };
      if (!stops_first) {
        WaitFor([&] {
          const std::vector<Event> events = log.all();
          return std::any_of(events.begin(), events.end(), tried);
        });
      }
      alpha->Stop();
    });
    const JoinReport report = alpha->Join({other.text()}, 10min);
    stopper.join();
    EXPECT_EQ(report.status.code(), stops_first ? absl::StatusCode::kFailedPrecondition : absl::StatusCode::kCancelled)
        << report.status;
    EXPECT_FALSE(called);
  }
}

TEST(NodeJoinTest, LeavingEndsIt) {
  const DeadAddress dead;
  auto alpha = MustStart(FastConfig("alpha"));
  std::thread leaver([&] {
    WaitFor([&] { return CounterOf(*alpha, "syncs_failed") >= 1; });
    EXPECT_TRUE(alpha->Leave(10s).ok());
  });
  const JoinReport report = alpha->Join({dead.text()}, 10min);
  leaver.join();
  EXPECT_TRUE(absl::IsFailedPrecondition(report.status)) << report.status;
}

TEST(NodeJoinTest, ItsCallbackMayCallEverything) {
  auto alpha = MustStart(FastConfig("alpha"));
  auto beta = MustStart(FastConfig("beta"));
  const std::string good = alpha->local().ToString();
  std::atomic<bool> done = false;
  EventLog log;
  const auto watch = beta->Subscribe(log.Handler());
  ASSERT_TRUE(beta->JoinAsync({good}, 60s,
                              [&](const JoinReport& report) {
                                EXPECT_TRUE(report.status.ok()) << report.status;
                                EXPECT_EQ(log.Count(EventKind::kJoined, "alpha"), 1U)
                                    << "after the events that led to it";
                                EXPECT_TRUE(absl::IsFailedPrecondition(beta->Join({good}, 1s).status))
                                    << "it would wait for itself";
                                EXPECT_TRUE(beta->JoinAsync({good}, 60s,
                                                            [&](const JoinReport&) {
                                                              beta->Stop();
                                                              done = true;
                                                            })
                                                .ok());
                              })
                  .ok());
  EXPECT_TRUE(WaitFor([&] { return done.load(); }));
}

TEST(NodeJoinTest, CallsAreBounded) {
  const DeadAddress dead;
  auto alpha = MustStart(FastConfig("alpha"));
  std::atomic<int> refused = 0;
  std::atomic<int> others = 0;
  for (int i = 0; i < 70; ++i) {
    ASSERT_TRUE(alpha
                    ->JoinAsync({dead.text()}, 10min,
                                [&](const JoinReport& report) {
                                  ++(absl::IsResourceExhausted(report.status) ? refused : others);
                                })
                    .ok());
  }
  EXPECT_TRUE(WaitFor([&] { return refused == 6; }));
  EXPECT_EQ(others, 0);
}

class NodeJoinAttachTest : public UvTest {};

TEST_F(NodeJoinAttachTest, OnTheUsersLoopTheCallbackComesInItsTurns) {
  auto alpha = MustStart(FastConfig("alpha"));
  auto made = Node::Attach(&loop_, FastConfig("beta"));
  ASSERT_TRUE(made.ok()) << made.status();
  const std::unique_ptr<Node> beta = *std::move(made);
  const std::string good = alpha->local().ToString();
  EXPECT_TRUE(absl::IsFailedPrecondition(beta->Join({good}, 1h).status));
  bool done = false;
  const auto here = std::this_thread::get_id();
  ASSERT_TRUE(beta->JoinAsync({good}, 60s,
                              [&](const JoinReport& report) {
                                EXPECT_TRUE(report.status.ok()) << report.status;
                                EXPECT_EQ(std::this_thread::get_id(), here);
                                done = true;
                              })
                  .ok());
  EXPECT_FALSE(done);
  EXPECT_TRUE(RunUntil([&] { return done; }));
}

}  // namespace
}  // namespace nekton
