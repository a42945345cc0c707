#include "bench/lifeguard/published.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"

namespace nekton::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kRuns = 4320;
constexpr std::array kResults = {
    Published{"swim", kRuns, 339'002, 1'326, {12.44, 16.96, 19.40}, {12.90, 16.93, 20.17}, 100, 100},
    Published{"lifeguard", kRuns, 5'193, 25, {12.45, 17.90, 21.20}, {12.91, 18.05, 21.68}, 110.59, 97.97}};

double PerRun(const Published& published, std::uint64_t count) {
  return static_cast<double>(count) / static_cast<double>(published.runs);
}

Json Times(const std::array<double, 3>& times) {
  return {{"median_s", times[0]}, {"p99_s", times[1]}, {"p999_s", times[2]}};
}

std::string TimesText(const std::array<double, 3>& times) {
  return absl::StrFormat("%.2f / %.2f / %.2f / -", times[0], times[1], times[2]);
}

absl::string_view Absl(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

std::span<const Published> PublishedResults() { return kResults; }

std::string JsonLine(const Published& published) {
  const Json line = {{"experiment", "lifeguard"},
                     {"published", true},
                     {"protocol", std::string(published.protocol)},
                     {"points", "interval"},
                     {"runs", published.runs},
                     {"fp", published.false_positives},
                     {"fp_at_healthy", published.false_positives_at_healthy},
                     {"fp_per_run", PerRun(published, published.false_positives)},
                     {"fp_at_healthy_per_run", PerRun(published, published.false_positives_at_healthy)},
                     {"first_detection", Times(published.first)},
                     {"full_dissemination", Times(published.full)},
                     {"messages_percent_of_swim", published.messages_percent},
                     {"bytes_percent_of_swim", published.bytes_percent}};
  return line.dump() + "\n";
}

std::string Text(const Published& published) {
  return absl::StrFormat("%-10s %-7s %5d %10.4g %9.4g %8s  %-29s %-29s %12s %6s %7s\n", Absl(published.protocol),
                         "paper", published.runs, PerRun(published, published.false_positives),
                         PerRun(published, published.false_positives_at_healthy), "-", TimesText(published.first),
                         TimesText(published.full), "-", "-", "-") +
         absl::StrFormat("  messages %.1f %%, bytes %.1f %% of swim's\n", published.messages_percent,
                         published.bytes_percent);
}

}  // namespace nekton::bench
