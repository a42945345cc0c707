#include "swim/wire.h"

#include <fstream>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "swim/random.h"
#include "swim/tags.h"
#include "tests/count_allocations.h"
#include "tests/source_dir.h"
#include "tests/wire_samples.h"

namespace nekton {
namespace {

using testing::AnyOf;
using Bytes = std::vector<std::byte>;

std::string Hex(std::span<const std::byte> bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte b : bytes) {
    text += kDigits[std::to_integer<std::size_t>(b >> 4)];
    text += kDigits[std::to_integer<std::size_t>(b & std::byte{15})];
  }
  return text;
}

struct Golden {
  std::string name;
  std::string way;
  std::string hex;
};

std::vector<Golden> ReadGolden() {
  std::ifstream in(SourceDir() + "/tests/data/wire_golden.txt");
  EXPECT_TRUE(in.is_open());
  std::vector<Golden> golden;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    Golden g;
    std::istringstream(line) >> g.name >> g.way >> g.hex;
    golden.push_back(g);
  }
  return golden;
}

void ExpectSameHead(const Frame& got, const Frame& want) {
  EXPECT_EQ(got.type, want.type);
  EXPECT_EQ(got.flags, want.flags);
  EXPECT_EQ(got.label, want.label);
  EXPECT_EQ(got.sender, want.sender);
  EXPECT_EQ(got.incarnation, want.incarnation);
  EXPECT_EQ(got.sequence, want.sequence);
}

void ExpectSame(const Frame& got, const Frame& want) {
  ExpectSameHead(got, want);
  EXPECT_EQ(got.digest, want.digest);
  EXPECT_EQ(got.watermark, want.watermark);
  EXPECT_EQ(got.interval, want.interval);
  EXPECT_EQ(got.target, want.target);
  EXPECT_EQ(got.target_address, want.target_address);
  EXPECT_EQ(got.budget, want.budget);
  EXPECT_EQ(got.version_min, want.version_min);
  EXPECT_EQ(got.version_max, want.version_max);
  EXPECT_EQ(got.label_text, want.label_text);
  EXPECT_EQ(got.refusal, want.refusal);
  EXPECT_EQ(got.text, want.text);
  EXPECT_EQ(got.letter, want.letter);
  EXPECT_EQ(got.code, want.code);
  EXPECT_TRUE(std::equal(got.body.begin(), got.body.end(), want.body.begin(), want.body.end()));
}

// Encodes again what was decoded. Unknown updates and later fields are lost, so only the second pass is exact.
void ExpectStable(bool stream, const Frame& frame) {
  const std::vector<Update> updates = ReadAll(frame);
  const Bytes again = Encode(frame, updates);
  Frame second;
  ASSERT_EQ(DecodeAs(stream, again, &second), Fault::kNone);
  ExpectSame(second, frame);
  EXPECT_EQ(ReadAll(second), updates);
  EXPECT_EQ(Encode(second, ReadAll(second)), again);
}

TEST(WireTest, GoldenVectorsBothWays) {
  const std::vector<Golden> golden = ReadGolden();
  const std::vector<WireSample> samples = WireSamples();
  ASSERT_EQ(golden.size(), samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    SCOPED_TRACE(samples[i].name);
    EXPECT_EQ(golden[i].name, samples[i].name);
    EXPECT_EQ(golden[i].way, samples[i].stream ? "stream" : "datagram");
    const Bytes bytes = Encode(samples[i]);
    EXPECT_EQ(Hex(bytes), golden[i].hex);
    Frame frame;
    ASSERT_EQ(DecodeAs(samples[i].stream, bytes, &frame), Fault::kNone);
    ExpectSame(frame, samples[i].frame);
    EXPECT_EQ(ReadAll(frame), samples[i].updates);
    std::vector<Bytes> parts;
    for (const BroadcastPart& part : samples[i].parts) parts.push_back(Encode(part));
    EXPECT_EQ(ReadAllParts(frame), parts);
  }
}

TEST(WireTest, SizesOfTheSteadyState) {
  Frame frame;
  EXPECT_EQ(Encode(frame).size(), 28U);
  frame.type = FrameType::kAck;
  EXPECT_EQ(Encode(frame).size(), 24U);
  frame.type = FrameType::kNack;
  EXPECT_EQ(Encode(frame).size(), 24U);
}

TEST(WireTest, EverySingleByteErrorIsCaught) {
  for (const WireSample& sample : WireSamples()) {
    Bytes bytes = Encode(sample);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const std::byte was = bytes[i];
      for (unsigned value = 0; value < 256; ++value) {
        if (static_cast<std::byte>(value) == was) continue;
        bytes[i] = static_cast<std::byte>(value);
        Frame frame;
        const Fault fault = DecodeAs(sample.stream, bytes, &frame);
        const bool in_label = i >= 2 && i < 6;
        const bool in_version = i == 0 && value >> 4 != kProtocolVersion;
        ASSERT_EQ(fault, in_label     ? Fault::kLabel
                         : in_version ? Fault::kVersion
                                      : Fault::kChecksum)
            << sample.name << " byte " << i << " = " << value;
      }
      bytes[i] = was;
    }
  }
}

// The checksum promises more than single bytes: any change within one aligned group of four.
TEST(WireTest, EveryChangeOfOneLaneIsCaught) {
  Random random(7);
  for (const WireSample& sample : WireSamples()) {
    const Bytes good = Encode(sample);
    for (std::size_t lane = 0; lane + 4 <= good.size(); lane += 4) {
      for (int i = 0; i < 200; ++i) {
        Bytes bytes = good;
        for (std::size_t k = 0; k < 4; ++k) bytes[lane + k] = static_cast<std::byte>(random.Below(256));
        Frame frame;
        if (bytes != good) {
          ASSERT_NE(DecodeAs(sample.stream, bytes, &frame), Fault::kNone);
        }
      }
    }
  }
}

TEST(WireTest, EveryTruncationIsCaught) {
  for (const WireSample& sample : WireSamples()) {
    const Bytes bytes = Encode(sample);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
      Frame frame;
      const Fault fault = DecodeAs(sample.stream, cut, &frame);
      ASSERT_EQ(fault, size < 24 ? Fault::kShort : Fault::kChecksum) << sample.name << " cut to " << size;
    }
  }
}

// Behind the checksum stands the parser: cut anywhere but between two updates, a frame is refused.
TEST(WireTest, EveryTruncationWithARightChecksumIsCaught) {
  for (const WireSample& sample : WireSamples()) {
    std::set<std::size_t> whole;
    for (std::size_t n = 0; n <= sample.updates.size(); ++n) {
      whole.insert(Encode(sample.frame, {sample.updates.data(), n}).size());
    }
    for (std::size_t n = 0; n <= sample.parts.size(); ++n) {
      whole.insert(Encode(sample.frame, sample.updates, {sample.parts.data(), n}).size());
    }
    const Bytes bytes = Encode(sample);
    for (std::size_t size = 4; size < bytes.size(); ++size) {
      Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
      Reseal(cut);
      Frame frame;
      const Fault fault = DecodeAs(sample.stream, cut, &frame);
      if (whole.contains(size)) {
        EXPECT_EQ(fault, Fault::kNone) << sample.name << " cut to " << size;
      } else {
        EXPECT_THAT(fault, AnyOf(Fault::kShort, Fault::kBody)) << sample.name << " cut to " << size;
      }
    }
  }
}

TEST(WireTest, EveryByteBehindARightChecksumIsJudged) {
  std::size_t accepted = 0;
  std::size_t refused = 0;
  for (const WireSample& sample : WireSamples()) {
    const Bytes good = Encode(sample);
    for (std::size_t i = 0; i + 4 < good.size(); ++i) {
      for (unsigned value = 0; value < 256; ++value) {
        Bytes bytes = good;
        bytes[i] = static_cast<std::byte>(value);
        Reseal(bytes);
        Frame frame;
        const bool ok = DecodeAs(sample.stream, bytes, &frame) == Fault::kNone;
        ++(ok ? accepted : refused);
        if (ok && value % 16 == 0) ExpectStable(sample.stream, frame);
      }
    }
  }
  EXPECT_GT(accepted, 0U);
  EXPECT_GT(refused, 0U);
}

TEST(WireTest, FaultsAreFoundInTheirOrder) {
  const WireSample ping = WireSamples()[0];
  Bytes bytes = Encode(ping.frame);
  Frame frame;
  bytes[20] ^= std::byte{1};
  EXPECT_EQ(DecodeDatagram(bytes, kSampleLabel, &frame), Fault::kChecksum);
  bytes[0] = std::byte{0x2f};
  EXPECT_EQ(DecodeDatagram(bytes, kSampleLabel, &frame), Fault::kVersion);
  EXPECT_EQ(DecodeDatagram(bytes, kSampleLabel + 1, &frame), Fault::kLabel);
  bytes.resize(23);
  EXPECT_EQ(DecodeDatagram(bytes, kSampleLabel + 1, &frame), Fault::kShort);
  EXPECT_EQ(DecodeDatagram({}, kSampleLabel, &frame), Fault::kShort);
  EXPECT_EQ(DecodeStream({}, kSampleLabel, &frame), Fault::kShort);
}

TEST(WireTest, EachTypeTravelsItsOwnWay) {
  for (const WireSample& sample : WireSamples()) {
    Frame frame;
    const Bytes bytes = Encode(sample);
    const FrameType type = sample.frame.type;
    const bool both = type == FrameType::kPing || type == FrameType::kAck || type == FrameType::kMail;
    EXPECT_EQ(DecodeAs(!sample.stream, bytes, &frame), both ? Fault::kNone : Fault::kType) << sample.name;
  }
  for (const unsigned type : {0U, 14U, 15U}) {
    Bytes bytes = Encode(WireSamples()[0].frame);
    bytes[0] = static_cast<std::byte>(0x10 | type);
    Reseal(bytes);
    Frame frame;
    EXPECT_EQ(DecodeDatagram(bytes, kSampleLabel, &frame), Fault::kType);
    EXPECT_EQ(DecodeStream(bytes, kSampleLabel, &frame), Fault::kType);
  }
}

TEST(WireTest, DecodingAllocatesNothing) {
  for (const WireSample& sample : WireSamples()) {
    const Bytes bytes = Encode(sample);
    const std::uint64_t before = allocations;
    Frame frame;
    const Fault fault = DecodeAs(sample.stream, bytes, &frame);
    UpdateReader reader(frame.updates);
    std::size_t updates = 0;
    for (Update update; reader.Next(&update);) ++updates;
    EXPECT_EQ(allocations, before) << sample.name;
    EXPECT_EQ(fault, Fault::kNone);
    EXPECT_EQ(updates, sample.updates.size());
  }
}

TEST(WireTest, EncodingIntoAUsedArenaAllocatesNothing) {
  Bytes arena;
  arena.reserve(1400);
  const std::vector<Update> updates = UpdateSamples();
  const std::uint64_t before = allocations;
  FrameWriter writer(Frame{}, 1400, arena);
  for (const Update& update : updates) writer.Add(update);
  writer.Finish();
  EXPECT_EQ(allocations, before);
}

TEST(WireTest, AWriterAppendsAndKeepsItsLimit) {
  const std::vector<Update> updates = UpdateSamples();
  Frame frame = WireSamples()[0].frame;
  for (std::size_t limit = 28; limit < 300; ++limit) {
    Bytes arena(17, std::byte{0x5a});
    FrameWriter writer(frame, limit, arena);
    EXPECT_EQ(writer.size(), 28U);
    EXPECT_EQ(writer.room(), limit - 28);
    std::size_t expected = 28;
    std::vector<Update> taken;
    for (const Update& update : updates) {
      const std::size_t size = EncodedSize(update);
      const Bytes before = arena;
      const bool fits = expected + size <= limit;
      ASSERT_EQ(writer.Add(update), fits);
      if (fits) {
        expected += size;
        taken.push_back(update);
      } else {
        EXPECT_EQ(arena, before);
      }
      EXPECT_EQ(writer.size(), expected);
      EXPECT_EQ(writer.room(), limit - expected);
    }
    const std::uint32_t checksum = writer.Finish();
    EXPECT_EQ(writer.size(), expected);
    ASSERT_EQ(arena.size(), 17 + expected);
    EXPECT_EQ(Bytes(17, std::byte{0x5a}), Bytes(arena.begin(), arena.begin() + 17));
    Frame decoded;
    ASSERT_EQ(DecodeDatagram(std::span(arena).subspan(17), kSampleLabel, &decoded), Fault::kNone);
    EXPECT_EQ(ReadAll(decoded), taken);
    EXPECT_EQ(std::to_integer<std::uint32_t>(arena.back()), checksum >> 24);
  }
}

TEST(WireTest, ALimitBelowTheFixedPartLeavesNoRoom) {
  Bytes arena;
  FrameWriter writer(Frame{}, 10, arena);
  EXPECT_EQ(writer.room(), 0U);
  EXPECT_FALSE(writer.Add(UpdateSamples()[1]));
}

TEST(WireTest, TheLargestFixedParts) {
  Frame frame;
  frame.type = FrameType::kRefusal;
  const std::string text(kRefusalTextMax + 1, 't');
  frame.text = text;
  EXPECT_EQ(Encode(frame).size(), kFixedMax);
  frame.type = FrameType::kSync;
  frame.version_min = frame.version_max = 1;
  frame.label = kSampleLabel;
  frame.label_text = text;
  const Bytes bytes = Encode(frame);
  EXPECT_LE(bytes.size(), kFixedMax);
  ASSERT_EQ(DecodeStream(bytes, kSampleLabel, &frame), Fault::kNone);
  EXPECT_EQ(frame.label_text.size(), kLabelMax);
}

TEST(WireTest, DurationsAreCutToWholeMilliseconds) {
  Frame frame = WireSamples()[3].frame;
  const auto sent = [&frame](Duration budget) {
    frame.budget = budget;
    Frame decoded;
    EXPECT_EQ(DecodeDatagram(Encode(frame), kSampleLabel, &decoded), Fault::kNone);
    return decoded.budget;
  };
  EXPECT_EQ(sent(std::chrono::nanoseconds(1999999)), std::chrono::milliseconds(1));
  EXPECT_EQ(sent(std::chrono::nanoseconds(-1)), Duration::zero());
  EXPECT_EQ(sent(Duration::min()), Duration::zero());
  EXPECT_EQ(sent(Duration::max()), std::chrono::milliseconds(65535));
}

TEST(WireTest, FixedPartsAreJudged) {
  const auto set = [](std::size_t sample, std::size_t at, unsigned value) {
    const WireSample s = WireSamples()[sample];
    Bytes bytes = Encode(s.frame);
    bytes.at(at) = static_cast<std::byte>(value);
    Reseal(bytes);
    Frame frame;
    return DecodeAs(s.stream, bytes, &frame);
  };
  EXPECT_EQ(set(3, 28, 3), Fault::kBody);   // ping-req: no such family
  EXPECT_EQ(set(3, 28, 6), Fault::kShort);  // ping-req: an IPv6 address does not fit
  EXPECT_EQ(set(14, 20, 0), Fault::kBody);  // sync: version_min 0
  EXPECT_EQ(set(14, 20, 4), Fault::kBody);  // sync: version_min above version_max
  EXPECT_EQ(set(14, 22, 1), Fault::kShort);
  EXPECT_EQ(set(15, 21, 0), Fault::kBody);  // sync reply: version_max 0
  EXPECT_EQ(set(16, 20, 0), Fault::kBody);  // refusal: code 0
  EXPECT_EQ(set(16, 20, 1), Fault::kNone);
  EXPECT_EQ(set(16, 20, 6), Fault::kNone);
  EXPECT_EQ(set(16, 20, 9), Fault::kBody);
  EXPECT_EQ(set(16, 21, 17), Fault::kShort);
}

// A text one byte above its bound, its length right.
TEST(WireTest, TextsOfFramesAreBounded) {
  for (const auto& [sample, at, max] : {std::tuple(14, 22, kLabelMax), std::tuple(16, 21, kRefusalTextMax)}) {
    for (const std::size_t size : {max, max + 1}) {
      Frame frame = WireSamples()[static_cast<std::size_t>(sample)].frame;
      frame.label_text = frame.text = "";
      Bytes bytes = Encode(frame);
      bytes[static_cast<std::size_t>(at)] = static_cast<std::byte>(size);
      bytes.insert(bytes.end() - 4, size, std::byte{'x'});
      Reseal(bytes);
      EXPECT_EQ(DecodeStream(bytes, kSampleLabel, &frame), size == max ? Fault::kNone : Fault::kBody);
    }
  }
}

// More updates than one byte counts, in as many frames as they need: none is lost, none damaged.
TEST(WireTest, ManyUpdatesAreSplitOverFrames) {
  for (const std::size_t count : {256U, 300U, 70000U}) {
    Frame frame = WireSamples()[7].frame;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) names.push_back("m" + std::to_string(i));
    std::size_t heard = 0;
    for (std::size_t next = 0; next < count;) {
      Bytes bytes;
      FrameWriter writer(frame, 1400, bytes);
      Update update = UpdateSamples()[1];
      for (; next < count; ++next) {
        update.name = names[next];
        if (!writer.Add(update)) break;
      }
      writer.Finish();
      ASSERT_LE(bytes.size(), 1400U);
      Frame decoded;
      ASSERT_EQ(DecodeDatagram(bytes, kSampleLabel, &decoded), Fault::kNone);
      for (const Update& got : ReadAll(decoded)) ASSERT_EQ(got.name, names[heard++]);
    }
    EXPECT_EQ(heard, count);
  }
}

// A sync reply of `size` bytes, sound but for its size: its updates are of a kind that we skip.
Bytes LargeReply(std::size_t size) {
  Bytes bytes = Encode(WireSamples()[15].frame);
  bytes.resize(bytes.size() - 4);
  bytes.reserve(size);
  const auto add = [&bytes](std::size_t whole) {
    bytes.push_back(std::byte{200});
    bytes.push_back(static_cast<std::byte>(whole - 2));
    bytes.resize(bytes.size() + whole - 2);
  };
  while (size - bytes.size() - 4 > 130) add(64);
  const std::size_t left = size - bytes.size() - 4;
  add(left - 64);
  add(64);
  bytes.resize(size);
  Reseal(bytes);
  return bytes;
}

TEST(WireTest, AStreamFrameIsBounded) {
  Frame frame;
  EXPECT_EQ(DecodeStream(LargeReply(kSyncBytesMax), kSampleLabel, &frame), Fault::kNone);
  EXPECT_EQ(DecodeStream(LargeReply(kSyncBytesMax + 1), kSampleLabel, &frame), Fault::kBody);
}

}  // namespace
}  // namespace nekton
