#include "bench/message_cost/report.h"

#include <cstddef>
#include <string>

#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "bench/message_cost/floor.h"

namespace nekton::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kHeartbeatBytes = 32;  // of one without news (swim/FORMAT.md)

// A heartbeat's purpose is the last one.
static_assert(kPurposes.back().name == "heartbeat");

Json ToJson(const Spending& spending) {
  const Spending::Sum all = spending.Datagrams();
  Json json = {{"datagrams", all.count}, {"bytes", all.bytes}};
  for (std::size_t i = 0; i < kPurposes.size(); ++i) {
    const std::string name(kPurposes[i].name);
    json[name + "_datagrams"] = spending.by_purpose[i].count;
    json[name + "_bytes"] = spending.by_purpose[i].bytes;
  }
  json["sync_requests"] = spending.sync.count;
  json["sync_bytes"] = spending.sync.bytes;
  return json;
}

}  // namespace

std::string JsonLine(const CostRow& row) {
  const Cost& cost = row.cost;
  const Spending::Sum steady = cost.steady.Datagrams();
  Json line = {{"nodes", row.nodes},
               {"protocol", row.protocol},
               {"detector", row.detector},
               {"probing", row.probing},
               {"loss", row.loss},
               {"seed", row.seed},
               {"source", row.computed ? "computed" : "measured"},
               {"complete", cost.complete},
               {"datagrams_per_member_period", steady.count},
               {"bytes_per_member_period", steady.bytes},
               {"floor_datagrams_per_member_period", MessageFloor(row.loss, row.mistake)},
               {"floor_mistake_probability", row.mistake},
               {"steady_per_member_period", ToJson(cost.steady)}};
  if (cost.crashes > 0) {
    line["crashes"] = cost.crashes;
    line["crash_all_know_mean_s"] = cost.crash_seconds;
    line["crash_extra_of_group"] = ToJson(cost.crash);
    line["crash_extra_per_survivor"] = ToJson(cost.crash * (1.0 / (row.nodes - 1)));
  }
  if (!row.computed) line["wall_s"] = cost.wall_seconds;
  return line.dump() + "\n";
}

std::string TableHead() {
  return absl::StrFormat("%6s %-11s %-5s %-9s %5s  %12s %12s %7s  %9s %9s %9s %8s\n", "nodes", "protocol", "det.",
                         "probing", "loss", "dgrams/mem/T", "bytes/mem/T", "floor", "crash: s", "dgrams", "bytes",
                         "dgr./mem");
}

std::string TableLine(const CostRow& row) {
  const Cost& cost = row.cost;
  const Spending::Sum steady = cost.steady.Datagrams();
  std::string line =
      absl::StrFormat("%6d %-11s %-5s %-9s %5.2f  %12.4f %12.2f %7.3f", row.nodes, row.protocol, row.detector,
                      row.probing, row.loss, steady.count, steady.bytes, MessageFloor(row.loss, row.mistake));
  if (cost.crashes > 0) {
    const Spending::Sum crash = cost.crash.Datagrams();
    absl::StrAppendFormat(&line, "  %9.3f %9.1f %9.0f %8.2f", cost.crash_seconds, crash.count, crash.bytes,
                          crash.count / (row.nodes - 1));
  }
  if (row.computed) return line + "  computed\n";
  return line + (cost.complete ? "\n" : "  incomplete\n");
}

CostRow ComputedMesh(std::uint32_t nodes) {
  CostRow row{.protocol = "mesh", .detector = "any", .probing = "none", .nodes = nodes, .computed = true, .cost = {}};
  row.cost.complete = true;
  const double others = nodes - 1;
  row.cost.steady.by_purpose.back() = {others, kHeartbeatBytes * others};
  return row;
}

}  // namespace nekton::bench
