// Measures how many messages a group sends.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "bench/common/number_list.h"
#include "bench/common/program.h"
#include "bench/common/protocols.h"
#include "bench/message_cost/report.h"

ABSL_FLAG(std::vector<std::string>, nodes, std::vector<std::string>({"2", "8", "32", "128", "512", "2048"}),
          "sizes of the group");
ABSL_FLAG(std::vector<std::string>, detector, std::vector<std::string>({"fixed", "phi"}), "fixed, phi");
ABSL_FLAG(std::vector<std::string>, probing, std::vector<std::string>({"random"}), "random, staggered");
ABSL_FLAG(std::vector<std::string>, protocol, std::vector<std::string>({"nekton"}), "which protocols");
ABSL_FLAG(std::vector<std::string>, loss, std::vector<std::string>({"0"}), "probabilities that a datagram is lost");
ABSL_FLAG(double, mistake_probability, 1e-5, "of the lower bound");
ABSL_FLAG(std::uint32_t, periods, 60, "of each steady measurement");
ABSL_FLAG(std::uint32_t, crashes, 5, "of each cell");
ABSL_FLAG(bool, mesh, true, "full-mesh heartbeats beside them");
ABSL_FLAG(std::uint64_t, seed, 1, "of all runs");
ABSL_FLAG(bool, json, false, "one JSON object a line instead of the table");
ABSL_FLAG(bool, progress, false, "show progress on standard error, as on a terminal");

namespace nekton::bench {
namespace {

constexpr std::uint32_t kMeshMax = 64;

constexpr std::string_view kHelp = R"(usage: message_cost [flag...]

Measures what a simulated group sends while all is well, and what one silent crash adds. Lists are separated by commas.

  --nodes=LIST        sizes of the group, 2 to 10000 (default 2,8,32,128,512,2048)
  --detector=LIST     fixed, phi: when an attempt of a probe round is late (default both)
  --probing=LIST      random (default), staggered
  --protocol=LIST     nekton (default), swim, lifeguard, memberlist: see bench/common/protocols.h
  --loss=LIST         probabilities that a datagram or a segment of a stream is lost, 0 to 0.9 (default 0)
  --periods=N         length of the steady measurement, after 20 periods of warm-up, 1 to 100000 (default 60)
  --crashes=N         one after the other in each cell, 0 to 10000 (default 5)
  --mesh=false        without the full-mesh heartbeats
  --mistake_probability=P
                      of the lower bound, see below (default 1e-5)
  --seed=N            of all runs (default 1)
  --json              one JSON object a line, with datagrams and bytes by purpose
  --progress          shows progress on standard error, as it does on a terminal
  --help              this text

Columns. dgrams/mem/T, bytes/mem/T: datagrams and their bytes, without headers of UDP and IP, that one member sends in
one protocol period T (1 s; of the mesh 10 s). floor: what one member has to send at the least to find a crash within T
and to be mistaken for dead within T with at most the probability P, at this loss: log P / log loss, and at least 1
(Gupta, Chandra, Goldszmidt, PODC 2001). A protocol that takes longer than T to convict may send less than that.
crash: how long it took on average until all survivors knew, the datagrams and bytes that they sent in that time beyond
their steady figures, and the datagrams per survivor. mesh: each member sends each other a heartbeat; measured up to 64
members, above that computed from the rule. Status: 0, 1 failed, or a flag that cannot be read, 2 wrong arguments.
)";

struct Settings {
  std::vector<double> nodes;
  std::vector<double> losses;
  std::vector<std::string> protocols;
  std::vector<Config> configs;
  std::vector<std::string> detectors;
  std::vector<std::string> probings;
  double mistake = 0;
  bool json = false;
  bool progress = false;
};

// Its message, if it is not empty, says what is wrong with the flags.
std::string Fill(Settings* settings) {
  std::string wrong = ParseNumbers("--nodes", absl::GetFlag(FLAGS_nodes), 2, 10'000, true, &settings->nodes);
  if (wrong.empty()) wrong = ParseNumbers("--loss", absl::GetFlag(FLAGS_loss), 0, 0.9, false, &settings->losses);
  if (!wrong.empty()) return wrong;
  for (const std::string& name : absl::GetFlag(FLAGS_protocol)) {
    const absl::StatusOr<Config> config = ProtocolConfig(name);
    if (!config.ok()) return absl::StrCat("--protocol: ", config.status().message());
    if (name == "staggered") return "--protocol: staggered is --protocol=nekton --probing=staggered here";
    settings->protocols.push_back(name);
    settings->configs.push_back(*config);
  }
  settings->detectors = absl::GetFlag(FLAGS_detector);
  for (const std::string& name : settings->detectors) {
    const absl::StatusOr<DetectorKind> kind = DetectorNamed(name);
    if (!kind.ok()) return absl::StrCat("--detector: ", kind.status().message());
  }
  settings->probings = absl::GetFlag(FLAGS_probing);
  for (const std::string& name : settings->probings) {
    const absl::StatusOr<Probing> named = ProbingNamed(name);
    if (!named.ok()) return absl::StrCat("--probing: ", named.status().message());
  }
  settings->mistake = absl::GetFlag(FLAGS_mistake_probability);
  if (!(settings->mistake > 0 && settings->mistake < 1)) return "--mistake_probability: must be above 0 and below 1";
  if (absl::GetFlag(FLAGS_periods) < 1 || absl::GetFlag(FLAGS_periods) > 100'000) {
    return "--periods: must be 1 to 100000";
  }
  if (absl::GetFlag(FLAGS_crashes) > 10'000) return "--crashes: must be 0 to 10000";
  settings->json = absl::GetFlag(FLAGS_json);
  settings->progress = ShowsProgress(absl::GetFlag(FLAGS_progress));
  return {};
}

// Measures what of `row` is said already.
bool Run(const Settings& settings, CostRow row, const Config& config, std::uint32_t crashes) {
  row.mistake = settings.mistake;
  row.seed = absl::GetFlag(FLAGS_seed);
  CostPlan plan;
  plan.config = config;
  if (const auto kind = DetectorNamed(row.detector); kind.ok()) plan.config.detector = *kind;
  if (const auto named = ProbingNamed(row.probing); named.ok()) plan.config.probing = *named;
  plan.nodes = row.nodes;
  plan.loss = row.loss;
  plan.seed = row.seed;
  plan.periods = absl::GetFlag(FLAGS_periods);
  plan.crashes = crashes;
  if (settings.progress) {
    plan.progress = [&row](std::string_view what) {
      std::fprintf(stderr, "\r%s %s, %u nodes, loss %g: %-24.*s\r", row.protocol.c_str(), row.detector.c_str(),
                   row.nodes, row.loss, static_cast<int>(what.size()), what.data());
    };
  }
  if (!row.computed) row.cost = MeasureCost(plan);
  return Show(settings.json ? JsonLine(row) : TableLine(row));
}

bool RunMesh(const Settings& settings, std::uint32_t nodes, double loss) {
  if (nodes > kMeshMax) {
    CostRow row = ComputedMesh(nodes);
    row.loss = loss;
    return Run(settings, row, {}, 0);
  }
  const CostRow row{
      .protocol = "mesh", .detector = "fixed", .probing = "none", .nodes = nodes, .loss = loss, .cost = {}};
  return Run(settings, row, Config::Mesh(), 0);
}

bool RunAll(const Settings& settings) {
  for (const double loss : settings.losses) {
    for (const double nodes : settings.nodes) {
      const auto count = static_cast<std::uint32_t>(nodes);
      for (std::size_t i = 0; i < settings.protocols.size(); ++i) {
        for (const std::string& detector : settings.detectors) {
          for (const std::string& probing : settings.probings) {
            const CostRow row{.protocol = settings.protocols[i],
                              .detector = detector,
                              .probing = probing,
                              .nodes = count,
                              .loss = loss,
                              .cost = {}};
            if (!Run(settings, row, settings.configs[i], absl::GetFlag(FLAGS_crashes))) return false;
          }
        }
      }
      if (absl::GetFlag(FLAGS_mesh) && !RunMesh(settings, count, loss)) return false;
    }
  }
  return true;
}

bool Measure(const Settings& settings) {
  const bool shown = (settings.json || Show(TableHead())) && RunAll(settings);
  if (settings.progress) std::fputc('\n', stderr);
  return shown;
}

}  // namespace
}  // namespace nekton::bench

int main(int argc, char** argv) {
  using namespace nekton::bench;
  Settings settings;
  const Program program{.name = "message_cost",
                        .help = [] { return std::string(kHelp); },
                        .fill = [&] { return Fill(&settings); },
                        .run = [&] { return Measure(settings); }};
  return RunProgram(argc, argv, program);
}
