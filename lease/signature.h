// Ed25519 signatures (RFC 8032, by libsodium) over a message of a named kind, so that what was signed as one thing can
// never be shown as another. Pure: keys come from a seed. Thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace nekton {

struct PublicKey {
  std::array<std::byte, 32> bytes{};
  friend auto operator<=>(const PublicKey&, const PublicKey&) = default;
};

struct Signature {
  std::array<std::byte, 64> bytes{};
  friend auto operator<=>(const Signature&, const Signature&) = default;
};

// 64 hexadecimal digits.
std::string ToHex(const PublicKey& key);
// InvalidArgument says what is wrong.
absl::StatusOr<PublicKey> ParsePublicKey(std::string_view hex);

class SigningKey {
 public:
  // `seed`: 32 secret random bytes; the same seed is the same key.
  explicit SigningKey(std::span<const std::byte, 32> seed);
  ~SigningKey();  // the memory is wiped
  SigningKey(const SigningKey&) = default;
  SigningKey& operator=(const SigningKey&) = default;

  const PublicKey& public_key() const { return public_key_; }
  // `kind`: a short constant, "view".
  Signature Sign(std::string_view kind, std::span<const std::byte> message) const;

 private:
  std::array<unsigned char, 64> secret_{};
  PublicKey public_key_;
};

bool Verify(const PublicKey& key, std::string_view kind, std::span<const std::byte> message,
            const Signature& signature);

}  // namespace nekton
