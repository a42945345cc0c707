// Numbers that rise with what is known of peers, so that a caller can tell whether anything has changed since.
//
// Peers share 64 of them: who shares one with a peer that changed seems changed, too. Not thread-safe; copyable.
#pragma once

#include <array>
#include <cstdint>

#include "stm/state.h"

namespace nekton {

class Versions {
 public:
  std::uint64_t of(PeerId peer) const { return all_ + shared_[peer % kShared]; }
  void Changed(PeerId peer) { ++shared_[peer % kShared]; }
  void AllChanged() { ++all_; }

 private:
  static constexpr std::uint32_t kShared = 64;
  std::uint64_t all_ = 0;
  std::array<std::uint32_t, kShared> shared_{};
};

}  // namespace nekton
