// What became of one call of Node::Join with a timeout.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "swim/address.h"

namespace nekton {

// The last result of one address, in the words of who refused it, of the resolver or of the network.
struct SeedResult {
  std::string seed;  // as it was given
  Address address;   // one that it stands for; unspecified, port 0: a name for which none is known
  absl::Status status;
};

struct JoinReport {
  // OK: one of them let us in, or is a member already. DeadlineExceeded: none did in time. FailedPrecondition,
  // Unimplemented: each has refused for good (another cluster, other terms or version, our own address, after a leave);
  // that is not waited for. Cancelled: the node was stopped, or left. What else may come is the caller's mistake, or a
  // bound; then nothing was tried. The message names every address, or the first sixteen.
  absl::Status status;
  std::vector<SeedResult> results;  // in the order of the seeds; a name has one for each of its addresses
};

}  // namespace nekton
