// What we probe on behalf of others: a ping-req taken, a ping sent, an ack to be passed back or a nack to be given.
//
// At most kSlots at once; one more is refused (the asker gets its nack at once). Sequences of relayed pings have bit 31
// set, so that they never look like those of our own rounds. Not thread-safe; movable.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "phi/time.h"
#include "swim/address.h"

namespace nekton {

struct Relayed {
  bool open = false;
  bool accused = false;  // the asker holds the target SUSPECT
  std::uint32_t serial = 0;
  std::uint32_t sequence = 0;  // the asker's
  std::uint64_t asker = 0;
  std::uint64_t target = 0;
  Address asker_address;
  Instant nack_at{};
  Instant end{};  // no work past it
};

class Relays {
 public:
  static constexpr std::uint32_t kSlots = 64;
  static constexpr std::uint32_t kMark = 0x80000000;

  // A free entry with a sequence of its own; null: all are in use.
  Relayed* Open(Instant now) {
    for (std::uint32_t tries = 0; tries < kSlots; ++tries) {
      serial_ = (serial_ + 1) & ~kMark;
      Relayed& entry = slots_[serial_ % kSlots];
      if (entry.open && entry.end > now) continue;
      entry = Relayed{};
      entry.open = true;
      waiting_ |= std::uint64_t{1} << serial_ % kSlots;
      entry.serial = serial_;
      return &entry;
    }
    return nullptr;
  }
  static std::uint32_t Sequence(const Relayed& entry) { return kMark | entry.serial; }
  Relayed* Find(std::uint32_t sequence, Instant now) {
    Relayed& entry = slots_[(sequence & ~kMark) % kSlots];
    return entry.open && entry.end > now && Sequence(entry) == sequence ? &entry : nullptr;
  }
  // When the next nack is due; kNever: none.
  Instant next() const { return next_; }
  void Schedule(Instant nack_at) { next_ = std::min(next_, nack_at); }
  // Calls `nack(entry)` for each whose nack is due.
  template <typename F>
  void Due(Instant now, F nack) {
    next_ = kNever;
    for (std::uint64_t left = waiting_; left != 0; left &= left - 1) {
      Relayed& entry = slots_[static_cast<std::size_t>(std::countr_zero(left))];
      if (entry.open && entry.nack_at > now) {
        next_ = std::min(next_, entry.nack_at);
        continue;
      }
      waiting_ &= ~(left & -left);
      if (!entry.open) continue;
      if (entry.end > now) nack(entry);
    }
  }
  void Clear() {
    for (Relayed& entry : slots_) entry.open = false;
    waiting_ = 0;
    next_ = kNever;
  }

 private:
  std::vector<Relayed> slots_ = std::vector<Relayed>(kSlots);  // 5 KB, apart from what every input needs
  std::uint64_t waiting_ = 0;                                  // bit i: the nack of slot i is still to come
  std::uint32_t serial_ = 0;
  Instant next_ = kNever;
};

}  // namespace nekton
