// The few members that were heard last: whom to ask for help when most do not answer.
//
// Not thread-safe; copyable.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "phi/time.h"
#include "stm/state.h"

namespace nekton {

class Companions {
 public:
  static constexpr std::size_t kMax = 4;

  void Heard(PeerId row, Instant now) {
    const auto at = std::find_if(all_.begin(), all_.end() - 1, [row](const Companion& c) { return c.row == row; });
    std::move_backward(all_.begin(), at, at + 1);
    all_.front() = {row, now};
  }
  // Somebody heard since `since`, the last one first, for whom `fits(row)`; kNoPeer: nobody.
  template <typename Fits>
  PeerId Find(Instant since, Fits fits) const {
    for (const Companion& companion : all_) {
      if (companion.row != kNoPeer && companion.heard >= since && fits(companion.row)) return companion.row;
    }
    return kNoPeer;
  }
  void Forget(PeerId row) {
    for (Companion& companion : all_) {
      if (companion.row == row) companion = {};
    }
  }

 private:
  struct Companion {
    PeerId row = kNoPeer;
    Instant heard = Instant::min();
  };
  std::array<Companion, kMax> all_;
};

}  // namespace nekton
