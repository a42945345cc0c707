// The StateTransitionManager: the one place where a peer's authoritative state changes.
//
// Detectors, probe rounds, gossip and transports only observe; the STM debounces what they say and commits. A peer
// without a record is ACTIVE with nothing pending, so ten thousand healthy peers cost nothing. A record of an ACTIVE
// peer is kept for max_age after the last that was applied to it (as much longer as its timestamp was ahead of our
// clock) and goes one nanosecond later; a peer that is SUSPECT or INACTIVE keeps it until Forget.
//
// Four kinds of input:
//   signal      our own evidence, or an observation that the application hands in (Apply)
//   rumour      another member's committed SUSPECT
//   refutation  the subject's own alive at a higher (generation, incarnation)
//   verdict     another member's committed INACTIVE
// and the lifecycle: left, replaced, restarted, first heard of as dead.
//
//   state     kHealthy                        kSuspect                           kDead
//   ACTIVE    demote count = 0                demote count += weight;            SUSPECT at once, the hold starts;
//                                             at demote_threshold: SUSPECT,      never straight to INACTIVE
//                                             the hold starts
//   SUSPECT   promote count += weight; the    promote count = 0; the hold goes   as kSuspect
//             first cancels the hold; at      on, or starts again if cancelled
//             promote_threshold: ACTIVE
//   INACTIVE  promote count += weight; ACTIVE promote count = 0                  as kSuspect
//             when `revive` allows it
// SUSPECT -> INACTIVE is committed by time alone, in Advance.
//
// Where the source (heartbeat-and-stm, HB) contradicts itself, this is how it is read:
//   - Gates: HB lists duplicates before ages. Here the cheap and safe ones come first (see Apply).
//   - Order (T7): HB's pseudo-code compares observations of all observers with one key, and so would silence E8's
//     witnesses; here each observer has an order of its own.
//   - HB's pseudo-code returns before it records what committed a transition; here that is recorded like everything
//     else, so a replay of it changes nothing.
//   - Confirming a death waits for no further observation (prose), though HB's pseudo-code looks at the hold only when
//     one comes.
//   - recovery_hold counts from the commit of INACTIVE (prose), not from SUSPECT (pseudo-code).
//   - A peer that has been INACTIVE for recovery_hold needs recovery_threshold kHealthy: 1 as in E9, or, strictly,
//     promote_threshold as in HB's table.
//   - HB's pseudo-code lets kSuspect count on in INACTIVE; by its table nothing counts there, and the kHealthy so far
//     are void.
//   - A kDead is a signal (table), never a verdict: a lone reset or a closed transport starts a hold and ends none.
//
// Pure: it reads no clock and calls nobody. Not thread-safe; movable. Inputs are applied in the order of the calls.
// Memory: max_records records, each with at most 16 observers and 8 witnesses, whatever arrives; who had to go for
// whom is counted.
// Source: heartbeat-and-stm (HB), section StateTransitionManager; SWIM (DSN 2002), section 4.2; Lifeguard
// (arXiv 1707.00788), section IV-B, for holds.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "phi/time.h"
#include "stm/deadlines.h"
#include "stm/explanation.h"
#include "stm/hold.h"
#include "stm/observation.h"
#include "stm/state.h"
#include "stm/stm_config.h"
#include "stm/stm_counters.h"
#include "stm/trails.h"
#include "stm/versions.h"
#include "stm/witnesses.h"

namespace nekton {

class Stm {
 public:
  // `config` must be valid.
  explicit Stm(const StmConfig& config);

  // Each call applies one input and appends what it committed (at most one transition) to `changes`. `terms` are used
  // only if the input commits SUSPECT; `key` is the subject's (generation, incarnation) that the input speaks of. A key
  // higher than the one held raises it, also where no state changes, and voids what other members said at the old one.

  // A signal. `key` is the subject's newest known key. The gates, in this order, before any counter moves:
  //   1. no peer, no observer, unknown signal: kInvalid. Weight 0: kZeroWeight.
  //   2. from outside only: further ahead of our wall clock than max_future_skew (at exactly that it passes): kFuture;
  //      older than max_age (likewise): kStale.
  //   3. about a generation below the newest known: kOldEpoch; of a peer that left, at its key: kLeft; from outside, by
  //      an observer that is SUSPECT, INACTIVE or departed here: kZeroWeight.
  //   4. (observer, epoch, nonce) among the last 16 of that observer: kDuplicate. An observer that is not remembered,
  //      at or below the time of one that had to make room, or with a kHealthy from before the record: kStale.
  //   5. not newer by (epoch, sequence, timestamp, nonce) than that observer's last: kOutOfOrder. Of the same (epoch,
  //      sequence) and signal, but larger: kSuperseded, it takes the place of the last and moves no counter.
  // What passes all of them on a peer with a record is recorded, and kApplied, whether a counter moves or not. A
  // kHealthy on a peer without one passes 1 to 3 (kNoEffect), allocates nothing and leaves no trace. One about a
  // higher generation than the record's starts the peer afresh, as Restarted does (but with Revive::kJoinOnly); a
  // kSuspect or kDead never does. That a generation from outside exists is for the caller to know.
  Outcome Apply(const Tick& now, const Observation& observation, LifeKey key, const HoldTerms& terms,
                std::vector<StateChange>& changes);
  // Gates 1 and 2 in words: InvalidArgument where Apply would say kInvalid or kFuture. Counts nothing.
  absl::Status Check(const Tick& now, const Observation& observation) const;

  // Another member's committed SUSPECT: a kSuspect of weight rumour_weight, once per (observer, key). An observer that
  // is unknown (kNoPeer), the subject itself, or SUSPECT, INACTIVE or departed here counts for nothing (kZeroWeight);
  // when one becomes so, or is started again, all that it said is taken back: counts fall, holds grow, and a hold that
  // nobody stands behind any more is cancelled (but see StmConfig::doubt_the_doubted). Observations from outside may
  // begin a hold; behind it they are one voice without a name, that neither confirms nor condemns. Our own kSuspect
  // stand behind a hold that others began once they weigh demote_threshold, or with one kDead. At most 8 observers are
  // kept (witnesses.h); beyond: kFull. What counted while the peer was ACTIVE counts in its hold, too; what was said
  // before a kHealthy is remembered and counts no more. On a SUSPECT peer a higher key starts hold and confirmers anew,
  // on the old terms and without a change; at the same key a new word starts a cancelled hold again, and shortens a
  // running one as the terms say.
  Outcome Rumour(const Tick& now, PeerId peer, LifeKey key, const Word& word, const HoldTerms& terms,
                 std::vector<StateChange>& changes);
  // Another's committed INACTIVE. It is a rumour of the observer it names; and where the hold runs, and another witness
  // than that observer stands behind it too (a second member, or we ourselves), the hold ends once it has run
  // terms.min: the hearer's margin and all that confirmations could save fall away. The transition is then kGossip. So
  // nobody is buried on one member's word or without having had terms.min to refute here, and neither order nor copies
  // of the news matter. (The SWIM paper obeys every confirm at once.) kZeroWeight without `verdicts`.
  Outcome Verdict(const Tick& now, PeerId peer, LifeKey key, const Word& word, const HoldTerms& terms,
                  std::vector<StateChange>& changes);
  // The subject's own alive at a higher key, a kHealthy of weight promote_threshold: SUSPECT -> ACTIVE at once; from
  // INACTIVE as `revive` says: kRefutation at once, kHealthy like any kHealthy, kJoinOnly never.
  Outcome Refute(const Tick& now, PeerId peer, LifeKey key, std::vector<StateChange>& changes);

  // Lifecycle, not states: Left, Replaced and Expelled commit INACTIVE (from any state; no change if INACTIVE already) and
  // make the STM ignore everything until a higher key. Restarted starts afresh at ACTIVE and always emits a change. Below
  // the key held they are kOutranked.
  void Left(const Tick& now, PeerId peer, LifeKey key, std::vector<StateChange>& changes);
  void Replaced(const Tick& now, PeerId peer, LifeKey key, std::vector<StateChange>& changes);
  void Expelled(const Tick& now, PeerId peer, LifeKey key, std::vector<StateChange>& changes);
  void Restarted(const Tick& now, PeerId peer, LifeKey key, std::vector<StateChange>& changes);
  // A peer that we first hear of as dead: INACTIVE, and nothing is emitted. kNoEffect on a peer with a record.
  void Bury(const Tick& now, PeerId peer, LifeKey key);
  // Drops all that is known of a peer, and takes back what it said of others. Its handle may be reused.
  void Forget(PeerId peer);

  // We ourselves did not run for `overshoot` before `now`, or heard nobody at all between two instants: that time
  // counts toward no hold, and a hold with our own evidence behind it does not end before one more kSuspect of ours,
  // or another member's verdict, arrives. Gaps must not overlap. Call it before Advance. With max_local_pause set, an
  // input or an Advance that comes later than NextDeadline(), or than the last input if that was due already, by more
  // than that is such a pause by itself.
  void Paused(const Tick& now, Duration overshoot);
  void Deaf(const Tick& now, Instant from, Instant to);
  // The hold of this peer, if nothing but time would end it, is so much longer: what was asked about it has no answer.
  void Prolong(const Tick& now, PeerId peer, Duration by);
  // No hold of this peer ends before `until`, whatever is said, and the time until then counts toward none of its holds, so
  // what was left of one is left then. Another call replaces the last; one that is not after `now` ends it. It outlives
  // restarts, and ends with Forget. SUSPECT is committed as ever, and so are a goodbye and an expulsion.
  void Spare(const Tick& now, PeerId peer, Instant until);
  bool IsSpared(Instant now, PeerId peer) const;
  // Room for more records from here on; a smaller number is ignored.
  void RaiseMaxRecords(std::size_t records) { config_.max_records = std::max(config_.max_records, records); }

  // Commits what time alone commits: holds that ran out, in the order of their ends, equal ones in that of their ids.
  // Drops records of ACTIVE peers that were idle for max_age.
  void Advance(const Tick& now, std::vector<StateChange>& changes);
  // The exact next instant at which Advance can do anything; kNever if there is none.
  Instant NextDeadline() const;

  State StateOf(PeerId peer) const;
  // The hold of a SUSPECT peer: when it will end (kNever while cancelled; the earliest while it awaits a kSuspect after
  // a gap), and since when the peer is SUSPECT.
  struct Hold {
    Instant since{};
    Instant end = kNever;
    bool running = false;
    bool own = false;  // our own evidence stands behind it
    LifeKey key;
  };
  std::optional<Hold> HoldOf(PeerId peer) const;
  // The newest key that an applied input spoke of; {} without a record.
  LifeKey KeyOf(PeerId peer) const;
  // Whether the word of this member counts against the peer now.
  bool Accuses(PeerId observer, PeerId peer) const;
  // Why the peer is in its state.
  Explanation Explain(const Tick& now, PeerId peer) const;

  // Rises with everything after which the same word (Rumour, Verdict) about this peer could have another outcome, but for
  // what is known of the observer.
  std::uint64_t VersionOf(PeerId peer) const { return versions_.of(peer); }

  std::size_t records() const { return slots_.size(); }  // peers that cost memory now
  const StmCounters& counters() const { return counters_; }
  std::uint64_t count(Outcome outcome) const { return counters_.of(outcome); }

 private:
  static constexpr std::size_t kRecent = 4;

  // What an explanation tells of one input.
  struct Remembered {
    Instant at{};
    PeerId observer = kNoPeer;
    std::uint32_t weight = 0;  // 0: empty
    Testimony::Kind kind = Testimony::Kind::kSignal;
    Signal signal = Signal::kHealthy;
    Reason reason = Reason::kHeard;
  };

  // A peer that is not ACTIVE, or that was spoken against not long ago.
  struct Record {
    PeerId peer = kNoPeer;  // kNoPeer: the slot is free
    LifeKey key;            // the newest that any applied input spoke of
    Instant since{};        // when `state` was committed, if `transition` is set
    Instant expires{};      // when the record goes if the peer is ACTIVE then
    std::optional<Transition> transition;
    PeerId by = kNoPeer;      // whose evidence completed it
    std::uint32_t count = 0;  // ACTIVE: demote count, rumours apart; else promote count
    std::uint32_t round = 0;  // raised whenever `count` starts anew
    std::uint32_t flaps = 0;
    Trails::List trails;
    Witnesses witnesses;
    // The hold. While it runs, `end` is what HoldEnd says, and not before the instant of the last change to it.
    HoldTerms terms;
    Instant start{};
    Instant end{};
    Instant refused_at = kNever;  // when enough observers were known to have been refused
    Duration excused{};           // time in which we were not there
    State state = State::kActive;
    bool gone = false;          // left or replaced: nothing counts until a higher key
    bool stranger = false;      // only observations from outside ever spoke of it
    bool running = false;       // the hold of a SUSPECT peer; false: cancelled
    bool own = false;           // our own evidence stands behind the running hold
    bool own_refused = false;   // we said since it began that its port refused us
    bool outside = false;       // observations from outside began the running hold
    std::uint32_t against = 0;  // our own kSuspect in this doubt: since it began, or since the peer was healthy
    bool awaits_signal = false;
    std::array<Remembered, kRecent> recent{};
    std::uint8_t recent_at = 0;
  };

  // One input, as the functions below see it.
  struct Input {
    Tick now;
    PeerId peer = kNoPeer;
    PeerId observer = kNoPeer;  // kNoPeer: the subject itself, or time
    std::vector<StateChange>& changes;
  };
  struct End {
    Instant when{};
    Transition why = Transition::kConfirmDeadHoldElapsed;
  };

  // stm.cc: what each public input does, but for the counting; then the columns of the transition table. A refutation
  // is a kHealthy with the weight that promotes.
  Outcome Gate(const Tick& now, const Observation& observation) const;
  Outcome Judge(const Input& in, const Observation& observation, LifeKey key, const HoldTerms& terms);
  Outcome Hear(const Input& in, LifeKey key, const Word& word, bool verdict, const HoldTerms& terms);
  Outcome Admit(const Input& in, LifeKey key);
  Outcome Depart(const Input& in, LifeKey key, Transition transition);
  Outcome Restart(const Input& in, LifeKey key);
  Outcome Entomb(const Input& in, LifeKey key);
  void Healthy(const Input& in, Record& record, std::uint32_t weight, bool refuted);
  void Suspect(const Input& in, Record& record, const Observation& said, bool newer, const HoldTerms& terms);
  void Rumoured(const Input& in, Record& record, bool newer, bool verdict, const HoldTerms& terms);
  void Add(Record& record, std::uint32_t weight, bool signalled);  // `signalled`: by the observer of the first trail
  bool Demotes(const Record& record) const;
  static std::uint32_t Sum(std::uint32_t a, std::uint32_t b);  // held at the largest
  Outcome Count(PeerId peer, Outcome outcome);

  // stm_holds.cc: holds, commits and time.
  // Whose word begins a hold: our own, an observation's from outside, or other members'.
  enum class Voice : std::uint8_t { kOwn, kOutside, kOthers };
  static std::uint32_t Named(const Record& record);
  static bool Condemned(const Record& record);
  End HoldEnd(const Record& record) const;
  Duration SparedTime(const Record& record) const;
  void BeginHold(const Input& in, Record& record, const Observation& said);
  void StartHold(Instant now, Record& record, Voice by, bool refused);
  void Confirm(Instant now, Record& record, const Observation& said);
  void StopHold(Record& record);
  void Rehold(Instant now, Record& record);
  void Excuse(Instant now, Instant from, Instant to);
  void NoticePause(const Tick& now);
  static void Emit(const Input& in, Record& record, State to, Transition transition);
  void CommitSuspect(const Input& in, Record& record, Transition transition, const HoldTerms& terms);
  void CommitInactive(const Input& in, Record& record, Transition transition);
  void CommitActive(const Input& in, Record& record, Transition transition);

  // stm_records.cc: records, and what is remembered in them.
  Record* Find(PeerId peer);
  const Record* Find(PeerId peer) const;
  Record* Make(const Tick& now, PeerId peer, bool stranger);  // null: no room
  bool MakeRoom(bool stranger);
  void Release(Record& record);
  void Befriend(Record& record);
  bool Raise(Record& record, LifeKey newer);  // returns whether it was higher
  void Touch(const Tick& now, Record& record, WallTime stamp);
  void Remember(Record& record, const Remembered& what);
  static void ClearCount(Record& record);
  static void EndDoubt(Record& record);     // what others said counts no more
  static void ResetCounts(Record& record);  // and what others said counts no more
  Deadlines& IdleOf(const Record& record) { return record.stranger ? idle_strangers_ : idle_; }
  bool Counts(PeerId observer) const;
  void Mention(PeerId observer) { ++mentions_[observer]; }
  void Unmention(PeerId observer);
  void Withdraw(Instant now, PeerId observer);
  bool TakeBack(Instant now, Record& record, PeerId observer);

  StmConfig config_;
  absl::flat_hash_map<PeerId, std::uint32_t> slots_;  // never iterated: its order is random
  std::vector<Record> records_;
  std::vector<std::uint32_t> free_;
  Trails trails_;
  absl::flat_hash_map<PeerId, std::uint32_t> mentions_;  // observer -> trails and witnesses that are its
  Deadlines holds_;                                      // the running holds; kNever for one that awaits a signal
  Deadlines idle_;            // when the records of ACTIVE peers go; those of strangers apart,
  Deadlines idle_strangers_;  // for they go first
  std::size_t strangers_ = 0;
  Instant last_{};  // of the last input
  struct Spared {
    Instant from{};
    Instant until{};
  };
  absl::flat_hash_map<PeerId, Spared> spared_;  // those now, and those whose running hold began before they ended
  std::vector<PeerId> held_;                    // scratch
  Versions versions_;
  StmCounters counters_;
};

}  // namespace nekton
