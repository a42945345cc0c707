// The heartbeats between us and one other member: what was sent, what was heard, and what that proves in each direction.
//
// It keeps what happened and judges nothing: the deadlines are a detector's. Not thread-safe; a plain value.
// Source: heartbeat-and-stm (HB), "bidirectional AND-gate". HB's pseudo-code compares what was acknowledged with the
// *newest* heartbeat sent, and so would doubt a member after every send until its echo; here, as in HB's prose, the
// newest acknowledged one must itself have been sent within the deadline. (Then its acknowledgement was received within
// the deadline, too.)
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "phi/time.h"

namespace nekton {

class Link {
 public:
  // Both directions count as proven at `now`: the grace of a member that we have just heard of. Our sequences go on after
  // `sent`: it may remember us, and then lower ones would prove nothing to it.
  explicit Link(Instant now = {}, std::uint32_t sent = 0) : heard_(now), reached_(now), sent_(sent) {}

  // The same life is let in again, and has its grace. The sequences go on both ways: the other end may have kept its own.
  void Renew(Instant now) {
    heard_ = reached_ = now;
    VoidInterval();
  }

  // The sequence of a heartbeat that goes out now: one more each time.
  std::uint32_t Send(Instant now) {
    ++sent_;
    log_[sent_ % kLog] = now;
    return sent_;
  }
  std::uint32_t sent() const { return sent_; }  // 0: none yet

  // Any frame that proves it alive.
  void Heard(Instant now) { heard_ = now; }

  // What a heartbeat of its own tells about its rhythm.
  struct Interval {
    Instant opened{};         // since when it was awaited
    std::uint32_t beats = 0;  // so many were due by then; 0: there is no interval, for it was the first or an extra one
  };
  // A heartbeat of its own; `extra`: outside its rhythm. None: it is not newer than all before, so it proves nothing and
  // changes nothing.
  std::optional<Interval> HeardBeat(std::uint32_t sequence, bool extra, Instant now) {
    if (sequence <= watermark_) return std::nullopt;
    lost_ += sequence - watermark_ - 1;
    watermark_ = sequence;
    heard_ = now;
    if (extra) return Interval{};
    Interval interval{rhythm_, rhythm_ == kNone ? 0 : lost_ + 1};
    rhythm_ = now;
    lost_ = 0;
    return interval;
  }
  std::uint32_t watermark() const { return watermark_; }  // the highest sequence heard; 0: none yet

  // What its heartbeat says of ours. False: it says nothing new, or what cannot be (of a former life of ours).
  bool Acknowledged(std::uint32_t watermark) {
    if (watermark <= acknowledged_ || watermark > sent_) return false;
    acknowledged_ = watermark;
    if (sent_ - watermark < kLog) reached_ = std::max(reached_, log_[watermark % kLog]);
    return true;
  }
  std::uint32_t acknowledged() const { return acknowledged_; }  // 0: it never acknowledged one

  Instant heard() const { return heard_; }      // when it was last proven alive: the open expectation
  Instant reached() const { return reached_; }  // when the newest heartbeat of ours that it acknowledged was sent

  // We did not run for so long: that time counts in no expectation.
  void Excuse(Duration pause) {
    heard_ = Later(heard_, pause);
    reached_ = Later(reached_, pause);
    if (rhythm_ != kNone) rhythm_ = Later(rhythm_, pause);
    for (Instant& sent : log_) sent = Later(sent, pause);
  }
  // It was given up meanwhile: the gap up to its next heartbeat is no interval.
  void VoidInterval() { rhythm_ = kNone; }

 private:
  static constexpr std::uint32_t kLog = 4;
  static constexpr Instant kNone = Instant::min();

  Instant heard_;
  Instant rhythm_ = kNone;  // its last heartbeat that was not an extra one
  Instant reached_;
  std::array<Instant, kLog> log_{};  // when the last ones were sent, by sequence
  std::uint32_t sent_;
  std::uint32_t acknowledged_ = 0;
  std::uint32_t watermark_ = 0;
  std::uint32_t lost_ = 0;  // since the last one in rhythm
};

}  // namespace nekton
