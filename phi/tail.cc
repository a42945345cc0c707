#include "phi/tail.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "phi/boost_math.h"

namespace nekton {
namespace {

constexpr double kLog10E = 0.43429448190325182765;
constexpr double kLn10 = 2.3025850929940456840;
constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLargest = std::numeric_limits<double>::max();

// Where 10^-phi comes near the end of the doubles.
constexpr double kFarPhi = 280;

double Held(double value) { return std::min(value, kLargest); }

// `x`, a positive or negative number, to `dropped` bits less than a double has; to nearest.
double Coarse(double x, int dropped) {
  const std::uint64_t half = std::uint64_t{1} << (dropped - 1);
  return std::bit_cast<double>((std::bit_cast<std::uint64_t>(x) + half) & ~(2 * half - 1));
}

// Neighbours on this grid differ in phi by at least five times the unit in the last place. The errors of what follows
// are together smaller (that of a polynomial is below one unit, as are those of exp and log1p), so phi cannot fall
// between neighbours, and between them it does not change at all.
double OnGrid(double z) {
  if (std::abs(z) < 1) return (z + 12) - 12;  // in steps of 2^-49
  return std::abs(z) <= kLargest ? Coarse(z, 3) : z;
}

// -ln of the standard normal's tail at z >= 25, by the asymptotic series of Mills' ratio (Abramowitz & Stegun 26.2.12),
// in the logarithm. The first omitted term is below 1e-16.
double FarMinusLnTail(double z) {
  const double r = 1 / z / z;
  const double series = r * (1 - r * (3 - r * (15 - r * (105 - r * (945 - r * (10'395 - r * 135'135))))));
  constexpr double kLnSqrtTwoPi = 0.91893853320467274178;
  return 0.5 * z * z + (std::log(z) + kLnSqrtTwoPi) - std::log1p(-series);
}

double MillsPhi(double z) { return Held(FarMinusLnTail(z) * kLog10E); }

// The same below 25, as Taylor polynomials: sixteen to every power of two of z + 1. Exact to the last place or two,
// in a third of the time of erfc and log, as there is no branch that nobody can foresee. The compiler works them out.
constexpr double kNear = 25;
constexpr int kPieceBits = 4;
constexpr int kPieces = 5 << kPieceBits;  // up to z + 1 = 32
constexpr std::size_t kTerms = 9;
using Real = long double;
using Pieces = std::array<std::array<double, kTerms>, kPieces>;

// The standard normal's density / tail.
constexpr Real Hazard(Real z) {
  if (z > 2) {  // Laplace's continued fraction (Abramowitz & Stegun 26.2.14)
    Real value = z;
    for (int n = 200; n > 0; --n) value = z + n / value;
    return value;
  }
  // The series of 26.2.11, divided by the density: the tail is a half less all that lies between 0 and z.
  constexpr Real kSqrtHalfPi = 1.2533141373155002512078826424055L;
  Real half = kSqrtHalfPi;
  Real sum = kSqrtHalfPi;
  Real power = z;
  for (int n = 1; n < 80; ++n) {
    half *= z * z / (2 * n);
    sum += half - power;
    power *= z * z / (2 * n + 1);
  }
  return 1 / sum;
}

// Taylor's coefficients of -ln tail around z but for the first. Its derivative is the hazard h, and h' = h * (h - z).
constexpr std::array<Real, 24> Rise(Real z) {
  std::array<Real, 24> h{Hazard(z)};
  for (std::size_t n = 0; n + 1 < h.size(); ++n) {
    Real sum = -z * h[n] - (n > 0 ? h[n - 1] : 0);
    for (std::size_t k = 0; k <= n; ++k) sum += h[k] * h[n - k];
    h[n + 1] = sum / static_cast<Real>(n + 1);
  }
  for (std::size_t n = 0; n < h.size(); ++n) h[n] /= static_cast<Real>(n + 1);
  return h;
}

constexpr Pieces kNearPieces = [] {
  Pieces pieces{};
  Real minus_ln = 0.69314718055994530941723212145818L;  // at z = 0; then from edge to edge
  for (std::size_t i = 0; i < kPieces; ++i) {
    const Real width = static_cast<Real>(1 << (i >> kPieceBits)) / (1 << kPieceBits);
    const Real from = width * static_cast<Real>((1 << kPieceBits) + (i & ((1 << kPieceBits) - 1)));
    const std::array<Real, 24> rise = Rise(from + width / 2 - 1);
    Real below = 0;
    Real above = 0;
    for (std::size_t n = rise.size(); n-- > 0;) {
      below = (below + rise[n]) * (-width / 2);
      above = (above + rise[n]) * (width / 2);
    }
    pieces[i][0] = static_cast<double>(minus_ln - below);
    for (std::size_t n = 1; n < kTerms; ++n) pieces[i][n] = static_cast<double>(rise[n - 1]);
    minus_ln += above - below;
  }
  return pieces;
}();

double NearMinusLnTail(double z) {
  constexpr int kShift = 52 - kPieceBits;
  constexpr std::uint64_t kFirst = std::bit_cast<std::uint64_t>(1.0) >> kShift;
  const double from = z + 1;
  const std::uint64_t piece = std::bit_cast<std::uint64_t>(from) >> kShift;
  const std::array<double, kTerms>& c = kNearPieces[piece - kFirst];
  const double d = from - std::bit_cast<double>((piece << kShift) | (std::uint64_t{1} << (kShift - 1)));
  const double d2 = d * d;
  const double d4 = d2 * d2;
  const double far = (c[5] + d * c[6]) + d2 * (c[7] + d * c[8]);
  const double near = (c[1] + d * c[2]) + d2 * (c[3] + d * c[4]);
  return c[0] + d * (near + d4 * far);
}

double StandardPhi(double z) {
  if (std::isnan(z)) return 0;
  const double on_grid = OnGrid(z);
  const double distance = std::abs(on_grid);
  const double minus_ln = distance < kNear ? NearMinusLnTail(distance) : FarMinusLnTail(distance);
  if (on_grid >= 0) return Held(minus_ln * kLog10E);
  return -std::log1p(-std::exp(-minus_ln)) * kLog10E;
}

double StandardAt(double phi) {
  if (!(phi > 0)) return -kInfinity;
  constexpr double kLog10Two = 0.30102999566398119521;
  constexpr double kSqrtTwo = 1.4142135623730950488;
  const double ln_tail = -phi * kLn10;
  if (phi < kLog10Two) return -kSqrtTwo * boost_math::ErfcInverse(-2 * std::expm1(ln_tail));
  if (phi < kFarPhi) return kSqrtTwo * boost_math::ErfcInverse(2 * std::exp(ln_tail));
  // Newton's steps from just beyond; the slope is z + 1/z within 1e-6. Two would do.
  constexpr double kSqrtTwoLn10 = 2.1459660262893472;
  double z = std::sqrt(Held(phi)) * kSqrtTwoLn10;
  for (int i = 0; i < 4; ++i) z -= (MillsPhi(z) - Held(phi)) / ((z + 1 / z) * kLog10E);
  return z;
}

// ln m + k ln 2 - mu, where m is within sqrt(1/2) and sqrt(2).
double LnRatioOf(int k, double m, double mu) {
  constexpr double kLn2High = 0x1.62e42feep-1;  // so short that its product with an exponent is exact
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  return (k * kLn2High - mu) + (std::log(m) + k * kLn2Low);
}

struct Parts {
  double m = 0;  // at least sqrt(1/2), below sqrt(2)
  int k = 0;
};

// x = m * 2^k, x > 0. By hand and without a branch, for frexp takes as long as the logarithm that follows.
Parts Split(double x) {
  constexpr auto kFirst = std::bit_cast<std::uint64_t>(kSqrtHalf);
  const bool normal = x >= std::numeric_limits<double>::min();
  const auto bits = std::bit_cast<std::uint64_t>(normal ? x : x * 0x1p54);
  // The exponent's difference to that of sqrt(1/2), less one if the fraction is smaller.
  const auto k = static_cast<std::int64_t>(bits - kFirst) >> 52;
  const auto m = std::bit_cast<double>(bits - (static_cast<std::uint64_t>(k) << 52));
  return {.m = m, .k = static_cast<int>(normal ? k : k - 54)};
}

// ln x - mu, x > 0. The difference of two rounded numbers would lose what sigma then magnifies: near x = e^mu this is
// exact to 2e-16 instead of to the last place of mu.
double LnRatio(double x, double mu) {
  const auto [m, k] = Split(x);
  const double ratio = LnRatioOf(k, m, mu);
  // From one power of two to the next the rounding changes: the last values before must not exceed the first after.
  constexpr double kNearEnd = 2 * kSqrtHalf - 0x1p-39;
  return m < kNearEnd ? ratio : std::min(ratio, LnRatioOf(k + 1, kSqrtHalf, mu));
}

double HeldShape(double shape) { return std::clamp(shape, kMinShape, kMaxShape); }

// Scale 1.
double StandardGammaPhi(double x, double shape) {
  if (x < shape) return -std::log1p(-boost_math::GammaBelow(shape, x)) * kLog10E;
  constexpr double kSmallest = 1e-280;
  // A tail beyond 1e-280 is far beyond `shape`, and beyond 10 * shape + 2000 there is nothing nearer.
  const double above = x > 10 * shape + 2000 ? 0 : boost_math::GammaAbove(shape, x);
  if (above > kSmallest) return std::max(0.0, -std::log(above) * kLog10E);
  return Held(boost_math::GammaFarTail(shape, x).minus_ln * kLog10E);
}

double StandardGammaAt(double phi, double shape) {
  const double ln_tail = -std::min(phi, kFarPhi) * kLn10;
  if (phi < 0.3) return boost_math::GammaBelowInverse(shape, -std::expm1(ln_tail));
  double x = boost_math::GammaAboveInverse(shape, std::exp(ln_tail));
  if (phi < kFarPhi) return x;
  // Newton's steps in the logarithm, where the tail is nearly straight.
  for (int i = 0; i < 100; ++i) {
    const boost_math::FarTail tail = boost_math::GammaFarTail(shape, x);
    const double next = Held(x - (tail.minus_ln * kLog10E - phi) / (tail.hazard * kLog10E));
    const bool done = std::abs(next - x) <= 4e-16 * x;
    x = next;
    if (done) break;
  }
  return x;
}

}  // namespace

double NormalPhi(double x, double mean, double sigma) { return StandardPhi((x - mean) / sigma); }

double NormalAt(double phi, double mean, double sigma) { return Held(mean + sigma * StandardAt(phi)); }

double LogNormalPhi(double x, double mu, double sigma) { return x > 0 ? StandardPhi(LnRatio(Held(x), mu) / sigma) : 0; }

double LogNormalAt(double phi, double mu, double sigma) { return Held(std::exp(mu + sigma * StandardAt(phi))); }

double ExponentialPhi(double x, double mean) { return x > 0 ? Held(x / mean * kLog10E) : 0; }

double ExponentialAt(double phi, double mean) { return phi > 0 ? Held(phi * (mean * kLn10)) : 0; }

double GammaPhi(double x, double shape, double scale) {
  constexpr int kDropped = 6;  // Boost's functions are exact to about 1e-15; see OnGrid
  const double ratio = x / scale;
  if (!(ratio > 0)) return 0;
  return ratio > kLargest ? kMaxPhi : StandardGammaPhi(Held(Coarse(ratio, kDropped)), HeldShape(shape));
}

double GammaAt(double phi, double shape, double scale) {
  return phi > 0 ? Held(StandardGammaAt(Held(phi), HeldShape(shape)) * scale) : 0;
}

}  // namespace nekton
