// The shortest sequence that still fails: what makes a random failure readable.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace nekton {

// Leaves out as much of `all` as it can while `fails` stays true of the rest: halves first, then smaller and smaller
// pieces, until no single element can go. `fails(all)` must be true.
// Source: Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input (2002), delta debugging.
template <typename T, typename Fails>
std::vector<T> Shrink(std::vector<T> all, const Fails& fails) {
  for (std::size_t piece = (all.size() + 1) / 2; piece > 0;) {
    bool shorter = false;
    for (std::size_t from = 0; from < all.size();) {
      const std::size_t to = std::min(from + piece, all.size());
      std::vector<T> rest(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(from));
      rest.insert(rest.end(), all.begin() + static_cast<std::ptrdiff_t>(to), all.end());
      if (!rest.empty() && fails(rest)) {
        all = std::move(rest);
        shorter = true;
      } else {
        from = to;
      }
    }
    if (piece > 1) {
      piece = std::min(piece / 2, all.size());
    } else if (!shorter) {
      break;
    }
  }
  return all;
}

}  // namespace nekton
