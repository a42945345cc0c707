#include "bench/papers/spread.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/common/acquaintance.h"
#include "bench/common/group.h"
#include "swim/random.h"
#include "transport/simulator.h"

namespace nekton::bench {
namespace {

using namespace std::chrono_literals;
using Seconds = std::chrono::duration<double>;

constexpr int kWarmup = 5;  // periods
constexpr Duration kLimit = 1min;
constexpr Duration kStep = 10ms;
constexpr Duration kRest = 10s;
constexpr std::uint64_t kSalt = 0x737072656164;

class Run {
 public:
  explicit Run(const SpreadPlan& plan) : plan_(plan), sim_(OptionsOf(plan)), random_(MixSeeds(plan.seed, kSalt)) {
    for (std::uint32_t i = 0; i < plan.nodes; ++i) sim_.Add(plan.config, {.address = {}, .record = false});
    spread_.complete = Acquaint(&sim_);
  }

  Spread Measure() {
    if (!spread_.complete) return spread_;
    LinkLaw link = sim_.network().law();
    link.loss.rate = plan_.loss;
    sim_.network().SetLaw(link);
    sim_.RunFor(kWarmup * plan_.config.period);
    sim_.SetHandler([this](const SimEvent& event) { Saw(event); });
    sim_.SetTap([this](const SimDatagram& datagram) { Saw(datagram); });
    const double bytes = Sum(Counter::kNewsBytesSent);
    const double syncs = Sum(Counter::kSyncRequestsSent);
    for (std::uint32_t i = 0; i < plan_.updates; ++i) {
      Tell(plan_.progress, absl::StrCat("update ", i + 1, " of ", plan_.updates));
      Update(i);
    }
    const double updates = plan_.updates;
    spread_.copies = copies_ / updates / plan_.nodes;
    spread_.bytes = (Sum(Counter::kNewsBytesSent) - bytes) / updates / plan_.nodes;
    spread_.syncs = (Sum(Counter::kSyncRequestsSent) - syncs) / updates;
    return spread_;
  }

 private:
  static SimOptions OptionsOf(const SpreadPlan& plan) {
    SimOptions options;
    options.seed = plan.seed;
    options.lossy_streams = true;
    return options;
  }

  void Update(std::uint32_t number) {
    origin_ = random_.Below(plan_.nodes);
    mark_ = absl::StrFormat("news %09d", number);
    knows_.assign(plan_.nodes, false);
    known_by_ = 0;
    half_.reset();
    last_ = from_ = sim_.now();
    (void)sim_.Order(origin_, SetTags{{{"mark", mark_}}});
    if (sim_.RunUntil([this] { return known_by_ == plan_.nodes - 1; }, kLimit, kStep)) {
      spread_.last_s.push_back(Seconds(last_ - from_).count());
      spread_.half_s.push_back(Seconds(half_.value_or(last_) - from_).count());
    } else {
      ++spread_.lost;
    }
    sim_.RunFor(kRest);
  }

  void Saw(const SimEvent& seen) {
    if (seen.event.kind != EventKind::kUpdated || seen.member == origin_) return;
    if (SubjectOf(seen.event) != origin_ || knows_[seen.member]) return;
    const auto tag = seen.event.member->tags.find("mark");
    if (tag == seen.event.member->tags.end() || tag->second != mark_) return;
    knows_[seen.member] = true;
    ++known_by_;
    last_ = seen.at;
    if (!half_ && 2 * known_by_ >= plan_.nodes - 1) half_ = seen.at;
  }

  // A frame holds at most one update of a member.
  void Saw(const SimDatagram& datagram) {
    if (datagram.moment != SimDatagram::Moment::kSent || datagram.bytes.size() < mark_.size()) return;
    const std::string_view bytes(reinterpret_cast<const char*>(datagram.bytes.data()), datagram.bytes.size());
    copies_ += bytes.find(mark_) == std::string_view::npos ? 0 : 1;
  }

  double Sum(Counter counter) const {
    double sum = 0;
    for (SimId id = 0; id < plan_.nodes; ++id) sum += static_cast<double>(sim_.member(id)->counters()[counter]);
    return sum;
  }

  const SpreadPlan& plan_;
  Simulator sim_;
  Random random_;
  Spread spread_;
  SimId origin_ = 0;
  std::string mark_;
  std::vector<bool> knows_;
  std::uint32_t known_by_ = 0;
  Duration from_{};
  Duration last_{};
  std::optional<Duration> half_;
  double copies_ = 0;
};

}  // namespace

Spread MeasureSpread(const SpreadPlan& plan) { return Run(plan).Measure(); }

std::uint32_t PushRounds(std::uint32_t nodes, std::uint32_t fanout, double loss) {
  const double growth = 1 + fanout * (1 - loss);
  std::uint32_t rounds = 0;
  for (double knowing = 1; knowing < nodes; knowing *= growth) ++rounds;
  return rounds;
}

double PushFloorSeconds(std::uint32_t nodes, std::uint32_t fanout, double loss, Duration interval) {
  return PushRounds(nodes, fanout, loss) * Seconds(interval).count();
}

}  // namespace nekton::bench
