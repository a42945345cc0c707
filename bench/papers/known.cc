#include "bench/papers/known.h"

#include <chrono>
#include <string>
#include <vector>

#include "bench/common/group.h"

namespace nekton::bench {
namespace {

using namespace std::chrono_literals;
using Seconds = std::chrono::duration<double>;

constexpr Duration kRest = 5s;
constexpr Duration kHealLimit = 2min;
constexpr Duration kIdle = 1min;
constexpr std::uint64_t kHealSalt = 0x6865616c;
constexpr std::uint64_t kSemiSalt = 0x73656d69;

std::uint64_t WrongPairs(const Simulator& sim) {
  std::uint64_t right = 0;
  for (SimId id = 0; id < sim.size(); ++id) {
    for (const MemberPtr& row : sim.member(id)->Members()) right += row->status == MemberStatus::kActive ? 1 : 0;
  }
  return std::uint64_t{sim.size()} * sim.size() - right;
}

}  // namespace

Heal MeasureHeal(const HealPlan& plan) {
  Heal heal;
  Group group(plan.config, plan.nodes, MixSeeds(plan.seed, kHealSalt));
  if (!group.Gather()) return heal;
  Simulator& sim = group.sim();
  sim.RunFor(kRest);
  group.Lose(plan.loss);
  std::vector<SimId> half;
  std::vector<SimId> rest;
  for (SimId id = 0; id < plan.nodes; ++id) (id < plan.nodes / 2 ? half : rest).push_back(id);
  sim.network().Partition({half, rest});
  sim.RunFor(plan.cut);
  heal.begun = sim.Converged(half) && sim.Converged(rest);
  const Duration from = sim.now();
  sim.SetHandler([&](const SimEvent& seen) {
    if (seen.event.kind != EventKind::kFailed) return;
    ++(seen.at - from <= plan.config.period ? heal.deaths_first_period : heal.deaths);
  });
  sim.network().HealPartition();
  if (sim.RunUntil([&] { return sim.Converged() && WrongPairs(sim) == 0; }, kHealLimit, 100ms)) {
    heal.whole_s = Seconds(sim.now() - from).count();
  }
  heal.wrong = WrongPairs(sim);
  return heal;
}

Semi MeasureSemi(const SemiPlan& plan) {
  Semi semi;
  Group group(plan.config, plan.nodes, MixSeeds(plan.seed, kSemiSalt));
  semi.begun = group.Gather();
  if (!semi.begun) return semi;
  Simulator& sim = group.sim();
  sim.RunFor(kRest);
  group.BeginLoad();
  sim.RunFor(kIdle);
  semi.idle_datagrams = group.EndLoad().DatagramsPerSecond();
  std::vector<SimId> order = group.Choose(plan.nodes);
  const SimId one = order.back();
  order.pop_back();
  const auto unheard = static_cast<std::size_t>((1 - plan.hears) * static_cast<double>(order.size()) + 0.5);
  for (std::size_t i = 0; i < unheard; ++i) sim.network().CutOneWay(order[i], one);
  std::vector<bool> accused(plan.nodes, false);
  sim.SetHandler([&](const SimEvent& seen) {
    const SimId subject = SubjectOf(seen.event);
    if (subject >= plan.nodes || subject == seen.member) return;
    const EventKind kind = seen.event.kind;
    const bool back = kind == EventKind::kRecovered && seen.event.before == MemberStatus::kInactive;
    if (subject == one) {
      semi.failed_semi += kind == EventKind::kFailed ? 1 : 0;
      semi.returned_semi += back || kind == EventKind::kJoined ? 1 : 0;
      return;
    }
    if (kind == EventKind::kSuspected) accused[subject] = true;
    if (kind == EventKind::kSuspected && seen.member != one) ++semi.suspected_healthy;
    if (kind == EventKind::kFailed) ++(seen.member == one ? semi.failed_by_semi : semi.failed_healthy);
  });
  group.BeginLoad();
  sim.RunFor(plan.length);
  semi.datagrams = group.EndLoad().DatagramsPerSecond();
  semi.suspicions_per_s = static_cast<double>(semi.suspected_healthy) / Seconds(plan.length).count();
  for (const bool is : accused) semi.accused_healthy += is ? 1 : 0;
  return semi;
}

}  // namespace nekton::bench
