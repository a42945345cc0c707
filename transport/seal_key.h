// The secret keys of a group, and a ring of them: the first seals, all open.
//
// A key is 32 random bytes; whoever has one may speak for every member. Copies are wiped
// when they go. Not thread-safe; several threads may read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace nekton {

class SealKey {
 public:
  static constexpr std::size_t kSize = 32;
  using Id = std::uint32_t;

  explicit SealKey(std::span<const std::byte, kSize> bytes);
  // 64 hexadecimal digits. InvalidArgument says what is wrong, and does not repeat the text.
  static absl::StatusOr<SealKey> Parse(std::string_view hex);
  // Fresh, from the system's randomness.
  static SealKey Generate();
  SealKey(const SealKey&) = default;
  SealKey& operator=(const SealKey&) = default;
  ~SealKey();

  // What frames name it by: 4 bytes of its BLAKE2b hash, which tell nothing of it.
  Id id() const { return id_; }
  const unsigned char* data() const { return bytes_.data(); }
  std::string ToHex() const;  // the secret itself, for key files
  friend bool operator==(const SealKey& a, const SealKey& b);

 private:
  std::array<unsigned char, kSize> bytes_{};
  Id id_ = 0;
};

// "1a2b3c4d": how key ids are printed and typed.
std::string KeyIdText(SealKey::Id id);
absl::StatusOr<SealKey::Id> ParseKeyId(std::string_view text);

class Keyring {
 public:
  static constexpr std::size_t kMax = 16;

  // The first key that is added seals. Adding a key that is there does nothing. ResourceExhausted beyond kMax;
  // AlreadyExists: another key has its id (one chance in four thousand million).
  absl::Status Add(const SealKey& key);
  absl::Status Use(SealKey::Id id);     // it seals from now on. NotFound
  absl::Status Remove(SealKey::Id id);  // NotFound; FailedPrecondition: it is the one that seals

  bool empty() const { return keys_.empty(); }
  const SealKey& primary() const { return keys_.front(); }  // not empty
  const SealKey* Find(SealKey::Id id) const;
  std::span<const SealKey> keys() const { return keys_; }  // the first seals
  std::vector<SealKey::Id> ids() const;

 private:
  std::vector<SealKey>::iterator At(SealKey::Id id);
  std::vector<SealKey> keys_;
};

// One key a line, the first seals; empty lines and lines that begin with # do not count. InvalidArgument names every
// line that is wrong, and does not repeat it.
absl::StatusOr<Keyring> ParseKeyring(std::string_view text);
// Reads such a file. PermissionDenied: others than its owner may read or write it (chmod 600). NotFound and the like
// name the path.
absl::StatusOr<Keyring> LoadKeyring(const std::string& path);
// Writes it anew, readable for its owner alone, and in one step: who reads meanwhile sees the old or the new one whole.
absl::Status SaveKeyring(const std::string& path, const Keyring& ring);

}  // namespace nekton
