// The tail of the standard normal law, as exact as a level of suspicion needs that knows of loss, and in a fifth of the
// time of phi (tail.h) and the exponential that leads back from it. Internal to phi/.
//
// Polynomials of Taylor: sixteen to every unit of z. The compiler works them out (normal_tail.cc).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace nekton {

// From here on the tail counts as none, where it is 6e-16.
inline constexpr double kNormalTailEnd = 8;

namespace normal_tail {

inline constexpr int kPieceBits = 8;  // from -kNormalTailEnd to kNormalTailEnd
inline constexpr std::size_t kPieces = std::size_t{1} << kPieceBits;

// Of the tail, around the middle of a piece; one line of a cache.
struct alignas(64) Piece {
  std::array<double, 8> c{};

  constexpr double At(double d) const {
    const double d2 = d * d;
    const double near = (c[1] + d * c[2]) + d2 * (c[3] + d * c[4]);
    const double far = (c[5] + d * c[6]) + d2 * c[7];
    return c[0] + d * (near + d2 * d2 * far);
  }
};
// One more for all that lies beyond, which is nothing.
extern const std::array<Piece, kPieces + 1> kTable;

}  // namespace normal_tail

// P(Z > z), Z standard normal, within 2e-15; within 0 and 1, and exactly 0 from kNormalTailEnd on. It never rises, not
// even from one double to the next: z is rounded to 2^-48, and from there to the next such number what is added to a
// piece's constant changes by 2^-43 of it at least, while its errors are below 2^-50. NaN counts as some number.
inline double NormalTail(double z) {
  constexpr int kShift = 52 - normal_tail::kPieceBits;
  // Three times the end away: within one power of two, so that all pieces are equally wide. It is held there by its bits,
  // for there must be no branch that nobody can foresee, and compilers make one of a condition on doubles.
  constexpr auto kFirst = std::bit_cast<std::int64_t>(2 * kNormalTailEnd);
  constexpr auto kLast = std::bit_cast<std::int64_t>(4 * kNormalTailEnd);
  const std::int64_t from = std::clamp(std::bit_cast<std::int64_t>(z + 3 * kNormalTailEnd), kFirst, kLast);
  const std::int64_t piece = from >> kShift;
  const auto middle = std::bit_cast<double>((piece << kShift) | (std::int64_t{1} << (kShift - 1)));
  return normal_tail::kTable[static_cast<std::size_t>(piece - (kFirst >> kShift))].At(std::bit_cast<double>(from) -
                                                                                      middle);
}

}  // namespace nekton
