#include "stm/stm_config.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "stm/mistakes.h"
#include "stm/witnesses.h"

namespace nekton {
namespace {

constexpr std::uint32_t kThresholdMax = 1'000'000;
constexpr std::size_t kRecordsMax = 10'000'000;

}  // namespace

std::string_view Name(Revive revive) {
  switch (revive) {
    case Revive::kRefutation:
      return "refutation";
    case Revive::kHealthy:
      return "healthy";
    case Revive::kJoinOnly:
      return "join_only";
  }
  return "unknown";
}

absl::Status StmConfig::Validate() const {
  Mistakes mistakes;
  mistakes.Count("demote_threshold", demote_threshold, 1, kThresholdMax);
  mistakes.Count("promote_threshold", promote_threshold, 1, kThresholdMax);
  mistakes.Count("recovery_threshold", recovery_threshold, 1, kThresholdMax);
  mistakes.Range("recovery_hold", recovery_hold, Duration::zero(), kForEver);
  if (rumour_weight > demote_threshold) {
    mistakes.Add("rumour_weight", absl::StrCat(rumour_weight),
                 absl::StrCat("must not be above demote_threshold = ", demote_threshold));
  }
  if (rumour_weight > 0 && std::uint64_t{rumour_weight} * Witnesses::kMax < demote_threshold) {
    mistakes.Add("rumour_weight", absl::StrCat(rumour_weight),
                 absl::StrCat("the ", Witnesses::kMax,
                              " observers that are kept must reach demote_threshold = ", demote_threshold));
  }
  if (revive > Revive::kJoinOnly) {
    mistakes.Add("revive", absl::StrCat(static_cast<unsigned>(revive)), "no such rule of revival");
  }
  mistakes.Range("max_future_skew", max_future_skew, Duration::zero(), kForEver / 4);
  mistakes.Range("max_age", max_age, Duration(1), kForEver / 4);
  mistakes.Range("max_local_pause", max_local_pause, Duration(1), kForEver);
  mistakes.Count("max_records", max_records, 2, kRecordsMax);
  return mistakes.status();
}

}  // namespace nekton
