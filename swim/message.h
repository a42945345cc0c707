// The frames of the protocol as values. How they look on the wire: swim/wire.h and swim/FORMAT.md.
//
//   A -> B  ping          are you there?                       B -> A  ack
//   A -> H  ping-req      ask B for me      H -> B  ping,  B -> H  ack,  H -> A  relayed ack   (or H -> A  nack)
//   A -> B  gossip        updates only, no answer expected
//   A -> B  heartbeat     I live, and have heard you so far    (B -> A  heartbeat, if A asks for it)
//   A -> B  watch         send me pulses                       B -> A  pulse, again and again
//   A => B  sync          over a stream: all my rows           B => A  sync reply  (or refusal)
//   A -> B  mail          a message, a request, its answer (swim/mail.h); also over streams
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "phi/time.h"
#include "stm/life_key.h"
#include "swim/address.h"

namespace nekton {

enum class FrameType : std::uint8_t {
  kPing = 1,
  kAck = 2,
  kPingReq = 3,
  kRelayedAck = 4,
  kNack = 5,
  kGossip = 6,
  kSync = 7,       // stream only
  kSyncReply = 8,  // stream only
  kRefusal = 9,    // stream only
  kHeartbeat = 10,
  kWatch = 11,
  kPulse = 12,
  kMail = 13,
};

// Flags of a frame.
inline constexpr std::uint8_t kFlagStranger = 1;  // ack, nack, gossip: I do not know you; sync with me
inline constexpr std::uint8_t kFlagDiffers = 2;   // ack: my table's digest is not yours
inline constexpr std::uint8_t kFlagJoin = 4;      // sync: the sender joins, it is no member yet
inline constexpr std::uint8_t kFlagReunion = 8;   // sync: after a separation; what it brings is news to others too
inline constexpr std::uint8_t kFlagAsks = 16;     // heartbeat: answer with one at once
inline constexpr std::uint8_t kFlagExtra = 32;    // heartbeat: outside the rhythm (answers, repeats); pulse: the first
inline constexpr std::uint8_t kFlagFull = 64;     // pulse: none will come, for I have no room for one more watcher
inline constexpr std::uint8_t kFlagShift = 128;   // ack: it has a shift
inline constexpr std::uint8_t kFlagSums = 32;     // sync, its reply: of sums of the table, not of its rows
inline constexpr std::uint8_t kFlagLeaves = 64;   // sync: of the rows of some leaves; so is its reply

// Mail: of nekton's own (lease/FORMAT.md), which no user is given.
inline constexpr std::uint8_t kFlagInner = 1;

// Ack: what I hold of broadcasts is not what you do.
inline constexpr std::uint8_t kFlagOtherBroadcasts = 4;

enum class Refusal : std::uint8_t {
  kNameInUse = 1,
  kBusy = 2,
  kVersion = 3,  // no common protocol version
  kFull = 4,
  kOtherCluster = 5,
  kImplausible = 6,  // a generation or incarnation beyond the bounds
  kTerms = 7,        // its configuration is another than the group's
  kSealed = 8,       // the group seals its frames, and this one was not (transport/seal.h)
};

// What a mail frame is.
enum class Letter : std::uint8_t {
  kMessage = 1,   // best effort; its sequence is 0
  kReliable = 2,  // a message that is to be answered when it was taken
  kRequest = 3,
  kRepeat = 4,   // asks about a request that was received
  kCancel = 5,   // nobody waits for the answer any more
  kAnswer = 6,   // of a request, a reliable message, a repeat
  kReceipt = 7,  // a request, or a cancellation, was received
};
// Codes of an answer: up to 16 those of absl::StatusCode (then the body of all but 0 is the status's text), and these.
// Of a receipt: 0 of what was asked, 1 of its cancellation.
inline constexpr std::uint8_t kCodeStatusMax = 16;
inline constexpr std::uint8_t kCodeOtherLife = 64;  // it was addressed to another life than the one that answers
inline constexpr std::uint8_t kCodeStranger = 65;   // whoever asks is not known yet
inline constexpr std::uint8_t kCodeLate = 66;       // it is begun no more; body: no number up to this one is, 4 bytes

// What an update says of its subject; at equal keys the later enumerator outranks the earlier.
enum class UpdateKind : std::uint8_t { kAlive = 1, kSuspect = 2, kDead = 3, kLeft = 4 };

// Who accuses: the wire id of a member whose own round failed, and whether the subject's port refused it.
struct Accuser {
  std::uint64_t id = 0;
  bool refused = false;
  friend bool operator==(const Accuser&, const Accuser&) = default;
};
inline constexpr std::size_t kAccusersMax = 8;

// One piece of news about one member. Views point into the frame it was read from.
struct Update {
  UpdateKind kind = UpdateKind::kAlive;
  std::string_view name;  // 1-128 bytes
  Address address;        // as advertised
  LifeKey key;
  bool detailed = false;         // alive: tags follow (a row first heard of by an accusation has none yet)
  std::string_view tags;         // encoded (swim/tags.h), <= 512 bytes; alive only
  std::uint8_t version_min = 0;  // alive and detailed: protocol versions that the member speaks
  std::uint8_t version_max = 0;
  Duration age{};                 // dead, left: since the first verdict; whole milliseconds on the wire, >= 0
  std::size_t accuser_count = 0;  // suspect, dead; 0-8
  std::array<Accuser, kAccusersMax> accusers{};
  friend bool operator==(const Update&, const Update&) = default;
};

// A decoded frame. Fields that its type does not have are zero.
struct Frame {
  FrameType type = FrameType::kPing;
  std::uint8_t flags = 0;
  std::uint32_t label = 0;        // LabelTag of the cluster label
  std::uint64_t sender = 0;       // MemberId of the sending life
  std::uint16_t incarnation = 0;  // low 16 bits of the sender's
  std::uint32_t sequence = 0;     // chosen by the asker, echoed in the answer; heartbeat, pulse: one more each
  std::uint32_t digest = 0;       // ping, heartbeat: of the sender's table
  std::int16_t shift = 0;         // ack: so much later is the asker to probe, in 4096ths of a period
  std::uint32_t watermark = 0;    // heartbeat: the highest sequence of the receiver's heartbeats seen; 0: none
  Duration interval{};            // watch: of the pulses, whole milliseconds, <= 2^32 - 1; 0: no more of them
  std::uint64_t target = 0;       // ping-req: whom to probe; relayed ack: who answered; mail: the life it is for
  Address target_address;         // ping-req
  // ping-req: time left in the asker's round; whole milliseconds, <= 65,535. Mail that is to be answered: so long an
  // answer is waited for, <= 2^32 - 1 ms.
  Duration budget{};
  std::uint8_t version_min = 0;      // sync
  std::uint8_t version_max = 0;      // sync
  std::string_view label_text;       // sync: for a clear error on the other side, <= 64 bytes; escape it to print it
  std::span<const std::byte> terms;  // sync that joins: what a group must agree on (swim/terms.h), <= 255 bytes
  // Sums (swim/table_sums.h), 4 bytes each: sync: of all groups; reply: of all leaves of those in `groups`, in order.
  std::span<const std::byte> sums;
  std::uint64_t groups = 0;            // sync reply with sums: bit i: group i differs
  std::span<const std::byte> leaves;   // sync: 2 bytes each, ascending, below 4096
  Refusal refusal = Refusal::kBusy;    // refusal
  std::string_view text;               // refusal: in words, <= 200 bytes; escape it to print it
  Letter letter = Letter::kMessage;    // mail
  std::uint8_t code = 0;               // mail: of an answer or receipt
  std::span<const std::byte> body;     // mail: <= 1 MiB
  std::span<const std::byte> updates;  // validated; read them with UpdateReader
};

// Bounds of what is believed: a generation at most ten years (in ms) ahead of the reader's wall clock, an incarnation
// at most 2^32 above the one known. A member that would have to go beyond 2^32 begins a new generation, so that whoever
// knows nothing of it yet believes it, too.
inline constexpr std::uint64_t kGenerationAheadMax = std::uint64_t{10} * 366 * 24 * 3600 * 1000;
inline constexpr std::uint64_t kIncarnationJumpMax = std::uint64_t{1} << 32;

inline constexpr std::uint8_t kProtocolVersion = 1;
inline constexpr std::size_t kNameMax = 128;
inline constexpr std::size_t kLabelMax = 64;
inline constexpr std::size_t kTagsMax = 512;
inline constexpr std::size_t kTermsMax = 255;
inline constexpr std::size_t kRefusalTextMax = 200;
inline constexpr std::size_t kSyncBytesMax = std::size_t{20} << 20;

// 1-128 bytes, of printable ASCII without the space, or of bytes from 0x80 (UTF-8).
bool IsName(std::string_view text);
// Stable 64-bit id of one life of a name: what frames carry instead of the name. XXH3 over name and generation; of a
// text longer than a name may be, over its first kNameMax bytes.
std::uint64_t MemberId(std::string_view name, std::uint64_t generation);
// The 4-byte mark of a cluster label; the empty label has one too.
std::uint32_t LabelTag(std::string_view label);

}  // namespace nekton
