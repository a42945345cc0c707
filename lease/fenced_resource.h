// A resource that a stale holder cannot write to.
//
// A lease alone stops nobody: a holder that is paused between its check and its write writes when it wakes up, whatever
// was decided meanwhile. So the resource itself remembers the highest token that it was shown, and refuses what is lower,
// in the same atomic and durable step as the write. This header has the rules once, for every kind of resource
// (FenceVerdictOf), and a resource in memory; transport/store_sqlite_fence.h and store_etcd_fence.h keep the same rules in
// databases.
//
// For every request, in this order: authenticate (signed by the authority, where there is one), fence, replay (a request
// id that was applied before gets its first answer), apply. Replay after the fence: else a stale holder would get a
// remembered yes. Advance() fences without writing: at a handover, before the new holder's first write, for a token that
// was only issued stops nobody.
//
// Nobody can invent a large token: one above all that were seen is accepted only with the authority's signature, or after
// the resource has itself read the register and found the record's token not below it (Confirm). Pure; not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "absl/functional/function_ref.h"
#include "lease/fencing_token.h"

namespace nekton {

struct FenceOptions {
  std::string label = {};                   // of the group; in what the authority signs
  std::optional<PublicKey> authority = {};  // requests must be signed by it
  bool confirm = false;                     // tokens above all that were seen must be confirmed (or signed)
  std::size_t remembered = 1024;            // request ids of each lease, the newest
};

// What a resource remembers of one lease.
struct FenceState {
  FencingToken highest;
  std::string holder;  // who showed it
  std::uint64_t generation = 0;
  friend bool operator==(const FenceState&, const FenceState&) = default;
};

struct FencedRequest {
  LeaseClaim claim;
  std::optional<Signature> signature;
  std::string id;  // of the operation, the same when it is repeated; empty: it may be applied again
};

enum class FenceOutcome : std::uint8_t {
  kApplied,
  kRepeated,        // applied before; the first result
  kStale,           // the token is below `current`
  kSplitAuthority,  // the token is `current`, but another holder's: the store of leases was restored, or is broken
  kUnproven,        // the token is above `current`, and neither signed nor confirmed
  kForged,          // the signature is missing or wrong, or the token is 0
  kFull,            // one more lease than the resource remembers; it cannot forget any
};
std::string_view Name(FenceOutcome outcome);

struct FencedAnswer {
  FenceOutcome outcome = FenceOutcome::kForged;
  FenceState current;  // after the request
  std::string result;  // of kApplied and kRepeated
  bool ok() const { return outcome == FenceOutcome::kApplied || outcome == FenceOutcome::kRepeated; }
};
// "refused: token 0.3 of alpha is older than 0.4 of beta".
std::string Explain(const FencedRequest& request, const FencedAnswer& answer);

// The rules: kApplied if the fence lets it pass. `confirmed`: the record's token in the register, or 0.
FenceOutcome FenceVerdictOf(const FenceOptions& options, const FenceState& seen, const FencedRequest& request,
                            FencingToken confirmed);
inline FenceState StateOf(const LeaseClaim& claim) {
  return {.highest = claim.token, .holder = claim.holder, .generation = claim.generation};
}

class FencedResource {
 public:
  static constexpr std::size_t kLeasesMax = 4096;

  explicit FencedResource(FenceOptions options) : options_(std::move(options)) {}

  FencedAnswer Apply(const FencedRequest& request, absl::FunctionRef<std::string()> write);
  FencedAnswer Advance(const FencedRequest& request);
  // The resource has read the register: the record under this lease's name has this token.
  void Confirm(const std::string& lease, FencingToken record);
  FenceState state(const std::string& lease) const;

 private:
  struct Lease {
    FenceState seen;
    FencingToken confirmed;
    std::unordered_map<std::string, std::string> results;
    std::deque<std::string> order;  // of the ids, the oldest first
  };
  FenceOptions options_;
  std::unordered_map<std::string, Lease> leases_;
};

}  // namespace nekton
