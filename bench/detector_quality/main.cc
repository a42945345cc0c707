// Measures the quality of failure detectors on traces of heartbeats.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "bench/detector_quality/quality.h"
#include "bench/detector_quality/report.h"
#include "bench/detector_quality/sweep.h"
#include "bench/detector_quality/synthetic.h"
#include "bench/detector_quality/trace.h"
#include "bench/detector_quality/trace_file.h"

ABSL_FLAG(std::string, trace, "", "a trace of one's own instead: a file of lines SEQUENCE ARRIVAL_NS");
ABSL_FLAG(std::uint64_t, seed, 1, "of the made-up traces and of the instants of the crashes");
ABSL_FLAG(std::uint64_t, beats, 300'000, "length of each made-up trace, 2000 to 10000000");
ABSL_FLAG(bool, json, false, "one JSON object a line instead of the tables");
ABSL_FLAG(bool, progress, false, "show progress on standard error, as on a terminal");

namespace nekton::quality {
namespace {

constexpr int kFailed = 1;
constexpr int kWrongArguments = 2;
constexpr std::size_t kWarmup = 1000;  // beats: the largest window
constexpr std::size_t kCrashes = 10'000;

constexpr std::string_view kHelp = R"(usage: detector_quality [flag...]

Measures the quality of failure detectors on traces of heartbeats. Each runs at many values of its parameter:

  fixed            suspects when the silence since the last beat exceeds a timeout
  chen             when the next beat is later than expected (Chen, Toueg, Aguilera 2002) by more than a margin
  phi              when classic phi of the silence reaches a threshold
  phi-loss-aware   when the level, which knows that beats get lost, reaches a threshold

The traces are made up: wan, a twin of the one of Hayashibara 2004; lan; and gc-burst and gc-skip, a sender that stands
still at times. Their figures are in bench/detector_quality/synthetic.h.

  --beats=N      length of each of these traces, 2000 to 10000000 (default 300000)
  --seed=N       of the traces and of the instants of the crashes (default 1)
  --trace=FILE   a trace of one's own instead: lines "SEQUENCE ARRIVAL_NS" in the order of arrival
  --json         one JSON object a line; bench/plot.py draws them
  --progress     shows progress on standard error, as it does on a terminal
  --help         this text

Columns. T_D: detection time of 10000 crashes at random instants, zero where the peer was suspected already; in a trace of
one's own a beat counts as sent when it arrived. mistakes: how often the live peer came to be suspected, in all and per
hour. T_M: how long a mistake lasted, on average. P_A: the share of time without one. The first 1000 beats, or the first
tenth of a shorter trace, are not measured. Status: 0, 1 failed, or a flag that cannot be read, 2 wrong arguments.
)";

int Refuse(absl::string_view what, int status) {
  const std::string line = absl::StrCat("detector_quality: ", what, "\n");
  std::fputs(line.c_str(), stderr);
  return status;
}

bool Show(std::string_view text) { return std::fwrite(text.data(), 1, text.size(), stdout) == text.size(); }

void ShowProgress(const std::string& trace, std::size_t done, std::size_t of) {
  std::fprintf(stderr, "\r%s: %zu of %zu \r", trace.c_str(), done, of);
}

bool Run(const Trace& trace, bool json, bool progress) {
  const std::size_t warmup = std::min(kWarmup, trace.beats.size() / 10);
  const std::vector<Instant> crashes = CrashInstants(trace, warmup, kCrashes, absl::GetFlag(FLAGS_seed));
  if (!json && !Show(TableHead(trace))) return false;
  const std::vector<Setting> settings = Settings(trace);
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const Setting& setting = settings[i];
    if (progress) ShowProgress(trace.name, i + 1, settings.size());
    const Row row{trace.name, setting.detector, setting.parameter, setting.value,
                  Measure(trace, setting.make().get(), warmup, crashes)};
    if (!Show(json ? JsonLine(row) : TableLine(row))) return false;
  }
  return json || Show("\n");
}

int Main(int argc, char** argv) {
  const std::span<char*> arguments(argv, static_cast<std::size_t>(argc));
  const auto asks = [](std::string_view argument) { return argument == "--help" || argument == "-h"; };
  if (std::any_of(arguments.begin(), arguments.end(), asks))
    return Show(kHelp) && std::fflush(stdout) == 0 ? 0 : kFailed;
  if (absl::ParseCommandLine(argc, argv).size() > 1) {
    return Refuse("takes only flags; see --help", kWrongArguments);
  }
  const std::uint64_t beats = absl::GetFlag(FLAGS_beats);
  if (beats < 2000 || beats > 10'000'000) return Refuse("--beats: must be 2000 to 10000000", kWrongArguments);
  std::vector<Trace> traces;
  if (const std::string path = absl::GetFlag(FLAGS_trace); !path.empty()) {
    absl::StatusOr<Trace> trace = ReadTrace(path);
    if (!trace.ok()) return Refuse(trace.status().message(), kFailed);
    traces.push_back(*std::move(trace));
  } else {
    traces = SyntheticTraces(absl::GetFlag(FLAGS_seed), beats);
  }
  const bool progress = absl::GetFlag(FLAGS_progress) || (isatty(STDERR_FILENO) != 0 && isatty(STDOUT_FILENO) == 0);
  bool shown = true;
  for (const Trace& trace : traces) shown = shown && Run(trace, absl::GetFlag(FLAGS_json), progress);
  if (progress) std::fputc('\n', stderr);
  if (!shown || std::fflush(stdout) != 0) return Refuse("standard output cannot be written", kFailed);
  return 0;
}

}  // namespace
}  // namespace nekton::quality

int main(int argc, char** argv) { return nekton::quality::Main(argc, argv); }
