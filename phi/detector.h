// What both failure detectors have in common: evidence in, level of suspicion out. A detector decides nothing.
#pragma once

#include "phi/time.h"

namespace nekton {

// Times the attempts of a probe round, or the heartbeats of a peer: one object for each. Not thread-safe.
//
// An *expectation* opens when evidence is due back (an attempt goes out; a heartbeat has come, and so the next is
// awaited) and closes when it comes. `peer` is a dense handle of the caller's. Calls must have a non-decreasing `now`; a
// step back is treated as no time passed. A caller that did not run for a while moves its `opened` by that time.
class Detector {
 public:
  virtual ~Detector() = default;
  // The first instant that convicts: at it the evidence is overdue, 1 ns before it is not.
  virtual Instant DeadlineFor(std::uint32_t peer, Instant opened) const = 0;
  // The evidence came at `now`, in time or late. `beats` >= 1: so many were due since `opened`, and all but the one that
  // came were lost on the way (as their sequence numbers tell); always 1 for a probe.
  virtual void Heard(std::uint32_t peer, Instant opened, Instant now, std::uint32_t beats) = 0;
  // Level of suspicion, on the scale of phi: finite, 0 until `opened`, and it never falls while nothing is heard. What
  // can be explained by lost messages may weigh less in it than in DeadlineFor; where it does not, it reaches
  // threshold() at DeadlineFor.
  virtual double Level(std::uint32_t peer, Instant opened, Instant now) const = 0;
  // The first instant at which Level() >= level: 1 ns before, it is less. `opened` if level <= 0, kNever if it is never
  // reached (or NaN).
  virtual Instant ReachedAt(std::uint32_t peer, Instant opened, double level) const = 0;
  virtual double threshold() const = 0;
  // Another threshold (> 0) from here on; what was learned stays.
  virtual void SetThreshold(double threshold) = 0;
  // Peers below this number allocate nothing when they are first heard.
  virtual void Reserve(std::uint32_t peers) = 0;
  // All that was learned of the peer is void (it restarted, or is gone).
  virtual void Forget(std::uint32_t peer) = 0;
};

}  // namespace nekton
