#include "swim/message.h"

#include <algorithm>

#include "swim/bytes.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace nekton {

bool IsName(std::string_view text) {
  if (text.empty() || text.size() > kNameMax) return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) > ' ' && c != 0x7f; });
}

std::uint64_t MemberId(std::string_view name, std::uint64_t generation) {
  std::array<std::byte, kNameMax + sizeof(generation)> bytes;
  ByteWriter writer(bytes.data());
  writer.Text(name.substr(0, kNameMax));
  writer.Fixed(generation);
  return XXH3_64bits(bytes.data(), static_cast<std::size_t>(writer.at() - bytes.data()));
}

std::uint32_t LabelTag(std::string_view label) {
  return static_cast<std::uint32_t>(XXH3_64bits(label.data(), label.size()));
}

}  // namespace nekton
