// The inverse of a level of suspicion, exact to the nanosecond. Internal to phi/.
#pragma once

#include <algorithm>

#include "phi/time.h"

namespace nekton {

// `value` nanoseconds, held within 0 and Duration::max(); NaN is 0.
constexpr Duration HeldNanoseconds(double value) {
  constexpr double kEnd = 0x1p63;
  if (!(value > 0)) return Duration::zero();
  return value >= kEnd ? Duration::max() : Duration(static_cast<Duration::rep>(value));
}

// A silence at which `phi` has reached `level` and one nanosecond before it has not: the first one, if `phi` never
// falls. Zero if the level is reached already there, Duration::max() if it never is. Searches in steps that double,
// away from `guess`; a good guess takes two or three calls.
template <typename Function>
Duration ExactSilence(Duration guess, double level, const Function& phi) {
  const auto reached = [&](Duration silence) { return phi(silence) >= level; };
  Duration below = Duration::zero();
  Duration above = Duration::max();
  Duration step{1};
  if (reached(guess)) {
    above = guess;
    while (true) {
      if (above <= step) {
        below = Duration::zero();
        if (reached(below)) return below;
        break;
      }
      below = above - step;
      if (!reached(below)) break;
      above = below;
      step *= 2;
    }
  } else {
    below = guess;
    while (true) {
      if (Duration::max() - below <= step) {
        above = Duration::max();
        if (!reached(above)) return above;
        break;
      }
      above = below + step;
      if (reached(above)) break;
      below = above;
      step *= 2;
    }
  }
  while (above - below > Duration(1)) {
    const Duration middle = below + (above - below) / 2;
    (reached(middle) ? above : below) = middle;
  }
  return above;
}

}  // namespace nekton
