#include "examples/agent/sim_options.h"

#include <algorithm>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "examples/agent/arguments.h"
#include "examples/agent/words.h"

namespace nekton {

const std::string_view kSimHelp = R"(usage: nekton sim [option...]

Runs a whole group, member n0 and its followers, on virtual time and a simulated network, and prints what each member
saw and a summary. The same options give the same run, bit for bit. All members start within the first period, with the
addresses of n0 and n1 as seeds. Links delay by 0.5 to 1 ms.

  --nodes N             members, 2 to 10000 (default 10)
  --seconds S           length of the run in virtual time (default 60)
  --seed X              of all randomness (default 1)
  --loss P              probability that a datagram or a segment of a stream is lost, 0 to 1 (default 0)
  --profile PROFILE     lan (default), wan or local: SWIM; mesh or pair: heartbeats, of up to 64 members
  --detector DETECTOR   fixed (default) or phi: when an attempt of a probe round, or a heartbeat, is overdue
  --probing PROBING     random (default): every other member in turn; staggered: five fixed ones, whose observers take
                        turns, so that no crash goes unprobed for longer than a period

What is done to member ID, T after the beginning; each may be repeated:
  --kill ID@T           its process dies; its machine refuses connections
  --silent-kill ID@T    its machine dies: nothing answers
  --pause ID@T+D        its process stands still for D
  --leave ID@T          it says goodbye
  --restart ID@T        it is started again, under its name and at its address; if it still runs it is killed first

The heartbeat mesh, measured (--profile mesh):
  --bands               how long it takes to see that a member died, over --runs seeded runs on an ideal network (no
                        jitter, no loss, no delay) and on a LAN (jitter, 1 % loss, pauses of 200 ms): the raw signal, the
                        committed SUSPECT, the confirmed INACTIVE, each observer by its own evidence alone. What is
                        promised (of the fixed detector) is the band 30-90 s for a committed SUSPECT; the raw signal's
                        30 s are of the ideal network, a figure of the laboratory. Status 1, and the seeds, if any run is
                        outside its band
  --runs N              of each network (default 1000), with the seeds --seed, --seed + 1, ...

Output:
  --events              every event, also with more than 50 members; else those get a digest
  --quiet               the summary alone
  --json                one JSON object a line; the last one is the summary
  --warmup T            messages are counted from T on (default: half of the run)
  --progress            shows progress on standard error, as it does on a terminal
  --help                this text

The summary. Message figures are of the time from --warmup to the end, over the members that ran in it; what is done to
members then is part of them. "first suspect" and "last confirm" (INACTIVE) count from the kill, as the live members saw
it; of several kills they are the quickest and the slowest. A suspicion or a verdict is false if its subject's process
runs and is not paused; each observer counts. "converged" is the time from the last start until all tables were equal
and complete for the first time. Status: 0 after a run, 1 failed, 2 wrong arguments.
)";

std::string_view Name(SimAction::Kind kind) {
  switch (kind) {
    case SimAction::Kind::kKill:
      return "kill";
    case SimAction::Kind::kSilentKill:
      return "silent-kill";
    case SimAction::Kind::kPause:
      return "pause";
    case SimAction::Kind::kLeave:
      return "leave";
    case SimAction::Kind::kRestart:
      return "restart";
  }
  return "?";
}

namespace {

constexpr std::uint64_t kNodesMax = 10000;

// "3@20s" or "n3@20"; a pause: "3@20s+5s".
absl::StatusOr<SimAction> ParseAction(SimAction::Kind kind, std::string_view text) {
  const bool pause = kind == SimAction::Kind::kPause;
  const auto bad = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(text), ": must be ", pause ? "ID@T+D, such as 3@20s+5s" : "ID@T, such as 3@20s"));
  };
  const std::size_t at = text.find('@');
  if (at == std::string_view::npos) return bad();
  std::string_view id = text.substr(0, at);
  if (id.starts_with('n')) id.remove_prefix(1);
  std::string_view time = text.substr(at + 1);
  std::string_view length;
  if (pause) {
    const std::size_t plus = time.find('+');
    if (plus == std::string_view::npos) return bad();
    length = time.substr(plus + 1);
    time = time.substr(0, plus);
  }
  const auto number = ParseCount(id, 0, kNodesMax - 1);
  const auto when = ParseDuration(time);
  const auto how_long = pause ? ParseDuration(length) : Duration{};
  if (!number.ok() || !when.ok() || !how_long.ok()) return bad();
  return SimAction{kind, static_cast<std::uint32_t>(*number), *when, *how_long};
}

absl::Status TakeLoss(std::string_view text, double* loss) {
  if (absl::SimpleAtod(Absl(text), loss) && *loss >= 0 && *loss <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(Quoted(text), ": must be a probability from 0 to 1"));
}

void DeclareActions(Arguments* arguments, std::vector<SimAction>* actions) {
  using Kind = SimAction::Kind;
  for (const Kind kind : {Kind::kKill, Kind::kSilentKill, Kind::kPause, Kind::kLeave, Kind::kRestart}) {
    arguments->Each(Name(kind), [=](std::string_view text) {
      const absl::StatusOr<SimAction> action = ParseAction(kind, text);
      if (action.ok()) actions->push_back(*action);
      return action.status();
    });
  }
}

void Declare(Arguments* arguments, SimRunOptions* options) {
  arguments->Count("nodes", 2, kNodesMax, &options->nodes);
  arguments->Count("seed", 0, ~std::uint64_t{0}, &options->seed);
  arguments->Time("seconds", &options->length);
  arguments->Time("warmup", &options->warmup);
  arguments->One("loss", [options](std::string_view text) { return TakeLoss(text, &options->loss); });
  arguments->One("profile", [options](std::string_view name) {
    const absl::StatusOr<Config> config = ProfileOf(name);
    const DetectorKind detector = options->config.detector;  // may have been given before, and so may the next
    const Probing probing = options->config.probing;
    if (config.ok()) options->config = *config;
    options->config.detector = detector;
    options->config.probing = probing;
    return config.status();
  });
  arguments->One("detector", [options](std::string_view name) {
    const absl::StatusOr<DetectorKind> detector = DetectorOf(name);
    if (detector.ok()) options->config.detector = *detector;
    return detector.status();
  });
  arguments->One("probing", [options](std::string_view name) {
    const absl::StatusOr<Probing> probing = ProbingOf(name);
    if (probing.ok()) options->config.probing = *probing;
    return probing.status();
  });
  arguments->Flag("bands", &options->bands);
  arguments->Count("runs", 1, 1'000'000, &options->runs);
  arguments->Flag("quiet", &options->quiet);
  arguments->Flag("events", &options->events);
  arguments->Flag("json", &options->json);
  arguments->Flag("progress", &options->progress);
  DeclareActions(arguments, &options->actions);
}

absl::Status Check(const SimRunOptions& options) {
  if (options.length == Duration::zero()) return absl::InvalidArgumentError("--seconds: must be above 0");
  if (options.nodes > options.config.members_max) {
    return absl::InvalidArgumentError(absl::StrCat("--nodes ", options.nodes, ": profile ", options.config.profile,
                                                   " has at most ", options.config.members_max, " members"));
  }
  if (options.bands && (options.config.profile != "mesh" || !options.actions.empty())) {
    return absl::InvalidArgumentError("--bands: needs --profile mesh, and nothing done to its members");
  }
  if (options.config.beats() && options.config.probing != Probing::kRandom) {
    return absl::InvalidArgumentError(
        absl::StrCat("--probing: profile ", options.config.profile, " sends heartbeats and probes nobody"));
  }
  if (options.warmup >= options.length) {
    return absl::InvalidArgumentError("--warmup: must be below --seconds, for nothing would be counted");
  }
  for (const SimAction& action : options.actions) {
    const absl::string_view name = Absl(Name(action.kind));
    if (action.id >= options.nodes) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", name, " ", action.id, "@...: there is no such member; they are 0 to ", options.nodes - 1));
    }
    if (action.at >= options.length) {
      return absl::InvalidArgumentError(absl::StrCat("--", name, " ", action.id, "@...: the run has ended by then"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SimRunOptions> ParseSimOptions(std::span<const char* const> given) {
  SimRunOptions options;
  options.config = Config::Lan();
  Arguments arguments;
  Declare(&arguments, &options);
  absl::Status status = arguments.Parse(given);
  if (!status.ok()) return status;
  options.help = arguments.help();
  if (options.help) return options;
  if (!options.bands && arguments.given("runs")) return absl::InvalidArgumentError("--runs: is of --bands");
  for (const char* name : {"loss", "seconds", "warmup"}) {
    if (!options.bands || !arguments.given(name)) continue;
    return absl::InvalidArgumentError(absl::StrCat("--", name, ": --bands has networks and lengths of its own"));
  }
  if (options.bands && !arguments.given("nodes")) options.nodes = 3;
  if (!arguments.given("nodes")) options.nodes = std::min<std::uint64_t>(options.nodes, options.config.members_max);
  if (!arguments.given("warmup")) options.warmup = options.length / 2;
  status = Check(options);
  if (!status.ok()) return status;
  std::stable_sort(options.actions.begin(), options.actions.end(),
                   [](const SimAction& a, const SimAction& b) { return a.at < b.at; });
  return options;
}

}  // namespace nekton
