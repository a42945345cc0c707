#include "bench/common/spending.h"

#include <cstddef>

namespace nekton::bench {
namespace {

Spending::Sum Plus(const Spending::Sum& a, const Spending::Sum& b, double factor) {
  return {a.count + factor * b.count, a.bytes + factor * b.bytes};
}

Spending Plus(const Spending& a, const Spending& b, double factor) {
  Spending sum;
  for (std::size_t i = 0; i < kPurposes.size(); ++i) {
    sum.by_purpose[i] = Plus(a.by_purpose[i], b.by_purpose[i], factor);
  }
  sum.sync = Plus(a.sync, b.sync, factor);
  return sum;
}

}  // namespace

Spending::Sum Spending::Datagrams() const {
  Sum sum;
  for (const Sum& purpose : by_purpose) sum = Plus(sum, purpose, 1);
  return sum;
}

Spending& Spending::operator+=(const Spending& other) { return *this = Plus(*this, other, 1); }
Spending Spending::operator-(const Spending& other) const { return Plus(*this, other, -1); }
Spending Spending::operator*(double factor) const { return Plus(Spending{}, *this, factor); }

Spending SpendingOf(const Counters& counters) {
  const auto of = [&counters](Counter counter) { return static_cast<double>(counters[counter]); };
  Spending spending;
  for (std::size_t i = 0; i < kPurposes.size(); ++i) {
    spending.by_purpose[i] = {of(kPurposes[i].datagrams), of(kPurposes[i].bytes)};
  }
  spending.sync = {of(Counter::kSyncRequestsSent), of(Counter::kSyncBytesSent)};
  return spending;
}

Spending SpendingOf(const Simulator& sim) {
  Spending sum;
  for (SimId id = 0; id < sim.size(); ++id) {
    if (const Member* member = sim.member(id); member != nullptr) sum += SpendingOf(member->counters());
  }
  return sum;
}

}  // namespace nekton::bench
