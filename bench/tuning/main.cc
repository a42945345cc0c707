// Chooses parameters by measuring: what each rule is worth, and which values of the parameters no others beat.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "bench/common/program.h"
#include "bench/hardship/variants.h"
#include "bench/tuning/measures.h"
#include "bench/tuning/published.h"
#include "bench/tuning/report.h"
#include "bench/tuning/settings.h"

ABSL_FLAG(bool, rules, false, "nekton, and nekton with each of its parts left out in turn");
ABSL_FLAG(bool, grid, false, "along each parameter, beside the baselines and the published points");
ABSL_FLAG(bool, full, false, "--grid: every combination of the values");
ABSL_FLAG(std::uint64_t, sample, 1, "--grid: every so manieth setting");
ABSL_FLAG(std::uint64_t, crashes, 500, "of each row");
ABSL_FLAG(double, hours, 300, "member-hours at 30 % loss of each row");
ABSL_FLAG(std::uint64_t, runs, 1, "of the Interval set of each row, and as many times the runs of the other cases");
ABSL_FLAG(std::uint64_t, seed, 1, "of all rows");
ABSL_FLAG(bool, json, false, "one JSON object a line instead of the table");
ABSL_FLAG(bool, progress, false, "show progress on standard error, as on a terminal");

namespace nekton::bench {
namespace {

// Of each run of the Interval set, which takes longest.
constexpr std::uint64_t kFreezes = 200;
constexpr std::uint64_t kPairs = 40;
constexpr std::uint64_t kLossy = 20;

constexpr std::string_view kHelp = R"(usage: tuning --rules | --grid [flag...]

Measures, in the simulator, how good a setting of the protocol is: a row for each, printed as soon as it is there.

  --rules       the default setting, and it with one of its rules and parts left out at a time (17 rows)
  --grid        the default setting, and it with one parameter changed at a time; swim, lifeguard and memberlist; and
                the nine points that the Lifeguard paper publishes (16 + 3 measured rows)
    --full      every combination of the values instead (768)
    --sample=K  every K-th of them, and the default. K without a factor 2 or 3 gives each value its turn

  --crashes=N   of each row (default 500)
  --hours=H     member-hours at 30 % loss of each row (default 300)
  --runs=N      of the Interval set of each row (default 1), and 200 N freezes; with --rules 40 N groups with broken
                pairs and 20 N with lossy members, too
  --seed=N      of all rows (default 1)
  --json        one JSON object a line instead of the table
  --progress    shows progress on standard error, as it does on a terminal
  --help        this text

With these defaults --rules takes about ten minutes of one core, --grid the same, and with --full some hours.

Parameters: hold is Config::tolerated_pause (the shortest hold is the longer of hold - 0.5 s and log10 N s: 2.1 s with
128 members, so that 1.5 s and 2 s are the same); beta is hold_beta; K is confirmers; attempts, with an equal
rumour_weight; relays.

crash: one of 128 dies silently, until all know. 30 % loss: of 32 members, all alive; suspicions by evidence of their
own, members declared dead, datagrams sent. Interval: hardship's interval/12, twelve trials of Lifeguard's experiment
with blocked members; per trial: failure events about healthy members, of these at healthy ones (FP-), healthy members
accused. freeze: 10 % of 32 stand still for 3 s at 5 % loss; failure events about them. pairs: 30 % of the pairs of 32
cannot talk, 10 min. lossy: 4 of 32 lose 80 % both ways, 10 min; failure events about healthy and about lossy members,
and how often an observer takes a dead one back. 95 % intervals are in the JSON: exact Poisson ones, which take events
for independent; one death is an event at every observer, so for failure events they are too narrow.
Status: 0, 1 failed, or a flag that cannot be read, 2 wrong arguments.
)";

struct Plan {
  bool rules = false;
  std::vector<Setting> settings;
  Effort effort;
  std::string size;  // of it, in words
  bool json = false;
  bool progress = false;
};

void FillSettings(Plan* plan) {
  if (plan->rules) {
    for (const Variant& variant : LeaveOneOut()) {
      plan->settings.push_back({variant.name, variant.config, plan->settings.empty(), false});
    }
    plan->size = absl::StrCat(plan->settings.size(), " rows");
    return;
  }
  const std::vector<Setting> all = absl::GetFlag(FLAGS_full) ? Product() : Star();
  plan->settings = EveryNth(all, absl::GetFlag(FLAGS_sample));
  plan->size = absl::StrCat(plan->settings.size(), " of ", all.size(), " settings, and the baselines");
  for (const Setting& baseline : Baselines()) plan->settings.push_back(baseline);
}

// Its message, if it is not empty, says what is wrong with the flags.
std::string Fill(Plan* plan) {
  plan->rules = absl::GetFlag(FLAGS_rules);
  if (plan->rules == absl::GetFlag(FLAGS_grid)) return "needs either --rules or --grid; see --help";
  const std::uint64_t sample = absl::GetFlag(FLAGS_sample);
  if (plan->rules && (absl::GetFlag(FLAGS_full) || sample != 1)) return "--full and --sample go with --grid";
  if (sample < 1 || sample > 1'000'000) return "--sample: must be 1 to 1000000";
  const std::uint64_t crashes = absl::GetFlag(FLAGS_crashes);
  if (crashes < 1 || crashes > 10'000'000) return "--crashes: must be 1 to 10000000";
  const double hours = absl::GetFlag(FLAGS_hours);
  if (!(hours > 0 && hours <= 1e6)) return "--hours: must be above 0 and at most 1000000";
  const std::uint64_t runs = absl::GetFlag(FLAGS_runs);
  if (runs < 1 || runs > 10'000) return "--runs: must be 1 to 10000";
  plan->effort = {.crashes = crashes,
                  .member_hours = hours,
                  .intervals = runs,
                  .freezes = kFreezes * runs,
                  .pairs = plan->rules ? kPairs * runs : 0,
                  .lossy = plan->rules ? kLossy * runs : 0,
                  .seed = absl::GetFlag(FLAGS_seed)};
  plan->json = absl::GetFlag(FLAGS_json);
  plan->progress = ShowsProgress(absl::GetFlag(FLAGS_progress));
  FillSettings(plan);
  return {};
}

bool RunSetting(const Plan& plan, std::size_t index) {
  TuningRow row;
  row.table = plan.rules ? "rules" : "grid";
  row.setting = plan.settings[index];
  row.number = index + 1;
  row.of = plan.settings.size();
  row.seed = plan.effort.seed;
  const auto progress = [&](const std::string& what) {
    std::fprintf(stderr, "\r%zu of %zu, %s: %s   \r", row.number, row.of, row.setting.name.c_str(), what.c_str());
  };
  row.measures =
      plan.progress ? Measure(row.setting.config, plan.effort, progress) : Measure(row.setting.config, plan.effort);
  return Show(plan.json ? TuningJson(row) : TuningText(row));
}

bool RunPublished(bool json) {
  bool shown = json || Show(PublishedTextHead());
  for (const PublishedPoint& point : kPublishedPoints) {
    shown = shown && Show(json ? PublishedJson(point) : PublishedText(point));
  }
  return shown;
}

bool RunAll(const Plan& plan) {
  if (!plan.json && !Show(absl::StrCat(plan.size, "\n", TuningTextHead()))) return false;
  for (std::size_t i = 0; i < plan.settings.size(); ++i) {
    if (!RunSetting(plan, i)) return false;
  }
  return plan.rules || RunPublished(plan.json);
}

bool Measure(const Plan& plan) {
  const bool shown = RunAll(plan);
  if (plan.progress) std::fputc('\n', stderr);
  return shown;
}

}  // namespace
}  // namespace nekton::bench

int main(int argc, char** argv) {
  using namespace nekton::bench;
  Plan plan;
  const Program program{.name = "tuning",
                        .help = [] { return std::string(kHelp); },
                        .fill = [&] { return Fill(&plan); },
                        .run = [&] { return Measure(plan); }};
  return RunProgram(argc, argv, program);
}
