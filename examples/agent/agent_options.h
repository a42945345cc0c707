// The arguments of `nekton agent`.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "examples/agent/agent_leases.h"
#include "lease/lease_config.h"
#include "swim/config.h"

namespace nekton {

struct AgentOptions {
  Config config;            // valid
  Duration join_timeout{};  // 0: none
  LeaseConfig leases;
  std::string store;           // the file of the authority's view
  std::string lease_register;  // of a candidate: an SQLite file, or the URLs of an etcd
  Rights rights;
  bool evidence = false;
  bool json = false;
  bool help = false;  // then nothing else is filled in
};

extern const std::string_view kAgentHelp;

// InvalidArgument or Unimplemented, in one line.
absl::StatusOr<AgentOptions> ParseAgentOptions(std::span<const char* const> arguments);

}  // namespace nekton
