#include "tests/freeze_promise.h"

#include <algorithm>
#include <iostream>
#include <sstream>
#include <vector>

#include "swim/random.h"
#include "tests/cluster.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kFreezeStream = 0x66726565;  // the seed's randomness here is not that of the simulator
constexpr std::size_t kStoryLines = 200;

// One run while it goes on.
class Play {
 public:
  explicit Play(const FreezeRun& run)
      : run_(run),
        random_(run.seed ^ kFreezeStream),
        cluster_(
            {.nodes = run.nodes, .seed = run.seed, .sim = {.lossy_streams = true}, .start = false, .record = false}),
        froze_(run.nodes, false),
        condemned_by_(run.nodes, 0) {
    result_.runs = 1;
  }

  const FreezeResult& result() const { return result_; }

  void Go() {
    Start();
    if (!cluster_.sim().RunUntil([this] { return cluster_.sim().Converged(); }, 60s)) {
      result_.unjoined = 1;
      return;
    }
    Choose();
    cluster_.Lose(run_.loss);
    cluster_.RunFor(UpTo(2s));
    // Events are made from here on: joining makes N * N of them that nobody asks for.
    cluster_.sim().SetHandler([this](const SimEvent& event) { Take(event); });
    began_ = cluster_.now();
    for (SimId id = 0; id < run_.nodes; ++id) {
      if (froze_[id]) cluster_.Pause(id);
    }
    cluster_.RunFor(run_.length);
    for (SimId id = 0; id < run_.nodes; ++id) {
      if (froze_[id]) cluster_.Resume(id);
    }
    cluster_.RunFor(run_.watched);
    cluster_.Lose(0);
    result_.unsettled = cluster_.sim().RunUntil([this] { return AllActive(); }, 30s, 1s) ? 0 : 1;
  }

  // Only for a run whose end is known: keeps the events about these members, and their own.
  void Tell(const std::vector<bool>& about) { told_ = about; }
  std::vector<bool> Unlucky() const {
    std::vector<bool> unlucky(run_.nodes, false);
    for (SimId id = 0; id < run_.nodes; ++id) unlucky[id] = condemned_by_[id] > 0 || (result_.unsettled && froze_[id]);
    return unlucky;
  }
  std::string Story() const {
    std::ostringstream out;
    out << run_ << " " << result_ << "\nfrozen at " << began_.count() / 1'000'000 << " ms:";
    for (SimId id = 0; id < run_.nodes; ++id) out << (froze_[id] ? " " + cluster_.member(id).Self()->name : "");
    out << "; those that fared badly, the first " << kStoryLines << " events:\n" << story_.str();
    return out.str();
  }

 private:
  Duration UpTo(Duration limit) {
    return Duration(static_cast<std::int64_t>(random_.Unit() * static_cast<double>(limit.count())));
  }

  // One after the other: 512 that start at once spend most of the run's time on learning of each other.
  void Start() {
    for (SimId id = 0; id < run_.nodes; ++id) {
      const absl::Status started = cluster_.sim().Start(id);
      if (!started.ok()) ADD_FAILURE() << started;
      cluster_.RunFor(UpTo(40ms));
    }
  }

  void Choose() {
    const auto wanted = static_cast<std::size_t>(run_.share * static_cast<double>(run_.nodes) + 0.5);
    result_.frozen = std::clamp<std::size_t>(wanted, 1, run_.nodes - 1);
    for (std::size_t chosen = 0; chosen < result_.frozen;) {
      const SimId id = random_.Below(static_cast<std::uint32_t>(run_.nodes));
      if (froze_[id]) continue;
      froze_[id] = true;
      ++chosen;
    }
  }

  void Take(const SimEvent& event) {
    const MemberPtr& member = event.event.member;
    if (member == nullptr) return;
    const SimId subject = cluster_.sim().Owner(member->address);
    const EventKind kind = event.event.kind;
    if (kind == EventKind::kSuspected && froze_[subject]) ++result_.suspicions;
    if (kind == EventKind::kFailed) Verdict(event.member, subject);
    const bool told = !told_.empty() && (told_[subject] || told_[event.member]);
    if (told && lines_++ < kStoryLines) story_ << event << "\n";
  }

  void Verdict(SimId observer, SimId subject) {
    if (!froze_[subject]) {
      ++result_.bystanders;
    } else {
      ++(froze_[observer] ? result_.by_frozen : result_.verdicts);
      if (condemned_by_[subject] == 0) ++result_.condemned;
    }
    result_.observers = std::max(result_.observers, ++condemned_by_[subject]);
  }

  bool AllActive() {
    if (!cluster_.sim().Converged()) return false;
    for (SimId id = 0; id < run_.nodes; ++id) {
      for (const MemberPtr& row : cluster_.member(id).Members()) {
        if (row->status != MemberStatus::kActive) return false;
      }
    }
    return true;
  }

  const FreezeRun run_;
  Random random_;
  Cluster cluster_;
  FreezeResult result_;
  std::vector<bool> froze_;
  std::vector<std::size_t> condemned_by_;  // how often it was called INACTIVE: once an observer, but for relapses
  Duration began_{};
  std::vector<bool> told_;
  std::size_t lines_ = 0;
  std::ostringstream story_;
};

}  // namespace

FreezeResult& FreezeResult::operator+=(const FreezeResult& other) {
  runs += other.runs;
  frozen += other.frozen;
  condemned += other.condemned;
  observers = std::max(observers, other.observers);
  verdicts += other.verdicts;
  by_frozen += other.by_frozen;
  bystanders += other.bystanders;
  suspicions += other.suspicions;
  unsettled += other.unsettled;
  unjoined += other.unjoined;
  return *this;
}

std::ostream& operator<<(std::ostream& out, const FreezeRun& run) {
  out << "N=" << run.nodes << " seed " << run.seed << ", ";
  if (run.share > 0) {
    out << run.share * 100 << " % frozen for ";
  } else {
    out << "one frozen for ";
  }
  return out << run.length.count() / 1'000'000 << " ms, " << run.loss * 100 << " % loss:";
}

std::ostream& operator<<(std::ostream& out, const FreezeResult& result) {
  out << result.runs << " runs, " << result.frozen << " frozen, " << result.suspicions << " suspicions, "
      << result.condemned << " condemned (verdicts: " << result.verdicts << " by others, " << result.by_frozen
      << " by frozen ones; " << result.observers << " about one member at most), " << result.bystanders
      << " verdicts about bystanders";
  if (result.unsettled > 0) out << ", " << result.unsettled << " UNSETTLED";
  if (result.unjoined > 0) out << ", " << result.unjoined << " NEVER CONVERGED";
  return out;
}

FreezeResult Freeze(const FreezeRun& run, std::string* story) {
  Play play(run);
  play.Go();
  const FreezeResult result = play.result();
  if (story != nullptr && (result.all_verdicts() > 0 || result.unsettled > 0)) {
    Play again(run);
    again.Tell(play.Unlucky());
    again.Go();
    *story = again.Story();
  }
  return result;
}

FreezeResult FreezeSeeds(FreezeRun run, std::size_t seeds) {
  using Steady = std::chrono::steady_clock;
  const Steady::time_point began = Steady::now();
  Steady::time_point spoke = began;
  FreezeResult sum;
  for (std::size_t i = 0; i < seeds; ++i, ++run.seed) {
    std::string story;
    sum += Freeze(run, &story);
    if (!story.empty()) std::cerr << story;
    if (Steady::now() - spoke < 10s) continue;
    spoke = Steady::now();
    std::cerr << run << " so far " << sum << ", "
              << std::chrono::duration_cast<std::chrono::seconds>(spoke - began).count() << " s\n";
  }
  return sum;
}

}  // namespace nekton
