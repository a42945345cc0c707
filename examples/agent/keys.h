// `nekton keygen` and `nekton capability`: the authority's key, and the rights that it signs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "lease/signature.h"
#include "phi/time.h"

namespace nekton {

// The secret of an authority is a file of 64 hexadecimal digits that only its owner can read.
// NotFound, PermissionDenied (others can read it), InvalidArgument (it holds something else): each names the file.
absl::StatusOr<SigningKey> ReadKeyFile(const std::string& path);

struct KeygenOptions {
  std::string out;
  bool help = false;  // then nothing else is filled in
};
extern const std::string_view kKeygenHelp;
absl::StatusOr<KeygenOptions> ParseKeygenOptions(std::span<const char* const> arguments);
int RunKeygen(const KeygenOptions& options);

struct CapabilityOptions {
  std::string key;
  std::string label;
  std::string object;
  std::uint8_t operations = 0;  // a bit for each Operation
  Duration lasts = std::chrono::hours(24);
  bool help = false;  // then nothing else is filled in
};
extern const std::string_view kCapabilityHelp;
absl::StatusOr<CapabilityOptions> ParseCapabilityOptions(std::span<const char* const> arguments);
int RunCapability(const CapabilityOptions& options);

}  // namespace nekton
