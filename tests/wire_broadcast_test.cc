// The parts of frames that are for broadcasts: bounds, bad ones, and whoever does not know them.
#include "swim/wire_broadcast.h"

#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "swim/random.h"
#include "tests/wire_samples.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::SizeIs;
using Bytes = std::vector<std::byte>;

constexpr std::uint64_t kLargest = ~std::uint64_t{0};

Bytes Framed(const Bytes& updates) {
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
  return DecodeAs(false, Framed(updates), &frame);
}

Bytes OfNumbers(std::initializer_list<unsigned> numbers) {
  Bytes bytes;
  for (const unsigned n : numbers) bytes.push_back(static_cast<std::byte>(n));
  return bytes;
}

TEST(WireBroadcast, TheLargestGoesIntoADatagram) {
  const std::string key(64, 'k');
  const std::string origin(128, 'n');
  const std::string bytes(960, '\0');
  BroadcastPart part;
  part.key = key;
  part.origin = origin;
  part.bytes = bytes;
  part.generation = kLargest;
  part.counter = kBroadcastCounterMax - 1;
  part.age = part.left = kBroadcastKeepMax;
  EXPECT_EQ(EncodedSize(part), 1186u);
  const Bytes encoded = Encode(part);
  ASSERT_EQ(FaultOf(encoded), Fault::kNone);
  const Bytes framed = Framed(encoded);
  Frame frame;
  ASSERT_EQ(DecodeAs(false, framed, &frame), Fault::kNone);
  PartReader reader(frame.updates);
  BroadcastPart read;
  ASSERT_TRUE(reader.Next(&read));
  EXPECT_EQ(read.key, key);
  EXPECT_EQ(read.origin, origin);
  EXPECT_EQ(read.bytes, bytes);
  EXPECT_EQ(read.generation, part.generation);
  EXPECT_EQ(read.counter, part.counter);
  EXPECT_EQ(read.age, 24h);
  EXPECT_EQ(read.left, 24h);
  EXPECT_FALSE(reader.Next(&read));
}

TEST(WireBroadcast, WhatNoDecoderTakesIsNotWritten) {
  const std::string long_key(65, 'k');
  const std::string long_bytes(1024, 'x');
  const std::vector<std::byte> ids(8 * kPartIdsMax + 8);
  const std::vector<std::function<void(BroadcastPart&)>> mistakes = {
      [](BroadcastPart& p) { p.key = ""; },
      [&](BroadcastPart& p) { p.key = long_key; },
      [&](BroadcastPart& p) { p.bytes = long_bytes; },
      [](BroadcastPart& p) { p.origin = "a b"; },
      [](BroadcastPart& p) { p.origin = ""; },
      [](BroadcastPart& p) { p.generation = 0; },
      [](BroadcastPart& p) { p.counter = 0; },
      [](BroadcastPart& p) { p.counter = kBroadcastCounterMax; },
      [](BroadcastPart& p) { p.kind = static_cast<PartKind>(4); },
      [](BroadcastPart& p) { p.kind = static_cast<PartKind>(9); },
      [&](BroadcastPart& p) {
        p.kind = PartKind::kHeld;
        p.ids = ids;
      },
      [&](BroadcastPart& p) {
        p.kind = PartKind::kWanted;
        p.ids = std::span(ids).first(9);
      },
  };
  for (std::size_t i = 0; i < mistakes.size(); ++i) {
    BroadcastPart part = PartSamples()[0];
    ASSERT_NE(EncodedSize(part), 0u);
    mistakes[i](part);
    EXPECT_EQ(EncodedSize(part), 0u) << i;
    Bytes bytes;
    FrameWriter writer({}, 1400, bytes);
    EXPECT_FALSE(writer.Add(part)) << i;
  }
}

TEST(WireBroadcast, AFrameWithABadOneIsRefusedWhole) {
  const Bytes good = Encode(PartSamples()[1]);  // 05 09 01 k 01 e 01 01 00 00 00
  ASSERT_EQ(good.size(), 11u);
  ASSERT_EQ(FaultOf(good), Fault::kNone);
  const auto with = [&good](std::size_t at, unsigned value) {
    Bytes bytes = good;
    bytes[at] = static_cast<std::byte>(value);
    return FaultOf(bytes);
  };
  EXPECT_EQ(with(2, 0), Fault::kBody);     // no key
  EXPECT_EQ(with(2, 8), Fault::kBody);     // a key beyond the body
  EXPECT_EQ(with(5, ' '), Fault::kBody);   // no name
  EXPECT_EQ(with(6, 0), Fault::kBody);     // generation 0
  EXPECT_EQ(with(7, 0), Fault::kBody);     // counter 0
  EXPECT_EQ(with(8, 0x80), Fault::kBody);  // a varint that is padded
  EXPECT_EQ(with(10, 1), Fault::kBody);    // bytes beyond the body
  EXPECT_EQ(FaultOf(OfNumbers({6, 3, 1, 2, 3})), Fault::kBody);
  EXPECT_EQ(FaultOf(OfNumbers({6, 5, 1, 2, 3, 4, 5})), Fault::kNone) << "of a later version";
  EXPECT_EQ(FaultOf(OfNumbers({7, 0})), Fault::kNone);
  EXPECT_EQ(FaultOf(OfNumbers({8, 7, 1, 2, 3, 4, 5, 6, 7})), Fault::kBody);
  Bytes longer = good;  // fields of a later version behind the known ones
  longer[1] = std::byte{11};
  longer.resize(longer.size() + 2);
  EXPECT_EQ(FaultOf(longer), Fault::kNone);
  // More than a day left: 86,400,001 ms.
  Bytes lasting = OfNumbers({5, 12, 1, 'k', 1, 'e', 1, 1, 0, 0x81, 0xb8, 0x99, 0x29, 0});
  EXPECT_EQ(FaultOf(lasting), Fault::kBody);
  lasting[9] = std::byte{0x80};
  EXPECT_EQ(FaultOf(lasting), Fault::kNone);
}

// Each reader passes over what is the other's, and over what neither knows.
TEST(WireBroadcast, UpdatesAndPartsStandAmongEachOther) {
  Bytes updates;
  const auto add = [&updates](const Bytes& bytes) { updates.insert(updates.end(), bytes.begin(), bytes.end()); };
  Frame bare;
  bare.type = FrameType::kGossip;
  bare.label = kSampleLabel;
  const auto member = [&](const Update& update) {
    const Bytes bytes = Encode(bare, std::span(&update, 1));
    return Bytes(bytes.begin() + 20, bytes.end() - 4);
  };
  add(Encode(PartSamples()[0]));
  add(member(UpdateSamples()[1]));
  add(OfNumbers({9, 2, 1, 2}));
  add(Encode(PartSamples()[3]));
  add(member(UpdateSamples()[2]));
  add(Encode(PartSamples()[2]));
  const Bytes framed = Framed(updates);
  Frame frame;
  ASSERT_EQ(DecodeAs(false, framed, &frame), Fault::kNone);
  EXPECT_THAT(ReadAll(frame), testing::ElementsAre(UpdateSamples()[1], UpdateSamples()[2]));
  EXPECT_THAT(ReadAllParts(frame), SizeIs(3));
  UpdateReader reader(frame.updates);
  for (Update update; reader.Next(&update);) {
  }
  EXPECT_EQ(reader.unknown(), 1u);
  EXPECT_EQ(reader.parts(), 3u);
}

// Any bytes: no harm, and what is taken can be written.
TEST(WireBroadcast, AnyBytesAreReadWithoutHarm) {
  Random random(3);
  for (int i = 0; i < 200000; ++i) {
    Bytes bytes(random.Below(60));
    for (std::byte& b : bytes) b = static_cast<std::byte>(random.Below(256));
    if (bytes.size() > 2) {
      bytes[0] = static_cast<std::byte>(5 + random.Below(4));
      bytes[1] = static_cast<std::byte>(bytes.size() - 2);
    }
    PartReader reader(bytes);
    for (BroadcastPart part; reader.Next(&part);) ASSERT_NE(EncodedSize(part), 0u);
  }
}

}  // namespace
}  // namespace nekton
