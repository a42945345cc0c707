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
  for (PeerId peer = 0; peer < suspects; ++peer) stm.Rumour(now, 20'000 + peer, {1, 0}, {kUs}, kTerms, changes);
  Observation heard{.peer = 0, .observer = kUs, .epoch = 1};
  for (auto _ : state) {
    heard.peer = heard.peer + 1 == 10'000 ? 0 : heard.peer + 1;
    benchmark::DoNotOptimize(stm.Apply(now, heard, {1, 0}, kTerms, changes));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_HealthyBesideSuspects)->Arg(10)->Arg(1000);

// A signal on a peer that is SUSPECT already, by ourselves (`range(0)` 0) or handed in by so many observers in turn: the
// gates in full. With 17 each displaces another.
void BM_SignalOnASuspect(benchmark::State& state) {
  Stm stm{StmConfig{}};
  Tick now{.boot = Instant(std::chrono::seconds(1000)), .raw = {}, .wall = WallTime(std::chrono::seconds(1000))};
  std::vector<StateChange> changes;
  const auto observers = static_cast<std::uint64_t>(state.range(0));
  Observation said{.peer = 7, .observer = kUs, .signal = Signal::kSuspect, .epoch = 1, .weight = 5};
  for (auto _ : state) {
    ++said.sequence;
    said.nonce += 0x9e3779b97f4a7c15;
    if (observers > 0) {
      said.observer = kUs + 1 + static_cast<PeerId>(said.sequence % observers);
      said.timestamp = now.wall += Duration(1);
    }
    benchmark::DoNotOptimize(stm.Apply(now, said, {1, 0}, kTerms, changes));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_SignalOnASuspect)->Arg(0)->Arg(1)->Arg(16)->Arg(17);

// A failed round (five signals in one) and its refutation, while `range(0)` other peers are SUSPECT.
void BM_SuspectAndRefute(benchmark::State& state) {
  Stm stm{StmConfig{}};
  Tick now{.boot = Instant(std::chrono::seconds(1000))};
  std::vector<StateChange> changes;
  const auto suspects = static_cast<PeerId>(state.range(0));
  for (PeerId peer = 0; peer < suspects; ++peer) stm.Rumour(now, 20'000 + peer, {1, 0}, {kUs}, kTerms, changes);
  Observation failed{.peer = 0, .observer = kUs, .signal = Signal::kSuspect, .epoch = 1, .weight = 5};
  LifeKey key{1, 0};
  for (auto _ : state) {
    failed.peer = failed.peer + 1 == 10'000 ? 0 : failed.peer + 1;
    if (failed.peer == 0) ++key.incarnation;
    ++failed.sequence;
    failed.nonce += 0x9e3779b97f4a7c15;
    now.boot += Duration(1);
    changes.clear();
    stm.Apply(now, failed, key, kTerms, changes);
    stm.Refute(now, failed.peer, {1, key.incarnation + 1}, changes);
    if (changes.size() != 2) state.SkipWithError("no transition");
    benchmark::DoNotOptimize(changes.data());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_SuspectAndRefute)->Arg(0)->Arg(1000);

}  // namespace
}  // namespace nekton
