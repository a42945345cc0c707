#include "lease/lease_terms.h"

#include "absl/strings/str_cat.h"

namespace nekton {
namespace {

constexpr Duration kWriteMin = std::chrono::milliseconds(100);
constexpr Duration kReadMax = std::chrono::hours(24);

std::string Seconds(Duration time) { return absl::StrCat(std::chrono::duration<double>(time).count(), " s"); }

}  // namespace

std::vector<std::string> ProblemsOf(const LeaseTerms& terms) {
  std::vector<std::string> problems;
  if (terms.write < kWriteMin) {
    problems.push_back(absl::StrCat("write_lease = ", Seconds(terms.write), ": must be at least ", Seconds(kWriteMin)));
  }
  if (terms.read < terms.write || terms.read > kReadMax) {
    problems.push_back(absl::StrCat("read_lease = ", Seconds(terms.read), ": must be at least write_lease (",
                                    Seconds(terms.write), ") and at most ", Seconds(kReadMax)));
  }
  if (terms.drift_ppm < 0 || terms.drift_ppm > kDriftPpmMax) {
    problems.push_back(absl::StrCat("drift_ppm = ", terms.drift_ppm, ": must be 0 to ", kDriftPpmMax));
  }
  return problems;
}

}  // namespace nekton
