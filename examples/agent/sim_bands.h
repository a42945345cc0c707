// `nekton sim --profile mesh --bands`: how long a heartbeat mesh takes to see that a member died, over many seeded runs,
// held against the bands that are published (heartbeat-and-stm, HB, "SLA reframe").
#pragma once

#include "examples/agent/sim_options.h"

namespace nekton {

// Returns the status of the process: 1 if any run left its band; the seeds of those are printed.
int RunBands(const SimRunOptions& options);

}  // namespace nekton
