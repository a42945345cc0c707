// What a home does with a request for an object: the checks, in the one order that is safe.
//
//   1 epoch       an older one: kStaleEpoch, before anything is looked up, so that a copy from the past is a fence and no
//                 replay. A newer one: we lack that view, and are nobody's home by it: kNotCurrent
//   2 capability  signed by the authority, for this object and operation: else kForbidden
//   3 request id  a repeat gets the first answer again: kReplay
//   4 home        kNotHome; kMoved only where we hold the old lease: no other redirection is ever made up
//   5 lease       the read lease has run out: kNotCurrent
//   6 authority   a commit without the authority, or without a write lease: kNoAuthority
//   7 operation   kServe
//
// Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "lease/capability.h"
#include "lease/first_answers.h"
#include "lease/home_leases.h"
#include "phi/time.h"

namespace nekton {

enum class Verdict : std::uint8_t {
  kServe,
  kStaleEpoch,
  kForbidden,
  kReplay,
  kNotHome,
  kMoved,
  kNotCurrent,
  kNoAuthority,
  kBusy,  // the first one of this id is still being carried out, or there is no room to remember it
};
std::string_view Name(Verdict verdict);  // "served", "stale-epoch", ..., as they travel and stand in evidence

struct ObjectRequest {
  std::uint64_t epoch = 0;  // of the client's view
  Capability capability;
  std::uint64_t request = 0;  // rises within a capability
  ObjectId object;
  Operation operation = Operation::kStat;
};

struct Decision {
  Verdict verdict = Verdict::kServe;
  std::uint64_t epoch = 0;            // ours; kMoved: of the move
  std::string moved_to;               // kMoved
  std::span<const std::byte> answer;  // kReplay: the first one; valid until the next call
  absl::Status detail;                // kForbidden: why
};

struct GateCounters {
  std::array<std::uint64_t, 9> by_verdict{};
  std::uint64_t commits = 0;
  std::uint64_t of(Verdict verdict) const { return by_verdict[static_cast<std::size_t>(verdict)]; }
};

class ObjectGate {
 public:
  // `leases` outlives the gate.
  ObjectGate(std::string label, const PublicKey& authority, HomeLeases* leases)
      : label_(std::move(label)), authority_(authority), leases_(leases) {}

  Decision Decide(const Tick& now, const ObjectRequest& request);
  // How a request that was to be served ended.
  void Served(const ObjectRequest& request, std::span<const std::byte> answer);

  const GateCounters& counters() const { return counters_; }

 private:
  Decision Judge(const Tick& now, const ObjectRequest& request);

  std::string label_;
  PublicKey authority_;
  HomeLeases* leases_;
  FirstAnswers answers_;
  GateCounters counters_;
};

}  // namespace nekton
