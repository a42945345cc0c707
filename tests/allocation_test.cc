// No allocation in the steady state: pings in and acks out, our own rounds and their acks, with wakes.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "swim/engine.h"
#include "swim/message.h"
#include "swim/random.h"
#include "swim/wire.h"
#include "tests/count_allocations.h"

namespace nekton {
namespace {

constexpr std::uint64_t kGeneration = 1'700'000'000'000;
constexpr Instant kStart{std::chrono::seconds(1000)};

Address At(std::uint32_t host) {
  return Address::V4(10, static_cast<std::uint8_t>(host >> 16), static_cast<std::uint8_t>(host >> 8),
                     static_cast<std::uint8_t>(host), 7946);
}

// An engine and the members around it, all well. Whatever can be made ready is made ready.
class Bench {
 public:
  Bench(std::uint32_t others, bool wants_events) : engine_(Make()), out_(wants_events) {
    now_.boot = kStart;
    now_.wall = WallTime(std::chrono::milliseconds(kGeneration));
    engine_.Wake(now_, out_);
    std::vector<std::string> names;
    for (std::uint32_t i = 1; i <= others; ++i) names.push_back("member-" + std::to_string(i));
    std::vector<std::byte> sync;
    Frame frame = Header(FrameType::kSync, MemberId(names[0], kGeneration), 0);
    frame.version_min = frame.version_max = kProtocolVersion;
    FrameWriter writer(frame, kSyncBytesMax, sync);
    for (std::uint32_t i = 0; i < others; ++i) {
      Update row;
      row.name = names[i];
      row.address = At(i + 1);
      row.key = {kGeneration, 0};
      writer.Add(row);
      ids_.push_back(MemberId(names[i], kGeneration));
    }
    writer.Finish();
    engine_.Serve(now_, At(1), 1, sync, out_);
    out_.Clear();
    for (std::uint32_t i = 0; i < others; ++i) {
      Frame ping = Header(FrameType::kPing, ids_[i], 0x1000 + i);
      ping.digest = engine_.digest();
      pings_.push_back(Encode(ping));
    }
  }

  Engine& engine() { return engine_; }
  std::uint64_t acks() const { return acks_; }      // of ours to them
  std::uint64_t probes() const { return probes_; }  // of ours, each acked by them

  // So many pings of random members, evenly over the time, with every wake that the engine asks for.
  void Run(std::uint32_t pings, Duration apart) {
    for (std::uint32_t i = 0; i < pings; ++i) {
      now_.boot += apart;
      while (engine_.NextWake() <= now_.boot) {
        const Tick at{.boot = engine_.NextWake(), .raw = {}, .wall = now_.wall};
        engine_.Wake(at, out_);
        AnswerProbes(at);
      }
      const std::uint32_t from = dice_.Below(static_cast<std::uint32_t>(pings_.size()));
      engine_.Receive(now_, At(from + 1), pings_[from], out_);
      acks_ += out_.datagrams().size();
      out_.Clear();
    }
  }

 private:
  static Engine Make() {
    Config config = Config::Lan();
    config.name = "self";
    config.generation = kGeneration;
    config.seed = 3;
    return std::move(Engine::Create(config, At(0))).value();
  }
  static Frame Header(FrameType type, std::uint64_t sender, std::uint32_t sequence) {
    Frame frame;
    frame.type = type;
    frame.label = LabelTag("");
    frame.sender = sender;
    frame.sequence = sequence;
    return frame;
  }
  static std::vector<std::byte> Encode(const Frame& frame) {
    std::vector<std::byte> bytes;
    FrameWriter(frame, kFixedMax, bytes).Finish();
    return bytes;
  }

  // The outbox holds our pings; they are acked by whom they went to, in a buffer that is kept.
  void AnswerProbes(const Tick& at) {
    asked_.clear();
    for (const Outbox::Datagram& datagram : out_.datagrams()) {
      Frame ping;
      if (DecodeDatagram(out_.bytes(datagram), LabelTag(""), &ping) != Fault::kNone) continue;
      if (ping.type != FrameType::kPing) continue;
      asked_.push_back({datagram.to, ping.sequence});
    }
    out_.Clear();
    for (const auto& [to, sequence] : asked_) {
      const std::uint32_t host = std::uint32_t{to.ip[13]} << 16 | std::uint32_t{to.ip[14]} << 8 | to.ip[15];
      ack_.clear();
      FrameWriter(Header(FrameType::kAck, ids_[host - 1], sequence), kFixedMax, ack_).Finish();
      engine_.Receive(at, to, ack_, out_);
      out_.Clear();
      ++probes_;
    }
  }

  Engine engine_;
  Outbox out_;
  Tick now_;
  Random dice_{11};
  std::vector<std::uint64_t> ids_;
  std::vector<std::vector<std::byte>> pings_;
  std::vector<std::pair<Address, std::uint32_t>> asked_;
  std::vector<std::byte> ack_;
  std::uint64_t acks_ = 0;
  std::uint64_t probes_ = 0;
};

TEST(AllocationTest, TheSteadyStateAllocatesNothing) {
  for (const std::uint32_t others : {99u, 999u}) {
    for (const bool wants_events : {true, false}) {
      Bench bench(others, wants_events);
      bench.Run(1000, std::chrono::milliseconds(10));  // warm
      const std::uint64_t acks = bench.acks();
      const std::uint64_t probes = bench.probes();
      const std::uint64_t before = allocations;
      bench.Run(100000, std::chrono::milliseconds(10));
      EXPECT_EQ(allocations - before, 0u) << others << " others";
      EXPECT_EQ(bench.acks() - acks, 100000u) << "each ping was acked";
      EXPECT_EQ(bench.probes() - probes, 1000u) << "and each second of them we probed somebody";
      const Counters& counters = bench.engine().counters();
      EXPECT_EQ(counters[Counter::kRoundsFailed] + counters[Counter::kAcksStray] + counters[Counter::kAcksLate], 0u);
      EXPECT_EQ(counters[Counter::kAttemptsFailed], 0u) << "all acks were those of the rounds that were open";
    }
  }
}

// Else the test above could count nothing at all.
TEST(AllocationTest, AllocationsAreCounted) {
  const std::uint64_t before = allocations;
  Bench bench(3, true);
  EXPECT_GT(allocations, before);
}

}  // namespace
}  // namespace nekton
