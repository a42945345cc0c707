#include "lease/view_bytes.h"

#include <algorithm>
#include <span>
#include <string>

namespace nekton {
namespace {

constexpr std::size_t kAddressSize = 16 + 4 + 2;

}  // namespace

std::size_t SizeOf(const ViewMember& member) {
  return VarintSize(member.name.size()) + member.name.size() + 8 + kAddressSize;
}

void WriteHead(ByteWriter& writer, const ViewHead& head) {
  writer.Fixed(head.epoch);
  writer.Bytes(head.digest.bytes.data(), head.digest.bytes.size());
  writer.Bytes(head.signature.bytes.data(), head.signature.bytes.size());
}

void WriteMember(ByteWriter& writer, const ViewMember& member) {
  writer.Varint(member.name.size());
  writer.Text(member.name);
  writer.Fixed(member.generation);
  writer.Bytes(member.address.ip.data(), member.address.ip.size());
  writer.Fixed(member.address.scope);
  writer.Fixed(member.address.port);
}

ViewHead ReadHead(ByteReader& reader) {
  ViewHead head;
  head.epoch = reader.Fixed<std::uint64_t>();
  for (std::span<std::byte> part :
       {std::span<std::byte>(head.digest.bytes), std::span<std::byte>(head.signature.bytes)}) {
    const std::span<const std::byte> bytes = reader.Take(part.size());
    std::copy(bytes.begin(), bytes.end(), part.begin());
  }
  return head;
}

ViewMember ReadMember(ByteReader& reader) {
  ViewMember member;
  member.name = std::string(reader.Text(reader.Varint()));
  member.generation = reader.Fixed<std::uint64_t>();
  const std::span<const std::byte> ip = reader.Take(member.address.ip.size());
  std::transform(ip.begin(), ip.end(), member.address.ip.begin(),
                 [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); });
  member.address.scope = reader.Fixed<std::uint32_t>();
  member.address.port = reader.Fixed<std::uint16_t>();
  return member;
}

}  // namespace nekton
