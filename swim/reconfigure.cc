#include "swim/reconfigure.h"

#include <optional>
#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "stm/mistakes.h"

namespace nekton {
namespace {

// `field(name, of the Config, of the Reconfigure)` for those that can be changed, `field(name, of the Config, kind)` for
// the others.
template <typename Field>
void ForEachField(Field field) {
  using C = Config;
  using R = Reconfigure;
  constexpr FieldKind kTerm = FieldKind::kTerm;
  constexpr FieldKind kFixed = FieldKind::kFixed;
  field("name", &C::name, kFixed);
  field("bind", &C::bind, kFixed);
  field("advertise", &C::advertise, kFixed);
  field("seeds", &C::seeds, kFixed);
  field("label", &C::label, kFixed);
  field("sealing", &C::sealing, kFixed);
  field("key_file", &C::key_file, kFixed);
  field("tags", &C::tags, kFixed);
  field("generation", &C::generation, kFixed);
  field("seed", &C::seed, kFixed);
  field("detector", &C::detector, &R::detector);
  field("profile", &C::profile, kFixed);
  field("monitoring", &C::monitoring, kTerm);
  field("period", &C::period, &R::period);
  field("phi_threshold", &C::phi_threshold, &R::phi_threshold);
  field("probing", &C::probing, kTerm);
  field("attempts", &C::attempts, kFixed);
  field("relays", &C::relays, &R::relays);
  field("relay_after", &C::relay_after, &R::relay_after);
  field("stream_ping", &C::stream_ping, &R::stream_ping);
  field("nacks", &C::nacks, kFixed);
  field("local_health_max", &C::local_health_max, &R::local_health_max);
  field("corroborators", &C::corroborators, kTerm);
  field("rules", &C::rules, kFixed);
  field("jitter", &C::jitter, kFixed);
  field("suspect_after", &C::suspect_after, kTerm);
  field("fail_after", &C::fail_after, kTerm);
  field("acceptable_pause", &C::acceptable_pause, kFixed);
  field("repeat_after", &C::repeat_after, kFixed);
  field("misses", &C::misses, kTerm);
  field("revive", &C::revive, kTerm);
  field("recovery_hold", &C::recovery_hold, kFixed);
  field("promote_threshold", &C::promote_threshold, kFixed);
  field("rumour_weight", &C::rumour_weight, kFixed);
  field("tolerated_pause", &C::tolerated_pause, kTerm);
  field("hold_alpha", &C::hold_alpha, kTerm);
  field("hold_beta", &C::hold_beta, kTerm);
  field("confirmers", &C::confirmers, kTerm);
  field("hearer_margin", &C::hearer_margin, kTerm);
  field("forget_after", &C::forget_after, kTerm);
  field("retransmit", &C::retransmit, &R::retransmit);
  field("gossip_fanout", &C::gossip_fanout, &R::gossip_fanout);
  field("gossip_interval", &C::gossip_interval, &R::gossip_interval);
  field("digest_patience", &C::digest_patience, &R::digest_patience);
  field("broadcast_keep", &C::broadcast_keep, kFixed);
  field("join_backoff_min", &C::join_backoff_min, kFixed);
  field("join_backoff_max", &C::join_backoff_max, kFixed);
  field("seed_retry", &C::seed_retry, kFixed);
  field("reconnect_periods", &C::reconnect_periods, &R::reconnect_periods);
  field("stream_timeout", &C::stream_timeout, kFixed);
  field("leave_timeout", &C::leave_timeout, kFixed);
  field("isolation_share", &C::isolation_share, &R::isolation_share);
  field("isolation_after", &C::isolation_after, &R::isolation_after);
  field("bootstrap_expect", &C::bootstrap_expect, kFixed);
  field("standalone", &C::standalone, kFixed);
  field("max_local_pause", &C::max_local_pause, &R::max_local_pause);
  field("datagram_max", &C::datagram_max, kFixed);
  field("members_max", &C::members_max, &R::members_max);
  field("mail", &C::mail, &R::mail);
}

// Why the period cannot become this one; empty: it can.
std::string PeriodMistake(const Config& from, Duration to) {
  if (from.period == to) return "";
  if (from.beats()) return "a group that sends heartbeats agrees on it: all members must be restarted with it";
  if (from.probing == Probing::kStaggered)
    return "staggered probing agrees on it: all members must be restarted with it";
  const Duration step = kHoldSlack + from.hearer_margin;
  if (from.period - to <= step) return "";
  return absl::StrCat("must not be more than ", DurationText(step), " below the ", DurationText(from.period),
                      " that hold now; go in steps");
}

const char* Instead(std::string_view name, FieldKind kind) {
  if (kind == FieldKind::kTerm) return "it is a term of the group: all members must be restarted with it";
  if (name == "seeds") return "it is fixed while a member runs: Join() takes further ones";
  if (name == "sealing") return "it is fixed for the engine: the node's SetSealing() changes it";
  if (name == "tags") return "it is fixed while a member runs: SetTags() changes them";
  return "it is fixed while a member runs: restart it with the new value";
}

}  // namespace

std::vector<ConfigField> ConfigFields() {
  std::vector<ConfigField> fields;
  ForEachField([&](const char* name, auto, auto how) {
    FieldKind kind = FieldKind::kChangeable;
    if constexpr (std::is_same_v<decltype(how), FieldKind>) kind = how;
    fields.push_back({name, kind});
  });
  return fields;
}

absl::StatusOr<Reconfigure> Changes(const Config& from, const Config& to) {
  Reconfigure changes;
  std::string mistakes;
  ForEachField([&](const char* name, auto field, auto how) {
    if (from.*field == to.*field) return;
    if constexpr (std::is_same_v<decltype(how), FieldKind>) {
      absl::StrAppend(&mistakes, mistakes.empty() ? "" : "\n", name, ": ", Instead(name, how));
    } else {
      changes.*how = to.*field;
    }
  });
  if (!mistakes.empty()) return absl::InvalidArgumentError(mistakes);
  return changes;
}

absl::StatusOr<Config> Changed(const Config& config, const Reconfigure& changes) {
  Config changed = config;
  ForEachField([&](const char*, auto field, auto how) {
    if constexpr (!std::is_same_v<decltype(how), FieldKind>) {
      if ((changes.*how).has_value()) changed.*field = *(changes.*how);
    }
  });
  std::string mistakes(changed.Validate().message());
  if (changed.members_max < config.members_max) {
    absl::StrAppend(&mistakes, mistakes.empty() ? "" : "\n", "members_max = ", changed.members_max,
                    ": must not be below the ", config.members_max, " that hold while a member runs");
  }
  if (const std::string mistake = PeriodMistake(config, changed.period); !mistake.empty()) {
    absl::StrAppend(&mistakes, mistakes.empty() ? "" : "\n", "period = ", DurationText(changed.period), ": ", mistake);
  }
  if (!mistakes.empty()) return absl::InvalidArgumentError(mistakes);
  return changed;
}

}  // namespace nekton
