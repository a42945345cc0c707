// Members that hold each other dead, or hear of lives that they do not know, must not talk each other into a storm.
#include <chrono>
#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "transport/simulator.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

class HeartbeatStorm : public testing::Test {
 protected:
  void Begin(Config config, std::size_t nodes, const SimOptions& options = {}) {
    sim_ = Simulator(options);
    config.seeds = {"10.0.0.1:7946", "10.0.0.2:7946"};
    for (std::size_t i = 0; i < nodes; ++i) ASSERT_TRUE(sim_.Start(sim_.Add(config)).ok());
    sim_.RunFor(60s);
  }
  // Sent from now on in so long; it stops early where that is a storm.
  std::uint64_t Datagrams(Duration time) {
    const std::uint64_t before = sim_.counters().datagrams_sent;
    for (Duration run{}; run < time && sim_.counters().datagrams_sent - before < 20'000; run += 100ms) {
      sim_.RunFor(100ms);
    }
    return sim_.counters().datagrams_sent - before;
  }
  std::uint64_t Refutations() const {
    std::uint64_t sum = 0;
    for (SimId id = 0; id < sim_.size(); ++id) {
      if (sim_.member(id) != nullptr) sum += sim_.member(id)->counters()[Counter::kRefutations];
    }
    return sum;
  }
  std::string StatusAt(SimId id, std::string_view name) const {
    for (const MemberPtr& member : sim_.member(id)->Members()) {
      if (member->name == name) return std::string(Name(member->status));
    }
    return "";
  }

  Simulator sim_;
};

// Datagrams pass again after both have given up the other, and the joins that would mend it do not.
TEST_F(HeartbeatStorm, APairWhoseJoinsDoNotGetThroughGoesOnQuietly) {
  for (const Duration one_way : {Duration(500us), Duration(10ms), Duration(200ms)}) {
    SimOptions options;
    options.link.delay_min = options.link.delay_max = one_way;
    Begin(Config::Pair(), 2, options);
    sim_.network().Cut(0, 1);
    sim_.RunFor(20s);
    ASSERT_EQ(StatusAt(0, "n1"), "INACTIVE");
    sim_.network().HealAll();
    sim_.network().Cut(0, 1, Traffic::kStreams);
    EXPECT_LE(Datagrams(60s), 150u) << one_way.count();
    EXPECT_LE(Refutations(), 2u);
    sim_.network().HealAll();
    sim_.RunFor(30s);
    EXPECT_EQ(StatusAt(0, "n1"), "ACTIVE");
    EXPECT_EQ(StatusAt(1, "n0"), "ACTIVE");
  }
}

// One that was frozen is back, and dead for the others for ninety seconds more.
TEST_F(HeartbeatStorm, AMeshWaitsForItsReturnQuietly) {
  for (const std::size_t nodes : {4u, 8u, 32u}) {
    for (const double duplicate : {0.0, 0.05, 0.2}) {
      SimOptions options;
      options.link.duplicate = duplicate;
      Begin(Config::Mesh(), nodes, options);
      sim_.Pause(0);
      sim_.RunFor(150s);
      ASSERT_EQ(StatusAt(1, "n0"), "INACTIVE");
      sim_.Resume(0);
      const std::uint64_t rest = nodes * (nodes - 1) * 6;  // heartbeats of a minute
      EXPECT_LE(Datagrams(60s), 2 * rest + 100 * nodes) << nodes << " members, " << duplicate;
      EXPECT_LE(Refutations(), 4 * nodes);
      sim_.RunFor(300s);
      EXPECT_TRUE(sim_.Converged());
      EXPECT_EQ(StatusAt(1, "n0"), "ACTIVE");
    }
  }
}

// It left, it was started again, and the first that some hear of its new life is that somebody suspects it.
TEST_F(HeartbeatStorm, WhoWasStartedAgainAfterALeaveHasNotLeft) {
  for (const bool mesh : {false, true}) {
    Begin(mesh ? Config::Mesh() : Config::Lan(), 4);
    ASSERT_TRUE(sim_.Leave(3).ok());
    sim_.RunFor(5s);
    sim_.network().Partition({{0, 3}, {1, 2}});
    sim_.RunFor(1s);
    Config config = mesh ? Config::Mesh() : Config::Lan();
    config.seeds = {"10.0.0.1:7946"};
    ASSERT_TRUE(sim_.Restart(3, {.config = config}).ok());
    sim_.RunFor(3s);
    sim_.ClearLog();
    sim_.network().CutOneWay(3, 0);
    sim_.RunFor(mesh ? 50s : 8s);
    sim_.network().HealPartition();
    sim_.network().CutOneWay(3, 1);
    sim_.network().CutOneWay(3, 2);
    sim_.RunFor(mesh ? 60s : 30s);
    sim_.network().HealAll();
    sim_.RunFor(mesh ? 600s : 60s);
    for (const SimEvent& event : sim_.log()) EXPECT_NE(event.event.kind, EventKind::kLeft) << event;
    for (SimId id = 0; id < 3; ++id) EXPECT_EQ(StatusAt(id, "n3"), "ACTIVE") << id << (mesh ? " mesh" : " lan");
  }
}

// n3 does not hear n2, and the others do. What they pass on of its refutations does not end the silence.
TEST_F(HeartbeatStorm, OneBrokenWayIsOneDeathAndNoFlapping) {
  Begin(Config::Mesh(), 4);
  sim_.ClearLog();
  sim_.network().CutOneWay(2, 3);
  sim_.RunFor(3600s);
  std::size_t suspected = 0;
  for (const SimEvent& event : sim_.log()) suspected += event.event.kind == EventKind::kSuspected ? 1 : 0;
  EXPECT_LE(suspected, 4u);
  EXPECT_EQ(StatusAt(3, "n2"), "INACTIVE");
  EXPECT_EQ(StatusAt(0, "n2"), "ACTIVE");
  EXPECT_EQ(StatusAt(2, "n3"), "ACTIVE");
}

// Answers that are lost are no heartbeats that were due.
TEST_F(HeartbeatStorm, LostAnswersDoNotBluntPhi) {
  std::array<Duration, 2> found{};
  for (const bool lossy : {false, true}) {
    Config config = Config::Pair();
    config.detector = DetectorKind::kPhi;
    Begin(config, 2);
    std::uint64_t extras = 0;
    sim_.SetFilter([&](const SimDatagram& datagram) {
      const bool beat = (std::to_integer<unsigned>(datagram.bytes[0]) & 0xf) == 10;
      const bool extra = beat && (std::to_integer<unsigned>(datagram.bytes[1]) & 32) != 0;
      return !(lossy && extra && ++extras % 5 == 0);
    });
    sim_.RunFor(3600s);
    sim_.ClearLog();
    const Duration at = sim_.now();
    sim_.Crash(1);
    sim_.RunFor(60s);
    ASSERT_FALSE(sim_.log().empty());
    found[lossy] = sim_.log()[0].at - at;
  }
  EXPECT_LE(found[1], found[0] + 1s);
}

}  // namespace
}  // namespace nekton
