#include "bench/papers/bootstrap.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <string>

#include "absl/strings/str_format.h"
#include "bench/common/group.h"
#include "bench/common/spending.h"
#include "swim/random.h"
#include "transport/simulator.h"

namespace nekton::bench {
namespace {

using namespace std::chrono_literals;
using Seconds = std::chrono::duration<double>;
using WallClock = std::chrono::steady_clock;

constexpr Duration kStep = 10ms;
constexpr Duration kLook = 1s;
constexpr std::uint64_t kSalt = 0x626f6f74;

class Run {
 public:
  explicit Run(const BootstrapPlan& plan) : plan_(plan), sim_(OptionsOf(plan)) {
    Config config = plan.config;
    for (std::uint32_t i = 0; i < plan.nodes; ++i) {
      const SimId id = sim_.Add(config, {.address = {}, .record = false});
      if (i == 0) config.seeds = {sim_.address(id).ToString()};
    }
  }

  Bootstrap Measure() {
    const WallClock::time_point began = WallClock::now();
    Bootstrap result;
    if (!Start(&result)) return result;
    const Duration first = sim_.now();
    std::set<std::size_t> sizes;
    while (sim_.now() - first < plan_.limit) {
      const Duration until = std::min(sim_.now() + kLook, first + plan_.limit);
      const bool full = sim_.RunUntil([this] { return Full(); }, until - sim_.now(), kStep);
      for (SimId id = 0; id < plan_.nodes; ++id) {
        if (sim_.member(id) != nullptr) sizes.insert(sim_.member(id)->alive());
      }
      if (full) {
        result.complete_s = Seconds(sim_.now() - first).count();
        break;
      }
      Tell(plan_.progress, absl::StrFormat("%.0f s, %d sizes", Seconds(sim_.now() - first).count(), sizes.size()));
    }
    result.sizes = static_cast<std::uint32_t>(sizes.size());
    Count(&result);
    result.wall_s = Seconds(WallClock::now() - began).count();
    return result;
  }

 private:
  static SimOptions OptionsOf(const BootstrapPlan& plan) {
    SimOptions options;
    options.seed = plan.seed;
    options.link.delay_min = options.link.delay_max = 1ms;
    options.link.loss.rate = plan.loss;
    options.lossy_streams = true;
    return options;
  }

  bool Start(Bootstrap* result) {
    if (!sim_.Start(0).ok()) return false;
    Random random(MixSeeds(plan_.seed, kSalt));
    for (SimId id = 1; id < plan_.nodes; ++id) {
      const Duration at(static_cast<Duration::rep>(random.Unit() * 1e9));
      sim_.At(sim_.now() + at, [this, id] { (void)sim_.Start(id); });  // who does not start is never counted: not full
      result->last_start_s = std::max(result->last_start_s, Seconds(at).count());
    }
    return true;
  }

  // Looks first at who was the last to lack somebody.
  bool Full() {
    const auto lacks = [this](SimId id) {
      return sim_.member(id) == nullptr || sim_.member(id)->alive() != plan_.nodes;
    };
    if (lacks(lacking_)) return false;
    for (SimId id = 0; id < plan_.nodes; ++id) {
      if (!lacks(id)) continue;
      lacking_ = id;
      return false;
    }
    return true;
  }

  void Count(Bootstrap* result) const {
    for (SimId id = 0; id < plan_.nodes; ++id) {
      if (sim_.member(id) == nullptr) continue;
      const Spending spent = SpendingOf(sim_.member(id)->counters());
      (id == 0 ? result->seed_stream_bytes : result->member_stream_bytes) += spent.sync.bytes;
      (id == 0 ? result->seed_datagram_bytes : result->member_datagram_bytes) += spent.Datagrams().bytes;
    }
    const double others = std::max(1.0, plan_.nodes - 1.0);
    result->member_stream_bytes /= others;
    result->member_datagram_bytes /= others;
  }

  const BootstrapPlan& plan_;
  Simulator sim_;
  SimId lacking_ = 0;
};

}  // namespace

Bootstrap MeasureBootstrap(const BootstrapPlan& plan) { return Run(plan).Measure(); }

}  // namespace nekton::bench
