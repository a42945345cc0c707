#include "swim/wire_update.h"

#include <algorithm>
#include <limits>

#include "swim/tags.h"
#include "swim/wire.h"

namespace nekton {
namespace {

constexpr std::size_t kBodyMax = 1200;
constexpr std::uint8_t kDetailed = 1;
constexpr std::uint64_t kAgeMaxMs = std::numeric_limits<Duration::rep>::max() / 1000000;

enum class Family : std::uint8_t { kV4 = 4, kV6 = 6, kV6Scoped = 7 };

Family FamilyOf(const Address& address) {
  if (address.is_v4()) return Family::kV4;
  return address.scope == 0 ? Family::kV6 : Family::kV6Scoped;
}

bool IsPeer(const Address& address) {
  const bool link_local = address.ip[0] == 0xfe && (address.ip[1] & 0xc0) == 0x80;
  return address.port != 0 && !address.is_unspecified() && (address.scope != 0) == link_local;
}

bool IsKnown(std::uint8_t kind) {
  return kind >= static_cast<std::uint8_t>(UpdateKind::kAlive) && kind <= static_cast<std::uint8_t>(UpdateKind::kLeft);
}

bool IsEncodable(const Update& update) {
  if (!IsKnown(static_cast<std::uint8_t>(update.kind)) || !IsName(update.name)) return false;
  if (!IsPeer(update.address) || update.key.generation == 0) return false;
  if (update.kind != UpdateKind::kAlive) return update.accuser_count <= kAccusersMax;
  return !update.detailed || (AreVersions(update.version_min, update.version_max) && AreTags(update.tags));
}

std::size_t AgeSize(const Update& update) { return VarintSize(WireMilliseconds(update.age, kAgeMaxMs)); }
std::size_t AccusersSize(const Update& update) { return 2 + 8 * update.accuser_count; }
std::size_t DetailsSize(const Update& update) {
  return update.detailed ? 1 + 2 + VarintSize(update.tags.size()) + update.tags.size() : 1;
}

std::size_t BodySize(const Update& update) {
  const std::size_t size = 1 + update.name.size() + AddressSize(update.address) + VarintSize(update.key.generation) +
                           VarintSize(update.key.incarnation);
  switch (update.kind) {
    case UpdateKind::kAlive:
      return size + DetailsSize(update);
    case UpdateKind::kSuspect:
      return size + AccusersSize(update);
    case UpdateKind::kDead:
      return size + AgeSize(update) + AccusersSize(update);
    case UpdateKind::kLeft:
      return size + AgeSize(update);
  }
  return size;
}

void WriteDetails(const Update& update, ByteWriter& writer) {
  writer.Fixed(update.detailed ? kDetailed : std::uint8_t{0});
  if (!update.detailed) return;
  writer.Fixed(update.version_min);
  writer.Fixed(update.version_max);
  writer.Varint(update.tags.size());
  writer.Text(update.tags);
}

void WriteAccusers(const Update& update, ByteWriter& writer) {
  unsigned refused = 0;
  for (std::size_t i = 0; i < update.accuser_count; ++i) refused |= (update.accusers[i].refused ? 1U : 0U) << i;
  writer.Fixed(static_cast<std::uint8_t>(update.accuser_count));
  writer.Fixed(static_cast<std::uint8_t>(refused));
  for (std::size_t i = 0; i < update.accuser_count; ++i) writer.Fixed(update.accusers[i].id);
}

void WriteBody(const Update& update, ByteWriter& writer) {
  writer.Fixed(static_cast<std::uint8_t>(update.name.size()));
  writer.Text(update.name);
  WriteAddress(update.address, writer);
  writer.Varint(update.key.generation);
  writer.Varint(update.key.incarnation);
  if (update.kind == UpdateKind::kAlive) return WriteDetails(update, writer);
  if (update.kind != UpdateKind::kSuspect) writer.Varint(WireMilliseconds(update.age, kAgeMaxMs));
  if (update.kind != UpdateKind::kLeft) WriteAccusers(update, writer);
}

bool ReadDetails(ByteReader& reader, Update& update) {
  update.detailed = (reader.Fixed<std::uint8_t>() & kDetailed) != 0;
  if (!update.detailed) return true;
  update.version_min = reader.Fixed<std::uint8_t>();
  update.version_max = reader.Fixed<std::uint8_t>();
  update.tags = reader.Text(reader.Varint());
  return AreVersions(update.version_min, update.version_max) && AreTags(update.tags);
}

bool ReadAge(ByteReader& reader, Update& update) {
  const std::uint64_t ms = reader.Varint();
  if (ms > kAgeMaxMs) return false;
  update.age = std::chrono::milliseconds(ms);
  return true;
}

bool ReadAccusers(ByteReader& reader, Update& update) {
  update.accuser_count = reader.Fixed<std::uint8_t>();
  const unsigned refused = reader.Fixed<std::uint8_t>();
  if (update.accuser_count > kAccusersMax || (refused >> update.accuser_count) != 0) return false;
  for (std::size_t i = 0; i < update.accuser_count; ++i) {
    update.accusers[i] = {reader.Fixed<std::uint64_t>(), (refused >> i & 1) != 0};
  }
  return true;
}

// What stands behind the fields that we know belongs to a later version and is left alone.
bool ReadBody(ByteReader body, Update& update) {
  update.name = body.Text(body.Fixed<std::uint8_t>());
  if (!IsName(update.name) || !ReadAddress(body, update.address)) return false;
  update.key.generation = body.Varint();
  update.key.incarnation = body.Varint();
  bool sound = update.key.generation != 0;
  if (update.kind == UpdateKind::kAlive) return ReadDetails(body, update) && sound && body.ok();
  if (update.kind != UpdateKind::kSuspect) sound = ReadAge(body, update) && sound;
  if (update.kind != UpdateKind::kLeft) sound = ReadAccusers(body, update) && sound;
  return sound && body.ok();
}

}  // namespace

std::uint64_t WireMilliseconds(Duration d, std::uint64_t max) {
  if (d <= Duration::zero()) return 0;
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
  return std::min(static_cast<std::uint64_t>(ms), max);
}

std::size_t AddressSize(const Address& address) {
  switch (FamilyOf(address)) {
    case Family::kV4:
      return 1 + 4 + 2;
    case Family::kV6:
      return 1 + 16 + 2;
    case Family::kV6Scoped:
      return 1 + 16 + 4 + 2;
  }
  return 0;
}

void WriteAddress(const Address& address, ByteWriter& writer) {
  const Family family = FamilyOf(address);
  writer.Fixed(static_cast<std::uint8_t>(family));
  const std::size_t skip = family == Family::kV4 ? 12 : 0;
  writer.Bytes(address.ip.data() + skip, address.ip.size() - skip);
  if (family == Family::kV6Scoped) writer.Fixed(address.scope);
  writer.Fixed(address.port);
}

bool ReadAddress(ByteReader& reader, Address& address) {
  const auto family = static_cast<Family>(reader.Fixed<std::uint8_t>());
  if (family == Family::kV4) {
    const auto four = reader.Fixed<std::uint32_t>();  // the first byte of the wire is the lowest
    const auto part = [four](int i) { return static_cast<std::uint8_t>(four >> (8 * i)); };
    address = Address::V4(part(0), part(1), part(2), part(3), 0);
  } else if (family == Family::kV6 || family == Family::kV6Scoped) {
    const std::span<const std::byte> ip = reader.Take(16);
    address = {};
    if (!ip.empty()) std::memcpy(address.ip.data(), ip.data(), ip.size());
    if (family == Family::kV6Scoped) address.scope = reader.Fixed<std::uint32_t>();
  } else {
    return false;
  }
  address.port = reader.Fixed<std::uint16_t>();
  return FamilyOf(address) == family && IsPeer(address);
}

std::size_t EncodedSize(const Update& update) {
  if (!IsEncodable(update)) return 0;
  const std::size_t body = BodySize(update);
  return 1 + VarintSize(body) + body;
}

void WriteUpdate(const Update& update, ByteWriter& writer) {
  writer.Fixed(static_cast<std::uint8_t>(update.kind));
  writer.Varint(BodySize(update));
  WriteBody(update, writer);
}

Found ReadUpdate(ByteReader& reader, Update& update) {
  const auto kind = reader.Fixed<std::uint8_t>();
  const std::uint64_t size = reader.Varint();
  if (kind == 0 || size > kBodyMax) return Found::kBad;
  const ByteReader body(reader.Take(size));
  if (!reader.ok()) return Found::kBad;
  if (IsPart(kind)) {
    BroadcastPart part;
    return ReadPart(kind, body, part) ? Found::kPart : Found::kBad;
  }
  if (!IsKnown(kind)) return Found::kUnknown;
  update = {};
  update.kind = static_cast<UpdateKind>(kind);
  return ReadBody(body, update) ? Found::kUpdate : Found::kBad;
}

}  // namespace nekton
