// Nodes on real sockets that seal their frames, and nodes without any socket.
#include <sys/stat.h>

#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/node_fixture.h"
#include "tests/seal_net.h"
#include "transport/uv_hub.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Config SealedConfig(const std::string& name, std::vector<std::string> seeds = {}, Sealing mode = Sealing::kRequire) {
  Config config = FastConfig(name, std::move(seeds));
  config.sealing = mode;
  return config;
}
NodeOptions WithKeys(std::initializer_list<int> numbers) {
  NodeOptions options;
  options.keys = RingOf(numbers);
  return options;
}

TEST(NodeSealTest, SealedNodesMeetSpeakAndLeave) {
  auto alpha = MustStart(SealedConfig("alpha"), WithKeys({1}));
  auto beta = MustStart(SealedConfig("beta", {alpha->local().ToString()}), WithKeys({1}));
  ASSERT_TRUE(WaitFor(
      [&] { return Has(*alpha, "beta", MemberStatus::kActive) && Has(*beta, "alpha", MemberStatus::kActive); }));
  beta->OnRequest([](const Message&, Responder responder) { EXPECT_TRUE(responder.Answer(Bytes("pong")).ok()); });
  const auto answer = alpha->Request("beta", Bytes("ping"), {.budget = 20s});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(Text(*answer), "pong");
  // One that needs a stream.
  const auto large = alpha->Request("beta", std::vector<std::byte>(300'000), {.budget = 20s});
  EXPECT_TRUE(large.ok()) << large.status();
  EXPECT_GT(CounterOf(*alpha, "seal_frames_opened"), 0U);
  EXPECT_EQ(CounterOf(*alpha, "seal_refused_forged"), 0U);
  EXPECT_TRUE(beta->Leave(10s).ok());
  EXPECT_TRUE(WaitFor([&] { return Has(*alpha, "beta", MemberStatus::kLeft); }));
}

TEST(NodeSealTest, WithoutTheKeyAJoinIsRefusedInWords) {
  std::vector<std::string> lines;
  std::mutex mutex;
  NodeOptions options = WithKeys({1});
  options.log = [&](LogLevel, std::string_view line) {
    const std::lock_guard lock(mutex);
    lines.emplace_back(line);
  };
  auto alpha = MustStart(SealedConfig("alpha"), std::move(options));
  auto plain = MustStart(FastConfig("plain"));
  auto wrong = MustStart(SealedConfig("wrong"), WithKeys({2}));
  const JoinReport first = plain->Join({alpha->local().ToString()}, 10s);
  EXPECT_THAT(std::string(first.status.message()), HasSubstr("its key is needed")) << first.status;
  const JoinReport second = wrong->Join({alpha->local().ToString()}, 10s);
  EXPECT_THAT(std::string(second.status.message()), HasSubstr("does not have our key")) << second.status;
  EXPECT_GT(CounterOf(*alpha, "seal_refused_plain"), 0U);
  EXPECT_TRUE(WaitFor([&] { return CounterOf(*alpha, "seal_refused_unknown_key") > 0; }));
  const std::lock_guard lock(mutex);
  // All come from one host: one line a minute.
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                          [](const std::string& l) { return l.find("seal its") != std::string::npos; }),
            1);
}

class NodeKeyFileTest : public testing::Test {
 protected:
  NodeKeyFileTest() : path_(testing::TempDir() + "nekton_node_keys") {
    EXPECT_TRUE(SaveKeyring(path_, RingOf({1})).ok());
  }
  ~NodeKeyFileTest() override { unlink(path_.c_str()); }
  std::string path_;
};

TEST_F(NodeKeyFileTest, KeysAreRotatedWhileItRunsAndTheFileFollows) {
  Config config = SealedConfig("alpha");
  config.key_file = path_;
  auto alpha = MustStart(config);
  auto beta = MustStart(SealedConfig("beta", {alpha->local().ToString()}), WithKeys({1}));
  ASSERT_TRUE(WaitFor([&] { return Has(*alpha, "beta", MemberStatus::kActive); }));
  for (Node* node : {alpha.get(), beta.get()}) EXPECT_TRUE(node->AddKey(KeyOf(2), 20s).ok());
  for (Node* node : {alpha.get(), beta.get()}) EXPECT_TRUE(node->UseKey(KeyOf(2).id(), 20s).ok());
  for (Node* node : {alpha.get(), beta.get()}) EXPECT_TRUE(node->RemoveKey(KeyOf(1).id(), 20s).ok());
  EXPECT_THAT(*alpha->Keys(20s), ElementsAre(KeyOf(2).id()));
  EXPECT_THAT(LoadKeyring(path_)->ids(), ElementsAre(KeyOf(2).id()));
  EXPECT_EQ(alpha->RemoveKey(KeyOf(2).id(), 20s).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(alpha->UseKey(77, 20s).code(), absl::StatusCode::kNotFound);
  const std::uint64_t opened = CounterOf(*alpha, "seal_frames_opened");
  EXPECT_TRUE(WaitFor([&] { return CounterOf(*alpha, "seal_frames_opened") > opened + 10; }));
  EXPECT_TRUE(Has(*alpha, "beta", MemberStatus::kActive));
  EXPECT_EQ(CounterOf(*alpha, "seal_refused_unknown_key"), 0U);
}

TEST_F(NodeKeyFileTest, WhatIsWrongWithKeysIsSaidAllAtOnce) {
  const auto mistakes = [](const Config& config, NodeOptions options = {}) {
    return std::string(Node::Start(config, std::move(options)).status().message());
  };
  EXPECT_THAT(mistakes(SealedConfig("alpha")), HasSubstr("sealing needs a key"));
  Config config = FastConfig("alpha");
  config.key_file = path_;
  EXPECT_THAT(mistakes(config), HasSubstr("has no use while sealing is off"));
  EXPECT_THAT(mistakes(FastConfig("alpha"), WithKeys({1})), HasSubstr("no use then"));
  config.sealing = Sealing::kRequire;
  EXPECT_THAT(mistakes(config, WithKeys({1})), HasSubstr("one of both"));
  chmod(path_.c_str(), 0644);
  config.datagram_max = 590;
  config.period = 1ms;
  EXPECT_THAT(mistakes(config), AllOf(HasSubstr("chmod 600"), HasSubstr("datagram_max"), HasSubstr("period")));
  auto plain = MustStart(FastConfig("plain"));
  EXPECT_EQ(plain->AddKey(KeyOf(1), 20s).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(plain->Keys(20s).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(plain->SetSealing(Sealing::kOff).code(), absl::StatusCode::kInvalidArgument);
}

TEST(NodeSealTest, GoesFromPlainToSealedWhileItRuns) {
  auto alpha = MustStart(SealedConfig("alpha", {}, Sealing::kAccept), WithKeys({1}));
  auto plain = MustStart(FastConfig("plain", {alpha->local().ToString()}));
  auto beta = MustStart(SealedConfig("beta", {alpha->local().ToString()}, Sealing::kAccept), WithKeys({1}));
  ASSERT_TRUE(WaitFor([&] { return alpha->Members().Alive().size() == 3 && beta->Members().Alive().size() == 3; }));
  EXPECT_TRUE(plain->Leave(10s).ok());
  plain->Stop();
  EXPECT_TRUE(WaitFor([&] { return Has(*beta, "plain", MemberStatus::kLeft); }));
  EXPECT_TRUE(alpha->SetSealing(Sealing::kRequire, 20s).ok());
  EXPECT_TRUE(beta->SetSealing(Sealing::kRequire, 20s).ok());
  const std::uint64_t plain_sent = CounterOf(*alpha, "seal_plain_sent");
  const std::uint64_t opened = CounterOf(*alpha, "seal_frames_opened");
  EXPECT_TRUE(WaitFor([&] { return CounterOf(*alpha, "seal_frames_opened") > opened + 20; }));
  EXPECT_LE(CounterOf(*alpha, "seal_plain_sent"), plain_sent + 1);
  EXPECT_TRUE(Has(*alpha, "beta", MemberStatus::kActive));
}

// The hub: nodes that find each other, and a death, without a socket.
TEST(NodeHubTest, NodesMeetInAHubSealedOrNot) {
  for (const bool sealed : {false, true}) {
    const auto hub = std::make_shared<Hub>();
    const auto start = [&](const std::string& name, std::vector<std::string> seeds) {
      NodeOptions options = sealed ? WithKeys({1}) : NodeOptions();
      options.transport = HubOnUv(hub);
      return MustStart(sealed ? SealedConfig(name, std::move(seeds)) : FastConfig(name, std::move(seeds)),
                       std::move(options));
    };
    auto alpha = start("alpha", {});
    auto beta = start("beta", {alpha->local().ToString()});
    auto gamma = start("gamma", {alpha->local().ToString()});
    ASSERT_TRUE(WaitFor([&] { return beta->Members().Alive().size() == 3 && gamma->Members().Alive().size() == 3; }));
    beta->Stop();
    EXPECT_TRUE(WaitFor([&] { return Has(*gamma, "beta", MemberStatus::kInactive); }));
    EXPECT_TRUE(Has(*gamma, "alpha", MemberStatus::kActive));
  }
}

}  // namespace
}  // namespace nekton
