#include "lease/signature.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <sodium.h>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "swim/quoted.h"

namespace nekton {
namespace {

static_assert(crypto_sign_PUBLICKEYBYTES == 32 && crypto_sign_BYTES == 64 && crypto_sign_SECRETKEYBYTES == 64);

constexpr std::string_view kDomain = "nekton ";

void Ready() {
  static const int ready = sodium_init();
  (void)ready;  // it fails where there is no source of randomness, which none of this needs
}

unsigned char* Raw(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }
const unsigned char* Raw(const std::byte* bytes) { return reinterpret_cast<const unsigned char*>(bytes); }

// "nekton view", a zero, the message: no kind is the beginning of another.
std::vector<std::byte> Framed(std::string_view kind, std::span<const std::byte> message) {
  std::vector<std::byte> all;
  all.reserve(kDomain.size() + kind.size() + 1 + message.size());
  for (const std::string_view part : {kDomain, kind}) {
    for (const char c : part) all.push_back(static_cast<std::byte>(c));
  }
  all.push_back(std::byte{0});
  all.insert(all.end(), message.begin(), message.end());
  return all;
}

}  // namespace

std::string ToHex(const PublicKey& key) {
  return absl::BytesToHexString({reinterpret_cast<const char*>(key.bytes.data()), key.bytes.size()});
}

absl::StatusOr<PublicKey> ParsePublicKey(std::string_view hex) {
  PublicKey key;
  if (hex.size() != 2 * key.bytes.size()) {
    return absl::InvalidArgumentError(absl::StrCat("public key ", Quoted(hex), ": must have 64 hexadecimal digits"));
  }
  if (!std::all_of(hex.begin(), hex.end(),
                   [](char c) { return absl::ascii_isxdigit(static_cast<unsigned char>(c)); })) {
    return absl::InvalidArgumentError(absl::StrCat("public key ", Quoted(hex), ": must be hexadecimal"));
  }
  const std::string bytes = absl::HexStringToBytes({hex.data(), hex.size()});
  std::memcpy(key.bytes.data(), bytes.data(), key.bytes.size());
  return key;
}

SigningKey::SigningKey(std::span<const std::byte, 32> seed) {
  Ready();
  crypto_sign_seed_keypair(Raw(public_key_.bytes.data()), secret_.data(), Raw(seed.data()));
}

SigningKey::~SigningKey() { sodium_memzero(secret_.data(), secret_.size()); }

Signature SigningKey::Sign(std::string_view kind, std::span<const std::byte> message) const {
  const std::vector<std::byte> framed = Framed(kind, message);
  Signature signature;
  crypto_sign_detached(Raw(signature.bytes.data()), nullptr, Raw(framed.data()), framed.size(), secret_.data());
  return signature;
}

bool Verify(const PublicKey& key, std::string_view kind, std::span<const std::byte> message,
            const Signature& signature) {
  Ready();
  const std::vector<std::byte> framed = Framed(kind, message);
  return crypto_sign_verify_detached(Raw(signature.bytes.data()), Raw(framed.data()), framed.size(),
                                     Raw(key.bytes.data())) == 0;
}

}  // namespace nekton
