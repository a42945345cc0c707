// On the engine's bench m1 is watched: it gives pulses when the test says so, and others ask for ours.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "swim/random.h"
#include "tests/engine_holds.h"

namespace nekton {

inline constexpr Duration kBeat = std::chrono::milliseconds(100);
inline constexpr DetectorKind kBoth[] = {DetectorKind::kFixed, DetectorKind::kPhi};

inline Config With(DetectorKind detector) {
  Config config = Quiet();
  config.detector = detector;
  return config;
}

// An engine that knows some members and watches m1.
class WatchRig : public Rig {
 public:
  explicit WatchRig(const Config& with = With(DetectorKind::kFixed), std::size_t members = 4) : Rig(with) {
    Know(members);
  }

  void Watch(std::vector<double> thresholds, Duration interval = kBeat, const std::string& name = "m1") {
    const absl::Status status = Order(nekton::Watch{name, interval, std::move(thresholds)});
    ASSERT_TRUE(status.ok()) << status;
  }
  // A pulse of m1, the next of its sequence.
  void Pulse(std::uint8_t flags = 0) {
    const std::vector<Said> asked = SentTo((*this)[1], FrameType::kWatch);
    if (!asked.empty()) sequence_ = std::max(sequence_, asked.back().frame.sequence);
    PulseOf((*this)[1], ++sequence_, flags);
  }
  void PulseOf(const Peer& peer, std::uint32_t sequence, std::uint8_t flags = 0) {
    Frame frame = Of(FrameType::kPulse, sequence);
    frame.flags = flags;
    Receive(peer, frame);
  }
  std::uint32_t sequence() const { return sequence_; }  // of the last pulse
  // So many, each up to `jitter` late, with all wakes between them.
  void Pulses(int count, Duration jitter = {}) {
    Random dice(7);
    const Instant from = now.boot;
    for (int i = 1; i <= count; ++i) {
      RunUntil(from + i * kBeat + Duration(dice.Below(static_cast<std::uint32_t>(jitter.count()) + 1)));
      Pulse(i == 1 ? kFlagExtra : 0);
    }
  }
  // Another member asks us for pulses.
  void Asks(const Peer& peer, Duration interval, std::uint32_t sequence = 0) {
    Frame frame = Of(FrameType::kWatch, sequence);
    frame.interval = interval;
    Receive(peer, frame);
  }
  double Level(const std::string& name = "m1", Duration after = {}) const {
    Tick then = now;
    then.boot += after;
    const absl::StatusOr<double> level = engine->Level(then, name);
    EXPECT_TRUE(level.ok()) << level.status();
    return level.value_or(-1);
  }
  // The levels passed since the last call: "+1 +3 -3 -1", the ends of watches: "ended NOT_FOUND".
  std::string Passed() {
    std::string text;
    for (const Event& event : std::exchange(events, {})) {
      std::string one;
      if (event.kind == EventKind::kLevel) {
        one = (event.rose ? "+" : "-") + std::to_string(static_cast<int>(event.threshold));
      } else if (event.kind == EventKind::kWatchEnded) {
        one = "ended " + absl::StatusCodeToString(event.status.code());
      } else {
        one = std::string(Name(event.kind));
      }
      text += (text.empty() ? "" : " ") + one;
    }
    return text;
  }

 private:
  std::uint32_t sequence_ = 0;
};

}  // namespace nekton
