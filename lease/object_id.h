// What is homed somewhere: 32 bytes that name an object for ever. A value.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace nekton {

struct ObjectId {
  std::array<std::byte, 32> bytes{};
  friend auto operator<=>(const ObjectId&, const ObjectId&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const ObjectId& id) {
    return H::combine(std::move(h), id.bytes);
  }
};

// BLAKE2b of a name, for programs whose objects have names.
ObjectId ObjectNamed(std::string_view name);
std::string ToHex(const ObjectId& id);  // 64 hexadecimal digits

}  // namespace nekton
