#include "bench/common/crasher.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "bench/common/acquaintance.h"
#include "bench/common/group.h"

namespace nekton::bench {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLimit = 2min;
constexpr Duration kStep = 10ms;
constexpr Duration kRareStep = 100ms;  // where looking takes a walk over all members
constexpr std::uint64_t kSalt = 0x637261736865;

}  // namespace

Crasher::Crasher(const Config& config, std::uint32_t members, const SimOptions& options)
    : config_(config), sim_(options), random_(MixSeeds(options.seed, kSalt)), knows_(members, false) {
  for (std::uint32_t i = 0; i < members; ++i) sim_.Add(config, {.address = {}, .record = false});
  ok_ = Acquaint(&sim_);
  sim_.SetHandler([this](const SimEvent& event) { Saw(event); });
}

CrashTimes Crasher::Crash(Port port, const std::function<void(SimId)>& before) {
  const auto size = static_cast<std::uint32_t>(sim_.size());
  sim_.RunFor(Duration(static_cast<Duration::rep>(random_.Unit() * static_cast<double>(config_.period.count()))));
  victim_ = random_.Below(size);
  crashed_at_ = sim_.now();
  times_ = {};
  known_by_ = 0;
  knows_.assign(size, false);
  if (before) before(*victim_);
  sim_.Crash(*victim_, port);
  if (!sim_.RunUntil([this, size] { return known_by_ == size - 1; }, kLimit, kStep)) times_.known.reset();
  if (times_.confirmed) times_.suspected = std::min(times_.suspected.value_or(*times_.confirmed), *times_.confirmed);
  return times_;
}

void Crasher::Recover(Duration settle) {
  if (!victim_) return;
  Config seeded = config_;
  for (const std::uint32_t step : {1U, 2U}) {  // the next two members; in a pair, the other one
    const SimId seed = static_cast<SimId>((*victim_ + step) % sim_.size());
    if (seed != *victim_) seeded.seeds.push_back(sim_.address(seed).ToString());
  }
  RestartOptions options;
  options.config = seeded;
  ok_ = ok_ && sim_.Restart(*victim_, options).ok();
  victim_.reset();
  ok_ = ok_ && sim_.RunUntil([this] { return sim_.Converged(); }, kLimit, kRareStep);
  sim_.RunFor(settle);
}

void Crasher::Saw(const SimEvent& event) {
  const EventKind kind = event.event.kind;
  if (kind != EventKind::kSuspected && kind != EventKind::kFailed) return;
  const SimId subject = SubjectOf(event.event);
  if (subject == kNobody || subject >= sim_.size()) return;
  if (!victim_ || subject != *victim_) {
    if (event.event.member->key.generation != sim_.generation(subject)) return;  // a life that ended
    ++(kind == EventKind::kSuspected ? false_suspicions_ : false_deaths_);
    return;
  }
  const Duration after = event.at - crashed_at_;
  if (kind == EventKind::kSuspected) {
    if (!times_.suspected) times_.suspected = after;
    return;
  }
  if (knows_[event.member]) return;
  knows_[event.member] = true;
  ++known_by_;
  if (!times_.confirmed) times_.confirmed = after;
  times_.known = after;
}

}  // namespace nekton::bench
