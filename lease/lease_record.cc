#include "lease/lease_record.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace nekton {
namespace {

constexpr std::size_t kFields = 8;

// The last field is all that is left. False if there are fewer.
bool Split(std::string_view text, std::array<std::string_view, kFields>& fields) {
  for (std::size_t i = 0; i + 1 < kFields; ++i) {
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos) return false;
    fields[i] = text.substr(0, space);
    text.remove_prefix(space + 1);
  }
  fields.back() = text;
  return true;
}

template <typename Number>
bool Parse(std::string_view text, Number& number, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string Encode(const LeaseRecord& record) {
  return absl::StrCat("nekton-lease 1 ", ToString(record.token), " ", record.duration.count(), " ", record.generation,
                      " ", absl::Hex(record.nonce), " ", record.renewals, " ", record.holder);
}

absl::StatusOr<LeaseRecord> DecodeLeaseRecord(std::string_view text) {
  std::array<std::string_view, kFields> fields;
  if (!Split(text, fields) || fields[0] != "nekton-lease" || fields[1] != "1") {
    return absl::InvalidArgumentError("lease record: it is none, or of another version");
  }
  const absl::StatusOr<FencingToken> token = ParseFencingToken(fields[2]);
  if (!token.ok()) return token.status();
  LeaseRecord record;
  record.token = *token;
  std::int64_t duration = 0;
  if (!Parse(fields[3], duration) || Duration(duration) < kLeaseDurationMin || Duration(duration) > kLeaseDurationMax) {
    return absl::InvalidArgumentError("lease record: duration: it is out of range");
  }
  record.duration = Duration(duration);
  if (!Parse(fields[4], record.generation) || !Parse(fields[5], record.nonce, 16) ||
      !Parse(fields[6], record.renewals)) {
    return absl::InvalidArgumentError("lease record: generation, nonce, renewals: must be numbers");
  }
  record.holder = std::string(fields[7]);
  return record;
}

std::string AfterRestore(const std::string& value, std::uint16_t era, Duration longest) {
  LeaseRecord record;
  if (!value.empty()) {
    absl::StatusOr<LeaseRecord> there = DecodeLeaseRecord(value);
    if (!there.ok()) return value;
    record = *std::move(there);
  }
  record.token = std::max(record.token, FencingToken::Of(era, 0));
  record.duration = std::clamp(std::max(record.duration, longest), kLeaseDurationMin, kLeaseDurationMax);
  record.generation = 0;
  record.nonce = ~record.nonce;
  record.renewals = 0;
  record.holder = "unknown after a restore";
  return Encode(record);
}

}  // namespace nekton
