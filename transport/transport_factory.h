// How a node is given another transport than libuv's.
#pragma once

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "swim/address.h"
#include "transport/transport.h"

extern "C" {
typedef struct uv_loop_s uv_loop_t;
}

namespace nekton {

// Called on the loop's thread, or before the loop runs; `bind` is Config::bind. The transport lives on that thread and
// calls back on it alone. Status of its own go to Node::Start's caller. A suite that says whether it keeps to what a
// transport promises: transport/conformance.h.
using TransportFactory =
    std::function<absl::StatusOr<std::unique_ptr<Transport>>(uv_loop_t* loop, const Address& bind)>;

}  // namespace nekton
