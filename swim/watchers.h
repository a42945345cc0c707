// The members that watch us: who gets a pulse, and when.
//
// A watcher is served until it has not asked for kLifetime intervals. At most kMax; one more is refused. Not
// thread-safe; movable. Allocates only while it grows beyond its largest size so far.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "phi/time.h"
#include "stm/deadlines.h"
#include "stm/state.h"
#include "swim/address.h"

namespace nekton {

struct Watcher {
  PeerId row = kNoPeer;
  Address address = {};  // where its last request came from
  Duration interval{};
  Instant next{};              // when its next pulse is due
  Instant end{};               // unless it asks again
  std::uint32_t sequence = 0;  // of its last pulse
  bool first = true;           // its next pulse begins a series
};

class Watchers {
 public:
  static constexpr std::size_t kMax = 64;
  static constexpr int kLifetime = 10;

  // It asks for pulses, or for more of them; those that it gets have sequences above `sequence`. A new one, and one that
  // wants another interval, is due at once. False: there is no room.
  bool Ask(PeerId row, const Address& from, Duration interval, std::uint32_t sequence, Instant now) {
    Watcher* watcher = Find(row);
    if (watcher == nullptr && watchers_.size() >= kMax) return false;
    if (watcher == nullptr) watcher = &watchers_.emplace_back(Watcher{.row = row, .sequence = sequence});
    if (watcher->interval != interval) {
      watcher->interval = interval;
      watcher->next = now;
      watcher->first = true;
    }
    if (static_cast<std::int32_t>(sequence - watcher->sequence) > 0) watcher->sequence = sequence;
    watcher->address = from;
    watcher->end = Later(now, kLifetime * interval);
    Schedule(*watcher);
    return true;
  }
  void Drop(PeerId row) {
    if (!timers_.Cancel(row)) return;
    watchers_.erase(std::find_if(watchers_.begin(), watchers_.end(), [row](const Watcher& w) { return w.row == row; }));
  }
  // We did not run for so long, and so may not have heard them.
  void Excuse(Duration pause) {
    for (Watcher& watcher : watchers_) {
      watcher.end = Later(watcher.end, pause);
      Schedule(watcher);
    }
  }

  std::size_t size() const { return watchers_.size(); }
  // When a pulse is due, or a watcher is dropped; kNever: nobody watches.
  Instant next() const { return timers_.empty() ? kNever : timers_.top().when; }
  // Calls send(watcher) for each whose pulse is due, and drops those that have not asked for too long.
  template <typename Send>
  void Due(Instant now, Send send) {
    while (next() <= now) {
      Watcher& watcher = *Find(timers_.top().id);
      if (watcher.end <= now) {
        Drop(watcher.row);
        continue;
      }
      ++watcher.sequence;
      send(watcher);
      watcher.first = false;
      watcher.next = watcher.next + watcher.interval > now ? watcher.next + watcher.interval : now + watcher.interval;
      Schedule(watcher);
    }
  }

 private:
  Watcher* Find(PeerId row) {
    const auto it = std::find_if(watchers_.begin(), watchers_.end(), [row](const Watcher& w) { return w.row == row; });
    return it == watchers_.end() ? nullptr : &*it;
  }
  void Schedule(const Watcher& watcher) { timers_.Set(watcher.row, std::min(watcher.next, watcher.end)); }

  std::vector<Watcher> watchers_;
  Deadlines timers_;
};

}  // namespace nekton
