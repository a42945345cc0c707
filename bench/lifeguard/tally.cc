#include "bench/lifeguard/tally.h"

#include <algorithm>
#include <chrono>

#include "bench/common/group.h"

namespace nekton::bench {

Tally::Tally(std::uint32_t members, const std::vector<SimId>& sick)
    : members_(members),
      healthy_(members),
      sick_(members, false),
      views_(std::size_t{members} * members, View::kActive),
      dead_at_(members, 0),
      suspected_(members, false),
      latest_(members) {
  for (const SimId id : sick) {
    sick_[id] = true;
    --healthy_;
  }
}

void Tally::Begin(Duration now) {
  Close();
  began_ = now;
  lasts_ = true;
  for (SimId id = 0; id < members_; ++id) {
    if (!sick_[id]) continue;
    ++anomalies_;
    latest_[id] = {.counts = dead_at_[id] == 0};
  }
}

void Tally::End() { lasts_ = false; }

void Tally::Finish() {
  End();
  Close();
  began_.reset();
}

void Tally::Close() {
  if (!began_) return;
  for (SimId id = 0; id < members_; ++id) {
    if (!sick_[id]) continue;
    removed_ += latest_[id].removed ? 1 : 0;
    missed_ += latest_[id].counts && !latest_[id].noticed ? 1 : 0;
  }
}

void Tally::Saw(Duration at, SimId observer, const Event& event) {
  const SimId subject = SubjectOf(event);
  if (subject >= members_ || observer >= members_) return;
  switch (event.kind) {
    case EventKind::kSuspected:
      suspected_[subject] = true;
      return Set(observer, subject, View::kSuspect);
    case EventKind::kFailed:
      return Failed(at, observer, subject);
    case EventKind::kJoined:
    case EventKind::kRecovered:
    case EventKind::kRestarted:
      return Set(observer, subject, View::kActive);
    case EventKind::kLeft:
    case EventKind::kReplaced:
      return Set(observer, subject, View::kDead);
    default:
      return;
  }
}

void Tally::Set(SimId observer, SimId subject, View view) {
  View& held = ViewOf(observer, subject);
  if (held == view) return;
  troubled_ += held == View::kActive ? 1 : 0;
  troubled_ -= view == View::kActive ? 1 : 0;
  if (!sick_[observer]) {
    dead_at_[subject] += view == View::kDead ? 1 : 0;
    dead_at_[subject] -= held == View::kDead ? 1 : 0;
  }
  held = view;
}

void Tally::Failed(Duration at, SimId observer, SimId subject) {
  Set(observer, subject, View::kDead);
  if (!sick_[subject]) {
    ++false_positives_;
    false_positives_at_healthy_ += sick_[observer] ? 0 : 1;
    return;
  }
  if (sick_[observer] || !began_) return;
  Anomaly& anomaly = latest_[subject];
  anomaly.removed = true;
  if (!lasts_ || !anomaly.counts) return;
  const double after = std::chrono::duration<double>(at - *began_).count();
  if (!anomaly.noticed) first_.push_back(after);
  anomaly.noticed = true;
  if (dead_at_[subject] < healthy_ || anomaly.everywhere) return;
  anomaly.everywhere = true;
  full_.push_back(after);
}

std::uint32_t Tally::healthy_suspected() const {
  std::uint32_t count = 0;
  for (SimId id = 0; id < members_; ++id) count += suspected_[id] && !sick_[id] ? 1 : 0;
  return count;
}

}  // namespace nekton::bench
