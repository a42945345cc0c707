#include "phi/fixed_deadline.h"

namespace nekton {

Instant FixedDeadline::DeadlineFor(std::uint32_t /*peer*/, Instant opened) const { return Later(opened, limit_); }

void FixedDeadline::Heard(std::uint32_t /*peer*/, Instant /*opened*/, Instant /*now*/) {}

double FixedDeadline::Level(std::uint32_t /*peer*/, Instant opened, Instant now) const {
  if (now <= opened) return 0.0;
  const auto silence = static_cast<double>((now - opened).count());
  // The quotient first: at the deadline it is exactly 1, and the level exactly the threshold.
  return threshold_ * (silence / static_cast<double>(limit_.count()));
}

void FixedDeadline::Forget(std::uint32_t /*peer*/) {}

}  // namespace nekton
