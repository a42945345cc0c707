// Crashes one member after the other in one simulated group, and brings each back before the next.
//
// What one crash leaves for the next is the state of running members: places in probe rounds, which a restart draws
// anew for the victim; news that is still passed on and health scores, which `settle` outlasts; and what the detectors
// have learned of a network that stays the same.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "swim/config.h"
#include "swim/random.h"
#include "transport/simulator.h"

namespace nekton::bench {

// Of one crash, since it. First and last among the members that live.
struct CrashTimes {
  std::optional<Duration> suspected;  // someone's SUSPECT; not later than confirmed
  std::optional<Duration> confirmed;  // someone's INACTIVE
  std::optional<Duration> known;      // everyone's; nothing: not within the limit
};

class Crasher {
 public:
  // `members` of them, all known to each other. The same seed gives the same run.
  Crasher(const Config& config, std::uint32_t members, const SimOptions& options);
  bool ok() const { return ok_; }  // false: they never came to know each other, or a victim could not come back

  // A random member dies at a random instant of a period. Ends when all know, or after two minutes. `before` is told of
  // the victim the instant before.
  CrashTimes Crash(Port port, const std::function<void(SimId victim)>& before = {});
  // The victim comes back, all learn that, and `settle` passes.
  void Recover(Duration settle);

  Simulator& sim() { return sim_; }
  std::uint64_t false_suspicions() const { return false_suspicions_; }  // of members that ran, each observer's
  std::uint64_t false_deaths() const { return false_deaths_; }

 private:
  void Saw(const SimEvent& event);

  Config config_;
  Simulator sim_;
  Random random_;
  bool ok_ = false;
  std::optional<SimId> victim_;
  Duration crashed_at_{};
  CrashTimes times_;
  std::vector<bool> knows_;  // by member
  std::uint32_t known_by_ = 0;
  std::uint64_t false_suspicions_ = 0;
  std::uint64_t false_deaths_ = 0;
};

}  // namespace nekton::bench
