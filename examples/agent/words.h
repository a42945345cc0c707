// Words of the command line for what a Config holds.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "swim/config.h"
#include "swim/quoted.h"

namespace nekton {

// "lan", "wan", "local", "mesh" or "pair"; else InvalidArgument, as below.
absl::StatusOr<Config> ProfileOf(std::string_view name);
// "fixed" or "phi".
absl::StatusOr<DetectorKind> DetectorOf(std::string_view name);
// "random" or "staggered".
absl::StatusOr<Probing> ProbingOf(std::string_view name);
// "off", "accept" or "require".
absl::StatusOr<Sealing> SealingOf(std::string_view name);

// The mistakes of a configuration, one a line, in one line.
std::string OneLine(absl::string_view text);

// In C++20 Abseil's string_view may be a type of its own.
inline absl::string_view Absl(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view Std(absl::string_view text) { return {text.data(), text.size()}; }

}  // namespace nekton
