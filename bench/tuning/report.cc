#include "bench/tuning/report.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/common/poisson.h"
#include "bench/common/quantiles.h"

namespace nekton::bench {
namespace {

using Json = nlohmann::ordered_json;

Json OrNull(std::optional<double> value) { return value ? Json(*value) : Json(); }

// `count` in `amount` of something, of which `unit` is one.
Json Rate(std::uint64_t count, double amount, const char* unit) {
  Json json = {{"count", count}};
  if (!(amount > 0)) return json;
  const Interval interval = PoissonInterval(count);
  json[unit] = static_cast<double>(count) / amount;
  json["low95"] = interval.low / amount;
  json["high95"] = interval.high / amount;
  return json;
}

Json PerRun(std::uint64_t count, const Outcome& outcome) {
  return Rate(count, static_cast<double>(outcome.runs - outcome.ungathered), "per_run");
}

// The median and its 95 % interval, by order statistics, which any distribution has; and the tail.
Json Quantiles(const std::vector<double>& sample) {
  const auto n = static_cast<double>(sample.size());
  const double spread = n > 0 ? 0.98 / std::sqrt(n) : 0;
  return {{"p50", OrNull(Quantile(sample, 0.5))},
          {"p50_low95", OrNull(Quantile(sample, std::max(0.5 - spread, 1 / std::max(n, 1.0))))},
          {"p50_high95", OrNull(Quantile(sample, std::min(0.5 + spread, 1.0)))},
          {"p99", OrNull(Quantile(sample, 0.99))},
          {"worst", OrNull(Quantile(sample, 1))}};
}

Json Parameters(const Config& config) {
  return {{"tolerated_pause_s", std::chrono::duration<double>(config.tolerated_pause).count()},
          {"hold_alpha", config.hold_alpha},
          {"hold_beta", config.hold_beta},
          {"confirmers", config.confirmers},
          {"attempts", config.attempts},
          {"relays", config.relays}};
}

Json CrashJson(const CrashSample& sample) {
  return {{"nodes", kCrashNodes},
          {"crashes", sample.known.size()},
          {"not_known_to_all", sample.unknown},
          {"groups_given_up", sample.broken},
          {"all_know_s", Quantiles(sample.known)}};
}

Json SoakJson(const SoakCounts& counts) {
  Json json = {{"nodes", kSoakNodes}, {"loss", kSoakLoss}, {"complete", counts.complete}};
  if (!counts.complete) return json;
  json["member_hours"] = counts.member_hours;
  json["false_suspicions"] = Rate(counts.suspicions, counts.member_hours, "per_member_hour");
  json["false_deaths"] = Rate(counts.deaths, counts.member_hours, "per_member_hour");
  json["datagrams_per_member_s"] = counts.spent.Datagrams().count;  // all settings have a period of 1 s
  return json;
}

Json Begin(const char* name, const Outcome& outcome) {
  return {{"case", name}, {"runs", outcome.runs}, {"ungathered", outcome.ungathered}};
}

Json IntervalJson(const Outcome& outcome) {
  Json json = Begin("interval/12", outcome);
  json["fp"] = PerRun(outcome.dead_healthy, outcome);
  json["fp_at_healthy"] = PerRun(outcome.dead_healthy_at_healthy, outcome);
  json["healthy_accused"] = PerRun(outcome.healthy_accused, outcome);
  json["first_detection_s"] = Quantiles(outcome.times);
  json["datagrams_per_member_s"] = outcome.load.DatagramsPerSecond();
  return json;
}

Json FreezeJson(const Outcome& outcome) {
  Json json = Begin("freeze/32/loss", outcome);
  json["frozen"] = outcome.sick;
  json["dead_events"] = PerRun(outcome.dead_sick, outcome);
  json["condemned"] = PerRun(outcome.sick_condemned, outcome);
  json["dead_healthy"] = PerRun(outcome.dead_healthy, outcome);
  return json;
}

Json PairsJson(const Outcome& outcome) {
  Json json = Begin("pairs/32/30", outcome);
  json["dead_events"] = PerRun(outcome.dead_healthy, outcome);
  json["suspicions"] = PerRun(outcome.suspicions_healthy, outcome);
  json["datagrams_per_member_s"] = outcome.load.DatagramsPerSecond();
  return json;
}

Json LossyJson(const Outcome& outcome) {
  Json json = Begin("lossy/32", outcome);
  json["dead_healthy"] = PerRun(outcome.dead_healthy, outcome);
  json["dead_bad"] = PerRun(outcome.dead_sick, outcome);
  json["rejoins"] = PerRun(outcome.rejoins, outcome);
  json["suspicions_bad"] = PerRun(outcome.suspicions_sick, outcome);
  json["healthy_accused"] = PerRun(outcome.healthy_accused, outcome);
  json["datagrams_per_member_s"] = outcome.load.DatagramsPerSecond();
  return json;
}

template <typename Result>
Json Measured(const std::optional<Result>& result, Json (*write)(const Result&)) {
  return result ? write(*result) : Json();
}

std::string Column(int width, std::optional<double> value) {
  return value ? absl::StrFormat(" %*.4g", width, *value) : absl::StrFormat(" %*s", width, "-");
}

std::string Column(const std::optional<Outcome>& outcome, std::uint64_t Outcome::*count) {
  return Column(8, outcome ? std::optional(outcome->PerRun((*outcome).*count)) : std::nullopt);
}

}  // namespace

std::string TuningJson(const TuningRow& row) {
  const Setting& setting = row.setting;
  const Measures& measures = row.measures;
  const Json line = {{"experiment", "tuning"},
                     {"table", std::string(row.table)},
                     {"name", setting.name},
                     {"number", row.number},
                     {"of", row.of},
                     {"published", false},
                     {"baseline", setting.is_baseline},
                     {"default", setting.is_default},
                     {"seed", row.seed},
                     {"parameters", Parameters(setting.config)},
                     {"crash", Measured(measures.crash, CrashJson)},
                     {"loss", Measured(measures.soak, SoakJson)},
                     {"interval", Measured(measures.interval, IntervalJson)},
                     {"freeze", Measured(measures.freeze, FreezeJson)},
                     {"pairs", Measured(measures.pairs, PairsJson)},
                     {"lossy", Measured(measures.lossy, LossyJson)}};
  return line.dump() + "\n";
}

std::string TuningTextHead() {
  return absl::StrFormat("%-42s %15s  %26s  %26s %8s %8s %26s\n", "", "crash, all know", "30 % loss, per member",
                         "Interval, per run", "freeze", "pairs", "lossy, per run") +
         absl::StrFormat("%-42s %7s %7s  %8s %8s %8s  %8s %8s %8s %8s %8s %8s %8s %8s\n", "setting", "50 % s", "99 % s",
                         "susp./h", "deaths/h", "dgrams/s", "FP", "FP-", "accused", "dead", "dead", "d. well", "d. bad",
                         "rejoins");
}

std::string TuningText(const TuningRow& row) {
  const Measures& measures = row.measures;
  const auto known = [&](double share) {
    return measures.crash ? Quantile(measures.crash->known, share) : std::nullopt;
  };
  std::string line = absl::StrFormat("%-42s", row.setting.name) + Column(7, known(0.5)) + Column(7, known(0.99)) + " ";
  std::optional<double> hours;
  if (measures.soak && measures.soak->complete) hours = measures.soak->member_hours;
  const auto hourly = [&](std::uint64_t count) { return static_cast<double>(count) / *hours; };
  line += Column(8, hours ? std::optional(hourly(measures.soak->suspicions)) : std::nullopt);
  line += Column(8, hours ? std::optional(hourly(measures.soak->deaths)) : std::nullopt);
  line += Column(8, hours ? std::optional(measures.soak->spent.Datagrams().count) : std::nullopt) + " ";
  line += Column(measures.interval, &Outcome::dead_healthy) +
          Column(measures.interval, &Outcome::dead_healthy_at_healthy) +
          Column(measures.interval, &Outcome::healthy_accused) + Column(measures.freeze, &Outcome::dead_sick) +
          Column(measures.pairs, &Outcome::dead_healthy) + Column(measures.lossy, &Outcome::dead_healthy) +
          Column(measures.lossy, &Outcome::dead_sick) + Column(measures.lossy, &Outcome::rejoins);
  return line + "\n";
}

std::string PublishedJson(const PublishedPoint& point) {
  const Json line = {{"experiment", "tuning"},
                     {"table", "grid"},
                     {"name", absl::StrCat("Lifeguard ", point.alpha, "/", point.beta)},
                     {"published", true},
                     {"source", "arXiv 1707.00788v2, table VII"},
                     {"parameters", {{"hold_alpha", point.alpha}, {"hold_beta", point.beta}}},
                     {"percent_of_swim",
                      {{"first_detection_p50", point.median_first},
                       {"first_detection_p99", point.p99_first},
                       {"first_detection_p999", point.p999_first},
                       {"full_dissemination_p50", point.median_full},
                       {"full_dissemination_p99", point.p99_full},
                       {"full_dissemination_p999", point.p999_full},
                       {"fp", point.fp},
                       {"fp_at_healthy", point.fp_at_healthy}}}};
  return line.dump() + "\n";
}

std::string PublishedTextHead() {
  return absl::StrFormat("\n%-42s %s\n%-42s %7s %7s %7s %7s %7s %7s %8s %8s\n", "published, alpha/beta",
                         "% of SWIM's: first detection, full dissemination, false positives", "", "50 %", "99 %",
                         "99.9 %", "50 %", "99 %", "99.9 %", "FP", "FP-");
}

std::string PublishedText(const PublishedPoint& p) {
  return absl::StrFormat("%-42s %7.2f %7.2f %7.2f %7.2f %7.2f %7.2f %8.2f %8.2f\n",
                         absl::StrCat("Lifeguard ", p.alpha, "/", p.beta), p.median_first, p.p99_first, p.p999_first,
                         p.median_full, p.p99_full, p.p999_full, p.fp, p.fp_at_healthy);
}

}  // namespace nekton::bench
