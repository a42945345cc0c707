#include "swim/wire_broadcast.h"

#include "swim/message.h"
#include "swim/wire_update.h"

namespace nekton {
namespace {

constexpr std::size_t kIdSize = 8;
constexpr std::uint64_t kKeepMaxMs = kBroadcastKeepMax / std::chrono::milliseconds(1);

bool IsBroadcast(const BroadcastPart& part) {
  const bool sized = !part.key.empty() && part.key.size() <= kBroadcastKeyMax &&
                     part.key.size() + part.bytes.size() <= kBroadcastBytesMax;
  const bool counted = part.counter != 0 && part.counter < kBroadcastCounterMax;
  return sized && counted && IsName(part.origin) && part.generation != 0;
}

bool IsEncodable(const BroadcastPart& part) {
  if (!IsPart(static_cast<std::uint8_t>(part.kind))) return false;
  if (part.kind == PartKind::kBroadcast) return IsBroadcast(part);
  if (part.kind == PartKind::kDigest) return true;
  return part.ids.size() % kIdSize == 0 && part.ids.size() <= kPartIdsMax * kIdSize;
}

std::uint64_t AgeMs(const BroadcastPart& part) { return WireMilliseconds(part.age, kKeepMaxMs); }
std::uint64_t LeftMs(const BroadcastPart& part) { return WireMilliseconds(part.left, kKeepMaxMs); }

std::size_t BodySize(const BroadcastPart& part) {
  if (part.kind == PartKind::kDigest) return sizeof(part.digest);
  if (part.kind != PartKind::kBroadcast) return part.ids.size();
  return 1 + part.key.size() + 1 + part.origin.size() + VarintSize(part.generation) + VarintSize(part.counter) +
         VarintSize(AgeMs(part)) + VarintSize(LeftMs(part)) + VarintSize(part.bytes.size()) + part.bytes.size();
}

void WriteBroadcast(const BroadcastPart& part, ByteWriter& writer) {
  writer.Fixed(static_cast<std::uint8_t>(part.key.size()));
  writer.Text(part.key);
  writer.Fixed(static_cast<std::uint8_t>(part.origin.size()));
  writer.Text(part.origin);
  writer.Varint(part.generation);
  writer.Varint(part.counter);
  writer.Varint(AgeMs(part));
  writer.Varint(LeftMs(part));
  writer.Varint(part.bytes.size());
  writer.Text(part.bytes);
}

bool ReadBroadcast(ByteReader body, BroadcastPart& part) {
  part.key = body.Text(body.Fixed<std::uint8_t>());
  part.origin = body.Text(body.Fixed<std::uint8_t>());
  part.generation = body.Varint();
  part.counter = body.Varint();
  const std::uint64_t age = body.Varint();
  const std::uint64_t left = body.Varint();
  part.bytes = body.Text(body.Varint());
  if (!body.ok() || age > kKeepMaxMs || left > kKeepMaxMs) return false;
  part.age = std::chrono::milliseconds(age);
  part.left = std::chrono::milliseconds(left);
  return IsBroadcast(part);
}

}  // namespace

std::size_t EncodedSize(const BroadcastPart& part) {
  if (!IsEncodable(part)) return 0;
  const std::size_t body = BodySize(part);
  return 1 + VarintSize(body) + body;
}

void WritePart(const BroadcastPart& part, ByteWriter& writer) {
  writer.Fixed(static_cast<std::uint8_t>(part.kind));
  writer.Varint(BodySize(part));
  if (part.kind == PartKind::kBroadcast) return WriteBroadcast(part, writer);
  if (part.kind == PartKind::kDigest) return writer.Fixed(part.digest);
  writer.Bytes(part.ids.data(), part.ids.size());
}

bool ReadPart(std::uint8_t kind, ByteReader body, BroadcastPart& part) {
  part = {};
  part.kind = static_cast<PartKind>(kind);
  if (part.kind == PartKind::kBroadcast) return ReadBroadcast(body, part);
  if (part.kind == PartKind::kDigest) {
    part.digest = body.Fixed<std::uint32_t>();
    return body.ok();
  }
  part.ids = body.rest();
  return IsEncodable(part);
}

bool PartReader::Next(BroadcastPart* part) {
  while (reader_.left() != 0) {
    const auto kind = reader_.Fixed<std::uint8_t>();
    const ByteReader body(reader_.Take(reader_.Varint()));
    if (!reader_.ok()) return false;
    if (IsPart(kind)) return ReadPart(kind, body, *part);
  }
  return false;
}

}  // namespace nekton
