// The authority of a group, as one of its members is told of it. Without one nothing of views, homes and leases runs, and
// no frame grows. It is one member for good, with a store of its own; or, of several candidates, whoever holds a lease
// (lease/candidacy.h). They have one key, whose public half all members know.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lease/lease_terms.h"
#include "lease/named_lease.h"
#include "lease/signature.h"
#include "swim/config.h"

namespace nekton {

struct LeaseConfig {
  std::string authority = {};                        // the name of the member that is it; empty: there is none
  std::vector<std::string> candidates = {};          // or those that may be it; the same in all members
  PublicKey key = {};                                // what it signs is believed
  std::optional<SigningKey> signing = std::nullopt;  // in that member, or those, alone: the key that they sign with
  LeaseTerms terms = {};                             // the same in all members; who has others is renewed nothing
  std::vector<std::string> admit = {};               // in that member: who may join the view; empty: whoever is alive
  // Of candidates, the same in all of them: so long a lease of the seat lasts. When the authority dies without a word another
  // one takes the seat after that, and writes its first view a write lease later. 20 ms to 24 h.
  Duration seat = std::chrono::seconds(10);

  static constexpr std::size_t kCandidatesMax = 16;
  bool enabled() const { return !authority.empty() || !candidates.empty(); }
  bool by_lease() const { return !candidates.empty(); }
  bool IsCandidate(std::string_view name) const;
};

// The lease of the seat, for the candidate that `config` is of.
NamedLeaseOptions SeatLeaseOf(const LeaseConfig& leases, const Config& config);

// Everything that is wrong with it in the member that `config` is of, one mistake each; none: empty. Among members that
// send each other heartbeats a beat and a write lease have to be over before a silence is a failure (FitsWindow), so that
// a removal never waits. Where members probe, a failure is found sooner than that, and it is the authority's own wait
// (lease/authority.h) that bounds a removal from below; safe are both.
std::vector<std::string> ProblemsOf(const LeaseConfig& leases, const Config& config);

}  // namespace nekton
