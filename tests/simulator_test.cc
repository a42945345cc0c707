// The simulator itself: what it promises to those who test on it.
#include "transport/simulator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/cluster.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

TEST(Simulator, FillsInWhatIsEmpty) {
  Simulator sim;
  const SimId first = sim.Add(Config::Lan());
  const SimId second = sim.Add(Config::Lan());
  EXPECT_EQ(sim.name(second), "n1");
  EXPECT_EQ(sim.address(first).ToString(), "10.0.0.1:7946");
  EXPECT_EQ(sim.address(second).ToString(), "10.0.0.2:7946");
  EXPECT_EQ(sim.state(first), SimState::kAdded);
  EXPECT_EQ(sim.member(first), nullptr);
  ASSERT_TRUE(sim.Start(first).ok());
  EXPECT_EQ(sim.state(first), SimState::kRunning);
  EXPECT_EQ(sim.generation(first), 1'767'225'600'001u);
  ASSERT_NE(sim.member(first), nullptr);
  EXPECT_EQ(sim.member(first)->Self()->name, "n0");
}

TEST(Simulator, KeepsWhatIsGiven) {
  Simulator sim;
  Config config = Config::Lan();
  config.name = "alpha";
  config.generation = 77;
  SimMemberOptions options;
  options.address = Address::V4(192, 168, 1, 5, 9000);
  const SimId id = sim.Add(config, options);
  ASSERT_TRUE(sim.Start(id).ok());
  EXPECT_EQ(sim.name(id), "alpha");
  EXPECT_EQ(sim.generation(id), 77u);
  EXPECT_EQ(sim.address(id).ToString(), "192.168.1.5:9000");
  EXPECT_EQ(sim.Owner(*options.address), id);
  EXPECT_EQ(sim.Owner(Address::V4(10, 0, 0, 1, 7946)), kNobody);
}

TEST(Simulator, AWrongConfigurationIsAStatus) {
  Simulator sim;
  Config config = Config::Lan();
  config.attempts = 100;
  const absl::Status status = sim.Start(sim.Add(config));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("attempts"), std::string::npos) << status;
}

TEST(Simulator, EveryoneFindsEveryoneThroughOneSeed) {
  Cluster c({.nodes = 8});
  ASSERT_TRUE(c.Converge(30s));
  for (SimId id = 0; id < 8; ++id) EXPECT_TRUE(c.AllSee(id, MemberStatus::kActive));
}

// A run with a bit of everything.
std::uint64_t Storm(std::uint64_t seed, bool record, std::uint64_t* events = nullptr) {
  ClusterOptions options{.nodes = 12, .seed = seed, .record = record};
  options.sim.lossy_streams = true;
  options.sim.link.loss = Loss::Bursts(0.1, 500ms, 0.7, 0.02);
  options.sim.link.duplicate = 0.05;
  options.sim.link.reorder = 0.05;
  options.sim.link.reorder_delay = 40ms;
  Cluster c(options);
  c.sim().SetSlowness(4, {.fixed = 1ms, .random = 20ms});
  c.sim().SetClockRate(5, 5000);
  c.RunFor(10s);
  c.Crash(2, Port::kRefuses);
  c.Pause(3);
  c.Pause(6, {.kind = PauseOptions::Kind::kBlocked});
  c.CutOneWay(0, 1);
  c.RunFor(4s);
  c.Resume(3);
  c.Resume(6);
  c.Restart(2);
  c.Partition({{0, 1, 2, 3}});
  c.RunFor(6s);
  c.Heal();
  c.Leave(7);
  c.RunFor(10s);
  if (events != nullptr) *events = c.sim().counters().events;
  return c.sim().Fingerprint();
}

TEST(Simulator, TheSameSeedGivesTheSameRun) {
  std::uint64_t events = 0;
  const std::uint64_t fingerprint = Storm(1, true, &events);
  EXPECT_GT(events, 1000u);
  EXPECT_EQ(Storm(1, true), fingerprint);
  EXPECT_NE(Storm(2, true), fingerprint);
}

TEST(Simulator, RecordingChangesNothing) { EXPECT_EQ(Storm(3, false), Storm(3, true)); }

TEST(Simulator, TimeRunsOnlyAsFarAsAsked) {
  Simulator sim;
  std::vector<std::pair<int, Duration>> ran;
  const auto note = [&](int number) { return [&ran, &sim, number] { ran.emplace_back(number, sim.now()); }; };
  sim.At(2s, note(2));
  sim.At(1s, note(1));
  sim.At(2s, note(3));
  sim.RunTo(1s);
  EXPECT_EQ(ran, (std::vector<std::pair<int, Duration>>{{1, 1s}}));
  sim.At(500ms, note(4));  // has passed: at once, when time next runs
  EXPECT_EQ(ran.size(), 1u);
  sim.RunFor(5s);
  EXPECT_EQ(sim.now(), 6s);
  EXPECT_EQ(ran, (std::vector<std::pair<int, Duration>>{{1, 1s}, {4, 1s}, {2, 2s}, {3, 2s}}));
  EXPECT_FALSE(sim.Step());
}

TEST(Simulator, RunUntilStopsSoonAfterItHolds) {
  Simulator sim;
  bool done = false;
  sim.At(1234ms, [&] { done = true; });
  EXPECT_TRUE(sim.RunUntil([&] { return done; }, 5s, 10ms));
  EXPECT_EQ(sim.now(), 1240ms);
  EXPECT_FALSE(sim.RunUntil([] { return false; }, 5s));
  EXPECT_EQ(sim.now(), 6240ms);
}

TEST(Simulator, ACrashedMemberHearsNothing) {
  Cluster c({.nodes = 2});
  ASSERT_TRUE(c.Converge());
  c.Crash(1);
  EXPECT_EQ(c.sim().state(1), SimState::kCrashed);
  EXPECT_EQ(c.sim().member(1), nullptr);
  EXPECT_FALSE(c.sim().live(1));
  const SimCounters before = c.sim().counters();
  c.RunFor(3s);
  EXPECT_EQ(c.sim().counters().datagrams_delivered, before.datagrams_delivered);
  EXPECT_GT(c.sim().counters().of(Drop::kNoListener), 0u);
}

TEST(Simulator, ARestartHasAHigherGeneration) {
  Cluster c({.nodes = 1});
  const std::uint64_t first = c.sim().generation(0);
  c.RunFor(90s);
  c.Crash(0);
  c.Restart(0);
  EXPECT_EQ(c.sim().generation(0), first + 90'000);
  EXPECT_EQ(c.member(0).Self()->key.generation, first + 90'000);
}

TEST(Simulator, MemoryKeepsTheGenerationAboveTheOldWhateverTheWallClockSays) {
  Cluster c({.nodes = 1});
  const std::uint64_t first = c.sim().generation(0);
  c.RunFor(10s);
  c.Crash(0);
  c.sim().StepWall(0, -1h);
  c.Restart(0, {.memory = true});
  EXPECT_EQ(c.sim().generation(0), first + 1);
  c.Crash(0);
  c.Restart(0, {.memory = false});
  EXPECT_EQ(c.sim().generation(0), first + 10'000 - 3'600'000);
  c.Crash(0);
  c.Restart(0, {.generation = 42});
  EXPECT_EQ(c.sim().generation(0), 42u);
  c.Crash(0);
  c.Restart(0);  // above every one it used
  EXPECT_EQ(c.sim().generation(0), first + 2);
}

TEST(Simulator, ARestartMayMoveAndChange) {
  Cluster c({.nodes = 3});
  ASSERT_TRUE(c.Converge());
  const Address old = c.sim().address(2);
  const Address moved = Address::V4(10, 9, 9, 9, 7946);
  c.Crash(2);
  Config config = Config::Lan();
  config.seeds = {"10.0.0.1:7946"};
  config.tags["role"] = "new";
  c.Restart(2, {.address = moved, .config = config});
  EXPECT_EQ(c.sim().name(2), "n2");
  EXPECT_EQ(c.sim().Owner(moved), 2u);
  EXPECT_EQ(c.sim().Owner(old), kNobody);
  ASSERT_TRUE(c.Converge());
  for (const MemberPtr& row : c.member(0).Members()) {
    if (row->name != "n2") continue;
    EXPECT_EQ(row->address, moved);
    EXPECT_EQ(row->tags.at("role"), "new");
  }
}

TEST(Simulator, OneAddressHasOneRunningMember) {
  Simulator sim;
  const Address shared = Address::V4(10, 0, 0, 1, 7946);
  const SimId first = sim.Add(Config::Lan());
  SimMemberOptions options;
  options.address = shared;
  const SimId second = sim.Add(Config::Lan(), options);
  ASSERT_TRUE(sim.Start(first).ok());
  EXPECT_EQ(sim.Start(first).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(sim.Start(second).code(), absl::StatusCode::kFailedPrecondition);
  sim.Crash(first);
  ASSERT_TRUE(sim.Start(second).ok());
  EXPECT_EQ(sim.Owner(shared), second);
  EXPECT_EQ(sim.Restart(first).code(), absl::StatusCode::kFailedPrecondition);
  sim.Remove(second);
  EXPECT_EQ(sim.state(second), SimState::kRemoved);
  EXPECT_EQ(sim.Owner(shared), kNobody);
  EXPECT_EQ(sim.Restart(second).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(sim.Restart(first).ok());
}

TEST(Simulator, ALeaveEndsTheProcess) {
  Cluster c({.nodes = 4});
  ASSERT_TRUE(c.Converge());
  c.Leave(3);
  ASSERT_TRUE(c.RunUntil([&] { return c.sim().state(3) == SimState::kLeft; }, 5s));
  EXPECT_EQ(c.Count({.kind = EventKind::kLeaveDone, .observer = 3}), 1u);
  EXPECT_TRUE(c.Converge(10s));
  EXPECT_TRUE(c.AllSee(3, MemberStatus::kLeft));
  EXPECT_EQ(c.sim().Leave(3).code(), absl::StatusCode::kUnavailable);
}

TEST(Simulator, ALeaveEndsTheProcessWithoutEventsToo) {
  Cluster c({.nodes = 4, .record = false});
  ASSERT_TRUE(c.Converge());
  c.Leave(3);
  EXPECT_TRUE(c.RunUntil([&] { return c.sim().state(3) == SimState::kLeft; }, 5s));
  EXPECT_TRUE(c.sim().log().empty());
}

// ---- seeds that are names

TEST(Simulator, ANameIsLookedUpAgainUntilItIsKnown) {
  Config config = Config::Lan();
  config.seeds = {"seed.internal:7946"};
  Cluster c({.nodes = 3, .config = config});
  c.RunFor(12s);
  EXPECT_EQ(c.member(0).size(), 1u);
  c.sim().SetHost("seed.internal", {Address::V4(10, 0, 0, 9, 1), c.sim().address(1)});  // one of them is dead
  EXPECT_TRUE(c.Converge(10s));
}

// ---- streams, as members meet them

TEST(Simulator, AStreamToARefusingPortIsRefusedAtOnce) {
  for (const Port port : {Port::kRefuses, Port::kSilent}) {
    Cluster c({.nodes = 2});
    ASSERT_TRUE(c.Converge());
    c.Crash(0, port);
    Config config = Config::Lan();
    config.seeds = {"10.0.0.1:7946"};
    const Duration begin = c.now();
    const SimId late = c.AddNode(config);
    ASSERT_TRUE(c.RunUntil([&] { return c.Count({.kind = EventKind::kJoinResult, .observer = late}) > 0; }, 20s));
    const SimEvent result = c.Events({.kind = EventKind::kJoinResult, .observer = late})[0];
    if (port == Port::kRefuses) {
      EXPECT_EQ(result.event.status.code(), absl::StatusCode::kUnavailable);
      EXPECT_LE(result.at - begin, 2ms);
      EXPECT_GE(c.sim().counters().streams_refused, 1u);
    } else {
      EXPECT_EQ(result.event.status.code(), absl::StatusCode::kDeadlineExceeded);
      EXPECT_EQ(result.at - begin, config.stream_timeout);
      EXPECT_GE(c.sim().counters().streams_expired, 1u);
    }
  }
}

TEST(Simulator, ACutHoldsStreamsUpUntilItHeals) {
  Cluster c({.nodes = 1});
  c.network().Cut(0, 1);
  const SimId late = c.AddNode();
  c.RunFor(2s);
  EXPECT_EQ(c.member(late).size(), 1u);
  c.Heal();
  c.RunFor(1100ms);  // the third SYN goes out at 3 s
  EXPECT_EQ(c.member(late).size(), 2u);
  EXPECT_EQ(c.sim().counters().streams_answered, 1u);
  EXPECT_EQ(c.sim().counters().segments_resent, 2u);
}

TEST(Simulator, AFrozenServersMachineAcceptsAndItAnswersWhenItResumes) {
  Cluster c({.nodes = 1});
  c.Pause(0);
  const SimId late = c.AddNode();
  c.RunFor(1500ms);
  EXPECT_EQ(c.member(late).size(), 1u);
  c.Resume(0);
  c.RunFor(2ms);
  EXPECT_EQ(c.member(late).size(), 2u);
  EXPECT_EQ(c.sim().counters().segments_resent, 0u);
}

TEST(Simulator, LossyStreamsAreSentAgain) {
  ClusterOptions options{.nodes = 10};
  options.sim.lossy_streams = true;
  options.sim.link.loss.rate = 0.3;
  Cluster c(options);
  EXPECT_TRUE(c.Converge());
  EXPECT_GT(c.sim().counters().segments_resent, 0u);
}

TEST(Simulator, DatagramsAloneMayBeCut) {
  Cluster c({.nodes = 3});
  ASSERT_TRUE(c.Converge());
  c.Cut(0, 1, Traffic::kDatagrams);
  c.RunFor(30s);
  EXPECT_GT(c.sim().counters().of(Drop::kCut), 0u);
  EXPECT_EQ(c.Count(EventKind::kFailed), 0u);
}

// ---- mistakes of the caller

TEST(SimulatorDeathTest, AWrongIdAndTimeInACallbackEndTheProgram) {
  Simulator sim;
  EXPECT_DEATH(sim.Crash(0), "no member has this id");
  sim.At(1s, [&] { sim.RunFor(1s); });
  EXPECT_DEATH(sim.RunFor(2s), "a callback must not let time run");
}

}  // namespace
}  // namespace nekton
