// The view that a member holds, with the homes by it, as of one moment. Immutable once published; share it freely.
#pragma once

#include <cstdint>
#include <string>

#include "lease/homes.h"
#include "lease/object_id.h"
#include "lease/view.h"

namespace nekton {

struct HeldView {
  View view;             // epoch 0: none yet
  Homes homes;           // by it
  bool current = false;  // there is contact to the authority

  std::uint64_t epoch() const { return view.epoch(); }
  // Empty: nobody is.
  std::string HomeOf(const ObjectId& object) const { return std::string(homes.HomeOf(object)); }
};

}  // namespace nekton
