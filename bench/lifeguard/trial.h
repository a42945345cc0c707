// One run of one point of Lifeguard's experiments.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "bench/common/group.h"
#include "bench/lifeguard/point.h"
#include "swim/config.h"
#include "transport/simulator.h"

namespace nekton::bench {

// What an anomaly does to a member.
enum class Block : std::uint8_t {
  kBlocked,  // before each send and after each receive it waits; its timers run on: the paper's, of an event loop
  kProber,   // the paper's, of a process whose prober is a thread, as the paper's processes have it
  kFrozen,   // the whole process stands still
};
inline constexpr std::array kBlocks = {Block::kBlocked, Block::kProber, Block::kFrozen};
std::string_view Name(Block block);  // "blocked", "prober", "frozen"
std::optional<Block> ParseBlock(std::string_view text);

struct Trial {
  Config config;
  Point point;  // fewer blocked than members
  Block block = Block::kBlocked;
  std::uint64_t seed = 1;
  std::uint32_t members = 128;
  // Told who suffers before the first anomaly, and then every event.
  std::function<void(const std::vector<SimId>&)> sick = nullptr;
  std::function<void(const SimEvent&)> watch = nullptr;
};

struct TrialResult {
  bool gathered = false;  // false: the group did not come together, and nothing was measured
  std::uint64_t false_positives = 0;
  std::uint64_t false_positives_at_healthy = 0;
  std::uint32_t healthy_suspected = 0;
  std::uint64_t anomalies = 0;
  std::uint64_t removed = 0;
  std::uint64_t missed = 0;
  std::vector<double> first;  // s
  std::vector<double> full;   // s
  Load load;                  // from the first anomaly to the end of the last one
};

// 15 s of rest once all know each other, then the anomalies. Threshold: one, and on until all are held ACTIVE by all,
// or 120 s have passed. Interval: anomalies and normal times take turns until 120 s have passed; one that has begun is
// finished, and what comes in the 15 s after it still counts.
TrialResult RunTrial(const Trial& trial);

}  // namespace nekton::bench
