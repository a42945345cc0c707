// The transport of a node, as its configuration wants it: libuv's or the user's own, sealed or not. Internal.
#pragma once

#include <uv.h>

#include <functional>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "transport/node_setup.h"
#include "transport/seal_transport.h"
#include "transport/transport.h"
#include "transport/uv_transport.h"

namespace nekton {

struct NodeTransport {
  std::unique_ptr<Transport> transport;
  const TransportCounters* sockets = nullptr;  // null: the transport is the user's
  SealTransport* seal = nullptr;               // null: frames are plain
};

// Told of peers that speak another language, or are refused; as often as they come.
using OnStranger = std::function<void(const Address& from, std::string_view what)>;

// Errors: UvTransport::Create's, or the user's.
absl::StatusOr<NodeTransport> OpenNodeTransport(uv_loop_t* loop, const NodePlan& plan, OnStranger on_stranger);

}  // namespace nekton
