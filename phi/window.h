// The last samples of one peer and their exact sums.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "phi/time.h"

namespace nekton {

// What is known of a set of samples; nanoseconds, and their square. The variance is the population's (divided by n).
struct Moments {
  std::uint32_t count = 0;
  double mean = 0;
  double variance = 0;
};

// Sums of samples, in whole microseconds. Integers, so that what was added and taken away again leaves no trace: a
// window that once held an outage comes back to the exact variance.
class SampleSums {
 public:
  void Add(std::uint32_t sample) {
    sum_ += sample;
    squares_ += Square(sample);
  }
  void Remove(std::uint32_t sample) {
    sum_ -= sample;
    squares_ -= Square(sample);
  }
  std::uint64_t total() const { return sum_; }
  // Exact but for the last rounding to a double. Zeros for count 0.
  Moments Of(std::uint32_t count) const;

 private:
  // Aligned as its halves are: else a window would be 16 bytes larger.
  __extension__ typedef unsigned __int128 Wide __attribute__((aligned(8)));
  static std::uint64_t Square(std::uint64_t sample) { return sample * sample; }

  std::uint64_t sum_ = 0;
  Wide squares_ = 0;
};

// A sample as a window keeps it: to the nearest microsecond, held within 0 and 2^32 - 1 us (71 minutes).
std::uint32_t ToSample(Duration time);

// The last kCapacity samples (1 to 2^16), in fixed memory: 544 bytes for 128. Thread-compatible.
template <std::size_t kCapacity>
class WindowOf {
  static_assert(1 <= kCapacity && kCapacity <= 65536);

 public:
  // Takes the place of the oldest sample when full.
  void Add(Duration time) {
    const std::uint32_t sample = ToSample(time);
    if (count_ == kCapacity) {
      sums_.Remove(samples_[next_]);
    } else {
      ++count_;
    }
    samples_[next_] = sample;
    sums_.Add(sample);
    next_ = next_ + 1 == kCapacity ? 0 : next_ + 1;
  }
  void Clear() { *this = WindowOf(); }

  std::size_t count() const { return count_; }
  std::uint64_t total() const { return sums_.total(); }  // of the samples, us
  Moments moments() const { return sums_.Of(count_); }

 private:
  SampleSums sums_;
  std::uint32_t count_ = 0;
  std::uint32_t next_ = 0;
  std::array<std::uint32_t, kCapacity> samples_{};
};

inline constexpr std::size_t kDefaultWindow = 128;
using Window = WindowOf<kDefaultWindow>;
static_assert(sizeof(Window) == 544);

inline std::uint32_t ToSample(Duration time) {
  constexpr std::uint64_t kMost = UINT32_MAX;
  if (time.count() <= 0) return 0;
  const std::uint64_t microseconds = (static_cast<std::uint64_t>(time.count()) + 500) / 1000;
  return static_cast<std::uint32_t>(microseconds < kMost ? microseconds : kMost);
}

}  // namespace nekton
