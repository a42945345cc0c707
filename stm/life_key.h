// The order in which the lives of one name follow each other.
#pragma once

#include <compare>
#include <cstdint>

namespace nekton {

// (generation, incarnation), compared lexicographically. The generation is one per process start of a name (start time
// in ms or a stored counter); the incarnation is raised by the member itself only, to refute or because its tags
// changed. SWIM paper, section 4.2, with the generation put in front so that a restart needs no memory.
struct LifeKey {
  std::uint64_t generation = 0;
  std::uint64_t incarnation = 0;
  friend auto operator<=>(const LifeKey&, const LifeKey&) = default;
};

}  // namespace nekton
