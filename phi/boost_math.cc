// The only file that includes Boost.Math: it costs two seconds and 300 MB wherever it is included.
#include "phi/boost_math.h"

#include <cmath>
#include <limits>

#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/gamma.hpp>

namespace nekton::boost_math {
namespace {

namespace policies = boost::math::policies;

// By default Boost.Math throws, and computes in long double, which is six times slower and differs between machines.
using Policy = policies::policy<
    policies::domain_error<policies::ignore_error>, policies::pole_error<policies::ignore_error>,
    policies::overflow_error<policies::ignore_error>, policies::underflow_error<policies::ignore_error>,
    policies::denorm_error<policies::ignore_error>, policies::rounding_error<policies::ignore_error>,
    policies::evaluation_error<policies::ignore_error>, policies::indeterminate_result_error<policies::ignore_error>,
    policies::promote_float<false>, policies::promote_double<false>>;
constexpr Policy kPolicy;

constexpr double kStirlingFrom = 10;

// ln(x^a e^-x / Gamma(a)).
double LnPrefix(double a, double x) {
  if (a < kStirlingFrom) return a * std::log(x) - x - boost::math::lgamma(a, kPolicy);
  // Stirling's series (Abramowitz & Stegun 6.1.41) inside: its large terms cancel against those of x here, on paper
  // instead of in rounded numbers.
  const double ratio = (x - a) / a;
  const double r = 1 / (a * a);
  const double correction = (1.0 / 12 - r * (1.0 / 360 - r * (1.0 / 1260 - r * (1.0 / 1680 - r / 1188)))) / a;
  constexpr double kLnTwoPi = 1.8378770664093454836;
  return a * (std::log1p(ratio) - ratio) + 0.5 * (std::log(a) - kLnTwoPi) - correction;
}

// Gamma(a, x) e^x x^-a by the even part of its continued fraction (Abramowitz & Stegun 6.5.31), evaluated forwards
// (Lentz 1976). It converges quickly where the tail is far.
double ContinuedFraction(double a, double x) {
  constexpr int kMostTerms = 100'000;
  double b = x + 1 - a;
  double c = std::numeric_limits<double>::max();
  double d = 1 / b;
  double value = d;
  for (int n = 1; n < kMostTerms; ++n) {
    const double numerator = n * (a - n);
    b += 2;
    d = 1 / (numerator * d + b);
    c = b + numerator / c;
    const double step = c * d;
    value *= step;
    if (std::abs(step - 1) <= std::numeric_limits<double>::epsilon()) break;
  }
  return value;
}

}  // namespace

double ErfcInverse(double q) { return boost::math::erfc_inv(q, kPolicy); }
double GammaBelow(double shape, double x) { return boost::math::gamma_p(shape, x, kPolicy); }
double GammaAbove(double shape, double x) { return boost::math::gamma_q(shape, x, kPolicy); }
double GammaBelowInverse(double shape, double p) { return boost::math::gamma_p_inv(shape, p, kPolicy); }
double GammaAboveInverse(double shape, double q) { return boost::math::gamma_q_inv(shape, q, kPolicy); }

FarTail GammaFarTail(double shape, double x) {
  const double fraction = ContinuedFraction(shape, x);
  return {.minus_ln = -(LnPrefix(shape, x) + std::log(fraction)), .hazard = 1 / (x * fraction)};
}

}  // namespace nekton::boost_math
