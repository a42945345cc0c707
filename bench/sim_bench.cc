// What a whole group costs in the simulator, on a virtual clock, one thread: members at rest, and while some die.
//
// An item is an event: one input that a member handled, a datagram or a wake, with the network's part of it. That all
// know each other is arranged before the clock runs. The argument is the number of members; 10,000 of them take 11 GB and
// minutes to arrange, and are run only when asked for: --benchmark_filter=10000.
#include <benchmark/benchmark.h>

#include <chrono>
#include <memory>
#include <string_view>

#include "bench/common/acquaintance.h"
#include "transport/simulator.h"

namespace nekton::bench {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<Simulator> GroupOf(std::uint32_t members) {
  SimOptions options;
  options.seed = 1;
  auto sim = std::make_unique<Simulator>(options);
  for (std::uint32_t i = 0; i < members; ++i) sim->Add(Config::Lan(), {.address = {}, .record = false});
  if (!Acquaint(sim.get())) return nullptr;
  sim->RunFor(5s);
  return sim;
}

void Report(benchmark::State& state, const SimCounters& before, const SimCounters& after, double member_seconds) {
  state.SetItemsProcessed(static_cast<std::int64_t>(after.events - before.events));
  state.counters["datagrams/s"] = benchmark::Counter(static_cast<double>(after.datagrams_sent - before.datagrams_sent),
                                                     benchmark::Counter::kIsRate);
  state.counters["datagrams_per_member_s"] =
      static_cast<double>(after.datagrams_sent - before.datagrams_sent) / member_seconds;
}

void Rest(benchmark::State& state) {
  const auto members = static_cast<std::uint32_t>(state.range(0));
  const std::unique_ptr<Simulator> sim = GroupOf(members);
  if (sim == nullptr) return state.SkipWithError("the group did not come together");
  const SimCounters before = sim->counters();
  for (auto _ : state) sim->RunFor(1s);
  Report(state, before, sim->counters(), static_cast<double>(members) * static_cast<double>(state.iterations()));
}

// Two in a thousand die silently at one instant: ten seconds from then on, in which all of them are found and told.
void Deaths(benchmark::State& state) {
  const auto members = static_cast<std::uint32_t>(state.range(0));
  const std::unique_ptr<Simulator> sim = GroupOf(members);
  if (sim == nullptr) return state.SkipWithError("the group did not come together");
  for (std::uint32_t i = 0; i < members / 500; ++i) sim->Crash(i * 500 + 7);
  const SimCounters before = sim->counters();
  for (auto _ : state) sim->RunFor(10s);
  Report(state, before, sim->counters(), 10.0 * members);
}

// Only by name.
bool Asked(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--benchmark_filter=") && argument.find("10000") != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace
}  // namespace nekton::bench

int main(int argc, char** argv) {
  using namespace nekton::bench;
  auto* const rest = benchmark::RegisterBenchmark("Rest", Rest)->Unit(benchmark::kMillisecond);
  auto* const deaths = benchmark::RegisterBenchmark("Deaths", Deaths)->Unit(benchmark::kMillisecond)->Iterations(1);
  rest->Arg(100)->Arg(1000);
  deaths->Arg(1000);
  if (Asked(argc, argv)) {
    rest->Arg(10'000);
    deaths->Arg(10'000);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
