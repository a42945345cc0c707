#include "stm/trails.h"

#include <algorithm>
#include <tuple>

namespace nekton {

bool Trails::Trail::Knows(std::uint64_t value) const {
  return std::find(nonces.begin(), nonces.begin() + nonce_count, value) != nonces.begin() + nonce_count;
}

void Trails::Trail::Take(const Observation& observation, WallTime when) {
  if (observation.epoch != epoch) nonce_count = nonce_at = 0;
  epoch = observation.epoch;
  sequence = observation.sequence;
  nonce = observation.nonce;
  stamp = when;
  signal = observation.signal;
  nonces[nonce_at] = nonce;
  nonce_at = static_cast<std::uint8_t>((nonce_at + 1) % kNonces);
  if (nonce_count < kNonces) ++nonce_count;
}

Outcome Trails::Admit(List& list, const Observation& observation, WallTime stamp, PeerId* displaced, bool* added) {
  *displaced = kNoPeer;
  *added = false;
  std::uint32_t before = kEnd;
  std::uint32_t at = list.head;
  while (at != kEnd && links_[at].observer != observation.observer) {
    before = at;
    at = links_[at].next;
  }
  Outcome outcome = Outcome::kApplied;
  if (at == kEnd) {
    const bool outside = observation.timestamp.has_value();
    if (outside && stamp <= list.floor) return Outcome::kStale;
    if (outside && observation.signal == Signal::kHealthy && stamp < list.born) return Outcome::kStale;
    if (list.size == kObservers) MakeRoom(list, displaced);
    at = New(observation.observer);
    pool_[at].own = !observation.timestamp.has_value();
    links_[at].next = list.head;
    list.head = at;
    ++list.size;
    *added = true;
  } else {
    const Trail& last = pool_[at];
    if (observation.epoch == last.epoch && last.Knows(observation.nonce)) return Outcome::kDuplicate;
    const auto key = std::tuple(observation.epoch, observation.sequence, stamp, observation.nonce);
    if (key <= std::tuple(last.epoch, last.sequence, last.stamp, last.nonce)) return Outcome::kOutOfOrder;
    const bool again = observation.epoch == last.epoch && observation.sequence == last.sequence;
    if (again && observation.signal == last.signal) outcome = Outcome::kSuperseded;
    if (before != kEnd) {
      links_[before].next = links_[at].next;
      links_[at].next = list.head;
      list.head = at;
    }
  }
  pool_[at].Take(observation, stamp);
  pool_[at].doubt = list.doubt;
  return outcome;
}

std::uint32_t& Trails::Part(List& list, std::uint32_t round) {
  Trail& trail = pool_[list.head];
  if (trail.part_round != round) trail.part = 0;
  trail.part_round = round;
  return trail.part;
}

bool Trails::Remove(List& list, PeerId observer, std::uint32_t round, std::uint32_t* part) {
  std::uint32_t before = kEnd;
  for (std::uint32_t at = list.head; at != kEnd; before = at, at = links_[at].next) {
    if (links_[at].observer != observer) continue;
    *part = pool_[at].part_round == round ? pool_[at].part : 0;
    Drop(list, before, at);
    return true;
  }
  return false;
}

bool Trails::OutsideAgainst(const List& list) const {
  for (std::uint32_t at = list.head; at != kEnd; at = links_[at].next) {
    const Trail& trail = pool_[at];
    if (!trail.own && trail.signal != Signal::kHealthy && trail.doubt == list.doubt) return true;
  }
  return false;
}

// The one that was applied longest ago goes, our own last of all.
void Trails::MakeRoom(List& list, PeerId* displaced) {
  std::uint32_t before = kEnd;
  std::uint32_t victim = kEnd;
  std::uint32_t victim_before = kEnd;
  for (std::uint32_t at = list.head; at != kEnd; before = at, at = links_[at].next) {
    if (victim != kEnd && pool_[at].own && !pool_[victim].own) continue;
    victim = at;
    victim_before = before;
  }
  *displaced = links_[victim].observer;
  Drop(list, victim_before, victim);
}

void Trails::Drop(List& list, std::uint32_t before, std::uint32_t at) {
  if (!pool_[at].own) list.floor = std::max(list.floor, pool_[at].stamp);
  (before == kEnd ? list.head : links_[before].next) = links_[at].next;
  links_[at] = {kNoPeer, free_};
  free_ = at;
  --list.size;
  --in_use_;
}

std::uint32_t Trails::New(PeerId observer) {
  ++in_use_;
  std::uint32_t at = free_;
  if (at == kEnd) {
    at = static_cast<std::uint32_t>(pool_.size());
    pool_.emplace_back();
    links_.emplace_back();
  } else {
    free_ = links_[at].next;
    pool_[at] = {};
  }
  links_[at] = {observer, kEnd};
  return at;
}

}  // namespace nekton
