// The other members whose word against one peer has been heard, at one key of the peer.
//
// A small set of fixed size. Which members it keeps depends on the set of what was said alone, not on the order: those
// that count before those that do not, verdicts before rumours, those whose connection was refused before the rest,
// lower ids before higher. (Where more than 8 speak, and some more than once, a word may be lost with its place; and one
// that was only remembered and lost its place counts again when a copy of it comes.)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "phi/time.h"
#include "stm/state.h"

namespace nekton {

// What one member says of a peer: "my round at it failed" (a rumour), or "it is dead" (a verdict).
struct Word {
  PeerId observer = kNoPeer;
  bool refused = false;  // the peer's port refused its connection
};

struct Witness {
  PeerId observer = kNoPeer;
  bool counts = false;   // no kHealthy has ended the doubt since it spoke; else it is only remembered
  bool refused = false;  // the peer's port refused its connection
  bool verdict = false;  // it said that the peer is dead
};

class Witnesses {
 public:
  static constexpr std::size_t kMax = 8;

  enum class News : std::uint8_t {
    kNone,     // it had said so before, with no less
    kMore,     // a known witness says more than before: refused, or a verdict
    kWitness,  // one more that counts: new, or it was only remembered and now gives its verdict
    kFull,     // there is no room for it
  };

  // A member that is only remembered counts again with its first verdict, and with nothing else. `displaced` is set to
  // who had to go for it, else to kNoPeer.
  News Add(const Word& word, bool verdict, PeerId* displaced);
  // Returns whether it was there.
  bool Remove(PeerId observer);
  // From here on they are only remembered.
  void Retire();
  void Clear() { size_ = 0; }

  std::span<const Witness> all() const { return {witnesses_.data(), size_}; }
  bool Has(PeerId observer) const;
  bool Counts(PeerId observer) const;
  std::uint32_t counting() const;
  std::uint32_t refused() const;  // of those that count
  bool verdict() const;           // one of those that count gave one

 private:
  std::array<Witness, kMax> witnesses_{};
  std::uint8_t size_ = 0;
};

}  // namespace nekton
