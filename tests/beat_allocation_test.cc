// No allocation in the steady state of the mesh and of the pair: heartbeats in and out, questions and answers, with
// wakes.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "swim/engine.h"
#include "swim/message.h"
#include "swim/wire.h"
#include "tests/count_allocations.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kGeneration = 1'700'000'000'000;

Address At(std::uint32_t host) { return Address::V4(10, 0, 0, static_cast<std::uint8_t>(host), 7946); }

// An engine and the members around it, all well: they send a heartbeat each period, and answer those that ask.
class Bench {
 public:
  Bench(Config config, std::uint32_t others, bool wants_events)
      : period_(config.period), engine_(Make(std::move(config))), out_(wants_events), members_(others) {
    now_.boot = Instant(1000s);
    now_.wall = WallTime(std::chrono::milliseconds(kGeneration));
    engine_.Wake(now_, out_);
    std::vector<std::byte> sync;
    Frame frame;
    frame.type = FrameType::kSync;
    frame.label = LabelTag("");
    frame.sender = MemberId("member-1", kGeneration);
    frame.version_min = frame.version_max = kProtocolVersion;
    FrameWriter writer(frame, kSyncBytesMax, sync);
    for (std::uint32_t i = 0; i < others; ++i) {
      const std::string name = "member-" + std::to_string(i + 1);
      Update row;
      row.name = name;
      row.address = At(i + 1);
      row.key = {kGeneration, 0};
      writer.Add(row);
      members_[i].id = MemberId(name, kGeneration);
    }
    writer.Finish();
    engine_.Serve(now_, At(1), 1, sync, out_);
    out_.Clear();
  }

  Engine& engine() { return engine_; }
  std::uint64_t heartbeats() const { return heartbeats_; }  // of ours
  std::uint64_t answers() const { return answers_; }        // of theirs

  void Run(int rounds) {
    for (int i = 0; i < rounds; ++i) {
      const Instant next = now_.boot + period_;
      while (engine_.NextWake() <= next) {
        now_.boot = engine_.NextWake();
        engine_.Wake(now_, out_);
        Drain();
      }
      now_.boot = next;
      for (std::uint32_t host = 1; host <= members_.size(); ++host) Beat(host, 0);
    }
  }

 private:
  struct Other {
    std::uint64_t id = 0;
    std::uint32_t sequence = 0;
    std::uint32_t seen = 0;
  };

  static Engine Make(Config config) {
    config.name = "self";
    config.generation = kGeneration;
    config.seed = 3;
    return std::move(Engine::Create(config, At(0))).value();
  }

  void Beat(std::uint32_t host, std::uint8_t flags) {
    Other& other = members_[host - 1];
    Frame frame;
    frame.type = FrameType::kHeartbeat;
    frame.label = LabelTag("");
    frame.sender = other.id;
    frame.sequence = ++other.sequence;
    frame.watermark = other.seen;
    frame.digest = engine_.digest();
    frame.flags = flags;
    bytes_.clear();
    FrameWriter(frame, kFixedMax, bytes_).Finish();
    engine_.Receive(now_, At(host), bytes_, out_);
    Drain();
  }

  // Takes what it has said, and answers its questions.
  void Drain() {
    for (const Outbox::Datagram& datagram : out_.datagrams()) {
      Frame frame;
      if (DecodeDatagram(out_.bytes(datagram), LabelTag(""), &frame) != Fault::kNone) continue;
      if (frame.type != FrameType::kHeartbeat) continue;
      ++heartbeats_;
      const std::uint32_t host = datagram.to.ip[15];
      members_[host - 1].seen = frame.sequence;
      if ((frame.flags & kFlagAsks) != 0 && !answering_) asked_.push_back(host);
    }
    out_.Clear();
    if (answering_) return;  // an answer is not answered
    answering_ = true;
    for (std::size_t i = 0; i < asked_.size(); ++i) {
      ++answers_;
      Beat(asked_[i], kFlagExtra);
    }
    asked_.clear();
    answering_ = false;
  }

  const Duration period_;
  Engine engine_;
  Outbox out_;
  Tick now_;
  std::vector<Other> members_;
  std::vector<std::byte> bytes_;
  std::vector<std::uint32_t> asked_;
  bool answering_ = false;
  std::uint64_t heartbeats_ = 0;
  std::uint64_t answers_ = 0;
};

void ExpectNone(const Config& config, std::uint32_t others) {
  for (const DetectorKind detector : {DetectorKind::kFixed, DetectorKind::kPhi}) {
    for (const bool wants_events : {true, false}) {
      Config with = config;
      with.detector = detector;
      Bench bench(with, others, wants_events);
      bench.Run(200);  // warm; the windows of phi are full
      const std::uint64_t sent = bench.heartbeats();
      const std::uint64_t answered = bench.answers();
      const std::uint64_t before = allocations;
      bench.Run(1000);
      EXPECT_EQ(allocations - before, 0u) << others << " others, events: " << wants_events;
      EXPECT_GE(bench.heartbeats() - sent, 900u * others) << "heartbeats went out";
      EXPECT_EQ(bench.answers() - answered, config.repeat_after != Duration{} ? 1000u : 0u)
          << "and the pair's answered";
      EXPECT_EQ(bench.engine().counters()[Counter::kSuspicionsOwn], 0u);
      EXPECT_EQ(bench.engine().counters()[Counter::kHeartbeatsOld], 0u);
    }
  }
}

TEST(BeatAllocationTest, TheMeshAllocatesNothing) {
  ExpectNone(Config::Mesh(), 7);
  ExpectNone(Config::Mesh(), 63);
}

TEST(BeatAllocationTest, ThePairAllocatesNothing) { ExpectNone(Config::Pair(), 1); }

// Else the tests above could count nothing at all.
TEST(BeatAllocationTest, AllocationsAreCounted) {
  const std::uint64_t before = allocations;
  Bench bench(Config::Mesh(), 3, true);
  EXPECT_GT(allocations, before);
}

}  // namespace
}  // namespace nekton
