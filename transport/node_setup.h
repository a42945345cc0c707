// What a node works out before it opens a socket, and right after.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "lease/lease_config.h"
#include "lease/register.h"
#include "lease/view_store.h"
#include "swim/address.h"
#include "swim/config.h"
#include "transport/log.h"
#include "transport/seal_key.h"
#include "transport/transport_factory.h"

namespace nekton {

struct NodePlan {
  Config config;  // with generation and seed filled in
  Address bind;
  Keyring keys = {};                     // not empty where config.sealing is on
  TransportFactory make_transport = {};  // empty: libuv's
  LeaseConfig leases = {};
  std::shared_ptr<ViewStore> view_store = nullptr;     // of the authority; else null
  View stored = {};                                    // what it holds
  std::shared_ptr<Register> lease_register = nullptr;  // of a candidate; else null
};
// InvalidArgument with every mistake, one a line. Mistakes are also those of Config::Validate() and of the leases; a loopback
// `bind` with a seed elsewhere: nobody there could answer; and, with sealing, no keys: neither `keys` nor config.key_file
// has one, or both. Errors of the store, which is read.
absl::StatusOr<NodePlan> PlanNode(Config config, LeaseConfig leases = {},
                                  std::shared_ptr<ViewStore> view_store = nullptr, Keyring keys = {},
                                  std::shared_ptr<Register> lease_register = nullptr);

struct Reachability {
  Address advertised;
  std::vector<std::pair<LogLevel, std::string>> lines;  // what the user should know about the choice
};
// `local` is the bound address with its real port; `interfaces` as InterfaceAddresses() gives them.
Reachability ChooseAdvertised(const NodePlan& plan, const Address& local, const std::vector<Address>& interfaces);

}  // namespace nekton
