// The replay gates: what each observer said last of each peer, so that nothing is counted twice or out of order.
//
// Source: heartbeat-and-stm (HB), threats T3 (replay), T5 (flooding) and T7 (order). HB compares observations across
// observers, which would silence all but one of E8's witnesses; here each observer has an order of its own.
//
// One pool for all peers. A peer keeps at most 16 observers, the ones that were applied last; whoever is displaced
// leaves the time of its last observation as the peer's floor, and an unknown observer at or below the floor is stale.
// So a replay by more observers than are remembered changes nothing either. Nor does one of a kHealthy from before the
// peer was first spoken against, when nothing was remembered of it: it is stale, too. Our own trail is displaced last,
// and the floor does not concern it. Allocates only while the pool grows. Not thread-safe; movable.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "phi/time.h"
#include "stm/observation.h"

namespace nekton {

class Trails {
 public:
  static constexpr std::uint32_t kObservers = 16;  // of one peer
  static constexpr std::uint32_t kNonces = 16;     // of one observer of one peer

  // The trails of one peer, the last applied first.
  struct List {
    std::uint32_t head = kEnd;
    std::uint32_t size = 0;
    WallTime floor = WallTime::min();
    WallTime born = WallTime::min();  // when the peer was first spoken against
    std::uint32_t doubt = 0;          // raised whenever a kHealthy ends one: what was said before is void
  };

  // kApplied: the observation is new and is recorded; its observer's trail is now the first. kSuperseded: the same
  // signal once more with a larger (timestamp, nonce); that is recorded, too. kDuplicate, kStale, kOutOfOrder: it must
  // not be applied. `stamp`: its timestamp, or of one of our own the time of receipt. `displaced` is set to the
  // observer whose trail had to go, else to kNoPeer; `added` to whether its observer had no trail before.
  Outcome Admit(List& list, const Observation& observation, WallTime stamp, PeerId* displaced, bool* added);

  // How much the first trail's observer has said of what is counted now: 0 after every `round`.
  std::uint32_t& Part(List& list, std::uint32_t round);

  // Drops the trail of an observer; it leaves its floor. Returns whether there was one; `part` is what it had said in
  // `round`.
  bool Remove(List& list, PeerId observer, std::uint32_t round, std::uint32_t* part);
  // Whether an observer other than ourselves spoke against the peer last, and in this doubt.
  bool OutsideAgainst(const List& list) const;
  // Drops all trails of a peer; `each` is called with every observer.
  template <typename Each>
  void Clear(List& list, Each each) {
    while (list.head != kEnd) {
      each(links_[list.head].observer);
      Drop(list, kEnd, list.head);
    }
    list = {};
  }

  std::size_t in_use() const { return in_use_; }
  std::size_t capacity() const { return pool_.size(); }  // of the pool: the most that were ever in use at once

 private:
  static constexpr std::uint32_t kEnd = 0xffffffff;

  struct Trail {
    std::uint64_t epoch = 0;
    std::uint64_t sequence = 0;
    std::uint64_t nonce = 0;
    WallTime stamp{};
    std::array<std::uint64_t, kNonces> nonces{};  // of this epoch, a ring
    std::uint32_t part = 0;
    std::uint32_t part_round = 0;
    std::uint32_t doubt = 0;
    std::uint8_t nonce_count = 0;
    std::uint8_t nonce_at = 0;
    Signal signal = Signal::kHealthy;
    bool own = false;

    bool Knows(std::uint64_t value) const;
    void Take(const Observation& observation, WallTime when);
  };

  // Apart from the trails, so that a search stays in a few cache lines.
  struct Link {
    PeerId observer = kNoPeer;
    std::uint32_t next = kEnd;
  };

  std::uint32_t New(PeerId observer);
  void Drop(List& list, std::uint32_t before, std::uint32_t at);
  void MakeRoom(List& list, PeerId* displaced);

  std::vector<Trail> pool_;
  std::vector<Link> links_;  // of the same index
  std::uint32_t free_ = kEnd;
  std::size_t in_use_ = 0;
};

}  // namespace nekton
