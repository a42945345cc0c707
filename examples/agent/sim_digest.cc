#include "examples/agent/sim_digest.h"

#include <algorithm>
#include <vector>

#include "examples/agent/sim_watch.h"

namespace nekton {

void SimDigest::Saw(const SimEvent& event) {
  const EventKind kind = event.event.kind;
  const SimId subject = kind == EventKind::kJoined ? kNobody : SubjectOf(event.event);
  const auto [at, added] = open_.try_emplace({kind, subject}, Entry{kind, subject, 0, event.at, event.at});
  ++at->second.count;
  at->second.last = event.at;
}

void SimDigest::Flush(Duration now, bool all) {
  std::vector<Entry> done;
  for (auto at = open_.begin(); at != open_.end();) {
    if (all || now - at->second.last >= quiet_) {
      done.push_back(at->second);
      at = open_.erase(at);
    } else {
      ++at;
    }
  }
  std::sort(done.begin(), done.end(), [](const Entry& a, const Entry& b) { return a.first < b.first; });
  for (const Entry& entry : done) put_(entry);
}

}  // namespace nekton
