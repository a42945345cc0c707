#include "bench/papers/load_floor.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "absl/strings/str_format.h"
#include "bench/common/quantiles.h"
#include "bench/detection/crashes.h"
#include "bench/detection/soak.h"
#include "bench/message_cost/floor.h"

namespace nekton::bench {
namespace {

constexpr double kWithin = 1;  // T, s
constexpr int kPeriods = 20;

double PeriodSeconds(int index) { return kWithin / std::pow(2.0, index / 4.0); }

Config WithPeriod(const LoadFloorPlan& plan, double seconds) {
  Config config = plan.config;
  config.period = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
  config.gossip_interval = std::min(config.gossip_interval, config.period);
  config.max_local_pause = std::min(config.max_local_pause, config.period);
  return config;
}

std::vector<double> Suspicions(const LoadFloorPlan& plan, double period) {
  CrashPlan crashes;
  crashes.config = WithPeriod(plan, period);
  crashes.nodes = plan.nodes;
  crashes.loss = plan.loss;
  crashes.crashes = plan.crashes;
  crashes.seed = plan.seed;
  crashes.progress = [&](std::uint64_t done) {
    if (done % 100 == 0)
      Tell(plan.progress, absl::StrFormat("period %.3f s, crash %d of %d", period, done, plan.crashes));
  };
  return MeasureCrashes(crashes).suspected;
}

void CountMistakes(const LoadFloorPlan& plan, double period, LoadFloor* result) {
  SoakPlan soak;
  soak.config = WithPeriod(plan, period);
  soak.nodes = plan.nodes;
  soak.loss = plan.loss;
  soak.member_hours = plan.member_seconds / 3600;
  soak.seed = plan.seed;
  Tell(plan.progress, absl::StrFormat("period %.3f s, mistakes", period));
  const SoakCounts counts = MeasureSoak(soak);
  const double member_times = counts.member_hours * 3600 / kWithin;
  result->load = counts.spent.Datagrams().count * kWithin / period;
  result->mistakes = counts.suspicions;
  result->mistake_rate = static_cast<double>(counts.suspicions) / member_times;
  const Interval interval = PoissonInterval(counts.suspicions);
  result->mistake_interval = {interval.low / member_times, interval.high / member_times};
  result->accurate = result->mistake_rate <= plan.mistake;
}

}  // namespace

LoadFloor MeasureLoadFloor(const LoadFloorPlan& plan) {
  LoadFloor result;
  result.bound = MessageFloor(plan.loss, plan.mistake);
  // The shorter the period, the sooner: the first of them that is short enough, by halving. It is `high`, if there is one.
  int low = -1;
  int high = kPeriods + 1;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    const std::vector<double> sample = Suspicions(plan, PeriodSeconds(middle));
    const double first = Quantile(sample, plan.quantile).value_or(kWithin * 1000);
    if (first > kWithin) {
      low = middle;
      continue;
    }
    high = middle;
    result.first_suspicion_s = first;
    result.crashes = sample.size();
  }
  if (high > kPeriods) return result;
  result.period_s = PeriodSeconds(high);
  CountMistakes(plan, *result.period_s, &result);
  result.ratio = result.load / result.bound;
  return result;
}

}  // namespace nekton::bench
