#include "bench/papers/mass_restart.h"

#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "swim/message.h"
#include "swim/random.h"
#include "swim/wire.h"
#include "transport/simulator.h"

namespace nekton::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kIncarnation = 100;  // of every first life
constexpr SimId kSeeds = 5;

// Makes it refute, so that its incarnation is above what a new life begins with.
void Accuse(Simulator& sim, SimId id) {
  Frame frame;
  frame.type = FrameType::kGossip;
  frame.label = LabelTag("");
  frame.sender = MemberId("somebody", 1);
  Update update;
  update.kind = UpdateKind::kSuspect;
  update.name = sim.name(id);
  update.address = sim.address(id);
  update.key = {sim.generation(id), kIncarnation - 1};
  update.accuser_count = 1;
  update.accusers[0].id = frame.sender;
  std::vector<std::byte> bytes;
  FrameWriter writer(frame, 1400, bytes);
  writer.Add(update);
  writer.Finish();
  sim.Inject(id, sim.address(0), bytes);
}

class Restarts {
 public:
  explicit Restarts(const MassRestartOptions& options) : options_(options), sim_(SimOptions{.seed = options.seed}) {}

  MassRestart Run(Duration limit) {
    MassRestart result;
    if (!Gather() || !RestartMost()) return result;
    result.begun = true;
    const Duration from = sim_.now();
    const auto all_active = [&] { return sim_.Converged() && Wrong().first == 0; };
    bool complete = sim_.RunUntil(all_active, 30s, 250ms);
    result.wrong_after_30s = Wrong().first;
    if (!complete) complete = sim_.RunUntil(all_active, limit - 30s, 1s);
    if (complete) result.complete = sim_.now() - from;
    std::tie(result.wrong, result.dead) = Wrong();
    return result;
  }

 private:
  // All join the first, without seeds of their own: that is for their second lives.
  bool Gather() {
    Config config = options_.config;
    if (!options_.generations) config.generation = 1;
    for (SimId id = 0; id < options_.nodes; ++id) {
      sim_.Add(config, {.record = false});
      sim_.At(10ms * id, [this, id] {
        ok_ = sim_.Start(id).ok() && ok_;
        Accuse(sim_, id);
        if (id != 0) ok_ = sim_.Order(id, Join{{sim_.address(0)}}).ok() && ok_;
      });
    }
    sim_.RunTo(10ms * options_.nodes);
    ok_ = ok_ && sim_.RunUntil([&] { return sim_.Converged(); }, 120s, 250ms);
    sim_.RunFor(3s);
    return ok_ && sim_.member(1)->Self()->key.incarnation == kIncarnation;
  }

  bool RestartMost() {
    Config config = options_.config;
    for (SimId id = 0; id < kSeeds; ++id) config.seeds.push_back(sim_.address(id).ToString());
    Random random(options_.seed);
    const Duration from = sim_.now();
    const auto uniform = [&](double seconds) {
      return Duration(static_cast<Duration::rep>(random.Unit() * seconds * 1e9));
    };
    for (SimId id = 0; id < options_.nodes; ++id) {
      if (id % 10 == 9) continue;
      const Duration down = from + (id < kSeeds ? Duration{} : uniform(30));
      const Duration up = down + 20s + uniform(10);
      sim_.At(down, [this, id] { sim_.Crash(id, Port::kRefuses); });
      sim_.At(up, [this, id, config] {
        const RestartOptions again{.generation = options_.generations ? 0u : 1u, .config = config};
        ok_ = sim_.Restart(id, again).ok() && ok_;
      });
    }
    sim_.RunFor(60s);
    return ok_ && sim_.live_count() == options_.nodes;
  }

  // Pairs of live members one of which does not hold the other ACTIVE, and how many of those are INACTIVE.
  std::pair<std::size_t, std::size_t> Wrong() const {
    std::size_t right = 0;
    std::size_t dead = 0;
    for (SimId id = 0; id < options_.nodes; ++id) {
      for (const MemberPtr& row : sim_.member(id)->Members()) {
        right += row->status == MemberStatus::kActive ? 1 : 0;
        dead += row->status == MemberStatus::kInactive ? 1 : 0;
      }
    }
    return {options_.nodes * options_.nodes - right, dead};
  }

  const MassRestartOptions options_;
  Simulator sim_;
  bool ok_ = true;
};

}  // namespace

MassRestart RunMassRestart(const MassRestartOptions& options, Duration limit) { return Restarts(options).Run(limit); }

}  // namespace nekton::bench
