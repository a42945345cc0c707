// The right to do something with an object, signed by the authority and shown with each request. Its holder is who has
// it: it is no name. A value; thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "lease/object_id.h"
#include "lease/signature.h"
#include "phi/time.h"

namespace nekton {

enum class Operation : std::uint8_t { kStat = 0, kCommit = 1 };  // read; change
std::string_view Name(Operation operation);                      // "stat", "commit"

struct Capability {
  std::array<std::byte, 16> id{};  // unique; the requests under it are counted apart
  ObjectId object;
  std::uint8_t operations = 0;  // a bit for each Operation
  // By the home's wall clock: convenience for whoever issues it, no part of what keeps two homes apart.
  WallTime expires{};
  Signature signature;

  bool Allows(Operation operation) const { return (operations >> static_cast<unsigned>(operation) & 1) != 0; }
  friend bool operator==(const Capability&, const Capability&) = default;
};

constexpr std::uint8_t OperationBit(Operation operation) {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(operation));
}

Capability SignCapability(const SigningKey& authority, std::string_view label, Capability capability);
// PermissionDenied says what is wrong: the signature, the object, the operation, or it has expired.
absl::Status Check(const Capability& capability, const PublicKey& authority, std::string_view label,
                   const ObjectId& object, Operation operation, WallTime now);

}  // namespace nekton
