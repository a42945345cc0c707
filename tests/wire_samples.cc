#include "tests/wire_samples.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include "swim/tags.h"

namespace nekton {
namespace {

constexpr std::uint64_t kSender = 0x0102030405060708;
constexpr std::uint64_t kTarget = 0x1112131415161718;
constexpr std::uint64_t kGeneration = 1700000000000;
constexpr std::uint64_t kLargest = ~std::uint64_t{0};

const Address kAlpha = Address::V4(10, 0, 0, 1, 7946);
const Address kBeta = Address::V4(10, 0, 0, 2, 7946);

Address Parsed(std::string_view text) { return Address::Parse(text).value(); }

Frame MakeFrame(FrameType type, std::uint16_t incarnation, std::uint32_t sequence, std::uint8_t flags = 0) {
  Frame frame;
  frame.type = type;
  frame.flags = flags;
  frame.label = kSampleLabel;
  frame.sender = kSender;
  frame.incarnation = incarnation;
  frame.sequence = sequence;
  return frame;
}

Frame Ping(std::uint16_t incarnation, std::uint32_t sequence, std::uint32_t digest) {
  Frame frame = MakeFrame(FrameType::kPing, incarnation, sequence);
  frame.digest = digest;
  return frame;
}

Frame PingReq(const Address& target, Duration budget) {
  Frame frame = MakeFrame(FrameType::kPingReq, 0, 2);
  frame.target = kTarget;
  frame.target_address = target;
  frame.budget = budget;
  return frame;
}

Frame ShiftingAck() {
  Frame frame = MakeFrame(FrameType::kAck, 0x0a0b, 5, kFlagShift);
  frame.shift = -0x1234;
  return frame;
}

Frame RelayedAck() {
  Frame frame = MakeFrame(FrameType::kRelayedAck, 0, 3);
  frame.target = kTarget;
  return frame;
}

Frame Sync(FrameType type, std::uint8_t version_max, std::string_view label, std::uint8_t flags = 0) {
  Frame frame = MakeFrame(type, 0, 8, flags);
  frame.version_min = 1;
  frame.version_max = version_max;
  frame.label_text = label;
  return frame;
}

// Bytes that count upwards; they are what they are in every frame that has them.
std::span<const std::byte> Counting(std::size_t size) {
  static const std::vector<std::byte> all = [] {
    std::vector<std::byte> bytes(1024);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 256);
    return bytes;
  }();
  return std::span(all).first(size);
}

Frame JoiningSync() {
  Frame frame = Sync(FrameType::kSync, 1, "blue", kFlagJoin);
  frame.terms = Counting(5);
  return frame;
}

Frame SyncOfSums() {
  Frame frame = Sync(FrameType::kSync, 1, "blue", kFlagSums | kFlagReunion);
  frame.sums = Counting(256);
  return frame;
}

Frame ReplyOfSums() {
  Frame frame = Sync(FrameType::kSyncReply, 1, "", kFlagSums);
  frame.groups = std::uint64_t{1} << 63 | 1;
  frame.sums = Counting(512);
  return frame;
}

Frame SyncOfLeaves() {
  static constexpr std::byte kLeaves[] = {std::byte{0}, std::byte{0},    std::byte{1},
                                          std::byte{2}, std::byte{0xff}, std::byte{0xf}};
  Frame frame = Sync(FrameType::kSync, 1, "", kFlagLeaves);
  frame.leaves = kLeaves;
  return frame;
}

Frame Heartbeat(std::uint32_t sequence, std::uint32_t watermark, std::uint8_t flags) {
  Frame frame = MakeFrame(FrameType::kHeartbeat, 7, sequence, flags);
  frame.watermark = watermark;
  frame.digest = 0xa1a2a3a4;
  return frame;
}

Frame Watch(Duration interval) {
  Frame frame = MakeFrame(FrameType::kWatch, 7, 9);
  frame.interval = interval;
  return frame;
}

Frame Mail(Letter letter, std::size_t body) {
  Frame frame = MakeFrame(FrameType::kMail, 7, letter == Letter::kMessage ? 0 : 11);
  frame.target = kTarget;
  frame.letter = letter;
  frame.body = Counting(body);
  return frame;
}

Frame MailWithin(Letter letter, Duration budget, std::size_t body) {
  Frame frame = Mail(letter, body);
  frame.budget = budget;
  return frame;
}

Frame MailWith(Letter letter, std::uint8_t code, std::size_t body) {
  Frame frame = Mail(letter, body);
  frame.code = code;
  return frame;
}

Frame Busy() {
  Frame frame = MakeFrame(FrameType::kRefusal, 0, 8);
  frame.refusal = Refusal::kBusy;
  frame.text = "32 syncs at once";
  return frame;
}

Update About(UpdateKind kind, std::string_view name, const Address& address, LifeKey key) {
  Update update;
  update.kind = kind;
  update.name = name;
  update.address = address;
  update.key = key;
  return update;
}

Update Accusing(Update update, std::initializer_list<Accuser> accusers) {
  for (const Accuser& accuser : accusers) update.accusers[update.accuser_count++] = accuser;
  return update;
}

}  // namespace

std::vector<Update> UpdateSamples() {
  static const std::string tags = EncodeTags({{"role", "db"}, {"zone", ""}}).value();
  Update alive = About(UpdateKind::kAlive, "alpha", kAlpha, {kGeneration, 3});
  alive.detailed = true;
  alive.version_min = 1;
  alive.version_max = 1;
  alive.tags = tags;
  const Update bare = About(UpdateKind::kAlive, "beta", kBeta, {1, 0});
  const Update suspect =
      Accusing(About(UpdateKind::kSuspect, "gamma", Parsed("[2001:db8::1]:7000"), {kGeneration, 127}),
               {{0xa1, false}, {0xb2b2b2b2b2b2b2b2, true}});
  Update dead =
      Accusing(About(UpdateKind::kDead, "d\u00e9lta", Parsed("[fe80::3%2]:9"), {kLargest, kLargest}), {{0xa1, true}});
  dead.age = std::chrono::milliseconds(128);
  Update left = About(UpdateKind::kLeft, "e", kBeta, {128, 16384});
  left.age = std::chrono::seconds(90);
  return {alive, bare, suspect, dead, left};
}

std::vector<BroadcastPart> PartSamples() {
  BroadcastPart full;
  full.key = "config";
  full.origin = "alpha";
  full.generation = kGeneration;
  full.counter = 300;
  full.age = std::chrono::milliseconds(250);
  full.left = std::chrono::hours(1);
  full.bytes = std::string_view(
      "v\0"
      "7",
      3);
  BroadcastPart least;
  least.key = "k";
  least.origin = "e";
  least.generation = 1;
  least.counter = 1;
  BroadcastPart digest;
  digest.kind = PartKind::kDigest;
  digest.digest = 0xb1b2b3b4;
  BroadcastPart held;
  held.kind = PartKind::kHeld;
  held.ids = Counting(16);
  BroadcastPart wanted;
  wanted.kind = PartKind::kWanted;
  wanted.ids = Counting(8);
  return {full, least, digest, held, wanted};
}

std::vector<WireSample> WireSamples() {
  const std::vector<Update> all = UpdateSamples();
  const std::vector<BroadcastPart> parts = PartSamples();
  const Update& alive = all[0];
  const Update& bare = all[1];
  const Update& suspect = all[2];
  const Update& dead = all[3];
  return {
      {"ping", false, Ping(0x0a0b, 0x0c0d0e0f, 0xa1a2a3a4), {}},
      {"ack", false, MakeFrame(FrameType::kAck, 0x0a0b, 0x0c0d0e0f, kFlagDiffers), {}},
      {"ack_stranger", false, MakeFrame(FrameType::kAck, 0, 1, kFlagStranger), {}},
      {"ping_req", false, PingReq(kBeta, std::chrono::milliseconds(800)), {}},
      {"ping_req_scoped", false, PingReq(Parsed("[fe80::3%2]:9"), std::chrono::milliseconds(65535)), {}},
      {"relayed_ack", false, RelayedAck(), {}},
      {"nack", false, MakeFrame(FrameType::kNack, 0, 3), {}},
      {"gossip_empty", false, MakeFrame(FrameType::kGossip, 0, 0), {}},
      {"gossip", false, MakeFrame(FrameType::kGossip, 0xffff, 0xffffffff), all},
      {"ping_suspect", false, Ping(0, 4, 5), {suspect}},
      {"ack_alive", false, MakeFrame(FrameType::kAck, 4, 4), {alive}},
      {"stream_ping", true, Ping(0, 6, 7), {}},
      {"stream_ack", true, MakeFrame(FrameType::kAck, 0, 6), {bare}},
      {"sync", true, JoiningSync(), {alive, suspect}},
      {"sync_no_label", true, Sync(FrameType::kSync, 3, ""), {}},
      {"sync_reply", true, Sync(FrameType::kSyncReply, 2, ""), {alive, bare, dead}},
      {"refusal", true, Busy(), {}},
      {"heartbeat", false, Heartbeat(0x0c0d0e0f, 0x1c1d1e1f, 0), {}},
      {"heartbeat_asks", false, Heartbeat(2, 1, kFlagAsks | kFlagExtra), {suspect}},
      {"watch", false, Watch(std::chrono::milliseconds(0x0a0b0c0d)), {}},
      {"pulse", false, MakeFrame(FrameType::kPulse, 7, 10), {}},
      {"pulse_full", false, MakeFrame(FrameType::kPulse, 7, 0, kFlagFull), {}},
      {"ack_shift", false, ShiftingAck(), {}},
      {"sync_of_sums", true, SyncOfSums(), {bare}},
      {"reply_of_sums", true, ReplyOfSums(), {bare}},
      {"sync_of_leaves", true, SyncOfLeaves(), {bare, suspect}},
      {"ping_digest", false, Ping(0x0a0b, 0x0c0d0e0f, 0xa1a2a3a4), {}, {parts[2]}},
      {"ack_broadcasts_differ", false, MakeFrame(FrameType::kAck, 0, 1, kFlagOtherBroadcasts), {}},
      {"gossip_broadcasts", false, MakeFrame(FrameType::kGossip, 7, 0), {bare}, {parts[0], parts[1]}},
      {"sync_of_broadcasts", true, Sync(FrameType::kSync, 1, "", kFlagLeaves), {bare}, {parts[0], parts[3]}},
      {"reply_of_broadcasts", true, Sync(FrameType::kSyncReply, 1, ""), {bare}, {parts[1], parts[4]}},
      {"mail_message", false, Mail(Letter::kMessage, 3), {}},
      {"mail_reliable", true, MailWithin(Letter::kReliable, std::chrono::milliseconds(0x0a0b0c0d), 600), {}},
      {"mail_request", false, MailWithin(Letter::kRequest, std::chrono::milliseconds(100), 5), {}},
      {"mail_request_empty", false, MailWithin(Letter::kRequest, std::chrono::milliseconds(1), 0), {}},
      {"mail_repeat", false, Mail(Letter::kRepeat, 0), {}},
      {"mail_cancel", false, Mail(Letter::kCancel, 0), {}},
      {"mail_answer", false, MailWith(Letter::kAnswer, 0, 2), {}},
      {"mail_answer_full", false, MailWith(Letter::kAnswer, 8, 4), {}},
      {"mail_answer_other_life", false, MailWith(Letter::kAnswer, kCodeOtherLife, 0), {}},
      {"mail_answer_late", false, MailWith(Letter::kAnswer, kCodeLate, 4), {}},
      {"mail_receipt", true, MailWith(Letter::kReceipt, 0, 0), {}},
      {"mail_receipt_cancel", false, MailWith(Letter::kReceipt, 1, 0), {}},
  };
}

std::vector<std::byte> Encode(const Frame& frame, std::span<const Update> updates,
                              std::span<const BroadcastPart> parts) {
  std::vector<std::byte> bytes;
  FrameWriter writer(frame, kSyncBytesMax, bytes);
  for (const Update& update : updates) EXPECT_TRUE(writer.Add(update)) << update.name;
  for (const BroadcastPart& part : parts) EXPECT_TRUE(writer.Add(part)) << part.key;
  writer.Finish();
  return bytes;
}

Fault DecodeAs(bool stream, std::span<const std::byte> bytes, Frame* frame) {
  return stream ? DecodeStream(bytes, kSampleLabel, frame) : DecodeDatagram(bytes, kSampleLabel, frame);
}

std::vector<Update> ReadAll(const Frame& frame) {
  std::vector<Update> updates;
  UpdateReader reader(frame.updates);
  for (Update update; reader.Next(&update);) updates.push_back(update);
  return updates;
}

std::vector<std::byte> Encode(const BroadcastPart& part) {
  std::vector<std::byte> bytes(EncodedSize(part));
  ByteWriter writer(bytes.data());
  WritePart(part, writer);
  EXPECT_EQ(writer.at(), bytes.data() + bytes.size());
  return bytes;
}

std::vector<std::vector<std::byte>> ReadAllParts(const Frame& frame) {
  std::vector<std::vector<std::byte>> parts;
  PartReader reader(frame.updates);
  for (BroadcastPart part; reader.Next(&part);) parts.push_back(Encode(part));
  return parts;
}

void Reseal(std::vector<std::byte>& bytes) {
  const std::size_t covered = bytes.size() - 4;
  const std::uint32_t checksum = XXH32(bytes.data(), covered, 0);
  for (std::size_t i = 0; i < 4; ++i) bytes[covered + i] = static_cast<std::byte>(checksum >> (8 * i));
}

}  // namespace nekton
