#include "phi/distribution.h"

#include <algorithm>
#include <cmath>

#include "phi/exact_silence.h"
#include "phi/tail.h"

namespace nekton {
namespace {

constexpr double kShortest = 1;
constexpr double kLongest = 0x1p53;
// Of the mean. For gamma 1 / sqrt(kMaxShape) and 1 / sqrt(kMinShape).
constexpr double kLeastDeviation = 1e-3;
constexpr double kLeastGammaDeviation = 1e-2;
constexpr double kMostDeviation = 3.16;

double Within(double value, double least, double most) { return value >= least ? std::min(value, most) : least; }

}  // namespace

Distribution::Distribution(Law law, double mean, double deviation)
    : mean_(Within(mean, kShortest, kLongest)),
      deviation_(Within(deviation, (law == Law::kGamma ? kLeastGammaDeviation : kLeastDeviation) * mean_,
                        kMostDeviation * mean_)),
      law_(law) {
  const double relative = deviation_ / mean_;
  switch (law_) {
    case Law::kNormal:
    case Law::kExponential:
      first_ = mean_;
      second_ = deviation_;
      break;
    case Law::kLogNormal: {
      const double variance = std::log1p(relative * relative);
      first_ = std::log(mean_) - variance / 2;
      second_ = std::sqrt(variance);
      break;
    }
    case Law::kGamma:
      first_ = 1 / (relative * relative);
      second_ = deviation_ * relative;
      break;
  }
}

double Distribution::Phi(Duration silence) const {
  const auto x = static_cast<double>(std::max(silence, Duration::zero()).count());
  switch (law_) {
    case Law::kNormal:
      return NormalPhi(x, first_, second_);
    case Law::kLogNormal:
      return LogNormalPhi(x, first_, second_);
    case Law::kExponential:
      return ExponentialPhi(x, first_);
    case Law::kGamma:
      return GammaPhi(x, first_, second_);
  }
  return 0;
}

Duration Distribution::SilenceFor(double level) const {
  double guess = 0;
  switch (law_) {
    case Law::kNormal:
      guess = NormalAt(level, first_, second_);
      break;
    case Law::kLogNormal:
      guess = LogNormalAt(level, first_, second_);
      break;
    case Law::kExponential:
      guess = ExponentialAt(level, first_);
      break;
    case Law::kGamma:
      guess = GammaAt(level, first_, second_);
      break;
  }
  // The first whole nanosecond from there on is nearly always the one.
  return ExactSilence(HeldNanoseconds(std::ceil(guess)), level, [this](Duration silence) { return Phi(silence); });
}

}  // namespace nekton
