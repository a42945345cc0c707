// The part of the codec below the frame: what an update may say, and what becomes of one that says something else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "swim/random.h"
#include "swim/tags.h"
#include "swim/wire.h"
#include "tests/wire_samples.h"

namespace nekton {
namespace {

using Bytes = std::vector<std::byte>;

// A gossip frame around raw bytes of updates.
Bytes GossipOf(const Bytes& updates) {
  Frame frame;
  frame.type = FrameType::kGossip;
  frame.label = kSampleLabel;
  Bytes bytes = Encode(frame);
  bytes.insert(bytes.end() - 4, updates.begin(), updates.end());
  Reseal(bytes);
  return bytes;
}

Fault FaultOf(const Bytes& updates) {
  Frame frame;
  return DecodeDatagram(GossipOf(updates), kSampleLabel, &frame);
}

// The bytes of one update, its kind and length in front.
Bytes UpdateBytes(const Update& update) {
  Frame frame;
  frame.type = FrameType::kGossip;
  const Bytes bytes = Encode(frame, {&update, 1});
  return {bytes.begin() + 20, bytes.end() - 4};
}

// What update number `i` of the samples becomes when `change` works on its body; the length is put right.
template <typename Change>
Fault FaultOfBody(std::size_t i, Change change) {
  const Bytes whole = UpdateBytes(UpdateSamples()[i]);
  Bytes body(whole.begin() + 2, whole.end());
  change(body);
  EXPECT_LT(body.size(), 128U);
  Bytes bytes = {whole[0], static_cast<std::byte>(body.size())};
  bytes.insert(bytes.end(), body.begin(), body.end());
  return FaultOf(bytes);
}

Update LargestUpdate(UpdateKind kind) {
  static const std::string name(kNameMax, 'n');
  static const std::string tags = EncodeTags({{"k", std::string(kTagsMax - 4, 'v')}}).value();
  Update update;
  update.kind = kind;
  update.name = name;
  update.address = Address::Parse("[fe80::1%4294967295]:65535").value();
  update.key = {~std::uint64_t{0}, ~std::uint64_t{0}};
  update.age = Duration::max();
  update.accuser_count = kind == UpdateKind::kSuspect || kind == UpdateKind::kDead ? kAccusersMax : 0;
  for (std::size_t i = 0; i < update.accuser_count; ++i) update.accusers[i] = {~std::uint64_t{i}, i % 2 == 0};
  if (kind != UpdateKind::kAlive) return update;
  update.age = {};
  update.detailed = true;
  update.version_min = update.version_max = 255;
  update.tags = tags;
  return update;
}

TEST(WireUpdateTest, TheLargestUpdates) {
  std::size_t largest = 0;
  for (const UpdateKind kind : {UpdateKind::kAlive, UpdateKind::kSuspect, UpdateKind::kDead, UpdateKind::kLeft}) {
    Update update = LargestUpdate(kind);
    const std::size_t size = EncodedSize(update);
    largest = std::max(largest, size);
    EXPECT_LE(size, kind == UpdateKind::kAlive ? kUpdateMax : 248U);
    Frame frame = WireSamples()[0].frame;
    const Bytes bytes = Encode(frame, {&update, 1});
    EXPECT_EQ(bytes.size(), 28 + size);
    ASSERT_EQ(DecodeDatagram(bytes, kSampleLabel, &frame), Fault::kNone);
    if (kind == UpdateKind::kDead || kind == UpdateKind::kLeft) {
      update.age = std::chrono::floor<std::chrono::milliseconds>(update.age);
    } else {
      update.age = {};
    }
    EXPECT_EQ(ReadAll(frame), std::vector<Update>{update});
  }
  EXPECT_EQ(largest, kUpdateMax);
}

TEST(WireUpdateTest, UnknownUpdatesAreSkippedAndCounted) {
  Bytes updates = {std::byte{9}, std::byte{0}, std::byte{255}, std::byte{2}, std::byte{1}, std::byte{2}};
  const Bytes known = UpdateBytes(UpdateSamples()[1]);
  updates.insert(updates.end(), known.begin(), known.end());
  updates.insert(updates.end(), {std::byte{77}, std::byte{1}, std::byte{0}});
  const Bytes bytes = GossipOf(updates);
  Frame frame;
  ASSERT_EQ(DecodeDatagram(bytes, kSampleLabel, &frame), Fault::kNone);
  UpdateReader reader(frame.updates);
  Update update;
  ASSERT_TRUE(reader.Next(&update));
  EXPECT_EQ(update, UpdateSamples()[1]);
  EXPECT_EQ(reader.unknown(), 2U);
  EXPECT_FALSE(reader.Next(&update));
  EXPECT_EQ(reader.unknown(), 3U);
  EXPECT_FALSE(reader.Next(&update));
}

TEST(WireUpdateTest, FieldsOfALaterVersionAreIgnored) {
  for (std::size_t i = 0; i < UpdateSamples().size(); ++i) {
    EXPECT_EQ(FaultOfBody(i, [](Bytes& body) { body.insert(body.end(), 9, std::byte{0xff}); }), Fault::kNone) << i;
  }
}

TEST(WireUpdateTest, LengthsOfUpdatesAreBounded) {
  Bytes unknown = {std::byte{9}, std::byte{0xb0}, std::byte{0x09}};  // 1200
  unknown.resize(unknown.size() + 1200);
  EXPECT_EQ(FaultOf(unknown), Fault::kNone);
  unknown.push_back({});
  unknown[1] = std::byte{0xb1};
  EXPECT_EQ(FaultOf(unknown), Fault::kBody);
  EXPECT_EQ(FaultOf({std::byte{0}, std::byte{0}}), Fault::kBody);                      // kind 0
  EXPECT_EQ(FaultOf({std::byte{9}}), Fault::kBody);                                    // no length
  EXPECT_EQ(FaultOf({std::byte{9}, std::byte{1}}), Fault::kBody);                      // no body
  EXPECT_EQ(FaultOf({std::byte{9}, std::byte{0x80}, std::byte{0x00}}), Fault::kBody);  // padded varint
  Bytes huge(11, std::byte{0xff});
  huge[0] = std::byte{9};
  EXPECT_EQ(FaultOf(huge), Fault::kBody);
}

TEST(WireUpdateTest, NamesAreJudged) {
  const auto with_byte = [](std::size_t i, unsigned value) {
    return FaultOfBody(1, [&](Bytes& body) { body[1 + i] = static_cast<std::byte>(value); });
  };
  for (unsigned value = 0; value < 256; ++value) {
    const bool good = value > 0x20 && value != 0x7f;
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(with_byte(i, value), good ? Fault::kNone : Fault::kBody) << value;
  }
  EXPECT_EQ(FaultOfBody(1,
                        [](Bytes& body) {
                          body[0] = std::byte{0};
                          body.erase(body.begin() + 1, body.begin() + 5);
                        }),
            Fault::kBody);
  EXPECT_TRUE(IsName(std::string(128, 'x')));
  EXPECT_FALSE(IsName(std::string(129, 'x')));
  EXPECT_FALSE(IsName(""));
}

TEST(WireUpdateTest, AddressesAreJudged) {
  // "beta": length and name take 5 bytes, then family 4, 10.0.0.2, port.
  const auto with = [](const Bytes& address) {
    return FaultOfBody(1, [&address](Bytes& body) {
      body.erase(body.begin() + 5, body.begin() + 12);
      body.insert(body.begin() + 5, address.begin(), address.end());
    });
  };
  const auto v6 = [](unsigned family, std::initializer_list<std::pair<std::size_t, unsigned>> set, Bytes tail) {
    Bytes bytes(17);
    bytes[0] = static_cast<std::byte>(family);
    for (const auto& [at, value] : set) bytes[1 + at] = static_cast<std::byte>(value);
    bytes.insert(bytes.end(), tail.begin(), tail.end());
    return bytes;
  };
  const Bytes port = {std::byte{1}, std::byte{0}};
  const Bytes scope_port = {std::byte{3}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{1}, std::byte{0}};
  const Bytes zero_scope = {std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{1}, std::byte{0}};
  const auto b = [](std::initializer_list<unsigned> values) {
    Bytes bytes;
    for (const unsigned value : values) bytes.push_back(static_cast<std::byte>(value));
    return bytes;
  };
  EXPECT_EQ(with(b({4, 1, 2, 3, 4, 1, 0})), Fault::kNone);
  EXPECT_EQ(with(b({4, 1, 2, 3, 4, 0, 0})), Fault::kBody);  // port 0
  EXPECT_EQ(with(b({4, 0, 0, 0, 0, 1, 0})), Fault::kBody);  // unspecified
  EXPECT_EQ(with(b({5, 1, 2, 3, 4, 1, 0})), Fault::kBody);  // no such family
  EXPECT_EQ(with(v6(6, {{0, 0x20}}, port)), Fault::kNone);
  EXPECT_EQ(with(v6(6, {}, port)), Fault::kBody);                                     // unspecified
  EXPECT_EQ(with(v6(6, {{0, 0xfe}, {1, 0x80}, {15, 1}}, port)), Fault::kBody);        // link-local without a scope
  EXPECT_EQ(with(v6(6, {{10, 0xff}, {11, 0xff}, {15, 1}}, port)), Fault::kBody);      // IPv4 in disguise
  EXPECT_EQ(with(v6(6, {{0, 0x20}}, {std::byte{0}, std::byte{0}})), Fault::kBody);    // port 0
  EXPECT_EQ(with(v6(7, {{0, 0xfe}, {1, 0x80}, {15, 1}}, scope_port)), Fault::kNone);  //
  EXPECT_EQ(with(v6(7, {{0, 0xfe}, {1, 0x80}, {15, 1}}, zero_scope)), Fault::kBody);  // scope 0
  EXPECT_EQ(with(v6(7, {{0, 0x20}}, scope_port)), Fault::kBody);                      // a global address
  EXPECT_EQ(with(v6(7, {{10, 0xff}, {11, 0xff}, {12, 0xfe}, {13, 0x80}}, scope_port)), Fault::kBody);  // IPv4
}

TEST(WireUpdateTest, KeysVersionsTagsAccusersAndAgesAreJudged) {
  // Offsets count from the start of the body: FORMAT.md. alpha: 1+5 name, 7 address, 6 generation, 1 incarnation.
  const auto set = [](std::size_t i, std::size_t at, unsigned value) {
    return FaultOfBody(i, [&](Bytes& body) { body.at(at) = static_cast<std::byte>(value); });
  };
  EXPECT_EQ(set(1, 12, 0), Fault::kBody);           // beta: generation 0
  EXPECT_EQ(set(1, 12, 2), Fault::kNone);           // beta: generation 2
  EXPECT_EQ(set(0, 18, 0), Fault::kBody);           // alpha: a padded generation
  EXPECT_EQ(set(0, 20, 0xfe), Fault::kNone);        // alpha: unknown flags, not detailed; the rest is ignored
  EXPECT_EQ(set(0, 21, 0), Fault::kBody);           // version_min 0
  EXPECT_EQ(set(0, 21, 2), Fault::kBody);           // version_min above version_max
  EXPECT_EQ(set(0, 22, 9), Fault::kNone);           // version_max 9
  EXPECT_EQ(set(0, 23, 15), Fault::kBody);          // tags beyond the body
  EXPECT_EQ(set(0, 23, 13), Fault::kBody);          // tags cut short
  EXPECT_EQ(set(0, 25, 'z' + 1), Fault::kBody);     // keys out of order
  const std::size_t accusers = 1 + 5 + 19 + 6 + 1;  // gamma
  EXPECT_EQ(set(2, accusers, 1), Fault::kBody);     // the mask marks a second one
  EXPECT_EQ(set(2, accusers, 3), Fault::kBody);     // a third is missing
  EXPECT_EQ(set(2, accusers, 9), Fault::kBody);
  EXPECT_EQ(set(2, accusers, 255), Fault::kBody);
  EXPECT_EQ(set(2, accusers + 1, 3), Fault::kNone);
  EXPECT_EQ(set(2, accusers + 1, 4), Fault::kBody);
  const auto age = [](std::initializer_list<unsigned> varint) {
    return FaultOfBody(4, [&varint](Bytes& body) {
      body.erase(body.end() - 3, body.end());
      for (const unsigned value : varint) body.push_back(static_cast<std::byte>(value));
    });
  };
  // 2^63 - 1 ns are 9223372036854 ms and a bit.
  EXPECT_EQ(age({0xf6, 0xb5, 0xc1, 0xde, 0xb7, 0x8c, 0x02}), Fault::kNone);
  EXPECT_EQ(age({0xf7, 0xb5, 0xc1, 0xde, 0xb7, 0x8c, 0x02}), Fault::kBody);
  EXPECT_EQ(age({0x00}), Fault::kNone);
  EXPECT_EQ(age({}), Fault::kBody);
}

TEST(WireUpdateTest, WhatNoDecoderTakesIsNotWritten) {
  const auto encodable = [](auto change, std::size_t i) {
    Update update = UpdateSamples()[i];
    change(update);
    Bytes arena;
    FrameWriter writer(Frame{}, 1400, arena);
    const bool added = writer.Add(update);
    EXPECT_EQ(added, EncodedSize(update) != 0);
    return added;
  };
  EXPECT_TRUE(encodable([](Update&) {}, 0));
  EXPECT_FALSE(encodable([](Update& u) { u.name = ""; }, 0));
  EXPECT_FALSE(encodable([](Update& u) { u.name = "a b"; }, 0));
  EXPECT_FALSE(encodable([](Update& u) { u.address.port = 0; }, 0));
  EXPECT_FALSE(encodable([](Update& u) { u.address = Address::V4(0, 0, 0, 0, 1); }, 0));
  EXPECT_FALSE(encodable([](Update& u) { u.address.scope = 1; }, 0));
  EXPECT_FALSE(encodable([](Update& u) { u.address.scope = 0; }, 3));
  EXPECT_FALSE(encodable([](Update& u) { u.key.generation = 0; }, 0));
  EXPECT_FALSE(encodable([](Update& u) { u.version_min = 0; }, 0));
  EXPECT_FALSE(encodable([](Update& u) { u.version_min = 2; }, 0));
  EXPECT_FALSE(encodable([](Update& u) { u.tags = "x"; }, 0));
  EXPECT_FALSE(encodable([](Update& u) { u.kind = static_cast<UpdateKind>(5); }, 0));
  EXPECT_FALSE(encodable([](Update& u) { u.kind = static_cast<UpdateKind>(0); }, 0));
  EXPECT_TRUE(encodable([](Update& u) { u.accuser_count = kAccusersMax; }, 2));
  EXPECT_FALSE(encodable([](Update& u) { u.accuser_count = kAccusersMax + 1; }, 2));
  EXPECT_TRUE(encodable([](Update& u) { u.accuser_count = 0; }, 3));
}

TEST(WireUpdateTest, AReaderOfUncheckedBytesStops) {
  Random random(3);
  for (int i = 0; i < 100000; ++i) {
    Bytes bytes(random.Below(64));
    for (std::byte& b : bytes) b = static_cast<std::byte>(random.Below(random.Below(2) == 0 ? 256 : 6));
    UpdateReader reader(bytes);
    std::size_t steps = 0;
    for (Update update; reader.Next(&update);) ++steps;
    ASSERT_LE(steps + reader.unknown(), bytes.size() / 2);
  }
}

}  // namespace
}  // namespace nekton
