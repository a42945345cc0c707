// Frames that are dropped: malformed ones and those of another cluster. They leave no trace but one step of a counter.
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "swim/random.h"
#include "tests/engine_rig.h"

namespace nekton {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

using Bytes = std::vector<std::byte>;

// All of an engine that a dropped frame could have changed.
struct State {
  explicit State(const Rig& rig)
      : fingerprint(rig.engine->Fingerprint()),
        version(rig.engine->version()),
        wake(rig.engine->NextWake()),
        digest(rig.engine->digest()),
        size(rig.engine->size()),
        alive(rig.engine->alive()),
        sent(rig.sent.size()),
        events(rig.events.size()) {}
  friend bool operator==(const State&, const State&) = default;
  std::uint64_t fingerprint, version;
  Instant wake;
  std::uint32_t digest;
  std::size_t size, alive, sent, events;
};

std::uint64_t BadFrames(const Rig& rig) {
  std::uint64_t sum = 0;
  for (const Counter counter : {Counter::kBadShort, Counter::kBadLabel, Counter::kBadVersion, Counter::kBadChecksum,
                                Counter::kBadType, Counter::kBadBody}) {
    sum += rig.Count(counter);
  }
  return sum;
}

// The sum over all but the last four bytes, put there.
Bytes WithChecksum(Bytes bytes) {
  const std::size_t size = bytes.size() - 4;
  const std::uint32_t sum = XXH32(bytes.data(), size, 0);
  for (std::size_t i = 0; i < 4; ++i) bytes[size + i] = static_cast<std::byte>(sum >> (8 * i));
  return bytes;
}

// One sound datagram of each type, with an update where that is usual.
std::vector<Bytes> SoundDatagrams(Rig& rig) {
  std::vector<Bytes> all;
  for (const FrameType type : {FrameType::kPing, FrameType::kAck, FrameType::kPingReq, FrameType::kRelayedAck,
                               FrameType::kNack, FrameType::kGossip}) {
    Frame frame = Rig::Of(type, 77);
    frame.label = LabelTag(rig.config.label);
    frame.sender = rig[1].id();
    frame.target = rig[2].id();
    frame.target_address = rig[2].address;
    frame.budget = milliseconds(300);
    all.push_back(Encode(frame, {}));
    all.push_back(Encode(frame, {Alive(rig[3], 1), Dead(rig[4], {&rig[1], &rig[2]})}));
  }
  return all;
}

TEST(EngineDropped, TruncatedFramesLeaveNoTraceButOneStepOfACounter) {
  Rig rig;
  rig.Know(4);
  const State before(rig);
  std::uint64_t bad = 0;
  for (const Bytes& sound : SoundDatagrams(rig)) {
    for (std::size_t size = 0; size < sound.size(); ++size) {
      rig.ReceiveBytes(rig[1].address, std::span(sound).first(size));
      ASSERT_EQ(BadFrames(rig), ++bad) << size << " of " << sound.size();
      ASSERT_EQ(State(rig), before);
      // The same cut with a checksum that fits. A frame may end after its fixed part, and is then sound.
      if (size < 24) continue;
      const Bytes cut = WithChecksum(Bytes(sound.begin(), sound.begin() + static_cast<std::ptrdiff_t>(size)));
      Frame frame;
      if (DecodeDatagram(cut, LabelTag(""), &frame) == Fault::kNone) continue;
      rig.ReceiveBytes(rig[1].address, cut);
      ASSERT_EQ(BadFrames(rig), ++bad);
      ASSERT_EQ(State(rig), before);
    }
  }
  EXPECT_EQ(rig.Count(Counter::kDatagramsReceived), 0u);
}

TEST(EngineDropped, EverySingleByteErrorIsCaught) {
  Rig rig(Rig::Lan(), /*wants_events=*/false);
  rig.Know(4);
  const State before(rig);
  std::uint64_t bad = 0;
  for (Bytes bytes : SoundDatagrams(rig)) {
    for (std::byte& byte : bytes) {
      const std::byte right = byte;
      for (unsigned error = 1; error < 256; ++error) {
        byte = right ^ static_cast<std::byte>(error);
        rig.ReceiveBytes(rig[1].address, bytes);
        ASSERT_EQ(BadFrames(rig), ++bad);
      }
      byte = right;
      ASSERT_EQ(State(rig), before);
    }
  }
}

TEST(EngineDropped, WhatCannotBeIsRefusedThoughItsChecksumFits) {
  Rig rig;
  rig.Know(4);
  Frame gossip = Rig::Of(FrameType::kGossip);
  gossip.label = LabelTag("");
  gossip.sender = rig[1].id();
  const Bytes empty = Encode(gossip, {});
  const auto type = [&](unsigned value) {
    Bytes bytes = empty;
    bytes[0] = static_cast<std::byte>(value);
    return WithChecksum(bytes);
  };
  const auto updates = [&](std::initializer_list<int> raw) {
    Bytes bytes(empty.begin(), empty.end() - 4);
    for (const int byte : raw) bytes.push_back(static_cast<std::byte>(byte));
    bytes.resize(bytes.size() + 4);
    return WithChecksum(bytes);
  };
  Frame request = gossip;
  request.type = FrameType::kPingReq;
  request.target_address = Rig::At(1);
  request.target_address.port = 0;
  struct Case {
    std::string what;
    Bytes bytes;
    Counter counter;
  };
  const std::vector<Case> cases = {
      {"a zero-byte datagram", {}, Counter::kBadShort},
      {"an unknown version", type(0x26), Counter::kBadVersion},
      {"type 0", type(0x10), Counter::kBadType},
      {"type 15", type(0x1f), Counter::kBadType},
      {"a sync in a datagram", type(0x17), Counter::kBadType},
      {"a sync reply in a datagram", type(0x18), Counter::kBadType},
      {"a refusal in a datagram", type(0x19), Counter::kBadType},
      {"a ping without its digest", type(0x11), Counter::kBadShort},
      {"a relay's target without a port", Encode(request, {}), Counter::kBadBody},
      {"kind 0", updates({0, 0}), Counter::kBadBody},
      {"an update without a length", updates({1}), Counter::kBadBody},
      {"an update longer than the frame", updates({1, 100}), Counter::kBadBody},
      {"255 updates and no body", updates({255, 255}), Counter::kBadBody},
      {"an empty update", updates({1, 0}), Counter::kBadBody},
      {"an empty name", updates({1, 11, 0, 4, 10, 0, 0, 9, 1, 0, 1, 0, 0}), Counter::kBadBody},
      {"a name with a control character", updates({1, 12, 1, 10, 4, 10, 0, 0, 9, 1, 0, 1, 0, 0}), Counter::kBadBody},
      {"generation 0", updates({1, 12, 1, 'x', 4, 10, 0, 0, 9, 1, 0, 0, 0, 0}), Counter::kBadBody},
      {"nine accusers", updates({2, 13, 1, 'x', 4, 10, 0, 0, 9, 1, 0, 1, 0, 9, 0}), Counter::kBadBody},
      {"a sound one, then a bad one", updates({1, 12, 1, 'x', 4, 10, 0, 0, 9, 1, 0, 1, 0, 0, 1, 0}), Counter::kBadBody},
  };
  const State before(rig);
  for (const Case& c : cases) {
    const std::uint64_t counted = rig.Count(c.counter);
    const std::uint64_t bad = BadFrames(rig);
    rig.ReceiveBytes(rig[1].address, c.bytes);
    EXPECT_EQ(rig.Count(c.counter), counted + 1) << c.what;
    EXPECT_EQ(BadFrames(rig), bad + 1) << c.what;
    EXPECT_EQ(State(rig), before) << c.what;
  }
  // What they were made from is sound.
  rig.ReceiveBytes(rig[1].address, updates({1, 12, 1, 'x', 4, 10, 0, 0, 9, 1, 0, 1, 0, 0}));
  EXPECT_EQ(rig.Events(), "joined x");
}

TEST(EngineDropped, RandomDamageUnderASoundChecksumIsTakenWholeOrNotAtAll) {
  Rig rig;
  rig.Know(4);
  Random dice(9);
  const std::vector<Bytes> sound = SoundDatagrams(rig);
  int dropped = 0;
  for (int i = 0; i < 20000; ++i) {
    Bytes bytes = sound[dice.Below(static_cast<std::uint32_t>(sound.size()))];
    for (std::uint32_t flips = 1 + dice.Below(3); flips > 0; --flips) {
      bytes[20 + dice.Below(static_cast<std::uint32_t>(bytes.size() - 20))] = static_cast<std::byte>(dice.Below(256));
    }
    const State before(rig);
    const std::uint64_t bad = BadFrames(rig);
    rig.ReceiveBytes(rig[1].address, WithChecksum(bytes));
    if (BadFrames(rig) == bad) continue;
    ++dropped;
    ASSERT_EQ(BadFrames(rig), bad + 1);
    ASSERT_EQ(State(rig), before);
  }
  EXPECT_GT(dropped, 1000);
}

// Not even our own state of being late: the pause is noticed by the next sound input.
TEST(EngineDropped, ABadFrameIsNoInput) {
  Rig rig;
  rig.Know(4);
  rig.NextRound();
  rig.Clear();
  rig.Pass(seconds(20));
  const State before(rig);
  rig.ReceiveBytes(rig[1].address, {});
  EXPECT_EQ(State(rig), before);
  EXPECT_TRUE(rig.ServeBytes(rig[1].address, {}).empty);
  EXPECT_EQ(State(rig), before);
  rig.Wake();
  EXPECT_EQ(rig.Events(), "paused");
}

TEST(EngineDropped, BadRequestsOverAStreamAreAnsweredByClosingIt) {
  Rig rig;
  rig.Know(4);
  const State before(rig);
  std::uint64_t bad = 0;
  Frame sync = Rig::Of(FrameType::kSync);
  sync.label = LabelTag("");
  sync.sender = rig[1].id();
  const Bytes sound = Encode(sync, {Alive(rig[1]), Alive(rig[3], 1)});
  for (std::size_t size = 0; size < sound.size(); ++size) {
    ASSERT_TRUE(rig.ServeBytes(rig[1].address, std::span(sound).first(size)).empty) << size;
    ASSERT_EQ(BadFrames(rig), ++bad);
    ASSERT_EQ(State(rig), before);
  }
  for (const FrameType type : {FrameType::kAck, FrameType::kSyncReply, FrameType::kRefusal, FrameType::kGossip}) {
    EXPECT_TRUE(rig.Serve(rig[1], Rig::Of(type), {}).empty) << "no request";
    EXPECT_EQ(BadFrames(rig), ++bad);
    EXPECT_EQ(State(rig), before);
  }
  // A sync begins with its sender's own row.
  EXPECT_TRUE(rig.Serve(rig[1], Rig::Of(FrameType::kSync), {}).empty);
  EXPECT_TRUE(rig.Serve(rig[1], Rig::Of(FrameType::kSync), {Alive(rig[2], 1), Alive(rig[1])}).empty);
  EXPECT_TRUE(rig.Serve(rig[1], Rig::Of(FrameType::kSync), {Suspect(rig[1], {&rig[2]})}).empty);
  EXPECT_EQ(BadFrames(rig), bad + 3);
  EXPECT_EQ(State(rig), before);
}

// ---- Another cluster. ----

TEST(EngineDropped, AForeignLabelIsLookedAtBeforeAnythingElse) {
  Config config = Rig::Lan();
  config.label = "blue";
  Rig rig(config);
  rig.Know(3);
  Frame frame = Rig::Of(FrameType::kPing, 77);
  frame.sender = rig[1].id();
  State before(rig);
  std::uint64_t counted = 0;
  for (const char* label : {"", "red", "Blue", "blue "}) {
    frame.label = LabelTag(label);
    Bytes bytes = Encode(frame, {Left(rig[2])});
    for (const bool broken : {false, true}) {
      if (broken) {
        bytes[0] = std::byte{0xff};
        bytes.back() ^= std::byte{1};
      }
      rig.ReceiveBytes(rig[1].address, bytes);
      EXPECT_EQ(rig.Count(Counter::kBadLabel), ++counted);
      before.events = 1;  // one a minute and host: somebody has set up a cluster wrongly
      EXPECT_EQ(State(rig), before) << label;
    }
  }
  EXPECT_EQ(BadFrames(rig), counted);
  EXPECT_EQ(rig.Events(), "foreign");
}

TEST(EngineDropped, AForeignSyncIsRefusedAndNothingOfItIsRead) {
  Config config = Rig::Lan();
  config.label = "blue";
  Rig rig(config);
  rig.Know(3);
  Frame sync = Rig::Of(FrameType::kSync);
  sync.label = LabelTag("red");
  sync.label_text = "red";
  sync.flags = kFlagJoin;
  Peer& fresh = rig.NewPeer();
  sync.sender = fresh.id();
  const std::uint64_t version = rig.engine->version();
  const Said reply = rig.ServeBytes(fresh.address, Encode(sync, {Alive(fresh), Left(rig[2])}));
  EXPECT_EQ(reply.frame.type, FrameType::kRefusal);
  EXPECT_EQ(reply.frame.refusal, Refusal::kOtherCluster);
  EXPECT_EQ(rig.engine->version(), version);
  EXPECT_EQ(rig.engine->size(), 4u);
  EXPECT_EQ(rig.Count(Counter::kBadLabel), 1u);
}

}  // namespace
}  // namespace nekton
