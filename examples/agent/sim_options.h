// The arguments of `nekton sim`.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "swim/config.h"

namespace nekton {

// What is done to one member at one time.
struct SimAction {
  enum class Kind : std::uint8_t { kKill, kSilentKill, kPause, kLeave, kRestart };
  Kind kind = Kind::kKill;
  std::uint32_t id = 0;
  Duration at{};
  Duration length{};  // kPause
};
std::string_view Name(SimAction::Kind kind);  // "kill", "silent-kill", ...

struct SimRunOptions {
  Config config;  // of every member; name, seeds and randomness come later
  std::uint64_t nodes = 10;
  std::uint64_t seed = 1;
  Duration length = std::chrono::seconds(60);
  Duration warmup{};  // from here on messages are counted
  double loss = 0;
  std::vector<SimAction> actions;  // in the order of their times
  bool bands = false;
  std::uint64_t runs = 1000;  // of --bands
  bool quiet = false;
  bool events = false;
  bool json = false;
  bool progress = false;
  bool help = false;  // then nothing else is filled in
};

extern const std::string_view kSimHelp;

// InvalidArgument or Unimplemented, in one line.
absl::StatusOr<SimRunOptions> ParseSimOptions(std::span<const char* const> arguments);

}  // namespace nekton
