#include "examples/agent/sim_traffic.h"

namespace nekton {
namespace {

void Add(const Counters& from, Counters* to) {
  for (std::size_t i = 0; i < Counters::size(); ++i) (*to)[static_cast<Counter>(i)] += from[static_cast<Counter>(i)];
}

}  // namespace

void SimTraffic::Ends(SimId id) {
  if (const Member* member = simulator_->member(id); member != nullptr) Add(member->counters(), &ended_);
}

Counters SimTraffic::Total() const {
  Counters total = ended_;
  for (SimId id = 0; id < simulator_->size(); ++id) {
    if (const Member* member = simulator_->member(id); member != nullptr) Add(member->counters(), &total);
  }
  return total;
}

Counters SimTraffic::Difference() const {
  Counters total = Total();
  for (std::size_t i = 0; i < Counters::size(); ++i) total[static_cast<Counter>(i)] -= base_[static_cast<Counter>(i)];
  return total;
}

}  // namespace nekton
