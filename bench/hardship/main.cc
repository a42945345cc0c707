// Groups in trouble: what their members make of each other.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/common/program.h"
#include "bench/common/protocols.h"
#include "bench/hardship/hardship.h"
#include "bench/hardship/report.h"
#include "bench/hardship/variants.h"

ABSL_FLAG(std::vector<std::string>, protocol, std::vector<std::string>({"nekton"}), "which protocols");
ABSL_FLAG(std::vector<std::string>, cases, {}, "which cases; all but the large ones by default");
ABSL_FLAG(bool, leave_one_out, false, "nekton, and nekton with each of its parts left out in turn");
ABSL_FLAG(std::uint64_t, runs, 0, "of each case, 1 to 100000; 0: as many as the case has by itself");
ABSL_FLAG(std::uint64_t, seed, 1000, "of the first run of each case; the next one takes the next");
ABSL_FLAG(bool, events, false, "print the suspicions, verdicts and recoveries on standard error");
ABSL_FLAG(bool, json, false, "one JSON object a line instead of the table");
ABSL_FLAG(bool, progress, false, "show progress on standard error, as on a terminal");

namespace nekton::bench {
namespace {

constexpr std::string_view kHelp = R"(usage: hardship [flag...]

Makes trouble for groups of members in the simulator, and counts what they make of each other.

  --protocol=LIST  nekton (default), staggered, swim, lifeguard, memberlist (bench/common/protocols.h)
  --cases=LIST     which of the cases below; all but those marked * by default
  --leave_one_out  nekton, and nekton with one of its rules and parts left out at a time, instead of --protocol; the
                   cases by default: interval/12, freeze/128/loss, lossy/32, pairs/32/50, loss/32, crash/128
  --runs=N         of each case (default: the numbers below)
  --seed=N         of the first run of each case (default 1000); the next run takes the next
  --events         prints suspicions, verdicts and recoveries on standard error; for one case and run
  --json           one JSON object a line instead of the table
  --progress       shows progress on standard error, as it does on a terminal
  --help           this text

Columns. dead healthy: failure events, each observer's its own, about members that suffer nothing; in brackets those at
observers that suffer nothing. dead sick: such events about members that suffer. condemned: members that suffer and
were declared dead by anyone. rejoins: a dead member that suffers is ACTIVE again at one observer; comeb: the same with each incarnation of a member
counted once. gone: members that suffer and are dead, or forgotten, at all others in the end. /min: the most deaths and
rejoins of one that suffers at one observer within a minute. Per run: susp h, susp
s: suspicions about members that suffer nothing, and about the others; by sick: those of the first that come from a
sufferer's own probe rounds; accused: members that suffer nothing and were suspected by anyone. s: of what a case waits
for. dg/s, B/s: datagrams and their bytes that a member sent a second, without headers of UDP and IP.
Status: 0, 1 failed, or a flag that cannot be read, 2 wrong arguments.

Cases, with their runs:
)";

std::string Help() {
  std::string text(kHelp);
  for (const Hardship& hardship : Hardships()) {
    absl::StrAppendFormat(&text, "  %-15s %s %3d  %s\n", hardship.name, hardship.large ? "*" : " ", hardship.runs,
                          hardship.what);
  }
  return text;
}

struct Plan {
  std::vector<Variant> variants;
  std::vector<const Hardship*> cases;
  std::uint64_t runs = 0;
  std::uint64_t seed = 0;
  bool events = false;
  bool json = false;
  bool progress = false;
};

std::string FillCases(Plan* plan) {
  std::vector<std::string> names = absl::GetFlag(FLAGS_cases);
  if (names.empty() && absl::GetFlag(FLAGS_leave_one_out)) {
    names = {"interval/12", "freeze/128/loss", "lossy/32", "pairs/32/50", "loss/32", "crash/128"};
  }
  for (const std::string& name : names) {
    const Hardship* const hardship = FindHardship(name);
    if (hardship == nullptr) return absl::StrCat("--cases: there is no ", name, "; see --help");
    plan->cases.push_back(hardship);
  }
  if (!names.empty()) return {};
  for (const Hardship& hardship : Hardships()) {
    if (!hardship.large) plan->cases.push_back(&hardship);
  }
  return {};
}

// Its message, if it is not empty, says what is wrong with the flags.
std::string Fill(Plan* plan) {
  if (absl::GetFlag(FLAGS_leave_one_out)) {
    plan->variants = LeaveOneOut();
  } else {
    for (const std::string& name : absl::GetFlag(FLAGS_protocol)) {
      const absl::StatusOr<Config> config = ProtocolConfig(name);
      if (!config.ok()) return absl::StrCat("--protocol: ", config.status().message());
      plan->variants.push_back({name, *config});
    }
  }
  plan->runs = absl::GetFlag(FLAGS_runs);
  if (plan->runs > 100'000) return "--runs: must not be above 100000";
  plan->seed = absl::GetFlag(FLAGS_seed);
  plan->events = absl::GetFlag(FLAGS_events);
  plan->json = absl::GetFlag(FLAGS_json);
  plan->progress = ShowsProgress(absl::GetFlag(FLAGS_progress));
  return FillCases(plan);
}

void Print(const SimEvent& event) {
  const EventKind kind = event.event.kind;
  if (kind != EventKind::kSuspected && kind != EventKind::kFailed && kind != EventKind::kRecovered) return;
  std::cerr << event << "\n";
}

bool RunCase(const Plan& plan, const Hardship& hardship, const Variant& variant) {
  HardshipRow row{hardship.name, variant.name, plan.seed, {}};
  const std::uint64_t runs = plan.runs > 0 ? plan.runs : hardship.runs;
  for (std::uint64_t run = 0; run < runs; ++run) {
    if (plan.progress) {
      std::fprintf(stderr, "\r%s, %s: run %zu of %zu   \r", hardship.name.c_str(), variant.name.c_str(),
                   static_cast<std::size_t>(run + 1), static_cast<std::size_t>(runs));
    }
    row.outcome += hardship.run(variant.config, plan.seed + run, plan.events ? Print : nullptr);
  }
  if (plan.progress) std::fputc('\n', stderr);
  return Show(plan.json ? JsonLine(row) : TableLine(row));
}

bool Measure(const Plan& plan) {
  bool shown = plan.json || Show(TableHead());
  for (const Hardship* const hardship : plan.cases) {
    for (const Variant& variant : plan.variants) shown = shown && RunCase(plan, *hardship, variant);
  }
  return shown;
}

}  // namespace
}  // namespace nekton::bench

int main(int argc, char** argv) {
  using namespace nekton::bench;
  Plan plan;
  const Program program{.name = "hardship",
                        .help = [] { return Help(); },
                        .fill = [&] { return Fill(&plan); },
                        .run = [&] { return Measure(plan); }};
  return RunProgram(argc, argv, program);
}
