// The addresses given to Join: tried again for ever, with backoff and jitter (architecture: every node alike).
//
// At most kMax; a further one is refused. Not thread-safe; movable.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "phi/time.h"
#include "swim/address.h"
#include "swim/random.h"

namespace nekton {

struct JoinAddress {
  Address address;
  Instant next{};      // when to try; kNever: an exchange is under way
  Duration backoff{};  // the last wait
  bool tried = false;  // `last` is the result of an attempt
  absl::StatusCode last = absl::StatusCode::kOk;
};

class JoinAddresses {
 public:
  static constexpr std::size_t kMax = 256;

  // Adds one to be tried at `now`, or has a known one tried again at once. False: full.
  bool Add(const Address& address, Instant now) {
    if (JoinAddress* known = Find(address); known != nullptr) {
      if (known->next != kNever) known->next = now;
      return true;
    }
    if (all_.size() == kMax) return false;
    all_.push_back({address, now, {}, false, absl::StatusCode::kOk});
    return true;
  }
  const JoinAddress* Find(const Address& address) const {
    const auto it = std::find_if(all_.begin(), all_.end(), [&](const JoinAddress& a) { return a.address == address; });
    return it == all_.end() ? nullptr : &*it;
  }
  JoinAddress* Find(const Address& address) { return const_cast<JoinAddress*>(std::as_const(*this).Find(address)); }
  std::vector<JoinAddress>& all() { return all_; }
  std::size_t size() const { return all_.size(); }
  std::size_t under_way() const {
    return static_cast<std::size_t>(
        std::count_if(all_.begin(), all_.end(), [](const JoinAddress& a) { return a.next == kNever; }));
  }
  // The one that has waited longest; of several the one that was added first. Null: an exchange is under way with each.
  JoinAddress* Earliest() {
    const auto it = std::min_element(all_.begin(), all_.end(),
                                     [](const JoinAddress& a, const JoinAddress& b) { return a.next < b.next; });
    return it == all_.end() || it->next == kNever ? nullptr : &*it;
  }
  Instant next() const {
    Instant next = kNever;
    for (const JoinAddress& one : all_) next = std::min(next, one.next);
    return next;
  }
  // The wait before the next try: doubling from min to max, then scaled by 0.5-1.5 (jitter).
  static Duration Backoff(JoinAddress& one, Duration min, Duration max, Random& random) {
    one.backoff = one.backoff == Duration{} ? min : std::min(one.backoff * 2, max);
    return one.backoff / 2 +
           Duration(static_cast<Duration::rep>(random.Unit() * static_cast<double>(one.backoff.count())));
  }

 private:
  std::vector<JoinAddress> all_;
};

}  // namespace nekton
