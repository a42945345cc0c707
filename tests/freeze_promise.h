// The promise about pauses, as a run: members converge, some of them freeze for three seconds at a random moment and go
// on, and nobody may have been called INACTIVE for it (Config::tolerated_pause).
//
// What is random (the phase, who freezes, the network) comes from the seed, so a run can be had again.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>

#include "phi/time.h"

namespace nekton {

struct FreezeRun {
  std::size_t nodes = 3;  // of Config::Lan()
  std::uint64_t seed = 1;
  double share = 0;                             // of the members freezes, rounded; at least one does
  double loss = 0;                              // on every link, streams too, from the convergence on
  Duration length = std::chrono::seconds(3);    // of the freeze
  Duration watched = std::chrono::seconds(14);  // after it: longer than the longest hold with a hearer's margin
};

struct FreezeResult {
  std::size_t runs = 0;
  std::size_t frozen = 0;      // members
  std::size_t condemned = 0;   // of them: somebody called it INACTIVE
  std::size_t observers = 0;   // who called INACTIVE one and the same member: the most, those that froze too included
  std::size_t verdicts = 0;    // INACTIVE about frozen members, by members that did not freeze
  std::size_t by_frozen = 0;   // and by members that froze themselves
  std::size_t bystanders = 0;  // INACTIVE about members that never froze
  std::size_t suspicions = 0;  // SUSPECT about frozen members, at all observers
  std::size_t unsettled = 0;   // runs after which not everybody was ACTIVE everywhere, 30 s without loss later
  std::size_t unjoined = 0;    // runs that did not even converge; nothing else of them counts

  std::size_t all_verdicts() const { return verdicts + by_frozen + bystanders; }
  FreezeResult& operator+=(const FreezeResult& other);
};
std::ostream& operator<<(std::ostream& out, const FreezeRun& run);        // one line, without a newline
std::ostream& operator<<(std::ostream& out, const FreezeResult& result);  // the same

// One run. If anybody was called INACTIVE, or not everybody is ACTIVE at last, `story` (may be null) is set to what
// happened to those members, for people; the run is done a second time for it.
FreezeResult Freeze(const FreezeRun& run, std::string* story);

// Runs with `seeds` seeds from run.seed on, added up. A line of progress goes to standard error every ten seconds, and
// each story at once.
FreezeResult FreezeSeeds(FreezeRun run, std::size_t seeds);

}  // namespace nekton
