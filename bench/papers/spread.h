// How far and at what price one piece of news travels.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/papers/progress.h"
#include "swim/config.h"

namespace nekton::bench {

struct SpreadPlan {
  Config config;
  std::uint32_t nodes = 0;
  double loss = 0;  // of each datagram, and of each segment of a stream, on its own
  std::uint32_t updates = 100;
  std::uint64_t seed = 1;
  Progress progress;
};

struct Spread {
  bool complete = false;       // all members knew each other at the beginning
  std::vector<double> last_s;  // of each update that reached all: until the last member knew
  std::vector<double> half_s;  // until half of the others knew
  std::uint32_t lost = 0;      // updates that somebody did not know after a minute
  double copies = 0;           // datagrams that carried it, per member and update, also after all knew
  double bytes = 0;            // of the news in them, per member and update
  double syncs = 0;            // streams that made tables equal, of all members, per update
};

// A member, each time another one, changes its tags in a group that is otherwise quiet; the next does so ten seconds after
// the last member knew. The first warm-up is 5 periods. Links delay by 0.5 to 1 ms.
Spread MeasureSpread(const SpreadPlan& plan);

// The fewest rounds in which news can reach `nodes` members, if in each round everyone who knows tells `fanout` others,
// all of them new, and a share `loss` of that is lost: in each round the number of those who know grows to at most
// 1 + fanout (1 - loss) times itself on average, so it takes log(nodes) / log(1 + fanout (1 - loss)), rounded up.
std::uint32_t PushRounds(std::uint32_t nodes, std::uint32_t fanout, double loss);
// Of a period, as PushRounds: a protocol that waits `interval` between rounds, the first one included.
double PushFloorSeconds(std::uint32_t nodes, std::uint32_t fanout, double loss, Duration interval);

}  // namespace nekton::bench
