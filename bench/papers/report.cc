#include "bench/papers/report.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "bench/common/quantiles.h"
#include "bench/papers/published.h"

namespace nekton::bench {
namespace {

using Seconds = std::chrono::duration<double>;

// A mass restart is right if every table is within this time.
constexpr Duration kRestartWithin = std::chrono::seconds(30);
// A group with a member that hears little may cost this much more than without.
constexpr double kSemiLoad = 2;

Row OrNull(std::optional<double> value) { return value ? Row(*value) : Row(); }

Row Quantiles(const std::vector<double>& sample) {
  return {{"p50", OrNull(Quantile(sample, 0.5))},
          {"p99", OrNull(Quantile(sample, 0.99))},
          {"p999", OrNull(Quantile(sample, 0.999))},
          {"worst", OrNull(Quantile(sample, 1))}};
}

// The middle one of what the runs have.
template <typename Run, typename Value>
Row Median(const std::vector<Run>& runs, Value Run::*member) {
  std::vector<double> sample;
  for (const Run& run : runs) sample.push_back(static_cast<double>(run.*member));
  return OrNull(Quantile(sample, 0.5));
}

Row RateRow(double mean, double p99, double max) { return {{"mean", mean}, {"p99", p99}, {"max", max}}; }
Row RateRow(const Rate& rate) { return RateRow(rate.mean, rate.p99, rate.max); }
Row RateRow(const PublishedRate& rate) { return RateRow(rate.mean, rate.p99, rate.max); }
Row BandwidthRow(const PublishedBandwidth& bandwidth) {
  return {{"received", RateRow(bandwidth.received)}, {"sent", RateRow(bandwidth.sent)}};
}

Row Head(std::string_view experiment, std::string_view protocol, std::uint32_t nodes, std::uint64_t seed) {
  return {{"experiment", experiment}, {"protocol", protocol}, {"nodes", nodes}, {"seed", seed}};
}

}  // namespace

Row BootstrapRow(std::string_view protocol, const BootstrapPlan& plan, const std::vector<Bootstrap>& runs) {
  std::vector<double> complete;
  for (const Bootstrap& run : runs) {
    if (run.complete_s) complete.push_back(*run.complete_s);
  }
  Row row = Head("bootstrap", protocol, plan.nodes, plan.seed);
  row["loss"] = plan.loss;
  row["runs"] = runs.size();
  row["incomplete"] = runs.size() - complete.size();
  row["limit_s"] = Seconds(plan.limit).count();
  row["complete_s"] = Quantiles(complete);
  row["last_start_s"] = Median(runs, &Bootstrap::last_start_s);
  row["sizes_seen"] = Median(runs, &Bootstrap::sizes);
  row["seed_stream_bytes"] = Median(runs, &Bootstrap::seed_stream_bytes);
  row["seed_datagram_bytes"] = Median(runs, &Bootstrap::seed_datagram_bytes);
  row["member_stream_bytes"] = Median(runs, &Bootstrap::member_stream_bytes);
  row["member_datagram_bytes"] = Median(runs, &Bootstrap::member_datagram_bytes);
  for (const PublishedBootstrap& published : kPublishedBootstraps) {
    if (published.nodes != plan.nodes) continue;
    row["published"] = {{"memberlist_s", published.memberlist_s},
                        {"rapid_s", published.rapid_s},
                        {"memberlist_sizes_seen", published.memberlist_sizes},
                        {"rapid_sizes_seen", published.rapid_sizes}};
  }
  row["wall_s"] = Median(runs, &Bootstrap::wall_s);
  return row;
}

Row SpreadRow(std::string_view protocol, const SpreadPlan& plan, const std::vector<Spread>& runs) {
  std::vector<double> last;
  std::vector<double> half;
  Spread sum;
  bool complete = true;
  for (const Spread& run : runs) {
    last.insert(last.end(), run.last_s.begin(), run.last_s.end());
    half.insert(half.end(), run.half_s.begin(), run.half_s.end());
    sum.lost += run.lost;
    sum.copies += run.copies / static_cast<double>(runs.size());
    sum.bytes += run.bytes / static_cast<double>(runs.size());
    sum.syncs += run.syncs / static_cast<double>(runs.size());
    complete = complete && run.complete;
  }
  const Config& config = plan.config;
  Row row = Head("spread", protocol, plan.nodes, plan.seed);
  row["loss"] = plan.loss;
  row["runs"] = runs.size();
  row["complete"] = complete;
  row["updates"] = last.size() + sum.lost;
  row["not_known_to_all"] = sum.lost;
  row["last_member_s"] = Quantiles(last);
  row["half_of_members_s"] = Quantiles(half);
  row["copies_per_member"] = sum.copies;
  row["news_bytes_per_member"] = sum.bytes;
  row["syncs_per_update"] = sum.syncs;
  row["push_floor_rounds"] = PushRounds(plan.nodes, config.gossip_fanout, plan.loss);
  row["push_floor_s"] = PushFloorSeconds(plan.nodes, config.gossip_fanout, plan.loss, config.gossip_interval);
  row["copies_floor"] = 1 / (1 - plan.loss);
  return row;
}

Row ShrinkRow(std::string_view protocol, const ShrinkPlan& plan, const std::vector<Shrink>& runs) {
  std::vector<double> medians;
  std::vector<double> smallest;
  std::vector<double> spared;
  std::vector<double> over_time;
  std::uint64_t deaths = 0;
  for (const Shrink& run : runs) {
    medians.push_back(run.median);
    smallest.push_back(run.smallest);
    spared.push_back(run.spared);
    deaths += run.death_events;
    over_time.resize(std::max(over_time.size(), run.sizes.size()));
    for (std::size_t i = 0; i < run.sizes.size(); ++i) {
      over_time[i] += run.sizes[i] / static_cast<double>(runs.size());
    }
  }
  const auto mean = [&runs](const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return runs.empty() ? 0 : sum / static_cast<double>(runs.size());
  };
  Row row = Head("shrink", protocol, plan.joiners, plan.seed);
  row["loss"] = plan.loss;
  row["runs"] = runs.size();
  row["length_s"] = Seconds(plan.length).count();
  row["size_mean"] = mean(medians);
  row["size_worst"] = OrNull(Quantile(smallest, 0.001));
  row["never_declared_dead_mean"] = mean(spared);
  row["never_declared_dead_worst"] = OrNull(Quantile(spared, 0.001));
  row["death_events_per_run"] = runs.empty() ? 0 : static_cast<double>(deaths) / static_cast<double>(runs.size());
  row["size_every_5_s"] = over_time;
  row["published"] = {
      {"basic", kShrinkBasic}, {"infection", kShrinkInfection}, {"infection_and_suspicion", kShrinkSuspicion}};
  return row;
}

Row FaultsRow(std::string_view protocol, const FaultsPlan& plan, const Faults& faults) {
  Row row = Head("faults", protocol, plan.nodes, plan.seed);
  row["fault"] = kFaultNames[static_cast<std::size_t>(plan.fault)];
  row["faulty"] = plan.faulty;
  row["seconds"] = plan.seconds;
  row["complete"] = faults.complete;
  row["ever_removed"] = faults.removed_s.size();
  row["removed_s"] = {{"p50", OrNull(Quantile(faults.removed_s, 0.5))},
                      {"worst", OrNull(Quantile(faults.removed_s, 1))}};
  row["gone_in_the_end"] = faults.gone;
  row["readmissions"] = faults.readmissions;
  row["readmission_events"] = faults.readmission_events;
  row["failed_faulty_events"] = faults.failed_faulty;
  row["failed_healthy_events"] = faults.failed_healthy;
  row["failed_healthy_events_at_healthy"] = faults.failed_healthy_at_healthy;
  row["suspected_healthy_events_at_healthy"] = faults.suspected_healthy;
  row["view_changes_per_member"] = {{"mean", faults.changes_mean}, {"max", faults.changes_max}};
  row["different_sizes_max"] = faults.sizes_max;
  row["seconds_disagreed"] = faults.seconds_disagreed;
  row["kb_per_s"] = {{"received", RateRow(faults.received)}, {"sent", RateRow(faults.sent)}};
  if (plan.fault == Fault::kCrash) {
    row["published_kb_per_s"] = {{"memberlist", BandwidthRow(kMemberlistBandwidth)},
                                 {"rapid", BandwidthRow(kRapidBandwidth)}};
  }
  row["views_columns"] = {"second", "smallest", "median", "largest"};
  Row views = Row::array();
  for (const ViewSizes& view : faults.views) {
    views.push_back(Row::array({view.second, view.smallest, view.median, view.largest}));
  }
  row["views"] = views;
  row["wall_s"] = faults.wall_s;
  return row;
}

Row LoadFloorRow(std::string_view protocol, const LoadFloorPlan& plan, const LoadFloor& floor) {
  Row row = Head("floor", protocol, plan.nodes, plan.seed);
  row["loss"] = plan.loss;
  row["t_s"] = 1;
  row["quantile"] = plan.quantile;
  row["mistake_probability"] = plan.mistake;
  row["floor_datagrams_per_member_t"] = floor.bound;
  row["period_s"] = OrNull(floor.period_s);
  if (!floor.period_s) return row;
  row["crashes"] = floor.crashes;
  row["first_suspicion_s"] = floor.first_suspicion_s;
  row["datagrams_per_member_t"] = floor.load;
  row["ratio_to_floor"] = floor.ratio;
  row["mistakes"] = floor.mistakes;
  row["mistakes_per_member_t"] = floor.mistake_rate;
  row["mistakes_low95"] = floor.mistake_interval.low;
  row["mistakes_high95"] = floor.mistake_interval.high;
  row["accurate"] = floor.accurate;
  return row;
}

Row HealSide(const Heal& heal) {
  return {{"right", heal.right()},
          {"begun", heal.begun},
          {"whole_s", OrNull(heal.whole_s)},
          {"wrong_pairs", heal.wrong},
          {"deaths_in_first_period", heal.deaths_first_period},
          {"deaths_later", heal.deaths}};
}

Row RestartSide(const MassRestart& restart) {
  const bool complete = restart.complete != Duration::max();
  return {{"right", restart.begun && restart.complete <= kRestartWithin},
          {"begun", restart.begun},
          {"whole_s", complete ? Row(Seconds(restart.complete).count()) : Row()},
          {"wrong_pairs_after_30_s", restart.wrong_after_30s},
          {"wrong_pairs", restart.wrong},
          {"wrong_pairs_dead", restart.dead}};
}

Row SemiSide(const Semi& semi) {
  const double load = semi.idle_datagrams > 0 ? semi.datagrams / semi.idle_datagrams : 0;
  return {{"right", semi.begun && semi.failed_healthy == 0 && load <= kSemiLoad},
          {"begun", semi.begun},
          {"failed_healthy_events_at_healthy", semi.failed_healthy},
          {"suspected_healthy_events_at_healthy", semi.suspected_healthy},
          {"suspicions_per_s", semi.suspicions_per_s},
          {"healthy_accused", semi.accused_healthy},
          {"failed_healthy_events_at_semi", semi.failed_by_semi},
          {"failed_semi_events", semi.failed_semi},
          {"returned_semi_events", semi.returned_semi},
          {"datagrams_per_member_s", semi.datagrams},
          {"load_to_idle", load}};
}

Row KnownRow(std::string_view name, std::uint32_t nodes, std::uint64_t seed, const Row& parameters, const Row& baseline,
             const Row& nekton) {
  Row row = {{"experiment", "known"}, {"case", name}, {"nodes", nodes}, {"seed", seed}};
  row.update(parameters);
  row["baseline"] = baseline;
  row["nekton"] = nekton;
  return row;
}

}  // namespace nekton::bench
