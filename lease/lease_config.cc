#include "lease/lease_config.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "lease/candidacy.h"
#include "swim/message.h"
#include "swim/quoted.h"

namespace nekton {
namespace {

double Seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

void CheckCandidates(const LeaseConfig& leases, const Config& config, std::vector<std::string>& problems) {
  const std::vector<std::string>& names = leases.candidates;
  if (!leases.authority.empty()) problems.push_back("candidates: there is an authority, too; one of both");
  if (names.size() > LeaseConfig::kCandidatesMax) {
    problems.push_back(absl::StrCat("candidates: ", names.size(), " of them, at most ", LeaseConfig::kCandidatesMax));
  }
  for (const std::string& name : names) {
    if (!IsName(name)) problems.push_back(absl::StrCat("candidate ", Quoted(name), ": no name of a member"));
    if (std::count(names.begin(), names.end(), name) > 1) {
      problems.push_back(absl::StrCat("candidate ", Quoted(name), ": it is there twice"));
    }
  }
  if (!leases.IsCandidate(config.name)) return;
  for (const std::string& problem : ProblemsOf(SeatLeaseOf(leases, config))) {
    problems.push_back(absl::StrCat("seat: ", problem));
  }
}

}  // namespace

bool LeaseConfig::IsCandidate(std::string_view name) const {
  return std::find(candidates.begin(), candidates.end(), name) != candidates.end();
}

NamedLeaseOptions SeatLeaseOf(const LeaseConfig& leases, const Config& config) {
  NamedLeaseOptions options;
  options.name = SeatKey(config.label);
  options.holder = config.name;
  options.generation = config.generation;
  options.duration = leases.seat;
  options.drift_ppm = leases.terms.drift_ppm;
  return options;
}

std::vector<std::string> ProblemsOf(const LeaseConfig& leases, const Config& config) {
  if (!leases.enabled()) {
    if (!leases.signing.has_value()) return {};
    return {"authority: none, but there is a signing key"};
  }
  std::vector<std::string> problems = ProblemsOf(leases.terms);
  if (leases.by_lease()) {
    CheckCandidates(leases, config, problems);
  } else if (!IsName(leases.authority)) {
    problems.push_back(absl::StrCat("authority = ", Quoted(leases.authority), ": no name of a member"));
  }
  if (leases.key == PublicKey()) problems.push_back("authority key: it is missing");
  const bool we = leases.by_lease() ? leases.IsCandidate(config.name) : leases.authority == config.name;
  if (we && !leases.signing.has_value()) {
    problems.push_back(leases.by_lease() ? "signing key: this member is a candidate and has none"
                                         : "signing key: this member is the authority and has none");
  }
  if (!we && leases.signing.has_value()) {
    problems.push_back(leases.by_lease()
                           ? "signing key: this member is no candidate"
                           : absl::StrCat("signing key: this member is not the authority, ", leases.authority, " is"));
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
