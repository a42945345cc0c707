#include "bench/detection/crashes.h"

#include <algorithm>
#include <chrono>

#include "bench/common/group.h"

namespace nekton::bench {
namespace {

constexpr std::uint64_t kCrashesOfAGroup = 500;
constexpr int kSettle = 15;  // periods
constexpr int kWarmup = 20;  // periods

double Seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

void Take(const CrashTimes& times, CrashSample* sample) {
  if (!times.known) {
    ++sample->unknown;
    return;
  }
  // Who learns the last was preceded by someone who confirmed and, at the latest then, suspected.
  sample->suspected.push_back(Seconds(*times.suspected));
  sample->confirmed.push_back(Seconds(*times.confirmed));
  sample->known.push_back(Seconds(*times.known));
}

// Crashes in one group; how many there were before it broke.
std::uint64_t MeasureGroup(const CrashPlan& plan, std::uint64_t done, CrashSample* sample) {
  SimOptions options;
  options.seed = MixSeeds(plan.seed, done);
  options.link.loss.rate = plan.loss;
  options.lossy_streams = true;
  Crasher crasher(plan.config, plan.nodes, options);
  const std::uint64_t wanted = std::min(kCrashesOfAGroup, plan.crashes - done);
  crasher.sim().RunFor(kWarmup * plan.config.period);
  std::uint64_t count = 0;
  while (count < wanted && crasher.ok()) {
    Take(crasher.Crash(plan.port), sample);
    ++count;
    if (plan.progress) plan.progress(done + count);
    if (count < wanted) crasher.Recover(kSettle * plan.config.period);
  }
  sample->broken += crasher.ok() ? 0 : 1;
  sample->false_suspicions += crasher.false_suspicions();
  sample->false_deaths += crasher.false_deaths();
  return count;
}

}  // namespace

CrashSample MeasureCrashes(const CrashPlan& plan) {
  CrashSample sample;
  std::uint64_t done = 0;
  while (done < plan.crashes) {
    const std::uint64_t count = MeasureGroup(plan, done, &sample);
    if (count == 0) break;  // not even begun
    done += count;
  }
  for (std::vector<double>* times : {&sample.suspected, &sample.confirmed, &sample.known}) {
    std::sort(times->begin(), times->end());
  }
  return sample;
}

}  // namespace nekton::bench
