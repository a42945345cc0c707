// Which counters of one sender have been seen (RFC 6479's ring of bits): each counts once, in any order within the last
// 1,024.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace nekton {

class ReplayWindow {
 public:
  static constexpr std::uint64_t kSize = 1024;
  enum class Verdict : std::uint8_t {
    kFresh,
    kRepeated,
    kTooOld,  // so far back that it is not known any more
  };

  // Counters begin at 1. A fresh one is noted.
  Verdict Take(std::uint64_t counter) {
    if (counter == 0 || (highest_ >= kSize && counter <= highest_ - kSize)) return Verdict::kTooOld;
    if (counter > highest_) {
      const std::uint64_t steps = counter - highest_;
      if (steps >= kSize) {
        bits_.fill(0);
      } else {
        for (std::uint64_t c = highest_ + 1; c < counter; ++c) Word(c) &= ~Bit(c);
      }
      highest_ = counter;
    } else if ((Word(counter) & Bit(counter)) != 0) {
      return Verdict::kRepeated;
    }
    Word(counter) |= Bit(counter);
    return Verdict::kFresh;
  }
  std::uint64_t highest() const { return highest_; }

 private:
  std::uint64_t& Word(std::uint64_t counter) { return bits_[counter % kSize / 64]; }
  static std::uint64_t Bit(std::uint64_t counter) { return std::uint64_t{1} << (counter % 64); }

  std::uint64_t highest_ = 0;
  std::array<std::uint64_t, kSize / 64> bits_{};
};

}  // namespace nekton
