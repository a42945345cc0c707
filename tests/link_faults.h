// A group some of whose members have bad links, and the count of what its members made of each other meanwhile.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cluster.h"

namespace nekton {

enum class Way : std::uint8_t { kIn, kOut };

class LinkFaults {
 public:
  // The last `sick` of `nodes` have the bad links. Streams lose segments where datagrams get lost.
  LinkFaults(std::size_t nodes, std::size_t sick, std::uint64_t seed, const Config& config = Config::Lan())
      : cluster({.nodes = nodes, .seed = seed, .config = config, .sim = {.lossy_streams = true}, .record = false}),
        first_sick_(static_cast<SimId>(nodes - sick)) {
    EXPECT_TRUE(cluster.Converge());
    cluster.RunFor(std::chrono::seconds(5));
    cluster.sim().SetHandler([this](const SimEvent& event) { Saw(event); });
  }

  bool sick(SimId id) const { return id >= first_sick_; }
  void Lose(double rate, Way way) {
    for (SimId id = first_sick_; id < cluster.size(); ++id) {
      way == Way::kIn ? cluster.network().SetIn(id, {.loss = {.rate = rate}})
                      : cluster.network().SetOut(id, {.loss = {.rate = rate}});
    }
  }
  // They hear nothing, or nothing of theirs is heard, for `off`; then all is well for `on`.
  void Flip(Way way, Duration off, Duration on) {
    for (SimId id = first_sick_; id < cluster.size(); ++id) {
      way == Way::kIn ? cluster.network().CutIn(id) : cluster.network().CutOut(id);
    }
    cluster.RunFor(off);
    for (SimId id = first_sick_; id < cluster.size(); ++id) cluster.network().Heal(id);
    cluster.RunFor(on);
  }

  // Not one of those whose links are good lists it among its living.
  bool Gone(SimId subject) const {
    const std::string& name = cluster.sim().name(subject);
    for (SimId id = 0; id < first_sick_; ++id) {
      for (const MemberPtr& row : cluster.member(id).Members()) {
        const bool living = row->status == MemberStatus::kActive || row->status == MemberStatus::kSuspect;
        if (living && row->name == name) return false;
      }
    }
    return true;
  }
  std::size_t GoneCount() const {
    std::size_t count = 0;
    for (SimId id = first_sick_; id < cluster.size(); ++id) count += Gone(id) ? 1 : 0;
    return count;
  }

  mutable Cluster cluster;
  std::size_t healthy_failed = 0;  // failure events about members with good links
  std::size_t healthy_failed_at_healthy = 0;
  std::size_t healthy_suspected = 0;
  std::size_t sick_failed = 0;                    // about the others
  std::set<std::pair<SimId, LifeKey>> comebacks;  // dead members that were alive again, each incarnation once
  std::size_t changes_max = 0;                    // deaths and rejoins of one of them at one observer within a minute

  std::size_t ComebacksOf(SimId subject) const {
    return static_cast<std::size_t>(
        std::count_if(comebacks.begin(), comebacks.end(), [&](const auto& back) { return back.first == subject; }));
  }

 private:
  void Saw(const SimEvent& seen) {
    const Event& event = seen.event;
    if (event.member == nullptr) return;
    const SimId subject = static_cast<SimId>(std::stoul(event.member->name.substr(1)));
    if (subject == seen.member) return;
    switch (event.kind) {
      case EventKind::kSuspected:
        healthy_suspected += sick(subject) ? 0 : 1;
        return;
      case EventKind::kFailed:
        ++(sick(subject) ? sick_failed : healthy_failed);
        healthy_failed_at_healthy += sick(subject) || sick(seen.member) ? 0 : 1;
        return Changed(seen, subject, true);
      case EventKind::kJoined:
      case EventKind::kRecovered:
        return Changed(seen, subject, false);
      default:
        return;
    }
  }
  void Changed(const SimEvent& seen, SimId subject, bool dead) {
    if (!sick(subject)) return;
    Seen& pair = seen_[{seen.member, subject}];
    if (pair.dead == dead) return;
    pair.dead = dead;
    if (!dead) comebacks.insert({subject, seen.event.member->key});
    pair.changes.push_back(seen.at);
    while (pair.changes.front() + std::chrono::minutes(1) < seen.at) pair.changes.pop_front();
    changes_max = std::max(changes_max, pair.changes.size());
  }

  struct Seen {
    bool dead = false;
    std::deque<Duration> changes;  // of the last minute
  };
  const SimId first_sick_;
  std::map<std::pair<SimId, SimId>, Seen> seen_;  // by observer and subject
};

}  // namespace nekton
