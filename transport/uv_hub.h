// The hub (transport/hub.h) for nodes: each on its own loop, all in one process, without a socket.
//
//   auto hub = std::make_shared<nekton::Hub>();
//   options.transport = nekton::HubOnUv(hub);
//   auto alpha = nekton::Node::Start(config, options);
#pragma once

#include <memory>

#include "transport/hub.h"
#include "transport/transport_factory.h"

namespace nekton {

TransportFactory HubOnUv(std::shared_ptr<Hub> hub);

}  // namespace nekton
