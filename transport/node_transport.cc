#include "transport/node_transport.h"

#include <utility>

#include "transport/uv_clock.h"

namespace nekton {

absl::StatusOr<NodeTransport> OpenNodeTransport(uv_loop_t* loop, const NodePlan& plan, OnStranger on_stranger) {
  NodeTransport made;
  if (plan.make_transport) {
    absl::StatusOr<std::unique_ptr<Transport>> transport = plan.make_transport(loop, plan.bind);
    if (!transport.ok()) return transport.status();
    if (*transport == nullptr) return absl::InvalidArgumentError("transport: the factory made none");
    made.transport = *std::move(transport);
  } else {
    UvTransportOptions options;
    options.streams.served = plan.config.stream_timeout;
    options.on_stranger = on_stranger;
    absl::StatusOr<std::unique_ptr<UvTransport>> transport = UvTransport::Create(loop, plan.bind, std::move(options));
    if (!transport.ok()) return transport.status();
    made.sockets = &(*transport)->counters();
    made.transport = *std::move(transport);
  }
  if (plan.config.sealing == Sealing::kOff) return made;
  SealOptions options;
  options.label = plan.config.label;
  options.name = plan.config.name;
  options.generation = plan.config.generation;
  options.mode = plan.config.sealing;
  options.keys = plan.keys;
  options.on_refused = std::move(on_stranger);
  auto sealed =
      std::make_unique<SealTransport>(std::move(made.transport), std::move(options), [] { return ReadClocks().boot; });
  made.seal = sealed.get();
  made.transport = std::move(sealed);
  return made;
}

}  // namespace nekton
