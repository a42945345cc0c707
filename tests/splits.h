// A group that is cut in two for a while, and what becomes of it when the cut ends.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <vector>

#include "tests/cluster.h"
#include "tests/numbers.h"

namespace nekton {

struct Split {
  const char* name;
  std::size_t small;  // members in the smaller part
  bool seed_small;    // the seed is in it
};

inline std::vector<Split> Splits(std::size_t nodes) {
  return {{"halves", nodes / 2, true},
          {"a tenth, seed here", nodes / 10, true},
          {"a tenth, seed there", nodes / 10, false},
          {"one alone, the seed", 1, true},
          {"one alone", 1, false}};
}

struct Healing {
  Duration complete = Duration::max();  // since the end of the cut: every table has all, and all are ACTIVE
  // Verdicts since then, also in the 10 s after that. A hold that had all but run out when the cut ended runs out before
  // anything from the other side can arrive; one period, and everybody who accuses has looked again.
  std::size_t failed = 0;        // later than that period
  std::size_t failed_soon = 0;   // within it
  std::uint64_t sync_bytes = 0;  // over streams, by all, until all was complete
};

// Nobody suspects anybody; Simulator::Converged takes a suspect for a member.
inline bool AllActive(Cluster& c) {
  for (SimId id = 0; id < c.size(); ++id) {
    if (!c.sim().live(id)) continue;
    for (const MemberPtr& row : c.member(id).Members()) {
      if (row->status == MemberStatus::kSuspect) return false;
    }
  }
  return true;
}

inline Healing Heal(std::size_t nodes, const Split& split, Duration cut, std::uint64_t seed, double loss = 0) {
  Cluster c({.nodes = nodes, .seed = seed, .record = false});
  EXPECT_TRUE(c.Converge(std::chrono::seconds(60)));
  c.RunFor(std::chrono::seconds(3));
  c.Lose(loss);
  std::vector<SimId> part;
  std::vector<SimId> rest;
  for (SimId id = 0; id < nodes; ++id) {
    const bool small = split.seed_small ? id < split.small : id >= nodes - split.small;
    (small ? part : rest).push_back(id);
  }
  c.Partition({part, rest});
  c.RunFor(cut);
  // The larger part has got over it. (A lone member takes a minute of deafness for its own trouble, and a few have many
  // to find out about.)
  EXPECT_EQ(c.member(rest.front()).alive(), rest.size());
  Healing healing;
  const std::uint64_t bytes = c.Sum(Counter::kSyncBytesSent);
  const Duration healed = c.now();
  c.sim().SetHandler([&](const SimEvent& event) {
    if (event.event.kind != EventKind::kFailed) return;
    ++(event.at - healed <= Config::Lan().period ? healing.failed_soon : healing.failed);
  });
  c.Heal();
  const auto whole = [&] { return c.sim().Converged() && AllActive(c); };
  if (c.sim().RunUntil(whole, std::chrono::seconds(120), std::chrono::milliseconds(100))) {
    healing.complete = c.now() - healed;
  }
  healing.sync_bytes = c.Sum(Counter::kSyncBytesSent) - bytes;
  c.RunFor(std::chrono::seconds(10));
  c.sim().SetHandler({});
  return healing;
}

// Heals such splits and says how it went. In the environment, in place of what is asked for: HEAL_SEEDS, how many runs;
// HEAL_NODES; HEAL_CUT, in seconds; HEAL_LOSS, of datagrams in percent.
inline void MeasureHealing(std::size_t nodes, Duration cut, std::size_t first_split, std::size_t last_split) {
  nodes = NumberFromEnvironment("HEAL_NODES", nodes);
  cut = std::chrono::seconds(
      NumberFromEnvironment("HEAL_CUT", static_cast<std::uint64_t>(cut / std::chrono::seconds(1))));
  const std::uint64_t seeds = NumberFromEnvironment("HEAL_SEEDS", 1);
  const double loss = static_cast<double>(NumberFromEnvironment("HEAL_LOSS", 0)) / 100;
  const std::vector<Split> splits = Splits(nodes);
  for (std::size_t i = first_split; i <= last_split; ++i) {
    const Split& split = splits[i];
    std::vector<Duration> took;
    std::uint64_t bytes = 0;
    std::size_t soon = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      const Healing healing = Heal(nodes, split, cut, seed, loss);
      took.push_back(healing.complete);
      EXPECT_EQ(healing.failed, 0u) << split.name << ", seed " << seed;
      soon += healing.failed_soon;
      bytes += healing.sync_bytes;
    }
    EXPECT_LE(Quantile(took, 0.99), std::chrono::seconds(10)) << split.name;
    std::cout << nodes << " members, " << split.name << ", cut for " << Seconds(cut) << " s, " << seeds
              << " runs: median " << Seconds(Quantile(took, 0.5)) << " s, p99 " << Seconds(Quantile(took, 0.99))
              << " s, longest " << Seconds(Quantile(took, 1)) << " s; in the first second " << soon
              << " verdicts of holds that the cut had begun; " << bytes / seeds << " bytes of syncs a run" << std::endl;
  }
}

}  // namespace nekton
