// What a StateTransitionManager counts.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "stm/observation.h"

namespace nekton {

struct StmCounters {
  std::array<std::uint64_t, kOutcomes> outcomes{};  // of all inputs but Forget, Paused, Deaf and Advance
  std::uint64_t records_displaced = 0;              // idle records that made room for others
  std::uint64_t observers_displaced = 0;            // observers that made room for others, among those of one peer
  std::uint64_t witnesses_displaced = 0;            // members whose word made room for another's
  std::uint64_t taken_back = 0;  // words of observers that were then suspected, failed, left or restarted
  std::uint64_t flaps = 0;       // returns from SUSPECT to ACTIVE
  std::uint64_t pauses = 0;      // our own pauses and times of deafness that some hold was excused for

  std::uint64_t of(Outcome outcome) const { return outcomes[static_cast<std::size_t>(outcome)]; }

  // Calls see(prefix, name, value) for each; names are stable. Prefix and name together fit a metrics system.
  template <typename See>
  void ForEach(See see) const {
    for (std::size_t i = 0; i < kOutcomes; ++i) see("stm_input_", Name(static_cast<Outcome>(i)), outcomes[i]);
    see("stm_", "records_displaced", records_displaced);
    see("stm_", "observers_displaced", observers_displaced);
    see("stm_", "witnesses_displaced", witnesses_displaced);
    see("stm_", "taken_back", taken_back);
    see("stm_", "flaps", flaps);
    see("stm_", "gaps_excused", pauses);
  }
};

}  // namespace nekton
