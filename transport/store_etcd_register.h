// The register in etcd 3.4 or newer, by its JSON gateway: /v3/kv/txn on mod_revision, and nothing else that safety needs.
// etcd's own leases and clocks are not used.
//
// One thread for all requests and watches (libcurl's multi interface), up to `in_flight` requests at once. A request that no
// endpoint could be reached for goes to the next one; one that may have arrived and got no answer is kUnknown, and is
// never sent twice. Versions are etcd's revisions: after a restore from a snapshot they begin again below those of the lost
// cluster, so a restored cluster must be empty of leases, and the resources' fences are what stays (kSplitAuthority, kStale).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lease/register.h"
#include "phi/time.h"

namespace nekton {

struct EtcdOptions {
  std::vector<std::string> endpoints = {};  // "http://10.0.0.1:2379"; https with `ca` or the system's certificates
  std::string prefix = "nekton/";           // of all keys
  Duration timeout =
      std::chrono::seconds(2);  // of a request, all endpoints together; below a third of the shortest lease
  std::string ca = {};          // files in PEM; empty: none
  std::string certificate = {};
  std::string key = {};
  std::size_t queue = 4096;
  std::size_t in_flight = 32;
  std::size_t watches = 256;  // each keeps a connection
};
std::vector<std::string> ProblemsOf(const EtcdOptions& options);

// InvalidArgument names what is wrong. Whether an endpoint answers shows at the first request.
absl::StatusOr<std::unique_ptr<Register>> OpenEtcdRegister(EtcdOptions options);

}  // namespace nekton
