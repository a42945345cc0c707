#include "phi/normal_tail.h"

namespace nekton::normal_tail {
namespace {

using Real = long double;

constexpr Real kWidth = 2 * static_cast<Real>(kNormalTailEnd) / kPieces;
constexpr std::size_t kTerms = 7;

// e^(-z^2 / 2) / sqrt(2 pi).
constexpr Real Density(Real z) {
  constexpr Real kAtZero = 0.39894228040143267793994605993438L;
  Real sum = 1;
  Real power = 1;
  for (int n = 1; n < 120; ++n) {
    power *= z * z / (2 * n);
    sum += power;
  }
  return kAtZero / sum;
}

// Taylor's coefficients of the tail around z but for the first. Its derivative is -density, whose own is -z * density.
constexpr std::array<Real, kTerms> Slope(Real z) {
  std::array<Real, kTerms> slope{-Density(z)};
  for (std::size_t n = 0; n + 1 < kTerms; ++n) {
    slope[n + 1] = -(z * slope[n] + (n > 0 ? slope[n - 1] : 0)) / static_cast<Real>(n + 1);
  }
  for (std::size_t n = 0; n < kTerms; ++n) slope[n] /= static_cast<Real>(n + 1);
  return slope;
}

// How the tail, as its polynomial has it, differs from that at the middle, `d` away.
constexpr Real Difference(const std::array<Real, kTerms>& slope, Real d) {
  Real sum = 0;
  for (std::size_t n = kTerms; n-- > 0;) sum = (sum + slope[n]) * d;
  return sum;
}

constexpr std::array<Piece, kPieces + 1> Pieces() {
  constexpr std::size_t kHalf = kPieces / 2;
  std::array<Piece, kPieces + 1> pieces{};
  Real tail = 0.5L;  // at z = 0; then from edge to edge, and so does the other side of the law
  for (std::size_t i = 0; i < kHalf; ++i) {
    const std::array<Real, kTerms> slope = Slope((static_cast<Real>(i) + 0.5L) * kWidth);
    const Real middle = tail - Difference(slope, -kWidth / 2);
    tail = middle + Difference(slope, kWidth / 2);
    std::array<double, 8>& right = pieces[kHalf + i].c;
    std::array<double, 8>& left = pieces[kHalf - 1 - i].c;
    right[0] = static_cast<double>(middle);
    left[0] = static_cast<double>(1 - middle);
    for (std::size_t n = 0; n < kTerms; ++n) {
      right[n + 1] = static_cast<double>(slope[n]);
      left[n + 1] = n % 2 == 0 ? right[n + 1] : -right[n + 1];
    }
  }
  // Whatever is rounded, no piece may end below where the next begins.
  constexpr auto kEdge = static_cast<double>(kWidth / 2);
  for (std::size_t i = kPieces; i-- > 0;) {
    double& middle = pieces[i].c[0];
    while (pieces[i].At(kEdge) < pieces[i + 1].At(-kEdge)) {
      middle = std::bit_cast<double>(std::bit_cast<std::uint64_t>(middle) + 1);
    }
  }
  return pieces;
}

constexpr std::array<Piece, kPieces + 1> kPiecesOfTail = Pieces();
static_assert(kPiecesOfTail.front().At(-static_cast<double>(kWidth / 2)) <= 1);

}  // namespace

constinit const std::array<Piece, kPieces + 1> kTable = kPiecesOfTail;

}  // namespace nekton::normal_tail
