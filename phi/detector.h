// What both failure detectors have in common: evidence in, level of suspicion out. A detector decides nothing.
#pragma once

#include "phi/time.h"

namespace nekton {

// Times the attempts of a probe round. One per engine; not thread-safe.
//
// An *expectation* opens when an answer is due back (an attempt goes out) and closes when it comes. `peer` is the
// engine's dense handle. Calls must have a non-decreasing `now`; a step back is treated as no time passed.
class Detector {
 public:
  virtual ~Detector() = default;
  // The first instant that convicts an attempt sent at `opened`: at it the answer is overdue, 1 ns before it is not.
  virtual Instant DeadlineFor(std::uint32_t peer, Instant opened) const = 0;
  // An answer to an attempt sent at `opened` came at `now` (in time or late).
  virtual void Heard(std::uint32_t peer, Instant opened, Instant now) = 0;
  // Level of suspicion of an expectation open since `opened`, on the scale of phi: it reaches threshold() at
  // DeadlineFor.
  virtual double Level(std::uint32_t peer, Instant opened, Instant now) const = 0;
  virtual double threshold() const = 0;
  // All that was learned of the peer is void (it restarted, or is gone).
  virtual void Forget(std::uint32_t peer) = 0;
};

}  // namespace nekton
