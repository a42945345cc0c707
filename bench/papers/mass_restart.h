// Most of a group is started again, with empty memories, within a minute: while the others hold the old lives dead, or are
// about to, at incarnations far above those that the new ones begin with.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "swim/config.h"

namespace nekton::bench {

struct MassRestartOptions {
  std::size_t nodes = 450;
  std::uint64_t seed = 1;
  Config config = Config::Lan();
  // false: a new life has the generation of the one before, and nothing but its incarnation tells them apart, as in
  // protocols that know no generations.
  bool generations = true;
};

struct MassRestart {
  bool begun = false;  // all knew each other before, and all that were down came back; else nothing was measured
  // Since the last start: every table has exactly all members, and all are ACTIVE.
  Duration complete = Duration::max();
  // How often somebody did not hold somebody ACTIVE who was: after 30 s, and at the limit or when all was complete.
  std::size_t wrong_after_30s = 0;
  std::size_t wrong = 0;
  std::size_t dead = 0;  // of those, how often INACTIVE
};

// Every tenth keeps running. Of the others each is down for 20 to 30 s within the same minute. Five of them are the seeds
// of all; they are down first, so that their tables know nothing of what was. All had refuted something before.
MassRestart RunMassRestart(const MassRestartOptions& options, Duration limit);

}  // namespace nekton::bench
