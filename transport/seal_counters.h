// What sealing counts, apart from the engine's counters. Names are stable and fit a metrics system.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace nekton {

// One line per counter: enumerator, name as printed. The refusals are those from kRefusedPlain to kRefusedStream.
#define NEKTON_SEAL_COUNTERS(X)                                                          \
  X(kSealed, "seal_frames_sealed")                                                       \
  X(kOpened, "seal_frames_opened")                                                       \
  X(kPlainSent, "seal_plain_sent")   /* Sealing::kAccept, to who does not seal yet */    \
  X(kPlainTaken, "seal_plain_taken") /* the same, received */                            \
  X(kChallenges, "seal_challenges_sent")                                                 \
  X(kChallengesHeld, "seal_challenges_held_back") /* beyond their rate */                \
  X(kChallengesMet, "seal_challenges_met")        /* those of others, by us */           \
  X(kSentAgain, "seal_frames_sent_again")         /* that a challenge had answered */    \
  X(kSendersProved, "seal_senders_proved")                                               \
  X(kRefusedPlain, "seal_refused_plain")                                                 \
  X(kRefusedShort, "seal_refused_malformed")                                             \
  X(kRefusedLabel, "seal_refused_other_cluster")                                         \
  X(kRefusedKey, "seal_refused_unknown_key")                                             \
  X(kRefusedForged, "seal_refused_forged")     /* it does not open */                    \
  X(kRefusedUnproved, "seal_refused_unproved") /* no session, or one that is gone */     \
  X(kRefusedOldLife, "seal_refused_old_generation")                                      \
  X(kRefusedRepeated, "seal_refused_repeated")                                           \
  X(kRefusedTooOld, "seal_refused_too_old")                                              \
  X(kRefusedChallenge, "seal_refused_challenge") /* it answers nothing of ours */        \
  X(kRefusedStream, "seal_refused_stream")       /* cut, reordered, no answer to ours */ \
  X(kForgotten, "seal_entries_forgotten")        /* tables at their bound */

enum class SealCounter : std::uint8_t {
#define NEKTON_COUNTER_ENUM(id, name) id,
  NEKTON_SEAL_COUNTERS(NEKTON_COUNTER_ENUM)
#undef NEKTON_COUNTER_ENUM
};

inline constexpr std::array kSealCounterNames = {
#define NEKTON_COUNTER_NAME(id, name) std::string_view(name),
    NEKTON_SEAL_COUNTERS(NEKTON_COUNTER_NAME)
#undef NEKTON_COUNTER_NAME
};
#undef NEKTON_SEAL_COUNTERS

class SealCounters {
 public:
  std::uint64_t& operator[](SealCounter c) { return values_[static_cast<std::size_t>(c)]; }
  std::uint64_t operator[](SealCounter c) const { return values_[static_cast<std::size_t>(c)]; }
  static constexpr std::size_t size() { return kSealCounterNames.size(); }

 private:
  std::array<std::uint64_t, kSealCounterNames.size()> values_{};
};

}  // namespace nekton
