// How long it usually takes until evidence comes: a law and its parameters.
#pragma once

#include <cstdint>

#include "phi/time.h"

namespace nekton {

enum class Law : std::uint8_t {
  kNormal,       // heartbeats: sent by a clock, each a little early or late
  kLogNormal,    // round trips: never below the wire, a long way above it
  kExponential,  // knows only the mean
  kGamma,        // between exponential and normal
};

// A value of 40 bytes; copies freely, allocates nothing. Safe to read from several threads.
class Distribution {
 public:
  // The member of the family `law` with this mean and this standard deviation, both in nanoseconds. They are held
  // within [1 ns, 2^53 ns (104 days)] (NaN as 1 ns), and the deviation within [0.1 %, 316 %] of the mean ([1 %, 316 %]
  // for gamma), so that there always is one. The normal law is not cut at zero: it is the classic one, and grants
  // negative times some small probability. The exponential law ignores the deviation.
  Distribution(Law law, double mean, double deviation);

  // -log10 of the probability that evidence still has not come after this silence (tail.h): finite, never negative,
  // and it never falls as silence grows. A negative silence counts as none.
  double Phi(Duration silence) const;
  // The first silence at which Phi() >= level: one nanosecond before, it is less. Zero if none is needed,
  // Duration::max() if no silence is long enough (or the level is NaN).
  Duration SilenceFor(double level) const;

  Law law() const { return law_; }
  double mean() const { return mean_; }            // ns
  double deviation() const { return deviation_; }  // ns

 private:
  double mean_;
  double deviation_;
  // Normal: mean, deviation. Lognormal: those of ln X. Gamma: shape, scale. Exponential: mean.
  double first_ = 0;
  double second_ = 0;
  Law law_;
};

}  // namespace nekton
