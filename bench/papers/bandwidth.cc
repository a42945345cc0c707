#include "bench/papers/bandwidth.h"

#include <numeric>

#include "bench/common/quantiles.h"
#include "bench/common/spending.h"

namespace nekton::bench {
namespace {

constexpr double kHeaders = 28;

Rate RateOf(const std::vector<double>& sample) {
  if (sample.empty()) return {};
  const double sum = std::accumulate(sample.begin(), sample.end(), 0.0);
  return {sum / static_cast<double>(sample.size()), *Quantile(sample, 0.99), *Quantile(sample, 1)};
}

}  // namespace

Bandwidth::Bandwidth(const Simulator& sim) : sim_(sim), before_(sim.size()) {
  for (SimId id = 0; id < sim.size(); ++id) before_[id] = TotalOf(id);
}

void Bandwidth::Sample() {
  for (SimId id = 0; id < before_.size(); ++id) {
    const Total now = TotalOf(id);
    if (now.runs && before_[id].runs) {
      sent_.push_back((now.sent - before_[id].sent) / 1000);
      received_.push_back((now.received - before_[id].received) / 1000);
    }
    before_[id] = now;
  }
}

Rate Bandwidth::Sent() const { return RateOf(sent_); }
Rate Bandwidth::Received() const { return RateOf(received_); }

Bandwidth::Total Bandwidth::TotalOf(SimId id) const {
  const Member* const member = sim_.member(id);
  if (member == nullptr) return {};
  const Counters& counters = member->counters();
  const Spending spent = SpendingOf(counters);
  const Spending::Sum datagrams = spent.Datagrams();
  return {true, datagrams.bytes + kHeaders * datagrams.count + spent.sync.bytes,
          static_cast<double>(counters[Counter::kBytesReceived]) +
              kHeaders * static_cast<double>(counters[Counter::kDatagramsReceived])};
}

}  // namespace nekton::bench
