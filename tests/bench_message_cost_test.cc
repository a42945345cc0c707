// What message_cost measures: the lower bound by hand, reports, and small groups.
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/common/acquaintance.h"
#include "bench/common/number_list.h"
#include "bench/common/protocols.h"
#include "bench/message_cost/cost.h"
#include "bench/message_cost/floor.h"
#include "bench/message_cost/report.h"

namespace nekton::bench {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

CostPlan PlanOf(const std::string& protocol, std::uint32_t nodes, std::uint32_t crashes = 0) {
  CostPlan plan;
  plan.config = *ProtocolConfig(protocol);
  plan.nodes = nodes;
  plan.crashes = crashes;
  return plan;
}

TEST(MessageFloor, IsTheQuotientOfTheLogarithms) {
  EXPECT_NEAR(MessageFloor(0.1, 1e-5), 5, 1e-12);
  EXPECT_NEAR(MessageFloor(0.1, 1e-3), 3, 1e-12);
  EXPECT_NEAR(MessageFloor(0.5, 1.0 / 1024), 10, 1e-12);
  EXPECT_NEAR(MessageFloor(0.05, 1e-3), 2.3059, 1e-4);  // 6.90776 / 2.99573
  EXPECT_NEAR(MessageFloor(0.15, 1e-5), 6.0687, 1e-4);  // 11.51293 / 1.89712
}

TEST(MessageFloor, IsNeverBelowOne) {
  EXPECT_EQ(MessageFloor(0, 1e-5), 1);
  EXPECT_EQ(MessageFloor(1e-9, 1e-5), 1);  // it would be 0.56
}

TEST(MessageCost, OfAHealthyGroupIsOnePingAndOneAckAPeriod) {
  for (const std::uint32_t nodes : {2U, 8U, 32U}) {
    const Cost cost = MeasureCost(PlanOf("nekton", nodes));
    ASSERT_TRUE(cost.complete);
    EXPECT_NEAR(cost.steady.Datagrams().count, 2.0, 0.05) << nodes;
    EXPECT_LE(cost.steady.Datagrams().bytes, 54) << nodes;
    EXPECT_GE(cost.steady.Datagrams().bytes, 50) << nodes;
    EXPECT_EQ(cost.steady.by_purpose[0].count, cost.steady.Datagrams().count) << "all of it probes";
    EXPECT_EQ(cost.steady.sync.count, 0);
  }
}

TEST(MessageCost, OfBothDetectorsIsTheSame) {
  CostPlan plan = PlanOf("nekton", 32);
  const Spending::Sum fixed = MeasureCost(plan).steady.Datagrams();
  plan.config.detector = DetectorKind::kPhi;
  const Spending::Sum phi = MeasureCost(plan).steady.Datagrams();
  EXPECT_NEAR(phi.count, fixed.count, 0.02 * fixed.count);
  EXPECT_NEAR(phi.bytes, fixed.bytes, 0.02 * fixed.bytes);
}

TEST(MessageCost, OfEveryBaselineIsTheSameWhileAllIsWell) {
  for (const std::string_view protocol : ProtocolNames()) {
    EXPECT_NEAR(MeasureCost(PlanOf(std::string(protocol), 8)).steady.Datagrams().count, 2.0, 0.05) << protocol;
  }
}

TEST(MessageCost, RisesWithLoss) {
  CostPlan plan = PlanOf("nekton", 8);
  plan.loss = 0.3;
  EXPECT_GT(MeasureCost(plan).steady.Datagrams().count, 2.5);
}

TEST(MessageCost, OfACrashIsWhatItAdds) {
  const Cost cost = MeasureCost(PlanOf("nekton", 16, 2));
  ASSERT_TRUE(cost.complete);
  ASSERT_EQ(cost.crashes, 2U);
  EXPECT_GT(cost.crash_seconds, 2.5);            // the shortest hold
  EXPECT_GT(cost.crash.Datagrams().count, 15);   // each survivor has to hear of it
  EXPECT_GT(cost.crash.by_purpose[1].count, 0);  // relays were asked
  EXPECT_EQ(cost.crash.by_purpose[4].count, 0);  // there are no heartbeats
  EXPECT_NEAR(cost.steady.Datagrams().count, 2.0, 0.05);
}

TEST(MessageCost, OfAMeshIsAHeartbeatToEachOther) {
  CostPlan plan;
  plan.config = Config::Mesh();
  plan.nodes = 8;
  plan.crashes = 0;
  const Cost cost = MeasureCost(plan);
  ASSERT_TRUE(cost.complete);
  const Spending::Sum computed = ComputedMesh(8).cost.steady.Datagrams();
  EXPECT_EQ(computed.count, 7);
  EXPECT_NEAR(cost.steady.Datagrams().count, computed.count, 0.05);
  EXPECT_NEAR(cost.steady.Datagrams().bytes, computed.bytes, 0.02 * computed.bytes);
}

TEST(MessageCost, IsReportedAsJsonAndAsALine) {
  CostRow row{.protocol = "nekton", .detector = "phi", .probing = "random", .nodes = 3, .loss = 0.1, .cost = {}};
  row.mistake = 1e-5;
  row.cost.complete = true;
  row.cost.steady.by_purpose[0] = {2, 52};
  row.cost.crash.by_purpose[2] = {6, 200};
  row.cost.crashes = 1;
  row.cost.crash_seconds = 4.5;
  const nlohmann::json json = nlohmann::json::parse(JsonLine(row));
  EXPECT_EQ(json["nodes"], 3);
  EXPECT_EQ(json["datagrams_per_member_period"], 2);
  EXPECT_EQ(json["bytes_per_member_period"], 52);
  EXPECT_NEAR(json["floor_datagrams_per_member_period"], 5, 1e-9);
  EXPECT_EQ(json["steady_per_member_period"]["probe_datagrams"], 2);
  EXPECT_EQ(json["crash_extra_of_group"]["gossip_bytes"], 200);
  EXPECT_EQ(json["crash_extra_per_survivor"]["datagrams"], 3);
  EXPECT_THAT(TableLine(row), HasSubstr("2.0000"));
  EXPECT_THAT(TableLine(ComputedMesh(100)), HasSubstr("computed"));
}

TEST(Acquaint, MakesFullTablesAndLeavesNothingToPassOn) {
  Simulator sim;
  for (int i = 0; i < 20; ++i) sim.Add(Config::Lan(), {.address = {}, .record = false});
  ASSERT_TRUE(Acquaint(&sim));
  EXPECT_EQ(sim.now(), Duration{});
  for (SimId id = 0; id < 20; ++id) EXPECT_EQ(sim.member(id)->alive(), 20U);
  sim.RunFor(seconds(10));
  EXPECT_EQ(SpendingOf(sim).by_purpose[2].count, 0);  // gossip
  EXPECT_TRUE(sim.Converged());
}

TEST(NumberList, TakesNumbersInItsRange) {
  std::vector<double> numbers;
  EXPECT_EQ(ParseNumbers("--n", {"2", "3.5"}, 2, 10, false, &numbers), "");
  EXPECT_THAT(numbers, testing::ElementsAre(2, 3.5));
  for (const std::string text : {"1", "11", "x", "", "nan"}) {
    EXPECT_THAT(ParseNumbers("--n", {text}, 2, 10, false, &numbers), HasSubstr("--n: \"" + text)) << text;
  }
  EXPECT_THAT(ParseNumbers("--n", {"2.5"}, 2, 10, true, &numbers), HasSubstr("whole"));
  EXPECT_THAT(ParseNumbers("--n", {}, 2, 10, true, &numbers), HasSubstr("empty"));
}

}  // namespace
}  // namespace nekton::bench
