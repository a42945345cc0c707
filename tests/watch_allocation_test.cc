// A watch and those who watch us allocate nothing once they are there.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "swim/engine.h"
#include "swim/message.h"
#include "swim/watchers.h"
#include "swim/watches.h"
#include "swim/wire.h"
#include "tests/count_allocations.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kGeneration = 1'700'000'000'000;
constexpr std::uint32_t kOthers = Watches::kMax;
static_assert(Watchers::kMax == kOthers);
constexpr Duration kBeat = 100ms;

Address At(std::uint32_t host) { return Address::V4(10, 0, 0, static_cast<std::uint8_t>(host), 7946); }
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

// As many members as can be watched, and as can watch.
class Bench {
 public:
  explicit Bench(DetectorKind detector) : engine_(Make(detector)) {
    now_.boot = Instant(1000s);
    now_.wall = WallTime(std::chrono::milliseconds(kGeneration));
    engine_.Wake(now_, out_);
    std::vector<std::byte> sync;
    FrameWriter writer(Header(FrameType::kSync, 1, 0), kSyncBytesMax, sync);
    std::vector<std::string> names;
    for (std::uint32_t host = 1; host <= kOthers; ++host) names.push_back(NameOf(host));
    for (std::uint32_t host = 1; host <= kOthers; ++host) {
      Update row;
      row.name = names[host - 1];
      row.address = At(host);
      row.key = {kGeneration, 0};
      writer.Add(row);
    }
    writer.Finish();
    engine_.Serve(now_, At(1), 1, sync, out_);
    for (std::uint32_t host = 1; host <= kOthers; ++host) {
      out_.Clear();
      EXPECT_TRUE(engine_.Order(now_, Watch{NameOf(host), kBeat, {6, 8}}, out_).ok());
      Frame request;
      for (const Outbox::Datagram& datagram : out_.datagrams()) {
        Frame frame;
        if (DecodeDatagram(out_.bytes(datagram), LabelTag(""), &frame) != Fault::kNone) continue;
        if (frame.type == FrameType::kWatch) request = frame;
      }
      sequences_.push_back(request.sequence);
    }
    out_.Clear();
  }

  const Counters& counters() const { return engine_.counters(); }
  std::uint64_t pulses() const { return pulses_; }  // that we gave

  // In every interval each of them gives us a pulse, and asks for ours.
  void Run(int intervals) {
    for (int i = 0; i < intervals; ++i) {
      const Instant end = now_.boot + kBeat;
      for (std::uint32_t host = 1; host <= kOthers; ++host) {
        Frame request = Header(FrameType::kWatch, host, 0);
        request.interval = kBeat;
        Receive(request, host);
        Receive(Header(FrameType::kPulse, host, ++sequences_[host - 1]), host);
      }
      while (engine_.NextWake() <= end) {
        now_.boot = std::max(now_.boot, engine_.NextWake());
        engine_.Wake(now_, out_);
        Count();
      }
      now_.boot = end;
    }
  }

 private:
  static Engine Make(DetectorKind detector) {
    Config config = Config::Lan();
    config.name = "self";
    config.generation = kGeneration;
    config.seed = 3;
    config.detector = detector;
    config.period = 1h;  // no round in this time
    config.tolerated_pause = config.period + 2s;
    config.hold_alpha = 0;
    return std::move(Engine::Create(config, At(0))).value();
  }
  void Receive(const Frame& frame, std::uint32_t host) {
    bytes_.clear();
    FrameWriter(frame, kFixedMax, bytes_).Finish();
    engine_.Receive(now_, At(host), bytes_, out_);
    Count();
  }
  void Count() {
    for (const Outbox::Datagram& datagram : out_.datagrams()) {
      Frame frame;
      if (DecodeDatagram(out_.bytes(datagram), LabelTag(""), &frame) != Fault::kNone) continue;
      pulses_ += frame.type == FrameType::kPulse ? 1 : 0;
    }
    out_.Clear();
  }

  Engine engine_;
  Outbox out_;
  Tick now_;
  std::vector<std::uint32_t> sequences_;
  std::vector<std::byte> bytes_;
  std::uint64_t pulses_ = 0;
};

TEST(WatchAllocation, TheSteadyStateAllocatesNothing) {
  for (const DetectorKind detector : {DetectorKind::kFixed, DetectorKind::kPhi}) {
    Bench bench(detector);
    bench.Run(10);  // warm
    const std::uint64_t pulses = bench.pulses();
    const std::uint64_t sent = bench.counters()[Counter::kWatchDatagramsSent];
    const std::uint64_t before = allocations;
    bench.Run(1000);
    EXPECT_EQ(allocations - before, 0u);
    EXPECT_EQ(bench.pulses() - pulses, 1000u * kOthers);
    EXPECT_EQ(bench.counters()[Counter::kWatchDatagramsSent] - sent, 1250u * kOthers) << "a request in four intervals";
    EXPECT_EQ(bench.counters()[Counter::kPulsesOld] + bench.counters()[Counter::kPulsesStray], 0u);
  }
}

}  // namespace
}  // namespace nekton
