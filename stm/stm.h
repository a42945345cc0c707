// The StateTransitionManager: the one place where a peer's authoritative state changes.
//
// Detectors, probe rounds, gossip and transports only observe; the STM debounces what they say and commits. A peer
// without a record is ACTIVE with nothing pending, so ten thousand healthy peers cost nothing.
//
// Pure: it reads no clock and calls nobody. Not thread-safe; movable. Inputs are applied in the order of the calls.
// Source: heartbeat-and-stm (HB), section StateTransitionManager; Lifeguard (arXiv 1707.00788), section IV-B, for
// holds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "phi/time.h"
#include "stm/deadlines.h"
#include "stm/observation.h"
#include "stm/state.h"

namespace nekton {

// When an INACTIVE peer may become ACTIVE again.
enum class Revive : std::uint8_t {
  kRefutation,  // only by its own alive at a higher key (SWIM)
  kHealthy,     // by kHealthy signals after recovery_hold (HB)
  kJoinOnly,    // only by Restarted() after a fresh join (ADR)
};

struct StmConfig {
  std::uint32_t demote_threshold = 5;    // kSuspect in a row: ACTIVE -> SUSPECT; >= 1
  std::uint32_t promote_threshold = 2;   // kHealthy in a row: SUSPECT -> ACTIVE; >= 1
  std::uint32_t recovery_threshold = 1;  // kHealthy: INACTIVE -> ACTIVE (Revive::kHealthy); >= 1
  Duration recovery_hold{};              // >= 0, from the commit of INACTIVE (Revive::kHealthy)
  std::uint32_t rumour_weight = 5;       // of another's committed SUSPECT, times its confidence (0 or 1)
  Revive revive = Revive::kRefutation;
};

class Stm {
 public:
  explicit Stm(const StmConfig& config);

  // Each call applies one input and appends what it committed (at most one transition) to `changes`. `terms` are used
  // only if the input commits SUSPECT; `key` is the subject's (generation, incarnation) that the input speaks of. A key
  // higher than the one held raises it, also where no state changes, and voids the rumours counted at the old one.

  // Our own signal, or one handed in by the application. `key` is the subject's newest known key. A kHealthy on a peer
  // without a record allocates nothing.
  Outcome Apply(const Tick& now, const Observation& observation, LifeKey key, const HoldTerms& terms,
                std::vector<StateChange>& changes);
  // Another member's committed SUSPECT. confidence: 0 or 1 (0: the observer is unknown, SUSPECT, INACTIVE or left
  // here; then `observer` may be kNoPeer). It is a kSuspect of weight rumour_weight, counted once per (observer, key)
  // for as long as the record lives (again: kDuplicate), and for at most 8 observers (beyond: kZeroWeight). On a
  // SUSPECT peer a higher key starts hold and counts anew, on the old terms and without a change; at the same key it
  // starts a cancelled hold again and leaves a running one alone.
  Outcome Rumour(const Tick& now, PeerId peer, LifeKey key, PeerId observer, std::uint32_t confidence,
                 const HoldTerms& terms, std::vector<StateChange>& changes);
  // The subject's own alive at a higher key, a kHealthy of weight promote_threshold: SUSPECT -> ACTIVE at once; from
  // INACTIVE as `revive` says: kRefutation at once, kHealthy like any kHealthy, kJoinOnly never.
  Outcome Refute(const Tick& now, PeerId peer, LifeKey key, std::vector<StateChange>& changes);
  // Another's committed INACTIVE. Where the peer is SUSPECT at that key with its hold running, the hold ends once it
  // has run terms.min (the hearer's margin and all that confirmations could save fall away), at once if it has:
  // INACTIVE, transition kGossip. Elsewhere it is a rumour of the observer it names (the SWIM paper obeys every
  // confirm). So nobody is buried here without having had terms.min to refute here, and neither order nor copies of the
  // news matter.
  Outcome Verdict(const Tick& now, PeerId peer, LifeKey key, PeerId observer, std::uint32_t confidence,
                  const HoldTerms& terms, std::vector<StateChange>& changes);

  // Lifecycle, not states: Left and Replaced commit INACTIVE (from any state; no change if INACTIVE already) and make
  // the STM ignore everything until a higher key. Below the key held they are kOutranked. Restarted starts afresh at
  // ACTIVE and always emits a change.
  void Left(const Tick& now, PeerId peer, LifeKey key, std::vector<StateChange>& changes);
  void Replaced(const Tick& now, PeerId peer, LifeKey key, std::vector<StateChange>& changes);
  void Restarted(const Tick& now, PeerId peer, LifeKey key, std::vector<StateChange>& changes);
  // A peer that we first hear of as dead: INACTIVE, and nothing is emitted. kNoEffect on a peer with a record.
  void Bury(const Tick& now, PeerId peer, LifeKey key);
  // Drops all that is known of a peer. Its handle may be reused.
  void Forget(PeerId peer);

  // We ourselves did not run for `overshoot` before `now`: running holds end that much later, and a hold started by our
  // own evidence (Apply) does not end before one more kSuspect of ours arrives. Call it before Advance(now).
  void Paused(const Tick& now, Duration overshoot);

  // Commits what time alone commits: holds that ran out, in the order of their ends, equal ones in that of their ids.
  void Advance(const Tick& now, std::vector<StateChange>& changes);
  // The exact next instant at which Advance can do anything; kNever if there is none.
  Instant NextDeadline() const;

  State StateOf(PeerId peer) const;
  // The hold of a SUSPECT peer: when it will end (kNever while cancelled; the earliest while it awaits a kSuspect after
  // Paused), and since when the peer is SUSPECT.
  struct Hold {
    Instant since{};
    Instant end = kNever;
    bool running = false;
    LifeKey key;
  };
  std::optional<Hold> HoldOf(PeerId peer) const;

  std::size_t records() const;                 // peers that cost memory now
  std::uint64_t count(Outcome outcome) const;  // of all inputs but Forget, Paused and Advance

 private:
  static constexpr std::size_t kMaxRumours = 8;

  // A peer that is not ACTIVE, or ACTIVE with a demotion pending.
  struct Record {
    LifeKey key;                                  // the newest that any applied input spoke of
    Instant since{};                              // when `state` was committed; unused while ACTIVE
    Instant end{};                                // of the hold, while it runs
    HoldTerms terms;                              // of the hold, kept for when it starts again
    std::uint32_t demote = 0;                     // our own kSuspect while ACTIVE, unused later; rumours count on top
    std::uint32_t promote = 0;                    // kHealthy while SUSPECT or INACTIVE
    std::array<PeerId, kMaxRumours> observers{};  // whose rumours at `key` have been counted
    std::uint8_t rumours = 0;                     // how many of them
    State state = State::kActive;
    bool gone = false;           // left or replaced: nothing counts until a higher key
    bool running = false;        // the hold of a SUSPECT peer; false: cancelled by a kHealthy
    bool by_us = false;          // the running hold was started by Apply
    bool confirmed = false;      // a verdict has brought the end of the running hold forward
    bool awaits_signal = false;  // and since then we paused: it needs one more kSuspect of ours

    bool Raise(LifeKey newer);  // returns whether `newer` was higher
  };

  // One input, as the functions below see it.
  struct Input {
    Instant now{};
    PeerId peer = kNoPeer;
    PeerId observer = kNoPeer;  // kNoPeer: the subject itself, or time
    std::vector<StateChange>& changes;
  };

  // What each public input does, but for the counting.
  Outcome Judge(const Input& in, const Observation& observation, LifeKey key, const HoldTerms& terms);
  Outcome Hear(const Input& in, LifeKey key, std::uint32_t confidence, bool verdict, const HoldTerms& terms);
  Outcome Admit(const Input& in, LifeKey key);
  Outcome Depart(const Input& in, LifeKey key, Transition transition);
  Outcome Restart(const Input& in, LifeKey key);
  Outcome Entomb(Instant now, PeerId peer, LifeKey key);

  // The columns of the transition table. A refutation is a kHealthy with the weight that promotes.
  Outcome Healthy(const Input& in, Record& record, std::uint32_t weight, bool refuted);
  Outcome Suspect(const Input& in, Record& record, const Observation& observation, const HoldTerms& terms);
  Outcome Rumoured(const Input& in, Record& record, bool newer, const HoldTerms& terms);
  Outcome Confirm(const Input& in, Record& record);
  bool Demotes(const Record& record) const;

  void StartHold(const Input& in, Record& record, bool by_us);
  void StopHold(PeerId peer, Record& record);

  // The commits. CommitActive frees the record.
  static void Emit(const Input& in, const Record& record, State to, Transition transition);
  void CommitSuspect(const Input& in, Record& record, Transition transition, const HoldTerms& terms, bool by_us);
  void CommitInactive(const Input& in, Record& record, Transition transition);
  void CommitActive(const Input& in, const Record& record, Transition transition);

  Outcome Count(Outcome outcome);

  StmConfig config_;
  absl::flat_hash_map<PeerId, Record> records_;  // never iterated: its order is random
  Deadlines holds_;                              // the running holds; kNever for one that awaits a signal
  std::vector<PeerId> paused_;                   // scratch of Paused
  std::array<std::uint64_t, kOutcomes> counts_{};
};

}  // namespace nekton
