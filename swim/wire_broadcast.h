// The codec of what frames carry for broadcasts. These parts stand among a frame's updates as kinds of their own, so that
// whoever does not know them skips them by their length. Bytes: swim/FORMAT.md. Pure and thread-safe.
//
//   A -> B  ping, heartbeat   digest of what A holds, if anything     (B -> A  ack: "differs", a flag)
//   A -> B  any datagram      broadcasts that are on their way
//   A => B  sync              ids of what A holds                     B => A  what A lacks, ids of what B wants
//   A => B  sync              what B wants
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "phi/time.h"
#include "swim/bytes.h"
#include "swim/user_data.h"

namespace nekton {

enum class PartKind : std::uint8_t { kBroadcast = 5, kDigest = 6, kHeld = 7, kWanted = 8 };

// Lamport clocks stay below this, whatever others send.
inline constexpr std::uint64_t kBroadcastCounterMax = std::uint64_t{1} << 63;
inline constexpr std::size_t kPartIdsMax = 150;  // of one part; further ones take another
inline constexpr std::size_t kDigestPartSize = 6;

// One part. Fields of other kinds are zero. Views point into the frame that it was read from.
struct BroadcastPart {
  PartKind kind = PartKind::kBroadcast;
  std::string_view key;            // broadcast: 1-64 bytes
  std::string_view origin;         // broadcast: the name of who said it
  std::uint64_t generation = 0;    // broadcast: its, from 1
  std::uint64_t counter = 0;       // broadcast: 1 to kBroadcastCounterMax - 1
  Duration age{};                  // broadcast: since it was said, and until it ends: 0 to kBroadcastKeepMax,
  Duration left{};                 // whole milliseconds on the wire
  std::string_view bytes;          // broadcast
  std::uint32_t digest = 0;        // digest
  std::span<const std::byte> ids;  // held, wanted: 8 bytes each
};

constexpr bool IsPart(std::uint8_t kind) {
  return kind >= static_cast<std::uint8_t>(PartKind::kBroadcast) &&
         kind <= static_cast<std::uint8_t>(PartKind::kWanted);
}
// Size of one encoded part, its kind and length included. 0: no decoder would take it, since a field is out of its range.
std::size_t EncodedSize(const BroadcastPart& part);
// Writes the EncodedSize(part) bytes of a part of which that is not 0.
void WritePart(const BroadcastPart& part, ByteWriter& writer);
// False: it is none. What stands behind the fields that we know belongs to a later version and is left alone.
bool ReadPart(std::uint8_t kind, ByteReader body, BroadcastPart& part);

// Walks the parts among the updates of a decoded frame.
class PartReader {
 public:
  explicit PartReader(std::span<const std::byte> updates) : reader_(updates) {}
  bool Next(BroadcastPart* part);  // false at the end

 private:
  ByteReader reader_;
};

}  // namespace nekton
