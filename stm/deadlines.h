// Instants by id, the earliest first: an indexed binary heap.
//
// Set, Cancel and Get by id, top() for the earliest; no tombstones, so size() is what is really pending. Equal instants
// come out in the order of their ids, so the order never depends on the history or on a hash. Ids may be sparse.
// Allocates only while it grows beyond its largest size so far. Not thread-safe; movable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "phi/time.h"

namespace nekton {

class Deadlines {
 public:
  struct Entry {
    std::uint32_t id = 0;
    Instant when{};
    friend bool operator==(const Entry&, const Entry&) = default;
  };

  // Sets the instant of `id`, replacing the one it had. O(log n).
  void Set(std::uint32_t id, Instant when);
  // Returns whether `id` had one. O(log n).
  bool Cancel(std::uint32_t id);
  std::optional<Instant> Get(std::uint32_t id) const;

  // The earliest instant, of the lowest id that has it. Must not be empty.
  const Entry& top() const { return heap_.front(); }
  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }

  // All entries, in no useful order, yet in the same one after the same calls. Valid until the next Set or Cancel.
  std::span<const Entry> entries() const { return heap_; }

 private:
  static bool Before(const Entry& a, const Entry& b) { return a.when != b.when ? a.when < b.when : a.id < b.id; }
  void Put(std::uint32_t at, const Entry& entry);
  // Both find the place of `entry` for the hole at `hole`, moving others over it.
  void Up(std::uint32_t hole, const Entry& entry);
  void Down(std::uint32_t hole, const Entry& entry);
  void Settle(std::uint32_t hole, const Entry& entry);

  std::vector<Entry> heap_;
  absl::flat_hash_map<std::uint32_t, std::uint32_t> position_;  // id -> index in heap_
};

}  // namespace nekton
