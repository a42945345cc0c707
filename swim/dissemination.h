// Which members there is news about, and how often each piece was passed on (SWIM paper, section 4.1).
//
// One piece of news per member: a newer one replaces the older and starts its count anew. Least sent first. O(1) per
// piece in backlog and group size; at most one entry per row, so bounded by the member table. Not thread-safe; movable.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "stm/state.h"

namespace nekton {

class Dissemination {
 public:
  static constexpr std::uint32_t kSendsMax = 63;

  void Put(PeerId row);   // fresh news about the member
  void Drop(PeerId row);  // no more news about it
  bool Has(PeerId row) const { return index_.contains(row); }
  bool empty() const { return index_.empty(); }
  std::size_t size() const { return index_.size(); }

  // Offers news, least sent first, to `fits(row) -> bool`, which sends a piece or says that it does not fit. A piece
  // sent `sends` times is done (1 <= sends <= kSendsMax). Stops after kMissesMax pieces that did not fit. Each piece is
  // offered once a call.
  template <typename Fits>
  void Fill(std::uint32_t sends, Fits fits) {
    // A piece that was sent goes to the end of the next bucket, and is not to be offered from there.
    const std::uint64_t used = used_;
    std::array<std::uint32_t, kSendsMax> offer;
    for (std::uint64_t left = used; left != 0; left &= left - 1) offer[Lowest(left)] = buckets_[Lowest(left)].size;
    std::uint32_t misses = 0;
    for (std::uint64_t left = used; left != 0; left &= left - 1) {
      const std::uint32_t b = Lowest(left);
      std::uint32_t slot = buckets_[b].head;
      for (std::uint32_t i = 0; i < offer[b] && slot != kNone; ++i) {
        const std::uint32_t next = slots_[slot].next;
        if (fits(slots_[slot].row)) {
          Sent(slot, b, sends);
        } else if (++misses == kMissesMax) {
          return;
        }
        slot = next;
      }
    }
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  static constexpr std::uint32_t kMissesMax = 4;
  struct Slot {
    PeerId row;
    std::uint32_t prev, next;
    std::uint32_t bucket;  // times sent
  };
  struct Bucket {
    std::uint32_t head = kNone, tail = kNone, size = 0;
  };

  static std::uint32_t Lowest(std::uint64_t bits) { return static_cast<std::uint32_t>(std::countr_zero(bits)); }
  void Sent(std::uint32_t slot, std::uint32_t bucket, std::uint32_t sends);
  void Link(std::uint32_t slot, std::uint32_t bucket);  // at the tail
  void Unlink(std::uint32_t slot);

  absl::flat_hash_map<PeerId, std::uint32_t> index_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::uint64_t used_ = 0;  // bit b: bucket b is not empty
  std::array<Bucket, kSendsMax> buckets_;
};

}  // namespace nekton
