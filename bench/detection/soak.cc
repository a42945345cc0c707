#include "bench/detection/soak.h"

#include <algorithm>
#include <chrono>
#include <tuple>

#include "absl/container/flat_hash_set.h"
#include "bench/common/acquaintance.h"
#include "bench/common/group.h"

namespace nekton::bench {
namespace {

using namespace std::chrono_literals;
using Seconds = std::chrono::duration<double>;

constexpr Duration kWarmup = 1min;
constexpr Duration kStep = 1s;  // of the progress

void Worsen(const SoakPlan& plan, Simulator* sim) {
  LinkLaw link = sim->network().law();
  link.loss.rate = plan.bursts ? 0 : plan.loss;
  sim->network().SetLaw(link);
  if (!plan.bursts) return;
  const MemberLaw bursts = {.loss = Loss::Bursts(0.05, 1s, 0.7, 0.01), .delay_min = {}, .delay_max = {}};
  for (SimId id = 0; id < sim->size(); ++id) {
    sim->network().SetOut(id, bursts);
    sim->network().SetIn(id, bursts);
  }
}

}  // namespace

SoakCounts MeasureSoak(const SoakPlan& plan) {
  SimOptions options;
  options.seed = plan.seed;
  options.lossy_streams = true;
  Simulator sim(options);
  Config config = plan.config;
  for (std::uint32_t i = 0; i < plan.nodes; ++i) sim.Add(config, {.address = {}, .record = false});
  SoakCounts counts;
  counts.complete = Acquaint(&sim);
  if (!counts.complete) return counts;
  Worsen(plan, &sim);
  sim.RunFor(kWarmup);
  absl::flat_hash_set<std::tuple<SimId, std::uint64_t, std::uint64_t>> dead;
  sim.SetHandler([&](const SimEvent& seen) {
    const Event& event = seen.event;
    if (event.kind == EventKind::kSuspected) counts.suspicions += event.cause.own ? 1 : 0;
    if (event.kind != EventKind::kFailed) return;
    ++counts.death_events;
    const LifeKey& key = event.member->key;
    dead.insert({SubjectOf(event), key.generation, key.incarnation});
  });
  const Spending base = SpendingOf(sim);
  const auto length = std::chrono::duration_cast<Duration>(Seconds(plan.member_hours * 3600 / plan.nodes));
  const Duration end = sim.now() + length;
  while (sim.now() < end) {
    sim.RunFor(std::min(kStep, end - sim.now()));
    if (plan.progress) plan.progress(1 - Seconds(end - sim.now()) / Seconds(length));
  }
  counts.deaths = dead.size();
  counts.member_hours = plan.nodes * Seconds(length).count() / 3600;
  const double periods = Seconds(length) / Seconds(config.period);
  counts.spent = (SpendingOf(sim) - base) * (1 / (plan.nodes * periods));
  return counts;
}

}  // namespace nekton::bench
