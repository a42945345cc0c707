#include "swim/wire.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "swim/bytes.h"
#include "swim/mail.h"
#include "swim/wire_update.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace nekton {
namespace {

constexpr std::size_t kLabelAt = 2;
constexpr std::size_t kHeadSize = 20;
constexpr std::size_t kChecksumSize = 4;

std::uint32_t Checksum(std::span<const std::byte> bytes) { return XXH32(bytes.data(), bytes.size(), 0); }

bool IsType(FrameType type) { return type >= FrameType::kPing && type <= FrameType::kMail; }
bool IsStreamOnly(FrameType type) {
  return type == FrameType::kSync || type == FrameType::kSyncReply || type == FrameType::kRefusal;
}
bool IsStream(FrameType type) {
  return IsStreamOnly(type) || type == FrameType::kPing || type == FrameType::kAck || type == FrameType::kMail;
}

constexpr std::uint32_t kGroups = 64;
constexpr std::size_t kSumSize = 4;
constexpr std::size_t kLeafSize = 2;
constexpr std::uint16_t kLeaves = 4096;

bool Has(const Frame& frame, std::uint8_t flag) { return (frame.flags & flag) != 0; }

// What a sync has beside its rows.
std::size_t SyncSize(const Frame& frame) {
  std::size_t size = 0;
  if (Has(frame, kFlagJoin)) size += 1 + std::min(frame.terms.size(), kTermsMax);
  if (Has(frame, kFlagSums)) size += frame.sums.size();
  if (Has(frame, kFlagLeaves)) size += 2 + frame.leaves.size();
  return size;
}

bool HasBudget(Letter letter) { return letter == Letter::kReliable || letter == Letter::kRequest; }
bool HasCode(Letter letter) { return letter == Letter::kAnswer || letter == Letter::kReceipt; }
bool HasBody(Letter letter) { return letter == Letter::kMessage || HasBudget(letter) || letter == Letter::kAnswer; }
bool IsCode(std::uint8_t code) { return code <= kCodeStatusMax || (code >= kCodeOtherLife && code <= kCodeLate); }
constexpr std::size_t kLateSize = 4;  // the body of kCodeLate

// Target, letter, what the letter has, length of the body.
std::size_t MailHead(Letter letter) { return 8 + 1 + (HasBudget(letter) ? 4 : HasCode(letter) ? 1 : 0) + 4; }
static_assert(kHeadSize + 8 + 1 + 4 + 4 + kChecksumSize == kMailHeadMax);

std::string_view Cut(std::string_view text, std::size_t max) { return text.substr(0, max); }

std::size_t FixedSize(const Frame& frame) {
  switch (frame.type) {
    case FrameType::kPing:
      return kHeadSize + 4;
    case FrameType::kAck:
      return kHeadSize + ((frame.flags & kFlagShift) != 0 ? 2 : 0);
    case FrameType::kNack:
    case FrameType::kGossip:
    case FrameType::kPulse:
      return kHeadSize;
    case FrameType::kPingReq:
      return kHeadSize + 8 + AddressSize(frame.target_address) + 2;
    case FrameType::kRelayedAck:
      return kHeadSize + 8;
    case FrameType::kSync:
      return kHeadSize + 2 + 1 + Cut(frame.label_text, kLabelMax).size() + SyncSize(frame);
    case FrameType::kSyncReply:
      return kHeadSize + 2 + (Has(frame, kFlagSums) ? 8 + frame.sums.size() : 0);
    case FrameType::kRefusal:
      return kHeadSize + 1 + 1 + Cut(frame.text, kRefusalTextMax).size();
    case FrameType::kHeartbeat:
      return kHeadSize + 4 + 4;
    case FrameType::kWatch:
      return kHeadSize + 4;
    case FrameType::kMail:
      return kHeadSize + MailHead(frame.letter) + frame.body.size();
  }
  return kHeadSize;
}

void WriteShortText(std::string_view text, ByteWriter& writer) {
  writer.Fixed(static_cast<std::uint8_t>(text.size()));
  writer.Text(text);
}

void WriteHead(const Frame& frame, ByteWriter& writer) {
  const unsigned type = static_cast<std::uint8_t>(frame.type);
  writer.Fixed(static_cast<std::uint8_t>(unsigned{kProtocolVersion} << 4 | type));
  writer.Fixed(frame.flags);
  writer.Fixed(frame.label);
  writer.Fixed(frame.sender);
  writer.Fixed(frame.incarnation);
  writer.Fixed(frame.sequence);
}

void WriteSync(const Frame& frame, ByteWriter& writer) {
  if (Has(frame, kFlagJoin)) {
    const std::size_t size = std::min(frame.terms.size(), kTermsMax);
    writer.Fixed(static_cast<std::uint8_t>(size));
    writer.Bytes(frame.terms.data(), size);
  }
  if (Has(frame, kFlagSums)) writer.Bytes(frame.sums.data(), frame.sums.size());
  if (Has(frame, kFlagLeaves)) {
    writer.Fixed(static_cast<std::uint16_t>(frame.leaves.size() / kLeafSize));
    writer.Bytes(frame.leaves.data(), frame.leaves.size());
  }
}

void WriteMail(const Frame& frame, ByteWriter& writer) {
  writer.Fixed(frame.target);
  writer.Fixed(static_cast<std::uint8_t>(frame.letter));
  if (HasBudget(frame.letter)) writer.Fixed(static_cast<std::uint32_t>(WireMilliseconds(frame.budget, 0xffffffff)));
  if (HasCode(frame.letter)) writer.Fixed(frame.code);
  writer.Fixed(static_cast<std::uint32_t>(frame.body.size()));
  writer.Bytes(frame.body.data(), frame.body.size());
}

void WriteFixed(const Frame& frame, ByteWriter& writer) {
  WriteHead(frame, writer);
  switch (frame.type) {
    case FrameType::kPing:
      return writer.Fixed(frame.digest);
    case FrameType::kAck:
      if ((frame.flags & kFlagShift) != 0) writer.Fixed(static_cast<std::uint16_t>(frame.shift));
      return;
    case FrameType::kNack:
    case FrameType::kGossip:
    case FrameType::kPulse:
      return;
    case FrameType::kPingReq:
      writer.Fixed(frame.target);
      WriteAddress(frame.target_address, writer);
      return writer.Fixed(static_cast<std::uint16_t>(WireMilliseconds(frame.budget, 0xffff)));
    case FrameType::kRelayedAck:
      return writer.Fixed(frame.target);
    case FrameType::kSync:
      writer.Fixed(frame.version_min);
      writer.Fixed(frame.version_max);
      WriteShortText(Cut(frame.label_text, kLabelMax), writer);
      return WriteSync(frame, writer);
    case FrameType::kSyncReply:
      writer.Fixed(frame.version_min);
      writer.Fixed(frame.version_max);
      if (!Has(frame, kFlagSums)) return;
      writer.Fixed(frame.groups);
      return writer.Bytes(frame.sums.data(), frame.sums.size());
    case FrameType::kRefusal:
      writer.Fixed(static_cast<std::uint8_t>(frame.refusal));
      return WriteShortText(Cut(frame.text, kRefusalTextMax), writer);
    case FrameType::kHeartbeat:
      writer.Fixed(frame.watermark);
      return writer.Fixed(frame.digest);
    case FrameType::kWatch:
      return writer.Fixed(static_cast<std::uint32_t>(WireMilliseconds(frame.interval, 0xffffffff)));
    case FrameType::kMail:
      return WriteMail(frame, writer);
  }
}

void ReadHead(ByteReader& reader, Frame& frame) {
  frame.type = static_cast<FrameType>(reader.Fixed<std::uint8_t>() & 0xf);
  frame.flags = reader.Fixed<std::uint8_t>();
  frame.label = reader.Fixed<std::uint32_t>();
  frame.sender = reader.Fixed<std::uint64_t>();
  frame.incarnation = reader.Fixed<std::uint16_t>();
  frame.sequence = reader.Fixed<std::uint32_t>();
}

bool ReadVersions(ByteReader& reader, Frame& frame) {
  frame.version_min = reader.Fixed<std::uint8_t>();
  frame.version_max = reader.Fixed<std::uint8_t>();
  return AreVersions(frame.version_min, frame.version_max);
}

bool ReadShortText(ByteReader& reader, std::size_t max, std::string_view& text) {
  text = reader.Text(reader.Fixed<std::uint8_t>());
  return text.size() <= max;
}

bool AreLeaves(std::span<const std::byte> leaves) {
  ByteReader reader(leaves);
  std::uint16_t least = 0;
  while (reader.left() != 0) {
    const auto leaf = reader.Fixed<std::uint16_t>();
    if (leaf < least || leaf >= kLeaves) return false;
    least = static_cast<std::uint16_t>(leaf + 1);
  }
  return true;
}

bool ReadSync(ByteReader& reader, Frame& frame) {
  if (Has(frame, kFlagJoin)) frame.terms = reader.Take(reader.Fixed<std::uint8_t>());
  if (Has(frame, kFlagSums)) frame.sums = reader.Take(kGroups * kSumSize);
  if (!Has(frame, kFlagLeaves)) return true;
  frame.leaves = reader.Take(kLeafSize * reader.Fixed<std::uint16_t>());
  return AreLeaves(frame.leaves);
}

bool ReadMail(ByteReader& reader, Frame& frame) {
  frame.target = reader.Fixed<std::uint64_t>();
  frame.letter = static_cast<Letter>(reader.Fixed<std::uint8_t>());
  if (frame.letter < Letter::kMessage || frame.letter > Letter::kReceipt) return false;
  if (HasBudget(frame.letter)) frame.budget = std::chrono::milliseconds(reader.Fixed<std::uint32_t>());
  if (HasCode(frame.letter)) frame.code = reader.Fixed<std::uint8_t>();
  const std::size_t size = reader.Fixed<std::uint32_t>();
  if (size > (HasBody(frame.letter) ? kMailBytesMax : 0)) return false;
  frame.body = reader.Take(size);
  const bool sound = frame.letter == Letter::kReceipt ? frame.code <= 1 : IsCode(frame.code);
  if (frame.code == kCodeLate && size != kLateSize) return false;
  return sound && reader.left() == 0;  // nothing rides on it
}

// What the type adds. False: a value that cannot be. (That bytes were missing shows in the reader.)
bool ReadFixed(ByteReader& reader, Frame& frame) {
  bool sound = true;
  switch (frame.type) {
    case FrameType::kPing:
      frame.digest = reader.Fixed<std::uint32_t>();
      break;
    case FrameType::kAck:
      if ((frame.flags & kFlagShift) != 0) frame.shift = static_cast<std::int16_t>(reader.Fixed<std::uint16_t>());
      break;
    case FrameType::kNack:
    case FrameType::kGossip:
    case FrameType::kPulse:
      break;
    case FrameType::kPingReq:
      frame.target = reader.Fixed<std::uint64_t>();
      sound = ReadAddress(reader, frame.target_address);
      frame.budget = std::chrono::milliseconds(reader.Fixed<std::uint16_t>());
      break;
    case FrameType::kRelayedAck:
      frame.target = reader.Fixed<std::uint64_t>();
      break;
    case FrameType::kSync:
      sound = ReadVersions(reader, frame);
      sound = ReadShortText(reader, kLabelMax, frame.label_text) && sound;
      sound = ReadSync(reader, frame) && sound;
      break;
    case FrameType::kSyncReply:
      sound = ReadVersions(reader, frame);
      if (!Has(frame, kFlagSums)) break;
      frame.groups = reader.Fixed<std::uint64_t>();
      frame.sums = reader.Take(static_cast<std::size_t>(std::popcount(frame.groups)) * kGroups * kSumSize);
      break;
    case FrameType::kRefusal:
      frame.refusal = static_cast<Refusal>(reader.Fixed<std::uint8_t>());
      sound = frame.refusal >= Refusal::kNameInUse && frame.refusal <= Refusal::kSealed;
      sound = ReadShortText(reader, kRefusalTextMax, frame.text) && sound;
      break;
    case FrameType::kHeartbeat:
      frame.watermark = reader.Fixed<std::uint32_t>();
      frame.digest = reader.Fixed<std::uint32_t>();
      break;
    case FrameType::kWatch:
      frame.interval = std::chrono::milliseconds(reader.Fixed<std::uint32_t>());
      break;
    case FrameType::kMail:
      sound = ReadMail(reader, frame);
      break;
  }
  return sound;
}

bool AreUpdates(std::span<const std::byte> bytes) {
  if (bytes.empty()) return true;
  ByteReader reader(bytes);
  Update update;
  while (reader.left() != 0) {
    if (ReadUpdate(reader, update) == Found::kBad) return false;
  }
  return true;
}

Fault Decode(std::span<const std::byte> bytes, std::uint32_t label, bool stream, Frame& frame) {
  if (bytes.size() < kHeadSize + kChecksumSize) return Fault::kShort;
  if (bytes.size() > kSyncBytesMax) return Fault::kBody;
  if (ByteReader(bytes.subspan(kLabelAt)).Fixed<std::uint32_t>() != label) return Fault::kLabel;
  if (std::to_integer<unsigned>(bytes.front()) >> 4 != kProtocolVersion) return Fault::kVersion;
  const std::span<const std::byte> covered = bytes.first(bytes.size() - kChecksumSize);
  const auto checksum = ByteReader(bytes.last(kChecksumSize)).Fixed<std::uint32_t>();
  if (Checksum(covered) != checksum) return Fault::kChecksum;

  frame = {};
  ByteReader reader(covered);
  ReadHead(reader, frame);
  if (!IsType(frame.type)) return Fault::kType;
  if (stream ? !IsStream(frame.type) : IsStreamOnly(frame.type)) return Fault::kType;
  const bool sound = ReadFixed(reader, frame);
  if (!reader.ok()) return Fault::kShort;
  if (!sound) return Fault::kBody;
  frame.updates = reader.rest();
  return AreUpdates(frame.updates) ? Fault::kNone : Fault::kBody;
}

}  // namespace

FrameWriter::FrameWriter(const Frame& frame, std::size_t limit, std::vector<std::byte>& bytes)
    : bytes_(bytes), begin_(bytes.size()), limit_(limit) {
  bytes_.resize(begin_ + FixedSize(frame));
  ByteWriter writer(bytes_.data() + begin_);
  WriteFixed(frame, writer);
  assert(writer.at() == bytes_.data() + bytes_.size());
}

bool FrameWriter::Add(const Update& update) {
  std::byte* at = Room(EncodedSize(update));
  if (at == nullptr) return false;
  ByteWriter writer(at);
  WriteUpdate(update, writer);
  assert(writer.at() == bytes_.data() + bytes_.size());
  return true;
}

bool FrameWriter::Add(const BroadcastPart& part) {
  std::byte* at = Room(EncodedSize(part));
  if (at == nullptr) return false;
  ByteWriter writer(at);
  WritePart(part, writer);
  assert(writer.at() == bytes_.data() + bytes_.size());
  return true;
}

// So many bytes more; null where they do not fit, or are none.
std::byte* FrameWriter::Room(std::size_t size) {
  if (size == 0 || size > room()) return nullptr;
  const std::size_t at = bytes_.size();
  bytes_.resize(at + size);
  return bytes_.data() + at;
}

std::size_t FrameWriter::room() const { return limit_ > size() ? limit_ - size() : 0; }

std::size_t FrameWriter::size() const { return bytes_.size() - begin_ + (finished_ ? 0 : kChecksumSize); }

std::uint32_t FrameWriter::Finish() {
  const std::uint32_t checksum = Checksum(std::span(bytes_).subspan(begin_));
  bytes_.resize(bytes_.size() + kChecksumSize);
  ByteWriter(bytes_.data() + bytes_.size() - kChecksumSize).Fixed(checksum);
  finished_ = true;
  return checksum;
}

Fault DecodeDatagram(std::span<const std::byte> bytes, std::uint32_t label, Frame* frame) {
  return Decode(bytes, label, false, *frame);
}

Fault DecodeStream(std::span<const std::byte> bytes, std::uint32_t label, Frame* frame) {
  return Decode(bytes, label, true, *frame);
}

bool UpdateReader::Next(Update* update) {
  ByteReader reader(rest_);
  while (reader.left() != 0) {
    const Found found = ReadUpdate(reader, *update);
    rest_ = found == Found::kBad ? std::span<const std::byte>() : reader.rest();
    if (found == Found::kUpdate || found == Found::kBad) return found == Found::kUpdate;
    ++(found == Found::kPart ? parts_ : unknown_);
  }
  return false;
}

}  // namespace nekton
