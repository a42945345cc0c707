#include "swim/tags.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "swim/bytes.h"
#include "swim/message.h"

namespace nekton {
namespace {

// Calls `take(key, value)` for each tag; false if `bytes` are no tags (then some may have been taken already).
template <typename Take>
bool Walk(std::string_view bytes, Take take) {
  if (bytes.size() > kTagsMax) return false;
  ByteReader reader(bytes);
  std::string_view last;  // keys are not empty, so the first is larger
  while (reader.left() != 0) {
    const std::string_view key = reader.Text(reader.Varint());
    const std::string_view value = reader.Text(reader.Varint());
    if (!reader.ok() || key <= last) return false;
    last = key;
    take(key, value);
  }
  return reader.ok();
}

}  // namespace

absl::StatusOr<std::string> EncodeTags(const std::map<std::string, std::string>& tags) {
  std::size_t size = 0;
  for (const auto& [key, value] : tags) {
    if (key.empty()) return absl::InvalidArgumentError("a tag has an empty key");
    size += VarintSize(key.size()) + key.size() + VarintSize(value.size()) + value.size();
  }
  if (size > kTagsMax) {
    return absl::InvalidArgumentError(absl::StrCat("they take ", size, " bytes, at most ", kTagsMax, " are allowed"));
  }
  std::string bytes(size, '\0');
  ByteWriter writer(reinterpret_cast<std::byte*>(bytes.data()));
  for (const auto& [key, value] : tags) {
    writer.Varint(key.size());
    writer.Text(key);
    writer.Varint(value.size());
    writer.Text(value);
  }
  return bytes;
}

absl::StatusOr<std::map<std::string, std::string>> DecodeTags(std::string_view bytes) {
  std::map<std::string, std::string> tags;
  const auto keep = [&tags](std::string_view key, std::string_view value) {
    tags.emplace_hint(tags.end(), key, value);
  };
  if (!Walk(bytes, keep)) {
    return absl::InvalidArgumentError(absl::StrCat("tags: ", bytes.size(), " bytes that are no encoded tags"));
  }
  return tags;
}

std::string_view TagOf(std::string_view bytes, std::string_view key) {
  std::string_view found;
  const auto look = [&](std::string_view k, std::string_view value) {
    if (k == key) found = value;
  };
  return Walk(bytes, look) ? found : std::string_view();
}

bool AreTags(std::string_view bytes) {
  return Walk(bytes, [](std::string_view, std::string_view) {});
}

}  // namespace nekton
