#include "lease/lease_config.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "swim/message.h"
#include "swim/quoted.h"

namespace nekton {
namespace {

double Seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

std::vector<std::string> ProblemsOf(const LeaseConfig& leases, const Config& config) {
  if (!leases.enabled()) {
    if (!leases.signing.has_value()) return {};
    return {"authority: none, but there is a signing key"};
  }
  std::vector<std::string> problems = ProblemsOf(leases.terms);
  if (!IsName(leases.authority)) {
    problems.push_back(absl::StrCat("authority = ", Quoted(leases.authority), ": no name of a member"));
  }
  if (leases.key == PublicKey()) problems.push_back("authority key: it is missing");
  const bool we = leases.authority == config.name;
  if (we && !leases.signing.has_value()) {
    problems.push_back("signing key: this member is the authority and has none");
  }
  if (!we && leases.signing.has_value()) {
    problems.push_back(absl::StrCat("signing key: this member is not the authority, ", leases.authority, " is"));
  }
  if (we && leases.signing.has_value() && leases.signing->public_key() != leases.key) {
    problems.push_back("signing key: it is not the one of the authority key");
  }
  if (!we && !leases.admit.empty()) problems.push_back("admit: only the authority admits");
  const Duration beat = config.period + config.jitter;
  const bool sound = leases.terms.drift_ppm >= 0 && leases.terms.drift_ppm <= kDriftPpmMax;
  if (config.beats() && sound && !FitsWindow(beat, leases.terms, config.fail_after)) {
    problems.push_back(absl::StrCat("write_lease = ", Seconds(leases.terms.write), " s: with a heartbeat every ",
                                    Seconds(beat), " s and a drift of ", leases.terms.drift_ppm,
                                    " ppm it may outlast fail_after = ", Seconds(config.fail_after), " s"));
  }
  return problems;
}

}  // namespace nekton
