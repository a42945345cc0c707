#include "phi/fixed_deadline.h"

#include <cmath>

#include "phi/exact_silence.h"

namespace nekton {
namespace {

// The quotient first: at the limit it is exactly 1, and the level exactly the threshold. Both steps keep the order of
// silences, so the level never falls.
double LevelOf(Duration silence, Duration limit, double threshold) {
  return threshold * (static_cast<double>(silence.count()) / static_cast<double>(limit.count()));
}

}  // namespace

Instant FixedDeadline::DeadlineFor(std::uint32_t /*peer*/, Instant opened) const { return Later(opened, limit_); }

void FixedDeadline::Heard(std::uint32_t /*peer*/, Instant /*opened*/, Instant /*now*/, std::uint32_t /*beats*/) {}

double FixedDeadline::Level(std::uint32_t /*peer*/, Instant opened, Instant now) const {
  return now <= opened ? 0.0 : LevelOf(now - opened, limit_, threshold_);
}

Instant FixedDeadline::ReachedAt(std::uint32_t /*peer*/, Instant opened, double level) const {
  if (level <= 0) return opened;
  const double guess = level / threshold_ * static_cast<double>(limit_.count());
  const Duration silence = ExactSilence(HeldNanoseconds(std::ceil(guess)), level,
                                        [this](Duration s) { return LevelOf(s, limit_, threshold_); });
  return silence == Duration::max() ? kNever : Later(opened, silence);
}

void FixedDeadline::Reserve(std::uint32_t /*peers*/) {}

void FixedDeadline::Forget(std::uint32_t /*peer*/) {}

}  // namespace nekton
