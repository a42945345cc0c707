#include "transport/sim_flights.h"

#include <algorithm>
#include <utility>

namespace nekton {

std::uint32_t Flights::New() {
  if (free_.empty()) {
    flights_.emplace_back();
    return static_cast<std::uint32_t>(flights_.size() - 1);
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  return slot;
}

void Flights::Free(std::uint32_t slot) {
  Flight& flight = flights_[slot];
  std::vector<std::byte> bytes = std::move(flight.bytes);
  bytes.clear();
  if (bytes.capacity() > kKeptBytes) bytes = {};
  flight = Flight{};
  flight.bytes = std::move(bytes);
  free_.push_back(slot);
}

void Flights::Launch(std::uint32_t slot, Duration at) {
  const Entry entry{at, launched_++, slot};
  std::size_t hole = heap_.size();
  heap_.push_back(entry);
  while (hole > 0) {
    const std::size_t parent = (hole - 1) / kChildren;
    if (!entry.Before(heap_[parent])) break;
    heap_[hole] = heap_[parent];
    hole = parent;
  }
  heap_[hole] = entry;
}

std::uint32_t Flights::Pop() {
  const std::uint32_t slot = heap_.front().slot;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (heap_.empty()) return slot;
  std::size_t hole = 0;
  while (true) {
    const std::size_t first = hole * kChildren + 1;
    if (first >= heap_.size()) break;
    const std::size_t end = std::min(first + kChildren, heap_.size());
    std::size_t least = first;
    for (std::size_t child = first + 1; child < end; ++child) {
      if (heap_[child].Before(heap_[least])) least = child;
    }
    if (!heap_[least].Before(last)) break;
    heap_[hole] = heap_[least];
    hole = least;
  }
  heap_[hole] = last;
  return slot;
}

}  // namespace nekton
