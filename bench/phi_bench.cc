// What the phi detector's arithmetic costs: to take in a sample, to evaluate phi, to find the deadline.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

#include "phi/distribution.h"
#include "phi/histogram.h"
#include "phi/phi_function.h"
#include "phi/phi_heartbeat.h"
#include "phi/pool.h"
#include "phi/window.h"
#include "swim/random.h"

namespace nekton {
namespace {

constexpr double kMean = 1e9;  // ns
constexpr std::size_t kMask = 1023;

// Times around the mean.
std::vector<Duration> Times(double least, double most) {
  Random random(1);
  std::vector<Duration> times;
  for (std::size_t i = 0; i <= kMask; ++i) {
    times.emplace_back(static_cast<Duration::rep>(kMean * (least + random.Unit() * (most - least))));
  }
  return times;
}

template <typename Sink>
void AddSamples(benchmark::State& state, Sink sink) {
  const std::vector<Duration> samples = Times(0.9, 1.1);
  std::size_t i = 0;
  for (auto _ : state) {
    sink.Add(samples[++i & kMask]);
    benchmark::DoNotOptimize(sink);
    benchmark::ClobberMemory();
  }
}
void BM_AddToWindow(benchmark::State& state) { AddSamples(state, Window()); }
void BM_AddToHistogram(benchmark::State& state) { AddSamples(state, Histogram(Duration(1'000'000'000))); }
// Of a thousand peers in turn, as answers to probes come.
void BM_AddToCompactStats(benchmark::State& state) {
  const std::vector<Duration> samples = Times(0.9, 1.1);
  std::vector<CompactStats> peers(samples.size());
  std::size_t i = 0;
  for (auto _ : state) {
    ++i;
    peers[i & kMask].Add(samples[i & kMask]);
    benchmark::ClobberMemory();
  }
}
void BM_AddToPool(benchmark::State& state) {
  AddSamples(state, Pool(std::chrono::seconds(1), std::chrono::milliseconds(100)));
}
BENCHMARK(BM_AddToWindow);
BENCHMARK(BM_AddToHistogram);
BENCHMARK(BM_AddToCompactStats);
BENCHMARK(BM_AddToPool);

// From a window's sums to a distribution: after every sample that moves a deadline.
void BM_Refit(benchmark::State& state) {
  const auto law = static_cast<Law>(state.range(0));
  const Pool pool(std::chrono::seconds(1), std::chrono::milliseconds(100));
  Window window;
  for (const Duration sample : Times(0.9, 1.1)) window.Add(sample);
  for (auto _ : state) {
    benchmark::DoNotOptimize(window);
    const Moments moments = pool.Shrink(window.moments());
    benchmark::DoNotOptimize(Distribution(law, moments.mean, std::sqrt(moments.variance)));
  }
}
BENCHMARK(BM_Refit)->DenseRange(0, 3);

// Silences from none to three means, or to thirty.
void BM_Phi(benchmark::State& state) {
  const Distribution distribution(static_cast<Law>(state.range(0)), kMean, kMean / 4);
  const std::vector<Duration> silences = Times(0, static_cast<double>(state.range(1)));
  std::size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(distribution.Phi(silences[++i & kMask]));
}
BENCHMARK(BM_Phi)->ArgsProduct({{0, 1, 2, 3}, {3, 30}});

void BM_SilenceFor(benchmark::State& state) {
  const Distribution distribution(static_cast<Law>(state.range(0)), kMean, kMean / 4);
  double level = 3;
  for (auto _ : state) {
    level = level > 12 ? 3 : level + 0.01;
    benchmark::DoNotOptimize(distribution.SilenceFor(level));
  }
}
BENCHMARK(BM_SilenceFor)->DenseRange(0, 3);

Histogram TwoModes() {
  Histogram histogram(std::chrono::seconds(1));
  for (const Duration sample : Times(0.9, 1.1)) histogram.Add(sample);
  for (const Duration sample : Times(0.2, 0.3)) histogram.Add(sample);
  return histogram;
}

void BM_HistogramPhi(benchmark::State& state) {
  const Histogram histogram = TwoModes();
  const std::vector<Duration> silences = Times(0, static_cast<double>(state.range(0)));
  std::size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(histogram.Phi(silences[++i & kMask]));
}
BENCHMARK(BM_HistogramPhi)->Arg(3)->Arg(30);

void BM_HistogramSilenceFor(benchmark::State& state) {
  const Histogram histogram = TwoModes();
  double level = 0;
  for (auto _ : state) {
    level = level > 12 ? 0 : level + 0.01;
    benchmark::DoNotOptimize(histogram.SilenceFor(level));
  }
}
BENCHMARK(BM_HistogramSilenceFor);

void BM_LossAwarePhi(benchmark::State& state) {
  double phi = 0;
  for (auto _ : state) {
    phi = phi > 12 ? 0 : phi + 0.01;
    benchmark::DoNotOptimize(LossAwarePhi(phi, 0.01));
  }
}
BENCHMARK(BM_LossAwarePhi);

PhiHeartbeat Heartbeats(bool loss_aware) {
  PhiHeartbeat detector({.mean = std::chrono::seconds(1),
                         .deviation = std::chrono::milliseconds(250),
                         .deviation_min = std::chrono::milliseconds(100),
                         .loss_aware = loss_aware});
  detector.Reserve(64);
  for (std::uint32_t peer = 0; peer < 64; ++peer) {
    for (const Duration sample : Times(0.9, 1.1)) detector.Heard(peer, Instant{}, Instant{} + sample, 1);
  }
  return detector;
}

// Of one peer (they come apart), or of 64 in turn.
void BM_HeartbeatHeard(benchmark::State& state) {
  PhiHeartbeat detector = Heartbeats(true);
  const std::vector<Duration> samples = Times(0.9, 1.1);
  const auto mask = static_cast<std::uint32_t>(state.range(0) - 1);
  std::uint32_t i = 0;
  for (auto _ : state) {
    ++i;
    detector.Heard(i & mask, Instant{}, Instant{} + samples[i & kMask], 1);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_HeartbeatHeard)->Arg(1)->Arg(64);

// Classic or loss-aware; silences from none to so many means.
void BM_HeartbeatLevel(benchmark::State& state) {
  const PhiHeartbeat detector = Heartbeats(state.range(0) != 0);
  const std::vector<Duration> silences = Times(0, static_cast<double>(state.range(1)));
  std::uint32_t i = 0;
  for (auto _ : state) {
    ++i;
    benchmark::DoNotOptimize(detector.Level(i & 63, Instant{}, Instant{} + silences[i & kMask]));
  }
}
BENCHMARK(BM_HeartbeatLevel)->ArgsProduct({{0, 1}, {3, 1000}});

void BM_HeartbeatReachedAt(benchmark::State& state) {
  const PhiHeartbeat detector = Heartbeats(state.range(0) != 0);
  double level = 3;
  for (auto _ : state) {
    level = level > 12 ? 3 : level + 0.01;
    benchmark::DoNotOptimize(detector.ReachedAt(1, Instant{}, level));
  }
}
BENCHMARK(BM_HeartbeatReachedAt)->Arg(0)->Arg(1);

}  // namespace
}  // namespace nekton
