// The times until evidence came, as they were: for links with several modes, which no law fits.
#pragma once

#include <array>
#include <cstdint>

#include "phi/time.h"

namespace nekton {

// 64 buckets, eight to every power of two, with a decay: a sample weighs 1/128 less with every later one. Between the
// edges of buckets phi is interpolated; beyond the last bucket that holds a sample the tail is exponential, as wide as
// the upper eighth of the samples is (their mean excess; peaks over threshold, Pickands 1975).
//
// A value of less than 300 bytes; allocates nothing. Thread-compatible.
class Histogram {
 public:
  static constexpr int kBuckets = 64;

  // `expected`, held within [128 ns, 2^53 ns]: what most samples will be like. Buckets end at eight to sixteen times
  // that (what is longer counts for the last), and the shortest are as wide as a 64th to a 128th of it.
  explicit Histogram(Duration expected);

  // A negative sample counts as zero. A sample is forgotten for good between 355 and 711 later ones.
  void Add(Duration sample);
  void Clear();
  bool empty() const { return total_ == 0; }

  // -log10 of the share of samples that took longer: finite, never negative, and it never falls as silence grows. Zero
  // while there is no sample.
  double Phi(Duration silence) const;
  // The first silence at which Phi() >= level: one nanosecond before, it is less. Zero if none is needed,
  // Duration::max() if no silence is long enough (or the level is NaN, or there is no sample).
  Duration SilenceFor(double level) const;

 private:
  static constexpr std::uint32_t kFirstWeight = 1U << 20;

  Duration Edge(int bucket) const;
  std::uint32_t From(int bucket) const;  // weight of the samples in it and above
  double PhiOf(std::uint32_t beyond) const;
  double TailWidth() const;  // ns
  void Rescale();

  std::array<std::uint32_t, kBuckets> weights_{};
  std::uint32_t total_ = 0;
  std::uint32_t weight_ = kFirstWeight;  // of the next sample
  std::int16_t shift_;                   // a unit is 2^shift ns
  std::int16_t last_ = 0;                // the last bucket that holds a sample
};

}  // namespace nekton
