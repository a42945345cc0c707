#include "bench/papers/shrink.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "bench/common/group.h"
#include "bench/common/quantiles.h"
#include "transport/simulator.h"

namespace nekton::bench {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLook = 5s;

std::vector<double> Counts(const Simulator& sim) {
  std::vector<double> counts;
  for (SimId id = 0; id < sim.size(); ++id) {
    if (sim.member(id) != nullptr) counts.push_back(static_cast<double>(sim.member(id)->alive()));
  }
  return counts;
}

}  // namespace

Config ShrinkConfig(std::string_view protocol, const Config& config) {
  Config its = config;
  its.period = 2s;
  its.forget_after = std::max(its.forget_after, Duration(10min));  // longer than any hold of the baselines
  if (protocol == "swim") {
    its.relays = 1;
    its.hold_alpha = 3 * std::log(10.0);
  }
  return its;
}

Shrink MeasureShrink(const ShrinkPlan& plan) {
  SimOptions options;
  options.seed = plan.seed;
  options.lossy_streams = true;
  Simulator sim(options);
  Config config = plan.config;
  for (std::uint32_t i = 0; i < plan.joiners; ++i) {
    const SimId id = sim.Add(config, {.address = {}, .record = false});
    if (i == 0) config.seeds = {sim.address(id).ToString()};
    sim.network().SetIn(id, {.loss = {.rate = plan.loss}});
    sim.At(plan.apart * i, [&sim, id] { (void)sim.Start(id); });
  }
  Shrink shrink;
  std::vector<bool> condemned(plan.joiners, false);
  sim.SetHandler([&](const SimEvent& seen) {
    if (seen.event.kind != EventKind::kFailed) return;
    ++shrink.death_events;
    if (const SimId subject = SubjectOf(seen.event); subject < plan.joiners) condemned[subject] = true;
  });
  while (sim.now() < plan.length) {
    sim.RunFor(std::min(kLook, plan.length - sim.now()));
    shrink.sizes.push_back(Quantile(Counts(sim), 0.5).value_or(0));
  }
  const std::vector<double> counts = Counts(sim);
  shrink.median = Quantile(counts, 0.5).value_or(0);
  shrink.smallest = counts.empty() ? 0 : *std::min_element(counts.begin(), counts.end());
  shrink.largest = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
  shrink.spared = static_cast<std::uint32_t>(std::count(condemned.begin(), condemned.end(), false));
  return shrink;
}

}  // namespace nekton::bench
