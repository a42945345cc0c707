#include "phi/phi_function.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "phi/tail.h"

namespace nekton {
namespace {

constexpr double kLog10E = 0.43429448190325182765;
constexpr double kLn10 = 2.3025850929940456840;

absl::Status Refused(std::string_view name, std::string_view rule, double value) {
  return absl::InvalidArgumentError(absl::StrCat(absl::string_view(name.data(), name.size()), " must be ",
                                                 absl::string_view(rule.data(), rule.size()), ", but is ", value));
}

absl::Status CheckFinite(std::string_view name, double value) {
  return std::isfinite(value) ? absl::OkStatus() : Refused(name, "a finite number", value);
}

absl::Status CheckNotNegative(std::string_view name, double value) {
  return std::isfinite(value) && value >= 0 ? absl::OkStatus() : Refused(name, "finite and not negative", value);
}

absl::Status CheckPositive(std::string_view name, double value) {
  return std::isfinite(value) && value > 0 ? absl::OkStatus() : Refused(name, "finite and above zero", value);
}

}  // namespace

absl::StatusOr<double> Phi(double silence, double mean, double sigma, double pause_margin) {
  if (absl::Status s = CheckNotNegative("silence", silence); !s.ok()) return s;
  if (absl::Status s = CheckFinite("mean", mean); !s.ok()) return s;
  if (absl::Status s = CheckPositive("sigma", sigma); !s.ok()) return s;
  if (absl::Status s = CheckNotNegative("pause_margin", pause_margin); !s.ok()) return s;
  return NormalPhi(silence - pause_margin, mean, sigma);
}

absl::StatusOr<double> ThresholdFor(double tests_per_second, double mistakes_per_second) {
  if (absl::Status s = CheckPositive("tests_per_second", tests_per_second); !s.ok()) return s;
  if (absl::Status s = CheckPositive("mistakes_per_second", mistakes_per_second); !s.ok()) return s;
  if (mistakes_per_second > tests_per_second) {
    return Refused("mistakes_per_second", absl::StrCat("at most tests_per_second (", tests_per_second, ")"),
                   mistakes_per_second);
  }
  const double ratio = tests_per_second / mistakes_per_second;
  // The quotient of two far doubles overflows; the difference of logarithms does not, but it is less exact.
  return std::isinf(ratio) ? std::log10(tests_per_second) - std::log10(mistakes_per_second) : std::log10(ratio);
}

double LossAwarePhi(double phi, double loss) {
  if (loss <= 0) return phi;
  const double ln_tail = -phi * kLn10;
  constexpr double kLn2 = 0.69314718055994530942;
  if (ln_tail > -kLn2) return std::min(phi, -std::log1p((1 - loss) * std::expm1(ln_tail)) * kLog10E);
  // One of the two parts is taken out of the logarithm, the larger one, so that only the smaller one can underflow.
  const double ln_loss = std::log(loss);
  const double ln_held = ln_tail + std::log1p(-loss);
  const double larger = std::max(ln_loss, ln_held);
  const double smaller = std::min(ln_loss, ln_held);
  return std::min(phi, -(larger + std::log1p(std::exp(smaller - larger))) * kLog10E);
}

absl::StatusOr<double> LossAwareSum(std::span<const double> phis, double loss) {
  if (!(loss >= 0 && loss < 1)) return Refused("loss", "at least 0 and below 1", loss);
  double sum = 0;
  for (const double phi : phis) {
    if (absl::Status s = CheckNotNegative("phi", phi); !s.ok()) return s;
    sum += LossAwarePhi(phi, loss);
  }
  return std::min(sum, kMaxPhi);
}

}  // namespace nekton
