// Who has refuted again and again lately: accusing it anew is worth ever less (rule H).
//
// A member on a bad link, or a slow one, is suspected, refutes and is suspected again, and each time the group pays. From
// the third refutation on, none more than kQuiet after the one before, rounds of ours that fail wait until 2, 4, ... 32
// periods have passed since the last. Bounded by the member table. Not thread-safe; movable.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "phi/time.h"
#include "stm/state.h"

namespace nekton {

class Refutations {
 public:
  static constexpr Duration kQuiet = std::chrono::seconds(60);
  static constexpr std::uint32_t kFree = 2;  // so many cost nothing
  static constexpr std::uint32_t kDoublingsMax = 5;

  void Refuted(PeerId row, Instant now) {
    Entry& entry = entries_[row];
    entry.count = entry.count > 0 && now - entry.last <= kQuiet ? entry.count + 1 : 1;
    entry.last = now;
  }
  // Until when a failed round at it gives no signal; Instant::min(): it does.
  Instant Until(PeerId row, Duration period) const {
    const auto it = entries_.find(row);
    if (it == entries_.end() || it->second.count <= kFree) return Instant::min();
    return Later(it->second.last, period * (1 << std::min(it->second.count - kFree, kDoublingsMax)));
  }
  void Forget(PeerId row) { entries_.erase(row); }

 private:
  struct Entry {
    Instant last{};
    std::uint32_t count = 0;
  };
  absl::flat_hash_map<PeerId, Entry> entries_;
};

}  // namespace nekton
