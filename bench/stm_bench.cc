// What the StateTransitionManager costs per input.
#include <chrono>
#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

#include "stm/stm.h"

namespace nekton {
namespace {

constexpr HoldTerms kTerms{.min = std::chrono::milliseconds(2500), .max = std::chrono::seconds(10), .confirmers = 3};
constexpr PeerId kUs = 1'000'000;

// The hot path: a healthy peer of a healthy group, `range(0)` peers in turn.
void BM_HealthyOnAnAbsentRecord(benchmark::State& state) {
  Stm stm{StmConfig{}};
  const Tick now{.boot = Instant(std::chrono::seconds(1000))};
  std::vector<StateChange> changes;
  Observation heard{.peer = 0, .observer = kUs, .epoch = 1};
  const auto peers = static_cast<PeerId>(state.range(0));
  for (auto _ : state) {
    heard.peer = heard.peer + 1 == peers ? 0 : heard.peer + 1;
    benchmark::DoNotOptimize(stm.Apply(now, heard, {1, 0}, kTerms, changes));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_HealthyOnAnAbsentRecord)->Arg(10'000);

// The same while `range(0)` other peers are SUSPECT, so that there is a table to look into.
void BM_HealthyBesideSuspects(benchmark::State& state) {
  Stm stm{StmConfig{}};
  const Tick now{.boot = Instant(std::chrono::seconds(1000))};
  std::vector<StateChange> changes;
  const auto suspects = static_cast<PeerId>(state.range(0));
  for (PeerId peer = 0; peer < suspects; ++peer) stm.Rumour(now, 20'000 + peer, {1, 0}, kUs, 1, kTerms, changes);
  Observation heard{.peer = 0, .observer = kUs, .epoch = 1};
  for (auto _ : state) {
    heard.peer = heard.peer + 1 == 10'000 ? 0 : heard.peer + 1;
    benchmark::DoNotOptimize(stm.Apply(now, heard, {1, 0}, kTerms, changes));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_HealthyBesideSuspects)->Arg(10)->Arg(1000);

// A failed round (five signals in one) and its refutation, while `range(0)` other peers are SUSPECT.
void BM_SuspectAndRefute(benchmark::State& state) {
  Stm stm{StmConfig{}};
  Tick now{.boot = Instant(std::chrono::seconds(1000))};
  std::vector<StateChange> changes;
  const auto suspects = static_cast<PeerId>(state.range(0));
  for (PeerId peer = 0; peer < suspects; ++peer) stm.Rumour(now, 20'000 + peer, {1, 0}, kUs, 1, kTerms, changes);
  Observation failed{.peer = 0, .observer = kUs, .signal = Signal::kSuspect, .epoch = 1, .weight = 5};
  for (auto _ : state) {
    failed.peer = failed.peer + 1 == 10'000 ? 0 : failed.peer + 1;
    now.boot += Duration(1);
    changes.clear();
    stm.Apply(now, failed, {1, 0}, kTerms, changes);
    stm.Refute(now, failed.peer, {1, 1}, changes);
    if (changes.size() != 2) state.SkipWithError("no transition");
    benchmark::DoNotOptimize(changes.data());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_SuspectAndRefute)->Arg(0)->Arg(1000);

}  // namespace
}  // namespace nekton
