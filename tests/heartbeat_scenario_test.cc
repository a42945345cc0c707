// Whole groups that send each other heartbeats, on virtual time: joining, failing, coming back, parting. The long ones:
// heartbeat_scenario_slow_test.cc.
#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "swim/message.h"
#include "tests/cluster.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

// Each is a seed of all: after a death of any of them somebody is left to be asked.
Config WithSeeds(Config config) {
  config.seeds = {"10.0.0.1:7946", "10.0.0.2:7946"};
  return config;
}
Config MeshOf(DetectorKind detector = DetectorKind::kFixed) {
  Config config = WithSeeds(Config::Mesh());
  config.detector = detector;
  return config;
}
Config PairOf(DetectorKind detector = DetectorKind::kFixed) {
  Config config = WithSeeds(Config::Pair());
  config.detector = detector;
  return config;
}

std::size_t Transitions(const Cluster& c, Duration since = {}) {
  std::size_t count = 0;
  for (const EventKind kind :
       {EventKind::kSuspected, EventKind::kRecovered, EventKind::kFailed, EventKind::kRestarted, EventKind::kLeft}) {
    count += c.Count({.kind = kind, .since = since});
  }
  return count;
}

// ---- The mesh. ----

class MeshSize : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(HeartbeatScenario, MeshSize, testing::Values(2, 3, 8, 50),
                         [](const auto& param) { return "N" + std::to_string(param.param); });

TEST_P(MeshSize, JoinsAndRests) {
  const std::size_t n = GetParam();
  Cluster c({.nodes = n, .config = MeshOf()});
  ASSERT_TRUE(c.Converge(60s));
  EXPECT_EQ(c.Count(EventKind::kJoined), n * (n - 1));
  c.RunFor(30s);  // the last news has gone round
  std::uint64_t heartbeats = 0;
  c.sim().SetTap([&](const SimDatagram& d) {
    const bool sent = d.moment == SimDatagram::Moment::kSent;
    heartbeats += sent && static_cast<FrameType>(std::to_integer<int>(d.bytes[0]) & 0xf) == FrameType::kHeartbeat;
  });
  const SimCounters before = c.sim().counters();
  c.RunFor(600s);
  const SimCounters after = c.sim().counters();
  const double expected = 60.0 * static_cast<double>(n * (n - 1));
  EXPECT_NEAR(static_cast<double>(heartbeats), expected, expected * 0.05) << "one each 10 s to each other member";
  EXPECT_EQ(after.datagrams_sent - before.datagrams_sent, heartbeats) << "and nothing else";
  EXPECT_EQ(after.streams, before.streams) << "equal tables need no exchange";
  EXPECT_EQ(after.stuck_wakes, 0u);
  EXPECT_EQ(Transitions(c), 0u);
}

TEST_P(MeshSize, ACrashIsSeenByAllWithinTheBands) {
  for (const Port port : {Port::kSilent, Port::kRefuses}) {
    const std::size_t n = GetParam();
    Cluster c({.nodes = n, .seed = 7, .config = MeshOf()});
    ASSERT_TRUE(c.Converge(60s));
    c.RunFor(67s);
    const auto victim = static_cast<SimId>(n / 2);
    const Duration at = c.now();
    c.Crash(victim, port);
    c.RunFor(180s);
    EXPECT_TRUE(c.AllSee(victim, MemberStatus::kInactive));
    EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .since = at}), n - 1) << "nobody else is accused";
    const std::vector<SimEvent> suspected = c.Events({.kind = EventKind::kSuspected, .since = at});
    EXPECT_EQ(suspected.size(), n - 1);
    for (const SimEvent& e : suspected) {
      EXPECT_EQ(e.event.member->name, c.sim().name(victim));
      EXPECT_LE(e.at - at, 90s);
      // Two observers' words may come before the third signal of one's own; the first word needs one's own silence.
      EXPECT_GE(e.at - at, 18s);
      if (!e.event.cause.own) continue;
      EXPECT_EQ(e.event.cause.reason, Reason::kDeadline);
      EXPECT_GT(e.event.cause.silence, 30s);
    }
    for (const SimEvent& e : c.Events({.kind = EventKind::kFailed, .since = at})) {
      EXPECT_EQ(e.event.cause.lasted, 90s);
      EXPECT_LE(e.at - at, 180s);
    }
  }
}

TEST_P(MeshSize, ALeaveIsALeaveEverywhere) {
  Cluster c({.nodes = GetParam(), .config = MeshOf()});
  ASSERT_TRUE(c.Converge(60s));
  const auto leaver = static_cast<SimId>(GetParam() / 2);
  const Duration at = c.now();
  c.Leave(leaver);
  c.RunFor(200s);
  EXPECT_TRUE(c.AllSee(leaver, MemberStatus::kLeft));
  EXPECT_EQ(c.Count({.kind = EventKind::kLeft, .since = at}), GetParam() - 1);
  EXPECT_EQ(Transitions(c, at), GetParam() - 1) << "and nothing else happens";
}

TEST_P(MeshSize, ARestartIsKnownAtOnce) {
  for (const bool buried : {false, true}) {
    Cluster c({.nodes = GetParam(), .config = MeshOf()});
    ASSERT_TRUE(c.Converge(60s));
    const auto victim = static_cast<SimId>(GetParam() - 1);
    c.Crash(victim);
    c.RunFor(buried ? 180s : 300ms);
    const Duration at = c.now();
    c.Restart(victim);
    c.RunFor(5s);
    EXPECT_TRUE(c.AllSee(victim, MemberStatus::kActive));
    EXPECT_EQ(c.Count({.kind = EventKind::kRestarted, .subject = victim, .since = at}), GetParam() - 1);
    EXPECT_TRUE(c.Converge(60s));
    c.RunFor(300s);
    EXPECT_EQ(Transitions(c, at), GetParam() - 1) << "the new life is not judged by the silence of the old one";
  }
}

TEST_P(MeshSize, APartitionHeals) {
  const std::size_t n = GetParam();
  Cluster c({.nodes = n, .seed = n, .config = MeshOf()});
  ASSERT_TRUE(c.Converge(60s));
  std::vector<std::vector<SimId>> halves(2);
  for (SimId id = 0; id < n; ++id) halves[id % 2].push_back(id);
  c.Partition(halves);
  c.RunFor(180s);
  for (SimId a = 0; a < n; ++a) {
    for (SimId b = 0; b < n; ++b) {
      if (a == b) continue;
      EXPECT_EQ(c.Sees(a, b), a % 2 == b % 2 ? MemberStatus::kActive : MemberStatus::kInactive) << a << " " << b;
    }
  }
  const Duration healed = c.now();
  c.Heal();
  EXPECT_TRUE(c.Converge(120s));
  for (const SimEvent& e : c.Events({.kind = EventKind::kRecovered, .since = healed})) {
    EXPECT_GE(e.event.cause.lasted, 90s) << "nobody is back sooner than 90 s after the verdict";
  }
  c.RunFor(200s);
  EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .since = healed}), 0u);
  EXPECT_TRUE(c.Converge(1s));
}

// Who hears nobody accuses everybody. It is one voice, and the others hear each other.
TEST(HeartbeatScenario, ADeafMemberHarmsNobodyElse) {
  Cluster c({.nodes = 8, .config = MeshOf()});
  ASSERT_TRUE(c.Converge(60s));
  const SimId deaf = 5;
  c.network().CutIn(deaf);
  c.RunFor(300s);
  EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .observer = deaf}), 7u);
  EXPECT_EQ(c.Count(EventKind::kSuspected), c.Count({.kind = EventKind::kSuspected, .observer = deaf}));
  EXPECT_EQ(c.Count(EventKind::kFailed), 7u);
  c.Heal();
  c.network().Heal(deaf);
  EXPECT_TRUE(c.Converge(120s));
}

TEST(HeartbeatScenario, CopiesAndOvertakingChangeNothing) {
  for (const DetectorKind detector : {DetectorKind::kFixed, DetectorKind::kPhi}) {
    for (const Config& config : {MeshOf(detector), PairOf(detector)}) {
      Cluster c({.nodes = config.profile == "pair" ? 2u : 6u, .config = config});
      ASSERT_TRUE(c.Converge(60s));
      c.network().SetLaw({.duplicate = 0.5, .reorder = 0.1, .reorder_delay = config.period});
      c.RunFor(2h);
      EXPECT_EQ(Transitions(c), 0u) << config.profile;
      EXPECT_GT(c.Sum(Counter::kHeartbeatsOld), 100u) << "there were none";
      EXPECT_EQ(c.sim().counters().stuck_wakes, 0u);
    }
  }
}

// Two that only one way joins: who hears knows that it is the way, and not a crash.
TEST(HeartbeatScenario, AWayThatIsCutInOneDirection) {
  for (const Config& config : {MeshOf(), PairOf()}) {
    for (const Traffic what : {Traffic::kDatagrams, Traffic::kAll}) {
      Cluster c({.nodes = 2, .config = config});
      ASSERT_TRUE(c.Converge(60s));
      c.RunFor(60s);
      const Duration at = c.now();
      c.CutOneWay(0, 1, what);  // n0 hears n1, and n1 hears nothing
      c.RunFor(200s);
      const auto by = [&](SimId observer) {
        return c.Events({.kind = EventKind::kSuspected, .observer = observer, .subject = 1 - observer, .since = at});
      };
      ASSERT_GE(by(0).size(), 1u) << config.profile;
      ASSERT_GE(by(1).size(), 1u) << config.profile;
      EXPECT_EQ(by(0)[0].event.cause.reason, Reason::kAsymmetric) << config.profile;
      EXPECT_EQ(by(1)[0].event.cause.reason, Reason::kDeadline) << config.profile;
      EXPECT_LT(by(0)[0].event.cause.silence, config.period + config.jitter);
      if (what == Traffic::kAll) {  // over streams, who is told of its suspicion refutes it, or joins again
        EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .observer = 0, .since = at}), 1u);
        EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .observer = 1, .since = at}), 1u);
      }
      c.Heal();
      EXPECT_TRUE(c.Converge(200s)) << config.profile;
    }
  }
}

// ---- The pair. ----

TEST(HeartbeatScenario, ThePairSeesACrashInTwelveSeconds) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    for (const Port port : {Port::kSilent, Port::kRefuses}) {
      Cluster c({.nodes = 2, .seed = seed, .config = PairOf()});
      ASSERT_TRUE(c.Converge(10s));
      c.RunFor(60s + seed * 437ms);
      const Duration at = c.now();
      c.Crash(1, port);
      c.RunFor(12s + 10ms);
      EXPECT_EQ(c.Sees(0, 1), MemberStatus::kInactive);
      const auto suspected = c.Events({.kind = EventKind::kSuspected});
      ASSERT_EQ(suspected.size(), 1u);
      EXPECT_EQ(suspected[0].event.cause.silence, 6s);
      const auto failed = c.Events({.kind = EventKind::kFailed});
      ASSERT_EQ(failed.size(), 1u);
      EXPECT_EQ(failed[0].at - suspected[0].at, 6s);
      EXPECT_GT(failed[0].at - at, 7s - 10ms) << "the last heartbeat was at most 5 s old";
    }
  }
}

TEST(HeartbeatScenario, ThePairJoinsAgainAfterAPartition) {
  for (const Duration parted : {13s, 60s, 3600s}) {
    Cluster c({.nodes = 2, .config = PairOf()});
    ASSERT_TRUE(c.Converge(10s));
    c.RunFor(300s);
    c.Cut(0, 1);
    c.RunFor(parted);
    EXPECT_EQ(c.Sees(0, 1), MemberStatus::kInactive);
    EXPECT_EQ(c.Sees(1, 0), MemberStatus::kInactive);
    const Duration healed = c.now();
    c.Heal();
    EXPECT_TRUE(c.Converge(15s));
    c.RunFor(300s);
    EXPECT_TRUE(c.Converge(1s));
    EXPECT_EQ(c.Count({.kind = EventKind::kSuspected, .since = healed}), 0u) << parted.count();
    EXPECT_EQ(c.Count({.kind = EventKind::kRecovered, .since = healed}), 2u) << parted.count();
  }
}

// One of them has removed the other, which knows nothing of it: it is told, joins again, and all goes on as before.
TEST(HeartbeatScenario, ThePairJoinsAgainAfterAFreezeOfOne) {
  for (const Duration frozen : {13s, 40s, 300s}) {
    for (const bool keep : {true, false}) {
      for (const SimId who : {0u, 1u}) {
        Cluster c({.nodes = 2, .config = PairOf()});
        ASSERT_TRUE(c.Converge(10s));
        c.RunFor(1000s);
        c.Pause(who, {.keep_input = keep});
        c.RunFor(frozen);
        ASSERT_EQ(c.Sees(1 - who, who), MemberStatus::kInactive);
        const Duration at = c.now();
        c.Resume(who);
        EXPECT_TRUE(c.Converge(15s)) << who;
        c.RunFor(300s);
        EXPECT_TRUE(c.Converge(1s));
        EXPECT_EQ(c.Count({.kind = EventKind::kSuspected, .since = at}), 0u) << frozen.count() << " " << who;
        EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .since = at}), 0u) << frozen.count() << " " << who;
      }
    }
  }
}

TEST(HeartbeatScenario, ThePairTakesARestartAtOnce) {
  for (const bool buried : {false, true}) {
    for (const SimId who : {0u, 1u}) {
      Cluster c({.nodes = 2, .config = PairOf()});
      ASSERT_TRUE(c.Converge(10s));
      c.RunFor(600s);
      c.Crash(who);
      c.RunFor(buried ? 20s : 100ms);
      const Duration at = c.now();
      c.Restart(who);
      EXPECT_TRUE(c.Converge(5s));
      c.RunFor(300s);
      EXPECT_EQ(Transitions(c, at), 1u) << buried << " " << who;
      EXPECT_EQ(c.Count({.kind = EventKind::kRestarted, .since = at}), 1u);
    }
  }
}

// On a slow way the answer comes after the question was repeated, and after the log of what was sent has gone on.
TEST(HeartbeatScenario, ThePairLivesOnASlowWay) {
  for (const Duration one_way : {50ms, 150ms, 400ms, 700ms}) {
    Cluster c({.nodes = 2, .config = PairOf()});
    c.network().SetLaw({.delay_min = one_way, .delay_max = one_way + 10ms});
    ASSERT_TRUE(c.Converge(30s));
    c.RunFor(600s);
    EXPECT_EQ(c.Count(EventKind::kSuspected), 0u) << one_way.count();
  }
}

// ---- Frozen, and clocks. ----

// Field: a node that was itself frozen wakes up and marks everybody else dead.
TEST(HeartbeatScenario, WhoWasFrozenAccusesNobody) {
  struct Case {
    Config config;
    std::size_t nodes;
  };
  for (const DetectorKind detector : {DetectorKind::kFixed, DetectorKind::kPhi}) {
    for (const Case& test : {Case{MeshOf(detector), 2}, Case{MeshOf(detector), 8}, Case{PairOf(detector), 2}}) {
      for (const Duration pause : {7s, 30s, 120s}) {
        for (const bool keep : {true, false}) {
          Cluster c({.nodes = test.nodes, .seed = 5, .config = test.config});
          ASSERT_TRUE(c.Converge(60s));
          c.RunFor(200s);
          const SimId frozen = 1;
          c.Pause(frozen, {.keep_input = keep});
          c.RunFor(pause);
          const Duration at = c.now();
          c.Resume(frozen);
          c.RunFor(300s);
          const auto said = [&](EventKind kind) { return c.Count({.kind = kind, .observer = frozen, .since = at}); };
          EXPECT_EQ(said(EventKind::kSuspected), 0u) << test.config.profile << " " << pause.count() << " " << keep;
          EXPECT_EQ(said(EventKind::kFailed), 0u) << test.config.profile << " " << pause.count() << " " << keep;
          EXPECT_TRUE(c.Converge(60s)) << test.config.profile << " " << pause.count() << " " << keep;
        }
      }
    }
  }
}

struct Clocks {
  const char* name;
  void (*disturb)(Cluster& c);
};
const Clocks kClocks[] = {
    {"an hour ahead", [](Cluster& c) { c.sim().StepWall(1, 1h); }},
    {"an hour back", [](Cluster& c) { c.sim().StepWall(1, -1h); }},
    {"a second again and again",
     [](Cluster& c) {
       for (int i = 0; i < 10; ++i) {
         c.sim().StepWall(1, -1s);
         c.RunFor(1s);
       }
     }},
    {"a tenth too fast",
     [](Cluster& c) {
       c.sim().SetClockRate(1, 100'000);
       c.RunFor(60s);
       c.sim().SetClockRate(1, 0);
     }},
    {"a tenth too slow",
     [](Cluster& c) {
       c.sim().SetClockRate(1, -100'000);
       c.RunFor(60s);
       c.sim().SetClockRate(1, 0);
     }},
};

TEST(HeartbeatScenario, ClocksThatStepAndDriftChangeNothing) {
  for (const DetectorKind detector : {DetectorKind::kFixed, DetectorKind::kPhi}) {
    for (const Config& config : {MeshOf(detector), PairOf(detector)}) {
      for (const std::size_t nodes : {2u, 4u}) {
        if (config.profile == "pair" && nodes > 2) continue;
        for (const Clocks& clocks : kClocks) {
          Cluster c({.nodes = nodes, .seed = 9, .config = config});
          ASSERT_TRUE(c.Converge(60s));
          c.RunFor(600s);
          clocks.disturb(c);
          c.RunFor(600s);
          EXPECT_EQ(Transitions(c), 0u) << clocks.name << ", " << config.profile << " of " << nodes;
          EXPECT_EQ(c.Count(EventKind::kPaused), 0u);
        }
      }
    }
  }
}

// The hold is 90 s of steady time, whatever the wall clock shows meanwhile.
TEST(HeartbeatScenario, TheHoldIsOfSteadyTime) {
  for (const Duration step : {Duration(1h), Duration(-1h), Duration(-1s)}) {
    Cluster c({.nodes = 4, .config = MeshOf()});
    ASSERT_TRUE(c.Converge(60s));
    c.Crash(3);
    ASSERT_TRUE(c.RunUntil([&] { return c.Sees(1, 3) == MemberStatus::kSuspect; }, 60s));
    c.RunFor(20s);
    c.sim().StepWall(1, step);
    c.RunFor(180s);
    const auto failed = c.Events({.kind = EventKind::kFailed, .observer = 1});
    const auto suspected = c.Events({.kind = EventKind::kSuspected, .observer = 1});
    ASSERT_EQ(failed.size(), 1u);
    ASSERT_EQ(suspected.size(), 1u);
    EXPECT_EQ(failed[0].at - suspected[0].at, 90s);
  }
}

// ---- The same question in a SWIM group of two. ----

TEST(HeartbeatScenario, AProbeKnowsTheBrokenWayFromTheCrash) {
  Cluster c({.nodes = 2});
  ASSERT_TRUE(c.Converge(10s));
  c.RunFor(10s);
  c.CutOneWay(0, 1);  // the pings of n1 still arrive
  c.RunFor(10s);
  const auto by = [](Cluster& group, SimId observer) {
    return group.Events({.kind = EventKind::kSuspected, .observer = observer});
  };
  ASSERT_GE(by(c, 0).size(), 1u);
  ASSERT_GE(by(c, 1).size(), 1u);
  EXPECT_EQ(by(c, 0)[0].event.cause.reason, Reason::kAsymmetric);
  EXPECT_EQ(by(c, 1)[0].event.cause.reason, Reason::kProbeTimeout) << "it hears nothing at all";

  Cluster both({.nodes = 2});
  ASSERT_TRUE(both.Converge(10s));
  both.RunFor(10s);
  both.Cut(0, 1);
  both.RunFor(10s);
  for (const SimId observer : {0u, 1u}) {
    ASSERT_GE(by(both, observer).size(), 1u);
    EXPECT_EQ(by(both, observer)[0].event.cause.reason, Reason::kProbeTimeout);
  }
}

}  // namespace
}  // namespace nekton
