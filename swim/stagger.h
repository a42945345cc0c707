// Whose turn it is to be probed, where each member has fixed observers that take turns (Config::probing = staggered).
//
// Members stand on a ring in the order of their ids. The kObservers that follow a member probe it, each every kObservers
// periods, so a member probes one other a period, as with random probing. Their turns have to be spread evenly, and no
// two members have a common clock; so the one that is probed says in its ack how far the turn was off: it keeps a slot
// of its own clock for each of its observers, by their order on the ring. One ack puts an observer into its next slot,
// and no crash goes unprobed for longer than a period.
//
// With every change of the group the ring re-forms: whom we go on probing keeps its turn, and a new one is probed within
// a period. Not thread-safe; movable. Allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "phi/time.h"
#include "stm/state.h"
#include "swim/member_table.h"
#include "swim/random.h"

namespace nekton {

class Stagger {
 public:
  static constexpr std::size_t kObservers = 5;
  static constexpr int kShiftUnits = 4096;  // of a period: what shifts are counted in

  // Takes the ring from the table, if that has changed: O(members) then. `period`: > 0.
  void Reform(const MemberTable& table, Instant now, Duration period, Random& random);
  void Clear();

  // When the next turn is; kNever: nobody is observed.
  Instant next() const { return next_; }
  // One whose turn has come, kNoPeer: no more of them. Each has its next turn a period for each target later. A turn
  // that was missed by more than half a period, since we did not run, is left out.
  PeerId Take(const MemberTable& table, Instant now, Duration period);
  // As it asks us: its next turn comes so much later, held within half a period of now and half a period more than a
  // cycle.
  void Shift(PeerId target, std::int16_t units, Duration period);

  // By how much an observer of ours whose ping came now is to shift its turns; 0: it came well enough in its slot, or is
  // no observer of ours.
  std::int16_t ShiftFor(std::uint64_t observer, Instant now, Duration period) const;

 private:
  struct Target {
    std::uint64_t id = 0;
    PeerId row = kNoPeer;
    Instant due = kNever;
  };
  void Reschedule();

  absl::InlinedVector<Target, kObservers> targets_;
  absl::InlinedVector<std::uint64_t, kObservers> observers_;  // in the order of their slots
  Instant next_ = kNever;
  std::uint64_t version_ = 0;  // the table's, of which this is
  bool formed_ = false;
};

}  // namespace nekton
