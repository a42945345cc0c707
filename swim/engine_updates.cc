// News about members: which of two pieces holds, what the STM makes of it, and what follows from that.
//
// Precedence: (generation, incarnation) first; at equal keys left > dead > suspect > alive. A confirm (dead) is the word
// of the observers that it names (rule C; the SWIM paper obeys every confirm): what that does to the member's hold is
// the STM's (stm/stm.h, Verdict). What is older than ours is answered with ours (rule F).
#include <algorithm>
#include <utility>

#include "swim/engine_impl.h"
#include "swim/wire.h"

namespace nekton {

void Engine::Impl::ApplyUpdates(Outbox& out, std::span<const std::byte> updates, Source source) {
  UpdateReader reader(updates);
  Update update;
  while (phase_ != Phase::kGone && reader.Next(&update)) ApplyUpdate(out, update, source);
  counters_[Counter::kUpdatesUnknownKind] += reader.unknown();
  heard_parts_.Clear();
  if (reader.parts() != 0) ApplyParts(out, updates, source);
}

// No counter may be driven to its end by one forged or broken number.
bool Engine::Impl::IsGeneration(std::uint64_t generation, PeerId row) const {
  const std::uint64_t known = row == kNoPeer ? 0 : table_[row].key.generation;
  const auto wall_ms = static_cast<std::uint64_t>(std::max<std::int64_t>(
      0, std::chrono::duration_cast<std::chrono::milliseconds>(now_.wall.time_since_epoch()).count()));
  const std::uint64_t base = std::max({wall_ms, known, config_.generation, host_generation_});
  return generation <= base || generation - base <= kGenerationAheadMax;
}

bool Engine::Impl::Plausible(const Update& update, PeerId row) const {
  if (!IsGeneration(update.key.generation, row)) return false;
  const LifeKey known = row == kNoPeer ? LifeKey{} : table_[row].key;
  const std::uint64_t base = update.key.generation == known.generation ? known.incarnation : 0;
  return update.key.incarnation <= base || update.key.incarnation - base <= kIncarnationJumpMax;
}

void Engine::Impl::ApplyUpdate(Outbox& out, const Update& update, Source source) {
  const bool accuses = update.kind == UpdateKind::kSuspect || update.kind == UpdateKind::kDead;
  const std::uint64_t hash = accuses ? Echoes::Hash(update, config_.seed) : 0;
  if (accuses && !IsOld(update) && echoes_.Has(hash, [this](PeerId subject) { return VersionOf(subject); })) {
    ++counters_[Counter::kUpdatesKnown];
    return;
  }
  const PeerId row = table_.FindName(update.name);
  if (!Plausible(update, row)) {
    ++counters_[Counter::kUpdatesRefused];
    return;
  }
  if (row == kSelf) return ApplyAboutSelf(out, update);
  // Nothing brings back a life that was expelled.
  const bool gone = update.kind == UpdateKind::kDead || update.kind == UpdateKind::kLeft;
  if (!gone && IsExpelled(update.name, update.key.generation)) {
    ++counters_[Counter::kUpdatesStale];
    if (row != kNoPeer) AnswerLater(row);
    return;
  }
  if (row == kNoPeer) return ApplyUnknown(out, update, source);
  const LifeKey known = table_[row].key;
  if (update.key < known) {
    ++counters_[Counter::kUpdatesStale];
    AnswerLater(row);
  } else if (update.key.generation > known.generation) {
    ApplyNewLife(out, row, update, source);
  } else if (update.key > known) {
    ApplyNewer(out, row, update, source);
  } else if (ApplySame(out, row, update, source)) {
    echoes_.Put(hash, row, VersionOf(row));
  }
}

// Only the member itself refutes: with an incarnation above the accusation's.
void Engine::Impl::ApplyAboutSelf(Outbox& out, const Update& update) {
  const Row& self = table_[kSelf];
  if (update.key.generation > self.key.generation) {
    // Our own former life with a clock ahead of ours, which we come back from, or another process that took our name?
    if (update.address == self.address || !joined_) {
      BecomeGeneration(update.key.generation + 1);
      AnswerLater(kSelf);
    } else {
      Displaced(out, update);
    }
    return;
  }
  if (OnProbation()) return HoldBack(update);
  if (update.kind == UpdateKind::kDead && update.key.generation == self.key.generation &&
      config_.rules.earn_the_return && !config_.beats()) {
    probation_.Condemned(now_.boot, update.key.incarnation);
    if (OnProbation()) return HoldBack(update);
  }
  if (update.key.generation < self.key.generation || update.key.incarnation < self.key.incarnation) {
    ++counters_[Counter::kUpdatesStale];
    probation_.Refuted(now_.boot);  // by what we answer
    AnswerLater(kSelf);
    return;
  }
  // Two processes started in one millisecond: the larger address has the name.
  if (update.kind == UpdateKind::kAlive && update.address != self.address && phase_ == Phase::kRunning) {
    if (!joined_) BecomeGeneration(self.key.generation + 1);
    if (joined_ && update.address > self.address) return Displaced(out, update);
    if (joined_ && update.key.incarnation > self.key.incarnation) Refute(out, update.key.incarnation, nullptr);
    AnswerLater(kSelf);
    return;
  }
  const bool claimed_ahead = update.kind == UpdateKind::kAlive && update.key.incarnation > self.key.incarnation;
  if (phase_ == Phase::kLeaving || (update.kind == UpdateKind::kAlive && !claimed_ahead)) {
    ++counters_[Counter::kUpdatesKnown];
    return;
  }
  // Where heartbeats or a join revive, and no refutation does, one would only be answered with the next verdict.
  if (update.kind == UpdateKind::kDead && config_.beats() && config_.revive != Revive::kRefutation) {
    buried_ = JoinOnly();
    ++counters_[Counter::kUpdatesKnown];
    return;
  }
  if (claimed_ahead && !joined_ && update.address == self.address) {
    // We have claimed nothing yet: a former life of ours had this generation.
    BecomeGeneration(self.key.generation + 1);
  } else {
    Refute(out, update.key.incarnation, &update);
  }
  AnswerLater(kSelf);
}

// Rule I: we were declared dead again, and our own link has not proved itself since. A goodbye waits for nothing.
bool Engine::Impl::OnProbation() const { return phase_ == Phase::kRunning && probation_.Waits(now_.boot); }

// Until then nothing that is said of us is answered, and our news revives us nowhere. What we claim when we come back has
// to be above all of it.
void Engine::Impl::HoldBack(const Update& update) {
  ++counters_[Counter::kRefutationsHeldBack];
  news_.Drop(kSelf);
  if (update.key > table_[kSelf].key) table_.SetKey(kSelf, update.key);
}

// Nobody may be left who would tell us of our death, so we do not wait for that.
void Engine::Impl::ReturnIfDue(Outbox& out) {
  if (phase_ != Phase::kRunning || !probation_.condemned() || OnProbation()) return;
  Refute(out, table_[kSelf].key.incarnation, nullptr);
}

void Engine::Impl::Refute(Outbox& out, std::uint64_t incarnation, const Update* accusation) {
  ++counters_[Counter::kRefutations];
  if (accusation != nullptr) health_.Worse();
  slept_long_ = false;
  probation_.Refuted(now_.boot);
  if (incarnation < kIncarnationJumpMax) {
    table_.SetKey(kSelf, {table_[kSelf].key.generation, incarnation + 1});
    news_.Put(kSelf);
  } else {  // who does not know us yet would refuse it; a new generation begins at 0
    BecomeGeneration(table_[kSelf].key.generation + 1);
  }
  Cause cause;
  cause.transition = Transition::kRefuted;
  if (accusation != nullptr && out.wants_events()) {
    for (std::size_t i = 0; i < accusation->accuser_count; ++i) {
      const PeerId accuser = table_.FindId(accusation->accusers[i].id);
      if (accuser != kNoPeer) cause.observers.push_back(table_[accuser].who->name);
    }
  }
  Emit(out, EventKind::kAccused, kSelf, MemberStatus::kActive, std::move(cause));
}

void Engine::Impl::BecomeGeneration(std::uint64_t generation) {
  probation_ = {};
  table_.SetKey(kSelf, {generation, 0});
  news_.Put(kSelf);
}

void Engine::Impl::Displaced(Outbox& out, const Update& update) {
  Cause cause;
  cause.transition = Transition::kReplaced;
  Emit(out, EventKind::kDisplaced, kSelf, MemberStatus::kActive, std::move(cause), update.address);
  const absl::Status cancelled = absl::CancelledError("another process has our name");
  EndJoinCalls(out, &cancelled);
  phase_ = Phase::kGone;
}

void Engine::Impl::ApplyUnknown(Outbox& out, const Update& update, Source source) {
  if (!YieldAddress(out, update)) return;
  const bool dead = update.kind == UpdateKind::kDead || update.kind == UpdateKind::kLeft;
  if (dead && update.age >= config_.forget_after) return;  // forgotten everywhere by now
  const MemberStatus status = !dead                              ? MemberStatus::kActive
                              : update.kind == UpdateKind::kLeft ? MemberStatus::kLeft
                                                                 : MemberStatus::kInactive;
  if (config_.beats() && table_.full() && !dead) {  // tombstones last a day there
    if (const PeerId oldest = OldestTombstone(); oldest != kNoPeer) ForgetRow(out, oldest);
  }
  const PeerId row = table_.Add(update.name, update.address, update.key, status, random_);
  if (row == kNoPeer) {
    ++counters_[Counter::kMembersRefused];
    return;
  }
  phi_->Reserve(table_.capacity());
  isolation_.Met();
  ++counters_[Counter::kUpdatesApplied];
  TakeDetails(row, update);
  PassOn(row, source);
  if (status != MemberStatus::kLeft) OpenLink(row);
  if (dead) {  // a tombstone, so that nothing older brings it in; nobody is told
    stm_.Bury(now_, row, update.key);
    MergeAccusers(row, update);
    suspicions_.Settle(row);
    SetTombstone(row, update.age);
    if (status == MemberStatus::kInactive) dead_.push_back(row);
    return;
  }
  NoticesOf(row);
  Unsettle();
  Emit(out, EventKind::kJoined, row, MemberStatus::kActive, {});
  if (update.kind == UpdateKind::kSuspect) ApplyAccusation(out, row, update, source);
}

// A higher generation: the process was started again, whatever the group believed of its predecessor.
void Engine::Impl::ApplyNewLife(Outbox& out, PeerId row, const Update& update, Source source) {
  if (update.kind == UpdateKind::kLeft) return ApplyLeft(out, row, update, source);
  const MemberStatus before = table_[row].status;
  const bool gone = before == MemberStatus::kInactive || before == MemberStatus::kLeft;
  if (gone && update.kind != UpdateKind::kAlive) {  // an accusation revives nobody; what we store rises all the same,
    // but for one that left: its next life did not.
    if (before == MemberStatus::kInactive) table_.SetKey(row, update.key);
    ++counters_[Counter::kUpdatesApplied];
    return;
  }
  if (update.kind != UpdateKind::kAlive && !HasWitness(row, update)) {
    ++counters_[Counter::kUpdatesKnown];
    return;
  }
  if (!TakeAddress(out, row, update)) return;
  ++counters_[Counter::kUpdatesApplied];
  former_generation_ = FormerGeneration(row);
  suspicions_.Withdraw(table_[row].id);
  table_.SetKey(row, update.key);
  TakeDetails(row, update);
  rounds_.Forget(row);
  Unlearn(row);
  OpenLink(row);
  suspicions_.Forget(row);
  stm_.Restarted(now_, row, update.key, changes_);
  NoticesOf(row);
  Commit(out);
  RestartWatches(out, row);
  PassOn(row, source);
  if (update.kind != UpdateKind::kAlive) ApplyAccusation(out, row, update, source);
}

// Of the life that the STM speaks of; the table may have heard of a later one by an accusation.
std::uint64_t Engine::Impl::FormerGeneration(PeerId row) const {
  const std::uint64_t judged = stm_.KeyOf(row).generation;
  return judged == 0 ? table_[row].key.generation : judged;
}

// The same life at a higher incarnation.
void Engine::Impl::ApplyNewer(Outbox& out, PeerId row, const Update& update, Source source) {
  if (update.kind == UpdateKind::kLeft) return ApplyLeft(out, row, update, source);
  const MemberStatus before = table_[row].status;
  if (update.kind == UpdateKind::kAlive) {
    // We heard of this life first by an accusation, which revives nobody: it is a restart all the same.
    if (FormerGeneration(row) < update.key.generation) return ApplyNewLife(out, row, update, source);
    const bool moved = table_[row].address != update.address;
    const bool retagged = update.detailed && table_[row].who->tags != update.tags;
    if (!TakeAddress(out, row, update)) return;
    ++counters_[Counter::kUpdatesApplied];
    table_.SetKey(row, update.key);
    TakeDetails(row, update);
    RefutedDuringRound(row);
    // Where its own silence stands against it here, what others pass on does not end that.
    if (!Convicted(row)) {
      stm_.Refute(now_, row, update.key, changes_);
      Commit(out);
    }
    const bool present = before == MemberStatus::kActive || before == MemberStatus::kSuspect;
    if (present && (moved || retagged)) Emit(out, EventKind::kUpdated, row, table_[row].status, {});
    PassOn(row, source);
    return;
  }
  if (before == MemberStatus::kInactive || before == MemberStatus::kLeft) {
    table_.SetKey(row, update.key);
    ++counters_[Counter::kUpdatesApplied];
    return;
  }
  if (!HasWitness(row, update)) {
    ++counters_[Counter::kUpdatesKnown];
    return;
  }
  suspicions_.Forget(row);  // it had refuted what we knew of: confirmers start anew
  table_.SetKey(row, update.key);
  RefutedDuringRound(row);
  ApplyAccusation(out, row, update, source);
}

// Returns whether it was an accusation or a verdict whose copies will tell nothing either.
bool Engine::Impl::ApplySame(Outbox& out, PeerId row, const Update& update, Source source) {
  const MemberStatus status = table_[row].status;
  switch (update.kind) {
    case UpdateKind::kAlive:
      // The key was heard of by an accusation first, or by news that was too small for tags.
      if (update.detailed && !table_[row].detailed) {
        const bool changed = table_[row].who->tags != update.tags || table_[row].address != update.address;
        if (!TakeAddress(out, row, update)) return false;
        TakeDetails(row, update);
        if (changed && table_.IsAlive(row)) Emit(out, EventKind::kUpdated, row, status, {});
        PassOn(row, source);
      }
      if (update.address > table_[row].address && status != MemberStatus::kLeft) {  // see ApplyAboutSelf
        if (!TakeAddress(out, row, update)) return false;
        if (table_.IsAlive(row)) Emit(out, EventKind::kUpdated, row, status, {});
        PassOn(row, source);
      } else if (update.address != table_[row].address) {
        AnswerLater(row);
      }
      if (status != MemberStatus::kActive && (status != MemberStatus::kSuspect || HoldRuns(row))) AnswerLater(row);
      ++counters_[Counter::kUpdatesKnown];
      return false;
    case UpdateKind::kSuspect:
    case UpdateKind::kDead:
      if (status == MemberStatus::kLeft || (status == MemberStatus::kInactive && update.kind == UpdateKind::kSuspect)) {
        ++counters_[Counter::kUpdatesStale];
        AnswerLater(row);
        return false;
      }
      if (status != MemberStatus::kInactive) return ApplyAccusation(out, row, update, source);
      ++counters_[Counter::kUpdatesKnown];
      NoticeAge(row, update);
      return true;
    case UpdateKind::kLeft:
      if (status == MemberStatus::kLeft) {
        ++counters_[Counter::kUpdatesKnown];
        NoticeAge(row, update);
      } else {
        ApplyLeft(out, row, update, source);
      }
      return false;
  }
  return false;
}

// Does an accusation name anybody whose word counts here?
bool Engine::Impl::HasWitness(PeerId row, const Update& update) const {
  return std::any_of(update.accusers.begin(), update.accusers.begin() + update.accuser_count, [&](const Accuser& a) {
    const PeerId observer = table_.FindId(a.id);
    return observer != kSelf && observer != row && Confidence(observer) != 0;
  });
}

// A suspicion or a confirm about an ACTIVE or SUSPECT member at our key: each named observer's word by its weight.
// Returns what ApplySame does.
bool Engine::Impl::ApplyAccusation(Outbox& out, PeerId row, const Update& update, Source source) {
  const LifeKey key = table_[row].key;
  const auto hold_before = stm_.HoldOf(row);
  const bool was_running = hold_before.has_value() && hold_before->running && hold_before->key == key;
  const HoldTerms terms = Terms();
  bool heard = false;
  bool named = false;
  bool believed = false;
  for (std::size_t i = 0; i < update.accuser_count; ++i) {
    const Accuser& accuser = update.accusers[i];
    const PeerId observer = table_.FindId(accuser.id);
    if (observer == kSelf) continue;
    const Word word{observer, accuser.refused};
    const Outcome outcome = update.kind == UpdateKind::kDead ? stm_.Verdict(now_, row, key, word, terms, changes_)
                                                             : stm_.Rumour(now_, row, key, word, terms, changes_);
    heard |= outcome == Outcome::kApplied;
    if (outcome != Outcome::kFull && (observer == kNoPeer || !stm_.Accuses(observer, row))) continue;
    believed = true;
    named |= suspicions_.Merge(row, accuser);
  }
  const bool begun = !was_running && HoldRuns(row);
  const bool changed = !changes_.empty() || begun || named;
  // The question comes before the end that this may have brought forward. One that is due looks for itself.
  if (begun) questions_.Forget(row);
  if (begun || (was_running && row_timers_.Get(row) > now_.boot)) ScheduleQuestion(row);
  ++counters_[changed ? Counter::kUpdatesApplied : Counter::kUpdatesKnown];
  Commit(out);
  if (update.kind == UpdateKind::kDead) NoticeAge(row, update);
  if (changed) PassOn(row, source);
  if (begun) Corroborate(out, row, update);
  if (!believed && !HoldRuns(row)) {
    LookOurselves(row);
    return false;
  }
  return !changed && !heard;  // what moved the STM alone may have displaced another of these words
}

// Somebody accuses it, and nobody whose word counts here stands behind that: our own round decides, in the next period,
// for a round needs a whole one. (Else a member that was cut off while another died, and whose accusers have gone since,
// would learn it only by its own turn.)
void Engine::Impl::LookOurselves(PeerId row) {
  if (config_.beats()) return;
  if (looks_.size() < kExtraRoundsMax && std::find(looks_.begin(), looks_.end(), row) == looks_.end()) {
    looks_.push_back(row);
  }
}

void Engine::Impl::ApplyLeft(Outbox& out, PeerId row, const Update& update, Source source) {
  ++counters_[Counter::kUpdatesApplied];
  const MemberStatus before = table_[row].status;
  const bool was_dead = before == MemberStatus::kInactive;
  if (update.key > table_[row].key) table_.SetKey(row, update.key);
  stm_.Left(now_, row, update.key, changes_);
  changes_.clear();  // its change is told below, as what it is
  table_.SetStatus(row, MemberStatus::kLeft, random_);
  CloseLink(row);
  rounds_.Forget(row);
  suspicions_.Forget(row);
  suspicions_.Withdraw(table_[row].id);
  std::erase(dead_, row);
  if (was_dead) {  // an earlier verdict goes on counting
    NoticeAge(row, update);
  } else {
    SetTombstone(row, update.age);
  }
  Cause cause;
  cause.transition = Transition::kLeft;
  if (before != MemberStatus::kLeft) Emit(out, EventKind::kLeft, row, before, std::move(cause));
  CloseWatches(out, row, "it left");
  PassOn(row, source);
}

// An alive of a known member may come from a new address of its own.
bool Engine::Impl::TakeAddress(Outbox& out, PeerId row, const Update& update) {
  if (table_[row].address == update.address) return true;
  if (!YieldAddress(out, update)) return false;
  table_.SetAddress(row, update.address);
  return true;
}

// Two names cannot live at one address: the later started one is there. False: the update speaks of the earlier one.
bool Engine::Impl::YieldAddress(Outbox& out, const Update& update) {
  if (update.kind == UpdateKind::kDead || update.kind == UpdateKind::kLeft) return true;
  const PeerId owner = table_.FindAddress(update.address);
  if (owner == kNoPeer || table_[owner].who->name == update.name) return true;
  const MemberStatus status = table_[owner].status;
  if (status != MemberStatus::kActive && status != MemberStatus::kSuspect) return true;
  const bool later = update.key.generation > table_[owner].key.generation ||
                     (update.key.generation == table_[owner].key.generation && update.name > table_[owner].who->name);
  if (!later || owner == kSelf) {
    ++counters_[Counter::kUpdatesRefused];
    return false;
  }
  stm_.Replaced(now_, owner, table_[owner].key, changes_);
  Commit(out);
  return true;
}

void Engine::Impl::TakeDetails(PeerId row, const Update& update) {
  if (update.kind == UpdateKind::kAlive && update.detailed) {
    table_.SetDetails(row, update.tags, update.version_min, update.version_max);
  }
}

void Engine::Impl::MergeAccusers(PeerId row, const Update& update) {
  for (std::size_t i = 0; i < update.accuser_count; ++i) suspicions_.Merge(row, update.accusers[i]);
}

std::uint32_t Engine::Impl::Confidence(PeerId observer) const {
  if (observer == kNoPeer) return 0;
  return table_[observer].status == MemberStatus::kActive || !config_.rules.doubt_the_doubted ? 1 : 0;
}

// What a joiner learns from its sync is news to nobody else.
void Engine::Impl::PassOn(PeerId row, Source source) {
  if (source == Source::kNews) news_.Put(row);
}

}  // namespace nekton
