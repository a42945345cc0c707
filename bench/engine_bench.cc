// What one engine costs, fed from a stream of datagrams that was prepared before the clock runs. A datagram counts
// once, whether it was received (handed to Receive) or sent (put into the outbox); sockets and the kernel are not in it.
//
//   PingsIn/bare       a ping of a random member in, the ack out: 2 datagrams
//   PingsIn/with_news  the same with five updates on each ping, all known by now, as in the last rounds of a rumour
//   SteadyState        a period of a healthy member: a wake, its own ping out, that ping's ack in; a ping in, its ack
//                      out: 4 datagrams and a wake
//
// The argument is the number of rows. items_per_second are datagrams per second and core; each is the time of one.
// A machine that does other work meanwhile gives worse numbers.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "swim/engine.h"
#include "swim/message.h"
#include "swim/random.h"
#include "swim/wire.h"

namespace nekton {
namespace {

constexpr std::uint64_t kGeneration = 1'700'000'000'000;
constexpr Instant kStart{std::chrono::seconds(1000)};
constexpr std::int64_t kSteps = 200000;  // of one measurement: so long is the prepared stream

Address At(std::uint32_t host) {
  return Address::V4(10, static_cast<std::uint8_t>(host >> 16), static_cast<std::uint8_t>(host >> 8),
                     static_cast<std::uint8_t>(host), 7946);
}
std::uint32_t HostOf(const Address& address) {
  return std::uint32_t{address.ip[13]} << 16 | std::uint32_t{address.ip[14]} << 8 | address.ip[15];
}
std::string NameOf(std::uint32_t host) { return "member-" + std::to_string(host); }

Frame Header(FrameType type, std::uint32_t host, std::uint32_t sequence) {
  Frame frame;
  frame.type = type;
  frame.label = LabelTag("");
  frame.sender = MemberId(NameOf(host), kGeneration);
  frame.sequence = sequence;
  frame.version_min = frame.version_max = kProtocolVersion;
  return frame;
}

void AddRow(FrameWriter& writer, std::uint32_t host) {
  const std::string name = NameOf(host);
  Update row;
  row.name = name;
  row.address = At(host);
  row.key = {kGeneration, 0};
  writer.Add(row);
}

// An engine that knows hosts 1 to rows - 1 and has had its first wake. Two made alike behave alike, bit for bit.
Engine MakeEngine(std::uint32_t rows, Outbox& out) {
  Config config = Config::Lan();
  config.name = "self";
  config.generation = kGeneration;
  config.seed = 3;
  Engine engine = std::move(Engine::Create(config, At(0))).value();
  const Tick now{.boot = kStart, .raw = {}, .wall = WallTime(std::chrono::milliseconds(kGeneration))};
  engine.Wake(now, out);
  std::vector<std::byte> sync;
  FrameWriter writer(Header(FrameType::kSync, 1, 0), kSyncBytesMax, sync);
  for (std::uint32_t host = 1; host < rows; ++host) AddRow(writer, host);
  writer.Finish();
  engine.Serve(now, At(1), 1, sync, out);
  out.Clear();
  return engine;
}

struct Datagram {
  Address from;
  std::vector<std::byte> bytes;
};

Datagram MakePing(const Engine& engine, std::uint32_t host, std::uint32_t sequence, std::uint32_t updates) {
  Frame frame = Header(FrameType::kPing, host, sequence);
  frame.digest = engine.digest();
  Datagram ping{At(host), {}};
  FrameWriter writer(frame, 1400, ping.bytes);
  for (std::uint32_t i = 0; i < updates; ++i) AddRow(writer, 1 + (host + i) % 90);
  writer.Finish();
  return ping;
}

void Report(benchmark::State& state, std::int64_t datagrams) {
  state.SetItemsProcessed(datagrams);
  state.counters["each"] =
      benchmark::Counter(static_cast<double>(datagrams), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void PingsIn(benchmark::State& state, std::uint32_t updates) {
  const auto rows = static_cast<std::uint32_t>(state.range(0));
  Outbox out;
  Engine engine = MakeEngine(rows, out);
  Random dice(7);
  std::vector<Datagram> pings;
  for (std::uint32_t i = 0; i < 16384; ++i) pings.push_back(MakePing(engine, 1 + dice.Below(rows - 1), i, updates));
  const Tick now{.boot = kStart, .raw = {}, .wall = {}};
  std::size_t next = 0;
  std::size_t acks = 0;
  for (auto _ : state) {
    const Datagram& ping = pings[next++ % pings.size()];
    engine.Receive(now, ping.from, ping.bytes, out);
    acks += out.datagrams().size();
    out.Clear();
  }
  if (acks != next) state.SkipWithError("not every ping was acked, or news was gossiped");
  Report(state, static_cast<std::int64_t>(next + acks));
}

// One period each: when to wake, the ack to the ping of that wake, and another's ping.
struct Period {
  Tick now;
  Datagram ack, ping;
};

// Played once by an engine made alike: the sequences that its acks must carry are then known beforehand.
std::vector<Period> PreparePeriods(std::uint32_t rows, std::uint64_t& fingerprint) {
  Outbox out;
  Engine twin = MakeEngine(rows, out);
  Random dice(7);
  std::vector<Period> periods;
  periods.reserve(kSteps);
  for (std::uint32_t i = 0; i < kSteps; ++i) {
    Period period;
    period.now.boot = twin.NextWake();
    twin.Wake(period.now, out);
    if (out.datagrams().size() != 1) return {};
    const Outbox::Datagram& sent = out.datagrams()[0];
    Frame probe;
    if (DecodeDatagram(out.bytes(sent), LabelTag(""), &probe) != Fault::kNone) return {};
    period.ack.from = sent.to;
    FrameWriter(Header(FrameType::kAck, HostOf(sent.to), probe.sequence), 1400, period.ack.bytes).Finish();
    period.ping = MakePing(twin, 1 + dice.Below(rows - 1), i, 0);
    out.Clear();
    twin.Receive(period.now, period.ack.from, period.ack.bytes, out);
    twin.Receive(period.now, period.ping.from, period.ping.bytes, out);
    out.Clear();
    periods.push_back(std::move(period));
  }
  fingerprint = twin.Fingerprint();
  return periods;
}

void SteadyState(benchmark::State& state) {
  const auto rows = static_cast<std::uint32_t>(state.range(0));
  std::uint64_t fingerprint = 0;
  const std::vector<Period> periods = PreparePeriods(rows, fingerprint);
  if (periods.empty()) {
    state.SkipWithError("the prepared member was not in a steady state");
    return;
  }
  Outbox out;
  Engine engine = MakeEngine(rows, out);
  std::size_t next = 0;
  std::size_t sent = 0;
  for (auto _ : state) {
    const Period& period = periods[next++];
    engine.Wake(period.now, out);
    engine.Receive(period.now, period.ack.from, period.ack.bytes, out);
    engine.Receive(period.now, period.ping.from, period.ping.bytes, out);
    sent += out.datagrams().size();
    out.Clear();
  }
  if (engine.Fingerprint() != fingerprint) state.SkipWithError("it did not do what its twin did");
  Report(state, static_cast<std::int64_t>(2 * next + sent));
}

BENCHMARK_CAPTURE(PingsIn, bare, 0)->Arg(100)->Arg(10000);
BENCHMARK_CAPTURE(PingsIn, with_news, 5)->Arg(100)->Arg(10000);
BENCHMARK(SteadyState)->Arg(100)->Arg(10000)->Iterations(kSteps);

}  // namespace
}  // namespace nekton
