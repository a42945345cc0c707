// What a node works out before it opens a socket, and right after.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "lease/lease_config.h"
#include "lease/view_store.h"
#include "swim/address.h"
#include "swim/config.h"
#include "transport/log.h"
#include "transport/transport.h"

namespace nekton {

struct NodePlan {
  Config config;  // with generation and seed filled in
  Address bind;
  LeaseConfig leases;
  std::shared_ptr<ViewStore> view_store;  // of the authority; else null
  View stored;                            // what it holds
  std::function<std::unique_ptr<Transport>(std::unique_ptr<Transport>)> wrap = nullptr;  // NodeOptions::wrap
};
// InvalidArgument with every mistake, one a line. Mistakes are also those of Config::Validate() and of the leases, and a
// loopback `bind` with a seed elsewhere: nobody there could answer. Errors of the store, which is read.
absl::StatusOr<NodePlan> PlanNode(Config config, LeaseConfig leases = {},
                                  std::shared_ptr<ViewStore> view_store = nullptr);

struct Reachability {
  Address advertised;
  std::vector<std::pair<LogLevel, std::string>> lines;  // what the user should know about the choice
};
// `local` is the bound address with its real port; `interfaces` as InterfaceAddresses() gives them.
Reachability ChooseAdvertised(const NodePlan& plan, const Address& local, const std::vector<Address>& interfaces);

}  // namespace nekton
