// What detection measures: intervals of counts, quantiles, protocols, and small runs.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/common/poisson.h"
#include "bench/common/protocols.h"
#include "bench/common/quantiles.h"
#include "bench/detection/crashes.h"
#include "bench/detection/report.h"
#include "bench/detection/soak.h"

namespace nekton::bench {
namespace {

using testing::HasSubstr;

// Garwood's table, 95 %.
TEST(PoissonInterval, IsTheTabulatedOne) {
  EXPECT_EQ(PoissonInterval(0).low, 0);
  EXPECT_NEAR(PoissonInterval(0).high, 3.6889, 1e-4);
  EXPECT_NEAR(PoissonInterval(1).low, 0.0253, 1e-4);
  EXPECT_NEAR(PoissonInterval(1).high, 5.5716, 1e-4);
  EXPECT_NEAR(PoissonInterval(10).low, 4.7954, 1e-4);
  EXPECT_NEAR(PoissonInterval(10).high, 18.3904, 1e-4);
  EXPECT_NEAR(PoissonInterval(100).low, 81.3640, 1e-3);
  EXPECT_NEAR(PoissonInterval(100).high, 121.6272, 1e-3);
}

TEST(PoissonInterval, HasTheConfidenceThatIsAskedFor) {
  EXPECT_NEAR(PoissonInterval(0, 0.99).high, -std::log(0.005), 1e-9);
  EXPECT_NEAR(PoissonInterval(1, 0.9).low, -std::log(0.95), 1e-9);
}

TEST(PoissonInterval, OfALargeCountIsTheNormalOne) {
  const Interval interval = PoissonInterval(1'000'000);
  EXPECT_NEAR(interval.low, 1e6 - 1.96 * 1e3, 5);
  EXPECT_NEAR(interval.high, 1e6 + 1.96 * 1e3, 5);
}

TEST(Quantile, IsTheValueThatEnoughDoNotExceed) {
  EXPECT_EQ(Quantile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(Quantile({4, 3, 1, 2}, 0.5), 2);
  EXPECT_EQ(Quantile({4, 3, 1, 2}, 0.51), 3);
  EXPECT_EQ(Quantile({4, 3, 1, 2}, 1), 4);
  EXPECT_EQ(Quantile({7}, 0.001), 7);
  EXPECT_EQ(Quantile({}, 0.5), std::nullopt);
}

TEST(Protocols, AreConfigurationsThatTheEngineTakes) {
  for (const std::string_view name : ProtocolNames()) {
    absl::StatusOr<Config> config = ProtocolConfig(name);
    ASSERT_TRUE(config.ok()) << name;
    config->name = "a";
    EXPECT_TRUE(config->Validate().ok()) << name << ": " << config->Validate();
  }
  EXPECT_THAT(ProtocolConfig("raft").status().message(), HasSubstr("raft"));
}

TEST(Protocols, DifferInWhatTheirPapersSay) {
  const Config nekton = *ProtocolConfig("nekton");
  const Config swim = *ProtocolConfig("swim");
  const Config lifeguard = *ProtocolConfig("lifeguard");
  const Config memberlist = *ProtocolConfig("memberlist");
  EXPECT_EQ(nekton, Config::Lan());
  EXPECT_EQ(swim.local_health_max, 0U);
  EXPECT_EQ(swim.hold_beta, 1);
  EXPECT_FALSE(swim.rules.confirm_is_a_word);
  EXPECT_EQ(lifeguard.local_health_max, 8U);
  EXPECT_TRUE(lifeguard.rules.tell_the_suspect);
  EXPECT_FALSE(lifeguard.rules.doubt_the_doubted);
  EXPECT_FALSE(lifeguard.stream_ping);
  EXPECT_EQ(memberlist.hold_alpha, 4);
  EXPECT_TRUE(memberlist.stream_ping);
}

CrashPlan SmallPlan(Port port) {
  CrashPlan plan;
  plan.config = *ProtocolConfig("nekton");
  plan.nodes = 8;
  plan.port = port;
  plan.crashes = 20;
  return plan;
}

TEST(Crashes, HaveOrderedPhases) {
  Crasher crasher(*ProtocolConfig("nekton"), 8, {});
  ASSERT_TRUE(crasher.ok());
  for (int i = 0; i < 10; ++i) {
    const CrashTimes times = crasher.Crash(i % 2 == 0 ? Port::kSilent : Port::kRefuses);
    ASSERT_TRUE(times.suspected && times.confirmed && times.known);
    EXPECT_LT(Duration{}, *times.suspected);
    EXPECT_LT(*times.suspected, *times.confirmed);
    EXPECT_LE(*times.confirmed, *times.known);
    crasher.Recover(std::chrono::seconds(15));
    ASSERT_TRUE(crasher.ok());
    EXPECT_EQ(crasher.sim().live_count(), 8U);
  }
  EXPECT_EQ(crasher.false_suspicions(), 0U);
  EXPECT_EQ(crasher.false_deaths(), 0U);
}

TEST(Crashes, AreAllCountedAndSorted) {
  const CrashSample sample = MeasureCrashes(SmallPlan(Port::kSilent));
  EXPECT_EQ(sample.unknown, 0U);
  EXPECT_EQ(sample.broken, 0U);
  for (const std::vector<double>* times : {&sample.suspected, &sample.confirmed, &sample.known}) {
    EXPECT_EQ(times->size(), 20U);
    EXPECT_TRUE(std::is_sorted(times->begin(), times->end()));
  }
}

TEST(Crashes, OfAProcessAloneAreFoundSooner) {
  const CrashSample silent = MeasureCrashes(SmallPlan(Port::kSilent));
  const CrashSample refused = MeasureCrashes(SmallPlan(Port::kRefuses));
  EXPECT_LT(*Quantile(refused.known, 0.5), *Quantile(silent.known, 0.5));
}

TEST(Crashes, OfOneSeedAreTheSame) {
  EXPECT_EQ(MeasureCrashes(SmallPlan(Port::kSilent)).known, MeasureCrashes(SmallPlan(Port::kSilent)).known);
  CrashPlan other = SmallPlan(Port::kSilent);
  other.seed = 2;
  EXPECT_NE(MeasureCrashes(other).known, MeasureCrashes(SmallPlan(Port::kSilent)).known);
}

TEST(Crashes, AreFoundInEveryProtocol) {
  for (const std::string_view name : ProtocolNames()) {
    CrashPlan plan = SmallPlan(Port::kSilent);
    plan.config = *ProtocolConfig(name);
    plan.crashes = 3;
    EXPECT_EQ(MeasureCrashes(plan).known.size(), 3U) << name;
  }
}

SoakPlan SmallSoak(const std::string& protocol) {
  SoakPlan plan;
  plan.config = *ProtocolConfig(protocol);
  plan.nodes = 8;
  plan.member_hours = 0.5;
  return plan;
}

TEST(Soak, OfAGoodNetworkSeesNothing) {
  for (const std::string_view name : ProtocolNames()) {
    const SoakCounts counts = MeasureSoak(SmallSoak(std::string(name)));
    ASSERT_TRUE(counts.complete);
    EXPECT_NEAR(counts.member_hours, 0.5, 1e-9);
    EXPECT_EQ(counts.suspicions + counts.death_events + counts.deaths, 0U) << name;
    EXPECT_NEAR(counts.spent.Datagrams().count, 2, 0.05) << name;
  }
}

TEST(Soak, OfABadNetworkCountsMistakes) {
  SoakPlan plan = SmallSoak("swim");
  plan.loss = 0.3;
  const SoakCounts independent = MeasureSoak(plan);
  EXPECT_GT(independent.suspicions, 20U);
  EXPECT_GT(independent.deaths, 0U);
  EXPECT_GE(independent.death_events, independent.deaths);
  plan.loss = 0;
  plan.bursts = true;
  EXPECT_GT(MeasureSoak(plan).suspicions, 5U);
}

TEST(DetectionReport, HasTheSameFiguresAsJsonAndAsALine) {
  const RowName name{"nekton", "fixed", "random", 8, "0.3", 9};
  const CrashSample crashes{.suspected = {1, 2}, .confirmed = {3, 4}, .known = {5, 6}, .unknown = 7};
  const nlohmann::json crash = nlohmann::json::parse(CrashJsonLine(name, SmallPlan(Port::kRefuses), crashes));
  EXPECT_EQ(crash["port"], "refuses");
  EXPECT_EQ(crash["seed"], 9);
  EXPECT_EQ(crash["crashes"], 2);
  EXPECT_EQ(crash["not_known_to_all"], 7);
  EXPECT_EQ(crash["first_suspicion_s"]["p50"], 1);
  EXPECT_EQ(crash["all_know_s"]["worst"], 6);
  EXPECT_THAT(CrashTableLine(name, SmallPlan(Port::kRefuses), crashes), HasSubstr("6.00"));
  SoakCounts counts;
  counts.complete = true;
  counts.member_hours = 2;
  counts.suspicions = 10;
  const nlohmann::json soak = nlohmann::json::parse(SoakJsonLine(name, counts));
  EXPECT_EQ(soak["network"], "0.3");
  EXPECT_EQ(soak["false_suspicions"]["per_member_hour"], 5);
  EXPECT_NEAR(soak["false_suspicions"]["high95"], 18.3904 / 2, 1e-4);
  EXPECT_EQ(soak["false_deaths"]["count"], 0);
  EXPECT_THAT(SoakTableLine(name, counts), HasSubstr("9.2"));
}

}  // namespace
}  // namespace nekton::bench
