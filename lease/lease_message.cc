#include "lease/lease_message.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "swim/bytes.h"
#include "swim/message.h"

namespace nekton {
namespace {

using Kind = LeaseMessage::Kind;
using Result = LeaseMessage::Result;

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kSizeMax = 1024;  // of the largest, a move, and more

std::string_view Cut(const std::string& text, std::size_t max) { return std::string_view(text).substr(0, max); }

// Appends, since no message is large.
class Writer {
 public:
  explicit Writer(std::vector<std::byte>& bytes) : bytes_(bytes) {}
  template <std::unsigned_integral T>
  void Fixed(T value) {
    ByteWriter(Grow(sizeof(T))).Fixed(value);
  }
  template <std::size_t N>
  void Array(const std::array<std::byte, N>& bytes) {
    ByteWriter(Grow(N)).Bytes(bytes.data(), N);
  }
  void Text(std::string_view text) {
    Fixed(static_cast<std::uint8_t>(text.size()));
    ByteWriter(Grow(text.size())).Text(text);
  }

 private:
  std::byte* Grow(std::size_t by) {
    bytes_.resize(bytes_.size() + by);
    return bytes_.data() + bytes_.size() - by;
  }
  std::vector<std::byte>& bytes_;
};

template <std::size_t N>
void ReadArray(ByteReader& reader, std::array<std::byte, N>& to) {
  const std::span<const std::byte> bytes = reader.Take(N);
  std::copy(bytes.begin(), bytes.end(), to.begin());
}

void WriteTerms(const LeaseMessage& message, Writer& writer) {
  writer.Fixed(message.nonce);
  writer.Fixed(static_cast<std::uint64_t>(message.write.count()));
  writer.Fixed(static_cast<std::uint64_t>(message.drift_ppm));
}

bool ReadTerms(ByteReader& reader, LeaseMessage& message) {
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  message.nonce = reader.Fixed<std::uint64_t>();
  const auto write = reader.Fixed<std::uint64_t>();
  const auto drift = reader.Fixed<std::uint64_t>();
  if (write > kMax || drift > kMax) return false;
  message.write = Duration(static_cast<Duration::rep>(write));
  message.drift_ppm = static_cast<std::int64_t>(drift);
  return true;
}

void WriteMove(const LeaseMove& move, Writer& writer) {
  writer.Array(move.object.bytes);
  writer.Fixed(move.epoch);
  writer.Text(Cut(move.from, kNameMax));
  writer.Text(Cut(move.to, kNameMax));
  writer.Array(move.signature.bytes);
}

bool ReadMove(ByteReader& reader, LeaseMove& move) {
  ReadArray(reader, move.object.bytes);
  move.epoch = reader.Fixed<std::uint64_t>();
  move.from = std::string(reader.Text(reader.Fixed<std::uint8_t>()));
  move.to = std::string(reader.Text(reader.Fixed<std::uint8_t>()));
  ReadArray(reader, move.signature.bytes);
  return IsName(move.from) && IsName(move.to);
}

bool ReadBody(ByteReader& reader, LeaseMessage& message) {
  switch (message.kind) {
    case Kind::kJoin: {
      const bool sound = ReadTerms(reader, message);
      ReadArray(reader, message.key.bytes);
      return sound;
    }
    case Kind::kPing: {
      const bool sound = ReadTerms(reader, message);
      const absl::StatusOr<ViewHead> head = DecodeViewHead(reader.Take(kViewHeadSize));
      if (head.ok()) message.head = *head;
      return sound && head.ok();
    }
    case Kind::kAnswer:
      message.nonce = reader.Fixed<std::uint64_t>();
      message.epoch = reader.Fixed<std::uint64_t>();
      message.settled = reader.Fixed<std::uint64_t>();
      message.result = static_cast<Result>(reader.Fixed<std::uint8_t>());
      message.text = std::string(reader.Text(reader.Fixed<std::uint8_t>()));
      ReadArray(reader, message.signature.bytes);
      return message.result <= Result::kRefused && message.text.size() <= LeaseMessage::kTextMax;
    case Kind::kFetch:
      message.epoch = reader.Fixed<std::uint64_t>();
      ReadArray(reader, message.digest.bytes);
      return true;
    case Kind::kMove:
      return ReadMove(reader, message.move);
    case Kind::kMoved:
      ReadArray(reader, message.move.object.bytes);
      message.epoch = message.move.epoch = reader.Fixed<std::uint64_t>();
      return true;
  }
  return false;
}

}  // namespace

std::vector<std::byte> Encode(const LeaseMessage& message) {
  std::vector<std::byte> bytes;
  bytes.reserve(128);
  Writer writer(bytes);
  writer.Fixed(kVersion);
  writer.Fixed(static_cast<std::uint8_t>(message.kind));
  switch (message.kind) {
    case Kind::kJoin:
      WriteTerms(message, writer);
      writer.Array(message.key.bytes);
      break;
    case Kind::kPing:
      WriteTerms(message, writer);
      writer.Array(EncodeViewHead(message.head));
      break;
    case Kind::kAnswer:
      writer.Fixed(message.nonce);
      writer.Fixed(message.epoch);
      writer.Fixed(message.settled);
      writer.Fixed(static_cast<std::uint8_t>(message.result));
      writer.Text(Cut(message.text, LeaseMessage::kTextMax));
      writer.Array(message.signature.bytes);
      break;
    case Kind::kFetch:
      writer.Fixed(message.epoch);
      writer.Array(message.digest.bytes);
      break;
    case Kind::kMove:
      WriteMove(message.move, writer);
      break;
    case Kind::kMoved:
      writer.Array(message.move.object.bytes);
      writer.Fixed(message.epoch);
      break;
  }
  return bytes;
}

absl::StatusOr<LeaseMessage> DecodeLeaseMessage(std::span<const std::byte> bytes) {
  if (bytes.size() > kSizeMax) return absl::DataLossError("lease message: too long");
  ByteReader reader(bytes);
  if (reader.Fixed<std::uint8_t>() != kVersion) return absl::DataLossError("lease message: another version");
  LeaseMessage message;
  message.kind = static_cast<Kind>(reader.Fixed<std::uint8_t>());
  const bool sound = ReadBody(reader, message);
  if (!reader.ok()) return absl::DataLossError("lease message: too short");
  if (!sound) return absl::DataLossError("lease message: a value that cannot be");
  if (reader.left() != 0) return absl::DataLossError("lease message: too long");
  return message;
}

}  // namespace nekton
