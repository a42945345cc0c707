// The settings of a StateTransitionManager, and those of the shipped profiles that are not SWIM's.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "phi/heartbeat_timing.h"
#include "phi/time.h"
#include "stm/hold.h"

namespace nekton {

// When an INACTIVE peer may become ACTIVE again.
enum class Revive : std::uint8_t {
  kRefutation,  // only by its own alive at a higher key (SWIM)
  kHealthy,     // by kHealthy signals after recovery_hold (HB)
  kJoinOnly,    // only by Restarted() after a fresh join (ADR)
};

std::string_view Name(Revive revive);  // "refutation", "healthy", "join_only"

struct StmConfig {
  std::uint32_t demote_threshold = 5;    // kSuspect in a row: ACTIVE -> SUSPECT; >= 1
  std::uint32_t promote_threshold = 2;   // kHealthy in a row: SUSPECT -> ACTIVE; >= 1
  std::uint32_t recovery_threshold = 1;  // kHealthy: INACTIVE -> ACTIVE (Revive::kHealthy); >= 1
  Duration recovery_hold{};              // >= 0, from the commit of INACTIVE (Revive::kHealthy)
  std::uint32_t rumour_weight = 5;       // of another's committed SUSPECT; 0: rumours count for nothing
  bool verdicts = true;                  // another's committed INACTIVE counts (SWIM); false: it is counted only
  bool obey_verdicts = false;            // and commits INACTIVE at once, as in the SWIM paper; for comparisons
  // The word of who is SUSPECT, INACTIVE or departed here counts for nothing; false: everybody's counts, as in the SWIM
  // paper; for comparisons.
  bool doubt_the_doubted = true;
  Revive revive = Revive::kRefutation;
  Duration max_future_skew = std::chrono::seconds(30);  // how far ahead of our wall clock an observation may be; >= 0
  Duration max_age = std::chrono::seconds(90);          // how old it may be, and how long an idle record is kept; > 0
  Duration max_local_pause = kForEver;                  // later than due by more: we ourselves stood still; > 0
  // Peers that may have a record, 2 - 10^7. Those that only observations from outside speak of get half of them. One
  // more displaces the one that was longest idle (ACTIVE), or is refused: kFull.
  std::size_t max_records = 100'000;

  static constexpr Duration kForEver = Duration::max();

  // OK, or InvalidArgument that lists every mistake: field, value, rule; one a line.
  absl::Status Validate() const;

  friend bool operator==(const StmConfig&, const StmConfig&) = default;
};

// The heartbeat mesh (HB) and the pair (ADR).
inline constexpr StmConfig kMeshStm{.demote_threshold = 3,
                                    .promote_threshold = 2,
                                    .recovery_threshold = 1,
                                    .recovery_hold = std::chrono::seconds(90),
                                    .rumour_weight = 1,
                                    .verdicts = false,
                                    .revive = Revive::kHealthy,
                                    .max_local_pause = std::chrono::seconds(2)};
inline constexpr StmConfig kPairStm{.demote_threshold = 1,
                                    .promote_threshold = 1,
                                    .rumour_weight = 0,
                                    .verdicts = false,
                                    .revive = Revive::kJoinOnly,
                                    .max_local_pause = std::chrono::milliseconds(500)};
inline constexpr HoldTerms kMeshHold = FixedHold(kMeshTiming.fail_after - kMeshTiming.suspect_after);
inline constexpr HoldTerms kPairHold = FixedHold(kPairTiming.fail_after - kPairTiming.suspect_after);

}  // namespace nekton
