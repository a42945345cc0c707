#include "swim/probe_rounds.h"

#include <algorithm>

namespace nekton {

ProbeRound* ProbeRounds::Open(PeerId target, std::uint64_t target_id, Instant start, Instant end) {
  for (std::uint32_t tries = 0; tries < kSlots; ++tries) {
    serial_ = (serial_ + 1) & kSerialMask;
    if (serial_ == 0) serial_ = 1;
    ProbeRound& round = slots_[serial_ % kSlots];
    if (round.phase == ProbeRound::Phase::kOpen) continue;
    open_ |= std::uint32_t{1} << serial_ % kSlots;
    round.phase = ProbeRound::Phase::kOpen;
    round.acked = round.failed = round.accusing = round.last_sent = round.refused = round.local_trouble = false;
    round.stream_first = round.in_turn = false;
    round.attempts = round.asked = 0;
    round.serial = serial_;
    round.target = target;
    round.target_id = target_id;
    round.start = start;
    round.next_attempt = start;
    round.end = end;
    round.stream = 0;
    round.answered = 0;
    next_due_ = std::min(next_due_, start);
    return &round;
  }
  return nullptr;
}

ProbeRound* ProbeRounds::Find(std::uint32_t sequence, std::uint32_t* attempt) {
  const std::uint32_t serial = sequence >> 3;
  ProbeRound& round = slots_[serial % kSlots];
  *attempt = sequence & 7;
  if (round.phase == ProbeRound::Phase::kFree || round.serial != serial || *attempt >= round.attempts) return nullptr;
  return &round;
}

ProbeRound* ProbeRounds::FindOpen(PeerId target) {
  ProbeRound* found = nullptr;
  ForEachOpen([&](ProbeRound& round) {
    if (found == nullptr && round.target == target) found = &round;
  });
  return found;
}

void ProbeRounds::Close(ProbeRound& round, Instant ack_until) {
  const bool first = std::min(round.next_attempt, round.end) <= next_due_;
  round.phase = ProbeRound::Phase::kClosed;
  open_ &= ~(std::uint32_t{1} << (round.serial % kSlots));
  round.end = ack_until;
  round.next_attempt = kNever;
  if (first) Reschedule();
}

void ProbeRounds::Forget(PeerId target) {
  for (ProbeRound& round : slots_) {
    if (round.target != target) continue;
    round.phase = ProbeRound::Phase::kFree;
    open_ &= ~(std::uint32_t{1} << (round.serial % kSlots));
    round.target = kNoPeer;
    round.next_attempt = kNever;
  }
  Reschedule();
}

void ProbeRounds::Reschedule() {
  next_due_ = kNever;
  ForEachOpen([this](const ProbeRound& round) { next_due_ = std::min({next_due_, round.next_attempt, round.end}); });
}

}  // namespace nekton
