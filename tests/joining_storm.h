// Members that join at the same time, through one of them.
#pragma once

#include <chrono>
#include <cstdint>

#include "swim/random.h"
#include "tests/cluster.h"

namespace nekton {

struct JoiningStorm {
  Duration complete = Duration::max();  // since the first start: every table has all of them
  std::uint64_t seed_bytes = 0;         // that the seed sent over streams until then
};

// All but the seed start within one second, on links of 1 ms.
inline JoiningStorm StormOf(std::size_t nodes, std::uint64_t seed, Duration limit) {
  Cluster c({.nodes = nodes, .seed = seed, .start = false, .record = false});
  LinkLaw law;
  law.delay_min = law.delay_max = std::chrono::milliseconds(1);
  c.network().SetLaw(law);
  EXPECT_TRUE(c.sim().Start(0).ok());
  Random random(seed);
  for (SimId id = 1; id < nodes; ++id) {
    const Duration at(static_cast<Duration::rep>(random.Unit() * 1e9));
    c.sim().At(at, [&c, id] { EXPECT_TRUE(c.sim().Start(id).ok()); });
  }
  c.RunFor(std::chrono::seconds(1));
  JoiningStorm storm;
  const auto complete = [&] { return c.sim().live_count() == nodes && c.sim().Converged(); };
  if (!c.sim().RunUntil(complete, limit, std::chrono::milliseconds(50))) return storm;
  storm.complete = c.now();
  storm.seed_bytes = c.member(0).counters()[Counter::kSyncBytesSent];
  return storm;
}

}  // namespace nekton
