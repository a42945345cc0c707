#include "lease/object_id.h"

#include <sodium.h>

#include "absl/strings/str_cat.h"

namespace nekton {

ObjectId ObjectNamed(std::string_view name) {
  ObjectId id;
  crypto_generichash(reinterpret_cast<unsigned char*>(id.bytes.data()), id.bytes.size(),
                     reinterpret_cast<const unsigned char*>(name.data()), name.size(), nullptr, 0);
  return id;
}

std::string ToHex(const ObjectId& id) {
  std::string hex;
  for (const std::byte byte : id.bytes) absl::StrAppend(&hex, absl::Hex(std::to_integer<int>(byte), absl::kZeroPad2));
  return hex;
}

}  // namespace nekton
