#include "transport/seal_frame.h"

#include <sodium.h>

#include <algorithm>
#include <cstring>

#include "swim/bytes.h"
#include "swim/message.h"

namespace nekton {
namespace {

constexpr unsigned kMark = 0xe0;  // high half of the first byte; plain frames have their version there
constexpr std::size_t kNonceAt = 34;
constexpr std::size_t kNonceSize = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
static_assert(kNonceAt + kNonceSize == kSealHeaderSize);
static_assert(crypto_aead_xchacha20poly1305_ietf_ABYTES == kSealTagSize);
static_assert(crypto_aead_xchacha20poly1305_ietf_KEYBYTES == SealKey::kSize);

unsigned char* Raw(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }
const unsigned char* Raw(const std::byte* bytes) { return reinterpret_cast<const unsigned char*>(bytes); }

void WriteHeader(const SealHeader& header, std::byte* to) {
  ByteWriter writer(to);
  writer.Fixed(static_cast<std::uint8_t>(kMark | static_cast<unsigned>(header.kind)));
  writer.Fixed(static_cast<std::uint8_t>(kSealVersion << 4 | (header.flags & 15)));
  writer.Fixed(header.label);
  writer.Fixed(header.key);
  writer.Fixed(header.sender);
  writer.Fixed(header.generation);
  writer.Fixed(header.token);
  writer.Bytes(header.random.data(), header.random.size());
  writer.Fixed(header.counter);
}

// Header, label and what the frame is bound to: authenticated, not sent again. No part's length is in doubt: the header
// has one, the label's is known to both, and `bound` is empty or a header.
class Associated {
 public:
  Associated(std::span<const std::byte> header, std::string_view label, std::span<const std::byte> bound) {
    const std::size_t label_size = std::min(label.size(), kLabelMax);
    const std::size_t bound_size = std::min(bound.size(), kSealHeaderSize);
    size_ = header.size() + label_size + bound_size;
    ByteWriter writer(bytes_.data());
    writer.Bytes(header.data(), header.size());
    writer.Text(label.substr(0, label_size));
    writer.Bytes(bound.data(), bound_size);
  }
  const unsigned char* data() const { return Raw(bytes_.data()); }
  std::size_t size() const { return size_; }

 private:
  std::array<std::byte, 2 * kSealHeaderSize + kLabelMax> bytes_{};
  std::size_t size_ = 0;
};

// In place: `size` bytes at `at`, and room for the tag behind them.
void Encrypt(std::byte* at, std::size_t size, const Associated& associated, const std::byte* nonce,
             const SealKey& key) {
  crypto_aead_xchacha20poly1305_ietf_encrypt(Raw(at), nullptr, Raw(at), size, associated.data(), associated.size(),
                                             nullptr, Raw(nonce), key.data());
}

bool Decrypt(std::span<const std::byte> sealed, std::byte* to, const Associated& associated, const std::byte* nonce,
             const SealKey& key) {
  return crypto_aead_xchacha20poly1305_ietf_decrypt(Raw(to), nullptr, nullptr, Raw(sealed.data()), sealed.size(),
                                                    associated.data(), associated.size(), Raw(nonce), key.data()) == 0;
}

// The nonce of a stream's record: the header's random bytes, the record's number, and whether it is the last.
std::array<std::byte, kNonceSize> RecordNonce(const std::byte* random, std::uint64_t record, bool last) {
  std::array<std::byte, kNonceSize> nonce{};
  ByteWriter writer(nonce.data());
  writer.Bytes(random, 16);
  writer.Fixed(record << 1 | (last ? 1U : 0U));
  return nonce;
}

}  // namespace

bool IsSealed(std::span<const std::byte> bytes) {
  return !bytes.empty() && (std::to_integer<unsigned>(bytes[0]) & 0xf0) == kMark;
}

SealFault ReadSealHeader(std::span<const std::byte> bytes, std::uint32_t label, SealHeader* header) {
  if (!IsSealed(bytes) || bytes.size() < kSealHeaderSize + kSealTagSize) return SealFault::kShort;
  ByteReader reader(bytes);
  const auto kind = static_cast<std::uint8_t>(reader.Fixed<std::uint8_t>() & 15);
  const auto second = reader.Fixed<std::uint8_t>();
  header->label = reader.Fixed<std::uint32_t>();
  if (header->label != label) return SealFault::kLabel;
  if (second >> 4 != kSealVersion) return SealFault::kVersion;
  if (kind < static_cast<std::uint8_t>(SealKind::kData) ||
      kind > static_cast<std::uint8_t>(SealKind::kStreamChallenge)) {
    return SealFault::kKind;
  }
  header->kind = static_cast<SealKind>(kind);
  header->flags = second & 15;
  header->key = reader.Fixed<SealKey::Id>();
  header->sender = reader.Fixed<std::uint64_t>();
  header->generation = reader.Fixed<std::uint64_t>();
  header->token = reader.Fixed<std::uint64_t>();
  const std::span<const std::byte> random = reader.Take(header->random.size());
  std::copy(random.begin(), random.end(), header->random.begin());
  header->counter = reader.Fixed<std::uint64_t>();
  return SealFault::kNone;
}

void SealDatagram(const SealHeader& header, const SealKey& key, std::string_view label,
                  std::span<const std::byte> first, std::span<const std::byte> second, std::vector<std::byte>* out) {
  const std::size_t size = first.size() + second.size();
  out->resize(kSealHeaderSize + size + kSealTagSize);
  WriteHeader(header, out->data());
  ByteWriter writer(out->data() + kSealHeaderSize);
  writer.Bytes(first.data(), first.size());
  writer.Bytes(second.data(), second.size());
  const Associated associated({out->data(), kSealHeaderSize}, label, {});
  Encrypt(out->data() + kSealHeaderSize, size, associated, out->data() + kNonceAt, key);
}

bool OpenDatagram(std::span<const std::byte> bytes, const SealKey& key, std::string_view label,
                  std::vector<std::byte>* plain) {
  plain->clear();
  if (bytes.size() < kSealHeaderSize + kSealTagSize) return false;
  plain->resize(bytes.size() - kSealHeaderSize - kSealTagSize);
  // An empty vector may have no memory, and the library wants an address.
  std::byte nothing{};
  std::byte* to = plain->empty() ? &nothing : plain->data();
  if (Decrypt(bytes.subspan(kSealHeaderSize), to, Associated(bytes.first(kSealHeaderSize), label, {}),
              bytes.data() + kNonceAt, key)) {
    return true;
  }
  plain->clear();
  return false;
}

std::size_t SealedStreamSize(std::size_t plain) {
  const std::size_t records = std::max<std::size_t>((plain + kSealRecord - 1) / kSealRecord, 1);
  return kSealHeaderSize + plain + records * kSealTagSize;
}

std::vector<std::byte> SealStream(const SealHeader& header, const SealKey& key, std::string_view label,
                                  std::span<const std::byte> bound, std::span<const std::byte> plain) {
  std::vector<std::byte> out(SealedStreamSize(plain.size()));
  WriteHeader(header, out.data());
  const Associated associated({out.data(), kSealHeaderSize}, label, bound);
  std::byte* at = out.data() + kSealHeaderSize;
  for (std::uint64_t record = 0;; ++record) {
    const std::size_t size = std::min(plain.size(), kSealRecord);
    if (size != 0) std::memcpy(at, plain.data(), size);
    const bool last = size == plain.size();
    const auto nonce = RecordNonce(out.data() + kNonceAt, record, last);
    Encrypt(at, size, associated, nonce.data(), key);
    at += size + kSealTagSize;
    plain = plain.subspan(size);
    if (last) return out;
  }
}

bool OpenStream(std::span<const std::byte> bytes, const SealKey& key, std::string_view label,
                std::span<const std::byte> bound, std::vector<std::byte>* plain) {
  plain->clear();
  if (bytes.size() < kSealHeaderSize + kSealTagSize) return false;
  const Associated associated(bytes.first(kSealHeaderSize), label, bound);
  const std::byte* random = bytes.data() + kNonceAt;
  std::span<const std::byte> rest = bytes.subspan(kSealHeaderSize);
  plain->resize(rest.size());  // a little more than it will be
  std::size_t size = 0;
  for (std::uint64_t record = 0;; ++record) {
    const std::size_t piece = std::min(rest.size(), kSealRecord + kSealTagSize);
    const bool last = piece == rest.size();
    const auto nonce = RecordNonce(random, record, last);
    if (piece < kSealTagSize || !Decrypt(rest.first(piece), plain->data() + size, associated, nonce.data(), key)) {
      plain->clear();
      return false;
    }
    size += piece - kSealTagSize;
    rest = rest.subspan(piece);
    if (!last) continue;
    plain->resize(size);
    return true;
  }
}

std::array<std::byte, kSealTokenSize> SealTokenBytes(std::uint64_t token) {
  std::array<std::byte, kSealTokenSize> bytes{};
  ByteWriter(bytes.data()).Fixed(token);
  return bytes;
}

std::vector<std::byte> WriteSealRefusal(std::uint32_t label, SealRefusal code) {
  std::vector<std::byte> out(kSealRefusalSize);
  ByteWriter writer(out.data());
  writer.Fixed(static_cast<std::uint8_t>(kMark | static_cast<unsigned>(SealKind::kRefusal)));
  writer.Fixed(static_cast<std::uint8_t>(kSealVersion << 4));
  writer.Fixed(label);
  writer.Fixed(static_cast<std::uint8_t>(code));
  return out;
}

bool ReadSealRefusal(std::span<const std::byte> bytes, std::uint32_t label, SealRefusal* code) {
  if (bytes.size() != kSealRefusalSize) return false;
  ByteReader reader(bytes);
  const auto first = reader.Fixed<std::uint8_t>();
  const auto second = reader.Fixed<std::uint8_t>();
  const auto tag = reader.Fixed<std::uint32_t>();
  const auto value = reader.Fixed<std::uint8_t>();
  if (first != (kMark | static_cast<unsigned>(SealKind::kRefusal)) || second >> 4 != kSealVersion) return false;
  if (value < static_cast<std::uint8_t>(SealRefusal::kUnknownKey) ||
      value > static_cast<std::uint8_t>(SealRefusal::kRepeated)) {
    return false;
  }
  *code = static_cast<SealRefusal>(value);
  // To another cluster the one code that it may give is that.
  return tag == label || *code == SealRefusal::kOtherCluster;
}

}  // namespace nekton
