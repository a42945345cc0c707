// What the tests of the heartbeat detector feed it with, and the question they ask most.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

#include "phi/phi_heartbeat.h"
#include "swim/random.h"

namespace nekton {

inline constexpr Instant kOpened{std::chrono::seconds(1000)};
inline constexpr std::uint32_t kPeer = 3;
inline constexpr PhiHeartbeat::Options kOptions{.threshold = 8,
                                                .mean = std::chrono::seconds(1),
                                                .deviation = std::chrono::milliseconds(250),
                                                .deviation_min = std::chrono::milliseconds(20),
                                                .deviation_share = 0.05};
inline constexpr PhiHeartbeat::Options kClassic = [] {
  PhiHeartbeat::Options options = kOptions;
  options.loss_aware = false;
  return options;
}();

inline void Feed(Detector& detector, std::uint32_t peer, Duration interval, int times, std::uint32_t beats = 1) {
  for (int i = 0; i < times; ++i) detector.Heard(peer, kOpened, kOpened + interval, beats);
}

inline Duration DeadlineOf(const Detector& detector, std::uint32_t peer) {
  return detector.DeadlineFor(peer, kOpened) - kOpened;
}

inline double LevelAfter(const Detector& detector, Duration silence) {
  return detector.Level(kPeer, kOpened, kOpened + silence);
}

// Beats about `mean` apart, each up to a fifth of it early or late.
inline void FeedJittered(Detector& detector, std::uint32_t peer, Duration mean, int times, Random& random) {
  for (int i = 0; i < times; ++i) {
    const auto jittered = static_cast<double>(mean.count()) * (0.8 + 0.4 * random.Unit());
    Feed(detector, peer, Duration(static_cast<Duration::rep>(jittered)), 1);
  }
}

inline PhiHeartbeat::Options RandomOptions(Random& random) {
  constexpr Law kOthers[] = {Law::kExponential, Law::kLogNormal, Law::kGamma};
  const auto mean = static_cast<Duration::rep>(1e6 * std::exp(random.Unit() * std::log(6e4)));  // 1 ms to 1 min
  return {.threshold = 0.1 + 15 * random.Unit(),
          .mean = Duration(mean),
          .deviation = Duration(mean / 20 + random.Below(static_cast<std::uint32_t>(mean / 20))),
          .deviation_min = Duration(1 + mean / 100),
          .deviation_share = 0.2 * random.Unit(),
          .acceptable_pause = random.Below(2) == 0 ? Duration(0) : Duration(mean * random.Below(4)),
          .law = random.Below(8) == 0 ? kOthers[random.Below(3)] : Law::kNormal,
          .loss_aware = random.Below(3) != 0};
}

// One sample of one of eight peers, now and then late or with others lost before it.
inline void FeedAny(PhiHeartbeat& detector, const PhiHeartbeat::Options& options, Random& random) {
  const double late = random.Below(20) == 0 ? 50 * random.Unit() : 0.5 + random.Unit();
  const auto sample = static_cast<Duration::rep>(late * static_cast<double>(options.mean.count()));
  const std::uint32_t peer = random.Below(8);
  const std::uint32_t beats = random.Below(5) == 0 ? 1 + random.Below(9) : 1;
  detector.Heard(peer, kOpened, kOpened + Duration(sample), beats);
}

// ReachedAt names the first instant of the level.
inline testing::AssertionResult IsFirst(const Detector& detector, std::uint32_t peer, double level) {
  const Instant at = detector.ReachedAt(peer, kOpened, level);
  const auto message = [&] {
    return testing::Message() << "level " << level << " of peer " << peer << " at " << (at - kOpened).count() << " ns";
  };
  if (at <= kOpened) return testing::AssertionFailure(message());
  if (at < kNever && !(detector.Level(peer, kOpened, at) >= level)) {
    return testing::AssertionFailure(message() << ": not yet, but " << detector.Level(peer, kOpened, at));
  }
  const double before = detector.Level(peer, kOpened, at - std::chrono::nanoseconds(1));
  return before < level ? testing::AssertionSuccess() : testing::AssertionFailure(message() << ": before " << before);
}

}  // namespace nekton
