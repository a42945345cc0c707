#include "bench/papers/faults.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/common/group.h"

namespace nekton::bench {
namespace {

using namespace std::chrono_literals;
using Seconds = std::chrono::duration<double>;
using WallClock = std::chrono::steady_clock;

constexpr std::uint32_t kFlip = 20;  // s
constexpr double kLoss = 0.8;
constexpr std::uint64_t kSalt = 0x6661756c7473;

class Run {
 public:
  explicit Run(const FaultsPlan& plan)
      : plan_(plan),
        group_(plan.config, plan.nodes, MixSeeds(plan.seed, kSalt)),
        faulty_(plan.nodes, kNone),
        changes_(plan.nodes, 0) {}

  Faults Measure() {
    const WallClock::time_point began = WallClock::now();
    Tell(plan_.progress, "members meet");
    result_.complete = group_.Gather();
    if (!result_.complete) return result_;
    sim().RunFor(5s);
    Choose();
    sim().SetHandler([this](const SimEvent& event) { Saw(event); });
    from_ = sim().now();
    Bandwidth bandwidth(sim());
    for (std::uint32_t second = 0; second < plan_.seconds; ++second) {
      Act(second);
      sim().RunTo(from_ + std::chrono::seconds(second + 1));
      bandwidth.Sample();
      Look(second + 1);
      if (second % 10 == 0) Tell(plan_.progress, absl::StrCat("second ", second, " of ", plan_.seconds));
    }
    result_.sent = bandwidth.Sent();
    result_.received = bandwidth.Received();
    Finish();
    result_.wall_s = Seconds(WallClock::now() - began).count();
    return result_;
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;

  Simulator& sim() { return group_.sim(); }
  bool well(SimId id) const { return faulty_[id] == kNone; }
  std::size_t well_count() const { return plan_.nodes - ids_.size(); }

  void Choose() {
    for (const SimId id : group_.Choose(plan_.nodes)) {
      if (id == 0 || ids_.size() == plan_.faulty) continue;
      faulty_[id] = static_cast<std::uint32_t>(ids_.size());
      ids_.push_back(id);
    }
    dead_.assign(ids_.size(), std::vector<bool>(plan_.nodes, false));
    dead_at_.assign(ids_.size(), 0);
    removed_at_.assign(ids_.size(), std::nullopt);
  }

  // What happens when this second begins.
  void Act(std::uint32_t second) {
    const bool flips = plan_.fault == Fault::kFlipIn || plan_.fault == Fault::kFlipOut;
    if (second > 0 && !(flips && second % kFlip == 0)) return;
    for (const SimId id : ids_) {
      switch (plan_.fault) {
        case Fault::kCrash:
          sim().Crash(id);
          break;
        case Fault::kFlipIn:
        case Fault::kFlipOut:
          Flip(id, second % (2 * kFlip) == 0);
          break;
        case Fault::kLossIn:
          sim().network().SetIn(id, {.loss = {.rate = kLoss}});
          break;
        case Fault::kLossOut:
          sim().network().SetOut(id, {.loss = {.rate = kLoss}});
          break;
      }
    }
  }

  void Flip(SimId id, bool off) {
    if (!off) return sim().network().Heal(id);
    plan_.fault == Fault::kFlipIn ? sim().network().CutIn(id) : sim().network().CutOut(id);
  }

  void Saw(const SimEvent& seen) {
    const SimId subject = SubjectOf(seen.event);
    if (subject >= plan_.nodes || subject == seen.member) return;
    switch (seen.event.kind) {
      case EventKind::kSuspected:
        result_.suspected_healthy += well(subject) && well(seen.member) ? 1 : 0;
        return;
      case EventKind::kFailed:
        return Failed(seen, subject);
      case EventKind::kJoined:
      case EventKind::kRecovered:
      case EventKind::kRestarted:
        return Returned(seen, subject);
      default:
        return;
    }
  }

  void Failed(const SimEvent& seen, SimId subject) {
    if (well(subject)) {
      ++result_.failed_healthy;
      result_.failed_healthy_at_healthy += well(seen.member) ? 1 : 0;
      return;
    }
    if (!well(seen.member)) return;
    ++result_.failed_faulty;
    const std::uint32_t index = faulty_[subject];
    if (dead_[index][seen.member]) return;
    dead_[index][seen.member] = true;
    ++changes_[seen.member];
    if (++dead_at_[index] == well_count() && !removed_at_[index]) removed_at_[index] = seen.at - from_;
  }

  void Returned(const SimEvent& seen, SimId subject) {
    if (well(subject) || !well(seen.member)) return;
    const std::uint32_t index = faulty_[subject];
    if (!dead_[index][seen.member]) return;
    dead_[index][seen.member] = false;
    --dead_at_[index];
    ++changes_[seen.member];
    ++result_.readmission_events;
    returns_.insert({subject, seen.event.member->key});
  }

  void Look(std::uint32_t second) {
    std::vector<std::uint32_t> sizes;
    for (SimId id = 0; id < plan_.nodes; ++id) {
      if (well(id)) sizes.push_back(static_cast<std::uint32_t>(sim().member(id)->alive()));
    }
    std::sort(sizes.begin(), sizes.end());
    const ViewSizes view = {second, sizes.front(), sizes[(sizes.size() - 1) / 2], sizes.back()};
    const auto different = static_cast<std::uint32_t>(std::set(sizes.begin(), sizes.end()).size());
    result_.sizes_max = std::max(result_.sizes_max, different);
    result_.seconds_disagreed += different > 1 ? 1 : 0;
    const auto same = [&view](const ViewSizes& last) {
      return last.smallest == view.smallest && last.median == view.median && last.largest == view.largest;
    };
    if (result_.views.empty() || !same(result_.views.back())) result_.views.push_back(view);
  }

  void Finish() {
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      if (removed_at_[i]) result_.removed_s.push_back(Seconds(*removed_at_[i]).count());
      result_.gone += Gone(ids_[i]) ? 1 : 0;
    }
    result_.readmissions = returns_.size();
    for (SimId id = 0; id < plan_.nodes; ++id) {
      if (!well(id)) continue;
      result_.changes_mean += changes_[id];
      result_.changes_max = std::max(result_.changes_max, changes_[id]);
    }
    result_.changes_mean /= static_cast<double>(well_count());
  }

  // As the tables have it, whatever the events said.
  bool Gone(SimId subject) {
    for (SimId id = 0; id < plan_.nodes; ++id) {
      if (!well(id)) continue;
      const MemberPtr row = sim().member(id)->Find(sim().name(subject));
      if (row != nullptr && (row->status == MemberStatus::kActive || row->status == MemberStatus::kSuspect))
        return false;
    }
    return true;
  }

  const FaultsPlan& plan_;
  Group group_;
  Faults result_;
  std::vector<SimId> ids_;               // of the faulty
  std::vector<std::uint32_t> faulty_;    // by member: its place in ids_, or kNone
  std::vector<std::vector<bool>> dead_;  // by place and observer
  std::vector<std::size_t> dead_at_;     // by place: how many observers that are well hold it dead
  std::vector<std::optional<Duration>> removed_at_;
  std::vector<std::uint32_t> changes_;  // by observer
  std::set<std::pair<SimId, LifeKey>> returns_;
  Duration from_{};
};

}  // namespace

absl::StatusOr<Fault> FaultNamed(std::string_view name) {
  const auto found = std::find(kFaultNames.begin(), kFaultNames.end(), name);
  if (found != kFaultNames.end()) return static_cast<Fault>(found - kFaultNames.begin());
  return absl::InvalidArgumentError(absl::StrCat("no fault \"", absl::string_view(name.data(), name.size()),
                                                 "\"; there are crash, flip_in, flip_out, loss_in and loss_out"));
}

Faults MeasureFaults(const FaultsPlan& plan) { return Run(plan).Measure(); }

}  // namespace nekton::bench
