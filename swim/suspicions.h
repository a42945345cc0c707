// Who accuses whom, for the members that are SUSPECT or INACTIVE here. Not thread-safe; movable.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "phi/time.h"
#include "stm/state.h"
#include "stm/versions.h"
#include "swim/message.h"

namespace nekton {

struct Suspicion {
  bool own = false;               // a round of our own failed: we go on probing. Else we only heard of it
  bool settled = false;           // it is dead: history, which nobody takes back
  Instant verdict = kNever;       // the earliest of others that was heard of, if that was long ago
  std::vector<Accuser> accusers;  // sorted by id, at most the configured number
};

class Suspicions {
 public:
  // `accusers_max`: K + 1, at most kAccusersMax.
  explicit Suspicions(std::size_t accusers_max) : accusers_max_(accusers_max) {}

  const Suspicion* Find(PeerId row) const {
    const auto it = by_row_.find(row);
    return it == by_row_.end() ? nullptr : &it->second;
  }
  // Merges by union, keeping the lowest ids, so that order does not matter. True: something was new.
  bool Merge(PeerId row, const Accuser& accuser);
  // Takes back what one accuser said of one member,
  void Unsay(PeerId row, std::uint64_t accuser);
  // and of anybody that is not settled: its word counts no more, others need its place.
  void Withdraw(std::uint64_t accuser);
  void Forget(PeerId row);

  // Rises with everything after which a Merge() of this row that told nothing new could do so.
  std::uint64_t VersionOf(PeerId row) const { return versions_.of(row); }

  // Rows that we accuse ourselves, oldest first.
  const std::vector<PeerId>& own() const { return own_; }
  void MarkOwn(PeerId row);
  // Others held it dead at that time already.
  void NoteVerdict(PeerId row, Instant when) { by_row_[row].verdict = std::min(by_row_[row].verdict, when); }
  // It is INACTIVE; who accused it stays known.
  void Settle(PeerId row);

 private:
  void Unname(std::uint64_t accuser);
  void Close(PeerId row, Suspicion& suspicion);

  std::size_t accusers_max_;
  Versions versions_;
  absl::flat_hash_map<PeerId, Suspicion> by_row_;
  std::vector<PeerId> own_;
  absl::flat_hash_map<std::uint64_t, std::uint32_t> named_;  // accuser -> rows where it is kept
};

}  // namespace nekton
