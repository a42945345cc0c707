// The calls of Join that have a limit: what became of each of their addresses, and when a call is over.
//
// At most kMax at a time, of up to JoinAddresses::kMax addresses each. Not thread-safe; movable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "phi/time.h"
#include "swim/address.h"
#include "swim/event.h"

namespace nekton {

class JoinCalls {
 public:
  static constexpr std::size_t kMax = 256;

  struct Call {
    std::uint64_t id = 0;
    Instant until{};
    std::vector<JoinOutcome> outcomes;  // the last one of each address
    absl::Status status;                // of a call that is over
  };

  bool full() const { return calls_.size() >= kMax; }
  bool empty() const { return calls_.empty(); }
  void Begin(std::uint64_t id, Instant until, std::span<const Address> addresses);
  // Does an open call wait for this address?
  bool Awaits(const Address& address) const;
  // What came of it, for every call that waits for it.
  void Result(const Address& address, const absl::Status& status);

  // One that is over, the oldest first, with its status: OK where one address let us in; FailedPrecondition, or what the
  // first address gave, where each of them refused for good; DeadlineExceeded at its end. It is gone from here then.
  std::optional<Call> TakeOver(Instant now);
  // One that is open, which ends with this status.
  std::optional<Call> TakeOpen(const absl::Status& status);
  Instant next() const;  // when the first of them ends by its limit; kNever: none

 private:
  std::vector<Call> calls_;
};

// A refusal that no later attempt would change: another cluster, other terms or another protocol version, a generation
// out of bounds, our own address. Not a name in use (its owner may leave) and not a full table.
bool IsForGood(const absl::Status& status);
// "no address let us in: 10.0.0.2:7946: ...; 10.0.0.3:7946: ...", of the first few.
std::string JoinFailureText(std::span<const JoinOutcome> outcomes);

}  // namespace nekton
