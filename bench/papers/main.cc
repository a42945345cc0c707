// Measures again what papers about membership publish, and what users met in the field.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "bench/common/number_list.h"
#include "bench/common/program.h"
#include "bench/common/protocols.h"
#include "bench/papers/field_baseline.h"
#include "bench/papers/report.h"

ABSL_FLAG(std::string, experiment, "", "which one");
ABSL_FLAG(std::vector<std::string>, nodes, {}, "sizes of the group");
ABSL_FLAG(std::vector<std::string>, protocols, {}, "which protocols");
ABSL_FLAG(std::vector<std::string>, loss, {}, "probabilities that a datagram is lost");
ABSL_FLAG(std::vector<std::string>, faults, {}, "which faults");
ABSL_FLAG(std::vector<std::string>, cases, {}, "which known failures");
ABSL_FLAG(std::vector<std::string>, quantiles, std::vector<std::string>({"0.5", "0.999"}), "of the floor");
ABSL_FLAG(std::vector<std::string>, mistake_probability, std::vector<std::string>({"1e-3", "1e-5"}), "of the floor");
ABSL_FLAG(std::uint32_t, seeds, 0, "runs of each cell");
ABSL_FLAG(std::uint64_t, seed, 1, "of the first run of each cell");
ABSL_FLAG(std::uint32_t, seconds, 0, "length of a run of the faults and of semi");
ABSL_FLAG(std::uint32_t, cut, 75, "seconds, of heal");
ABSL_FLAG(std::uint32_t, updates, 0, "of each run of spread");
ABSL_FLAG(std::uint64_t, crashes, 0, "of each step of floor");
ABSL_FLAG(double, member_seconds, 0, "of each cell of floor");
ABSL_FLAG(bool, quick, false, "small sizes");
ABSL_FLAG(bool, json, false, "one JSON object a line instead of the indented form");
ABSL_FLAG(bool, progress, false, "show progress on standard error, as on a terminal");

namespace nekton::bench {
namespace {

constexpr std::string_view kHelp = R"(usage: papers --experiment=NAME [flag...]

Measures in the simulator what papers about membership publish, and failures that users of memberlist met. Lists are
separated by commas. In brackets: the default, and after a stroke that of --quick.

  --experiment=NAME
    bootstrap  all members join through one seed within a second, on links of 1 ms: until every member counts all
               (Rapid, USENIX ATC 2018, figure 5)
    faults     10 members (of fewer than 100: a tenth) crash, or have bad links one way: what the others make of them, how
               many members they count, and what it costs (Rapid, figures 8 to 10 and table 2)
    spread     one update of a quiet group: until the last member knows, and copies, beside the push floor: in a round
               everyone who knows tells F others, of which a share L is lost, so there are at least
               log N / log (1 + F (1 - L)) rounds, one every gossip interval. nekton's first round does not wait, so it
               may be faster than rounds of 200 ms allow
    shrink     17 members join one by one at 10 % loss; how many are in the group after 175 s (SWIM, DSN 2002, figure 4)
    floor      the smallest load with which crashes are suspected by somebody within T = 1 s, beside the lower bound of
               Gupta, Chandra, Goldszmidt (PODC 2001), by the protocol period; and the mistakes at that load
    known      a split that heals, a mass restart, a member that hears 30 %: nekton beside memberlist's parameters
               without anything that makes good later (bench/papers/field_baseline.h)

  --nodes=LIST         sizes [bootstrap 128,1000,2000,5000,10000 | 32,128; faults 1000 | 100; spread 128,1000,10000 | 128;
                       floor 32,128 | 8; known 100,1000 | 50; shrink: always 17]
  --protocols=LIST     [nekton,memberlist; spread, floor: nekton,staggered,swim | nekton; shrink: nekton,swim,memberlist]
                       (bench/common/protocols.h)
  --seeds=N            runs of each cell [1; shrink 200 | 20]
  --seed=N             of the first run (1); the next one takes the next
  --loss=LIST          [bootstrap 0; spread, floor 0,0.05,0.15; shrink 0.1]
  --faults=LIST        crash, flip_in, flip_out (20 s of every 40), loss_in, loss_out (80 %) [all]
  --seconds=N          of the faults and of semi [900 | 200]
  --updates=N          of each run of spread [100 | 10]
  --crashes=N          of floor, for each period that is tried [2000 | 300]
  --member_seconds=S   of floor, for mistakes and load [1e6 | 2e4]
  --quantiles=LIST     of floor: shares of the crashes that are suspected in time (0.5,0.999)
  --mistake_probability=LIST
                       of floor: what the bound allows in T (1e-3,1e-5)
  --cases=LIST         of known: heal, restart, semi [all]
  --cut=N              seconds that heal is split (75)
  --quick              small sizes, in a minute or two
  --json               one JSON object a line instead of the indented form
  --progress           shows progress on standard error, as it does on a terminal
  --help               this text

The published figures in the rows are measurements of real machines; a simulator has no CPU and no bandwidth that run
out. Status: 0, 1 failed, or a flag that cannot be read, 2 wrong arguments.
)";

constexpr std::array<std::string_view, 6> kExperiments = {"bootstrap", "faults", "spread", "shrink", "floor", "known"};
constexpr std::array<std::string_view, 3> kCases = {"heal", "restart", "semi"};

struct Settings {
  std::string experiment;
  std::vector<double> nodes;
  std::vector<double> losses;
  std::vector<double> quantiles;
  std::vector<double> mistakes;
  std::vector<std::string> protocols;
  std::vector<std::string> faults;
  std::vector<std::string> cases;
  std::uint32_t seeds = 1;
  std::uint64_t seed = 1;
  std::uint32_t seconds = 0;
  std::uint32_t updates = 0;
  std::uint64_t crashes = 0;
  double member_seconds = 0;
  bool quick = false;
  bool json = false;
  bool progress = false;
};

using Words = std::vector<std::string>;

Words DefaultNodes(const std::string& experiment, bool quick) {
  if (experiment == "bootstrap") return quick ? Words{"32", "128"} : Words{"128", "1000", "2000", "5000", "10000"};
  if (experiment == "faults") return {quick ? "100" : "1000"};
  if (experiment == "spread") return quick ? Words{"128"} : Words{"128", "1000", "10000"};
  if (experiment == "floor") return quick ? Words{"8"} : Words{"32", "128"};
  if (experiment == "known") return quick ? Words{"50"} : Words{"100", "1000"};
  return {"17"};
}

Words DefaultProtocols(const std::string& experiment, bool quick) {
  if (experiment == "spread" || experiment == "floor") {
    return quick ? Words{"nekton"} : Words{"nekton", "staggered", "swim"};
  }
  return experiment == "shrink" ? Words{"nekton", "swim", "memberlist"} : Words{"nekton", "memberlist"};
}

Words DefaultLosses(const std::string& experiment) {
  if (experiment == "spread" || experiment == "floor") return {"0", "0.05", "0.15"};
  return {experiment == "shrink" ? "0.1" : "0"};
}

// Its message, if it is not empty, says what is wrong with the names.
std::string FillNames(Settings* settings) {
  settings->experiment = absl::GetFlag(FLAGS_experiment);
  if (std::find(kExperiments.begin(), kExperiments.end(), settings->experiment) == kExperiments.end()) {
    return "--experiment: must be bootstrap, faults, spread, shrink, floor or known";
  }
  settings->protocols = absl::GetFlag(FLAGS_protocols);
  if (settings->protocols.empty()) settings->protocols = DefaultProtocols(settings->experiment, settings->quick);
  for (const std::string& name : settings->protocols) {
    if (const auto config = ProtocolConfig(name); !config.ok()) {
      return absl::StrCat("--protocols: ", config.status().message());
    }
  }
  settings->faults = absl::GetFlag(FLAGS_faults);
  if (settings->faults.empty()) settings->faults.assign(kFaultNames.begin(), kFaultNames.end());
  for (const std::string& name : settings->faults) {
    if (const auto fault = FaultNamed(name); !fault.ok()) return absl::StrCat("--faults: ", fault.status().message());
  }
  settings->cases = absl::GetFlag(FLAGS_cases);
  if (settings->cases.empty()) settings->cases.assign(kCases.begin(), kCases.end());
  for (const std::string& name : settings->cases) {
    if (std::find(kCases.begin(), kCases.end(), name) == kCases.end()) return "--cases: must be heal, restart, semi";
  }
  return {};
}

template <typename T>
T Or(T value, T otherwise) {
  return value > 0 ? value : otherwise;
}

std::string Fill(Settings* settings) {
  settings->quick = absl::GetFlag(FLAGS_quick);
  if (std::string wrong = FillNames(settings); !wrong.empty()) return wrong;
  const std::string& experiment = settings->experiment;
  Words nodes = absl::GetFlag(FLAGS_nodes);
  if (experiment == "shrink" && !nodes.empty()) return "--nodes: shrink has always 17";
  if (nodes.empty()) nodes = DefaultNodes(experiment, settings->quick);
  Words losses = absl::GetFlag(FLAGS_loss);
  if (!losses.empty() && (experiment == "faults" || experiment == "known")) {
    return absl::StrCat("--loss: not with ", experiment);
  }
  if (losses.empty()) losses = DefaultLosses(experiment);
  const double least = experiment == "known" ? 20 : 3;
  std::string wrong = ParseNumbers("--nodes", nodes, least, 10'000, true, &settings->nodes);
  if (wrong.empty()) wrong = ParseNumbers("--loss", losses, 0, 0.9, false, &settings->losses);
  if (wrong.empty()) {
    wrong = ParseNumbers("--quantiles", absl::GetFlag(FLAGS_quantiles), 0.001, 1, false, &settings->quantiles);
  }
  if (wrong.empty()) {
    wrong = ParseNumbers("--mistake_probability", absl::GetFlag(FLAGS_mistake_probability), 1e-9, 0.5, false,
                         &settings->mistakes);
  }
  if (!wrong.empty()) return wrong;
  const bool quick = settings->quick;
  settings->seeds = Or(absl::GetFlag(FLAGS_seeds), experiment != "shrink" ? 1U : quick ? 20U : 200U);
  settings->seed = absl::GetFlag(FLAGS_seed);
  settings->seconds = Or(absl::GetFlag(FLAGS_seconds), quick ? 200U : 900U);
  settings->updates = Or(absl::GetFlag(FLAGS_updates), quick ? 10U : 100U);
  settings->crashes = Or<std::uint64_t>(absl::GetFlag(FLAGS_crashes), quick ? 300 : 2000);
  settings->member_seconds = Or(absl::GetFlag(FLAGS_member_seconds), quick ? 2e4 : 1e6);
  if (!(settings->member_seconds <= 1e10)) return "--member_seconds: must be at most 1e10";
  if (absl::GetFlag(FLAGS_cut) < 1 || absl::GetFlag(FLAGS_cut) > 100'000) return "--cut: must be 1 to 100000";
  settings->json = absl::GetFlag(FLAGS_json);
  settings->progress = ShowsProgress(absl::GetFlag(FLAGS_progress));
  return {};
}

Progress ProgressOf(const Settings& settings, std::string name) {
  if (!settings.progress) return {};
  return [name = std::move(name)](std::string_view what) {
    std::fprintf(stderr, "\r%s: %-40.*s\r", name.c_str(), static_cast<int>(what.size()), what.data());
  };
}

bool ShowRow(const Settings& settings, const Row& row) { return Show(row.dump(settings.json ? -1 : 2) + "\n"); }

bool RunBootstrap(const Settings& settings, const std::string& protocol, std::uint32_t nodes, double loss) {
  BootstrapPlan plan{.config = *ProtocolConfig(protocol), .nodes = nodes, .loss = loss, .progress = {}};
  plan.progress = ProgressOf(settings, absl::StrCat("bootstrap ", protocol, ", ", nodes));
  std::vector<Bootstrap> runs;
  for (std::uint32_t run = 0; run < settings.seeds; ++run) {
    plan.seed = settings.seed + run;
    runs.push_back(MeasureBootstrap(plan));
  }
  plan.seed = settings.seed;
  return ShowRow(settings, BootstrapRow(protocol, plan, runs));
}

bool RunFaults(const Settings& settings, const std::string& protocol, std::uint32_t nodes) {
  for (const std::string& fault : settings.faults) {
    for (std::uint32_t run = 0; run < settings.seeds; ++run) {
      FaultsPlan plan{.config = *ProtocolConfig(protocol), .nodes = nodes, .progress = {}};
      plan.faulty = std::min(10U, std::max(1U, nodes / 10));
      plan.fault = *FaultNamed(fault);
      plan.seconds = settings.seconds;
      plan.seed = settings.seed + run;
      plan.progress = ProgressOf(settings, absl::StrCat("faults ", protocol, ", ", nodes, ", ", fault));
      if (!ShowRow(settings, FaultsRow(protocol, plan, MeasureFaults(plan)))) return false;
    }
  }
  return true;
}

bool RunSpread(const Settings& settings, const std::string& protocol, std::uint32_t nodes, double loss) {
  SpreadPlan plan{.config = *ProtocolConfig(protocol), .nodes = nodes, .loss = loss, .progress = {}};
  plan.updates = settings.updates;
  plan.progress = ProgressOf(settings, absl::StrCat("spread ", protocol, ", ", nodes, ", loss ", loss));
  std::vector<Spread> runs;
  for (std::uint32_t run = 0; run < settings.seeds; ++run) {
    plan.seed = settings.seed + run;
    runs.push_back(MeasureSpread(plan));
  }
  plan.seed = settings.seed;
  return ShowRow(settings, SpreadRow(protocol, plan, runs));
}

bool RunShrink(const Settings& settings, const std::string& protocol, double loss) {
  ShrinkPlan plan{.config = ShrinkConfig(protocol, *ProtocolConfig(protocol)), .loss = loss};
  const Progress progress = ProgressOf(settings, absl::StrCat("shrink ", protocol));
  std::vector<Shrink> runs;
  for (std::uint32_t run = 0; run < settings.seeds; ++run) {
    Tell(progress, absl::StrCat("run ", run + 1, " of ", settings.seeds));
    plan.seed = settings.seed + run;
    runs.push_back(MeasureShrink(plan));
  }
  plan.seed = settings.seed;
  return ShowRow(settings, ShrinkRow(protocol, plan, runs));
}

bool RunFloor(const Settings& settings, const std::string& protocol, std::uint32_t nodes, double loss) {
  for (const double quantile : settings.quantiles) {
    for (const double mistake : settings.mistakes) {
      LoadFloorPlan plan{.config = *ProtocolConfig(protocol), .nodes = nodes, .loss = loss, .progress = {}};
      plan.quantile = quantile;
      plan.mistake = mistake;
      plan.crashes = settings.crashes;
      plan.member_seconds = settings.member_seconds;
      plan.seed = settings.seed;
      plan.progress = ProgressOf(settings, absl::StrCat("floor ", protocol, ", ", nodes, ", loss ", loss));
      if (!ShowRow(settings, LoadFloorRow(protocol, plan, MeasureLoadFloor(plan)))) return false;
    }
  }
  return true;
}

Row HealOf(const Config& config, std::uint32_t nodes, std::uint64_t seed) {
  HealPlan plan{.config = config, .nodes = nodes, .cut = std::chrono::seconds(absl::GetFlag(FLAGS_cut))};
  plan.seed = seed;
  return HealSide(MeasureHeal(plan));
}

Row SemiOf(const Settings& settings, const Config& config, std::uint32_t nodes, std::uint64_t seed) {
  SemiPlan plan{.config = config, .nodes = nodes};
  plan.length = std::chrono::seconds(settings.seconds);
  plan.seed = seed;
  return SemiSide(MeasureSemi(plan));
}

// The baseline knows no generations: a new life has the one of the life before.
Row RestartOf(const Config& config, std::uint32_t nodes, std::uint64_t seed, bool generations) {
  const MassRestartOptions options{.nodes = nodes, .seed = seed, .config = config, .generations = generations};
  return RestartSide(RunMassRestart(options, std::chrono::seconds(90)));
}

bool RunKnown(const Settings& settings, std::uint32_t nodes) {
  const Config baseline = FieldBaseline();
  const Config nekton = *ProtocolConfig("nekton");
  for (const std::string& name : settings.cases) {
    for (std::uint64_t seed = settings.seed; seed < settings.seed + settings.seeds; ++seed) {
      const Progress progress = ProgressOf(settings, absl::StrCat("known ", name, ", ", nodes));
      Row sides[2];
      Row parameters = Row::object();
      if (name == "heal") parameters["cut_s"] = absl::GetFlag(FLAGS_cut);
      if (name == "semi") parameters["seconds"] = settings.seconds;
      for (const int side : {0, 1}) {
        Tell(progress, side == 0 ? "baseline" : "nekton");
        const Config& config = side == 0 ? baseline : nekton;
        if (name == "heal") sides[side] = HealOf(config, nodes, seed);
        if (name == "restart") sides[side] = RestartOf(config, nodes, seed, side == 1);
        if (name == "semi") sides[side] = SemiOf(settings, config, nodes, seed);
      }
      if (!ShowRow(settings, KnownRow(name, nodes, seed, parameters, sides[0], sides[1]))) return false;
    }
  }
  return true;
}

bool RunCell(const Settings& settings, const std::string& protocol, std::uint32_t nodes, double loss) {
  if (settings.experiment == "bootstrap") return RunBootstrap(settings, protocol, nodes, loss);
  if (settings.experiment == "spread") return RunSpread(settings, protocol, nodes, loss);
  if (settings.experiment == "shrink") return RunShrink(settings, protocol, loss);
  if (settings.experiment == "floor") return RunFloor(settings, protocol, nodes, loss);
  return RunFaults(settings, protocol, nodes);
}

bool RunAll(const Settings& settings) {
  for (const double size : settings.nodes) {
    const auto nodes = static_cast<std::uint32_t>(size);
    if (settings.experiment == "known") {
      if (!RunKnown(settings, nodes)) return false;
      continue;
    }
    for (const double loss : settings.losses) {
      for (const std::string& protocol : settings.protocols) {
        if (!RunCell(settings, protocol, nodes, loss)) return false;
      }
    }
  }
  return true;
}

bool Measure(const Settings& settings) {
  const bool shown = RunAll(settings);
  if (settings.progress) std::fputc('\n', stderr);
  return shown;
}

}  // namespace
}  // namespace nekton::bench

int main(int argc, char** argv) {
  using namespace nekton::bench;
  Settings settings;
  const Program program{.name = "papers",
                        .help = [] { return std::string(kHelp); },
                        .fill = [&] { return Fill(&settings); },
                        .run = [&] { return Measure(settings); }};
  return RunProgram(argc, argv, program);
}
