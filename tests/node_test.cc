// Groups of nodes on real sockets.
#include "transport/node.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "tests/node_fixture.h"
#include "tests/uv_fixture.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

using Nodes = std::vector<Node*>;

bool AllKnow(const Nodes& nodes, std::size_t alive) {
  return std::all_of(nodes.begin(), nodes.end(), [&](Node* n) { return n->Members().Alive().size() == alive; });
}

TEST(NodeTest, AGroupFindsItselfLosesACrashedMemberTakesItBackAndHearsAGoodbye) {
  auto alpha = MustStart(FastConfig("alpha"));
  EventLog log;
  // The snapshot is never behind the event that is being told.
  std::atomic<int> behind = 0;
  const auto watch = alpha->Subscribe([&](const Event& event) {
    log.Add(event);
    if (event.member == nullptr) return;
    const MemberPtr now = alpha->Members().Find(event.member->name);
    if (now == nullptr || now->key < event.member->key) ++behind;
  });
  const std::vector<std::string> seeds = {alpha->local().ToString()};
  auto beta = MustStart(FastConfig("beta", seeds));
  auto gamma = MustStart(FastConfig("gamma", seeds));
  ASSERT_TRUE(WaitFor([&] { return AllKnow({alpha.get(), beta.get(), gamma.get()}, 3); }));
  EXPECT_TRUE(beta->WaitJoined(0s).ok());
  EXPECT_EQ(alpha->Members().self()->name, "alpha");
  EXPECT_TRUE(WaitFor([&] { return log.Count(EventKind::kJoined) == 2; })) << log.text();

  gamma.reset();
  ASSERT_TRUE(WaitFor([&] { return Has(*alpha, "gamma", MemberStatus::kInactive); })) << log.text();
  ASSERT_TRUE(WaitFor([&] { return Has(*beta, "gamma", MemberStatus::kInactive); }));
  ASSERT_TRUE(WaitFor([&] { return log.Count(EventKind::kFailed, "gamma") == 1; }));
  EXPECT_TRUE(AllKnow({alpha.get(), beta.get()}, 2));
  EXPECT_EQ(alpha->Members().All().size(), 3U);

  gamma = MustStart(FastConfig("gamma", seeds));
  ASSERT_TRUE(WaitFor([&] { return AllKnow({alpha.get(), beta.get(), gamma.get()}, 3); })) << log.text();
  EXPECT_TRUE(WaitFor([&] { return log.Count(EventKind::kRestarted, "gamma") == 1; })) << log.text();

  EXPECT_TRUE(absl::IsInvalidArgument(beta->Leave(-1s))) << "and this is not the first result of leaving";
  const absl::Status left = beta->Leave(10s);
  EXPECT_TRUE(left.ok()) << left;
  EXPECT_EQ(beta->Leave(10s), left) << "leaving again gives the first result";
  EXPECT_TRUE(absl::IsInvalidArgument(beta->LeaveAsync(-1s, [](const absl::Status&) {})));
  ASSERT_TRUE(WaitFor([&] { return log.Count(EventKind::kLeft, "beta") == 1; })) << log.text();
  EXPECT_TRUE(Has(*alpha, "beta", MemberStatus::kLeft));
  EXPECT_EQ(log.Count(EventKind::kFailed, "beta"), 0U);
  EXPECT_EQ(behind, 0);
}

TEST(NodeTest, PortZeroIsARealPortAndIsWhatOthersAreTold) {
  auto alpha = MustStart(FastConfig("alpha"));
  auto beta = MustStart(FastConfig("beta", {alpha->local().ToString()}));
  EXPECT_NE(alpha->local().port, 0);
  EXPECT_EQ(alpha->advertised(), alpha->local());
  ASSERT_TRUE(WaitFor([&] { return beta->Members().Find("alpha") != nullptr; }));
  EXPECT_EQ(beta->Members().Find("alpha")->address, alpha->local());
}

// With SO_REUSEADDR on UDP the second would take the first one's datagrams, and no one would be told.
TEST(NodeTest, ASecondNodeOnThePortIsToldSo) {
  auto alpha = MustStart(FastConfig("alpha"));
  Config config = FastConfig("beta");
  config.bind = alpha->local().ToString();
  const std::size_t descriptors = Descriptors();
  const auto beta = Node::Start(config);
  EXPECT_TRUE(absl::IsAlreadyExists(beta.status())) << beta.status();
  EXPECT_THAT(std::string(beta.status().message()), HasSubstr("address in use: " + alpha->local().ToString()));
  EXPECT_EQ(Descriptors(), descriptors) << "the attempt left nothing behind";
  alpha.reset();
  EXPECT_TRUE(Node::Start(config).ok());
}

TEST(NodeTest, AllMistakesOfAConfigurationAreToldAtOnce) {
  Config config = FastConfig("");
  config.attempts = 0;
  config.seeds = {"nowhere"};
  const auto node = Node::Start(config);
  ASSERT_TRUE(absl::IsInvalidArgument(node.status()));
  for (const char* field : {"name", "attempts", "seeds[0]"}) {
    EXPECT_THAT(std::string(node.status().message()), HasSubstr(field));
  }
}

// It would be suspected for ever, and nobody would know why.
TEST(NodeTest, ALoopbackNodeWithASeedElsewhereIsAMistake) {
  Config config = FastConfig("alpha", {"198.51.100.9:7946"});
  EXPECT_TRUE(absl::IsInvalidArgument(Node::Start(config).status()));
}

TEST(NodeTest, JoinAddsSeedsLater) {
  auto alpha = MustStart(FastConfig("alpha"));
  auto beta = MustStart(FastConfig("beta"));
  EXPECT_TRUE(absl::IsDeadlineExceeded(beta->WaitJoined(0s)));
  const absl::Status bad = beta->Join({"127.0.0.1:7946", "127.0.0.1:0", "no port"});
  EXPECT_TRUE(absl::IsInvalidArgument(bad));
  EXPECT_THAT(std::string(bad.message()), HasSubstr("seeds[1]"));
  EXPECT_THAT(std::string(bad.message()), HasSubstr("seeds[2]"));
  EXPECT_TRUE(beta->Join({alpha->local().ToString()}).ok());
  EXPECT_TRUE(beta->WaitJoined(60s).ok());
  std::vector<std::string> many;
  for (int i = 0; i < 1024; ++i) many.push_back("127.0.0.1:" + std::to_string(10000 + i));
  EXPECT_TRUE(absl::IsResourceExhausted(beta->Join(many)));
}

TEST(NodeTest, WaitJoinedTellsWhatBecameOfEachSeed) {
  std::string dead;
  {
    const RawSocket gone(SOCK_STREAM);
    dead = gone.local().ToString();
  }
  auto alpha = MustStart(FastConfig("alpha", {dead}));
  absl::Status status;
  EXPECT_TRUE(WaitFor([&] {
    status = alpha->WaitJoined(0s);
    return std::string(status.message()).find("refused") != std::string::npos;
  })) << status;
  EXPECT_TRUE(absl::IsDeadlineExceeded(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr(dead));
}

TEST(NodeTest, EveryFunctionMayBeCalledInACallback) {
  auto alpha = MustStart(FastConfig("alpha"));
  std::atomic<bool> told = false;
  std::atomic<bool> left = false;
  Subscription second;
  const auto watch = alpha->Subscribe([&](const Event& event) {
    if (event.kind != EventKind::kJoined || told) return;
    EXPECT_EQ(alpha->Members().Alive().size(), 2U);
    EXPECT_FALSE(alpha->Counters().empty());
    EXPECT_TRUE(alpha->Join({"127.0.0.1:1"}).ok());
    EXPECT_TRUE(absl::IsFailedPrecondition(alpha->WaitJoined(10s)));
    EXPECT_TRUE(absl::IsFailedPrecondition(alpha->Leave(10s)));
    second = alpha->Subscribe([](const Event&) {}, SubscribeFrom::kSnapshot);
    second.Cancel();
    EXPECT_TRUE(alpha
                    ->LeaveAsync(10s,
                                 [&](const absl::Status& status) {
                                   EXPECT_TRUE(status.ok()) << status;
                                   alpha->Stop();
                                   alpha->Stop();
                                   EXPECT_TRUE(absl::IsFailedPrecondition(alpha->Join({"127.0.0.1:1"})));
                                   left = true;
                                 })
                    .ok());
    told = true;
  });
  auto beta = MustStart(FastConfig("beta", {alpha->local().ToString()}));
  ASSERT_TRUE(WaitFor([&] { return told && left; }));
  EXPECT_TRUE(WaitFor([&] { return Has(*beta, "alpha", MemberStatus::kLeft); }));
}

// A callback that sleeps while much happens.
TEST(NodeTest, ASleepingCallbackDoesNotStopTheProtocolAndCatchesUp) {
  NodeOptions options;
  options.event_queue = 4;
  auto alpha = MustStart(FastConfig("alpha"), options);
  std::mutex mutex;
  std::condition_variable awake;
  bool sleeping = false, wake = false;
  std::set<std::string> consumer = {"alpha"};  // what the subscriber makes of what it hears
  std::size_t resyncs = 0;
  const auto watch = alpha->Subscribe([&](const Event& event) {
    std::unique_lock lock(mutex);
    sleeping = true;
    awake.wait(lock, [&] { return wake; });
    if (event.kind == EventKind::kResync) {
      ++resyncs;
      consumer.clear();
      for (const MemberPtr& m : alpha->Members().Routable()) consumer.insert(m->name);
    } else if (event.kind == EventKind::kJoined || event.kind == EventKind::kRecovered) {
      consumer.insert(event.member->name);
    } else if (event.kind == EventKind::kLeft || event.kind == EventKind::kFailed) {
      consumer.erase(event.member->name);
    }
  });
  std::vector<std::unique_ptr<Node>> others;
  for (int i = 0; i < 6; ++i) {
    others.push_back(MustStart(FastConfig("n" + std::to_string(i), {alpha->local().ToString()})));
  }
  Nodes all = {alpha.get()};
  for (const auto& node : others) all.push_back(node.get());
  ASSERT_TRUE(WaitFor([&] { return AllKnow(all, 7); }));  // a goodbye waits for everyone whom the leaver knows
  for (int i : {0, 1}) {
    const absl::Status left = others[static_cast<std::size_t>(i)]->Leave(10s);
    EXPECT_TRUE(left.ok()) << left;
    const Nodes staying(all.begin() + i + 2, all.end());
    ASSERT_TRUE(WaitFor([&] { return AllKnow(staying, 6 - static_cast<std::size_t>(i)); }));
  }
  ASSERT_TRUE(WaitFor([&] { return alpha->Members().Alive().size() == 5; }));
  const std::uint64_t rounds = CounterOf(*alpha, "probe_rounds");
  EXPECT_TRUE(WaitFor([&] { return CounterOf(*alpha, "probe_rounds") >= rounds + 3; })) << "probing goes on";
  {
    const std::lock_guard lock(mutex);
    EXPECT_TRUE(sleeping);
    wake = true;
  }
  awake.notify_all();
  EXPECT_TRUE(WaitFor([&] {
    std::set<std::string> truth;
    for (const MemberPtr& m : alpha->Members().Routable()) truth.insert(m->name);
    const std::lock_guard lock(mutex);
    return resyncs >= 1 && consumer == truth && truth.size() == 5;
  }));
  EXPECT_GE(CounterOf(*alpha, "node_resyncs"), 1U);
  EXPECT_GE(CounterOf(*alpha, "node_events_lost"), 1U);
}

TEST(NodeTest, ALateSubscriberMayAskForWhatIsThere) {
  auto alpha = MustStart(FastConfig("alpha"));
  auto beta = MustStart(FastConfig("beta", {alpha->local().ToString()}));
  auto gamma = MustStart(FastConfig("gamma", {alpha->local().ToString()}));
  ASSERT_TRUE(WaitFor([&] { return AllKnow({alpha.get(), beta.get(), gamma.get()}, 3); }));
  EventLog from_now, from_snapshot;
  const auto now = alpha->Subscribe(from_now.Handler());
  const auto snapshot = alpha->Subscribe(from_snapshot.Handler(), SubscribeFrom::kSnapshot);
  auto delta = MustStart(FastConfig("delta", {alpha->local().ToString()}));
  ASSERT_TRUE(WaitFor([&] {
    return from_now.Count(EventKind::kJoined, "delta") == 1 && from_snapshot.Count(EventKind::kJoined, "delta") == 1;
  }));
  EXPECT_EQ(from_now.Count(EventKind::kJoined), 1U);
  EXPECT_EQ(from_snapshot.Count(EventKind::kJoined, "beta"), 1U);
  EXPECT_EQ(from_snapshot.Count(EventKind::kJoined, "gamma"), 1U);
  EXPECT_EQ(from_snapshot.Count(EventKind::kJoined), 3U);
}

// A scraper that talks HTTP to the port must not flood the log.
TEST(NodeTest, StrangersOnTheStreamPortAreCountedAndTheLogKeepsCalm) {
  std::mutex mutex;
  std::vector<std::string> lines;
  NodeOptions options;
  options.log = [&](LogLevel level, std::string_view line) {
    const std::lock_guard lock(mutex);
    lines.push_back(std::string(Name(level)) + " " + std::string(line));
  };
  auto alpha = MustStart(FastConfig("alpha"), options);
  for (int i = 0; i < 50; ++i) {
    RawSocket client(SOCK_STREAM);
    client.Connect(alpha->local());
    client.Write("GET / HTTP/1.1\r\n\r\n");
    ASSERT_TRUE(WaitFor([&] { return client.Closed(); }));
  }
  ASSERT_TRUE(WaitFor([&] { return CounterOf(*alpha, "transport_streams_malformed") == 50; }));
  alpha->Stop();
  const std::lock_guard lock(mutex);
  const auto strangers = std::count_if(lines.begin(), lines.end(), [](const std::string& line) {
    return line.find("does not begin with a frame") != std::string::npos;
  });
  EXPECT_EQ(strangers, 1);
  EXPECT_THAT(lines.front(), HasSubstr("info node alpha at 127.0.0.1:"));
}

// Its own address, a dead one, the live one.
TEST(NodeTest, ASeedNameIsFollowedToAllItsAddresses) {
  NodeOptions options;
  options.resolve = [](const std::string& host) -> absl::StatusOr<std::vector<Address>> {
    EXPECT_EQ(host, "cluster.internal");
    return std::vector<Address>{Address::V4(127, 0, 0, 2, 0), Address::V4(127, 0, 0, 3, 0),
                                Address::V4(127, 0, 0, 1, 0)};
  };
  std::unique_ptr<Node> alpha;
  auto beta = StartAtSomePort([&] {
    alpha = MustStart(FastConfig("alpha"));
    const std::string port = std::to_string(alpha->local().port);
    Config config = FastConfig("beta", {"cluster.internal:" + port});
    config.bind = "127.0.0.2:" + port;
    return Node::Start(config, options);
  });
  ASSERT_NE(beta, nullptr);
  EventLog log;
  const auto watch = beta->Subscribe(log.Handler());
  EXPECT_TRUE(beta->WaitJoined(60s).ok());
  EXPECT_EQ(beta->Members().Alive().size(), 2U);
  for (const Event& event : log.all()) {
    EXPECT_FALSE(event.kind == EventKind::kJoinResult && event.address == beta->local()) << "joined through itself";
  }
}

TEST(NodeTest, AWildcardNodeIsNotJoinedThroughAnyOfItsOwnAddresses) {
  auto alpha = MustStart(FastConfig("alpha"));
  Config config = FastConfig("beta");
  config.bind = "0.0.0.0:0";
  auto beta = MustStart(config);
  EventLog log;
  const auto watch = beta->Subscribe(log.Handler());
  const std::string port = std::to_string(beta->local().port);
  const std::vector<std::string> own = {"127.0.0.1:" + port, "127.0.0.77:" + port, beta->advertised().ToString()};
  ASSERT_TRUE(beta->Join(own).ok());
  ASSERT_TRUE(beta->Join({alpha->local().ToString()}).ok());
  ASSERT_TRUE(WaitFor([&] { return log.Count(EventKind::kJoinResult) > 0 && beta->Members().Alive().size() == 2; }));
  beta->Stop();
  for (const Event& event : log.all()) {
    EXPECT_TRUE(event.kind != EventKind::kJoinResult || event.address == alpha->local()) << Describe(event);
  }
}

// The name service fails first.
TEST(NodeTest, ASeedNameThatDoesNotResolveYetIsTriedAgain) {
  auto alpha = MustStart(FastConfig("alpha"));
  auto asked = std::make_shared<std::atomic<int>>(0);
  std::mutex mutex;
  std::vector<std::string> lines;
  NodeOptions options;
  options.resolve = [asked](const std::string&) -> absl::StatusOr<std::vector<Address>> {
    if (++*asked <= 3) return absl::UnavailableError("no such host today");
    return std::vector<Address>{Address::V4(127, 0, 0, 1, 0)};
  };
  options.log = [&](LogLevel, std::string_view line) {
    const std::lock_guard lock(mutex);
    lines.emplace_back(line);
  };
  const std::string seed = "cluster.internal:" + std::to_string(alpha->local().port);
  auto beta = MustStart(FastConfig("beta", {seed}), options);
  EventLog log;
  const auto watch = beta->Subscribe(log.Handler());
  EXPECT_TRUE(beta->WaitJoined(60s).ok());
  EXPECT_GE(*asked, 4);
  EXPECT_EQ(CounterOf(*beta, "node_lookups_failed"), 3U);
  EXPECT_THAT(log.text(), HasSubstr("no such host today"));
  beta->Stop();
  const std::lock_guard lock(mutex);
  const std::string wanted = "seed " + seed + " does not resolve: no such host today";
  EXPECT_EQ(std::count(lines.begin(), lines.end(), wanted), 1) << "said once, not at every retry";
}

// The loop never waits for a name, and neither does Stop().
TEST(NodeTest, AResolverThatHangsHoldsUpNobody) {
  auto alpha = MustStart(FastConfig("alpha"));
  struct Gate {
    std::mutex mutex;
    std::condition_variable changed;
    bool entered = false, open = false, left = false;
  };
  auto gate = std::make_shared<Gate>();
  NodeOptions options;
  options.resolve = [gate](const std::string&) -> absl::StatusOr<std::vector<Address>> {
    std::unique_lock lock(gate->mutex);
    gate->entered = true;
    gate->changed.notify_all();
    gate->changed.wait(lock, [&] { return gate->open; });
    gate->left = true;
    gate->changed.notify_all();
    return absl::UnavailableError("too late");
  };
  auto beta = MustStart(FastConfig("beta", {"slow.internal:1", alpha->local().ToString()}), options);
  {
    std::unique_lock lock(gate->mutex);
    gate->changed.wait(lock, [&] { return gate->entered; });
  }
  EXPECT_TRUE(beta->WaitJoined(60s).ok()) << "the other seed is followed meanwhile";
  const std::uint64_t rounds = CounterOf(*beta, "probe_rounds");
  EXPECT_TRUE(WaitFor([&] { return CounterOf(*beta, "probe_rounds") >= rounds + 2; }));
  beta.reset();  // returns: the look-up still hangs
  std::unique_lock lock(gate->mutex);
  EXPECT_FALSE(gate->left);
  gate->open = true;
  gate->changed.notify_all();
  gate->changed.wait(lock, [&] { return gate->left; });
}

TEST(NodeTest, TheSystemsResolverKnowsLocalhost) {
  auto alpha = MustStart(FastConfig("alpha"));
  auto beta = MustStart(FastConfig("beta", {"localhost:" + std::to_string(alpha->local().port)}));
  EXPECT_TRUE(beta->WaitJoined(60s).ok());
  const auto nothing = ResolveBySystem("no-such-host.invalid");
  EXPECT_FALSE(nothing.ok() && !nothing->empty());
}

}  // namespace
}  // namespace nekton
