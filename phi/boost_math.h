// The special functions that the standard library lacks. Internal: include it from phi/*.cc only.
//
// Nothing throws; all are pure. Arguments outside the stated ranges give an unspecified number.
#pragma once

namespace nekton::boost_math {

// w with erfc(w) = q, 0 < q < 2.
double ErfcInverse(double q);

// P(X <= x) and P(X > x) of a gamma variable of this shape and scale 1; 0 < x. Both underflow to zero.
double GammaBelow(double shape, double x);
double GammaAbove(double shape, double x);
// Their inverses, 0 < p, q < 1.
double GammaBelowInverse(double shape, double p);
double GammaAboveInverse(double shape, double q);

struct FarTail {
  double minus_ln = 0;  // -ln P(X > x), may be infinite
  double hazard = 0;    // its derivative
};
// The same tail where P(X > x) is nothing a double can hold; x > shape + 1.
FarTail GammaFarTail(double shape, double x);

}  // namespace nekton::boost_math
