// `nekton sim`: a whole group on virtual time.
#pragma once

#include "examples/agent/sim_options.h"

namespace nekton {

// Returns the status of the process.
int RunSim(const SimRunOptions& options);

}  // namespace nekton
