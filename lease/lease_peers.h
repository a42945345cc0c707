// What the part of a member that leases are made in has to know of the failure detector's table, and no more. A view of the
// moment.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "swim/address.h"

namespace nekton {

struct LeasePeer {
  std::uint64_t generation = 0;
  Address address;
  bool alive = false;  // ACTIVE or SUSPECT
};
// Nullopt: no member of this name is known.
using LeasePeers = absl::FunctionRef<std::optional<LeasePeer>(std::string_view name)>;

}  // namespace nekton
