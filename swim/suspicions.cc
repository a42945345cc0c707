#include "swim/suspicions.h"

#include <algorithm>

namespace nekton {

bool Suspicions::Merge(PeerId row, const Accuser& accuser) {
  std::vector<Accuser>& all = by_row_[row].accusers;
  const auto at = std::lower_bound(all.begin(), all.end(), accuser.id,
                                   [](const Accuser& a, std::uint64_t id) { return a.id < id; });
  if (at != all.end() && at->id == accuser.id) {
    if (at->refused || !accuser.refused) return false;
    at->refused = true;
    return true;
  }
  if (all.size() >= accusers_max_ && at == all.end()) return false;
  all.insert(at, accuser);
  if (all.size() > accusers_max_) all.pop_back();
  return true;
}

void Suspicions::MarkOwn(PeerId row) {
  Suspicion& suspicion = by_row_[row];
  if (suspicion.own) return;
  suspicion.own = true;
  own_.push_back(row);
}

void Suspicions::Settle(PeerId row) {
  const auto it = by_row_.find(row);
  if (it == by_row_.end() || !it->second.own) return;
  it->second.own = false;
  own_.erase(std::find(own_.begin(), own_.end(), row));
}

void Suspicions::Forget(PeerId row) {
  Settle(row);
  by_row_.erase(row);
}

}  // namespace nekton
