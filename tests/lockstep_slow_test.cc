// Fifty members that boot in the same instant do not go on in step: their heartbeats spread over the interval, because
// each interval is rolled anew (heartbeat-and-stm, "jitter").
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "swim/message.h"
#include "transport/simulator.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMembers = 50;
constexpr Duration kFrom = 3min;
constexpr Duration kUntil = 8min;
constexpr double kMost = 1.5;  // times the mean

struct Load {
  double mean = 0;   // heartbeats in a second
  double worst = 0;  // the fullest second, over the mean
};

// The first heartbeat of each goes out when it has met the other, which is at once: there is no random phase.
Load RunAll(Duration jitter, std::uint64_t seed) {
  SimOptions options;
  options.seed = seed;
  Simulator sim(options);
  Config config = Config::Mesh();
  config.jitter = jitter;
  config.seeds = {"10.0.0.1:7946"};
  for (std::size_t i = 0; i < kMembers; ++i) sim.Add(config, {.address = std::nullopt, .record = false});
  for (SimId id = 0; id < kMembers; ++id) EXPECT_TRUE(sim.Start(id).ok());
  sim.RunTo(kFrom - 1ns);
  EXPECT_TRUE(sim.Converged());
  std::vector<std::size_t> bins(static_cast<std::size_t>((kUntil - kFrom) / 1s));
  sim.SetTap([&](const SimDatagram& d) {
    if (d.moment != SimDatagram::Moment::kSent) return;
    if (static_cast<FrameType>(std::to_integer<unsigned>(d.bytes[0]) & 0xf) != FrameType::kHeartbeat) return;
    if (d.at >= kFrom && d.at < kUntil) ++bins[static_cast<std::size_t>((d.at - kFrom) / 1s)];
  });
  sim.RunTo(kUntil);
  std::size_t sum = 0;
  for (const std::size_t bin : bins) sum += bin;
  Load load;
  load.mean = static_cast<double>(sum) / static_cast<double>(bins.size());
  load.worst = static_cast<double>(*std::max_element(bins.begin(), bins.end())) / load.mean;
  return load;
}

constexpr double kExpectedMean = kMembers * (kMembers - 1) / 10.0;

TEST(Lockstep, NoSecondIsFarAboveTheMean) {
  double worst = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const Load load = RunAll(Config::Mesh().jitter, seed);
    EXPECT_NEAR(load.mean, kExpectedMean, kExpectedMean * 0.02) << seed;
    EXPECT_LE(load.worst, kMost) << seed;
    worst = std::max(worst, load.worst);
  }
  RecordProperty("worst_ratio", std::to_string(worst));
  std::cout << "the fullest second: " << worst << " times the mean\n";
}

// Without jitter the same check fails: it is the jitter that does it.
TEST(Lockstep, WithoutJitterTheyStayInStep) {
  double worst = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Load load = RunAll(Duration{}, seed);
    EXPECT_NEAR(load.mean, kExpectedMean, kExpectedMean * 0.02) << seed;
    worst = std::max(worst, load.worst);
  }
  EXPECT_GT(worst, kMost);
  std::cout << "without jitter: " << worst << " times the mean\n";
}

}  // namespace
}  // namespace nekton
