// The protocols that are compared, all built from the switches of one engine: nekton itself, and what it grew from.
//
//   nekton      Config::Lan()
//   staggered   the same with Probing::kStaggered
//   swim        Das, Gupta, Motivala, "SWIM", DSN 2002, with suspicion; the length of the suspicion and the gossip are
//               those of the Lifeguard paper's baseline (alpha 5)
//   lifeguard   Dadgar, Phillips, Currey, "Lifeguard", DSN 2018: alpha 5, beta 6, K 3, S 8, with all its parts
//   memberlist  Hashicorp's, in its LAN setting: alpha 4, beta 6, and the last word over a stream
//
// The baselines are models: rules and times are theirs; the wire format and the event loop are nekton's. Unlike theirs,
// a member that was asleep still notices it (Config::max_local_pause). Period 1 s, gossip to 3 members every 200 ms and
// a transmit limit of 4 log10(N + 1) hold for all.
#pragma once

#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "swim/config.h"

namespace nekton::bench {

// In the order in which tables show them.
std::span<const std::string_view> ProtocolNames();

// Its configuration, without a name and seeds. InvalidArgument, with the names there are, if there is none such.
absl::StatusOr<Config> ProtocolConfig(std::string_view name);

// "fixed" or "phi", "random" or "staggered"; else InvalidArgument.
absl::StatusOr<DetectorKind> DetectorNamed(std::string_view name);
absl::StatusOr<Probing> ProbingNamed(std::string_view name);

}  // namespace nekton::bench
