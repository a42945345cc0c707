#include "lease/object_id.h"

#include <sodium.h>

#include "absl/strings/escaping.h"

namespace nekton {

ObjectId ObjectNamed(std::string_view name) {
  ObjectId id;
  crypto_generichash(reinterpret_cast<unsigned char*>(id.bytes.data()), id.bytes.size(),
                     reinterpret_cast<const unsigned char*>(name.data()), name.size(), nullptr, 0);
  return id;
}

std::string ToHex(const ObjectId& id) {
  return absl::BytesToHexString({reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()});
}

}  // namespace nekton
