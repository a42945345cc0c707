// Broadcasts as one engine says, hears, passes on and mends them.
#include <chrono>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "swim/broadcasts.h"
#include "swim/tags.h"
#include "tests/engine_rig.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Bytes = std::vector<std::byte>;

// No round of our own falls into a test.
Config Patient() {
  Config config = Rig::Lan();
  config.period = config.tolerated_pause = 1h;
  config.hold_alpha = 0;
  return config;
}

BroadcastPart SaidBy(const Peer& peer, std::string_view key, std::uint64_t counter, std::string_view bytes) {
  BroadcastPart part;
  part.key = key;
  part.origin = peer.name;
  part.generation = peer.key.generation;
  part.counter = counter;
  part.left = 1h;
  part.bytes = bytes;
  return part;
}

Bytes Framed(const Rig& rig, const Peer& from, Frame frame, const std::vector<BroadcastPart>& parts,
             const std::vector<Update>& updates = {}) {
  frame.label = LabelTag(rig.config.label);
  frame.label_text = rig.config.label;
  frame.sender = from.id();
  frame.incarnation = static_cast<std::uint16_t>(from.key.incarnation);
  Bytes bytes;
  FrameWriter writer(frame, kSyncBytesMax, bytes);
  for (const Update& update : updates) EXPECT_TRUE(writer.Add(update));
  for (const BroadcastPart& part : parts) EXPECT_TRUE(writer.Add(part));
  writer.Finish();
  return bytes;
}

void Hear(Rig& rig, const Peer& from, const std::vector<BroadcastPart>& parts, FrameType type = FrameType::kGossip,
          std::uint8_t flags = 0) {
  Frame frame = Rig::Of(type);
  frame.flags = flags;
  rig.ReceiveBytes(from.address, Framed(rig, from, frame, parts));
}

std::vector<BroadcastPart> Parts(const Said& said, PartKind kind) {
  std::vector<BroadcastPart> parts;
  PartReader reader(said.frame.updates);
  for (BroadcastPart part; reader.Next(&part);) {
    if (part.kind == kind) parts.push_back(part);
  }
  return parts;
}

// "key=bytes" of each broadcast in it.
std::vector<std::string> Carried(const Said& said) {
  std::vector<std::string> carried;
  for (const BroadcastPart& part : Parts(said, PartKind::kBroadcast)) {
    carried.push_back(absl::StrCat(std::string(part.key), "=", std::string(part.bytes)));
  }
  return carried;
}

// Those of the events since the last call: "m1 k=v", with a star where it was replayed.
std::vector<std::string> Told(Rig& rig) {
  std::vector<std::string> told;
  for (const Event& event : std::exchange(rig.events, {})) {
    if (event.kind != EventKind::kBroadcast) continue;
    const BroadcastInfo& said = *event.broadcast;
    told.push_back(absl::StrCat(said.origin, " ", said.key, "=", said.bytes, said.replayed ? " *" : ""));
  }
  return told;
}

TEST(EngineBroadcast, OursIsToldHereToAndGoesOutAtOnce) {
  Rig rig(Patient());
  rig.Know(3);
  ASSERT_TRUE(rig.Order(Broadcast{"config", std::string("v\0"
                                                        "1",
                                                        3)})
                  .ok());
  ASSERT_THAT(rig.events, SizeIs(1));
  const Event& event = rig.events[0];
  EXPECT_EQ(event.kind, EventKind::kBroadcast);
  EXPECT_TRUE(event.member->self);
  EXPECT_EQ(event.broadcast->origin, "self");
  EXPECT_EQ(event.broadcast->generation, Rig::kGeneration);
  EXPECT_EQ(event.broadcast->key, "config");
  EXPECT_EQ(event.broadcast->bytes, std::string("v\0"
                                                "1",
                                                3));
  EXPECT_FALSE(event.broadcast->replayed);
  const std::vector<Said> gossip = rig.Sent(FrameType::kGossip);
  ASSERT_THAT(gossip, SizeIs(3)) << "a round of three";
  const std::vector<BroadcastPart> parts = Parts(gossip[0], PartKind::kBroadcast);
  ASSERT_THAT(parts, SizeIs(1));
  EXPECT_EQ(parts[0].origin, "self");
  EXPECT_EQ(parts[0].generation, Rig::kGeneration);
  EXPECT_EQ(parts[0].counter, 1u);
  EXPECT_EQ(parts[0].age, 0s);
  EXPECT_EQ(parts[0].left, 1h);
  rig.Run(1min);
  std::size_t sends = 0;
  for (const Said& said : rig.sent) sends += Carried(said).size();
  EXPECT_EQ(sends, 4u) << "lambda * log10(N + 1)";
}

TEST(EngineBroadcast, WhatIsHeardIsToldOnceAndPassedOn) {
  Rig rig(Patient());
  rig.Know(3);
  Hear(rig, rig[1], {SaidBy(rig[2], "k", 5, "v")});
  EXPECT_EQ(rig.events.back().member->name, "m2");
  EXPECT_THAT(Told(rig), ElementsAre("m2 k=v"));
  EXPECT_THAT(Carried(rig.sent[0]), ElementsAre("k=v"));
  Hear(rig, rig[3], {SaidBy(rig[2], "k", 5, "v")});
  Hear(rig, rig[3], {SaidBy(rig[3], "k", 4, "old")});
  EXPECT_THAT(Told(rig), IsEmpty()) << "a copy, and an older one";
  EXPECT_EQ(rig.Count(Counter::kBroadcastsKnown), 1u);
  EXPECT_EQ(rig.Count(Counter::kBroadcastsStale), 1u);
  Hear(rig, rig[3], {SaidBy(rig[3], "k", 6, "w"), SaidBy(rig[3], "j", 7, "x")});
  EXPECT_THAT(Told(rig), ElementsAre("m3 k=w", "m3 j=x"));
  EXPECT_EQ(rig.Count(Counter::kBroadcastsHeard), 3u);
}

// Who said it may be unknown here, or gone: its name and generation are in what it said.
TEST(EngineBroadcast, TheOriginNeedNotBeAMember) {
  Rig rig(Patient());
  rig.Know(2);
  const Peer stranger{"zeta", Rig::At(99), {17, 0}};
  Hear(rig, rig[1], {SaidBy(stranger, "k", 1, "v")});
  ASSERT_THAT(rig.events, SizeIs(1));
  EXPECT_EQ(rig.events[0].member, nullptr);
  EXPECT_EQ(rig.events[0].broadcast->origin, "zeta");
  EXPECT_EQ(rig.events[0].broadcast->generation, 17u);
}

TEST(EngineBroadcast, WhatDoesNotFitIsRefusedWithTheLimit) {
  Rig rig(Patient());
  rig.Know(2);
  const auto refused = [&rig](const std::string& key, std::size_t size) {
    const absl::Status status = rig.Order(Broadcast{key, std::string(size, 'x')});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(refused("", 1), HasSubstr("1 to 64"));
  EXPECT_THAT(refused(std::string(65, 'k'), 1), HasSubstr("it has 65 bytes, 1 to 64"));
  EXPECT_THAT(refused("k", 1024), HasSubstr("they are 1025, at most 1024"));
  EXPECT_THAT(refused("k", 65536), HasSubstr("they are 65537, at most 1024"));
  EXPECT_EQ(rig.Events(), "");
  EXPECT_THAT(rig.sent, IsEmpty());
  EXPECT_TRUE(rig.Order(Broadcast{std::string(64, 'k'), std::string(960, 'x')}).ok());
  EXPECT_TRUE(rig.Order(Broadcast{"k", ""}).ok());
}

TEST(EngineBroadcast, ASmallDatagramBoundsWhatWeSayAndWhatWePassOn) {
  Config config = Patient();
  config.datagram_max = 512;
  Rig rig(config);
  rig.Know(3);
  EXPECT_THAT(std::string(rig.Order(Broadcast{"k", std::string(600, 'x')}).message()), HasSubstr("datagram_max = 512"));
  Hear(rig, rig[1], {SaidBy(rig[1], "k", 1, std::string(900, 'x'))});
  EXPECT_THAT(Told(rig), SizeIs(1));
  rig.Run(10s);
  EXPECT_THAT(rig.Sent(FrameType::kGossip), IsEmpty()) << "and nothing waits for ever";
  const Said reply = rig.Serve(rig[2], Rig::Of(FrameType::kSync), {Alive(rig[2])});
  EXPECT_THAT(Carried(reply), SizeIs(1)) << "a sync brings it";
}

TEST(EngineBroadcast, TheBoundIsAnErrorAndItsOwnEndFreesIt) {
  Config config = Patient();
  config.broadcast_keep = 10s;
  Rig rig(config);
  for (int i = 0; i < 256; ++i) ASSERT_TRUE(rig.Order(Broadcast{std::to_string(i), "v"}).ok());
  const absl::Status refused = rig.Order(Broadcast{"k", "v"});
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("at most 256"));
  rig.Pass(10s);
  EXPECT_TRUE(rig.Order(Broadcast{"k", "v"}).ok());
}

TEST(EngineBroadcast, NothingIsSaidOnceWeLeave) {
  Rig rig(Patient());
  rig.Know(2);
  rig.Silence();
  ASSERT_TRUE(rig.Order(Leave{}).ok());
  EXPECT_EQ(rig.Order(Broadcast{"k", "v"}).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(EngineBroadcast, AClockFromNowhereIsRefusedAndCounted) {
  Rig rig(Patient());
  rig.Know(2);
  Hear(rig, rig[1], {SaidBy(rig[1], "k", kBroadcastCounterMax - 1, "v")});
  EXPECT_EQ(rig.Count(Counter::kBroadcastsRefused), 1u);
  EXPECT_THAT(Told(rig), IsEmpty());
}

// ---- Fair shares. ----

TEST(EngineBroadcast, NewsOfMembersAndBroadcastsShareEachDatagram) {
  for (const std::size_t size : {std::size_t{20}, std::size_t{1000}}) {
    Config config = Patient();
    config.gossip_fanout = 1;
    Rig rig(config);
    rig.Know(3);
    for (Peer& peer : rig.peers) peer.answers = false;
    const std::string tags = EncodeTags({{"t", std::string(100, 'x')}}).value();
    std::vector<Update> news;
    for (int i = 0; i < 2000; ++i) {
      rig.NewPeer().tags = tags;
      news.push_back(Alive(rig.peers.back()));
    }
    for (std::uint64_t i = 0; i < 64; ++i) {
      Hear(rig, rig[1], {SaidBy(rig[1], std::to_string(i), i + 1, std::string(size, 'x'))});
    }
    for (std::size_t i = 0; i < news.size(); i += 5) {
      rig.Gossip(rig[1],
                 {news.begin() + static_cast<std::ptrdiff_t>(i), news.begin() + static_cast<std::ptrdiff_t>(i + 5)});
    }
    rig.Clear();
    const std::uint64_t of_members = rig.Count(Counter::kNewsBytesSent);
    const std::uint64_t of_broadcasts = rig.Count(Counter::kBroadcastBytesSent);
    const std::uint64_t all = rig.Count(Counter::kGossipBytesSent);
    rig.Run(2s);  // ten rounds; of both more waits than they carry
    const std::vector<Said> gossip = rig.Sent(FrameType::kGossip);
    ASSERT_GE(gossip.size(), 10u);
    for (const Said& said : gossip) {
      EXPECT_FALSE(said.updates.empty()) << size;
      EXPECT_TRUE(size == 1000 || !Carried(said).empty()) << "small ones ride on every datagram";
    }
    const double sent = static_cast<double>(rig.Count(Counter::kGossipBytesSent) - all);
    EXPECT_GT(static_cast<double>(rig.Count(Counter::kNewsBytesSent) - of_members), sent / 4) << size;
    EXPECT_GT(static_cast<double>(rig.Count(Counter::kBroadcastBytesSent) - of_broadcasts), sent / 4) << size;
  }
}

// ---- Digests and syncs. ----

Config Quick() {
  Config config = Rig::Lan();
  config.broadcast_keep = 1h;
  return config;
}

TEST(EngineBroadcast, WithoutBroadcastsNoFrameHasAByteMore) {
  Rig rig(Quick());
  rig.Know(3);
  rig.Run(10s);
  for (const Said& said : rig.Sent(FrameType::kPing)) EXPECT_EQ(said.bytes->size(), 28u);
  const Said reply = rig.Serve(rig[1], Rig::Of(FrameType::kSync), {Alive(rig[1])});
  UpdateReader reader(reply.frame.updates);
  for (Update update; reader.Next(&update);) {
  }
  EXPECT_EQ(reader.parts(), 0u);
}

TEST(EngineBroadcast, PingsCarryADigestOfWhatIsHeldAndAcksJudgeIt) {
  Rig rig(Quick());
  rig.Know(3);
  Hear(rig, rig[1], {SaidBy(rig[1], "k", 1, "v")});
  rig.Run(10s);
  const std::vector<BroadcastPart> digests = Parts(rig.Sent(FrameType::kPing).back(), PartKind::kDigest);
  ASSERT_THAT(digests, SizeIs(1));
  const auto flags = [&](const std::vector<BroadcastPart>& parts) {
    rig.Clear();
    Hear(rig, rig[2], parts, FrameType::kPing);
    return rig.Sent(FrameType::kAck).back().frame.flags & kFlagOtherBroadcasts;
  };
  EXPECT_EQ(flags(digests), 0);
  EXPECT_NE(flags({}), 0) << "it holds none";
  BroadcastPart other = digests[0];
  other.digest ^= 1;
  EXPECT_NE(flags({other}), 0);
}

// Two acks in a row that say so, of whomever; then one exchange brings it, and says what we hold.
TEST(EngineBroadcast, AcksThatGoOnDifferingAreMendedByOneSync) {
  Rig rig(Quick());
  rig.Know(3);
  Hear(rig, rig[1], {SaidBy(rig[1], "k", 1, "v")});
  rig.Silence();
  rig.Clear();
  Hear(rig, rig[1], {}, FrameType::kAck, kFlagOtherBroadcasts);
  Hear(rig, rig[2], {}, FrameType::kAck);
  Hear(rig, rig[1], {}, FrameType::kAck, kFlagOtherBroadcasts);
  EXPECT_THAT(rig.requests, IsEmpty());
  Hear(rig, rig[3], {}, FrameType::kAck, kFlagOtherBroadcasts);
  ASSERT_THAT(rig.requests, SizeIs(1));
  EXPECT_EQ(rig.Count(Counter::kBroadcastSyncsSent), 1u);
  const Said& request = rig.requests[0];
  EXPECT_EQ(request.to, rig[3].address);
  EXPECT_THAT(request.updates, SizeIs(1)) << "our own row alone";
  ASSERT_THAT(Parts(request, PartKind::kHeld), SizeIs(1));
  EXPECT_THAT(Parts(request, PartKind::kHeld)[0].ids, SizeIs(8));
  EXPECT_THAT(Carried(request), IsEmpty());
  for (int i = 0; i < 5; ++i) Hear(rig, rig[1], {}, FrameType::kAck, kFlagOtherBroadcasts);
  EXPECT_THAT(rig.requests, SizeIs(1)) << "one at a time";

  // It lacks what we hold, and has something that we lack.
  BroadcastPart wanted;
  wanted.kind = PartKind::kWanted;
  wanted.ids = Parts(request, PartKind::kHeld)[0].ids;
  Told(rig);
  const ExchangeId id = request.id;
  rig.AnswerBytes(
      id, absl::OkStatus(),
      Framed(rig, rig[3], Rig::Of(FrameType::kSyncReply), {SaidBy(rig[2], "j", 9, "w"), wanted}, {Alive(rig[3])}));
  EXPECT_THAT(Told(rig), ElementsAre("m2 j=w")) << "late, but while we were a member";
  ASSERT_THAT(rig.requests, SizeIs(2));
  EXPECT_THAT(Carried(rig.requests[1]), ElementsAre("k=v"));
  EXPECT_EQ(rig.requests[1].to, rig[3].address);
  rig.Run(1s);
  for (const Said& said : rig.Sent(FrameType::kGossip)) {
    EXPECT_THAT(Carried(said), testing::Not(testing::Contains("j=w"))) << "what only we had missed is news to nobody";
  }
}

TEST(EngineBroadcast, AServedSyncGetsWhatItsSenderLacksAndNoMore) {
  Rig rig(Quick());
  rig.Know(3);
  Hear(rig, rig[1], {SaidBy(rig[1], "a", 1, "1"), SaidBy(rig[1], "b", 2, "2")});
  Frame sync = Rig::Of(FrameType::kSync);
  sync.flags = kFlagLeaves;
  const Said all = rig.ServeBytes(rig[2].address, Framed(rig, rig[2], sync, {}, {Alive(rig[2])}));
  EXPECT_THAT(Carried(all), ElementsAre("a=1", "b=2"));
  EXPECT_THAT(all.updates, SizeIs(1));
  EXPECT_THAT(Parts(all, PartKind::kWanted), IsEmpty());
  // It holds "b", and one that we do not know.
  std::vector<std::uint64_t> held = {Broadcasts::IdOf(SaidBy(rig[1], "b", 2, "")), 77};
  BroadcastPart ids;
  ids.kind = PartKind::kHeld;
  ids.ids = std::as_bytes(std::span(held));
  const Said some = rig.ServeBytes(rig[2].address, Framed(rig, rig[2], sync, {ids}, {Alive(rig[2])}));
  EXPECT_THAT(Carried(some), ElementsAre("a=1"));
  ASSERT_THAT(Parts(some, PartKind::kWanted), SizeIs(1));
  EXPECT_EQ(ByteReader(Parts(some, PartKind::kWanted)[0].ids).Fixed<std::uint64_t>(), 77u);
}

// It holds one that has ended here: it is told so, and not asked for it.
TEST(EngineBroadcast, AServedSyncSaysWhatHasEnded) {
  Rig rig(Patient());
  rig.Know(3);
  BroadcastPart part = SaidBy(rig[1], "a", 1, "1");
  part.left = 10s;
  Hear(rig, rig[1], {part});
  rig.Pass(10s);
  std::vector<std::uint64_t> held = {Broadcasts::IdOf(part)};
  BroadcastPart ids;
  ids.kind = PartKind::kHeld;
  ids.ids = std::as_bytes(std::span(held));
  const Said reply =
      rig.ServeBytes(rig[2].address, Framed(rig, rig[2], Rig::Of(FrameType::kSync), {ids}, {Alive(rig[2])}));
  EXPECT_THAT(Parts(reply, PartKind::kWanted), IsEmpty());
  ASSERT_THAT(Carried(reply), ElementsAre("a="));
  EXPECT_EQ(Parts(reply, PartKind::kBroadcast)[0].left, 0s);
  const Said other =
      rig.ServeBytes(rig[2].address, Framed(rig, rig[2], Rig::Of(FrameType::kSync), {}, {Alive(rig[2])}));
  EXPECT_THAT(Carried(other), IsEmpty());
}

TEST(EngineBroadcast, ANewcomerLearnsTheLatestOfEachAsReplayed) {
  Rig rig(Quick());
  Peer& seed = rig.NewPeer();
  ASSERT_TRUE(rig.Order(Join{{seed.address}}).ok());
  ASSERT_THAT(rig.requests, SizeIs(1));
  rig.AnswerBytes(rig.requests[0].id, absl::OkStatus(),
                  Framed(rig, seed, Rig::Of(FrameType::kSyncReply), {SaidBy(seed, "k", 3, "v")}, {Alive(seed)}));
  EXPECT_THAT(Told(rig), ElementsAre("m1 k=v *"));
  rig.Run(1s);
  for (const Said& said : rig.sent) EXPECT_THAT(Carried(said), IsEmpty()) << "it is news to nobody";
  Hear(rig, seed, {SaidBy(seed, "j", 4, "w")});
  EXPECT_THAT(Told(rig), ElementsAre("m1 j=w"));
}

TEST(EngineBroadcast, WhoAsksForMoreThanAnybodyHoldsIsAnsweredInBounds) {
  Rig rig(Quick());
  rig.Know(2);
  std::vector<std::uint64_t> many(kPartIdsMax * 10);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = i + 1;
  std::vector<BroadcastPart> parts;
  for (std::size_t i = 0; i < 10; ++i) {
    BroadcastPart ids;
    ids.kind = PartKind::kHeld;
    ids.ids = std::as_bytes(std::span(many).subspan(i * kPartIdsMax, kPartIdsMax));
    parts.push_back(ids);
  }
  const Said reply =
      rig.ServeBytes(rig[1].address, Framed(rig, rig[1], Rig::Of(FrameType::kSync), parts, {Alive(rig[1])}));
  std::size_t asked = 0;
  for (const BroadcastPart& part : Parts(reply, PartKind::kWanted)) asked += part.ids.size() / 8;
  EXPECT_EQ(asked, kBroadcastKeysMax);
}

}  // namespace
}  // namespace nekton
