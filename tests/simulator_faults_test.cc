// The simulator: members that are paused, slow or odd, and what a test may see and inject.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/cluster.h"
#include "transport/simulator.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using Moment = SimDatagram::Moment;

std::vector<std::byte> Garbage(std::size_t size) { return std::vector<std::byte>(size, std::byte{0xa5}); }

// Counts what is delivered to one member, and to whom it is too late.
struct Watch {
  Watch(Simulator& sim, SimId member) {
    sim.SetTap([this, member](const SimDatagram& datagram) {
      if (datagram.to == member && datagram.moment == Moment::kDelivered) delivered.push_back(datagram.at);
      if (datagram.to == member && datagram.moment == Moment::kSent) sent.push_back(datagram.at);
      if (datagram.from == member && datagram.moment == Moment::kSent) own.push_back(datagram.at);
    });
  }
  std::vector<Duration> sent;  // to it
  std::vector<Duration> delivered;
  std::vector<Duration> own;  // by it
};

TEST(SimulatorFaults, AFrozenMembersInputWaitsForIt) {
  Cluster c({.nodes = 3});
  ASSERT_TRUE(c.Converge());
  c.RunFor(5s);
  Watch watch(c.sim(), 1);
  c.Pause(1);
  EXPECT_TRUE(c.sim().paused(1));
  EXPECT_FALSE(c.sim().live(1));
  EXPECT_EQ(c.sim().Leave(1).code(), absl::StatusCode::kUnavailable);
  const Duration begin = c.now();
  c.RunFor(4s);
  EXPECT_GT(watch.sent.size(), 0u);
  EXPECT_EQ(watch.delivered.size(), 0u);
  EXPECT_EQ(watch.own.size(), 0u);
  // What was sent a millisecond ago may still be in flight.
  const std::size_t waiting = static_cast<std::size_t>(
      std::count_if(watch.sent.begin(), watch.sent.end(), [&](Duration at) { return at < begin + 3999ms; }));
  c.Resume(1);
  ASSERT_GE(watch.delivered.size(), waiting);
  EXPECT_TRUE(
      std::all_of(watch.delivered.begin(), watch.delivered.end(), [&](Duration at) { return at == begin + 4s; }));
  EXPECT_EQ(c.sim().counters().of(Drop::kPaused), 0u);
}

TEST(SimulatorFaults, WhatWaitedIsHandledBeforeTheTimers) {
  Cluster c({.nodes = 3});
  ASSERT_TRUE(c.Converge());
  c.Pause(1);
  c.RunFor(3s);
  const std::uint64_t wakes = c.sim().counters().wakes;
  const std::uint64_t delivered = c.sim().counters().datagrams_delivered;
  c.Resume(1);
  EXPECT_GT(c.sim().counters().datagrams_delivered, delivered);
  EXPECT_EQ(c.sim().counters().wakes, wakes);
  c.RunFor(1ms);
  EXPECT_GT(c.sim().counters().wakes, wakes);
}

TEST(SimulatorFaults, APausedMemberMayLoseItsInput) {
  Cluster c({.nodes = 3});
  ASSERT_TRUE(c.Converge());
  Watch watch(c.sim(), 1);
  c.Pause(1, {.keep_input = false});
  c.RunFor(2s);
  c.Resume(1);
  EXPECT_EQ(watch.delivered.size(), 0u);
  EXPECT_GT(c.sim().counters().of(Drop::kPaused), 0u);
  c.RunFor(3s);
  EXPECT_GT(watch.delivered.size(), 0u);
}

TEST(SimulatorFaults, TheSocketBufferIsBounded) {
  ClusterOptions options{.nodes = 1};
  options.sim.socket_buffer = 10'000;
  Cluster c(options);
  c.Pause(0);
  const Address stranger = Address::V4(10, 1, 1, 1, 1);
  for (int i = 0; i < 20; ++i) c.sim().Inject(0, stranger, Garbage(744));  // 1000 each with what the kernel adds
  EXPECT_EQ(c.sim().counters().of(Drop::kBuffer), 10u);
  c.Resume(0);
  EXPECT_EQ(c.sim().counters().datagrams_delivered, 10u);
  c.sim().Inject(0, stranger, Garbage(744));
  EXPECT_EQ(c.sim().counters().datagrams_delivered, 11u);
}

TEST(SimulatorFaults, ABlockedMembersTimersRunOn) {
  Cluster c({.nodes = 3});
  ASSERT_TRUE(c.Converge());
  Watch watch(c.sim(), 1);
  const std::uint64_t rounds = c.member(1).counters()[Counter::kRounds];
  c.Pause(1, {.kind = PauseOptions::Kind::kBlocked});
  const Duration begin = c.now();
  c.RunFor(4s);
  EXPECT_GE(c.member(1).counters()[Counter::kRounds], rounds + 3);
  EXPECT_EQ(watch.delivered.size(), 0u);
  EXPECT_EQ(watch.own.size(), 0u);
  c.Resume(1);
  EXPECT_GT(watch.delivered.size(), 0u);
  ASSERT_GT(watch.own.size(), 3u);
  EXPECT_EQ(watch.own[0], begin + 4s);
}

TEST(SimulatorFaults, AStuckProberBeginsOneRound) {
  Cluster c({.nodes = 3});
  ASSERT_TRUE(c.Converge());
  c.RunFor(5s);
  Watch watch(c.sim(), 1);
  const std::uint64_t rounds = c.member(1).counters()[Counter::kRounds];
  c.Pause(1, {.kind = PauseOptions::Kind::kProber});
  EXPECT_FALSE(c.sim().live(1));
  const Duration begin = c.now();
  c.RunFor(4s);
  EXPECT_EQ(c.member(1).counters()[Counter::kRounds], rounds + 1);
  EXPECT_EQ(watch.delivered.size(), 0u);
  EXPECT_EQ(watch.own.size(), 0u);
  c.Resume(1);
  EXPECT_GT(watch.delivered.size(), 0u);
  ASSERT_GT(watch.own.size(), 0u);
  EXPECT_EQ(watch.own[0], begin + 4s);
  EXPECT_EQ(c.member(1).counters()[Counter::kRounds], rounds + 1);
  c.RunFor(4s);
  EXPECT_GE(c.member(1).counters()[Counter::kRounds], rounds + 4);
}

// Whatever ends such a pause: the prober goes on, and so does that of the next life.
TEST(SimulatorFaults, AStuckProberGoesOnAfterEveryEnd) {
  Cluster c({.nodes = 3});
  ASSERT_TRUE(c.Converge());
  const auto probes = [&c] {  // more than the one round of a stuck prober
    const std::uint64_t rounds = c.member(1).counters()[Counter::kRounds];
    c.RunFor(8s);
    return c.member(1).counters()[Counter::kRounds] > rounds + 1;
  };
  c.Pause(1, {.kind = PauseOptions::Kind::kProber});
  c.Pause(1, {.kind = PauseOptions::Kind::kBlocked});
  EXPECT_TRUE(probes());
  c.Pause(1, {.kind = PauseOptions::Kind::kProber});
  EXPECT_FALSE(probes());
  c.Pause(1);
  c.RunFor(1s);
  c.Resume(1);
  EXPECT_TRUE(probes());
  c.Pause(1, {.kind = PauseOptions::Kind::kProber});
  c.Crash(1);
  c.Restart(1);
  EXPECT_TRUE(probes());
}

TEST(SimulatorFaults, ASuspendedMachinesRawClockStandsStill) {
  Cluster c({.nodes = 2});
  ASSERT_TRUE(c.Converge());
  const Tick before = c.sim().Clock(1);
  c.Pause(1, {.kind = PauseOptions::Kind::kSuspended});
  c.RunFor(10s);
  c.Resume(1);
  c.RunFor(1s);
  const Tick after = c.sim().Clock(1);
  EXPECT_EQ(after.boot - before.boot, 11s);
  EXPECT_EQ(after.raw - before.raw, 1s);
  EXPECT_EQ(after.wall - before.wall, 11s);
}

TEST(SimulatorFaults, ACrashWhilePausedForgetsWhatWaited) {
  Cluster c({.nodes = 3});
  ASSERT_TRUE(c.Converge());
  c.Pause(1);
  c.RunFor(1s);
  c.Crash(1);
  EXPECT_FALSE(c.sim().paused(1));
  const std::uint64_t delivered = c.sim().counters().datagrams_delivered;
  c.Restart(1);
  EXPECT_EQ(c.sim().counters().datagrams_delivered, delivered);
  EXPECT_TRUE(c.Converge());
}

TEST(SimulatorFaults, ASlowMemberHandlesEachInputLate) {
  Cluster c({.nodes = 2});
  ASSERT_TRUE(c.Converge());
  c.RunFor(1s);
  Watch watch(c.sim(), 1);
  c.sim().SetSlowness(1, {.fixed = 50ms});
  c.RunFor(10s);
  ASSERT_GT(watch.delivered.size(), 10u);
  for (std::size_t i = 0; i < watch.delivered.size(); ++i) {
    EXPECT_GE(watch.delivered[i] - watch.sent[i], 50ms + 500us);
    EXPECT_LE(watch.delivered[i] - watch.sent[i], 51ms);
  }
}

TEST(SimulatorFaults, ALateTimerIsLate) {
  Cluster c({.nodes = 2});
  ASSERT_TRUE(c.Converge());
  c.RunFor(1s);
  Watch prompt(c.sim(), 1);
  c.RunFor(1s);
  ASSERT_FALSE(prompt.own.empty());
  const std::uint64_t wakes = c.sim().counters().wakes;
  c.sim().SetSlowness(0, {.wake = 1h});
  c.sim().SetSlowness(1, {.wake = 1h});
  c.RunFor(10s);
  EXPECT_EQ(c.sim().counters().wakes, wakes);
}

TEST(SimulatorFaults, AFastClockProbesMoreOften) {
  Cluster c({.nodes = 2});
  ASSERT_TRUE(c.Converge());
  c.sim().SetClockRate(1, 1'000'000);  // twice as fast
  const std::uint64_t normal = c.member(0).counters()[Counter::kRounds];
  const std::uint64_t fast = c.member(1).counters()[Counter::kRounds];
  c.RunFor(100s);
  EXPECT_NEAR(static_cast<double>(c.member(0).counters()[Counter::kRounds] - normal), 100, 2);
  EXPECT_NEAR(static_cast<double>(c.member(1).counters()[Counter::kRounds] - fast), 200, 2);
}

TEST(SimulatorFaults, SendsThatFailAreReported) {
  Cluster c({.nodes = 2});
  ASSERT_TRUE(c.Converge());
  Watch watch(c.sim(), 0);
  c.sim().SetSendsFail(1, true);
  c.RunFor(5s);
  EXPECT_TRUE(watch.sent.empty());
  EXPECT_GT(c.sim().counters().of(Drop::kSendFailed), 0u);
  EXPECT_EQ(c.member(1).counters()[Counter::kSendFailed], c.sim().counters().of(Drop::kSendFailed));
}

// ---- observing and meddling

TEST(SimulatorFaults, InjectedBytesReachTheMember) {
  Cluster c({.nodes = 2});
  ASSERT_TRUE(c.Converge());
  const std::uint64_t delivered = c.sim().counters().datagrams_delivered;
  c.sim().Inject(0, Address::V4(1, 2, 3, 4, 5), Garbage(30));
  EXPECT_EQ(c.sim().counters().datagrams_delivered, delivered + 1);
  EXPECT_EQ(c.member(0).counters()[Counter::kBadLabel], 1u);
  c.sim().Inject(0, Address::V4(1, 2, 3, 4, 5), {});
  EXPECT_EQ(c.member(0).counters()[Counter::kBadShort], 1u);
}

TEST(SimulatorFaults, AnInjectedRequestIsEnded) {
  Cluster c({.nodes = 1});
  std::vector<absl::StatusCode> ends;
  const auto note = [&](const absl::Status& status, std::span<const std::byte>) { ends.push_back(status.code()); };
  c.sim().InjectRequest(0, Address::V4(1, 2, 3, 4, 5), Garbage(30), note);
  c.RunFor(10s);
  EXPECT_EQ(ends.size(), 1u);
  c.Crash(0);
  c.sim().InjectRequest(0, Address::V4(1, 2, 3, 4, 5), Garbage(30), note);
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(ends[1], absl::StatusCode::kUnavailable);
}

TEST(SimulatorFaults, TheTapSeesEachFate) {
  Cluster c({.nodes = 2});
  ASSERT_TRUE(c.Converge());
  c.RunFor(1s);
  c.Lose(0.5);
  const SimCounters before = c.sim().counters();
  std::uint64_t sent = 0;
  std::uint64_t delivered = 0;
  std::uint64_t lost = 0;
  c.sim().SetTap([&](const SimDatagram& datagram) {
    sent += datagram.moment == Moment::kSent ? 1 : 0;
    delivered += datagram.moment == Moment::kDelivered ? 1 : 0;
    lost += datagram.moment == Moment::kDropped && datagram.drop == Drop::kLoss ? 1 : 0;
  });
  c.RunFor(20s);
  const SimCounters& after = c.sim().counters();
  EXPECT_EQ(sent, after.datagrams_sent - before.datagrams_sent);
  EXPECT_EQ(delivered, after.datagrams_delivered - before.datagrams_delivered);
  EXPECT_EQ(lost, after.of(Drop::kLoss) - before.of(Drop::kLoss));
  EXPECT_GT(lost, 0u);
}

TEST(SimulatorFaults, TheFilterDropsWhatItDoesNotWant) {
  Cluster c({.nodes = 2});
  ASSERT_TRUE(c.Converge());
  c.RunFor(1s);
  Watch watch(c.sim(), 1);
  c.sim().SetFilter([](const SimDatagram& datagram) { return datagram.to != 1; });
  c.RunFor(2s);
  EXPECT_TRUE(watch.delivered.empty());
  EXPECT_EQ(c.sim().counters().of(Drop::kFilter), watch.sent.size());
  EXPECT_GT(watch.sent.size(), 0u);
}

TEST(SimulatorFaults, WhatIsInFlightIsBounded) {
  ClusterOptions options{.nodes = 3};
  options.sim.flights_max = 20;
  Cluster c(options);
  ASSERT_TRUE(c.Converge());
  EXPECT_EQ(c.sim().counters().of(Drop::kFull), 0u);
  LinkLaw far;
  far.delay_min = far.delay_max = 10s;
  c.network().SetLaw(far);
  const SimCounters before = c.sim().counters();
  c.RunFor(9s);
  const SimCounters& after = c.sim().counters();
  EXPECT_GT(after.of(Drop::kFull), 0u);
  EXPECT_LE(after.datagrams_sent - before.datagrams_sent - after.of(Drop::kFull), 20u);
}

TEST(SimulatorFaults, AHandlerMayEndItsOwnMember) {
  Cluster c({.nodes = 3, .start = false});
  c.sim().SetHandler([&](const SimEvent& event) {
    if (event.member == 1 && event.event.kind == EventKind::kJoined) c.Crash(1);
  });
  for (SimId id = 0; id < 3; ++id) ASSERT_TRUE(c.sim().Start(id).ok());
  c.RunFor(1s);
  EXPECT_EQ(c.sim().state(1), SimState::kCrashed);
  EXPECT_EQ(c.Count({.kind = EventKind::kJoined, .observer = 1}), 1u);
}

TEST(SimulatorFaults, AHandlerMayStartAnother) {
  Cluster c({.nodes = 2, .start = false});
  Config config = Config::Lan();
  config.seeds = {"10.0.0.1:7946"};
  SimId added = kNobody;
  c.sim().SetHandler([&](const SimEvent& event) {
    if (added != kNobody || event.event.kind != EventKind::kJoined) return;
    added = c.AddNode(config);
    EXPECT_TRUE(c.sim().Order(0, Join{{c.sim().address(added)}}).ok());
  });
  for (SimId id = 0; id < 2; ++id) ASSERT_TRUE(c.sim().Start(id).ok());
  EXPECT_TRUE(c.RunUntil([&] { return added != kNobody && c.sim().Converged(); }, 20s));
  EXPECT_EQ(c.sim().live_count(), 3u);
}

TEST(SimulatorFaults, TheLogIsBounded) {
  ClusterOptions options{.nodes = 5};
  options.sim.log_max = 4;
  Cluster c(options);
  ASSERT_TRUE(c.Converge());
  EXPECT_EQ(c.sim().log().size(), 4u);
  EXPECT_GT(c.sim().counters().events_unlogged, 0u);
  c.sim().ClearLog();
  EXPECT_TRUE(c.sim().log().empty());
}

// 10.200.0.0:7946 is what the member of number 13,107,199 would have.
TEST(SimulatorFaults, AMemberMayMoveToAnAddressThatLooksLikeAnothersOwn) {
  Cluster c({.nodes = 3});
  ASSERT_TRUE(c.Converge());
  const Address there = Address::V4(10, 200, 0, 0, 7946);
  c.Crash(2);
  c.Restart(2, {.address = there});
  ASSERT_TRUE(c.Converge());
  EXPECT_EQ(c.member(0).counters()[Counter::kBadLabel], 0u);
  c.Crash(2);
  c.Restart(2, {.address = Address::V4(10, 200, 0, 1, 7946)});
  ASSERT_TRUE(c.Converge());
  EXPECT_FALSE(c.sim().Restart(1, {.address = there}).ok()) << "it runs";
  c.Crash(1);
  c.Restart(1, {.address = there});
  EXPECT_TRUE(c.Converge());
}

}  // namespace
}  // namespace nekton
