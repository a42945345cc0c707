#include "lease/fencing_token.h"

#include <charconv>
#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "swim/bytes.h"

namespace nekton {
namespace {

constexpr std::string_view kKind = "lease claim";

std::vector<std::byte> Statement(std::string_view label, const LeaseClaim& claim) {
  std::vector<std::byte> bytes(VarintSize(label.size()) + label.size() + VarintSize(claim.lease.size()) +
                               claim.lease.size() + VarintSize(claim.holder.size()) + claim.holder.size() + 16);
  ByteWriter writer(bytes.data());
  for (const std::string_view text : {label, std::string_view(claim.lease), std::string_view(claim.holder)}) {
    writer.Varint(text.size());
    writer.Text(text);
  }
  writer.Fixed(claim.generation);
  writer.Fixed(claim.token.value);
  return bytes;
}

}  // namespace

std::string ToString(FencingToken token) { return absl::StrCat(token.era(), ".", token.counter()); }

absl::StatusOr<FencingToken> ParseFencingToken(std::string_view text) {
  const char* const end = text.data() + text.size();
  std::uint16_t era = 0;
  std::uint64_t counter = 0;
  const auto [dot, bad_era] = std::from_chars(text.data(), end, era);
  bool good = bad_era == std::errc() && dot != end && *dot == '.';
  if (good) {
    const auto [last, bad_counter] = std::from_chars(dot + 1, end, counter);
    good = bad_counter == std::errc() && last == end && counter >> FencingToken::kCounterBits == 0;
  }
  if (!good) {
    return absl::InvalidArgumentError(
        absl::StrCat("token: \"", std::string(text.substr(0, 40)), "\": must be ERA.COUNTER, below 65536 and 2^48"));
  }
  return FencingToken::Of(era, counter);
}

Signature SignClaim(const SigningKey& authority, std::string_view label, const LeaseClaim& claim) {
  return authority.Sign(kKind, Statement(label, claim));
}

bool VerifyClaim(const PublicKey& authority, std::string_view label, const LeaseClaim& claim,
                 const Signature& signature) {
  return Verify(authority, kKind, Statement(label, claim), signature);
}

}  // namespace nekton
