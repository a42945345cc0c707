#include "stm/deadlines.h"

namespace nekton {

void Deadlines::Set(std::uint32_t id, Instant when) {
  const Entry entry{id, when};
  const auto end = static_cast<std::uint32_t>(heap_.size());
  const auto [found, fresh] = position_.try_emplace(id, end);
  if (fresh) {
    heap_.push_back(entry);
    Up(end, entry);
  } else {
    Settle(found->second, entry);
  }
}

bool Deadlines::Cancel(std::uint32_t id) {
  const auto found = position_.find(id);
  if (found == position_.end()) return false;
  const std::uint32_t hole = found->second;
  position_.erase(found);
  const Entry last = heap_.back();
  heap_.pop_back();
  if (last.id != id) Settle(hole, last);
  return true;
}

std::optional<Instant> Deadlines::Get(std::uint32_t id) const {
  const auto found = position_.find(id);
  if (found == position_.end()) return std::nullopt;
  return heap_[found->second].when;
}

void Deadlines::Put(std::uint32_t at, const Entry& entry) {
  heap_[at] = entry;
  position_.find(entry.id)->second = at;
}

void Deadlines::Up(std::uint32_t hole, const Entry& entry) {
  while (hole > 0) {
    const std::uint32_t parent = (hole - 1) / 2;
    if (!Before(entry, heap_[parent])) break;
    Put(hole, heap_[parent]);
    hole = parent;
  }
  Put(hole, entry);
}

void Deadlines::Down(std::uint32_t hole, const Entry& entry) {
  for (;;) {
    std::uint32_t child = 2 * hole + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && Before(heap_[child + 1], heap_[child])) ++child;
    if (!Before(heap_[child], entry)) break;
    Put(hole, heap_[child]);
    hole = child;
  }
  Put(hole, entry);
}

void Deadlines::Settle(std::uint32_t hole, const Entry& entry) {
  if (hole > 0 && Before(entry, heap_[(hole - 1) / 2])) {
    Up(hole, entry);
  } else {
    Down(hole, entry);
  }
}

}  // namespace nekton
