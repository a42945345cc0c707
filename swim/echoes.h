// News that told us nothing when it last came. It comes again and again, from everybody who passes it on: when twenty
// of a thousand die at once, nineteen of twenty pieces are copies, and to find that out from the tables takes a dozen
// look-ups each.
//
// A small cache: a seat per hash, the last comer has it. A wrong "no" costs those look-ups, a wrong "yes" (two pieces
// of equal hash) one copy of a piece of news. Not thread-safe; copyable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stm/state.h"
#include "swim/message.h"

namespace nekton {

class Echoes {
 public:
  static constexpr std::size_t kSeats = 256;

  // Of all in an accusation or a verdict that decides what comes of it: its age does not, unless it is old, and then no
  // echo of it is asked for (engine_updates.cc). Never 0.
  static std::uint64_t Hash(const Update& update, std::uint64_t seed);

  // `version_of(row)` rises with all that could make the same news of that row tell something.
  template <typename VersionOf>
  bool Has(std::uint64_t hash, VersionOf version_of) const {
    if (seats_.empty()) return false;
    const Seat& seat = seats_[hash % kSeats];
    return seat.hash == hash && seat.version == version_of(seat.row);
  }
  void Put(std::uint64_t hash, PeerId row, std::uint64_t version) {
    seats_.resize(kSeats);
    seats_[hash % kSeats] = {hash, version, row};
  }

 private:
  struct Seat {
    std::uint64_t hash = 0;
    std::uint64_t version = 0;
    PeerId row = kNoPeer;
  };
  std::vector<Seat> seats_;  // none before the first accusation
};

}  // namespace nekton
