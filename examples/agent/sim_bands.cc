#include "examples/agent/sim_bands.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "examples/agent/console.h"
#include "examples/agent/words.h"
#include "swim/random.h"
#include "transport/simulator.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

constexpr SimId kVictim = 0;
constexpr Duration kKillFrom = 60s;  // and in the ten seconds after that
constexpr Duration kAfterKill = 200s;
constexpr Duration kPause = 200ms;
constexpr Duration kPauseEvery = 10s;  // on average, of each member
constexpr std::size_t kSeedsShown = 20;

double Seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

// One observer's times.
struct Sighting {
  Duration heard{};  // when the victim was heard last
  Duration raw{};    // the first kSuspect after that
  Duration committed{};
  Duration confirmed{};
};

enum class Phase { kRaw, kCommitted, kConfirmed };
constexpr std::array<std::string_view, 3> kPhases = {"raw", "committed", "confirmed"};

// Where one phase must lie, and from when it is counted.
struct Band {
  std::string_view network;
  Phase phase;
  bool from_failure;  // else from the last heartbeat heard
  Duration least;
  Duration most;
};
// "30 s" is the first nanosecond beyond it (phi/heartbeat_timing.h). With delays, pauses and jitter the raw signal may
// come later, never sooner.
constexpr Duration kTick = 1ns;
constexpr std::array<Band, 6> kBands = {{
    {"ideal", Phase::kRaw, false, 30s, 30s + kTick},
    {"ideal", Phase::kCommitted, true, 30s, 40s + kTick},
    {"ideal", Phase::kConfirmed, true, 120s, 130s + kTick},
    {"lan", Phase::kRaw, false, 30s, 60s},
    {"lan", Phase::kCommitted, false, 30s, 90s},
    {"lan", Phase::kConfirmed, false, 120s, 180s},
}};

// A group whose first member dies at a random moment. Rumours are left out: each observer has its own evidence only.
class BandRun {
 public:
  BandRun(const SimRunOptions& run, bool lan, std::uint64_t seed) : random_(seed), simulator_(OptionsOf(lan, seed)) {
    Config config = run.config;
    config.rumour_weight = 0;
    if (!lan) config.jitter = Duration{};
    config.seeds = {Address::V4(10, 0, 0, 1, 7946).ToString(), Address::V4(10, 0, 0, 2, 7946).ToString()};
    for (std::uint64_t i = 0; i < run.nodes; ++i) simulator_.Add(config, {.address = {}, .record = false});
    seen_.resize(run.nodes);
    simulator_.SetHandler([this](const SimEvent& event) { Saw(event); });
    killed_ = kKillFrom + Part(10s);
    for (SimId id = 0; id < run.nodes; ++id) {
      simulator_.At(Part(10s), [this, id] { status_.Update(simulator_.Start(id)); });
      if (lan) PauseLater(id, {});
    }
    simulator_.At(killed_, [this] { simulator_.Crash(kVictim); });
  }

  absl::Status Run() {
    simulator_.RunTo(killed_ + kAfterKill);
    return status_;
  }
  Duration killed() const { return killed_; }
  // Of all that were to see it; an incomplete one is a failure, too.
  std::vector<std::optional<Sighting>> sightings() const {
    std::vector<std::optional<Sighting>> all;
    for (SimId id = 0; id < seen_.size(); ++id) {
      if (id != kVictim) all.push_back(seen_[id].confirmed == Duration{} ? std::nullopt : std::optional(seen_[id]));
    }
    return all;
  }

 private:
  static SimOptions OptionsOf(bool lan, std::uint64_t seed) {
    SimOptions options;
    options.seed = seed;
    options.link.loss.rate = lan ? 0.01 : 0;
    if (!lan) options.link.delay_min = options.link.delay_max = Duration{};
    return options;
  }
  Duration Part(Duration whole) {
    return Duration(static_cast<Duration::rep>(random_.Unit() * static_cast<double>(whole.count())));
  }
  void PauseLater(SimId id, Duration from) {
    const Duration at = from + Part(2 * kPauseEvery);
    if (at > killed_ + kAfterKill) return;
    simulator_.At(at, [this, id] { simulator_.Pause(id); });
    simulator_.At(at + kPause, [this, id] { simulator_.Resume(id); });
    PauseLater(id, at + kPause);
  }

  void Saw(const SimEvent& seen) {
    const Event& event = seen.event;
    if (event.member == nullptr || event.member->name != simulator_.name(kVictim) || seen.at < killed_) return;
    Sighting& sighting = seen_[seen.member];
    if (event.kind == EventKind::kFailed) sighting.confirmed = seen.at;
    if (event.kind != EventKind::kSuspected) return;
    sighting.committed = seen.at;
    sighting.heard = seen.at - event.cause.silence;
    sighting.raw = seen.at - Doubted(seen.member);
  }
  // Since when the observer has had signals against the victim, without one for it.
  Duration Doubted(SimId observer) const {
    const Tick now = simulator_.Clock(observer);
    Duration doubted{};
    const auto explanation = simulator_.member(observer)->Explain(now, simulator_.name(kVictim));
    if (!explanation.ok()) return doubted;
    for (const Testimony& said : explanation->why.recent) {
      if (said.signal == Signal::kHealthy) break;
      doubted = now.boot - said.at;
    }
    return doubted;
  }

  Random random_;
  Simulator simulator_;
  std::vector<Sighting> seen_;
  Duration killed_{};
  absl::Status status_;
};

// The times of one band over all runs.
struct Spread {
  Band band;
  std::vector<Duration> times;
  std::vector<std::uint64_t> outside;  // seeds

  void Add(std::uint64_t seed, Duration killed, const std::optional<Sighting>& seen) {
    if (!seen.has_value()) return Miss(seed);
    const Duration at = band.phase == Phase::kRaw         ? seen->raw
                        : band.phase == Phase::kCommitted ? seen->committed
                                                          : seen->confirmed;
    const Duration time = at - (band.from_failure ? killed : seen->heard);
    times.push_back(time);
    if (time < band.least || time > band.most) Miss(seed);
  }
  void Miss(std::uint64_t seed) {
    if (outside.empty() || outside.back() != seed) outside.push_back(seed);
  }
  double Quantile(double share) const {
    if (times.empty()) return 0;
    return Seconds(times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1) + 0.5)]);
  }
  std::string_view from() const { return band.from_failure ? "failure" : "last_heard"; }
};

class BandReport {
 public:
  BandReport() {
    for (const Band& band : kBands) spreads_.push_back({band, {}, {}});
  }
  void Add(std::string_view network, std::uint64_t seed, const BandRun& run) {
    for (Spread& spread : spreads_) {
      if (spread.band.network != network) continue;
      for (const auto& seen : run.sightings()) spread.Add(seed, run.killed(), seen);
    }
  }
  void Sort() {
    for (Spread& spread : spreads_) std::sort(spread.times.begin(), spread.times.end());
  }
  bool held() const {
    return std::all_of(spreads_.begin(), spreads_.end(), [](const Spread& s) { return s.outside.empty(); });
  }
  void PrintJson(const SimRunOptions& options) const {
    for (const Spread& spread : spreads_) {
      const Json json = {{"network", std::string(spread.band.network)},
                         {"signal", std::string(kPhases[static_cast<std::size_t>(spread.band.phase)])},
                         {"from", std::string(spread.from())},
                         {"band_s", {Seconds(spread.band.least), Seconds(spread.band.most)}},
                         {"runs", options.runs},
                         {"times", spread.times.size()},
                         {"min_s", spread.Quantile(0)},
                         {"p01_s", spread.Quantile(0.01)},
                         {"median_s", spread.Quantile(0.5)},
                         {"p99_s", spread.Quantile(0.99)},
                         {"max_s", spread.Quantile(1)},
                         {"outside_seeds", spread.outside}};
      std::printf("%s\n", Dump(json).c_str());
    }
    std::printf("%s\n", Dump({{"summary", true}, {"held", held()}}).c_str());
  }
  void PrintText(const SimRunOptions& options) const {
    std::printf("%d runs of each network, %d members, the first of them dies; times in seconds\n", int(options.runs),
                int(options.nodes));
    std::printf("%-8s %-10s %-16s %-14s %9s %9s %9s %9s %9s\n", "network", "signal", "counted from", "band", "min",
                "1 %", "median", "99 %", "max");
    for (const Spread& spread : spreads_) {
      const std::string band = absl::StrFormat("%.4g-%.4g", Seconds(spread.band.least), Seconds(spread.band.most));
      std::printf("%-8s %-10s %-16s %-14s %9.3f %9.3f %9.3f %9.3f %9.3f\n", std::string(spread.band.network).c_str(),
                  std::string(kPhases[static_cast<std::size_t>(spread.band.phase)]).c_str(),
                  spread.band.from_failure ? "the failure" : "the last heard", band.c_str(), spread.Quantile(0),
                  spread.Quantile(0.01), spread.Quantile(0.5), spread.Quantile(0.99), spread.Quantile(1));
    }
    for (const Spread& spread : spreads_) PrintOutside(spread);
    std::printf("%s\n", held() ? "every run is within its bands" : "NOT every run is within its bands");
  }

 private:
  static void PrintOutside(const Spread& spread) {
    if (spread.outside.empty()) return;
    std::string line =
        absl::StrCat(Absl(spread.band.network), " ", Absl(kPhases[static_cast<std::size_t>(spread.band.phase)]), ": ",
                     spread.outside.size(), " outside its band, seeds");
    for (std::size_t i = 0; i < std::min(spread.outside.size(), kSeedsShown); ++i) {
      absl::StrAppend(&line, " ", spread.outside[i]);
    }
    std::printf("%s\n", line.c_str());
  }

  std::vector<Spread> spreads_;
};

}  // namespace

int RunBands(const SimRunOptions& options) {
  BandReport report;
  const bool progress = options.progress || isatty(STDERR_FILENO) == 1;
  for (const std::string_view network : {"ideal", "lan"}) {
    for (std::uint64_t i = 0; i < options.runs; ++i) {
      const std::uint64_t seed = options.seed + i;
      BandRun run(options, network == "lan", seed);
      if (const absl::Status status = run.Run(); !status.ok()) {
        std::fprintf(stderr, "nekton sim: seed %llu: %s\n", static_cast<unsigned long long>(seed),
                     OneLine(status.message()).c_str());
        return 1;
      }
      report.Add(network, seed, run);
      if (progress && i % 50 == 0) {
        std::fprintf(stderr, "\r%-5s %5d of %d runs", std::string(network).c_str(), int(i), int(options.runs));
      }
    }
  }
  if (progress) std::fprintf(stderr, "\r%30s\r", "");
  report.Sort();
  if (options.json) {
    report.PrintJson(options);
  } else {
    report.PrintText(options);
  }
  return std::fflush(stdout) == 0 && report.held() ? 0 : 1;
}

}  // namespace nekton
