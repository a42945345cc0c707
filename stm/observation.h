// What is fed to the StateTransitionManager.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "phi/time.h"
#include "stm/state.h"

namespace nekton {

enum class Signal : std::uint8_t { kHealthy, kSuspect, kDead };

// Why a signal was given. It explains; it changes no decision, but for kRefused (stm/hold.h).
enum class Reason : std::uint8_t {
  kHeard,            // an ack or a frame that proves life
  kProbeTimeout,     // an attempt of a probe round had no answer
  kDeadline,         // silence beyond the fixed deadline
  kPhi,              // phi crossed its threshold
  kAsymmetric,       // asymmetric forward-only: we hear it, nothing proves that it hears us
  kTransportClosed,  // its connection closed
  kRefused,          // its port refused a connection
  kApplication,      // handed in by the application
};

// One piece of evidence about a peer (heartbeat-and-stm: PeerObservation).
struct Observation {
  PeerId peer = kNoPeer;
  PeerId observer = kNoPeer;
  Signal signal = Signal::kHealthy;
  Reason reason = Reason::kHeard;
  std::uint64_t epoch = 0;     // generation of the observed peer
  std::uint64_t sequence = 0;  // one counter per observer process
  std::uint64_t nonce = 0;     // 64 random bits, new for each observation
  // When it was made, of one that was handed in from outside; it is held against our wall clock. Unset: it is our own,
  // and stamped at receipt, so that no other machine's clock decides anything.
  std::optional<WallTime> timestamp = std::nullopt;
  std::uint32_t weight = 1;  // how many of its kind it counts for (the last of a failed round: what is missing)
};

// What became of one input. Every enumerator is counted.
enum class Outcome : std::uint8_t {
  kApplied,
  kInvalid,     // malformed: no peer, no observer, unknown signal
  kFuture,      // timestamp further ahead than max_future_skew
  kStale,       // timestamp older than max_age
  kOldEpoch,    // about an earlier generation than the newest known
  kDuplicate,   // (observer, epoch, nonce) seen before; a rumour or verdict: the same of (observer, key)
  kOutOfOrder,  // not newer than that observer's last
  kSuperseded,  // same (observer, epoch, sequence) and signal with a larger nonce: no counter moves
  kZeroWeight,  // of weight 0, or from an observer whose word counts for nothing here
  kLeft,        // the peer has left; nothing counts until a higher key
  kOutranked,   // a rumour, refutation or verdict below the key we hold
  kNoEffect,    // valid, and the state and its counters stay as they are
  kFull,        // no room for one more record
};
inline constexpr std::size_t kOutcomes = 13;  // number of enumerators above

std::string_view Name(Signal signal);
std::string_view Name(Reason reason);
std::string_view Name(Outcome outcome);

}  // namespace nekton
