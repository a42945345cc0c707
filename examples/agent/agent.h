// `nekton agent`: one member on real sockets.
#pragma once

#include "examples/agent/agent_options.h"

namespace nekton {

// Returns the status of the process.
int RunAgent(const AgentOptions& options);

}  // namespace nekton
