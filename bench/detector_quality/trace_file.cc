#include "bench/detector_quality/trace_file.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace nekton::quality {
namespace {

constexpr Duration kLongest = std::chrono::hours(2400);  // so that sums of a thousand such times fit

struct Line {
  std::uint64_t sequence = 0;
  std::int64_t arrival = 0;
};

absl::StatusOr<Line> ParseLine(const std::string& text) {
  const std::vector<std::string> words = absl::StrSplit(text, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
  if (words.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", absl::CEscape(text.substr(0, 60)), "\" must be SEQUENCE ARRIVAL_NS"));
  }
  Line line;
  if (!absl::SimpleAtoi(words[0], &line.sequence)) {
    return absl::InvalidArgumentError(absl::StrCat("SEQUENCE must be a whole number from 0 to 2^64 - 1, not \"",
                                                   absl::CEscape(words[0].substr(0, 40)), "\""));
  }
  if (!absl::SimpleAtoi(words[1], &line.arrival) || line.arrival < 0) {
    return absl::InvalidArgumentError(absl::StrCat("ARRIVAL_NS must be a whole number from 0 to 2^63 - 1, not \"",
                                                   absl::CEscape(words[1].substr(0, 40)), "\""));
  }
  return line;
}

bool IsPassedOver(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  return begin == std::string::npos || text[begin] == '#';
}

absl::Status Complete(Trace* trace) {
  if (trace->beats.size() < 2) return absl::InvalidArgumentError(absl::StrCat(trace->name, ": fewer than two beats"));
  const std::uint64_t intervals = trace->beats.back().sequence - trace->beats.front().sequence;
  const Duration length = trace->beats.back().arrived - trace->beats.front().arrived;
  trace->interval = Duration(static_cast<Duration::rep>(static_cast<std::uint64_t>(length.count()) / intervals));
  if (length > kLongest) return absl::InvalidArgumentError(absl::StrCat(trace->name, ": longer than 100 days"));
  if (trace->interval == Duration::zero()) {
    return absl::InvalidArgumentError(absl::StrCat(trace->name, ": beats are on average less than 1 ns apart"));
  }
  trace->due = intervals + 1;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Trace> ParseTrace(std::istream& in, const std::string& name) {
  Trace trace{.name = name, .description = "given", .interval = {}, .beats = {}, .due = 0};
  std::string text;
  std::int64_t first = 0;
  std::int64_t last = 0;
  for (std::uint64_t number = 1; std::getline(in, text); ++number) {
    if (IsPassedOver(text)) continue;
    const absl::StatusOr<Line> line = ParseLine(text);
    const auto at = [&](absl::string_view what) {
      return absl::InvalidArgumentError(absl::StrCat(name, ":", number, ": ", what));
    };
    if (!line.ok()) return at(line.status().message());
    if (trace.beats.empty()) first = last = line->arrival;
    if (line->arrival < last) return at("ARRIVAL_NS must not be less than in the lines before");
    last = line->arrival;
    if (!trace.beats.empty() && line->sequence <= trace.beats.back().sequence) continue;
    const Instant arrived{Duration(line->arrival - first)};
    trace.beats.push_back({line->sequence, arrived, arrived});
  }
  if (in.bad()) return absl::DataLossError(absl::StrCat(name, ": cannot be read"));
  const absl::Status complete = Complete(&trace);
  if (!complete.ok()) return complete;
  return trace;
}

absl::StatusOr<Trace> ReadTrace(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat(path, ": ", std::strerror(errno)));
  return ParseTrace(file, path);
}

}  // namespace nekton::quality
