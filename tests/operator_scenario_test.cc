// Planned restarts and expulsions in simulated groups.
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "swim/notice.h"
#include "tests/cluster.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

void Order(Cluster& c, SimId by, const Command& command) {
  const absl::Status status = c.sim().Order(by, command);
  EXPECT_TRUE(status.ok()) << status;
}

// It says so itself and is gone 100 ms later; nobody removes it in the 80 s that it is away, at 10 % loss.
TEST(OperatorScenario, APlannedRestartIsNoFailure) {
  for (const bool planned : {true, false}) {
    Cluster c({.nodes = 20, .seed = 3});
    ASSERT_TRUE(c.Converge());
    c.Lose(0.1);
    c.RunFor(10s);
    if (planned) Order(c, 7, Maintenance{"n7", 100s});
    c.RunFor(1s);
    c.Crash(7, Port::kRefuses);
    c.RunFor(80s);
    EXPECT_EQ(c.Count({.kind = EventKind::kSuspected, .subject = 7}), 19u);
    EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .subject = 7}), planned ? 0u : 19u);
    c.Restart(7);
    ASSERT_TRUE(c.Converge());
    EXPECT_EQ(c.Count({.kind = EventKind::kRestarted, .subject = 7}), 19u);
    c.RunFor(60s);
    EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .subject = 7}), planned ? 0u : 19u);
  }
}

TEST(OperatorScenario, WhoDoesNotComeBackIsRemovedAfterwards) {
  Cluster c({.nodes = 10, .seed = 4});
  ASSERT_TRUE(c.Converge());
  c.RunFor(5s);
  const Duration until = c.now() + 60s;
  Order(c, 2, Maintenance{"n7", 60s});  // an operator elsewhere
  c.RunFor(2s);
  c.Crash(7);
  c.RunFor(90s);
  for (SimId id = 0; id < 10; ++id) {
    if (id == 7) continue;
    const auto failed = c.First({.kind = EventKind::kFailed, .observer = id, .subject = 7});
    ASSERT_TRUE(failed.has_value()) << id;
    EXPECT_GE(*failed, until) << id;
    EXPECT_LE(*failed, until + 12s) << id << ": the longest hold of a hearer";
  }
}

TEST(OperatorScenario, AnEarlyEndAndANewcomerFollow) {
  Cluster c({.nodes = 8, .seed = 5});
  ASSERT_TRUE(c.Converge());
  Order(c, 3, Maintenance{"n3", 30min});
  c.RunFor(2s);
  c.Crash(3);
  c.RunFor(20s);
  const SimId newcomer = c.AddNode();
  c.RunFor(100s);
  EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .subject = 3}), 0u);
  EXPECT_EQ(c.Sees(newcomer, 3), MemberStatus::kSuspect) << "it learnt of the maintenance as it joined";
  Order(c, 5, Maintenance{"n3", 0s});
  c.RunFor(15s);
  EXPECT_TRUE(c.AllSee(3, MemberStatus::kInactive));
}

// Members that the order did not reach in time hear of it by the comparison of broadcasts.
TEST(OperatorScenario, WhoWasCutOffWhenItWasSaidLearnsItInTime) {
  Cluster c({.nodes = 10, .seed = 6});
  ASSERT_TRUE(c.Converge());
  c.RunFor(10s);
  c.Partition({{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9}});
  Order(c, 3, Maintenance{"n3", 5min});
  c.RunFor(2s);
  c.Heal();
  c.RunFor(20s);
  c.Crash(3);
  c.RunFor(60s);
  EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .subject = 3}), 0u);
}

TEST(OperatorScenario, AnExpelledMemberIsGoneEverywhereAtOnceAndMayComeBackAsANewLife) {
  Cluster c({.nodes = 30, .seed = 7});
  ASSERT_TRUE(c.Converge());
  c.Lose(0.1);
  c.RunFor(10s);
  Order(c, 4, Expel{"n9"});
  c.RunFor(3s);
  EXPECT_TRUE(c.AllSee(9, MemberStatus::kInactive));
  c.RunFor(30s);
  EXPECT_EQ(c.Count({.kind = EventKind::kExpelled, .observer = 9}), 1u);
  EXPECT_EQ(c.Count({.kind = EventKind::kAccused, .observer = 9}), 0u) << "it refutes nothing";
  EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .subject = 9}), 29u);
  EXPECT_EQ(c.Count({.kind = EventKind::kRecovered, .subject = 9}), 0u);
  for (const SimEvent& e : c.Events({.kind = EventKind::kFailed, .subject = 9})) {
    EXPECT_EQ(e.event.cause.transition, Transition::kExpelled);
    EXPECT_EQ(e.event.cause.observers, std::vector<std::string>{"n4"});
  }
  c.Crash(9);  // the silent process ends
  c.Restart(9);
  ASSERT_TRUE(c.Converge());
  EXPECT_EQ(c.Count({.kind = EventKind::kRestarted, .subject = 9}), 29u);
  c.RunFor(60s);
  EXPECT_TRUE(c.AllSee(9, MemberStatus::kActive));
}

// It was cut off when it was said, and lives on alone: when it meets the others again it hears of it, and nobody takes
// its word for its life.
TEST(OperatorScenario, WhoWasCutOffObeysWhenItMeetsTheOthersAgain) {
  for (const Duration away : {Duration(3s), Duration(30s), Duration(200s)}) {
    Cluster c({.nodes = 10, .seed = 8});
    ASSERT_TRUE(c.Converge());
    c.RunFor(10s);
    c.Partition({{0, 1, 2, 3, 4, 5, 6, 7, 8}, {9}});
    c.RunFor(500ms);
    Order(c, 4, Expel{"n9"});
    c.RunFor(away);
    EXPECT_EQ(c.Count({.kind = EventKind::kExpelled, .observer = 9}), 0u);
    c.Heal();
    ASSERT_TRUE(c.RunUntil([&] { return c.Count({.kind = EventKind::kExpelled, .observer = 9}) == 1; }, 60s))
        << away / 1s;
    c.RunFor(60s);
    for (SimId id = 0; id < 9; ++id) {
      EXPECT_EQ(c.Count({.kind = EventKind::kRecovered, .observer = id, .subject = 9}), 0u) << id;
      EXPECT_NE(c.Sees(id, 9), MemberStatus::kActive) << id;
    }
  }
}

// Half of the group, the expelled one among them, did not hear of it and holds it for well.
TEST(OperatorScenario, TheOtherSideOfASplitFollows) {
  Cluster c({.nodes = 10, .seed = 10});
  ASSERT_TRUE(c.Converge());
  c.RunFor(10s);
  c.Partition({{0, 1, 2, 3, 4}, {5, 6, 7, 8, 9}});
  Order(c, 0, Expel{"n9"});
  c.RunFor(40s);
  EXPECT_EQ(c.Sees(5, 9), MemberStatus::kActive);
  c.Heal();
  c.RunFor(60s);
  EXPECT_EQ(c.Count({.kind = EventKind::kExpelled, .observer = 9}), 1u);
  for (SimId id = 0; id < 9; ++id) EXPECT_NE(c.Sees(id, 9), MemberStatus::kActive) << id;
  for (SimId id = 0; id < 9; ++id) EXPECT_EQ(c.Sees(id, id == 5 ? 6 : 5), MemberStatus::kActive) << id;
}

TEST(OperatorScenario, APairTakesAPlannedRestart) {
  Cluster c({.nodes = 2, .seed = 11, .config = Config::Pair()});
  ASSERT_TRUE(c.Converge());
  c.RunFor(5s);
  Order(c, 1, Maintenance{"n1", 5min});
  c.RunFor(500ms);
  c.Crash(1, Port::kRefuses);
  c.RunFor(1min);
  EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .subject = 1}), 0u);
  c.Restart(1);
  ASSERT_TRUE(c.Converge());
  EXPECT_EQ(c.Count({.kind = EventKind::kRestarted, .subject = 1}), 1u);
  EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .subject = 1}), 0u);
}

TEST(OperatorScenario, WhereMembersSendHeartbeatsBothHoldToo) {
  Cluster c({.nodes = 5, .seed = 9, .config = Config::Mesh()});
  ASSERT_TRUE(c.Converge(200s));
  Order(c, 1, Maintenance{"n1", 10min});
  c.RunFor(5s);
  c.Crash(1);
  c.RunFor(9min);
  EXPECT_EQ(c.Count({.kind = EventKind::kSuspected, .subject = 1}), 4u);
  EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .subject = 1}), 0u);
  c.RunFor(5min);
  EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .subject = 1}), 4u);
  Order(c, 2, Expel{"n3"});
  c.RunFor(3min);
  EXPECT_EQ(c.Count({.kind = EventKind::kExpelled, .observer = 3}), 1u);
  EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .subject = 3}), 3u);
  EXPECT_EQ(c.Count({.kind = EventKind::kRecovered, .subject = 3}), 0u);
}

}  // namespace
}  // namespace nekton
