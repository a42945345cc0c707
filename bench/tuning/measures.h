// What one setting of the protocol is worth, measured the same way for every setting.
//
// The runs are those of bench/detection and bench/hardship; the seeds of two settings are the same, so that their rows
// meet the same trouble as far as they act alike.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "bench/detection/crashes.h"
#include "bench/detection/soak.h"
#include "bench/hardship/outcome.h"
#include "swim/config.h"

namespace nekton::bench {

inline constexpr std::uint32_t kCrashNodes = 128;
inline constexpr std::uint32_t kSoakNodes = 32;
inline constexpr double kSoakLoss = 0.3;

// How much of each is run. 0: it is not measured.
struct Effort {
  std::uint64_t crashes = 0;    // silent, one after the other, without loss
  double member_hours = 0;      // at 30 % loss
  std::uint64_t intervals = 0;  // of hardship's interval/12: twelve trials each
  std::uint64_t freezes = 0;    // freeze/32/loss
  std::uint64_t pairs = 0;      // pairs/32/30
  std::uint64_t lossy = 0;      // lossy/32
  std::uint64_t seed = 1;
};

struct Measures {
  std::optional<CrashSample> crash;
  std::optional<SoakCounts> soak;
  std::optional<Outcome> interval;
  std::optional<Outcome> freeze;
  std::optional<Outcome> pairs;
  std::optional<Outcome> lossy;
};

// `progress`, if there is one, is told what is run now.
Measures Measure(const Config& config, const Effort& effort,
                 const std::function<void(const std::string& what)>& progress = nullptr);

}  // namespace nekton::bench
