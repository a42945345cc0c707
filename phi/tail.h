// Phi, the level of suspicion: -log10 P(X > x), exact far beyond where P(X > x) itself underflows. And back.
//
// Source: Hayashibara, Defago, Yared, Katayama, "The phi accrual failure detector" (SRDS 2004), 4.3. What holds here
// for every law:
//  - phi is never negative, never NaN and always finite: what exceeds kMaxPhi is held there, so that two silences can
//    still be compared. x may be any double; infinity counts as more than every number, NaN as minus infinity.
//  - phi never falls as x grows, not even by a rounding error from one double to the next. To that end x is rounded
//    where the errors of the functions below would show: it is in the errors given below.
//  - Parameters must be finite, deviations and scales > 0; the caller has checked. Units are the caller's: x and mean
//    must have the same.
// ...At is the inverse: the x at which phi is reached, within rounding; -infinity (0 for laws on positive numbers) for
// phi <= 0 or NaN, held at the largest double at the other end.
#pragma once

#include <limits>

namespace nekton {

inline constexpr double kMaxPhi = std::numeric_limits<double>::max();

// Relative error below 1e-14 where phi >= 0.01; below that, 4e-15 * (1 + z^2), where z = (x - mean) / sigma.
double NormalPhi(double x, double mean, double sigma);
double NormalAt(double phi, double mean, double sigma);

// ln X is normal with mean `mu` (-750 to 750) and deviation `sigma`. Errors as above if sigma >= 0.02, with
// z = (ln x - mu) / sigma.
double LogNormalPhi(double x, double mu, double sigma);
double LogNormalAt(double phi, double mu, double sigma);

// Relative error below 1e-15.
double ExponentialPhi(double x, double mean);
double ExponentialAt(double phi, double mean);

// Mean shape * scale, variance shape * scale^2. The shape is held within kMinShape and kMaxShape (a deviation of 316 %
// and 1 % of the mean). Relative error below 1e-12 where phi >= 0.01 and shape <= 1000; in general
// below 2e-14 * (1 + shape).
inline constexpr double kMinShape = 0.1;
inline constexpr double kMaxShape = 1e4;
double GammaPhi(double x, double shape, double scale);
double GammaAt(double phi, double shape, double scale);

}  // namespace nekton
