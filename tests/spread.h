// How long one piece of news takes to reach everybody where datagrams get lost. It is the only news of its time, so that
// nothing else carries it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "tests/cluster.h"

namespace nekton {

enum class News : std::uint8_t {
  kJoin,     // of one more
  kLeave,    // said by a member
  kRestart,  // a new life of a member that had not been missed
  kRetag,    // the same, with other tags
};
inline constexpr News kAllNews[] = {News::kJoin, News::kLeave, News::kRestart, News::kRetag};

inline const char* Name(News news) {
  constexpr const char* kNames[] = {"join", "leave", "restart", "retag"};
  return kNames[static_cast<std::size_t>(news)];
}

// Lets it happen, and returns what an observer's row of the subject looks like to who knows of it.
inline std::function<bool(const MemberInfo&)> Happen(Cluster& c, News news, SimId* subject) {
  *subject = static_cast<SimId>(c.size() / 2);
  switch (news) {
    case News::kJoin:
      *subject = c.AddNode();
      break;
    case News::kLeave:
      c.Leave(*subject);
      return [](const MemberInfo& row) { return row.status == MemberStatus::kLeft; };
    case News::kRestart:
      c.Crash(*subject);
      c.Restart(*subject);
      break;
    case News::kRetag: {
      Config config = Config::Lan();
      config.seeds = {"10.0.0.1:7946"};
      config.tags = {{"role", "other"}};
      c.Crash(*subject);
      c.Restart(*subject, {.config = config});
      return [](const MemberInfo& row) { return row.tags.contains("role") && row.status == MemberStatus::kActive; };
    }
  }
  const std::uint64_t generation = c.sim().generation(*subject);
  return [generation](const MemberInfo& row) {
    return row.key.generation >= generation && row.status == MemberStatus::kActive;
  };
}

// Since it happened, in a group that was quiet, on links that lose this share of the datagrams.
inline Duration Spread(News news, std::size_t nodes, std::uint64_t seed, double loss = 0.05) {
  Cluster c({.nodes = nodes, .seed = seed, .record = false});
  if (!c.Converge(std::chrono::seconds(60))) return Duration::max();
  c.RunFor(std::chrono::seconds(3));
  c.Lose(loss);
  const Duration from = c.now();
  SimId subject = kNobody;
  const auto knows = Happen(c, news, &subject);
  SimId asked = 0;  // all before it know
  const auto all_know = [&] {
    for (; asked < nodes; ++asked) {
      if (asked == subject) continue;
      const MemberPtr row = c.RowOf(asked, subject);
      if (row == nullptr || !knows(*row)) return false;
    }
    return true;
  };
  if (!c.sim().RunUntil(all_know, std::chrono::seconds(60), std::chrono::milliseconds(100))) return Duration::max();
  return c.now() - from;
}

}  // namespace nekton
