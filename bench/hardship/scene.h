// One run of a case: a group at rest, trouble for some of its members, and the count of what comes of it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "bench/common/group.h"
#include "bench/hardship/outcome.h"

namespace nekton::bench {

class Scene {
 public:
  // `watch`, if there is one, sees every event from Begin on.
  Scene(Group* group, std::function<void(const SimEvent&)> watch);

  Group& group() { return group_; }
  Simulator& sim() { return group_.sim(); }
  const std::vector<SimId>& sick() const { return sick_; }

  // All that is said about these members from now on is said about members that suffer.
  void Suffer(const std::vector<SimId>& ids);
  void Begin();  // from here on it counts
  void RunFor(Duration time) { sim().RunFor(time); }
  // Until every member that suffers nothing holds all those that do dead. Notes how long that took since Begin, or that
  // it did not come within `limit`.
  void AwaitAllDead(Duration limit);
  Outcome Finish();

 private:
  void Saw(const SimEvent& event);
  void Verdict(SimId observer, const Event& event, SimId subject, bool dead);
  void Changed(SimId observer, SimId subject);
  bool Gone(SimId subject) const;

  Group& group_;
  std::function<void(const SimEvent&)> watch_;
  std::vector<SimId> sick_;
  std::vector<bool> suffers_;
  std::vector<bool> condemned_;
  std::vector<bool> accused_;
  std::vector<bool> holds_dead_;                                      // by observer and subject
  absl::flat_hash_map<std::uint64_t, std::deque<Duration>> changed_;  // the same, of the last minute
  std::set<std::pair<SimId, LifeKey>> came_back_;
  std::size_t dead_pairs_ = 0;  // of observers that suffer nothing and subjects that do
  std::optional<Duration> all_dead_at_;
  Duration began_{};
  Outcome outcome_;
};

}  // namespace nekton::bench
