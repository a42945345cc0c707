#include "swim/dissemination.h"

namespace nekton {

void Dissemination::Put(PeerId row) {
  const auto [it, fresh] = index_.try_emplace(row, kNone);
  if (!fresh) {
    Unlink(it->second);
    Link(it->second, 0);
    return;
  }
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.push_back({});
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  it->second = slot;
  slots_[slot].row = row;
  Link(slot, 0);
}

void Dissemination::Drop(PeerId row) {
  const auto it = index_.find(row);
  if (it == index_.end()) return;
  Unlink(it->second);
  free_.push_back(it->second);
  index_.erase(it);
}

void Dissemination::Sent(std::uint32_t slot, std::uint32_t bucket, std::uint32_t sends) {
  if (bucket + 1 >= sends || bucket + 1 >= kSendsMax) {
    Drop(slots_[slot].row);
    return;
  }
  Unlink(slot);
  Link(slot, bucket + 1);
}

void Dissemination::Link(std::uint32_t slot, std::uint32_t bucket) {
  Bucket& b = buckets_[bucket];
  slots_[slot].bucket = bucket;
  slots_[slot].prev = b.tail;
  slots_[slot].next = kNone;
  (b.tail == kNone ? b.head : slots_[b.tail].next) = slot;
  b.tail = slot;
  ++b.size;
  used_ |= std::uint64_t{1} << bucket;
}

void Dissemination::Unlink(std::uint32_t slot) {
  const Slot& s = slots_[slot];
  Bucket& b = buckets_[s.bucket];
  (s.prev == kNone ? b.head : slots_[s.prev].next) = s.next;
  (s.next == kNone ? b.tail : slots_[s.next].prev) = s.prev;
  if (--b.size == 0) used_ &= ~(std::uint64_t{1} << s.bucket);
}

}  // namespace nekton
