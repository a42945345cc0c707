// The benchmark that chooses parameters: its settings, what it measures of one, and how it says that.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/common/protocols.h"
#include "bench/detection/crashes.h"
#include "bench/hardship/hardship.h"
#include "bench/tuning/measures.h"
#include "bench/tuning/published.h"
#include "bench/tuning/report.h"
#include "bench/tuning/settings.h"

namespace nekton::bench {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

std::size_t ProductSize() {
  std::size_t size = 1;
  for (const Axis& axis : Axes()) size *= axis.values.size();
  return size;
}

std::size_t StarSize() {
  std::size_t size = 1;
  for (const Axis& axis : Axes()) size += axis.values.size() - 1;
  return size;
}

TEST(TuningSettings, TheDefaultIsOneValueOfEachAxis) {
  for (const Axis& axis : Axes()) {
    const auto is_default = [&axis](double value) {
      Config config = Config::Lan();
      axis.set(config, value);
      return config == Config::Lan();
    };
    EXPECT_EQ(std::count_if(axis.values.begin(), axis.values.end(), is_default), 1) << axis.name;
  }
}

TEST(TuningSettings, AreDistinctAndWhatTheEngineTakes) {
  for (const std::vector<Setting>& settings : {Star(), Product(), Baselines()}) {
    std::set<std::string> names;
    for (Setting setting : settings) {
      EXPECT_TRUE(names.insert(setting.name).second) << setting.name;
      EXPECT_EQ(setting.is_default, setting.config == Config::Lan()) << setting.name;
      setting.config.name = "n0";
      EXPECT_TRUE(setting.config.Validate().ok()) << setting.name << ": " << setting.config.Validate();
    }
    for (std::size_t i = 1; i < settings.size(); ++i) EXPECT_NE(settings[i].config, settings[i - 1].config);
  }
}

TEST(TuningSettings, AStarHasOneRayForEachOtherValueAndAProductAll) {
  EXPECT_THAT(Star(), SizeIs(StarSize() + 1)) << "and the other way of probing";
  EXPECT_EQ(Star().back().config.probing, Probing::kStaggered);
  EXPECT_TRUE(Star().front().is_default);
  const std::vector<Setting> product = Product();
  EXPECT_THAT(product, SizeIs(ProductSize()));
  for (const Setting& ray : Star()) {
    const auto same = [&ray](const Setting& setting) { return setting.config == ray.config; };
    EXPECT_EQ(std::count_if(product.begin(), product.end(), same), ray.config.probing == Probing::kRandom) << ray.name;
  }
}

TEST(TuningSettings, ASampleHoldsTheDefault) {
  const std::vector<Setting> all = Product();
  EXPECT_THAT(EveryNth(all, 1), SizeIs(all.size()));
  const std::vector<Setting> some = EveryNth(all, 5);
  EXPECT_EQ(some.front().name, all.front().name);
  EXPECT_EQ(std::count_if(some.begin(), some.end(), [](const Setting& s) { return s.is_default; }), 1);
  // Its step has no factor in common with the axes, so each of their values is met.
  for (const Axis& axis : Axes()) {
    for (const double value : axis.values) {
      const auto has = [&](const Setting& setting) {
        Config config = setting.config;
        axis.set(config, value);
        return config == setting.config;
      };
      EXPECT_TRUE(std::any_of(some.begin(), some.end(), has)) << axis.name << " " << value;
    }
  }
}

TEST(TuningMeasures, NothingIsRunThatIsNotAskedFor) {
  const Measures measures = Measure(Config::Lan(), {});
  EXPECT_FALSE(measures.crash || measures.soak || measures.interval || measures.freeze || measures.pairs ||
               measures.lossy);
  const Measures freezes = Measure(Config::Lan(), {.freezes = 3});
  ASSERT_TRUE(freezes.freeze);
  EXPECT_EQ(freezes.freeze->runs, 3U);
  EXPECT_EQ(freezes.freeze->sick, 9U);
  EXPECT_FALSE(freezes.crash || freezes.soak || freezes.interval || freezes.pairs || freezes.lossy);
}

TEST(TuningMeasures, AreThoseOfTheOtherPrograms) {
  const Measures measures = Measure(Config::Lan(), {.crashes = 5, .member_hours = 0.5, .pairs = 1, .seed = 1});
  CrashPlan plan;
  plan.config = Config::Lan();
  plan.nodes = 128;
  plan.crashes = 5;
  ASSERT_TRUE(measures.crash && measures.soak && measures.pairs);
  EXPECT_EQ(measures.crash->known, MeasureCrashes(plan).known);
  EXPECT_TRUE(measures.soak->complete);
  EXPECT_NEAR(measures.soak->member_hours, 0.5, 1e-9);
  EXPECT_EQ(measures.pairs->load.bytes, FindHardship("pairs/32/30")->run(Config::Lan(), 1000, nullptr).load.bytes);
}

TEST(TuningMeasures, SettingsAreToldApart) {
  Config one = Config::Lan();
  Axes()[3].set(one, 1);
  ASSERT_EQ(one.attempts, 1U);
  const Effort effort = {.member_hours = 3};
  EXPECT_GT(Measure(one, effort).soak->suspicions, 10 * Measure(Config::Lan(), effort).soak->suspicions);
}

TEST(TuningMeasures, ProgressSaysWhatIsRun) {
  std::vector<std::string> said;
  Measure(Config::Lan(), {.member_hours = 0.1, .freezes = 2}, [&](const std::string& what) { said.push_back(what); });
  EXPECT_THAT(said, testing::Contains(HasSubstr("30 % loss")));
  EXPECT_THAT(said, testing::Contains("freeze/32/loss, run 2 of 2"));
}

TuningRow SmallRow() {
  TuningRow row;
  row.table = "grid";
  row.setting = {"beta 2", Config::Lan(), false, false};
  row.setting.config.hold_beta = 2;
  row.number = 3;
  row.of = 18;
  row.seed = 7;
  row.measures.crash = CrashSample{.suspected = {}, .confirmed = {}, .known = {1, 2, 3, 4, 5}, .unknown = 6};
  SoakCounts soak;
  soak.complete = true;
  soak.member_hours = 2;
  soak.suspicions = 10;
  row.measures.soak = soak;
  Outcome interval;
  interval.runs = 13;
  interval.ungathered = 1;
  interval.dead_healthy = 12;
  row.measures.interval = interval;
  return row;
}

TEST(TuningReport, CountsHaveTheirIntervals) {
  const auto json = nlohmann::json::parse(TuningJson(SmallRow()));
  EXPECT_EQ(json["experiment"], "tuning");
  EXPECT_EQ(json["name"], "beta 2");
  EXPECT_EQ(json["number"], 3);
  EXPECT_EQ(json["of"], 18);
  EXPECT_EQ(json["seed"], 7);
  EXPECT_EQ(json["published"], false);
  EXPECT_EQ(json["parameters"]["hold_beta"], 2);
  EXPECT_EQ(json["crash"]["all_know_s"]["p50"], 3);
  EXPECT_EQ(json["crash"]["all_know_s"]["p50_low95"], 1);
  EXPECT_EQ(json["crash"]["all_know_s"]["p99"], 5);
  EXPECT_EQ(json["crash"]["not_known_to_all"], 6);
  const auto& suspicions = json["loss"]["false_suspicions"];
  EXPECT_EQ(suspicions["count"], 10);
  EXPECT_EQ(suspicions["per_member_hour"], 5);
  EXPECT_NEAR(suspicions["low95"], 4.7954 / 2, 1e-4);
  EXPECT_NEAR(suspicions["high95"], 18.3904 / 2, 1e-4);
  EXPECT_NEAR(json["loss"]["false_deaths"]["high95"], 3.6889 / 2, 1e-4);
  EXPECT_EQ(json["interval"]["fp"]["per_run"], 1);  // the run that was none does not count
  EXPECT_NEAR(json["interval"]["fp_at_healthy"]["high95"], 3.6889 / 12, 1e-4);
  EXPECT_TRUE(json["freeze"].is_null());
  EXPECT_TRUE(json["lossy"].is_null());
}

TEST(TuningReport, AMedianOfManyHasANarrowInterval) {
  TuningRow row = SmallRow();
  row.measures.crash->known.clear();
  for (int i = 1; i <= 1000; ++i) row.measures.crash->known.push_back(i);
  const auto known = nlohmann::json::parse(TuningJson(row))["crash"]["all_know_s"];
  EXPECT_EQ(known["p50"], 500);
  // The 469th and the 531st of 1000: binomial, 95 %.
  EXPECT_NEAR(known["p50_low95"], 469, 1);
  EXPECT_NEAR(known["p50_high95"], 531, 1);
}

TEST(TuningReport, WhatWasNotMeasuredIsADash) {
  const std::string line = TuningText(SmallRow());
  EXPECT_THAT(line, HasSubstr("beta 2"));
  EXPECT_THAT(line, testing::EndsWith("-\n"));
  TuningRow row = SmallRow();
  row.measures = {};
  const auto json = nlohmann::json::parse(TuningJson(row));
  for (const char* const key : {"crash", "loss", "interval", "freeze", "pairs", "lossy"}) {
    EXPECT_TRUE(json[key].is_null()) << key;
  }
  row.measures.soak = SoakCounts{};  // its members never came to know each other
  EXPECT_FALSE(nlohmann::json::parse(TuningJson(row))["loss"]["complete"]);
}

TEST(TuningPublished, AgreesWithThePapersOtherTable) {
  // Table IV has the counts: of SWIM 339002 and 1326, of Lifeguard 5/6 5193 and 25.
  const PublishedPoint& last = kPublishedPoints.back();
  EXPECT_EQ(last.alpha, 5);
  EXPECT_EQ(last.beta, 6);
  EXPECT_NEAR(last.fp, 100.0 * 5193 / 339002, 0.005);
  EXPECT_NEAR(last.fp_at_healthy, 100.0 * 25 / 1326, 0.006);
  std::set<std::pair<int, int>> pairs;
  for (const PublishedPoint& point : kPublishedPoints) pairs.insert({point.alpha, point.beta});
  EXPECT_THAT(pairs, SizeIs(9));
}

TEST(TuningPublished, SaysOnlyWhatThePaperSays) {
  const auto json = nlohmann::json::parse(PublishedJson(kPublishedPoints.front()));
  EXPECT_EQ(json["published"], true);
  EXPECT_EQ(json["name"], "Lifeguard 2/2");
  EXPECT_EQ(json["percent_of_swim"]["full_dissemination_p50"], 55.12);
  EXPECT_EQ(json["percent_of_swim"]["fp"], 98.37);
  for (const char* const key : {"crash", "loss", "interval", "freeze"}) EXPECT_FALSE(json.contains(key)) << key;
}

}  // namespace
}  // namespace nekton::bench
