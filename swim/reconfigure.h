// The order to change the configuration of a member while it runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "phi/time.h"
#include "swim/config.h"

namespace nekton {

// The fields of Config that are set here get these values (its comments say what they mean); the others stay. What is
// changed holds from here on: no member is accused, or taken back, for it.
//   detector, phi_threshold  what the detectors have learned stays (each is fed all the time), signals that were given
//                            stand, and an attempt that waits for an answer keeps the later of its two deadlines
//   period                   of probes at random alone; from the next period on, open rounds end as they were planned. It
//     stays a term of the group, but until it is restarted a member counts as having the period before this one, too: it
//     lets in who has either, and is let in; its holds are as long as the longer of both would have them. For a group:
//     reconfigure all members, then change the files that they start with; the next change once all have this one.
//     Nobody healthy is suspected for it. A period that gets shorter, at most by hearer_margin + 0.5 s at a time, leaves
//     less time before a hold of a member that has the old one: until all have the new one, tolerated_pause and the
//     half second that is added to it are as much shorter
//   members_max              upwards alone
//   mail                     what is open, or waits, beyond a lower limit stays so
// Errors: InvalidArgument with every mistake, one a line, as Config::Validate() would have it with these values; then none
// is applied. FailedPrecondition after a leave, a displacement or an expulsion.
struct Reconfigure {
  std::optional<DetectorKind> detector = std::nullopt;
  std::optional<Duration> period = std::nullopt;
  std::optional<double> phi_threshold = std::nullopt;
  std::optional<std::uint32_t> relays = std::nullopt;
  std::optional<double> relay_after = std::nullopt;
  std::optional<bool> stream_ping = std::nullopt;
  std::optional<std::uint32_t> local_health_max = std::nullopt;
  std::optional<std::uint32_t> retransmit = std::nullopt;
  std::optional<std::uint32_t> gossip_fanout = std::nullopt;
  std::optional<Duration> gossip_interval = std::nullopt;
  std::optional<std::uint32_t> digest_patience = std::nullopt;
  std::optional<std::uint32_t> reconnect_periods = std::nullopt;
  std::optional<double> isolation_share = std::nullopt;
  std::optional<Duration> isolation_after = std::nullopt;
  std::optional<Duration> max_local_pause = std::nullopt;
  std::optional<std::size_t> members_max = std::nullopt;
  std::optional<MailLimits> mail = std::nullopt;
};

// Whether a field of Config may be changed while a member runs.
enum class FieldKind : std::uint8_t {
  kChangeable,  // by Reconfigure; `period` is a term, too
  kTerm,        // all members of a group must agree on it (swim/terms.h): all are to be restarted with it
  kFixed,       // this member is to be restarted with it; seeds are for Join, tags for SetTags, sealing for SetSealing
};
struct ConfigField {
  std::string_view name;
  FieldKind kind = FieldKind::kFixed;
};
// All fields, in their order.
std::vector<ConfigField> ConfigFields();

// What turns one configuration into another. InvalidArgument names each field that differs and cannot be changed while a
// member runs, one a line, with what has to be done instead.
absl::StatusOr<Reconfigure> Changes(const Config& from, const Config& to);
// `config` with these changes. InvalidArgument with every mistake, one a line.
absl::StatusOr<Config> Changed(const Config& config, const Reconfigure& changes);

}  // namespace nekton
