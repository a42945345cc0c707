#include "transport/seal_key.h"

#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace nekton {
namespace {

constexpr std::string_view kIdContext = "nekton key id";

// Every key passes here before it is used; it fails only where there is no source of randomness.
void Ready() {
  static const int ready = sodium_init();
  (void)ready;
}

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

SealKey::SealKey(std::span<const std::byte, kSize> bytes) {
  Ready();
  std::memcpy(bytes_.data(), bytes.data(), kSize);
  std::array<unsigned char, crypto_generichash_BYTES> hash{};
  crypto_generichash(hash.data(), hash.size(), reinterpret_cast<const unsigned char*>(kIdContext.data()),
                     kIdContext.size(), bytes_.data(), bytes_.size());
  for (std::size_t i = 0; i < 4; ++i) id_ |= Id{hash[i]} << (8 * i);
}

SealKey::~SealKey() { sodium_memzero(bytes_.data(), bytes_.size()); }

absl::StatusOr<SealKey> SealKey::Parse(std::string_view hex) {
  if (hex.size() != 2 * kSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("a key has 64 hexadecimal digits (32 bytes), this has ", hex.size(), " characters"));
  }
  std::array<std::byte, kSize> bytes{};
  bool sound = true;
  for (std::size_t i = 0; i < kSize; ++i) {
    const int high = HexValue(hex[2 * i]);
    const int low = HexValue(hex[2 * i + 1]);
    sound = sound && high >= 0 && low >= 0;
    bytes[i] = static_cast<std::byte>((high & 15) << 4 | (low & 15));
  }
  const SealKey key(bytes);
  sodium_memzero(bytes.data(), bytes.size());
  if (!sound) return absl::InvalidArgumentError("a key has hexadecimal digits alone");
  if (std::all_of(key.bytes_.begin(), key.bytes_.end(), [](unsigned char b) { return b == 0; })) {
    return absl::InvalidArgumentError("a key of zeros is no secret");
  }
  return key;
}

SealKey SealKey::Generate() {
  Ready();
  std::array<std::byte, kSize> bytes{};
  randombytes_buf(bytes.data(), bytes.size());
  const SealKey key(bytes);
  sodium_memzero(bytes.data(), bytes.size());
  return key;
}

std::string SealKey::ToHex() const {
  std::string hex;
  hex.reserve(2 * kSize);
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const unsigned char byte : bytes_) {
    hex.push_back(kDigits[byte >> 4]);
    hex.push_back(kDigits[byte & 15]);
  }
  return hex;
}

bool operator==(const SealKey& a, const SealKey& b) {
  return sodium_memcmp(a.bytes_.data(), b.bytes_.data(), SealKey::kSize) == 0;
}

std::string KeyIdText(SealKey::Id id) { return absl::StrFormat("%08x", id); }

absl::StatusOr<SealKey::Id> ParseKeyId(std::string_view text) {
  SealKey::Id id = 0;
  if (text.size() == 8 && absl::SimpleHexAtoi(absl::string_view(text.data(), text.size()), &id)) return id;
  return absl::InvalidArgumentError("a key id has 8 hexadecimal digits");
}

std::vector<SealKey>::iterator Keyring::At(SealKey::Id id) {
  return std::find_if(keys_.begin(), keys_.end(), [id](const SealKey& key) { return key.id() == id; });
}

const SealKey* Keyring::Find(SealKey::Id id) const {
  const auto found = std::find_if(keys_.begin(), keys_.end(), [id](const SealKey& key) { return key.id() == id; });
  return found == keys_.end() ? nullptr : &*found;
}

absl::Status Keyring::Add(const SealKey& key) {
  if (const SealKey* known = Find(key.id()); known != nullptr) {
    if (*known == key) return absl::OkStatus();
    return absl::AlreadyExistsError(absl::StrCat("another key has the id ", KeyIdText(key.id())));
  }
  if (keys_.size() >= kMax) return absl::ResourceExhaustedError(absl::StrCat("a ring has at most ", kMax, " keys"));
  // Room for all at once: a vector that grows leaves copies behind, which the destructors of its elements wipe.
  keys_.reserve(kMax);
  keys_.push_back(key);
  return absl::OkStatus();
}

absl::Status Keyring::Use(SealKey::Id id) {
  const auto found = At(id);
  if (found == keys_.end()) return absl::NotFoundError(absl::StrCat("no key ", KeyIdText(id)));
  std::rotate(keys_.begin(), found, found + 1);
  return absl::OkStatus();
}

absl::Status Keyring::Remove(SealKey::Id id) {
  const auto found = At(id);
  if (found == keys_.end()) return absl::NotFoundError(absl::StrCat("no key ", KeyIdText(id)));
  if (found == keys_.begin()) {
    return absl::FailedPreconditionError(
        absl::StrCat("key ", KeyIdText(id), " seals what is sent: use another one before it is removed"));
  }
  keys_.erase(found);
  return absl::OkStatus();
}

std::vector<SealKey::Id> Keyring::ids() const {
  std::vector<SealKey::Id> ids;
  for (const SealKey& key : keys_) ids.push_back(key.id());
  return ids;
}

absl::StatusOr<Keyring> ParseKeyring(std::string_view text) {
  Keyring ring;
  std::vector<std::string> mistakes;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const absl::string_view words = absl::StripAsciiWhitespace(absl::string_view(text.data(), end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.empty() || words[0] == '#') continue;
    const absl::StatusOr<SealKey> key = SealKey::Parse(std::string_view(words.data(), words.size()));
    const absl::Status status = key.ok() ? ring.Add(*key) : key.status();
    if (!status.ok()) mistakes.push_back(absl::StrCat("line ", line, ": ", status.message()));
  }
  if (mistakes.empty() && ring.empty()) mistakes.emplace_back("there is no key in it");
  if (!mistakes.empty()) return absl::InvalidArgumentError(absl::StrJoin(mistakes, "\n"));
  return ring;
}

}  // namespace nekton
