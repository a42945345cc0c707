// Who was told of which broadcast, how often and when, in a simulated group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/cluster.h"

namespace nekton {

// It takes the cluster's handler. Tests give each broadcast bytes of its own.
class BroadcastTally {
 public:
  struct Delivery {
    std::string key;
    std::string bytes;
    bool replayed = false;
    Duration at{};
  };

  explicit BroadcastTally(Cluster& cluster) : cluster_(cluster) {
    cluster.sim().SetHandler([this](const SimEvent& event) {
      if (event.event.kind != EventKind::kBroadcast) return;
      const BroadcastInfo& said = *event.event.broadcast;
      told_[event.member].push_back({said.key, said.bytes, said.replayed, event.at});
      ++counts_[{said.key, said.bytes}][event.member];
    });
  }

  const std::vector<Delivery>& Of(SimId member) { return told_[member]; }
  // How many members were told of it, each exactly once; 0 if anybody was told twice.
  std::size_t Once(const std::string& key, const std::string& bytes) {
    for (const auto& [member, count] : counts_[{key, bytes}]) {
      if (count != 1) return 0;
    }
    return counts_[{key, bytes}].size();
  }
  std::size_t Twice() const {
    std::size_t twice = 0;
    for (const auto& [said, counts] : counts_) {
      for (const auto& [member, count] : counts) twice += count > 1 ? 1U : 0U;
    }
    return twice;
  }
  bool Has(SimId member, const std::string& key, const std::string& bytes) {
    return counts_[{key, bytes}].contains(member);
  }
  // The last that each live member was told under the key is this.
  bool AllHold(const std::string& key, const std::string& bytes) {
    for (SimId id = 0; id < cluster_.size(); ++id) {
      if (!cluster_.sim().live(id)) continue;
      std::string last;
      for (const Delivery& d : told_[id]) {
        if (d.key == key) last = d.bytes;
      }
      if (last != bytes) return false;
    }
    return true;
  }

 private:
  Cluster& cluster_;
  std::map<SimId, std::vector<Delivery>> told_;
  std::map<std::pair<std::string, std::string>, std::map<SimId, std::size_t>> counts_;
};

}  // namespace nekton
