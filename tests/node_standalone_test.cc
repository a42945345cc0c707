// Nodes that are alone for good: no socket, no resolver, and everything else as ever.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/node_fixture.h"
#include "tests/uv_fixture.h"
#include "transport/uv_lone_transport.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Config Lone(const std::string& name) {
  Config config = FastConfig(name);
  config.standalone = true;
  return config;
}

// Of this process: UDP and TCP are among them.
std::size_t Sockets() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // the descriptor of this very list
    if (std::filesystem::read_symlink(entry.path(), gone).string().starts_with("socket:")) ++count;
  }
  return count;
}

TEST(NodeStandaloneTest, OpensNoSocketAndAsksNoResolver) {
  const std::size_t before = Sockets();
  std::atomic<int> asked = 0;
  NodeOptions options;
  options.resolve = [&asked](const std::string&) -> absl::StatusOr<std::vector<Address>> {
    ++asked;
    return absl::UnavailableError("nobody");
  };
  Config config = Lone("alpha");
  config.bind = "127.0.0.1:7946";  // both of them
  auto alpha = MustStart(config, options);
  config.name = "beta";
  auto beta = MustStart(config, options);
  ASSERT_NE(alpha, nullptr);
  ASSERT_NE(beta, nullptr);
  EXPECT_EQ(Sockets(), before);
  const absl::Status joined = alpha->Join({"127.0.0.1:7946", "nowhere.invalid:1"});
  EXPECT_TRUE(absl::IsFailedPrecondition(joined)) << joined;
  EXPECT_THAT(std::string(joined.message()), HasSubstr("standalone"));
  EXPECT_TRUE(alpha->Explain("alpha", 60s).ok());  // its loop has run
  EXPECT_TRUE(beta->Explain("beta", 60s).ok());
  EXPECT_EQ(Sockets(), before);
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(CounterOf(*alpha, "node_lookups"), 0U);
  EXPECT_EQ(alpha->Members().All().size(), 1U);
  const auto other = MustStart(FastConfig("gamma"));
  EXPECT_GE(Sockets(), before + 2) << "this is how they would show";
}

TEST(NodeStandaloneTest, EverythingElseWorks) {
  auto alpha = MustStart(Lone("alpha"));
  EXPECT_TRUE(alpha->WaitJoined(0s).ok()) << "there is nobody to wait for";
  EXPECT_EQ(alpha->Members().Alive().size(), 1U);
  EXPECT_EQ(alpha->contact(), (Contact{1, 1, false}));
  ASSERT_NE(alpha->Members().self(), nullptr);
  EXPECT_EQ(alpha->Members().self()->name, "alpha");
  EXPECT_GT(alpha->Members().self()->key.generation, 0U);
  EXPECT_TRUE(alpha->local().is_unspecified());
  EXPECT_EQ(alpha->local().port, 0);
  EXPECT_EQ(alpha->advertised(), alpha->local());
  EXPECT_TRUE(alpha->Explain("alpha").ok());
  EXPECT_TRUE(absl::IsNotFound(alpha->Observe({{.peer = "beta"}})));
  EXPECT_TRUE(absl::IsNotFound(alpha->Watch("beta", 100ms, {1})));
  EXPECT_TRUE(absl::IsNotFound(alpha->Level("beta").status()));
  EXPECT_TRUE(alpha->Reconfigure(DetectorKind::kPhi).ok());
  EventLog log;
  std::promise<absl::Status> left;
  const auto watch = alpha->Subscribe(log.Handler(), SubscribeFrom::kSnapshot);
  EXPECT_TRUE(alpha->Leave(10s).ok());
  EXPECT_TRUE(alpha->LeaveAsync(10s, [&](const absl::Status& status) { left.set_value(status); }).ok());
  EXPECT_TRUE(left.get_future().get().ok());
  EXPECT_EQ(log.Count(EventKind::kLeaveDone), 1U);
  alpha->Stop();
  EXPECT_TRUE(absl::IsFailedPrecondition(alpha->Leave(0s)));
}

TEST(NodeStandaloneTest, AdvertisesWhatItIsGiven) {
  Config config = Lone("alpha");
  config.advertise = "198.51.100.7:7946";
  auto alpha = MustStart(config);
  EXPECT_EQ(alpha->advertised().ToString(), "198.51.100.7:7946");
  EXPECT_EQ(alpha->Members().self()->address, alpha->advertised());
  EXPECT_TRUE(alpha->local().is_unspecified());
}

TEST(NodeStandaloneTest, SeedsAreAMistake) {
  Config config = Lone("alpha");
  config.seeds = {"127.0.0.1:7946"};
  config.bootstrap_expect = 3;
  const auto node = Node::Start(config);
  ASSERT_TRUE(absl::IsInvalidArgument(node.status()));
  EXPECT_THAT(std::string(node.status().message()), HasSubstr("seeds = 127.0.0.1:7946: a standalone node"));
  EXPECT_THAT(std::string(node.status().message()), HasSubstr("bootstrap_expect = 3: a standalone node"));
}

class UvLoneTransportTest : public UvTest {};

// The fixture closes the loop and counts what is left.
TEST_F(UvLoneTransportTest, ANodeOnTheUsersLoopGoesWithoutATrace) {
  auto node = Node::Attach(&loop_, Lone("alpha"));
  ASSERT_TRUE(node.ok()) << node.status();
  bool left = false;
  EXPECT_TRUE((*node)->LeaveAsync(10s, [&](const absl::Status& status) { left = status.ok(); }).ok());
  EXPECT_TRUE(RunUntil([&] { return left; }));
}

TEST_F(UvLoneTransportTest, KeepsThePromisesOfATransport) {
  struct Receiver final : Transport::Receiver {
    void OnDatagram(const Address&, std::span<const std::byte>) override { ADD_FAILURE(); }
    void OnRequest(const Address&, ExchangeId, std::span<const std::byte>, bool) override { ADD_FAILURE(); }
    void OnAnswer(ExchangeId id, const absl::Status& status, std::span<const std::byte>) override {
      EXPECT_TRUE(absl::IsUnavailable(status));
      answered.push_back(id);
    }
    void OnTrouble(const Address&, Trouble) override { ADD_FAILURE(); }
    std::vector<ExchangeId> answered;
  } receiver;
  UvLoneTransport transport(&loop_);
  transport.Open(&receiver);
  transport.Send(Address::V4(127, 0, 0, 1, 1), {});
  transport.Reply(7, {});
  transport.Exchange(1, Address::V4(127, 0, 0, 1, 1), 1s, {});
  EXPECT_TRUE(receiver.answered.empty()) << "not from inside the call";
  ASSERT_TRUE(RunUntil([&] { return receiver.answered.size() == 1; }));
  transport.Exchange(2, Address::V4(127, 0, 0, 1, 1), 1s, {});
  int closed = 0;
  transport.Close([&] { ++closed; });
  transport.Close([&] { ++closed; });
  EXPECT_EQ(closed, 0);
  ASSERT_TRUE(RunUntil([&] { return closed == 1; }));
  EXPECT_EQ(receiver.answered.size(), 1U) << "closed before it came";
}

}  // namespace
}  // namespace nekton
