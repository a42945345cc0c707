#include "bench/detection/report.h"

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "bench/common/poisson.h"
#include "bench/common/quantiles.h"

namespace nekton::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::pair<std::string_view, double>, 5> kShares = {
    {{"p50", 0.5}, {"p95", 0.95}, {"p99", 0.99}, {"p999", 0.999}, {"worst", 1}}};

Json Quantiles(const std::vector<double>& sample) {
  Json json = Json::object();
  for (const auto& [name, share] : kShares) {
    const std::optional<double> value = Quantile(sample, share);
    json[std::string(name)] = value ? Json(*value) : Json();
  }
  return json;
}

std::string QuantileColumns(const std::vector<double>& sample) {
  std::string text;
  for (const auto& [name, share] : kShares) {
    const std::optional<double> value = Quantile(sample, share);
    text += value ? absl::StrFormat(" %6.2f", *value) : "      -";
  }
  return text;
}

std::string_view Name(Port port) { return port == Port::kRefuses ? "refuses" : "silent"; }

Json Begin(const RowName& name) {
  return {{"protocol", name.protocol},
          {"detector", name.detector},
          {"probing", name.probing},
          {"nodes", name.nodes},
          {"seed", name.seed}};
}

Json Rate(std::uint64_t count, double hours) {
  const Interval interval = PoissonInterval(count);
  return {{"count", count},
          {"per_member_hour", static_cast<double>(count) / hours},
          {"low95", interval.low / hours},
          {"high95", interval.high / hours}};
}

std::string RateColumns(std::uint64_t count, double hours) {
  const Interval interval = PoissonInterval(count);
  return absl::StrFormat("  %7d %9.4g %9.3g %9.3g", count, static_cast<double>(count) / hours, interval.low / hours,
                         interval.high / hours);
}

}  // namespace

std::string CrashJsonLine(const RowName& name, const CrashPlan& plan, const CrashSample& sample) {
  Json line = Begin(name);
  line["port"] = std::string(Name(plan.port));
  line["loss"] = plan.loss;
  line["crashes"] = sample.known.size();
  line["not_known_to_all"] = sample.unknown;
  line["groups_given_up"] = sample.broken;
  line["first_suspicion_s"] = Quantiles(sample.suspected);
  line["first_confirmation_s"] = Quantiles(sample.confirmed);
  line["all_know_s"] = Quantiles(sample.known);
  line["false_suspicions"] = sample.false_suspicions;
  line["false_deaths"] = sample.false_deaths;
  return line.dump() + "\n";
}

std::string CrashTableHead() {
  const std::string quantiles = "    50%    95%    99%  99.9%  worst ";
  return absl::StrFormat("%6s %-10s %-5s %-9s %-7s %4s %7s  %-34s  %-34s  %-34s %s\n", "nodes", "protocol", "det.",
                         "probing", "port", "loss", "crashes", "first suspicion: s", "first confirmation: s",
                         "all know: s", "not known") +
         absl::StrFormat("%54s%s%s%s\n", "", quantiles, quantiles, quantiles);
}

std::string CrashTableLine(const RowName& name, const CrashPlan& plan, const CrashSample& sample) {
  std::string line = absl::StrFormat("%6d %-10s %-5s %-9s %-7s %4.2f %7d", name.nodes, name.protocol, name.detector,
                                     name.probing, Name(plan.port).data(), plan.loss, sample.known.size());
  for (const std::vector<double>* times : {&sample.suspected, &sample.confirmed, &sample.known}) {
    line += QuantileColumns(*times) + " ";
  }
  return line + absl::StrFormat(" %d%s\n", sample.unknown, sample.broken > 0 ? "  groups given up" : "");
}

std::string SoakJsonLine(const RowName& name, const SoakCounts& counts) {
  Json line = Begin(name);
  line["network"] = name.network;
  line["complete"] = counts.complete;
  if (!counts.complete) return line.dump() + "\n";
  line["member_hours"] = counts.member_hours;
  line["false_suspicions"] = Rate(counts.suspicions, counts.member_hours);
  line["false_deaths"] = Rate(counts.deaths, counts.member_hours);
  line["false_death_events"] = counts.death_events;
  const Spending::Sum spent = counts.spent.Datagrams();
  line["datagrams_per_member_period"] = spent.count;
  line["bytes_per_member_period"] = spent.bytes;
  for (std::size_t i = 0; i < kPurposes.size(); ++i) {
    line[std::string(kPurposes[i].name) + "_datagrams"] = counts.spent.by_purpose[i].count;
  }
  line["sync_bytes_per_member_period"] = counts.spent.sync.bytes;
  return line.dump() + "\n";
}

std::string SoakTableHead() {
  return absl::StrFormat("%6s %-10s %-5s %-7s %8s  %7s %9s %19s  %7s %9s %19s  %8s %8s %9s\n", "nodes", "protocol",
                         "det.", "network", "member-h", "suspic.", "/member-h", "95 %", "deaths", "/member-h", "95 %",
                         "events", "dgrams", "bytes");
}

std::string SoakTableLine(const RowName& name, const SoakCounts& counts) {
  std::string line = absl::StrFormat("%6d %-10s %-5s %-7s", name.nodes, name.protocol, name.detector, name.network);
  if (!counts.complete) return line + "  the members did not come to know each other\n";
  const Spending::Sum spent = counts.spent.Datagrams();
  return line + absl::StrFormat(" %8.2f", counts.member_hours) + RateColumns(counts.suspicions, counts.member_hours) +
         RateColumns(counts.deaths, counts.member_hours) +
         absl::StrFormat("  %8d %8.3f %9.2f\n", counts.death_events, spent.count, spent.bytes);
}

}  // namespace nekton::bench
