#include "bench/lifeguard/summary.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/common/quantiles.h"

namespace nekton::bench {
namespace {

using Json = nlohmann::ordered_json;

// A shorter one may end before a slow protocol has noticed it, so that latencies of it would favour the slow.
constexpr std::uint32_t kLongAnomaly = 16384;  // ms
constexpr std::size_t kViolationsShown = 10;
constexpr double kShares[] = {0.5, 0.99, 0.999, 1};

Json Times(const std::vector<double>& sample) {
  Json times = {{"count", sample.size()}};
  const char* const names[] = {"median_s", "p99_s", "p999_s", "max_s"};
  for (std::size_t i = 0; i < std::size(kShares); ++i) {
    const std::optional<double> value = Quantile(sample, kShares[i]);
    times[names[i]] = value ? Json(*value) : Json();
  }
  return times;
}

std::string TimesText(const std::vector<double>& sample) {
  return absl::StrJoin(kShares, " / ", [&](std::string* out, double share) {
    const std::optional<double> value = Quantile(sample, share);
    absl::StrAppend(out, value ? absl::StrFormat("%.2f", *value) : "-");
  });
}

absl::string_view Absl(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

void Summary::Add(const Point& point, std::uint64_t seed, const TrialResult& result) {
  ++runs_;
  if (!result.gathered) {
    ++ungathered_;
    return;
  }
  sum_.false_positives += result.false_positives;
  sum_.false_positives_at_healthy += result.false_positives_at_healthy;
  suspected_ += result.healthy_suspected;
  sum_.load += result.load;
  Removal& removal = removals_[point.block_ms];
  removal.anomalies += result.anomalies;
  removal.removed += result.removed;
  if (point.block_ms >= kLongAnomaly) {
    long_anomalies_ += result.anomalies;
    missed_long_ += result.missed;
    sum_.first.insert(sum_.first.end(), result.first.begin(), result.first.end());
    sum_.full.insert(sum_.full.end(), result.full.begin(), result.full.end());
  }
  if (result.false_positives == 0) return;
  violations_.push_back(absl::StrCat(Name(point), " seed ", seed, ": ", result.false_positives, " FP, ",
                                     result.false_positives_at_healthy, " of them FP-"));
}

double Summary::PerRun(std::uint64_t count) const {
  return runs_ > ungathered_ ? static_cast<double>(count) / static_cast<double>(runs_ - ungathered_) : 0;
}

std::string Summary::JsonLine(const std::string& label) const {
  Json removed = Json::object();
  for (const auto& [block_ms, removal] : removals_) {
    removed[std::to_string(block_ms)] = {{"anomalies", removal.anomalies}, {"removed", removal.removed}};
  }
  const Json line = {{"experiment", "lifeguard"},
                     {"protocol", protocol_},
                     {"block", std::string(Name(block_))},
                     {"seed", seed_},
                     {"points", label},
                     {"runs", runs_},
                     {"ungathered", ungathered_},
                     {"fp", sum_.false_positives},
                     {"fp_at_healthy", sum_.false_positives_at_healthy},
                     {"fp_per_run", PerRun(sum_.false_positives)},
                     {"fp_at_healthy_per_run", PerRun(sum_.false_positives_at_healthy)},
                     {"healthy_suspected_per_run", PerRun(suspected_)},
                     {"first_detection", Times(sum_.first)},
                     {"full_dissemination", Times(sum_.full)},
                     {"long_anomalies", long_anomalies_},
                     {"long_anomalies_missed", missed_long_},
                     {"removed_by_block_ms", removed},
                     {"datagrams_per_member_s", sum_.load.DatagramsPerSecond()},
                     {"bytes_per_member_s", sum_.load.BytesPerSecond()},
                     {"violations", violations_}};
  return line.dump() + "\n";
}

std::string Summary::TextHead() {
  return absl::StrFormat("%-10s %-7s %5s %10s %9s %8s  %-29s %-29s %12s %6s %7s\n", "protocol", "block", "runs",
                         "FP/run", "FP-/run", "accused", "first s 50/99/99.9/max", "full s 50/99/99.9/max", "missed",
                         "dg/s", "B/s");
}

std::string Summary::Text() const {
  std::string text = absl::StrFormat("%-10s %-7s %5d %10.4g %9.4g %8.2f  %-29s %-29s %12s %6.2f %7.0f\n", protocol_,
                                     Absl(Name(block_)), runs_, PerRun(sum_.false_positives),
                                     PerRun(sum_.false_positives_at_healthy), PerRun(suspected_), TimesText(sum_.first),
                                     TimesText(sum_.full), absl::StrCat(missed_long_, " of ", long_anomalies_),
                                     sum_.load.DatagramsPerSecond(), sum_.load.BytesPerSecond());
  absl::StrAppend(&text, "  removed:");
  for (const auto& [block_ms, removal] : removals_) {
    absl::StrAppend(&text, "  ", block_ms, " ms ", removal.removed, " of ", removal.anomalies);
  }
  absl::StrAppend(&text, "\n");
  if (ungathered_ > 0) absl::StrAppend(&text, "  groups that never came together: ", ungathered_, "\n");
  for (std::size_t i = 0; i < violations_.size() && i < kViolationsShown; ++i) {
    absl::StrAppend(&text, "  ", violations_[i], "\n");
  }
  if (violations_.size() > kViolationsShown) {
    absl::StrAppend(&text, "  and ", violations_.size() - kViolationsShown, " more runs\n");
  }
  return text;
}

}  // namespace nekton::bench
