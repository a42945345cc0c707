// What a whole group costs in the simulator: members that are at rest on a virtual clock, one thread.
//
// An item is an event: one input that a member handled, a datagram or a wake, with the network's part of it. The joining
// is done before the clock runs. The argument is the number of members.
#include <benchmark/benchmark.h>

#include <chrono>
#include <string>

#include "transport/simulator.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

void Rest(benchmark::State& state) {
  const auto n = static_cast<std::uint32_t>(state.range(0));
  Simulator sim;
  std::string seed;
  for (std::uint32_t i = 0; i < n; ++i) {
    Config config = Config::Lan();
    if (i > 0) config.seeds = {seed};
    const SimId id = sim.Add(config, {.address = {}, .record = false});
    if (i == 0) seed = sim.address(id).ToString();
    if (!sim.Start(id).ok()) return state.SkipWithError("a member does not start");
  }
  if (!sim.RunUntil([&] { return sim.Converged(); }, 120s, 1s))
    return state.SkipWithError("the group does not converge");
  sim.RunFor(5s);
  const SimCounters before = sim.counters();
  for (auto _ : state) sim.RunFor(1s);
  const SimCounters after = sim.counters();
  state.SetItemsProcessed(static_cast<std::int64_t>(after.events - before.events));
  const double member_seconds = static_cast<double>(n) * static_cast<double>(state.iterations());
  state.counters["datagrams_per_member_s"] =
      static_cast<double>(after.datagrams_sent - before.datagrams_sent) / member_seconds;
}
BENCHMARK(Rest)->Arg(100)->Arg(1000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace nekton

BENCHMARK_MAIN();
