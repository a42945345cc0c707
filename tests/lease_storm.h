// A group with an authority, its members' leases, and everything that can go wrong, on a clock of its own; it knows the
// true time, and looks whether two members would ever accept a commit for one object.
//
// Faults, all seeded: crashes and restarts with empty memory, of the authority too (it has its store), freezes, suspends,
// clocks that run wrong within the drift, boot clocks that are slewed, messages lost and late by up to ten seconds, links
// cut, verdicts of the failure detector that are wrong.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nekton {

// Ways to break a rule, so that the checks can be seen to find it.
enum class BrokenRule {
  kNone,
  kLongWriteLease,       // holders count a longer write lease than the authority waits for
  kCountsFromTheAnswer,  // a renewal counts from when its answer came, not from when the ping was sent
  kNobodySettles,        // newcomers commit at once
  kForgetfulStore,       // the authority's store says that it wrote, and did not
  kWildClocks,           // the clocks run wrong by ten times what is allowed for
};

struct StormResult {
  std::vector<std::string> violations;  // of which at most ten
  std::uint64_t checks = 0;             // instants at which all objects were looked at
  std::uint64_t committable = 0;        // objects that somebody could have committed to, over all checks
  std::uint64_t views = 0;
  std::uint64_t crashes = 0;
  std::uint64_t authority_crashes = 0;
  std::uint64_t freezes = 0;
  std::uint64_t suspends = 0;
  std::uint64_t cuts = 0;
  std::uint64_t lost = 0;
  std::uint64_t late = 0;
  std::uint64_t wrong_verdicts = 0;
  bool healed = false;  // when all faults had ended, all came to one view with all live members in it
};

StormResult RunLeaseStorm(std::uint64_t seed, BrokenRule broken = BrokenRule::kNone);

}  // namespace nekton
