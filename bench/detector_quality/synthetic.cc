#include "bench/detector_quality/synthetic.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "swim/random.h"

namespace nekton::quality {
namespace {

// Times are in milliseconds in this file.

double Exponential(Random* random, double mean) { return -mean * std::log(1 - random->Unit()); }

double Normal(Random* random) {
  const double radius = std::sqrt(-2 * std::log(1 - random->Unit()));
  return radius * std::cos(2 * std::numbers::pi * random->Unit());
}

double LogUniform(Random* random, double least, double most) { return least * std::pow(most / least, random->Unit()); }

Instant At(double ms) { return Instant(Duration(std::llround(ms * 1e6))); }

// Appends what the network delivers.
class Path {
 public:
  explicit Path(Trace* trace) : trace_(trace) {}

  void Deliver(std::uint64_t sequence, double sent, double delay) {
    last_ = std::max(last_, sent + delay);
    trace_->beats.push_back({sequence, At(sent), At(last_)});
  }

 private:
  Trace* trace_;
  double last_ = 0;
};

// Delay above the least one: a sum of spikes, each a jump that fades.
class Spikes {
 public:
  double Next(Random* random) {
    height_ *= kFade;
    if (random->Unit() < kRate) height_ = std::min(height_ + Exponential(random, kJump), kMost);
    return height_;
  }

 private:
  // Mean and variance of such a sum are rate * length * jump and rate * length * jump^2, in beats: 4.6 ms and (19.2 ms)^2,
  // which with the queue's 2 ms make half the published round trip.
  static constexpr double kLength = 48;  // 5 s
  static constexpr double kFade = 1 - 1 / kLength;
  static constexpr double kRate = 1.0 / 850;
  static constexpr double kJump = 81;
  static constexpr double kMost = 717.832 - 270.201;

  double height_ = 0;
};

constexpr double kLongestBurst = 1093;

// Pareto between 1 and the longest; the mean is 28.5, as published (23,300 beats in 814 bursts).
std::uint32_t BurstLength(Random* random) {
  constexpr double kExponent = 0.54;
  const double cut = 1 - std::pow(kLongestBurst + 1, -kExponent);
  return static_cast<std::uint32_t>(std::pow(1 - random->Unit() * cut, -1 / kExponent));
}

struct Pause {
  double begin = 0;
  double end = 0;
};

Pause PauseAfter(Random* random, double time) {
  const double begin = time + Exponential(random, 60'000);
  return {begin, begin + LogUniform(random, 200, 4000)};
}

double LanDelay(Random* random) {
  const double held_up = random->Unit() < 1.0 / 2000 ? 1 + 19 * random->Unit() : 0;
  return 0.1 + Exponential(random, 0.05) + held_up;
}

bool LostOnLan(Random* random) { return random->Unit() < 1e-4; }

constexpr double kLanInterval = 100;
constexpr double kLanJitter = 0.5;

}  // namespace

Trace WanTrace(std::uint64_t seed, std::uint64_t beats) {
  constexpr double kInterval = 103.501;
  constexpr double kBurstRate = 814.0 / 5'845'713;
  Trace trace{.name = "wan",
              .description = "twin of Hayashibara 2004: 103.5 ms, 0.4 % loss in bursts, delay with spikes",
              .interval = Duration(103'501'000),
              .beats = {},
              .due = beats};
  trace.beats.reserve(beats);
  Random random(seed);
  Path path(&trace);
  Spikes spikes;
  double now = 0;
  std::uint32_t lost = 0;
  for (std::uint64_t i = 0; i < beats; ++i) {
    now += std::max(101.674, kInterval + 0.189 * Normal(&random));
    const double delay = 270.201 / 2 + Exponential(&random, 2) + spikes.Next(&random);
    if (lost == 0 && random.Unit() < kBurstRate) lost = BurstLength(&random);
    if (lost > 0) {
      --lost;
    } else {
      path.Deliver(i, now, delay);
    }
  }
  return trace;
}

Trace LanTrace(std::uint64_t seed, std::uint64_t beats) {
  Trace trace{.name = "lan",
              .description = "100 ms, jitter below 1 ms, one in 2000 held up by up to 20 ms, 0.01 % loss",
              .interval = std::chrono::milliseconds(100),
              .beats = {},
              .due = beats};
  trace.beats.reserve(beats);
  Random random(seed);
  Path path(&trace);
  for (std::uint64_t i = 0; i < beats; ++i) {
    const double sent = kLanInterval * static_cast<double>(i) + kLanJitter * random.Unit();
    const double delay = LanDelay(&random);
    if (!LostOnLan(&random)) path.Deliver(i, sent, delay);
  }
  return trace;
}

Trace GcTrace(std::uint64_t seed, std::uint64_t beats, AfterPause after) {
  const bool burst = after == AfterPause::kBurst;
  Trace trace{.name = burst ? "gc-burst" : "gc-skip",
              .description = burst ? "the LAN, pauses of 0.2 to 4 s every 60 s, then all beats at once"
                                   : "the LAN, pauses of 0.2 to 4 s every 60 s, their beats left out",
              .interval = std::chrono::milliseconds(100),
              .beats = {},
              .due = beats};
  trace.beats.reserve(beats);
  Random random(seed);
  Path path(&trace);
  Pause pause = PauseAfter(&random, 0);
  for (std::uint64_t i = 0; i < beats; ++i) {
    double sent = kLanInterval * static_cast<double>(i) + kLanJitter * random.Unit();
    const double delay = LanDelay(&random);
    const bool lost = LostOnLan(&random);
    while (sent >= pause.end) pause = PauseAfter(&random, pause.end);
    const bool paused = sent >= pause.begin;
    if (paused) sent = pause.end;
    if (!lost && (burst || !paused)) path.Deliver(i, sent, delay);
  }
  return trace;
}

std::vector<Trace> SyntheticTraces(std::uint64_t seed, std::uint64_t beats) {
  std::vector<Trace> traces;
  traces.push_back(WanTrace(seed, beats));
  traces.push_back(LanTrace(seed, beats));
  traces.push_back(GcTrace(seed, beats, AfterPause::kBurst));
  traces.push_back(GcTrace(seed, beats, AfterPause::kSkip));
  return traces;
}

}  // namespace nekton::quality
