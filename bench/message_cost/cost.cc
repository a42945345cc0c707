#include "bench/message_cost/cost.h"

#include <chrono>
#include <string>

#include "absl/strings/str_cat.h"
#include "bench/common/crasher.h"

namespace nekton::bench {
namespace {

using WallClock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr std::uint32_t kWarmup = 20;  // periods: rounds have begun everywhere, detectors have learned the network
constexpr std::uint32_t kSettle = 20;  // periods after a victim is back

void Tell(const CostPlan& plan, std::string_view what) {
  if (plan.progress) plan.progress(what);
}

// The victim's own counters die with it, so they leave the sum before.
void MeasureCrash(const CostPlan& plan, Crasher* crasher, Cost* cost) {
  const Duration period = plan.config.period;
  Simulator& sim = crasher->sim();
  Duration began{};
  Spending base;
  const CrashTimes times = crasher->Crash(Port::kSilent, [&](SimId victim) {
    began = sim.now();
    base = SpendingOf(sim) - SpendingOf(sim.member(victim)->counters());
  });
  if (times.known) {
    const double survivors = plan.nodes - 1;
    const double periods = Seconds(sim.now() - began) / Seconds(period);
    cost->crash += SpendingOf(sim) - base - cost->steady * (survivors * periods);
    cost->crash_seconds += Seconds(*times.known).count();
    ++cost->crashes;
  }
  crasher->Recover(kSettle * period);
}

}  // namespace

Cost MeasureCost(const CostPlan& plan) {
  const WallClock::time_point began = WallClock::now();
  SimOptions options;
  options.seed = plan.seed;
  options.link.loss.rate = plan.loss;
  options.lossy_streams = true;
  Tell(plan, "members meet");
  Crasher crasher(plan.config, plan.nodes, options);
  Cost cost;
  if (!crasher.ok()) return cost;
  Simulator& sim = crasher.sim();
  const Duration period = plan.config.period;
  Tell(plan, "warm-up");
  sim.RunFor(kWarmup * period);
  Spending base = SpendingOf(sim);
  for (std::uint32_t i = 0; i < plan.periods; ++i) {
    Tell(plan, absl::StrCat("period ", i + 1, " of ", plan.periods));
    sim.RunFor(period);
  }
  cost.steady = (SpendingOf(sim) - base) * (1.0 / plan.nodes / plan.periods);
  for (std::uint32_t i = 0; i < plan.crashes && crasher.ok(); ++i) {
    Tell(plan, absl::StrCat("crash ", i + 1, " of ", plan.crashes));
    MeasureCrash(plan, &crasher, &cost);
  }
  if (cost.crashes > 0) {
    cost.crash = cost.crash * (1.0 / cost.crashes);
    cost.crash_seconds /= cost.crashes;
  }
  cost.complete = crasher.ok();
  cost.wall_seconds = Seconds(WallClock::now() - began).count();
  return cost;
}

}  // namespace nekton::bench
