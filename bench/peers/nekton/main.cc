// Real nodes over real sockets on loopback, many in one process on one loop. See --help.
#include <sys/resource.h>
#include <unistd.h>
#include <uv.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/common/program.h"
#include "bench/common/quantiles.h"
#include "bench/peers/nekton/weather.h"
#include "nlohmann/json.hpp"
#include "transport/node.h"
#include "transport/uv_transport.h"

ABSL_FLAG(std::uint32_t, nodes, 8, "nodes in this process, 1 to 1000");
ABSL_FLAG(std::string, scenario, "steady", "steady, kill, quarter, loss, split, sick");
ABSL_FLAG(std::uint32_t, seconds, 20, "steady, loss, sick: how long is measured; split: how long it lasts");
ABSL_FLAG(std::uint32_t, kills, 4, "kill: how many, one after another");
ABSL_FLAG(bool, silent, false, "kill, quarter: the host falls silent, instead of its process ending");
ABSL_FLAG(double, loss, 0.3, "loss: of each datagram and each segment of a stream");
ABSL_FLAG(bool, perfect_streams, false, "loss: streams lose nothing");
ABSL_FLAG(std::string, detector, "fixed", "fixed, phi");
ABSL_FLAG(std::string, probing, "random", "random, staggered");
ABSL_FLAG(std::uint64_t, seed, 1, "of losses and victims");

namespace nekton::bench {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Of the scenario sick.
constexpr std::size_t kSick = 4;
constexpr double kSickLoss = 0.8;

constexpr std::string_view kHelp = R"(usage: nekton_peer [flag...]

Runs real nodes of nekton on one loop, over real sockets on loopback, with the defaults of the Lan profile, and measures
one scenario. One JSON object on standard output; the same as bench/peers/memberlist prints of memberlist.

  --nodes=N        1 to 1000 (default 8)
  --scenario=NAME  steady: what a node costs at rest
                   kill: one node after another ends, and how soon all others know
                   quarter: a quarter of them at once
                   loss: datagrams and segments of streams are lost
                   split: two halves cannot hear each other for a while
                   sick: four nodes lose 80 % of what they send and are sent
                   (default steady; every scenario tells how the joining went)
  --seconds=N      steady, loss, sick: measured; split: how long it lasts (default 20)
  --kills=N        (default 4)
  --silent         kill, quarter: the host falls silent, instead of its process ending (then its port refuses)
  --loss=P         (default 0.3)
  --perfect_streams  loss: streams lose nothing
  --detector=NAME  fixed (default), phi
  --probing=NAME   random (default), staggered
  --seed=N         of losses and victims (default 1)
  --json           is always on
  --help           this text

Status: 0, 1 failed, or a flag that cannot be read, 2 wrong arguments.
)";

double Since(Clock::time_point from) { return std::chrono::duration<double>(Clock::now() - from).count(); }

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double ResidentKiB() {
  std::ifstream statm("/proc/self/statm");
  double size = 0;
  double resident = 0;
  statm >> size >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1024;
}

nlohmann::json Spread(const std::vector<double>& values) {
  if (values.empty()) return nullptr;
  return {{"p50", *Quantile(values, 0.5)}, {"p95", *Quantile(values, 0.95)}, {"worst", *Quantile(values, 1)}};
}

class Peers {
 public:
  explicit Peers(std::uint32_t count)
      : weather_(&loop_, absl::GetFlag(FLAGS_seed)), random_(absl::GetFlag(FLAGS_seed)) {
    uv_loop_init(&loop_);
    uv_timer_init(&loop_, &pulse_);
    uv_timer_start(
        &pulse_, [](uv_timer_t*) {}, 10, 10);
    for (std::uint32_t i = 0; i < count; ++i) Add(i);
  }
  ~Peers() {
    nodes_.clear();
    uv_close(reinterpret_cast<uv_handle_t*>(&pulse_), nullptr);
    while (uv_run(&loop_, UV_RUN_ONCE) != 0) {
    }
    uv_loop_close(&loop_);
  }

  bool ok() const { return ok_; }

  // All join through the first, at once.
  nlohmann::json Join() {
    const std::string contact = nodes_[0].node->local().ToString();
    const auto began = Clock::now();
    for (std::size_t i = 1; i < nodes_.size(); ++i) (void)nodes_[i].node->Join({contact});
    std::vector<double> complete;
    std::set<std::size_t> done;
    const bool all = RunUntil(120s, [&] {
      for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (done.contains(i) || nodes_[i].node->Members().Alive().size() != nodes_.size()) continue;
        done.insert(i);
        complete.push_back(Since(began));
      }
      return done.size() == nodes_.size();
    });
    return {{"complete", all}, {"complete_nodes", complete.size()}, {"complete_s", Spread(complete)}};
  }

  void Run(Clock::duration time) {
    RunUntil(time, [] { return false; });
  }

  void Measure(nlohmann::json& out) {
    const std::uint64_t datagrams = weather_.datagrams();
    const std::uint64_t bytes = weather_.bytes();
    const double used = CpuSeconds();
    const auto began = Clock::now();
    // As a program at rest does: no pulse of ours turns the loop meanwhile.
    uv_timer_stop(&pulse_);
    uv_timer_start(
        &pulse_, [](uv_timer_t*) {}, absl::GetFlag(FLAGS_seconds) * std::uint64_t{1000}, 10);
    RunUntil(std::chrono::seconds(absl::GetFlag(FLAGS_seconds)), [] { return false; });
    uv_timer_start(
        &pulse_, [](uv_timer_t*) {}, 10, 10);
    const double share = static_cast<double>(nodes_.size()) * Since(began);
    out["datagrams_per_node_second"] = static_cast<double>(weather_.datagrams() - datagrams) / share;
    out["bytes_per_node_second"] = static_cast<double>(weather_.bytes() - bytes) / share;
    out["cpu_ms_per_node_second"] = (CpuSeconds() - used) * 1000 / share;
    out["resident_kib"] = ResidentKiB();
  }

  void Kill(nlohmann::json& out) {
    std::vector<double> suspected;
    std::vector<double> failed;
    std::vector<double> known;
    const std::uint32_t kills = absl::GetFlag(FLAGS_kills);
    bool all = true;
    for (std::uint32_t k = 0; k < kills; ++k) {
      std::size_t victim = 0;
      do {
        victim = 1 + random_.Below(static_cast<std::uint32_t>(nodes_.size() - 1));
      } while (nodes_[victim].dead);
      Run(std::chrono::milliseconds(random_.Below(1000)));
      all = End({victim}, 60s) && all;
      suspected.push_back(first_suspicion_);
      failed.push_back(first_failure_);
      known.push_back(all_know_);
      Run(3s);
    }
    out["kills"] = kills;
    out["known_to_all"] = all;
    out["first_suspicion_s"] = Spread(suspected);
    out["first_death_s"] = Spread(failed);
    out["all_know_s"] = Spread(known);
    out["each_all_know_s"] = known;
  }

  void KillQuarter(nlohmann::json& out) {
    std::set<std::size_t> victims;
    while (victims.size() < nodes_.size() / 4) {
      victims.insert(1 + random_.Below(static_cast<std::uint32_t>(nodes_.size() - 1)));
    }
    out["known_to_all"] = End(victims, 120s);
    out["killed"] = victims.size();
    out["first_suspicion_s"] = first_suspicion_;
    out["first_death_s"] = first_failure_;
    out["all_know_s"] = all_know_;
  }

  void Endure(nlohmann::json& out) {
    if (absl::GetFlag(FLAGS_perfect_streams)) weather_.SpareStreams();
    weather_.SetLoss(absl::GetFlag(FLAGS_loss));
    Run(5s);
    suspicions_ = 0;
    dead_.clear();
    Measure(out);
    out["loss"] = absl::GetFlag(FLAGS_loss);
    out["perfect_streams"] = absl::GetFlag(FLAGS_perfect_streams);
    out["suspicions_per_minute"] = static_cast<double>(suspicions_) * 60 / absl::GetFlag(FLAGS_seconds);
    out["deaths"] = dead_.size();
  }

  void Ail(nlohmann::json& out) {
    std::set<std::string> sick;
    while (sick.size() < kSick) {
      const Place& place = nodes_[1 + random_.Below(static_cast<std::uint32_t>(nodes_.size() - 1))];
      weather_.SetLossOf(place.node->local(), kSickLoss);
      sick.insert(place.name);
    }
    suspicions_ = 0;
    failures_.clear();
    Measure(out);
    std::uint64_t about_healthy = 0;
    std::uint64_t about_sick = 0;
    std::uint64_t again = 0;
    for (const auto& [pair, times] : failures_) {
      (sick.contains(pair.second) ? about_sick : about_healthy) += times;
      if (sick.contains(pair.second)) again += times - 1;
    }
    out["sick"] = sick.size();
    out["suspicions_per_minute"] = static_cast<double>(suspicions_) * 60 / absl::GetFlag(FLAGS_seconds);
    out["dead_healthy"] = about_healthy;
    out["dead_sick"] = about_sick;
    out["dead_sick_again"] = again;
  }

  void Heal(nlohmann::json& out) {
    const auto whole = [this] {
      return std::all_of(nodes_.begin(), nodes_.end(),
                         [this](const Place& p) { return p.node->Members().Alive().size() == nodes_.size(); });
    };
    weather_.Split(true);
    Run(std::chrono::seconds(absl::GetFlag(FLAGS_seconds)));
    out["apart"] = !whole();
    weather_.Split(false);
    const auto began = Clock::now();
    out["healed_s"] = RunUntil(90s, whole) ? Since(began) : -1;
  }

 private:
  struct Place {
    std::unique_ptr<Node> node;
    Subscription events;
    std::string name;
    bool dead = false;
  };

  void Add(std::uint32_t i) {
    Config config = Config::Lan();
    config.name = absl::StrFormat("n%04d", i);
    config.bind = "127.0.0.1:0";
    config.detector = absl::GetFlag(FLAGS_detector) == "phi" ? DetectorKind::kPhi : DetectorKind::kFixed;
    config.probing = absl::GetFlag(FLAGS_probing) == "staggered" ? Probing::kStaggered : Probing::kRandom;
    NodeOptions options;
    options.transport = [this, i](uv_loop_t* loop, const Address& bind) -> absl::StatusOr<std::unique_ptr<Transport>> {
      absl::StatusOr<std::unique_ptr<UvTransport>> sockets = UvTransport::Create(loop, bind);
      if (!sockets.ok()) return sockets.status();
      return weather_.Around(*std::move(sockets), static_cast<int>(i % 2));
    };
    auto node = Node::Attach(&loop_, config, std::move(options));
    if (!node.ok()) {
      std::cerr << config.name << ": " << node.status() << "\n";
      ok_ = false;
      return;
    }
    nodes_.push_back({*std::move(node), {}, config.name});
    nodes_.back().events = nodes_.back().node->Subscribe([this, i](const Event& event) { Saw(i, event); });
  }

  void Saw(std::size_t by, const Event& event) {
    if (event.member == nullptr || nodes_[by].dead) return;
    if (event.kind == EventKind::kSuspected) {
      ++suspicions_;
      if (victims_.contains(event.member->name) && first_suspicion_ < 0) first_suspicion_ = Since(killed_at_);
    } else if (event.kind == EventKind::kFailed) {
      dead_.insert(event.member->name);
      ++failures_[{by, event.member->name}];
      if (!victims_.contains(event.member->name)) return;
      if (first_failure_ < 0) first_failure_ = Since(killed_at_);
      if (knowers_.emplace(by, event.member->name).second) all_know_ = Since(killed_at_);
    }
  }

  // False: somebody does not know of all of them within `limit`.
  bool End(const std::set<std::size_t>& victims, Clock::duration limit) {
    victims_.clear();
    knowers_.clear();
    first_suspicion_ = first_failure_ = all_know_ = -1;
    killed_at_ = Clock::now();
    for (const std::size_t i : victims) {
      nodes_[i].dead = true;
      victims_.insert(nodes_[i].name);
      if (absl::GetFlag(FLAGS_silent)) {
        weather_.Mute(nodes_[i].node->local());
      } else {
        nodes_[i].node->Stop();
      }
    }
    const auto alive = static_cast<std::size_t>(
        std::count_if(nodes_.begin(), nodes_.end(), [](const Place& place) { return !place.dead; }));
    return RunUntil(limit, [&] { return knowers_.size() == alive * victims_.size(); });
  }

  bool RunUntil(Clock::duration limit, const std::function<bool()>& done) {
    const auto end = Clock::now() + limit;
    while (!done()) {
      if (Clock::now() >= end) return false;
      uv_run(&loop_, UV_RUN_ONCE);
    }
    return true;
  }

  uv_loop_t loop_{};
  uv_timer_t pulse_{};
  Weather weather_;
  Random random_;
  std::vector<Place> nodes_;
  bool ok_ = true;
  std::uint64_t suspicions_ = 0;
  std::set<std::string> dead_;
  std::map<std::pair<std::size_t, std::string>, std::uint64_t> failures_;  // by whom, about whom
  std::set<std::string> victims_;
  std::set<std::pair<std::size_t, std::string>> knowers_;
  Clock::time_point killed_at_;
  double first_suspicion_ = -1;
  double first_failure_ = -1;
  double all_know_ = -1;
};

constexpr std::string_view kScenarios[] = {"steady", "kill", "quarter", "loss", "split", "sick"};

std::string Fill() {
  const std::string scenario = absl::GetFlag(FLAGS_scenario);
  if (std::find(std::begin(kScenarios), std::end(kScenarios), scenario) == std::end(kScenarios)) {
    return absl::StrCat("--scenario=", scenario, ": steady, kill, quarter, loss, split or sick");
  }
  const std::uint32_t nodes = absl::GetFlag(FLAGS_nodes);
  if (nodes < 1 || nodes > 1000) return "--nodes: 1 to 1000";
  if (scenario != "steady" && nodes < 4) return "--nodes: this scenario takes 4 and more";
  if (scenario == "sick" && nodes < 2 * kSick) return "--nodes: sick takes 8 and more";
  if (scenario == "kill" && absl::GetFlag(FLAGS_kills) + 2 > nodes) return "--kills: two have to be left";
  if (absl::GetFlag(FLAGS_seconds) < 1) return "--seconds: at least 1";
  if (!(absl::GetFlag(FLAGS_loss) >= 0 && absl::GetFlag(FLAGS_loss) <= 0.9)) return "--loss: 0 to 0.9";
  return "";
}

bool Measure() {
  const std::string scenario = absl::GetFlag(FLAGS_scenario);
  Peers peers(absl::GetFlag(FLAGS_nodes));
  if (!peers.ok()) return false;
  nlohmann::json out = {{"peer", "nekton"},
                        {"detector", absl::GetFlag(FLAGS_detector)},
                        {"probing", absl::GetFlag(FLAGS_probing)},
                        {"nodes", absl::GetFlag(FLAGS_nodes)},
                        {"scenario", scenario},
                        {"silent", absl::GetFlag(FLAGS_silent)},
                        {"seconds", absl::GetFlag(FLAGS_seconds)}};
  out["join"] = peers.Join();
  peers.Run(10s);  // what the joins left on its way
  if (scenario == "steady") peers.Measure(out);
  if (scenario == "kill") peers.Kill(out);
  if (scenario == "quarter") peers.KillQuarter(out);
  if (scenario == "loss") peers.Endure(out);
  if (scenario == "split") peers.Heal(out);
  if (scenario == "sick") peers.Ail(out);
  return Show(out.dump() + "\n");
}

}  // namespace
}  // namespace nekton::bench

int main(int argc, char** argv) {
  return nekton::bench::RunProgram(
      argc, argv,
      {"nekton_peer", [] { return std::string(nekton::bench::kHelp); }, nekton::bench::Fill, nekton::bench::Measure});
}
