// Requests for objects and their answers as bytes: the bodies of nekton's requests (Node::Request).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "lease/capability.h"
#include "lease/object_gate.h"

namespace nekton {

struct ObjectCall {
  ObjectRequest request;
  bool wants_value = false;  // a stat that brings the value, too: get
  std::string value;         // of a commit
};

struct ObjectAnswer {
  Verdict verdict = Verdict::kServe;
  std::uint64_t epoch = 0;    // the home's; kMoved: of the move
  std::string moved_to;       // kMoved
  std::uint64_t version = 0;  // of the object: commits since its home took it over; 0: there is none
  std::string value;          // kServe, if it was wanted
};

inline constexpr std::size_t kValueMax = 60'000;  // bytes; an answer with it is short enough to be remembered

std::vector<std::byte> Encode(const ObjectCall& call);
std::vector<std::byte> Encode(const ObjectAnswer& answer);
// Nothing: these are not the bytes of one.
std::optional<ObjectCall> DecodeCall(std::span<const std::byte> bytes);
std::optional<ObjectAnswer> DecodeAnswer(std::span<const std::byte> bytes);

// A capability as 242 hexadecimal digits, for files and command lines, and back. InvalidArgument says what is wrong.
std::string ToHex(const Capability& capability);
absl::StatusOr<Capability> ParseCapability(std::string_view hex);

}  // namespace nekton
