#include "examples/agent/sim_report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "examples/agent/words.h"

namespace nekton {
namespace {

double Seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

Json OrNull(std::optional<Duration> time) { return time ? Json(Seconds(*time)) : Json(); }

std::string OrNever(std::optional<Duration> time) {
  return time ? absl::StrFormat("%.3f s", Seconds(*time)) : std::string("never");
}

const char* DetectorName(const SimRunOptions& options) {
  return options.config.detector == DetectorKind::kFixed ? "fixed" : "phi";
}
const char* ProbingName(const SimRunOptions& options) {
  if (options.config.beats()) return "none";
  return options.config.probing == Probing::kRandom ? "random" : "staggered";
}

std::string Hex(std::uint64_t value) { return absl::StrFormat("%016x", value); }

Json KillJson(const SimWatch::Kill& kill) {
  return {{"id", kill.id},
          {"at_s", Seconds(kill.at)},
          {"first_suspect_s", OrNull(kill.first_suspect)},
          {"first_confirm_s", OrNull(kill.first_confirm)},
          {"last_confirm_s", OrNull(kill.last_confirm)},
          {"suspected_by", kill.suspected_by},
          {"confirmed_by", kill.confirmed_by},
          {"others", kill.others}};
}

std::string KillText(const SimWatch::Kill& kill) {
  return absl::StrFormat("kill          n%d at %.3f s: first suspect %s, first confirm %s, last %s, by %d of %d\n",
                         kill.id, Seconds(kill.at), OrNever(kill.first_suspect), OrNever(kill.first_confirm),
                         OrNever(kill.last_confirm), kill.confirmed_by, kill.others);
}

}  // namespace

double SimReport::PerMemberPeriod(double count) const {
  const double periods = Seconds(traffic.ran()) / Seconds(options.config.period);
  return periods > 0 ? count / periods : 0;
}

double SimReport::Datagrams() const {
  double sum = 0;
  for (const Purpose& purpose : kPurposes) sum += traffic.Of(purpose.messages);
  return PerMemberPeriod(sum);
}

double SimReport::Bytes() const {
  double sum = 0;
  for (const Purpose& purpose : kPurposes) sum += traffic.Of(purpose.bytes);
  return PerMemberPeriod(sum);
}

double SimReport::Speed() const { return wall_seconds > 0 ? static_cast<double>(inputs) / wall_seconds : 0; }

Json SimReport::ToJson() const {
  Json datagrams = Json::object();
  Json bytes = Json::object();
  for (const Purpose& purpose : kPurposes) {
    const std::string name(purpose.name);
    datagrams[name] = PerMemberPeriod(traffic.Of(purpose.messages));
    bytes[name] = PerMemberPeriod(traffic.Of(purpose.bytes));
  }
  Json kills = Json::array();
  for (const SimWatch::Kill& kill : watch.kills()) kills.push_back(KillJson(kill));
  return {{"summary", true},
          {"nodes", options.nodes},
          {"seconds", Seconds(options.length)},
          {"seed", options.seed},
          {"profile", options.config.profile},
          {"detector", DetectorName(options)},
          {"probing", ProbingName(options)},
          {"loss", options.loss},
          {"warmup_s", Seconds(options.warmup)},
          {"converged_s", OrNull(converged)},
          {"converged_at_end", converged_at_end},
          {"datagrams_per_member_period", Datagrams()},
          {"bytes_per_member_period", Bytes()},
          {"datagrams_by_purpose", datagrams},
          {"bytes_by_purpose", bytes},
          {"sync_bytes_per_member_period", PerMemberPeriod(traffic.Of(Counter::kSyncBytesSent))},
          {"first_suspect_s", OrNull(watch.FirstSuspect())},
          {"last_confirm_s", OrNull(watch.LastConfirm())},
          {"kills", kills},
          {"false_suspicions", watch.of_running().suspicions},
          {"false_accusations", watch.of_running().accusations},
          {"false_inactive", watch.of_running().inactive},
          {"paused_suspicions", watch.of_paused().suspicions},
          {"paused_inactive", watch.of_paused().inactive},
          {"events", inputs},
          {"wall_s", wall_seconds},
          {"events_per_second", Speed()},
          {"fingerprint", Hex(fingerprint)}};
}

std::string SimReport::ToText() const {
  std::string text =
      absl::StrFormat("\nrun           %d members, %.3f s of virtual time, seed %d, profile %s, loss %g\n",
                      options.nodes, Seconds(options.length), options.seed, options.config.profile, options.loss);
  absl::StrAppendFormat(&text, "              detector %s, probing %s\n", DetectorName(options), ProbingName(options));
  absl::StrAppend(&text, "converged     ", converged ? OrNever(converged) + " after the last start" : "never",
                  converged_at_end ? "" : "; the tables differ at the end", "\n");
  absl::StrAppendFormat(&text, "messages      %.3f datagrams, %.1f bytes per member and period, from %.3f s on\n",
                        Datagrams(), Bytes(), Seconds(options.warmup));
  for (const Purpose& purpose : kPurposes) {
    absl::StrAppendFormat(&text, "  %-11s %.3f datagrams, %.1f bytes\n", Absl(purpose.name),
                          PerMemberPeriod(traffic.Of(purpose.messages)), PerMemberPeriod(traffic.Of(purpose.bytes)));
  }
  absl::StrAppendFormat(&text, "  %-11s %.1f bytes over streams\n", "sync",
                        PerMemberPeriod(traffic.Of(Counter::kSyncBytesSent)));
  for (const SimWatch::Kill& kill : watch.kills()) text += KillText(kill);
  const SimWatch::Mistakes& running = watch.of_running();
  absl::StrAppendFormat(&text, "false         %d suspicions (%d of an observer's own probes), %d inactive\n",
                        running.suspicions, running.accusations, running.inactive);
  if (watch.of_paused().suspicions + watch.of_paused().inactive != 0) {
    absl::StrAppendFormat(&text, "of the paused %d suspicions, %d inactive\n", watch.of_paused().suspicions,
                          watch.of_paused().inactive);
  }
  absl::StrAppendFormat(&text, "speed         %.0f events a second, %.3f s in all\n", Speed(), wall_seconds);
  return absl::StrCat(text, "fingerprint   ", Hex(fingerprint));
}

}  // namespace nekton
