// Who an object's home is: rendezvous hashing (Thaler and Ravishankar, 1998) over the members of a view. Everybody with
// the same view works out the same home without asking; a member that is removed takes only its own objects along, a new
// one takes its share from all.
//
// The score of a member is XXH3_64bits of the object's 32 bytes, seeded with XXH3_64bits of the member's name; the highest
// is the home, and of equal ones the lower name. It is part of the protocol: the same on every machine and in every
// release (tests/data/homes.txt). By the name alone, so a restart moves nothing.
//
// Immutable once made; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lease/object_id.h"
#include "lease/view.h"

namespace nekton {

class Homes {
 public:
  Homes() = default;  // of no view: nobody is anybody's home
  explicit Homes(const View& view);

  std::uint64_t epoch() const { return epoch_; }
  bool empty() const { return names_.empty(); }
  // The name of the object's home; empty where the view has no members. O(members). Valid while this lives.
  std::string_view HomeOf(const ObjectId& object) const;

 private:
  std::uint64_t epoch_ = 0;
  std::vector<std::string> names_;  // ascending
  std::vector<std::uint64_t> seeds_;
};

}  // namespace nekton
