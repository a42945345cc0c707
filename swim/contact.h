// How much of the group a member reaches. None of its numbers is a quorum: each member counts what it knows of.
#pragma once

#include <cstdint>

namespace nekton {

struct Contact {
  // Itself and all that are ACTIVE or SUSPECT here. But itself alone from the end of a probe round in which neither the
  // target nor one relay said a word, until as many rounds (at most three) were answered as had ended like that; while it
  // is isolated, as had failed in any way.
  std::uint32_t reachable = 1;
  // Those and the INACTIVE ones, at least Config::bootstrap_expect. Who left is not missed. While the share is too small
  // or the member isolated, who is forgotten still counts: a split that outlives the tombstones mends nothing.
  std::uint32_t known = 1;
  // No more than Config::isolation_share of them for as long as Config::isolation_after, and not yet more for as long
  // again.
  bool isolated = false;
  friend bool operator==(const Contact&, const Contact&) = default;
};

}  // namespace nekton
