// The benchmarks of groups in trouble: what they count, by hand on short logs; their points; and short runs of them.
#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/common/protocols.h"
#include "bench/common/quantiles.h"
#include "bench/hardship/hardship.h"
#include "bench/hardship/report.h"
#include "bench/hardship/variants.h"
#include "bench/lifeguard/point.h"
#include "bench/lifeguard/published.h"
#include "bench/lifeguard/summary.h"
#include "bench/lifeguard/tally.h"
#include "bench/lifeguard/trial.h"

namespace nekton::bench {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Event About(EventKind kind, SimId subject) {
  auto info = std::make_shared<MemberInfo>();
  info->name = "n" + std::to_string(subject);
  Event event;
  event.kind = kind;
  event.member = info;
  return event;
}

// Five members; the last two suffer.
class TallyTest : public testing::Test {
 protected:
  void Fails(Duration at, SimId observer, SimId subject) {
    tally_.Saw(at, observer, About(EventKind::kFailed, subject));
  }
  void Suspects(SimId observer, SimId subject) { tally_.Saw(0s, observer, About(EventKind::kSuspected, subject)); }
  void Recovers(SimId observer, SimId subject) { tally_.Saw(0s, observer, About(EventKind::kRecovered, subject)); }

  Tally tally_{5, {3, 4}};
};

TEST_F(TallyTest, AFalsePositiveIsAboutAHealthyMember) {
  tally_.Begin(10s);
  Fails(11s, 0, 1);
  Fails(11s, 3, 1);
  Fails(11s, 4, 3);
  Fails(11s, 0, 3);
  EXPECT_EQ(tally_.false_positives(), 2U);
  EXPECT_EQ(tally_.false_positives_at_healthy(), 1U);
  tally_.End();
  Fails(30s, 2, 1);
  tally_.Finish();
  Fails(31s, 2, 0);
  EXPECT_EQ(tally_.false_positives(), 4U);
  EXPECT_EQ(tally_.false_positives_at_healthy(), 3U);
}

TEST_F(TallyTest, LatenciesCountFromTheAnomalyAtHealthyObservers) {
  tally_.Begin(10s);
  Fails(11s, 4, 3);  // by one that suffers itself: no detection
  Fails(14s, 1, 3);
  Fails(15s, 0, 3);
  EXPECT_THAT(tally_.full_disseminations(), IsEmpty());
  Fails(17500ms, 2, 3);
  tally_.End();
  Fails(31s, 0, 4);  // too late, but removed all the same
  tally_.Finish();
  EXPECT_THAT(tally_.first_detections(), ElementsAre(4.0));
  EXPECT_THAT(tally_.full_disseminations(), ElementsAre(7.5));
  EXPECT_EQ(tally_.anomalies(), 2U);
  EXPECT_EQ(tally_.missed(), 1U);
  EXPECT_EQ(tally_.removed(), 2U);
  EXPECT_EQ(tally_.false_positives(), 0U);
}

TEST_F(TallyTest, WhoIsDeadAlreadyIsNotDetectedAnew) {
  tally_.Begin(10s);
  Fails(14s, 1, 3);
  tally_.End();
  tally_.Begin(20s);
  Fails(21s, 0, 3);  // the news of the first anomaly
  tally_.End();
  Recovers(0, 3);
  Recovers(1, 3);
  tally_.Begin(30s);
  Fails(33s, 2, 3);
  tally_.Finish();
  EXPECT_THAT(tally_.first_detections(), ElementsAre(4.0, 3.0));
  EXPECT_EQ(tally_.anomalies(), 6U);
  EXPECT_EQ(tally_.missed(), 3U);  // those of the other one
  EXPECT_EQ(tally_.removed(), 3U);
}

TEST_F(TallyTest, KnowsWhenAllAreActiveAndWhoWasSuspected) {
  EXPECT_TRUE(tally_.AllActive());
  Suspects(3, 0);
  Suspects(2, 0);
  Suspects(0, 3);
  EXPECT_FALSE(tally_.AllActive());
  EXPECT_EQ(tally_.healthy_suspected(), 1U);
  Recovers(3, 0);
  Recovers(2, 0);
  EXPECT_FALSE(tally_.AllActive());
  Fails(1s, 0, 3);
  Recovers(0, 3);
  EXPECT_TRUE(tally_.AllActive());
  EXPECT_EQ(tally_.healthy_suspected(), 1U);
}

TEST(QuantileTest, IsTheNearestRank) {
  EXPECT_FALSE(Quantile({}, 0.5).has_value());
  EXPECT_EQ(Quantile({3, 1, 2}, 0.5), 2.0);
  EXPECT_EQ(Quantile({4, 3, 1, 2}, 0.5), 2.0);
  EXPECT_EQ(Quantile({4, 3, 1, 2}, 0.51), 3.0);
  EXPECT_EQ(Quantile({4, 3, 1, 2}, 0.99), 4.0);
  EXPECT_EQ(Quantile({4, 3, 1, 2}, 0.001), 1.0);
}

TEST(PointTest, TheSetsAreWhatTheySay) {
  EXPECT_THAT(SubsetPoints(), SizeIs(60));
  EXPECT_THAT(IntervalPoints(), SizeIs(432));
  EXPECT_THAT(ThresholdPoints(), SizeIs(54));
  EXPECT_THAT(PointsOf("full").value(), SizeIs(486));
  EXPECT_FALSE(PointsOf("some").has_value());
  const std::vector<Point> all = IntervalPoints();
  std::set<std::uint64_t> salts;
  for (const Point& point : SubsetPoints()) {
    EXPECT_TRUE(std::find(all.begin(), all.end(), point) != all.end()) << Name(point);
    salts.insert(SaltOf(point));
  }
  EXPECT_THAT(salts, SizeIs(60));
  for (const Point& point : ThresholdPoints()) EXPECT_FALSE(point.normal_ms.has_value());
}

TEST(PointTest, NamesAreReadBack) {
  for (const Point& point : {Point{8, 2048, 64}, Point{1, 128, std::nullopt}}) {
    EXPECT_EQ(ParsePoint(Name(point)), point);
  }
  for (const char* const text : {"", "8", "8/", "8/x", "0/1/1", "8/1/1/1", "8/-1"}) {
    EXPECT_FALSE(ParsePoint(text).has_value()) << text;
  }
}

TEST(PointTest, SamplesOfSeedsInARowAreTheWhole) {
  const std::vector<Point> all = IntervalPoints();
  EXPECT_EQ(Sample(all, 1, 3000), all);
  std::multiset<std::uint64_t> salts;
  for (std::uint64_t seed = 3000; seed < 3007; ++seed) {
    for (const Point& point : Sample(all, 7, seed)) salts.insert(SaltOf(point));
  }
  EXPECT_THAT(salts, SizeIs(432));
  EXPECT_EQ(std::set<std::uint64_t>(salts.begin(), salts.end()).size(), 432U);
  EXPECT_EQ(Sample(all, 432, 433), std::vector<Point>{all[1]});
}

TEST(BlockTest, NamesAreReadBack) {
  std::set<std::string_view> names;
  for (const Block block : kBlocks) {
    EXPECT_EQ(ParseBlock(Name(block)), block);
    names.insert(Name(block));
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("blocked", "prober", "frozen"));
  EXPECT_FALSE(ParseBlock("both").has_value());
}

Trial Small(std::string_view protocol, const Point& point) {
  Trial trial;
  trial.config = ProtocolConfig(protocol).value();
  trial.point = point;
  trial.members = 16;
  trial.seed = 1000;
  return trial;
}

TEST(TrialTest, EveryProtocolDetectsAndNektonAccusesNobody) {
  for (const std::string_view protocol : ProtocolNames()) {
    const TrialResult result = RunTrial(Small(protocol, {2, 32768, 1024}));
    ASSERT_TRUE(result.gathered) << protocol;
    EXPECT_EQ(result.anomalies, 8U) << protocol;  // at 0, 33.8, 67.6 and 101.4 s
    EXPECT_THAT(result.first, testing::Not(IsEmpty())) << protocol;
    EXPECT_GT(result.load.datagrams, 0) << protocol;
    EXPECT_NEAR(result.load.member_seconds, 16 * (4 * 32.768 + 3 * 1.024), 0.01) << protocol;
    if (protocol != "nekton") continue;
    EXPECT_EQ(result.false_positives, 0U);
    EXPECT_EQ(result.false_positives_at_healthy, 0U);
    EXPECT_EQ(result.healthy_suspected, 0U);
  }
}

TEST(TrialTest, AThresholdRunEndsWhenAllAreWell) {
  for (const Block block : kBlocks) {
    Trial trial = Small("nekton", {2, 512, std::nullopt});
    trial.block = block;
    const TrialResult result = RunTrial(trial);
    EXPECT_EQ(result.anomalies, 2U);
    EXPECT_EQ(result.removed, 0U);
    EXPECT_LT(result.load.member_seconds, 16 * 60);
  }
}

// An event loop accuses one healthy member after the other, a stuck prober one in each anomaly. Where nothing runs on,
// nobody is condemned; and those that suffer are found alike.
TEST(TrialTest, WhichProcessItIsDecidesAboutSwim) {
  std::map<Block, std::uint64_t> false_positives;  // of five runs: a single one has none now and then
  for (const Block block : kBlocks) {
    for (std::uint64_t seed = 1000; seed < 1005; ++seed) {
      Trial trial = Small("swim", {2, 16384, 64});
      trial.seed = seed;
      trial.block = block;
      const TrialResult result = RunTrial(trial);
      EXPECT_EQ(result.anomalies, 16U);
      EXPECT_THAT(result.first, testing::Not(IsEmpty()));
      false_positives[block] += result.false_positives;
    }
  }
  EXPECT_GT(false_positives[Block::kProber], 0U);
  EXPECT_GT(false_positives[Block::kBlocked], 2 * false_positives[Block::kProber]);
  EXPECT_EQ(false_positives[Block::kFrozen], 0U);
}

TEST(TrialTest, TheSameSeedGivesTheSameRun) {
  const TrialResult a = RunTrial(Small("memberlist", {2, 16384, std::nullopt}));
  const TrialResult b = RunTrial(Small("memberlist", {2, 16384, std::nullopt}));
  EXPECT_EQ(a.load.bytes, b.load.bytes);
  EXPECT_EQ(a.first, b.first);
  Trial other = Small("memberlist", {2, 16384, std::nullopt});
  other.seed = 1001;
  EXPECT_NE(RunTrial(other).load.bytes, a.load.bytes);
}

TEST(LifeguardSummaryTest, TakesLatenciesOfLongAnomaliesAlone) {
  TrialResult result;
  result.gathered = true;
  result.false_positives = 3;
  result.anomalies = 5;
  result.removed = 1;
  result.missed = 4;
  result.first = {1.0};
  Summary summary("nekton", Block::kBlocked, 1000);
  summary.Add({1, 8192, 64}, 1000, result);
  result.first = {2.0};
  summary.Add({1, 16384, 64}, 1001, result);
  summary.Add({1, 16384, 64}, 1002, TrialResult{});
  const auto json = nlohmann::json::parse(summary.JsonLine("two"));
  EXPECT_EQ(json["seed"], 1000);
  EXPECT_EQ(json["runs"], 3);
  EXPECT_EQ(json["ungathered"], 1);
  EXPECT_EQ(json["fp_per_run"], 3);
  EXPECT_EQ(json["first_detection"]["count"], 1);
  EXPECT_EQ(json["first_detection"]["median_s"], 2.0);
  EXPECT_EQ(json["long_anomalies"], 5);
  EXPECT_EQ(json["long_anomalies_missed"], 4);
  EXPECT_EQ(json["removed_by_block_ms"]["8192"]["removed"], 1);
  EXPECT_THAT(summary.Text(), HasSubstr("1/16384/64 seed 1001: 3 FP"));
}

TEST(PublishedTest, HasTheKeysAndColumnsOfOurs) {
  Summary ours("swim", Block::kProber, 1000);
  TrialResult result;
  result.gathered = true;
  ours.Add({1, 16384, 64}, 1000, result);
  const auto our_line = nlohmann::json::parse(ours.JsonLine("interval"));
  ASSERT_THAT(PublishedResults(), SizeIs(2));
  for (const Published& published : PublishedResults()) {
    const auto line = nlohmann::json::parse(JsonLine(published));
    EXPECT_EQ(line["published"], true);
    for (const char* const key : {"experiment", "protocol", "points", "runs", "fp", "fp_at_healthy", "fp_per_run",
                                  "fp_at_healthy_per_run", "first_detection", "full_dissemination"}) {
      EXPECT_TRUE(line.contains(key) && our_line.contains(key)) << key;
    }
    for (const char* const key : {"median_s", "p99_s", "p999_s"}) {
      EXPECT_TRUE(line["first_detection"].contains(key) && our_line["first_detection"].contains(key)) << key;
    }
    const std::string text = Text(published);
    EXPECT_EQ(text.find('\n'), Summary::TextHead().find('\n')) << text;
  }
  const auto swim = nlohmann::json::parse(JsonLine(PublishedResults()[0]));
  EXPECT_EQ(swim["protocol"], "swim");
  EXPECT_NEAR(swim["fp_per_run"].get<double>(), 78.5, 0.05);
  EXPECT_NEAR(swim["fp_at_healthy_per_run"].get<double>(), 0.307, 0.0005);
  const auto lifeguard = nlohmann::json::parse(JsonLine(PublishedResults()[1]));
  EXPECT_EQ(lifeguard["protocol"], "lifeguard");
  EXPECT_NEAR(lifeguard["fp_per_run"].get<double>(), 1.20, 0.005);
  EXPECT_NEAR(lifeguard["fp_at_healthy_per_run"].get<double>(), 0.0058, 0.00005);
}

TEST(HardshipTest, NamesAreUniqueAndFound) {
  std::set<std::string> names;
  for (const Hardship& hardship : Hardships()) {
    EXPECT_TRUE(names.insert(hardship.name).second) << hardship.name;
    EXPECT_EQ(FindHardship(hardship.name), &hardship);
  }
  EXPECT_EQ(FindHardship("none"), nullptr);
}

TEST(HardshipTest, ALoneSurvivorLearnsIt) {
  const Outcome outcome = FindHardship("survivor/3")->run(Config::Lan(), 1000, nullptr);
  EXPECT_EQ(outcome.sick, 2U);
  EXPECT_EQ(outcome.dead_sick, 2U);
  EXPECT_EQ(outcome.never, 0U);
  ASSERT_THAT(outcome.times, SizeIs(1));
  EXPECT_LE(outcome.times[0], 300);
}

TEST(HardshipTest, TheFrozenAreSuspectedAndComeBack) {
  const Outcome outcome = FindHardship("freeze/32")->run(Config::Lan(), 1000, nullptr);
  EXPECT_EQ(outcome.sick, 3U);
  EXPECT_GT(outcome.suspicions_sick, 0U);
  EXPECT_EQ(outcome.dead_sick, 0U);
  EXPECT_EQ(outcome.dead_healthy, 0U);
  EXPECT_THAT(outcome.violations, IsEmpty());
}

TEST(HardshipTest, ViolationsNameTheSeed) {
  // With SWIM's rules members that cannot talk to half of the others condemn each other.
  const Outcome outcome = FindHardship("pairs/32/50")->run(ProtocolConfig("swim").value(), 1000, nullptr);
  EXPECT_GT(outcome.dead_healthy, 0U);
  EXPECT_EQ(outcome.dead_healthy, outcome.dead_healthy_at_healthy);
  ASSERT_THAT(outcome.violations, SizeIs(1));
  EXPECT_THAT(outcome.violations[0], HasSubstr("seed 1000"));
  EXPECT_THAT(TableLine({"pairs/32/50", "swim", 1000, outcome}), HasSubstr(outcome.violations[0]));
  EXPECT_EQ(nlohmann::json::parse(JsonLine({"pairs/32/50", "swim", 1000, outcome}))["dead_healthy"],
            outcome.dead_healthy);
}

TEST(VariantsTest, EachDiffersFromTheWholeAndIsValid) {
  const std::vector<Variant> variants = LeaveOneOut();
  std::set<std::string> names;
  for (const Variant& variant : variants) {
    EXPECT_TRUE(names.insert(variant.name).second) << variant.name;
    EXPECT_EQ(variant.config == Config::Lan(), variant.name == "nekton") << variant.name;
    Config config = variant.config;
    config.name = "n0";
    EXPECT_TRUE(config.Validate().ok()) << variant.name << ": " << config.Validate();
  }
}

}  // namespace
}  // namespace nekton::bench
