#include "phi/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "phi/exact_silence.h"

namespace nekton {
namespace {

constexpr double kLog10E = 0.43429448190325182765;
constexpr double kLn10 = 2.3025850929940456840;

constexpr int kPerOctave = 8;
constexpr std::uint64_t kUnits = 1024;  // where the last bucket ends
constexpr int kDecayShift = 7;
constexpr int kRescaleShift = 4;

// Buckets 0 to 15 are one unit wide, the next 8 two units, the next 8 four, and so on.
constexpr int BucketOf(std::uint64_t units) {
  if (units >= kUnits) return Histogram::kBuckets - 1;
  const int octave = std::max(static_cast<int>(std::bit_width(units)) - 4, 0);
  return kPerOctave * octave + static_cast<int>(units >> octave);
}

constexpr int OctaveOf(int bucket) { return std::max(bucket / kPerOctave - 1, 0); }

constexpr std::uint64_t UnitsAt(int bucket) {
  const int octave = OctaveOf(bucket);
  return static_cast<std::uint64_t>(bucket - kPerOctave * octave) << octave;
}
static_assert(UnitsAt(Histogram::kBuckets) == kUnits);
static_assert(BucketOf(kUnits - 1) == Histogram::kBuckets - 1);

}  // namespace

Histogram::Histogram(Duration expected) {
  constexpr std::uint64_t kLeast = 128;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 53;
  const auto ns = static_cast<std::uint64_t>(std::max(expected, Duration::zero()).count());
  // So that `expected` is 64 to 127 units.
  shift_ = static_cast<std::int16_t>(std::bit_width(std::clamp(ns, kLeast, kMost)) - 7);
}

void Histogram::Add(Duration sample) {
  const auto ns = static_cast<std::uint64_t>(std::max(sample, Duration::zero()).count());
  const int bucket = BucketOf(ns >> shift_);
  weights_[static_cast<std::size_t>(bucket)] += weight_;
  total_ += weight_;  // below 2^32: at most 129 times the newest weight
  last_ = std::max(last_, static_cast<std::int16_t>(bucket));
  // Instead of all weights being made smaller, the next one is larger.
  weight_ += weight_ >> kDecayShift;
  if (weight_ >= kFirstWeight << kRescaleShift) Rescale();
}

void Histogram::Rescale() {
  weight_ >>= kRescaleShift;
  total_ = 0;
  last_ = 0;
  for (int i = 0; i < kBuckets; ++i) {
    std::uint32_t& weight = weights_[static_cast<std::size_t>(i)];
    weight >>= kRescaleShift;
    // A sixteenth of a new sample: one outage must not stretch the tail for ever.
    if (weight < weight_ / 16) weight = 0;
    total_ += weight;
    if (weight != 0) last_ = static_cast<std::int16_t>(i);
  }
}

void Histogram::Clear() {
  weights_ = {};
  total_ = 0;
  weight_ = kFirstWeight;
  last_ = 0;
}

Duration Histogram::Edge(int bucket) const { return Duration(static_cast<Duration::rep>(UnitsAt(bucket) << shift_)); }

std::uint32_t Histogram::From(int bucket) const {
  std::uint32_t sum = 0;
  for (int i = bucket; i <= last_; ++i) sum += weights_[static_cast<std::size_t>(i)];
  return sum;
}

double Histogram::PhiOf(std::uint32_t beyond) const {
  return std::log(static_cast<double>(total_) / static_cast<double>(beyond)) * kLog10E;
}

double Histogram::TailWidth() const {
  // The mean excess over an edge is the area under the tail from there on.
  std::uint64_t beyond = 0;
  std::uint64_t area = 0;
  for (int i = last_; i >= 0; --i) {
    beyond += weights_[static_cast<std::size_t>(i)];
    area += beyond << OctaveOf(i);
    if (8 * beyond >= total_) break;
  }
  return static_cast<double>(area) / static_cast<double>(beyond) * static_cast<double>(std::uint64_t{1} << shift_);
}

double Histogram::Phi(Duration silence) const {
  if (empty() || silence <= Duration::zero()) return 0;
  const int bucket = BucketOf(static_cast<std::uint64_t>(silence.count()) >> shift_);
  if (bucket >= last_) {
    const auto excess = static_cast<double>((silence - Edge(last_)).count());
    return PhiOf(From(last_)) + excess / TailWidth() * kLog10E;
  }
  const std::uint32_t from = From(bucket);
  const double low = PhiOf(from);
  const std::uint32_t inside = weights_[static_cast<std::size_t>(bucket)];
  if (inside == 0) return low;
  const double high = PhiOf(from - inside);
  const auto into = static_cast<double>((silence - Edge(bucket)).count());
  const auto width = static_cast<double>((Edge(bucket + 1) - Edge(bucket)).count());
  return std::min(low + into / width * (high - low), high);
}

Duration Histogram::SilenceFor(double level) const {
  if (empty()) return level <= 0 ? Duration::zero() : Duration::max();
  const double wanted = static_cast<double>(total_) * std::exp(-level * kLn10);
  int bucket = 0;
  std::uint32_t from = total_;
  while (bucket<last_&& static_cast<double>(from - weights_[static_cast<std::size_t>(bucket)])> wanted) {
    from -= weights_[static_cast<std::size_t>(bucket)];
    ++bucket;
  }
  const double low = PhiOf(from);
  double width = TailWidth() / kLog10E;  // ns for each 1 of phi
  if (bucket < last_) {
    const double high = PhiOf(from - weights_[static_cast<std::size_t>(bucket)]);
    width = high > low ? static_cast<double>((Edge(bucket + 1) - Edge(bucket)).count()) / (high - low) : 0;
  }
  const double guess = static_cast<double>(Edge(bucket).count()) + std::max(level - low, 0.0) * width;
  return ExactSilence(HeldNanoseconds(std::ceil(guess)), level, [this](Duration silence) { return Phi(silence); });
}

}  // namespace nekton
