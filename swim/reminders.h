// What is told of one member at most once a minute, however often it happens. One entry a row, so bounded by the member
// table. Not thread-safe; movable.
#pragma once

#include <chrono>

#include "absl/container/flat_hash_map.h"
#include "phi/time.h"
#include "stm/state.h"

namespace nekton {

class Reminders {
 public:
  static constexpr Duration kQuiet = std::chrono::minutes(1);

  // True: it is to be told now.
  bool Due(PeerId row, Instant now) {
    const auto [entry, first] = told_.try_emplace(row, now);
    if (first) return true;
    if (now - entry->second < kQuiet) return false;
    entry->second = now;
    return true;
  }
  void Forget(PeerId row) { told_.erase(row); }

 private:
  absl::flat_hash_map<PeerId, Instant> told_;
};

}  // namespace nekton
