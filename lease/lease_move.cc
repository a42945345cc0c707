#include "lease/lease_move.h"

#include <utility>
#include <vector>

#include "swim/bytes.h"

namespace nekton {
namespace {

constexpr std::string_view kKind = "lease move";

std::vector<std::byte> Statement(std::string_view label, const LeaseMove& move) {
  std::size_t size = move.object.bytes.size() + 8;
  for (const std::string_view text : {label, std::string_view(move.from), std::string_view(move.to)}) {
    size += VarintSize(text.size()) + text.size();
  }
  std::vector<std::byte> bytes(size);
  ByteWriter writer(bytes.data());
  writer.Bytes(move.object.bytes.data(), move.object.bytes.size());
  writer.Fixed(move.epoch);
  for (const std::string_view text : {label, std::string_view(move.from), std::string_view(move.to)}) {
    writer.Varint(text.size());
    writer.Text(text);
  }
  return bytes;
}

}  // namespace

LeaseMove SignMove(const SigningKey& authority, std::string_view label, LeaseMove move) {
  move.signature = authority.Sign(kKind, Statement(label, move));
  return move;
}

bool VerifyMove(const PublicKey& authority, std::string_view label, const LeaseMove& move) {
  return Verify(authority, kKind, Statement(label, move), move.signature);
}

}  // namespace nekton
