// What papers measures: bounds by hand, and each experiment in a small group.
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/common/protocols.h"
#include "bench/papers/field_baseline.h"
#include "bench/papers/report.h"

namespace nekton::bench {
namespace {

using namespace std::chrono_literals;

Config Nekton() { return *ProtocolConfig("nekton"); }

TEST(PapersBootstrap, OfTwoIsOneJoin) {
  const BootstrapPlan plan{.config = Nekton(), .nodes = 2, .progress = {}};
  const Bootstrap result = MeasureBootstrap(plan);
  ASSERT_TRUE(result.complete_s.has_value());
  // The connection's handshake, request and answer: four times a link's millisecond, looked at every 10 ms.
  EXPECT_GE(*result.complete_s, result.last_start_s + 0.003);
  EXPECT_LE(*result.complete_s, result.last_start_s + 0.015);
  EXPECT_EQ(result.sizes, 1U) << "looked at when both count two";
  EXPECT_GT(result.seed_stream_bytes, 0);
}

TEST(PapersBootstrap, SaysThatItDidNotEnd) {
  BootstrapPlan plan{.config = Nekton(), .nodes = 8, .progress = {}};
  plan.limit = 1ms;  // nobody but the seed has started
  EXPECT_FALSE(MeasureBootstrap(plan).complete_s.has_value());
  const Row row = BootstrapRow("nekton", plan, {MeasureBootstrap(plan)});
  EXPECT_EQ(row["incomplete"], 1);
  EXPECT_TRUE(row["complete_s"]["p50"].is_null());
}

TEST(PapersSpread, FloorIsTheLogarithm) {
  EXPECT_EQ(PushRounds(1, 3, 0), 0U);
  EXPECT_EQ(PushRounds(4, 3, 0), 1U);
  EXPECT_EQ(PushRounds(5, 3, 0), 2U);
  EXPECT_EQ(PushRounds(128, 3, 0), 4U);  // 4^3.5
  EXPECT_EQ(PushRounds(1000, 3, 0), 5U);
  EXPECT_EQ(PushRounds(8, 2, 0.5), 3U);  // doubles
  EXPECT_NEAR(PushFloorSeconds(128, 3, 0, 200ms), 0.8, 1e-12);
}

TEST(PapersSpread, CountsEveryUpdateAndItsCopies) {
  const SpreadPlan plan{.config = Nekton(), .nodes = 16, .updates = 5, .progress = {}};
  const Spread result = MeasureSpread(plan);
  ASSERT_TRUE(result.complete);
  EXPECT_EQ(result.last_s.size(), 5U);
  EXPECT_EQ(result.lost, 0U);
  // Each sends what is new 4 times log10(17), which is rounded up to 2.
  EXPECT_NEAR(result.copies, 8, 0.5);
  for (std::size_t i = 0; i < result.last_s.size(); ++i) {
    EXPECT_LE(result.half_s[i], result.last_s[i]);
    EXPECT_GE(result.half_s[i], 0.0005) << "no link is quicker";
  }
}

TEST(PapersShrink, SeventeenStayWhereNothingIsLostAndFewWhereAlmostAllIs) {
  ShrinkPlan plan{.config = ShrinkConfig("nekton", Nekton())};
  EXPECT_EQ(MeasureShrink(plan).median, 17);
  EXPECT_EQ(MeasureShrink(plan).spared, 17U);
  plan.config = ShrinkConfig("swim", *ProtocolConfig("swim"));
  plan.loss = 0.7;
  const Shrink lossy = MeasureShrink(plan);
  EXPECT_LT(lossy.spared, 17U);
  EXPECT_GT(lossy.death_events, 0U);
}

TEST(PapersFaults, OfCrashesAreRemovedOnceAndSeenInTheViews) {
  const FaultsPlan plan{.config = Nekton(), .nodes = 30, .faulty = 3, .seconds = 30, .progress = {}};
  const Faults result = MeasureFaults(plan);
  ASSERT_TRUE(result.complete);
  EXPECT_EQ(result.removed_s.size(), 3U);
  EXPECT_EQ(result.gone, 3U);
  EXPECT_EQ(result.readmissions, 0U);
  EXPECT_EQ(result.failed_healthy, 0U);
  EXPECT_EQ(result.failed_faulty, 3U * 27U);
  EXPECT_EQ(result.changes_mean, 3);
  EXPECT_EQ(result.views.front().median, 30U);
  EXPECT_EQ(result.views.back().largest, 27U);
  EXPECT_GT(result.sent.max, result.sent.mean);
}

TEST(PapersFaults, ThatComeAndGoAreReadmittedByTheBaseline) {
  FaultsPlan plan{
      .config = Nekton(), .nodes = 30, .faulty = 3, .fault = Fault::kFlipIn, .seconds = 120, .progress = {}};
  const Faults nekton = MeasureFaults(plan);
  plan.config = *ProtocolConfig("memberlist");
  const Faults baseline = MeasureFaults(plan);
  EXPECT_EQ(nekton.gone, 3U);
  EXPECT_LE(nekton.readmissions, 3U);
  EXPECT_GT(baseline.readmissions, nekton.readmissions);
}

TEST(PapersFloor, StaggeredProbingNeedsAPeriodOfHalfT) {
  LoadFloorPlan plan{.config = *ProtocolConfig("staggered"), .nodes = 8, .progress = {}};
  plan.quantile = 0.99;
  plan.crashes = 40;
  plan.member_seconds = 1000;
  const LoadFloor result = MeasureLoadFloor(plan);
  ASSERT_TRUE(result.period_s.has_value());
  // It waits for a probe for up to a period, and the round takes one.
  EXPECT_GE(*result.period_s, 0.5);
  EXPECT_LE(result.first_suspicion_s, 1);
  EXPECT_NEAR(result.load, 2 / *result.period_s, 0.1);
  EXPECT_EQ(result.bound, 1);
  EXPECT_EQ(result.mistakes, 0U);
  EXPECT_TRUE(result.accurate);
}

TEST(PapersKnown, SplitHealsAndInTheBaselineDoesNot) {
  HealPlan plan{.config = Nekton(), .nodes = 20};
  const Heal nekton = MeasureHeal(plan);
  EXPECT_TRUE(nekton.right());
  EXPECT_EQ(nekton.wrong, 0U);
  plan.config = FieldBaseline();
  const Heal baseline = MeasureHeal(plan);
  EXPECT_TRUE(baseline.begun);
  EXPECT_FALSE(baseline.right());
  EXPECT_EQ(baseline.wrong, 2U * 10U * 10U) << "each of one half and each of the other";
}

TEST(PapersKnown, MassRestartIsForgottenAndInTheBaselineNot) {
  const MassRestart nekton = RunMassRestart({.nodes = 30, .config = Nekton()}, 60s);
  const MassRestart baseline = RunMassRestart({.nodes = 30, .config = FieldBaseline(), .generations = false}, 60s);
  EXPECT_EQ(RestartSide(nekton)["right"], true);
  EXPECT_TRUE(baseline.begun);
  EXPECT_EQ(RestartSide(baseline)["right"], false);
  EXPECT_GT(baseline.wrong, 0U);
}

TEST(PapersKnown, WhoHearsLittleMakesTheBaselineSuspectTheHealthy) {
  SemiPlan plan{.config = Nekton(), .nodes = 30, .length = 2min};
  const Semi nekton = MeasureSemi(plan);
  plan.config = FieldBaseline();
  const Semi baseline = MeasureSemi(plan);
  EXPECT_EQ(SemiSide(nekton)["right"], true);
  EXPECT_EQ(nekton.suspected_healthy, 0U);
  EXPECT_EQ(SemiSide(baseline)["right"], false);
  EXPECT_GT(baseline.suspected_healthy, 0U);
}

}  // namespace
}  // namespace nekton::bench
