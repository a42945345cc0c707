// A group of composed members with an authority on the simulator, and everything that can go wrong: the same members that a
// node runs, failure detector and all. After every single thing that happens it is looked whether two of them could
// commit to one object, and the rest of what has to hold of epochs, homes and fences (lease_storm.h has the same for
// the parts, with clocks that are slewed).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nekton {

// Ways to break what the members rely on, so that the checks can be seen to find it.
enum class BrokenGround {
  kSound,
  kWildClocks,       // clocks run wrong by twenty times what is allowed for
  kNoMargin,         // the clocks run wrong as allowed, but the leases allow for nothing
  kForgetfulStore,   // the authority's store says that it wrote, and did not
  kStolenKey,        // somebody on the path answers pings in the authority's name, and has its key
  kForgedAnswers,    // the same without the key: nobody believes it, and nothing breaks
  kNoCompareAndSet,  // the register of candidates writes now and then whatever version is expected
};

// Who is the authority: one member for good, or whoever of three candidates holds the lease.
enum class StormAuthority { kOne, kCandidates };

struct MemberStormResult {
  std::vector<std::string> violations;  // of which at most ten
  std::uint64_t checks = 0;             // instants
  std::uint64_t overlaps = 0;           // at which somebody could commit, and had to be compared with others
  std::uint64_t committable = 0;        // members that could, over all checks
  std::uint64_t views = 0;              // epochs seen
  std::uint64_t fences = 0;
  // Faults that happened.
  std::uint64_t crashes = 0;
  std::uint64_t authority_crashes = 0;
  std::uint64_t forgetful_restarts = 0;  // without memory of their generation
  std::uint64_t freezes = 0;
  std::uint64_t suspends = 0;
  std::uint64_t cuts = 0;
  std::uint64_t one_way_cuts = 0;
  std::uint64_t partitions = 0;
  std::uint64_t wall_steps = 0;
  std::uint64_t expulsions = 0;
  std::uint64_t moves = 0;
  std::uint64_t store_failures = 0;
  // Of candidates: how often one took the seat after another, those that were deposed while they stood still or were cut off
  // and learnt it themselves, and how often the register was slow or away.
  std::uint64_t successions = 0;
  std::uint64_t deposed = 0;
  std::uint64_t register_troubles = 0;
  std::uint64_t forged = 0;   // answers that were not the authority's
  std::uint64_t refused = 0;  // and were refused
  bool healed = false;        // in the end all are in one view, and all may commit
  std::string state;          // else what each of them holds
};

MemberStormResult RunMemberStorm(std::uint64_t seed, BrokenGround ground = BrokenGround::kSound,
                                 StormAuthority authority = StormAuthority::kOne);

}  // namespace nekton
