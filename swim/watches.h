// The members that we watch, by row, and when something is due for each.
//
// At most kMax; whoever adds one looks first. Not thread-safe; movable. Allocates only when a watch is opened.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "stm/deadlines.h"
#include "stm/state.h"
#include "swim/watched_member.h"

namespace nekton {

class Watches {
 public:
  static constexpr std::size_t kMax = 64;

  WatchedMember* Find(PeerId row) {
    const auto it = Position(row);
    return it == entries_.end() ? nullptr : it->second.get();
  }
  bool full() const { return entries_.size() >= kMax; }
  std::size_t size() const { return entries_.size(); }

  // In place of the one of this row, if there is one; else it must not be full. It is due at once: to ask.
  WatchedMember& Open(PeerId row, Duration interval, std::vector<double> thresholds, DetectorKind detector,
                      Instant now) {
    // Where the pulses of a watch begin is ours to say. Of one member, a later watch begins above an earlier one.
    base_ += kBase;
    Close(row);
    auto made = std::make_unique<WatchedMember>(Plan(interval, std::move(thresholds)), detector, base_, now);
    timers_.Set(row, now);
    return *entries_.emplace_back(row, std::move(made)).second;
  }
  void Close(PeerId row) {
    const auto it = Position(row);
    if (it == entries_.end()) return;
    entries_.erase(it);
    timers_.Cancel(row);
  }

  // To be called after a change of the watch.
  void Schedule(PeerId row, const WatchedMember& watched) {
    timers_.Set(row, std::min(watched.NextLevel(), watched.NextAsk()));
  }
  Instant next() const { return timers_.empty() ? kNever : timers_.top().when; }
  PeerId first_due() const { return timers_.top().id; }  // of whom next() is; there must be one

  template <typename F>
  void ForEach(F f) {
    for (auto& [row, watched] : entries_) f(row, *watched);
  }

 private:
  using Entries = std::vector<std::pair<PeerId, std::unique_ptr<WatchedMember>>>;
  static constexpr std::uint32_t kBase = 1u << 20;

  Entries::iterator Position(PeerId row) {
    return std::find_if(entries_.begin(), entries_.end(), [row](const auto& entry) { return entry.first == row; });
  }

  // As others are watched already, or a new one.
  std::shared_ptr<WatchPlan> Plan(Duration interval, std::vector<double> thresholds) const {
    for (const auto& [row, watched] : entries_) {
      if (watched->plan()->Is(interval, thresholds)) return watched->plan();
    }
    return std::make_shared<WatchPlan>(interval, std::move(thresholds));
  }

  // What a watch takes, its plan apart: beside the detector's, its own and its places among the others.
  static_assert(PhiHeartbeat::kPeerBytes + sizeof(WatchedMember) + sizeof(Entries::value_type) +
                    sizeof(Deadlines::Entry) <=
                700);
  static_assert(kMax <= WatchPlan::kSeats);

  Entries entries_;
  Deadlines timers_;
  std::uint32_t base_ = 0;
};

}  // namespace nekton
