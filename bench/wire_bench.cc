// What one datagram costs: writing and reading the frames of the steady state, and gossip with 20 updates.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "swim/tags.h"
#include "swim/wire.h"

namespace nekton {
namespace {

constexpr std::uint32_t kLabel = 0x11223344;
constexpr std::size_t kDatagramMax = 1400;

Frame MakeFrame(FrameType type) {
  Frame frame;
  frame.type = type;
  frame.label = kLabel;
  frame.sender = MemberId("alpha", 1700000000000);
  frame.sequence = 7;
  frame.digest = 9;
  return frame;
}

// Half of them alive with tags, the others suspect with two accusers.
struct News {
  std::string tags = EncodeTags({{"role", "db"}, {"zone", "b"}}).value();
  std::vector<std::string> names;
  std::vector<Update> updates;

  explicit News(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) names.push_back("member-" + std::to_string(i));
    for (std::size_t i = 0; i < count; ++i) {
      Update update;
      update.kind = i % 2 == 0 ? UpdateKind::kAlive : UpdateKind::kSuspect;
      update.name = names[i];
      update.address = Address::V4(10, 0, 0, static_cast<std::uint8_t>(i + 1), 7946);
      update.key = {1700000000000 + i, i};
      update.detailed = update.kind == UpdateKind::kAlive;
      update.version_min = update.version_max = kProtocolVersion;
      if (update.detailed) update.tags = tags;
      if (!update.detailed) update.accuser_count = 2;
      updates.push_back(update);
    }
  }
};

void Encode(benchmark::State& state, FrameType type, std::size_t count) {
  const Frame frame = MakeFrame(type);
  const News news(count);
  std::vector<std::byte> arena;
  arena.reserve(kDatagramMax);
  for (auto _ : state) {
    arena.clear();
    FrameWriter writer(frame, kDatagramMax, arena);
    for (const Update& update : news.updates) benchmark::DoNotOptimize(writer.Add(update));
    benchmark::DoNotOptimize(writer.Finish());
  }
  state.counters["bytes"] = static_cast<double>(arena.size());
}

void Decode(benchmark::State& state, FrameType type, std::size_t count) {
  const News news(count);
  std::vector<std::byte> bytes;
  FrameWriter writer(MakeFrame(type), kDatagramMax, bytes);
  for (const Update& update : news.updates) writer.Add(update);
  writer.Finish();
  for (auto _ : state) {
    Frame frame;
    if (DecodeDatagram(bytes, kLabel, &frame) != Fault::kNone) state.SkipWithError("refused");
    UpdateReader reader(frame.updates);
    for (Update update; reader.Next(&update);) benchmark::DoNotOptimize(update);
    benchmark::DoNotOptimize(frame);
  }
  state.counters["bytes"] = static_cast<double>(bytes.size());
}

BENCHMARK_CAPTURE(Encode, ping, FrameType::kPing, 0);
BENCHMARK_CAPTURE(Encode, ack, FrameType::kAck, 0);
BENCHMARK_CAPTURE(Encode, gossip_20, FrameType::kGossip, 20);
BENCHMARK_CAPTURE(Decode, ping, FrameType::kPing, 0);
BENCHMARK_CAPTURE(Decode, ack, FrameType::kAck, 0);
BENCHMARK_CAPTURE(Decode, gossip_20, FrameType::kGossip, 20);

}  // namespace
}  // namespace nekton
