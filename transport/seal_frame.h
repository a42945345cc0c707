// Sealed frames as bytes: XChaCha20-Poly1305 (libsodium) over all that is said, the header as associated data. Bytes:
// transport/SEAL.md. Pure functions, thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "swim/config.h"
#include "transport/seal_key.h"

namespace nekton {

enum class SealKind : std::uint8_t {
  kData = 1,             // a datagram
  kChallenge = 2,        // a datagram: what you sent counts only with this token
  kRequest = 3,          // stream
  kAnswer = 4,           // stream; bound to its request
  kStreamChallenge = 5,  // stream, in place of an answer
  kRefusal = 6,  // stream, in place of an answer; a bare code, not sealed: it cannot be, for the asker lacks the key
};

enum class SealRefusal : std::uint8_t { kUnknownKey = 1, kDoesNotOpen = 2, kOtherCluster = 3, kRepeated = 4 };

struct SealHeader {
  SealKind kind = SealKind::kData;
  std::uint8_t flags = 0;
  std::uint32_t label = 0;  // LabelTag of the cluster label; the label itself is associated data, too
  SealKey::Id key = 0;
  std::uint64_t sender = 0;  // XXH3-64 of the name
  std::uint64_t generation = 0;
  std::uint64_t token = 0;  // the receiver's, for this sender; 0: not known yet
  // Fresh random bytes and the sender's count of frames with this token: together the nonce.
  std::array<std::byte, 16> random{};
  std::uint64_t counter = 0;
  friend bool operator==(const SealHeader&, const SealHeader&) = default;
};

inline constexpr std::uint8_t kSealOffers = 1;    // data: a token for the receiver's own frames stands before the rest
inline constexpr std::uint8_t kSealKnock = 2;     // data: says nothing but that its sender can seal
inline constexpr std::uint8_t kSealRequires = 4;  // challenge: its sender refuses plain frames

inline constexpr std::uint8_t kSealVersion = 1;
inline constexpr std::size_t kSealHeaderSize = 58;
inline constexpr std::size_t kSealTagSize = 16;
inline constexpr std::size_t kSealTokenSize = 8;
// Of one datagram, at most.
inline constexpr std::size_t kSealOverhead = kSealHeaderSize + kSealTokenSize + kSealTagSize;
static_assert(kSealOverhead == kSealedBytes);
inline constexpr std::size_t kSealRecord = 65536;  // bytes of a stream that are sealed at a time
inline constexpr std::size_t kSealRefusalSize = 7;

// By the first byte, which no plain frame has.
bool IsSealed(std::span<const std::byte> bytes);

enum class SealFault : std::uint8_t { kNone, kShort, kLabel, kVersion, kKind };
SealFault ReadSealHeader(std::span<const std::byte> bytes, std::uint32_t label, SealHeader* header);

// A datagram: `parts` one after another. Replaces `out`.
void SealDatagram(const SealHeader& header, const SealKey& key, std::string_view label,
                  std::span<const std::byte> first, std::span<const std::byte> second, std::vector<std::byte>* out);
// False: it was not sealed with this key and label, or a bit has changed; then `plain` is empty.
bool OpenDatagram(std::span<const std::byte> bytes, const SealKey& key, std::string_view label,
                  std::vector<std::byte>* plain);

// A request or an answer over a stream: sealed in records of kSealRecord bytes, whose nonces count and tell the last one
// (Hoang, Reyhanitabar, Rogaway, Vizar, "Online authenticated-encryption and its nonce-reuse misuse-resistance", 2015,
// section 7), so that nothing is cut off, reordered or repeated. `bound`: header of the request that is answered; empty
// for a request.
std::vector<std::byte> SealStream(const SealHeader& header, const SealKey& key, std::string_view label,
                                  std::span<const std::byte> bound, std::span<const std::byte> plain);
bool OpenStream(std::span<const std::byte> bytes, const SealKey& key, std::string_view label,
                std::span<const std::byte> bound, std::vector<std::byte>* plain);
std::size_t SealedStreamSize(std::size_t plain);

// A token as it is sealed.
std::array<std::byte, kSealTokenSize> SealTokenBytes(std::uint64_t token);

std::vector<std::byte> WriteSealRefusal(std::uint32_t label, SealRefusal code);
// False: it is none.
bool ReadSealRefusal(std::span<const std::byte> bytes, std::uint32_t label, SealRefusal* code);

}  // namespace nekton
