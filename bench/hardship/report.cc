#include "bench/hardship/report.h"

#include <optional>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/common/quantiles.h"

namespace nekton::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kViolationsShown = 10;

Json OrNull(std::optional<double> value) { return value ? Json(*value) : Json(); }

std::string TimesText(const Outcome& outcome) {
  if (outcome.times.empty()) return outcome.never > 0 ? absl::StrCat("never ", outcome.never) : "-";
  std::string text = absl::StrFormat("%.2f / %.2f / %.2f", *Quantile(outcome.times, 0.5),
                                     *Quantile(outcome.times, 0.99), *Quantile(outcome.times, 1));
  return outcome.never > 0 ? absl::StrCat(text, ", never ", outcome.never) : text;
}

}  // namespace

std::string JsonLine(const HardshipRow& row) {
  const Outcome& outcome = row.outcome;
  const Json line = {{"experiment", "hardship"},
                     {"case", row.hardship},
                     {"protocol", row.protocol},
                     {"seed", row.seed},
                     {"runs", outcome.runs},
                     {"ungathered", outcome.ungathered},
                     {"sick", outcome.sick},
                     {"dead_healthy", outcome.dead_healthy},
                     {"dead_healthy_at_healthy", outcome.dead_healthy_at_healthy},
                     {"dead_sick", outcome.dead_sick},
                     {"sick_condemned", outcome.sick_condemned},
                     {"rejoins", outcome.rejoins},
                     {"comebacks", outcome.comebacks},
                     {"gone", outcome.gone},
                     {"changes_a_minute_max", outcome.changes},
                     {"suspicions_healthy", outcome.suspicions_healthy},
                     {"suspicions_sick", outcome.suspicions_sick},
                     {"accusations_by_sick", outcome.accusations_by_sick},
                     {"accusations_healthy", outcome.accusations_healthy},
                     {"healthy_accused", outcome.healthy_accused},
                     {"times", outcome.times.size()},
                     {"median_s", OrNull(Quantile(outcome.times, 0.5))},
                     {"p99_s", OrNull(Quantile(outcome.times, 0.99))},
                     {"max_s", OrNull(Quantile(outcome.times, 1))},
                     {"never", outcome.never},
                     {"member_hours", outcome.member_hours},
                     {"datagrams_per_member_s", outcome.load.DatagramsPerSecond()},
                     {"bytes_per_member_s", outcome.load.BytesPerSecond()},
                     {"violations", outcome.violations}};
  return line.dump() + "\n";
}

std::string TableHead() {
  return absl::StrFormat("%-15s %-21s %5s %15s %9s %13s %8s %6s %5s %4s %9s %9s %8s %8s  %-21s %6s %7s\n", "case",
                         "protocol", "runs", "dead healthy(-)", "dead sick", "condemned", "rejoins", "comeb", "gone",
                         "/min", "susp h", "susp s", "by sick", "accused", "s 50/99/max", "dg/s", "B/s");
}

std::string TableLine(const HardshipRow& row) {
  const Outcome& outcome = row.outcome;
  std::string text = absl::StrFormat(
      "%-15s %-21s %5d %15s %9d %13s %8d %6d %5d %4d %9.4g %9.4g %8.4g %8.4g  %-21s %6.2f %7.0f\n", row.hardship,
      row.protocol, outcome.runs, absl::StrCat(outcome.dead_healthy, " (", outcome.dead_healthy_at_healthy, ")"),
      outcome.dead_sick, absl::StrCat(outcome.sick_condemned, " of ", outcome.sick), outcome.rejoins, outcome.comebacks,
      outcome.gone, outcome.changes, outcome.PerRun(outcome.suspicions_healthy),
      outcome.PerRun(outcome.suspicions_sick), outcome.PerRun(outcome.accusations_by_sick),
      outcome.PerRun(outcome.healthy_accused), TimesText(outcome), outcome.load.DatagramsPerSecond(),
      outcome.load.BytesPerSecond());
  if (outcome.ungathered > 0) absl::StrAppend(&text, "  groups that never came together: ", outcome.ungathered, "\n");
  for (std::size_t i = 0; i < outcome.violations.size() && i < kViolationsShown; ++i) {
    absl::StrAppend(&text, "  ", outcome.violations[i], "\n");
  }
  if (outcome.violations.size() > kViolationsShown) {
    absl::StrAppend(&text, "  and ", outcome.violations.size() - kViolationsShown, " more runs\n");
  }
  return text;
}

}  // namespace nekton::bench
