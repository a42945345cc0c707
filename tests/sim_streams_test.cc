// The streams of the simulated network, in a world of two addresses where each segment takes 1 ms.
#include "transport/sim_streams.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace nekton {
namespace {

using namespace std::chrono_literals;

constexpr SimId kClient = 0;
constexpr SimId kServer = 1;
const Address kClientAt = Address::V4(10, 0, 0, 1, 7946);
const Address kServerAt = Address::V4(10, 0, 0, 2, 7946);

std::vector<std::byte> Bytes(const std::string& text) {
  std::vector<std::byte> bytes;
  for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
  return bytes;
}
std::string Text(const std::vector<std::byte>& bytes) {
  std::string text;
  for (const std::byte b : bytes) text.push_back(static_cast<char>(b));
  return text;
}

class SmallWorld : public SimStreams::World {
 public:
  struct Ended {
    Duration at;
    ExchangeId id;
    StreamEnd end;
    std::string answer;
  };

  void Run(Duration until) {
    while (!due_.empty() && due_.begin()->first <= until) {
      const auto [at, what] = *due_.begin();
      due_.erase(due_.begin());
      now = at;
      streams.Advance(what.first, what.second);
    }
    now = until;
  }
  void Ask(ExchangeId id, const std::string& text, Duration limit) {
    Outbox::Request request;
    request.id = id;
    request.to = kServerAt;
    request.limit = limit;
    request.bytes = Bytes(text);
    streams.Connect(streams.Open(kClient, 1, kClientAt, std::move(request)));
  }

  SimStreams streams{this};
  Duration now{};
  SimStreams::Listener listener{SimStreams::Listener::Kind::kAccepts, kServer, 1};
  std::set<SimId> unreachable;
  std::set<int> lost;  // segments by number of sending, from 1
  bool echo = true;    // the server answers at once
  int sent = 0;
  int resent = 0;
  std::vector<Duration> sent_at;
  std::vector<std::pair<ExchangeId, std::string>> asked;
  std::vector<Ended> ended;

 private:
  Duration StreamTime() const override { return now; }
  SimNetwork::Fate SendSegment(SimId, SimId) override {
    SimNetwork::Fate fate;
    sent_at.push_back(now);
    if (lost.contains(++sent)) fate.drop = Drop::kLoss;
    fate.delay = 1ms;
    return fate;
  }
  void Schedule(std::uint64_t handle, SimStreams::Step step, Duration at) override {
    due_.emplace(at, std::pair(handle, step));
  }
  SimStreams::Listener ListenerAt(const Address& address) const override {
    return address == kServerAt ? listener : SimStreams::Listener{};
  }
  bool Reachable(SimId member, std::uint32_t life) const override { return life == 1 && !unreachable.contains(member); }
  void Deliver(SimId server, const Address& client, ExchangeId id, std::vector<std::byte> request) override {
    EXPECT_EQ(server, kServer);
    EXPECT_EQ(client, kClientAt);
    asked.emplace_back(id, Text(request));
    if (echo) streams.Reply(id, std::move(request));
  }
  void End(SimId client, std::uint32_t life, ExchangeId id, const Address& server, StreamEnd end,
           std::vector<std::byte> answer) override {
    EXPECT_EQ(client, kClient);
    EXPECT_EQ(life, 1u);
    EXPECT_EQ(server, kServerAt);
    ended.push_back({now, id, end, Text(answer)});
  }
  void CountResend() override { ++resent; }

  std::multimap<Duration, std::pair<std::uint64_t, SimStreams::Step>> due_;  // equal times stay in order
};

TEST(SimStreams, FourSegmentsCarryOneAnswer) {
  SmallWorld world;
  world.Ask(7, "hello", 5s);
  world.Run(10s);
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].id, 7u);
  EXPECT_EQ(world.ended[0].end, StreamEnd::kAnswered);
  EXPECT_EQ(world.ended[0].answer, "hello");
  EXPECT_EQ(world.ended[0].at, 4ms);
  EXPECT_EQ(world.sent, 4);
  EXPECT_EQ(world.resent, 0);
  EXPECT_EQ(world.streams.open(), 0u);
}

TEST(SimStreams, ALostSynWaitsOneSecondThenTwo) {
  SmallWorld world;
  world.lost = {1, 3};  // SYN; then the answer to the second SYN
  world.Ask(1, "x", 10s);
  world.Run(20s);
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.sent_at[1], 1s);
  EXPECT_EQ(world.sent_at[3], 3s);
  EXPECT_EQ(world.ended[0].at, 3s + 4ms);
  EXPECT_EQ(world.resent, 2);
}

TEST(SimStreams, ALostRequestWaits200MsThen400) {
  SmallWorld world;
  world.lost = {3, 4};
  world.Ask(1, "x", 10s);
  world.Run(20s);
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].at, 2ms + 600ms + 2ms);
  EXPECT_EQ(world.asked.size(), 1u);
}

TEST(SimStreams, ALostAnswerIsSentAgainAndServedOnce) {
  SmallWorld world;
  world.lost = {4};
  world.Ask(1, "x", 10s);
  world.Run(20s);
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].at, 3ms + 200ms + 1ms);
  EXPECT_EQ(world.asked.size(), 1u);
}

TEST(SimStreams, TheLimitEndsWhatNobodyAnswers) {
  SmallWorld world;
  world.echo = false;
  world.Ask(1, "x", 5s);
  world.Run(4999ms);
  EXPECT_TRUE(world.ended.empty());
  world.Run(5s);
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].end, StreamEnd::kExpired);
  // A late answer finds nobody.
  ASSERT_EQ(world.asked.size(), 1u);
  world.streams.Reply(world.asked[0].first, Bytes("late"));
  world.Run(10s);
  EXPECT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.streams.open(), 0u);
}

TEST(SimStreams, ASilentAddressIsTriedUntilTheLimit) {
  SmallWorld world;
  world.listener.kind = SimStreams::Listener::Kind::kSilent;
  world.Ask(1, "x", 5s);
  world.Run(10s);
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].end, StreamEnd::kExpired);
  EXPECT_EQ(world.ended[0].at, 5s);
  EXPECT_EQ(world.sent_at, (std::vector<Duration>{0s, 1s, 3s}));
}

TEST(SimStreams, ARefusalTakesARoundTrip) {
  SmallWorld world;
  world.listener.kind = SimStreams::Listener::Kind::kRefuses;
  world.Ask(1, "x", 5s);
  world.Run(10s);
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].end, StreamEnd::kRefused);
  EXPECT_EQ(world.ended[0].at, 2ms);
}

TEST(SimStreams, AnEmptyAnswerClosesTheStream) {
  SmallWorld world;
  world.echo = false;
  world.Ask(1, "x", 5s);
  world.Run(10ms);
  ASSERT_EQ(world.asked.size(), 1u);
  world.streams.Reply(world.asked[0].first, {});
  world.Run(20ms);
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].end, StreamEnd::kClosed);
}

TEST(SimStreams, ADyingServerResetsWhoWaitsIfItsMachineLives) {
  for (const bool resets : {true, false}) {
    SmallWorld world;
    world.echo = false;
    world.Ask(1, "x", 5s);
    world.Run(10ms);
    world.streams.Stop(kServer, 1, resets);
    world.Run(10s);
    ASSERT_EQ(world.ended.size(), 1u);
    EXPECT_EQ(world.ended[0].end, resets ? StreamEnd::kReset : StreamEnd::kExpired);
    EXPECT_EQ(world.ended[0].at, resets ? Duration(11ms) : Duration(5s));
  }
}

TEST(SimStreams, WhatADyingServerHadAnsweredStillArrives) {
  SmallWorld world;
  world.Ask(1, "x", 5s);
  world.Run(3ms);
  ASSERT_EQ(world.asked.size(), 1u);
  world.streams.Stop(kServer, 1, true);
  world.Run(10s);
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].end, StreamEnd::kAnswered);
}

TEST(SimStreams, AClientThatDiesHearsNothing) {
  SmallWorld world;
  world.echo = false;
  world.Ask(1, "x", 5s);
  world.Run(10ms);
  world.streams.Stop(kClient, 1, true);
  EXPECT_EQ(world.streams.open(), 0u);
  ASSERT_EQ(world.asked.size(), 1u);
  world.streams.Reply(world.asked[0].first, Bytes("answer"));
  world.Run(10s);
  EXPECT_TRUE(world.ended.empty());
}

TEST(SimStreams, ASuspendedClientMissesTheAnswerUntilItIsSentAgain) {
  SmallWorld world;
  world.echo = false;
  world.Ask(1, "x", 5s);
  world.Run(10ms);
  world.unreachable.insert(kClient);
  ASSERT_EQ(world.asked.size(), 1u);
  world.streams.Reply(world.asked[0].first, Bytes("answer"));  // at 10 ms, again at 210 ms and 610 ms
  world.Run(500ms);
  EXPECT_TRUE(world.ended.empty());
  world.unreachable.clear();
  world.Run(5s);
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].end, StreamEnd::kAnswered);
  EXPECT_EQ(world.ended[0].at, 611ms);
}

TEST(SimStreams, AServerThatRestartsMeanwhileKnowsNoSuchStream) {
  SmallWorld world;
  world.Ask(1, "x", 5s);
  world.Run(2ms);  // connected; the request is on its way
  world.unreachable.insert(kServer);
  world.listener.life = 2;
  world.Run(10s);
  ASSERT_EQ(world.ended.size(), 1u);
  EXPECT_EQ(world.ended[0].end, StreamEnd::kReset);
  EXPECT_TRUE(world.asked.empty());
}

TEST(SimStreams, AnOutsiderIsServedAtOnce) {
  SmallWorld world;
  std::vector<std::string> answers;
  const auto note = [&](const absl::Status& status, std::span<const std::byte> answer) {
    answers.push_back(status.ok() ? Text({answer.begin(), answer.end()}) : std::string(status.message()));
  };
  world.streams.OpenFromOutside(world.listener, kClientAt, Bytes("hello"), note);
  EXPECT_EQ(answers, std::vector<std::string>{"hello"});
  world.listener.kind = SimStreams::Listener::Kind::kSilent;
  world.streams.OpenFromOutside(world.listener, kClientAt, Bytes("hello"), note);
  EXPECT_EQ(answers.back(), "connection refused");
  EXPECT_TRUE(world.ended.empty());
  EXPECT_EQ(world.streams.open(), 0u);
}

TEST(SimStreams, HandlesOfOldExchangesAreDead) {
  SmallWorld world;
  world.echo = false;
  world.Ask(1, "first", 5s);
  world.Run(10ms);
  world.streams.Reply(world.asked[0].first, Bytes("a"));
  world.Run(20ms);
  world.Ask(2, "second", 5s);  // takes the slot of the first
  world.Run(30ms);
  ASSERT_EQ(world.asked.size(), 2u);
  world.streams.Reply(world.asked[0].first, Bytes("stray"));
  world.Run(10s);
  ASSERT_EQ(world.ended.size(), 2u);
  EXPECT_EQ(world.ended[1].id, 2u);
  EXPECT_EQ(world.ended[1].end, StreamEnd::kExpired);
}

}  // namespace
}  // namespace nekton
