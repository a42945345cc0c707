// What was refused, and how often leases were renewed, by a member with an authority. Values.
#pragma once

#include <cstdint>

namespace nekton {

struct LeaseCounters {
  std::uint64_t views = 0;          // installed
  std::uint64_t fences = 0;         // that these caused
  std::uint64_t renewals = 0;       // of our leases
  std::uint64_t pings = 0;          // sent; joins too
  std::uint64_t fetches = 0;        // views asked for
  std::uint64_t deltas = 0;         // views installed that came as a difference
  std::uint64_t fetched_bytes = 0;  // of all answers to fetches
  std::uint64_t granted = 0;        // at the authority: renewing answers
  // Refused.
  std::uint64_t bad_signature = 0;  // views and heads, moves
  std::uint64_t lower_epoch = 0;
  std::uint64_t other_digest = 0;
  std::uint64_t bad_body = 0;        // a view, or a difference, that cannot be read, or is not what was signed
  std::uint64_t bad_deltas = 0;      // of these the differences
  std::uint64_t bad_message = 0;     // a message that cannot be read, or is nobody's business to send
  std::uint64_t other_terms = 0;     // pings and joins of members whose leases last differently
  std::uint64_t stray_answers = 0;   // to no ping that is open
  std::uint64_t forged_answers = 0;  // to one that is open, and not signed by the authority
};

}  // namespace nekton
