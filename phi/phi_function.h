// Phi without a detector: for those who have a mean and a deviation of their own, and to choose a threshold.
//
// Source: failure-detection (FD), "phi-accrual", whose examples hold. All functions are pure and allocate nothing
// unless they return an error.
#pragma once

#include <span>

#include "absl/status/statusor.h"

namespace nekton {

// -log10 P(X > silence - pause_margin), X normal with this mean and standard deviation; all four in the same unit, any.
// Finite for every finite input, where FD's goes to infinity. InvalidArgument names the argument and its value: a
// negative silence or margin, sigma <= 0, NaN, infinity.
absl::StatusOr<double> Phi(double silence, double mean, double sigma, double pause_margin = 0);

// The threshold at which a detector that is asked `tests_per_second` times is wrong `mistakes_per_second` times:
// log10(tests / mistakes), as far as the distribution is right. InvalidArgument if one is not a positive finite number,
// or if more mistakes are wanted than there are tests.
absl::StatusOr<double> ThresholdFor(double tests_per_second, double mistakes_per_second);

// What one open expectation of level `phi` adds to the sum below: -log10(p + (1 - p) 10^-phi), p = loss. At most phi,
// and at most -log10 p, so that what can be explained by a lost message never weighs more than that. phi >= 0, loss in
// [0, 1): the caller has checked. Exact to 1e-14 even where the parts underflow; in order within that, not to the last
// place as tail.h is.
double LossAwarePhi(double phi, double loss);

// The sum over all open expectations, given their levels, held at the largest double. With loss 0 and one expectation
// it is that level. InvalidArgument names what is negative, NaN or infinite, and a loss outside [0, 1).
absl::StatusOr<double> LossAwareSum(std::span<const double> phis, double loss);

}  // namespace nekton
