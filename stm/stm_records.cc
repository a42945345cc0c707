// The records of the StateTransitionManager: who has one, whose word is in it, and what it tells.
#include <algorithm>

#include "stm/stm.h"

namespace nekton {

Stm::Record* Stm::Find(PeerId peer) {
  const auto found = slots_.find(peer);
  return found == slots_.end() ? nullptr : &records_[found->second];
}

const Stm::Record* Stm::Find(PeerId peer) const {
  const auto found = slots_.find(peer);
  return found == slots_.end() ? nullptr : &records_[found->second];
}

Stm::Record* Stm::Make(const Tick& now, PeerId peer, bool stranger) {
  if (!MakeRoom(stranger)) return nullptr;
  std::uint32_t slot = static_cast<std::uint32_t>(records_.size());
  if (free_.empty()) {
    records_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  slots_[peer] = slot;
  Record& record = records_[slot];
  record.peer = peer;
  record.stranger = stranger;
  record.trails.born = now.wall;
  strangers_ += stranger ? 1 : 0;
  return &record;
}

// Whoever speaks from outside can fill only half of the records, so there is always room for what we see ourselves.
bool Stm::MakeRoom(bool stranger) {
  const bool full = records() >= config_.max_records;
  if (!full && !(stranger && strangers_ >= config_.max_records / 2)) return true;
  Deadlines& idle = !idle_strangers_.empty() || stranger ? idle_strangers_ : idle_;
  if (idle.empty()) return false;
  Release(*Find(idle.top().id));
  ++counters_.records_displaced;
  return true;
}

void Stm::Release(Record& record) {
  versions_.Changed(record.peer);
  const PeerId peer = record.peer;
  holds_.Cancel(peer);
  IdleOf(record).Cancel(peer);
  strangers_ -= record.stranger ? 1 : 0;
  trails_.Clear(record.trails, [this](PeerId observer) { Unmention(observer); });
  for (const Witness& witness : record.witnesses.all()) Unmention(witness.observer);
  record = {};
  const auto found = slots_.find(peer);
  free_.push_back(found->second);
  slots_.erase(found);
}

void Stm::Forget(PeerId peer) {
  if (peer == kNoPeer) return;
  if (Record* record = Find(peer); record != nullptr) Release(*record);
  spared_.erase(peer);
  Withdraw(last_, peer);
  for (Record& record : records_) {  // its handle may soon be another's
    if (record.by == peer) record.by = kForgottenPeer;
    for (Remembered& said : record.recent) {
      if (said.observer == peer) said.observer = kForgottenPeer;
    }
  }
}

// We have evidence of our own, or a member's.
void Stm::Befriend(Record& record) {
  if (!record.stranger) return;
  const bool idle = idle_strangers_.Cancel(record.peer);
  record.stranger = false;
  --strangers_;
  if (idle) idle_.Set(record.peer, record.expires);
}

// A refutation or a new life makes what was said at the older key void.
bool Stm::Raise(Record& record, LifeKey newer) {
  if (newer <= record.key) return false;
  if (newer.generation != record.key.generation) {
    record.flaps = 0;
    if (record.state == State::kActive) ClearCount(record), record.against = 0;
  }
  record.key = newer;
  record.gone = false;
  for (const Witness& witness : record.witnesses.all()) Unmention(witness.observer);
  record.witnesses.Clear();
  return true;
}

// A replay from outside is told by the record for as long as its timestamp could pass: at exactly max_age it still can,
// and one that was ahead of our clock keeps it that much longer.
void Stm::Touch(const Tick& now, Record& record, WallTime stamp) {
  const Duration ahead = std::max(Duration::zero(), stamp - now.wall);
  record.expires = std::max(record.expires, Later(now.boot, config_.max_age + ahead + Duration(1)));
  if (record.state == State::kActive) IdleOf(record).Set(record.peer, record.expires);
}

void Stm::Remember(Record& record, const Remembered& what) {
  // A failed round is many alike at one instant, which must not push out what others said.
  Remembered& last = record.recent[(record.recent_at + kRecent - 1) % kRecent];
  if (last.weight > 0 && last.at == what.at && last.observer == what.observer && last.kind == what.kind &&
      last.signal == what.signal && last.reason == what.reason) {
    last.weight = Sum(last.weight, what.weight);
    return;
  }
  record.recent[record.recent_at] = what;
  record.recent_at = static_cast<std::uint8_t>((record.recent_at + 1) % kRecent);
}

void Stm::ClearCount(Record& record) {
  record.count = 0;
  ++record.round;
}

void Stm::ResetCounts(Record& record) {
  ClearCount(record);
  record.against = 0;
  EndDoubt(record);
}

void Stm::EndDoubt(Record& record) {
  record.witnesses.Retire();
  ++record.trails.doubt;
}

// ---- Whose word counts. ----

bool Stm::Counts(PeerId observer) const {
  if (observer == kNoPeer) return false;
  const Record* record = Find(observer);
  return record == nullptr || record->state == State::kActive || !config_.doubt_the_doubted;
}

void Stm::Unmention(PeerId observer) {
  const auto found = mentions_.find(observer);
  if (--found->second == 0) mentions_.erase(found);
}

void Stm::Withdraw(Instant now, PeerId observer) {
  if (!mentions_.contains(observer)) return;
  for (Record& record : records_) {
    if (record.peer != kNoPeer && TakeBack(now, record, observer)) ++counters_.taken_back;
  }
}

bool Stm::TakeBack(Instant now, Record& record, PeerId observer) {
  std::uint32_t part = 0;
  const bool trailed = trails_.Remove(record.trails, observer, record.round, &part);
  if (trailed) {
    record.count -= std::min(part, record.count);
    Unmention(observer);
    if (record.outside && !trails_.OutsideAgainst(record.trails)) {
      record.outside = false;
      Rehold(now, record);
    }
  }
  const bool witnessed = record.witnesses.Remove(observer);
  if (witnessed) {
    Unmention(observer);
    if (record.running) Rehold(now, record);
  }
  if (trailed || witnessed) versions_.Changed(record.peer);
  return trailed || witnessed;
}

// ---- What is known. ----

LifeKey Stm::KeyOf(PeerId peer) const {
  const Record* record = Find(peer);
  return record == nullptr ? LifeKey{} : record->key;
}

bool Stm::Accuses(PeerId observer, PeerId peer) const {
  const Record* record = Find(peer);
  return record != nullptr && record->witnesses.Counts(observer);
}

State Stm::StateOf(PeerId peer) const {
  const Record* record = Find(peer);
  return record == nullptr ? State::kActive : record->state;
}

std::optional<Stm::Hold> Stm::HoldOf(PeerId peer) const {
  const Record* record = Find(peer);
  if (record == nullptr || record->state != State::kSuspect) return std::nullopt;
  return Hold{record->since, record->running ? record->end : kNever, record->running, record->own, record->key};
}

Explanation Stm::Explain(const Tick& now, PeerId peer) const {
  Explanation why;
  why.peer = peer;
  why.at = now.boot;
  why.threshold = config_.demote_threshold;
  const Record* record = Find(peer);
  if (record == nullptr) return why;
  why.state = record->state;
  why.departed = record->gone;
  why.recorded = true;
  why.key = record->key;
  why.transition = record->transition;
  why.observer = record->by;
  why.since = std::max(Duration::zero(), now.boot - record->since);
  why.flaps = record->flaps;
  why.count = record->count;
  why.witnesses.assign(record->witnesses.all().begin(), record->witnesses.all().end());
  switch (record->state) {
    case State::kActive:
      why.count += std::uint64_t{record->witnesses.counting()} * config_.rumour_weight;
      break;
    case State::kSuspect:
      why.threshold = config_.promote_threshold;
      why.hold = Explanation::Hold{
          .running = record->running,
          .own = record->own,
          .outside = record->outside,
          .awaits_signal = record->awaits_signal,
          .left = record->running ? std::max(Duration::zero(), record->end - now.boot) : Duration::zero(),
          .confirmations = Named(*record) > 0 ? Named(*record) - 1 : 0,
          .confirmers = record->terms.confirmers,
          .refusals = record->witnesses.refused() + (record->own && record->own_refused ? 1 : 0),
          .condemned = Condemned(*record)};
      break;
    case State::kInactive:
      why.threshold = config_.recovery_threshold;
      why.revive = config_.revive;
      why.recovery_left = std::max(Duration::zero(), Later(record->since, config_.recovery_hold) - now.boot);
      break;
  }
  for (std::size_t i = 1; i <= kRecent; ++i) {
    const Remembered& r = record->recent[(record->recent_at + kRecent - i) % kRecent];
    if (r.weight == 0) break;
    why.recent.push_back({r.kind, r.signal, r.reason, r.observer, r.weight, r.at});
  }
  return why;
}

}  // namespace nekton
