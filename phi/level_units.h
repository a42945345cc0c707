// The level of suspicion of a probability, as a whole number of units, so that a sum of many is exact. Internal to phi/.
//
// A logarithm by table: thirty-two middles to every power of two, and Taylor's polynomial for what is left. The compiler
// works the table out.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace nekton {

inline constexpr double kLevelUnits = 0x1p48;  // to a level of 1
inline constexpr double kLeastProbability = 0x1p-7;

namespace level_units {

inline constexpr int kPieceBits = 5;
inline constexpr std::size_t kPieces = 7 << kPieceBits;  // from kLeastProbability to 1
inline constexpr double kPerE = 0.43429448190325182765 * kLevelUnits;
// Each piece falls by so much less than the logarithm that, whatever is rounded, it ends above where the next begins.
inline constexpr double kGentler = 1 - 0x1p-43;

struct Piece {
  double inverse = 0;  // of its middle
  double units = 0;    // there, and a half, for what follows is cut off

  constexpr double At(double probability) const {
    constexpr double kSlope = -kPerE * kGentler;
    const double r = probability * inverse - 1;  // at most 1/65
    const double r2 = r * r;
    const double near = (kSlope + r * (kSlope / -2)) + r2 * (kSlope / 3 + r * (kSlope / -4));
    const double far = (kSlope / 5 + r * (kSlope / -6)) + r2 * (kSlope / 7);
    return units + r * (near + r2 * r2 * far);
  }
};

using Real = long double;

// ln of a number within 1/2 and 2, by the series of the area tangent.
constexpr Real Ln(Real x) {
  const Real y = (x - 1) / (x + 1);
  Real sum = 0;
  for (int n = 79; n > 0; n -= 2) sum = sum * y * y + 1 / static_cast<Real>(n);
  return 2 * y * sum;
}

constexpr std::array<Piece, kPieces + 1> Pieces() {  // one more, which begins at 1
  constexpr std::size_t kEach = std::size_t{1} << kPieceBits;
  constexpr Real kUnitsPerE = static_cast<Real>(kLevelUnits) * 0.43429448190325182765112891891661L;
  std::array<Piece, kPieces + 1> pieces{};
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::size_t halvings = 7 - i / kEach;
    const Real share = 1 / static_cast<Real>(std::size_t{1} << halvings);
    const Real middle = (1 + (static_cast<Real>(i % kEach) + 0.5L) / kEach) * share;
    const auto inverse = static_cast<double>(1 / middle);
    const Real ln = static_cast<Real>(halvings) * Ln(2) + Ln(static_cast<Real>(inverse) * share);
    pieces[i] = {.inverse = inverse, .units = static_cast<double>(ln * kUnitsPerE + 0.5L)};
  }
  return pieces;
}

inline constexpr std::array<Piece, kPieces + 1> kTable = Pieces();

}  // namespace level_units

// -log10 of a probability within kLeastProbability and 1, in kLevelUnits, to nearest but for an error below 0.4; 0 of 1.
// It never rises, not even from one double to the next: what multiplies the slope below changes by 2^-47 of it at least,
// or not at all, while the errors are below 2^-50.
constexpr std::uint64_t LevelUnits(double probability) {
  constexpr int kShift = 52 - level_units::kPieceBits;
  constexpr std::uint64_t kFirst = std::bit_cast<std::uint64_t>(kLeastProbability) >> kShift;
  const std::uint64_t piece = std::bit_cast<std::uint64_t>(probability) >> kShift;
  // Through a signed number, which takes one instruction.
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(level_units::kTable[piece - kFirst].At(probability)));
}

}  // namespace nekton
