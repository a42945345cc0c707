#include "bench/tuning/measures.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/hardship/hardship.h"

namespace nekton::bench {
namespace {

using Progress = std::function<void(const std::string& what)>;

constexpr std::uint64_t kHardshipSeeds = 1000;  // apart from the others

std::optional<CrashSample> Crashes(const Config& config, const Effort& effort, const Progress& progress) {
  if (effort.crashes == 0) return std::nullopt;
  CrashPlan plan;
  plan.config = config;
  plan.nodes = kCrashNodes;
  plan.port = Port::kSilent;
  plan.crashes = effort.crashes;
  plan.seed = effort.seed;
  if (progress) {
    plan.progress = [&](std::uint64_t done) {
      if (done % 10 == 0) progress(absl::StrCat("crash ", done, " of ", effort.crashes));
    };
  }
  return MeasureCrashes(plan);
}

std::optional<SoakCounts> Soak(const Config& config, const Effort& effort, const Progress& progress) {
  if (!(effort.member_hours > 0)) return std::nullopt;
  SoakPlan plan;
  plan.config = config;
  plan.nodes = kSoakNodes;
  plan.loss = kSoakLoss;
  plan.member_hours = effort.member_hours;
  plan.seed = effort.seed;
  int shown = -1;
  if (progress) {
    plan.progress = [&](double share) {
      const int percent = static_cast<int>(100 * share);
      if (percent != shown) progress(absl::StrFormat("30 %% loss: %d %%", percent));
      shown = percent;
    };
  }
  return MeasureSoak(plan);
}

std::optional<Outcome> Suffer(const char* name, std::uint64_t runs, const Config& config, std::uint64_t seed,
                              const Progress& progress) {
  if (runs == 0) return std::nullopt;
  const Hardship& hardship = *FindHardship(name);
  Outcome sum;
  for (std::uint64_t run = 0; run < runs; ++run) {
    if (progress) progress(absl::StrCat(name, ", run ", run + 1, " of ", runs));
    sum += hardship.run(config, kHardshipSeeds * seed + run, nullptr);
  }
  return sum;
}

}  // namespace

Measures Measure(const Config& config, const Effort& effort, const Progress& progress) {
  const auto suffer = [&](const char* name, std::uint64_t runs) {
    return Suffer(name, runs, config, effort.seed, progress);
  };
  return {.crash = Crashes(config, effort, progress),
          .soak = Soak(config, effort, progress),
          .interval = suffer("interval/12", effort.intervals),
          .freeze = suffer("freeze/32/loss", effort.freezes),
          .pairs = suffer("pairs/32/30", effort.pairs),
          .lossy = suffer("lossy/32", effort.lossy)};
}

}  // namespace nekton::bench
