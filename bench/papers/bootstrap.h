// Rapid's first experiment: a whole group joins at once, through one seed (Suresh et al., USENIX ATC 2018, section 7).
#pragma once

#include <cstdint>
#include <optional>

#include "bench/papers/progress.h"
#include "swim/config.h"

namespace nekton::bench {

struct BootstrapPlan {
  Config config;
  std::uint32_t nodes = 0;  // with the seed, which starts first; the others start within the second after it
  double loss = 0;          // of each datagram, and of each segment of a stream, on its own
  std::uint64_t seed = 1;
  Duration limit = std::chrono::minutes(3);
  Progress progress;
};

struct Bootstrap {
  std::optional<double>
      complete_s;  // since the seed's start: every member counts `nodes`; nothing: not within the limit
  double last_start_s = 0;
  std::uint32_t sizes = 0;       // different counts of members that were seen, each member's looked at every second
  double seed_stream_bytes = 0;  // that the seed sent until then
  double seed_datagram_bytes = 0;
  double member_stream_bytes = 0;  // the same of the others, each on average
  double member_datagram_bytes = 0;
  double wall_s = 0;
};

// Links delay by 1 ms. Looks every 10 ms whether all is complete.
Bootstrap MeasureBootstrap(const BootstrapPlan& plan);

}  // namespace nekton::bench
