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
  ++named_[accuser.id];
  if (all.size() > accusers_max_) {
    Unname(all.back().id);
    all.pop_back();
  }
  return true;
}

void Suspicions::Unname(std::uint64_t accuser) {
  const auto it = named_.find(accuser);
  if (--it->second == 0) named_.erase(it);
}

void Suspicions::Unsay(PeerId row, std::uint64_t accuser) {
  const auto it = by_row_.find(row);
  if (it == by_row_.end() || it->second.settled) return;
  if (std::erase_if(it->second.accusers, [accuser](const Accuser& a) { return a.id == accuser; }) == 0) return;
  Unname(accuser);
  versions_.Changed(row);
}

void Suspicions::Withdraw(std::uint64_t accuser) {
  if (named_.erase(accuser) == 0) return;
  versions_.AllChanged();
  // The order of the table is random and does not matter: each row is dealt with for itself.
  for (auto& [row, suspicion] : by_row_) {
    if (suspicion.settled) continue;
    std::erase_if(suspicion.accusers, [accuser](const Accuser& a) { return a.id == accuser; });
  }
}

void Suspicions::MarkOwn(PeerId row) {
  Suspicion& suspicion = by_row_[row];
  if (suspicion.own) return;
  suspicion.own = true;
  own_.push_back(row);
}

void Suspicions::Settle(PeerId row) {
  const auto it = by_row_.find(row);
  if (it != by_row_.end()) Close(row, it->second);
}

void Suspicions::Close(PeerId row, Suspicion& suspicion) {
  if (suspicion.own) own_.erase(std::find(own_.begin(), own_.end(), row));
  suspicion.own = false;
  if (suspicion.settled) return;
  suspicion.settled = true;
  for (const Accuser& accuser : suspicion.accusers) Unname(accuser.id);
}

void Suspicions::Forget(PeerId row) {
  const auto it = by_row_.find(row);
  if (it == by_row_.end()) return;
  Close(row, it->second);
  by_row_.erase(it);
  versions_.Changed(row);
}

}  // namespace nekton
