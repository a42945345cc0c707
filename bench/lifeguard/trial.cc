#include "bench/lifeguard/trial.h"

#include <algorithm>
#include <chrono>

#include "bench/lifeguard/tally.h"

namespace nekton::bench {
namespace {

using namespace std::chrono_literals;

constexpr Duration kRest = 15s;
constexpr Duration kLength = 120s;
constexpr Duration kAfterwards = 15s;

PauseOptions::Kind KindOf(Block block) {
  switch (block) {
    case Block::kBlocked:
      return PauseOptions::Kind::kBlocked;
    case Block::kProber:
      return PauseOptions::Kind::kProber;
    case Block::kFrozen:
      break;
  }
  return PauseOptions::Kind::kFrozen;
}

class Play {
 public:
  Play(const Trial& trial, Group* group)
      : trial_(trial), group_(*group), sick_(group->Choose(trial.point.blocked)), tally_(group->size(), sick_) {}

  TrialResult Go() {
    if (trial_.sick) trial_.sick(sick_);
    group_.sim().SetHandler([this](const SimEvent& event) {
      tally_.Saw(event.at, event.member, event.event);
      if (trial_.watch) trial_.watch(event);
    });
    began_ = group_.sim().now();
    group_.BeginLoad();
    const Load load = trial_.point.normal_ms ? Interval() : Threshold();
    tally_.Finish();
    return ResultOf(load);
  }

 private:
  void Anomaly() {
    tally_.Begin(group_.sim().now());
    for (const SimId id : sick_) group_.sim().Pause(id, {.kind = KindOf(trial_.block), .keep_input = true});
    group_.sim().RunFor(std::chrono::milliseconds(trial_.point.block_ms));
    tally_.End();
    for (const SimId id : sick_) group_.sim().Resume(id);
  }

  Duration passed() const { return group_.sim().now() - began_; }

  Load Threshold() {
    Anomaly();
    group_.sim().RunUntil([this] { return tally_.AllActive(); }, std::max<Duration>(kLength - passed(), 0s), 100ms);
    return group_.EndLoad();
  }

  Load Interval() {
    Anomaly();
    while (passed() < kLength) {
      group_.sim().RunFor(std::chrono::milliseconds(*trial_.point.normal_ms));
      if (passed() < kLength) Anomaly();
    }
    const Load load = group_.EndLoad();
    group_.sim().RunFor(kAfterwards);
    return load;
  }

  TrialResult ResultOf(const Load& load) const {
    return {.gathered = true,
            .false_positives = tally_.false_positives(),
            .false_positives_at_healthy = tally_.false_positives_at_healthy(),
            .healthy_suspected = tally_.healthy_suspected(),
            .anomalies = tally_.anomalies(),
            .removed = tally_.removed(),
            .missed = tally_.missed(),
            .first = tally_.first_detections(),
            .full = tally_.full_disseminations(),
            .load = load};
  }

  const Trial& trial_;
  Group& group_;
  const std::vector<SimId> sick_;
  Tally tally_;
  Duration began_{};
};

}  // namespace

std::string_view Name(Block block) {
  switch (block) {
    case Block::kBlocked:
      return "blocked";
    case Block::kProber:
      return "prober";
    case Block::kFrozen:
      break;
  }
  return "frozen";
}

std::optional<Block> ParseBlock(std::string_view text) {
  for (const Block block : kBlocks) {
    if (text == Name(block)) return block;
  }
  return std::nullopt;
}

TrialResult RunTrial(const Trial& trial) {
  Group group(trial.config, trial.members, MixSeeds(trial.seed, SaltOf(trial.point)));
  if (!group.Gather()) return {};
  group.sim().RunFor(kRest);
  return Play(trial, &group).Go();
}

}  // namespace nekton::bench
