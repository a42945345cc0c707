// Lifeguard's experiments, on nekton and on the protocols it grew from.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "bench/common/program.h"
#include "bench/common/protocols.h"
#include "bench/lifeguard/published.h"
#include "bench/lifeguard/summary.h"

ABSL_FLAG(std::vector<std::string>, protocol,
          std::vector<std::string>({"nekton", "staggered", "swim", "lifeguard", "memberlist"}), "which protocols");
ABSL_FLAG(std::vector<std::string>, block, std::vector<std::string>({"blocked", "prober", "frozen"}),
          "which kinds of anomaly");
ABSL_FLAG(std::string, set, "subset", "which points: subset, interval, threshold or full");
ABSL_FLAG(std::vector<std::string>, only, {}, "these points instead, C/D or C/D/I");
ABSL_FLAG(std::uint64_t, sample, 1, "every so many of the points");
ABSL_FLAG(std::uint64_t, runs, 1, "of each point, 1 to 10000");
ABSL_FLAG(std::uint64_t, seed, 1000, "of the first run of each point; the next one takes the next");
ABSL_FLAG(bool, events, false, "print the failure events about healthy members");
ABSL_FLAG(bool, json, false, "one JSON object a line instead of the table");
ABSL_FLAG(bool, progress, false, "show progress on standard error, as on a terminal");

namespace nekton::bench {
namespace {

constexpr std::string_view kHelp = R"(usage: lifeguard [flag...]

The experiments of the Lifeguard paper (Dadgar, Phillips, Currey, DSN 2018, section V) in the simulator: 128 members, of
which C suffer an anomaly at the same times. Interval: anomalies of D ms and normal times of I ms take turns until 120 s
have passed; Threshold: one anomaly, until all hold all ACTIVE again or 120 s have passed.

  --protocol=LIST  nekton, staggered, swim, lifeguard, memberlist; all by default
  --block=LIST     what an anomaly is; all three by default.
                   blocked: before each send and after each receive the member waits, its timers run on, as in the
                   paper; but it is an event loop, so that it goes on beginning probe rounds, whose frames queue.
                   prober: the same of a process like memberlist, the paper's own, where the prober and the gossiper are
                   threads of their own that get stuck in their first send.
                   frozen: the whole process stands still.
  --set=NAME       subset (default): the 60 Interval points listed below; interval: all 432; threshold: 54; full: both
  --only=LIST      these points instead: C/D or C/D/I, as in 8/2048/64
  --sample=K       only every K-th of the points, from the one with the index seed % K on (default 1). So a long run can
                   be cut into K pieces, by as many seeds in a row: together they take each point once, and the JSON
                   lines of the pieces may be put into one file. The counts of its lines add up; quantiles do not. A K
                   without a factor of 2 or 3, as 7 or 11, gives a piece something of every C, D and I.
  --runs=N         of each point (default 1)
  --seed=N         of the first run of each point (default 1000); the next run takes the next
  --events         prints each failure event about a healthy member, and what came before about the same member
  --json           one JSON object a line: each point, then all of them together
  --progress       shows progress on standard error, as it does on a terminal
  --help           this text

The baselines are built from the switches of nekton's engine (bench/common/protocols.h). Which process they are the
protocol of matters more than most of these switches. A blocked event loop begins a round a period; each of them
fails, and its suspicions run out while nobody can refute them. A member with a stuck prober begins at most one round
in an anomaly. Its ping goes out when the anomaly ends; if that is after the round's end, the relays are asked, the
round fails at once, and an ack comes too late. Its suspicions run out in the anomaly all the same, and what it says
of that is gossiped after it. So compare swim, lifeguard and memberlist with the paper on prober; blocked is what they
would be as event loops, as nekton is. On frozen no suspicion runs out in an anomaly. Two simplifications flatter the
baselines: an ack cancels the accuser's own suspicion, up to a period after its round failed (but for a round that was
stuck); memberlist waits for a refutation. And a member that comes back is put among those that are still to be probed
in the present turn of the ring, which finds it a few tenths of a second sooner in the next anomaly.

Columns, per run. FP: failure events about members that suffer no anomaly, at any observer; FP-: those at observers that
suffer none. accused: members that suffer none and were suspected by anyone. first, full: seconds from the beginning of
an anomaly of at least 16384 ms to the first failure event at a healthy observer, and until all of these hold the member
dead; of anomalies alone at whose beginning none did. missed: those of them that nobody noticed. removed: anomalies, by
D, whose member a healthy observer declared dead; up to 8192 ms that is a price. dg/s, B/s: datagrams and their bytes
that a member sent a second, without headers of UDP and IP, from the first anomaly to the end of the last.
Events of the 15 s after the last anomaly count as well. After the sets interval and full come the paper's figures, of
all 432 Interval points on real processes, 10 times each; in JSON with "published": true. They do not say what a member
sent a second, only how much that is of swim's.
Status: 0, 1 failed, or a flag that cannot be read, 2 wrong arguments.

)";

std::string Help() {
  return absl::StrCat(absl::string_view(kHelp.data(), kHelp.size()), "The subset, C/D/I: ",
                      absl::StrJoin(SubsetPoints(), " ",
                                    [](std::string* out, const Point& point) { absl::StrAppend(out, Name(point)); }),
                      "\n");
}

struct Plan {
  std::vector<std::string> protocols;
  std::vector<Config> configs;
  std::vector<Block> blocks;
  std::vector<Point> points;
  std::string label;
  bool published = false;  // the paper has figures of these points
  std::uint64_t runs = 1;
  std::uint64_t seed = 0;
  bool json = false;
  bool events = false;
  bool progress = false;
};

constexpr std::uint32_t kMembers = 128;

std::string TakeSample(Plan* plan) {
  const std::uint64_t share = absl::GetFlag(FLAGS_sample);
  if (share < 1 || share > plan->points.size()) return absl::StrCat("--sample: must be 1 to ", plan->points.size());
  if (share == 1) return {};
  plan->points = Sample(plan->points, share, plan->seed);
  absl::StrAppend(&plan->label, ", 1 of ", share);
  return {};
}

// Its message, if it is not empty, says what is wrong with the flags.
std::string Fill(Plan* plan) {
  for (const std::string& name : absl::GetFlag(FLAGS_protocol)) {
    const absl::StatusOr<Config> config = ProtocolConfig(name);
    if (!config.ok()) return absl::StrCat("--protocol: ", config.status().message());
    plan->protocols.push_back(name);
    plan->configs.push_back(*config);
  }
  for (const std::string& name : absl::GetFlag(FLAGS_block)) {
    const std::optional<Block> block = ParseBlock(name);
    if (!block) return "--block: must be of blocked, prober and frozen";
    plan->blocks.push_back(*block);
  }
  plan->label = absl::GetFlag(FLAGS_set);
  const std::optional<std::vector<Point>> points = PointsOf(plan->label);
  if (!points) return "--set: must be subset, interval, threshold or full";
  plan->points = *points;
  plan->published = plan->label == "interval" || plan->label == "full";
  if (const std::vector<std::string> only = absl::GetFlag(FLAGS_only); !only.empty()) {
    plan->label = absl::StrJoin(only, " ");
    plan->published = false;
    plan->points.clear();
    for (const std::string& text : only) {
      const std::optional<Point> point = ParsePoint(text);
      if (!point || point->blocked >= kMembers) {
        return absl::StrCat("--only: ", text, " is no C/D or C/D/I with C from 1 to ", kMembers - 1);
      }
      plan->points.push_back(*point);
    }
  }
  plan->runs = absl::GetFlag(FLAGS_runs);
  if (plan->runs < 1 || plan->runs > 10'000) return "--runs: must be 1 to 10000";
  plan->seed = absl::GetFlag(FLAGS_seed);
  if (std::string wrong = TakeSample(plan); !wrong.empty()) return wrong;
  plan->json = absl::GetFlag(FLAGS_json);
  plan->events = absl::GetFlag(FLAGS_events);
  plan->progress = ShowsProgress(absl::GetFlag(FLAGS_progress));
  return {};
}

// Keeps the latest events, to show what led to a failure event.
class Story {
 public:
  void Saw(const SimEvent& event) {
    const SimId subject = SubjectOf(event.event);
    if (subject == kNobody) return;
    if (subject >= about_.size()) about_.resize(subject + 1);
    about_[subject].push_back(event);
  }
  void Tell(const std::vector<bool>& healthy_failed) const {
    for (SimId id = 0; id < healthy_failed.size() && id < about_.size(); ++id) {
      if (!healthy_failed[id]) continue;
      for (const SimEvent& event : about_[id]) std::cerr << event << "\n";
    }
  }

 private:
  std::vector<std::vector<SimEvent>> about_;
};

TrialResult RunOne(const Plan& plan, const Trial& trial) {
  if (!plan.events) return RunTrial(trial);
  const TrialResult first = RunTrial(trial);
  if (first.false_positives == 0) return first;
  Story story;
  std::vector<bool> failed(kMembers, false);
  std::vector<bool> sick(kMembers, false);
  Trial again = trial;
  again.watch = [&](const SimEvent& event) {
    story.Saw(event);
    const SimId subject = SubjectOf(event.event);
    if (event.event.kind == EventKind::kFailed && subject < kMembers) failed[subject] = true;
  };
  again.sick = [&](const std::vector<SimId>& ids) {
    for (const SimId id : ids) sick[id] = true;
  };
  const TrialResult second = RunTrial(again);
  std::cerr << Name(trial.point) << " seed " << trial.seed << ", sick:";
  for (SimId id = 0; id < kMembers; ++id) {
    if (!sick[id]) continue;
    failed[id] = false;
    std::cerr << " n" << id;
  }
  std::cerr << "\n";
  story.Tell(failed);
  return second;
}

bool RunProtocol(const Plan& plan, std::size_t protocol, Block block) {
  Summary all(plan.protocols[protocol], block, plan.seed);
  for (std::size_t i = 0; i < plan.points.size(); ++i) {
    Summary of_point(plan.protocols[protocol], block, plan.seed);
    for (std::uint64_t run = 0; run < plan.runs; ++run) {
      if (plan.progress) {
        std::fprintf(stderr, "\r%s %s: point %zu of %zu, run %zu, %zu FP \r", plan.protocols[protocol].c_str(),
                     std::string(Name(block)).c_str(), i + 1, plan.points.size(), static_cast<std::size_t>(run + 1),
                     static_cast<std::size_t>(all.false_positives()));
      }
      Trial trial;
      trial.config = plan.configs[protocol];
      trial.point = plan.points[i];
      trial.block = block;
      trial.seed = plan.seed + run;
      trial.members = kMembers;
      const TrialResult result = RunOne(plan, trial);
      all.Add(trial.point, trial.seed, result);
      of_point.Add(trial.point, trial.seed, result);
    }
    if (plan.json && !Show(of_point.JsonLine(Name(plan.points[i])))) return false;
  }
  if (plan.progress) std::fputc('\n', stderr);
  return Show(plan.json ? all.JsonLine(plan.label) : all.Text());
}

bool Measure(const Plan& plan) {
  bool shown = plan.json || Show(Summary::TextHead());
  for (std::size_t i = 0; i < plan.protocols.size(); ++i) {
    for (const Block block : plan.blocks) shown = shown && RunProtocol(plan, i, block);
  }
  for (const Published& result : PublishedResults()) {
    if (plan.published) shown = shown && Show(plan.json ? JsonLine(result) : Text(result));
  }
  return shown;
}

}  // namespace
}  // namespace nekton::bench

int main(int argc, char** argv) {
  using namespace nekton::bench;
  Plan plan;
  const Program program{.name = "lifeguard",
                        .help = [] { return Help(); },
                        .fill = [&] { return Fill(&plan); },
                        .run = [&] { return Measure(plan); }};
  return RunProgram(argc, argv, program);
}
