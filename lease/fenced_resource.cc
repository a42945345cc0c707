#include "lease/fenced_resource.h"

#include "absl/strings/str_cat.h"

namespace nekton {

std::string_view Name(FenceOutcome outcome) {
  switch (outcome) {
    case FenceOutcome::kApplied:
      return "applied";
    case FenceOutcome::kRepeated:
      return "repeated";
    case FenceOutcome::kStale:
      return "stale";
    case FenceOutcome::kSplitAuthority:
      return "split-authority";
    case FenceOutcome::kUnproven:
      return "unproven";
    case FenceOutcome::kForged:
      return "forged";
    case FenceOutcome::kFull:
      return "full";
  }
  return "?";
}

std::string Explain(const FencedRequest& request, const FencedAnswer& answer) {
  const std::string shown = absl::StrCat("token ", ToString(request.claim.token), " of ", request.claim.holder);
  const std::string seen = absl::StrCat(ToString(answer.current.highest), " of ", answer.current.holder);
  switch (answer.outcome) {
    case FenceOutcome::kApplied:
      return absl::StrCat("applied: ", shown);
    case FenceOutcome::kRepeated:
      return absl::StrCat("applied before: ", shown);
    case FenceOutcome::kStale:
      return absl::StrCat("refused: ", shown, " is older than ", seen);
    case FenceOutcome::kSplitAuthority:
      return absl::StrCat("refused: ", shown, " was given twice, also as ", seen,
                          ": the store of leases was restored from a backup or is broken");
    case FenceOutcome::kUnproven:
      return absl::StrCat("refused: ", shown, " is above ", seen, ", and nobody has confirmed it");
    case FenceOutcome::kForged:
      return absl::StrCat("refused: ", shown, " is not signed by the authority");
    case FenceOutcome::kFull:
      return absl::StrCat("refused: ", shown, ": the resource is fenced by too many leases");
  }
  return "?";
}

FenceOutcome FenceVerdictOf(const FenceOptions& options, const FenceState& seen, const FencedRequest& request,
                            FencingToken confirmed) {
  const LeaseClaim& claim = request.claim;
  if (claim.token == FencingToken{}) return FenceOutcome::kForged;
  bool signature = false;
  if (options.authority) {
    signature = request.signature && VerifyClaim(*options.authority, options.label, claim, *request.signature);
    // Where the register may vouch as well, only a wrong signature is a forgery.
    if (!signature && (request.signature || !options.confirm)) return FenceOutcome::kForged;
  }
  if (claim.token < seen.highest) return FenceOutcome::kStale;
  if (claim.token == seen.highest) {
    const bool same = claim.holder == seen.holder && claim.generation == seen.generation;
    return same ? FenceOutcome::kApplied : FenceOutcome::kSplitAuthority;
  }
  if (options.confirm && !signature && claim.token > confirmed) return FenceOutcome::kUnproven;
  return FenceOutcome::kApplied;
}

FencedAnswer FencedResource::Apply(const FencedRequest& request, absl::FunctionRef<std::string()> write) {
  FencedAnswer answer;
  const auto found = leases_.find(request.claim.lease);
  const Lease none;
  const Lease& before = found == leases_.end() ? none : found->second;
  answer.outcome = FenceVerdictOf(options_, before.seen, request, before.confirmed);
  answer.current = before.seen;
  if (answer.outcome == FenceOutcome::kApplied && found == leases_.end() && leases_.size() >= kLeasesMax) {
    answer.outcome = FenceOutcome::kFull;
  }
  if (answer.outcome != FenceOutcome::kApplied) return answer;
  Lease& lease = leases_[request.claim.lease];
  answer.current = lease.seen = StateOf(request.claim);
  if (const auto first = lease.results.find(request.id); !request.id.empty() && first != lease.results.end()) {
    answer.outcome = FenceOutcome::kRepeated;
    answer.result = first->second;
    return answer;
  }
  answer.result = write();
  if (request.id.empty() || options_.remembered == 0) return answer;
  lease.results[request.id] = answer.result;
  lease.order.push_back(request.id);
  if (lease.order.size() > options_.remembered) {
    lease.results.erase(lease.order.front());
    lease.order.pop_front();
  }
  return answer;
}

FencedAnswer FencedResource::Advance(const FencedRequest& request) {
  FencedRequest fence = request;
  fence.id.clear();
  return Apply(fence, [] { return std::string(); });
}

void FencedResource::Confirm(const std::string& lease, FencingToken record) {
  if (leases_.contains(lease) || leases_.size() < kLeasesMax) leases_[lease].confirmed = record;
}

FenceState FencedResource::state(const std::string& lease) const {
  const auto found = leases_.find(lease);
  return found == leases_.end() ? FenceState{} : found->second.seen;
}

}  // namespace nekton
