// The heartbeats between us and one other member: what was sent, what was heard, and what that proves in each direction.
//
// It keeps what happened and judges nothing: the deadlines are a detector's. Not thread-safe; a plain value.
// Source: heartbeat-and-stm (HB), "bidirectional AND-gate". HB's pseudo-code compares what was acknowledged with the
// *newest* heartbeat sent, and so would doubt a member after every send until its echo; here, as in HB's prose, the
// newest acknowledged one must itself have been sent within the deadline. (Then its acknowledgement was received within
// the deadline, too.)
#pragma once

#include <array>
#include <cstdint>

#include "phi/time.h"

namespace nekton {

class Link {
 public:
  // Both directions count as proven at `now`: the grace of a member that we have just heard of.
  explicit Link(Instant now = {}) : heard_(now), rhythm_(now), reached_(now) {}

  // The sequence of a heartbeat that goes out now: one more each time, from 1.
  std::uint32_t Send(Instant now) {
    ++sent_;
    log_[sent_ % kLog] = {sent_, now};
    return sent_;
  }
  std::uint32_t sent() const { return sent_; }  // 0: none yet

  // Any frame that proves it alive.
  void Heard(Instant now) { heard_ = now; }
  // A heartbeat of its own; `extra`: outside its rhythm. Returns whether it is newer than all before: others prove
  // nothing, and nothing changes.
  bool HeardBeat(std::uint32_t sequence, bool extra, Instant now) {
    if (sequence <= watermark_) return false;
    lost_ += sequence - watermark_ - 1;
    watermark_ = sequence;
    heard_ = now;
    if (extra) return true;
    opened_ = rhythm_;
    rhythm_ = now;
    beats_ = started_ ? lost_ + 1 : 0;
    started_ = true;
    lost_ = 0;
    return true;
  }
  std::uint32_t watermark() const { return watermark_; }  // 0: none heard yet
  // The interval that the last heartbeat in rhythm ended: since when it was awaited, and how many were due; 0: it was the
  // first, or what came before it is void.
  Instant opened() const { return opened_; }
  std::uint32_t beats() const { return beats_; }

  // What its heartbeat says of ours. False: it says nothing new, or what cannot be (of a former life of ours).
  bool Acknowledged(std::uint32_t watermark) {
    if (watermark <= acknowledged_ || watermark > sent_) return false;
    acknowledged_ = watermark;
    const Sent& sent = log_[watermark % kLog];
    if (sent.sequence == watermark && sent.at > reached_) reached_ = sent.at;
    proven_ |= sent.sequence == watermark;
    return true;
  }
  std::uint32_t acknowledged() const { return acknowledged_; }

  Instant heard() const { return heard_; }      // when it was last proven alive: the open expectation
  Instant reached() const { return reached_; }  // when the newest heartbeat of ours that it acknowledged was sent
  bool reaches() const { return proven_; }      // it ever acknowledged one

  // We did not run for so long: that time counts in no expectation.
  void Excuse(Duration pause) {
    heard_ = Later(heard_, pause);
    rhythm_ = Later(rhythm_, pause);
    reached_ = Later(reached_, pause);
    for (Sent& sent : log_) sent.at = Later(sent.at, pause);
  }
  // It was given up meanwhile: the gap up to its next heartbeat is no interval.
  void VoidInterval() { started_ = false; }

 private:
  struct Sent {
    std::uint32_t sequence = 0;
    Instant at{};
  };
  static constexpr std::uint32_t kLog = 4;

  Instant heard_;
  Instant rhythm_;  // of its last heartbeat in rhythm
  Instant opened_{};
  Instant reached_;
  std::array<Sent, kLog> log_{};
  std::uint32_t sent_ = 0;
  std::uint32_t acknowledged_ = 0;
  std::uint32_t watermark_ = 0;
  std::uint32_t lost_ = 0;  // since the last one in rhythm
  std::uint32_t beats_ = 0;
  bool started_ = false;
  bool proven_ = false;
};

}  // namespace nekton
