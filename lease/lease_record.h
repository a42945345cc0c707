// What stands in the register under a lease's name. A line of text, so that people can read it there:
//
//   nekton-lease 1 <token> <duration in ns> <generation> <nonce, hexadecimal> <renewals> <holder>
//
// A record without a holder is free; it stays, for the tokens go on from it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "lease/fencing_token.h"
#include "phi/time.h"

namespace nekton {

inline constexpr Duration kLeaseDurationMin = std::chrono::milliseconds(20);
inline constexpr Duration kLeaseDurationMax = std::chrono::hours(24);

struct LeaseRecord {
  FencingToken token;
  Duration duration{};  // the holder's: others wait for as long as it was granted, whatever they would ask for
  std::uint64_t generation = 0;
  std::uint64_t nonce = 0;  // of the acquisition: tells a holder its own record from any other
  std::uint64_t renewals = 0;
  std::string holder;

  bool free() const { return holder.empty(); }
  bool SameHold(const LeaseRecord& other) const {
    return nonce == other.nonce && token == other.token && generation == other.generation && holder == other.holder;
  }
  friend bool operator==(const LeaseRecord&, const LeaseRecord&) = default;
};

std::string Encode(const LeaseRecord& record);
// InvalidArgument says what is wrong.
absl::StatusOr<LeaseRecord> DecodeLeaseRecord(std::string_view text);

// ---- A store of leases that was restored from a backup ----
// Who holds a lease by now may not stand in it. So each counts as held by somebody unknown, for its duration or
// `longest`, whichever is longer, also those that are not in the backup; and tokens and versions go on in `era`, above
// all that the lost store may have given. The era is the operator's to count: of two restores from one backup the second
// needs a higher one, and the backup cannot know.

constexpr std::uint16_t EraOf(std::uint64_t revision) { return FencingToken{revision}.era(); }
constexpr std::uint64_t FirstRevisionOf(std::uint16_t era) { return FencingToken::Of(era, 0).value; }
// The value to put in the place of `value`; what is no lease record stays, but an empty one becomes one.
std::string AfterRestore(const std::string& value, std::uint16_t era, Duration longest);

}  // namespace nekton
