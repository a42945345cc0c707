#include "swim/notice.h"

#include "swim/bytes.h"
#include "swim/message.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace nekton {
namespace {

constexpr std::uint8_t kFlagOver = 1;
constexpr std::size_t kKeySize = 2 + sizeof(std::uint64_t);
constexpr char kInner = 'v';

std::byte* AsBytes(std::string& text) { return reinterpret_cast<std::byte*>(text.data()); }

}  // namespace

std::string KeyOf(Notice::Kind kind, std::string_view name) {
  std::string key(kKeySize, '\0');
  ByteWriter writer(AsBytes(key));
  writer.Fixed(std::uint8_t{0});
  writer.Fixed(static_cast<std::uint8_t>(kind));
  writer.Fixed(static_cast<std::uint64_t>(XXH3_64bits(name.data(), name.size())));
  return key;
}

std::string InnerKey(std::string_view name) {
  std::string key = KeyOf(Notice::Kind::kExpelled, name);
  key[1] = kInner;
  return key;
}

bool IsInnerKey(std::string_view key) { return key.size() == kKeySize && IsReserved(key) && key[1] == kInner; }

std::string BytesOf(const Notice& notice) {
  std::string bytes(VarintSize(notice.generation) + 2 + notice.name.size(), '\0');
  ByteWriter writer(AsBytes(bytes));
  writer.Varint(notice.generation);
  writer.Fixed(static_cast<std::uint8_t>(notice.over ? kFlagOver : 0));
  writer.Fixed(static_cast<std::uint8_t>(notice.name.size()));
  writer.Text(notice.name);
  return bytes;
}

std::optional<Notice> ReadNotice(std::string_view key, std::string_view bytes) {
  if (!IsReserved(key) || key.size() < 2) return std::nullopt;
  Notice notice;
  notice.kind = static_cast<Notice::Kind>(key[1]);
  if (notice.kind != Notice::Kind::kMaintenance && notice.kind != Notice::Kind::kExpelled) return std::nullopt;
  ByteReader reader(bytes);
  notice.generation = reader.Varint();
  notice.over = (reader.Fixed<std::uint8_t>() & kFlagOver) != 0;
  notice.name = reader.Text(reader.Fixed<std::uint8_t>());
  if (!reader.ok() || notice.generation == 0 || !IsName(notice.name)) return std::nullopt;
  if (key != KeyOf(notice.kind, notice.name)) return std::nullopt;
  return notice;
}

}  // namespace nekton
