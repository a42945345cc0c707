// Measures how soon a crash is detected, and how often one is made up.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/common/number_list.h"
#include "bench/common/program.h"
#include "bench/common/protocols.h"
#include "bench/detection/report.h"

ABSL_FLAG(bool, soak, false, "all members run on a bad network");
ABSL_FLAG(std::vector<std::string>, nodes, {}, "sizes of the group");
ABSL_FLAG(std::vector<std::string>, protocol, std::vector<std::string>({"nekton"}), "which protocols");
ABSL_FLAG(std::vector<std::string>, detector, std::vector<std::string>({"fixed"}), "fixed, phi");
ABSL_FLAG(std::vector<std::string>, probing, std::vector<std::string>({"random"}), "random, staggered");
ABSL_FLAG(std::vector<std::string>, port, std::vector<std::string>({"silent", "refuses"}), "silent, refuses");
ABSL_FLAG(std::vector<std::string>, loss, {}, "probabilities that a datagram is lost, and \"bursts\"");
ABSL_FLAG(std::uint64_t, crashes, 1000, "of each cell");
ABSL_FLAG(double, member_hours, 5, "of each cell of the soak");
ABSL_FLAG(std::uint64_t, seed, 1, "of all runs");
ABSL_FLAG(bool, json, false, "one JSON object a line instead of the table");
ABSL_FLAG(bool, progress, false, "show progress on standard error, as on a terminal");

namespace nekton::bench {
namespace {

constexpr std::string_view kHelp = R"(usage: detection [flag...]

Measures, in the simulator, how soon a group notices that one of its members died: the first suspicion, the first
confirmation, and when the last survivor knows. Links delay by 0.5 to 1 ms. With --soak: how often members of a group in
which all run are suspected, and declared dead, on a network that loses. Lists are separated by commas.

  --nodes=LIST         sizes of the group, 3 to 10000 (default 8,32,128; with --soak 8,32,128 too)
  --crashes=N          of each cell, 1 to 10000000 (default 1000)
  --port=LIST          silent: the machine died; refuses: the process alone (default both)
  --loss=LIST          probabilities that a datagram or a segment of a stream is lost, 0 to 0.9 (default 0)
  --protocol=LIST      nekton (default), swim, lifeguard, memberlist: see bench/common/protocols.h
  --detector=LIST      fixed (default), phi: when an attempt of a probe round is late
  --probing=LIST       random (default), staggered

  --soak               takes --nodes, --protocol, --detector and --probing, too, and
  --loss=LIST          with "bursts" among it: each direction of each member is bad for 5 % of the time, 1 s long on
                       average, with 70 % loss then and 1 % else (default 0,0.05,0.15,0.3,bursts)
  --member_hours=H     of each cell, above 0, up to 1000000 (default 5)

  --seed=N             of all runs (default 1)
  --json               one JSON object a line instead of the table
  --progress           shows progress on standard error, as it does on a terminal
  --help               this text

Crashes follow each other in one group: a random member dies at a random instant of a period, all learn it, it comes
back, all learn that, 15 to 16 periods pass. Every 500 crashes a new group begins. What is left of one crash for the next
are the places in the members' probe rounds (the victim's are drawn anew when it is back), never news on its way.

Soak. suspic.: suspicions that a member committed by its own evidence, not what it heard of others'. deaths: members
declared dead by anyone, each incarnation once; events: by how many. 95 %: exact Poisson intervals, which take mistakes
for independent of each other. dgrams, bytes: per member and period, without headers of UDP and IP. The first minute is
not measured. Status: 0, 1 failed, or a flag that cannot be read, 2 wrong arguments.
)";

struct Network {
  std::string name;
  double loss = 0;
  bool bursts = false;
};

struct Settings {
  bool soak = false;
  std::vector<double> nodes;
  std::vector<Network> networks;
  std::vector<RowName> protocols;  // with the detector
  std::vector<Config> configs;     // of these
  std::vector<Port> ports;
  bool json = false;
  bool progress = false;
};

std::string FillProtocols(Settings* settings) {
  for (const std::string& name : absl::GetFlag(FLAGS_protocol)) {
    absl::StatusOr<Config> config = ProtocolConfig(name);
    if (!config.ok()) return absl::StrCat("--protocol: ", config.status().message());
    if (name == "staggered") return "--protocol: staggered is --protocol=nekton --probing=staggered here";
    for (const std::string& detector : absl::GetFlag(FLAGS_detector)) {
      const absl::StatusOr<DetectorKind> kind = DetectorNamed(detector);
      if (!kind.ok()) return absl::StrCat("--detector: ", kind.status().message());
      config->detector = *kind;
      for (const std::string& probing : absl::GetFlag(FLAGS_probing)) {
        const absl::StatusOr<Probing> named = ProbingNamed(probing);
        if (!named.ok()) return absl::StrCat("--probing: ", named.status().message());
        config->probing = *named;
        settings->protocols.push_back({name, detector, probing, 0, "", absl::GetFlag(FLAGS_seed)});
        settings->configs.push_back(*config);
      }
    }
  }
  return {};
}

std::string FillNetworks(Settings* settings) {
  std::vector<std::string> texts = absl::GetFlag(FLAGS_loss);
  if (texts.empty() && settings->soak) texts = {"0", "0.05", "0.15", "0.3", "bursts"};
  if (texts.empty()) texts = {"0"};
  for (const std::string& text : texts) {
    if (text == "bursts") {
      if (!settings->soak) return "--loss: bursts go with --soak alone";
      settings->networks.push_back({text, 0, true});
      continue;
    }
    std::vector<double> value;
    if (const std::string wrong = ParseNumbers("--loss", {text}, 0, 0.9, false, &value); !wrong.empty()) return wrong;
    settings->networks.push_back({text, value.front(), false});
  }
  return {};
}

// Its message, if it is not empty, says what is wrong with the flags.
std::string Fill(Settings* settings) {
  settings->soak = absl::GetFlag(FLAGS_soak);
  std::vector<std::string> nodes = absl::GetFlag(FLAGS_nodes);
  if (nodes.empty()) nodes = {"8", "32", "128"};
  std::string wrong = ParseNumbers("--nodes", nodes, 3, 10'000, true, &settings->nodes);
  if (wrong.empty()) wrong = FillProtocols(settings);
  if (wrong.empty()) wrong = FillNetworks(settings);
  if (!wrong.empty()) return wrong;
  for (const std::string& port : absl::GetFlag(FLAGS_port)) {
    if (port != "silent" && port != "refuses") {
      return absl::StrCat("--port: \"", port, "\" is neither silent nor refuses");
    }
    settings->ports.push_back(port == "silent" ? Port::kSilent : Port::kRefuses);
  }
  const std::uint64_t crashes = absl::GetFlag(FLAGS_crashes);
  if (crashes < 1 || crashes > 10'000'000) return "--crashes: must be 1 to 10000000";
  const double hours = absl::GetFlag(FLAGS_member_hours);
  if (!(hours > 0 && hours <= 1e6)) return "--member_hours: must be above 0 and at most 1000000";
  settings->json = absl::GetFlag(FLAGS_json);
  settings->progress = ShowsProgress(absl::GetFlag(FLAGS_progress));
  return {};
}

void ShowProgress(const RowName& name, const std::string& what) {
  std::fprintf(stderr, "\r%s %s, %u nodes, %s  \r", name.protocol.c_str(), name.detector.c_str(), name.nodes,
               what.c_str());
}

bool RunCrashes(const Settings& settings, const RowName& name, const Config& config, const Network& network) {
  for (const Port port : settings.ports) {
    CrashPlan plan;
    plan.config = config;
    plan.nodes = name.nodes;
    plan.port = port;
    plan.loss = network.loss;
    plan.crashes = absl::GetFlag(FLAGS_crashes);
    plan.seed = name.seed;
    if (settings.progress) {
      plan.progress = [&](std::uint64_t done) {
        if (done % 10 == 0) ShowProgress(name, absl::StrCat("crash ", done, " of ", plan.crashes));
      };
    }
    const CrashSample sample = MeasureCrashes(plan);
    if (!Show(settings.json ? CrashJsonLine(name, plan, sample) : CrashTableLine(name, plan, sample))) return false;
  }
  return true;
}

bool RunSoak(const Settings& settings, RowName name, const Config& config, const Network& network) {
  name.network = network.name;
  SoakPlan plan;
  plan.config = config;
  plan.nodes = name.nodes;
  plan.loss = network.loss;
  plan.bursts = network.bursts;
  plan.member_hours = absl::GetFlag(FLAGS_member_hours);
  plan.seed = name.seed;
  if (settings.progress) {
    plan.progress = [&name](double share) {
      ShowProgress(name, absl::StrFormat("loss %s: %.0f %%", name.network, 100 * share));
    };
  }
  const SoakCounts counts = MeasureSoak(plan);
  return Show(settings.json ? SoakJsonLine(name, counts) : SoakTableLine(name, counts));
}

bool RunAll(const Settings& settings) {
  for (const double nodes : settings.nodes) {
    for (const Network& network : settings.networks) {
      for (std::size_t i = 0; i < settings.protocols.size(); ++i) {
        RowName name = settings.protocols[i];
        name.nodes = static_cast<std::uint32_t>(nodes);
        const bool shown = settings.soak ? RunSoak(settings, name, settings.configs[i], network)
                                         : RunCrashes(settings, name, settings.configs[i], network);
        if (!shown) return false;
      }
    }
  }
  return true;
}

bool Measure(const Settings& settings) {
  const bool shown = (settings.json || Show(settings.soak ? SoakTableHead() : CrashTableHead())) && RunAll(settings);
  if (settings.progress) std::fputc('\n', stderr);
  return shown;
}

}  // namespace
}  // namespace nekton::bench

int main(int argc, char** argv) {
  using namespace nekton::bench;
  Settings settings;
  const Program program{.name = "detection",
                        .help = [] { return std::string(kHelp); },
                        .fill = [&] { return Fill(&settings); },
                        .run = [&] { return Measure(settings); }};
  return RunProgram(argc, argv, program);
}
