// What members and the authority say to each other about views and leases: the bodies of inner mail (Engine::SendInner).
// Bytes: lease/FORMAT.md. Values; pure and thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lease/lease_move.h"
#include "lease/lease_terms.h"
#include "lease/signature.h"
#include "lease/view.h"

namespace nekton {

struct LeaseMessage {
  enum class Kind : std::uint8_t {
    kJoin = 1,    // to the authority: I am in no view; take me in
    kPing = 2,    // to the authority: this is the view that I hold; renew my leases
    kAnswer = 3,  // of the authority, to both
    kFetch = 4,   // a request: the view, if yours is newer than mine. Answer: lease/fetched_view.h
    kMove = 5,    // of the authority: an object has another home
    kMoved = 6,   // to the authority: I have that move
  };
  enum class Result : std::uint8_t {
    kRenewed = 0,
    kNotRenewed = 1,  // you hold another view, are in none, or are being removed
    kOtherTerms = 2,  // your leases last differently, or you believe another authority: nothing will be renewed
    kAccepted = 3,    // you are in the next view, or in this one
    kWait = 4,        // you are not ACTIVE here yet
    kRefused = 5,     // the text says why
  };
  static constexpr std::size_t kTextMax = 200;

  Kind kind = Kind::kPing;
  std::uint64_t nonce = 0;  // join, ping: 64 random bits, which come back in the answer
  Duration write{};         // join, ping: the terms of the sender
  std::int64_t drift_ppm = 0;
  PublicKey key;              // join: whose views the sender believes
  ViewHead head;              // ping
  std::uint64_t epoch = 0;    // answer: of the view in force; fetch: of the sender's view; moved: of the move
  ViewDigest digest;          // fetch: of the sender's view; zeros: the whole view is asked for, and no difference
  std::uint64_t settled = 0;  // answer: up to here views are settled
  Result result = Result::kRenewed;
  std::string text;     // answer: of a refusal; at most kTextMax bytes
  Signature signature;  // answer: lease/lease_answer.h
  LeaseMove move;       // move; of moved the object and the epoch
};

std::vector<std::byte> Encode(const LeaseMessage& message);
// DataLoss says what is wrong: too short, too long, another version, or an unknown kind or result.
absl::StatusOr<LeaseMessage> DecodeLeaseMessage(std::span<const std::byte> bytes);

}  // namespace nekton
