// One pure member: the engine with everything above it, composed in one place, without I/O.
//
// The simulator runs ten thousand of them on a virtual clock, the libuv node runs one, a user may run one inside any
// event loop. Contract and thread-safety are the engine's (swim/engine.h). Views, homes and leases join it here later;
// until then a member is its engine.
#pragma once

#include "swim/engine.h"

namespace nekton {

using Member = Engine;

}  // namespace nekton
