// The number that tells an older holder of a lease from a newer one, and its signed form.
//
// `era` (16 bits) and `counter` (48): the counter rises by one at every acquisition, the era when the store of leases was
// restored from a backup and its counters may have been given before. They are compared as one number. 0 is no token.
// What an operation shows to a resource is a Claim: which lease, who holds it, its token; an authority may sign it
// (lease/signature.h), so that nobody can invent one. Plain values; thread-safe.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "lease/signature.h"

namespace nekton {

struct FencingToken {
  static constexpr unsigned kCounterBits = 48;
  std::uint64_t value = 0;

  constexpr std::uint16_t era() const { return static_cast<std::uint16_t>(value >> kCounterBits); }
  constexpr std::uint64_t counter() const { return value & ((std::uint64_t{1} << kCounterBits) - 1); }
  static constexpr FencingToken Of(std::uint16_t era, std::uint64_t counter) {
    return {(std::uint64_t{era} << kCounterBits) | (counter & ((std::uint64_t{1} << kCounterBits) - 1))};
  }
  friend constexpr auto operator<=>(const FencingToken&, const FencingToken&) = default;
};

// "0.17": era and counter, decimal.
std::string ToString(FencingToken token);
// InvalidArgument says what is wrong.
absl::StatusOr<FencingToken> ParseFencingToken(std::string_view text);

struct LeaseClaim {
  std::string lease;   // its name
  std::string holder;  // name and generation: two lives of one member are two holders
  std::uint64_t generation = 0;
  FencingToken token;
  friend bool operator==(const LeaseClaim&, const LeaseClaim&) = default;
};

Signature SignClaim(const SigningKey& authority, std::string_view label, const LeaseClaim& claim);
bool VerifyClaim(const PublicKey& authority, std::string_view label, const LeaseClaim& claim,
                 const Signature& signature);

}  // namespace nekton
