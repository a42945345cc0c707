// The part of the codec below the frame: addresses and updates. Bytes: swim/FORMAT.md. Internal to the room.
#pragma once

#include <cstddef>
#include <cstdint>

#include "swim/bytes.h"
#include "swim/message.h"

namespace nekton {

// Whole milliseconds in `d`, held within [0, max].
std::uint64_t WireMilliseconds(Duration d, std::uint64_t max);

constexpr bool AreVersions(std::uint8_t min, std::uint8_t max) { return min >= 1 && min <= max; }

std::size_t AddressSize(const Address& address);
void WriteAddress(const Address& address, ByteWriter& writer);
// False unless the bytes are the one form of an address that a peer can have.
bool ReadAddress(ByteReader& reader, Address& address);

// Writes the EncodedSize(update) bytes of an update of which that is not 0.
void WriteUpdate(const Update& update, ByteWriter& writer);

enum class Found : std::uint8_t { kUpdate, kPart, kUnknown, kBad };
// Reads one update. kPart: a sound one of swim/wire_broadcast.h, skipped; kUnknown: one of a later version, skipped; kBad:
// no update, and the reader stands anywhere.
Found ReadUpdate(ByteReader& reader, Update& update);

}  // namespace nekton
