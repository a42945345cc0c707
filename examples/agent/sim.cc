#include "examples/agent/sim.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "examples/agent/console.h"
#include "examples/agent/sim_bands.h"
#include "examples/agent/sim_digest.h"
#include "examples/agent/sim_report.h"
#include "examples/agent/sim_traffic.h"
#include "examples/agent/sim_watch.h"
#include "examples/agent/words.h"
#include "swim/event_json.h"
#include "transport/simulator.h"

namespace nekton {
namespace {

using WallClock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::uint64_t kDigestAbove = 50;  // members
constexpr Duration kStep = 10ms;            // of looking for convergence
constexpr Duration kStepLater = 100ms;
constexpr auto kProgressEvery = 500ms;

double Seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

void PrintLine(const std::string& line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fputc('\n', stdout);
}

SimOptions OptionsOf(const SimRunOptions& run) {
  SimOptions options;
  options.seed = run.seed;
  options.link.loss.rate = run.loss;
  options.lossy_streams = true;
  return options;
}

class SimRun {
 public:
  explicit SimRun(const SimRunOptions& options);
  absl::Status Run();
  void PrintReport();

 private:
  void AddMembers();
  void Plan();
  void RunTo(Duration time);
  void Do(const SimAction& action);
  absl::Status Act(const SimAction& action);
  void Print(const SimAction& action, const absl::Status& status);
  void Saw(const SimEvent& event);
  void Print(const SimEvent& event);
  void Print(const SimDigest::Entry& entry);
  void ShowProgress();
  bool digested() const { return options_.nodes > kDigestAbove && !options_.events; }

  const SimRunOptions& options_;
  Simulator simulator_;
  SimWatch watch_{&simulator_};
  SimTraffic traffic_{&simulator_};
  SimDigest digest_;
  Duration started_{};  // when the last member was
  std::optional<Duration> converged_;
  absl::Status status_;  // of the first start that failed
  bool counting_ = false;
  bool progress_ = false;
  std::size_t progress_width_ = 0;
  WallClock::time_point began_ = WallClock::now();
  WallClock::time_point next_progress_ = began_ + kProgressEvery;

  struct Moment {
    Duration at;
    std::function<void()> what;
  };
  std::vector<Moment> plan_;
};

SimRun::SimRun(const SimRunOptions& options)
    : options_(options),
      simulator_(OptionsOf(options)),
      digest_(2 * options.config.period, [this](const SimDigest::Entry& entry) { Print(entry); }),
      progress_(options.progress || isatty(STDERR_FILENO) == 1) {
  simulator_.SetHandler([this](const SimEvent& event) { Saw(event); });
  AddMembers();
  Plan();
}

void SimRun::AddMembers() {
  Config config = options_.config;
  // The addresses that the simulator gives to n0 and n1.
  config.seeds = {Address::V4(10, 0, 0, 1, 7946).ToString(), Address::V4(10, 0, 0, 2, 7946).ToString()};
  for (std::uint64_t i = 0; i < options_.nodes; ++i) {
    const SimId id = simulator_.Add(config, {.address = {}, .record = false});
    started_ = config.period * i / options_.nodes;
    simulator_.At(started_, [this, id] { status_.Update(simulator_.Start(id)); });
  }
}

void SimRun::Plan() {
  for (const SimAction& action : options_.actions) {
    plan_.push_back({action.at, [this, action] { Do(action); }});
    if (action.kind == SimAction::Kind::kPause) {
      plan_.push_back({action.at + action.length, [this, id = action.id] { simulator_.Resume(id); }});
    }
  }
  plan_.push_back({options_.warmup, [this] {
                     traffic_.Begin();
                     counting_ = true;
                   }});
  std::stable_sort(plan_.begin(), plan_.end(), [](const Moment& a, const Moment& b) { return a.at < b.at; });
}

absl::Status SimRun::Run() {
  for (const Moment& moment : plan_) {
    if (moment.at >= options_.length) break;
    RunTo(moment.at);
    moment.what();
  }
  RunTo(options_.length);
  traffic_.End();
  digest_.Flush(simulator_.now(), /*all=*/true);
  if (progress_) std::fprintf(stderr, "\r%*s\r", static_cast<int>(progress_width_), "");
  return status_;
}

void SimRun::RunTo(Duration time) {
  while (simulator_.now() < time) {
    const Duration step = std::min(converged_ ? kStepLater : kStep, time - simulator_.now());
    const std::size_t live = counting_ ? simulator_.live_count() : 0;
    simulator_.RunFor(step);
    if (counting_) traffic_.Passed(live, step);
    if (!converged_ && simulator_.now() >= started_ && simulator_.Converged()) {
      converged_ = simulator_.now() - started_;
    }
    digest_.Flush(simulator_.now());
    ShowProgress();
  }
}

void SimRun::Do(const SimAction& action) {
  const absl::Status status = Act(action);
  if (!options_.quiet) Print(action, status);
}

absl::Status SimRun::Act(const SimAction& action) {
  const SimId id = action.id;
  const bool runs = simulator_.member(id) != nullptr;
  if (!runs && action.kind != SimAction::Kind::kRestart) {
    return absl::UnavailableError(absl::StrCat(simulator_.name(id), " does not run"));
  }
  switch (action.kind) {
    case SimAction::Kind::kKill:
    case SimAction::Kind::kSilentKill:
      watch_.Killed(id);
      traffic_.Ends(id);
      simulator_.Crash(id, action.kind == SimAction::Kind::kKill ? Port::kRefuses : Port::kSilent);
      return absl::OkStatus();
    case SimAction::Kind::kPause:
      simulator_.Pause(id);
      return absl::OkStatus();
    case SimAction::Kind::kLeave:
      return simulator_.Leave(id);
    case SimAction::Kind::kRestart:
      traffic_.Ends(id);
      simulator_.Crash(id, Port::kRefuses);
      return simulator_.Restart(id);
  }
  return absl::InternalError("no such action");
}

void SimRun::Print(const SimAction& action, const absl::Status& status) {
  const std::string& name = simulator_.name(action.id);
  if (options_.json) {
    Json json = {{"at_s", Seconds(simulator_.now())}, {"action", std::string(Name(action.kind))}, {"member", name}};
    if (action.kind == SimAction::Kind::kPause) json["length_s"] = Seconds(action.length);
    if (!status.ok()) json["message"] = std::string(status.message());
    return PrintLine(Dump(json));
  }
  std::string line = absl::StrCat(TimeColumn(simulator_.now()), "*** ", Absl(Name(action.kind)), " ", name);
  if (action.kind == SimAction::Kind::kPause) absl::StrAppendFormat(&line, " for %.3f s", Seconds(action.length));
  PrintLine(status.ok() ? line : absl::StrCat(line, ": ", status.message()));
}

void SimRun::Saw(const SimEvent& event) {
  watch_.Saw(event);
  if (event.event.kind == EventKind::kLeaveDone) traffic_.Ends(event.member);
  if (options_.quiet) return;
  if (digested()) {
    digest_.Saw(event);
  } else {
    Print(event);
  }
}

void SimRun::Print(const SimEvent& event) {
  const std::string& name = simulator_.name(event.member);
  if (options_.json) {
    PrintLine(absl::StrFormat("{\"at_s\":%.9f,\"observer\":%s,%s", Seconds(event.at), Dump(Json(name)),
                              ToJson(event.event).substr(1)));
  } else {
    PrintLine(absl::StrCat(TimeColumn(event.at), name, ": ", Describe(event.event)));
  }
}

void SimRun::Print(const SimDigest::Entry& entry) {
  const std::string subject = entry.subject == kNobody ? "" : simulator_.name(entry.subject);
  const std::string kind(Name(entry.kind));
  if (options_.json) {
    Json json = {{"at_s", Seconds(entry.first)}, {"until_s", Seconds(entry.last)}, {"digest", kind}};
    if (!subject.empty()) json["member"] = subject;
    json["count"] = entry.count;
    return PrintLine(Dump(json));
  }
  PrintLine(absl::StrCat(TimeColumn(entry.first), subject.empty() ? "all" : subject, ": ", kind, " ", entry.count,
                         entry.count == 1 ? " time" : " times", ", the last at ",
                         absl::StrFormat("%.3fs", Seconds(entry.last))));
}

void SimRun::ShowProgress() {
  if (!progress_ || WallClock::now() < next_progress_) return;
  next_progress_ = WallClock::now() + kProgressEvery;
  const std::string line = absl::StrFormat("%.1f of %.1f s, %d events", Seconds(simulator_.now()),
                                           Seconds(options_.length), simulator_.counters().events);
  progress_width_ = std::max(progress_width_, line.size());
  std::fprintf(stderr, "\r%-*s", static_cast<int>(progress_width_), line.c_str());
  std::fflush(stderr);
}

void SimRun::PrintReport() {
  const SimReport report{.options = options_,
                         .traffic = traffic_,
                         .watch = watch_,
                         .converged = converged_,
                         .converged_at_end = simulator_.Converged(),
                         .inputs = simulator_.counters().events,
                         .wall_seconds = std::chrono::duration<double>(WallClock::now() - began_).count(),
                         .fingerprint = simulator_.Fingerprint()};
  PrintLine(options_.json ? Dump(report.ToJson()) : report.ToText());
}

}  // namespace

int RunSim(const SimRunOptions& options) {
  if (options.bands) return RunBands(options);
  SimRun run(options);
  if (const absl::Status status = run.Run(); !status.ok()) {
    std::fprintf(stderr, "nekton sim: %s\n", OneLine(status.message()).c_str());
    return 1;
  }
  run.PrintReport();
  return std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace nekton
