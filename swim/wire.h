// The codec: frames to bytes and back. Bytes: swim/FORMAT.md. Structs: swim/message.h.
//
// Decoding allocates nothing and trusts nothing: a frame is accepted whole, all of its updates included, or refused
// with the kind of the fault; nothing of a refused frame may be used. Every single-byte error is caught (FORMAT.md,
// checksum). Functions are pure and thread-safe; readers and writers are not shared between threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "swim/message.h"
#include "swim/wire_broadcast.h"

namespace nekton {

enum class Fault : std::uint8_t {
  kNone,
  kShort,    // shorter than its type's fixed part
  kLabel,    // another cluster's: looked at before anything else
  kVersion,  // a protocol version that we do not speak
  kChecksum,
  kType,  // unknown type, or a stream frame in a datagram and the reverse
  kBody,  // lengths, ranges or counts that cannot be
};

// Appends to `bytes` (an arena; whatever it holds stays). Begin, then updates while they fit, then Finish.
class FrameWriter {
 public:
  // Writes all of `frame` but its updates. The finished frame is at most `limit` bytes, counted from here; kFixedMax is
  // enough for every type but mail, which takes kMailHeadMax (swim/mail.h) and its body. A label text or refusal text above its bound is cut there; a budget is cut to 0-65,535 ms.
  FrameWriter(const Frame& frame, std::size_t limit, std::vector<std::byte>& bytes);
  // Appends one update if it fits whole; false: nothing was written, for it does not fit or has EncodedSize 0.
  bool Add(const Update& update);
  bool Add(const BroadcastPart& part);
  std::size_t room() const;  // bytes left for updates
  std::size_t size() const;  // of the frame, its checksum included
  // Appends the checksum and returns it.
  std::uint32_t Finish();

 private:
  std::byte* Room(std::size_t size);

  std::vector<std::byte>& bytes_;
  std::size_t begin_;
  std::size_t limit_;
  bool finished_ = false;
};

// A frame whose type adds nothing, without updates.
inline constexpr std::size_t kBareFrameSize = 24;
// The largest frame without updates but for mail (a refusal with its text).
inline constexpr std::size_t kFixedMax = 226;
// The largest update of a member, its kind and length included; without tags it is at most 248 bytes.
inline constexpr std::size_t kUpdateMax = 692;

// Size of one encoded update, its kind and length included. 0: no decoder would take it, since a field is out of its
// range (name, address, generation, versions, tags, accuser count).
std::size_t EncodedSize(const Update& update);

// `label` is our own LabelTag. On a fault other than kNone `*frame` is unspecified. Faults are looked for in the order
// of their enumerators, but for kShort: that a type's own part is cut off shows last. A stream frame above
// kSyncBytesMax is kBody.
Fault DecodeDatagram(std::span<const std::byte> bytes, std::uint32_t label, Frame* frame);
Fault DecodeStream(std::span<const std::byte> bytes, std::uint32_t label, Frame* frame);

// Walks the updates of a decoded frame. Kinds that we do not know are skipped by their length and counted; so are those
// that PartReader reads.
class UpdateReader {
 public:
  explicit UpdateReader(std::span<const std::byte> updates) : rest_(updates) {}
  bool Next(Update* update);  // false at the end
  std::size_t unknown() const { return unknown_; }
  std::size_t parts() const { return parts_; }

 private:
  std::span<const std::byte> rest_;
  std::size_t unknown_ = 0;
  std::size_t parts_ = 0;
};

}  // namespace nekton
