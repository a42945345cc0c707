#include "bench/detector_quality/report.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace nekton::quality {

std::string JsonLine(const Row& row) {
  const Quality& quality = row.quality;
  const std::optional<double> duration = quality.MistakeSeconds();
  const nlohmann::ordered_json line = {
      {"trace", row.trace},
      {"detector", row.detector},
      {"parameter", row.parameter},
      {"value", row.value},
      {"detection_mean_s", quality.detection.mean},
      {"detection_p99_s", quality.detection.p99},
      {"detection_max_s", quality.detection.max},
      {"crashes", quality.detection.crashes},
      {"undetected", quality.detection.undetected},
      {"mistakes", quality.mistakes},
      {"watched_s", std::chrono::duration<double>(quality.watched).count()},
      {"mistakes_per_hour", quality.MistakesPerHour()},
      {"mistake_duration_s", duration ? nlohmann::ordered_json(*duration) : nlohmann::ordered_json()},
      {"query_accuracy", quality.QueryAccuracy()}};
  // A name of a file may be no UTF-8.
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string TableHead(const Trace& trace) {
  const double hours =
      std::chrono::duration<double, std::ratio<3600>>(
          trace.beats.empty() ? Duration::zero() : trace.beats.back().arrived - trace.beats.front().arrived)
          .count();
  return absl::StrFormat(
      "%s: %s\n%d beats arrived in %.2f h, %.3f %% were lost\n"
      "%-14s %-10s %10s  %10s %10s %10s  %8s %12s %10s %11s\n",
      trace.name, trace.description, trace.beats.size(), hours, 100 * trace.Loss(), "detector", "parameter", "value",
      "T_D mean s", "T_D 99% s", "T_D max s", "mistakes", "mistakes/h", "T_M s", "P_A");
}

std::string TableLine(const Row& row) {
  const Quality& quality = row.quality;
  const DetectionTimes& detection = quality.detection;
  const std::optional<double> duration = quality.MistakeSeconds();
  return absl::StrFormat("%-14s %-10s %10.6g  %10.4f %10.4f %10.4f  %8d %12.4f %10s %11.8f%s\n", row.detector,
                         row.parameter, row.value, detection.mean, detection.p99, detection.max, quality.mistakes,
                         quality.MistakesPerHour(), duration ? absl::StrFormat("%.4f", *duration) : "-",
                         quality.QueryAccuracy(),
                         detection.undetected == 0 ? "" : absl::StrCat("  undetected: ", detection.undetected));
}

}  // namespace nekton::quality
