// The authority of a group, as one of its members is told of it. Without one nothing of views, homes and leases runs, and
// no frame grows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lease/lease_terms.h"
#include "lease/signature.h"
#include "swim/config.h"

namespace nekton {

struct LeaseConfig {
  std::string authority = {};                        // the name of the member that is it; empty: there is none
  PublicKey key = {};                                // what it signs is believed
  std::optional<SigningKey> signing = std::nullopt;  // in that member alone: the key that it signs with
  LeaseTerms terms = {};                             // the same in all members; who has others is renewed nothing
  std::vector<std::string> admit = {};               // in that member: who may join the view; empty: whoever is alive

  bool enabled() const { return !authority.empty(); }
};

// Everything that is wrong with it in the member that `config` is of, one mistake each; none: empty. Among members that
// send each other heartbeats a beat and a write lease have to be over before a silence is a failure (FitsWindow), so that
// a removal never waits. Where members probe, a failure is found sooner than that, and it is the authority's own wait
// (lease/authority.h) that bounds a removal from below; safe are both.
std::vector<std::string> ProblemsOf(const LeaseConfig& leases, const Config& config);

}  // namespace nekton
