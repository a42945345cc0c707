#include "stm/explanation.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace nekton {
namespace {

using Namer = std::function<std::string(PeerId)>;

absl::string_view Absl(std::string_view text) { return {text.data(), text.size()}; }

std::string Seconds(Duration time) { return absl::StrFormat("%.3f s", std::chrono::duration<double>(time).count()); }

std::string Times(std::uint64_t count, absl::string_view what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

std::string By(PeerId observer, const Namer& name) {
  return observer == kNoPeer ? std::string("itself") : name(observer);
}

std::string StateLine(const Explanation& why, const Namer& name) {
  std::string line(Absl(Name(why.state)));
  if (why.departed) absl::StrAppend(&line, ", departed");
  if (!why.recorded) return absl::StrCat(line, ": nothing is held against it");
  if (!why.transition.has_value()) {
    return absl::StrCat(line, why.state == State::kInactive ? ": it was dead when we first heard of it" : "");
  }
  absl::StrAppend(&line, " for ", Seconds(why.since), ": ", Absl(InWords(*why.transition, why.state)));
  if (why.observer != kNoPeer) absl::StrAppend(&line, ", completed by ", name(why.observer));
  return line;
}

std::string CountLine(const Explanation& why) {
  switch (why.state) {
    case State::kActive:
      return absl::StrCat("SUSPECT signals: ", why.count, " of ", why.threshold, " that would make it SUSPECT");
    case State::kSuspect:
      return absl::StrCat("HEALTHY signals: ", why.count, " of ", why.threshold, " that would make it ACTIVE");
    case State::kInactive:
      break;
  }
  switch (why.revive) {
    case Revive::kRefutation:
      return "ACTIVE again by its own refutation only, or by a restart";
    case Revive::kJoinOnly:
      return "ACTIVE again by a fresh join only";
    case Revive::kHealthy:
      break;
  }
  return absl::StrCat(
      "HEALTHY signals: ", why.count, " of ", why.threshold, " that would make it ACTIVE",
      why.recovery_left > Duration::zero() ? absl::StrCat(", not before ", Seconds(why.recovery_left)) : "");
}

std::string HoldLine(const Explanation::Hold& hold) {
  if (!hold.running) return "hold cancelled; the next signals decide";
  std::string line = absl::StrCat("INACTIVE in ", Seconds(hold.left));
  if (hold.awaits_signal) absl::StrAppend(&line, ", but not before one more SUSPECT signal of ours");
  absl::StrAppend(&line, hold.own       ? "; our own evidence"
                         : hold.outside ? "; what the application handed in"
                                        : "; only heard of");
  if (hold.confirmations > hold.confirmers && hold.confirmers > 0) {
    absl::StrAppend(&line, ", ", Times(hold.confirmations, "confirmation"), ", of which ", hold.confirmers,
                    " shorten the hold");
  } else if (hold.confirmers > 0) {
    absl::StrAppend(&line, ", ", Times(hold.confirmations, "confirmation"), " of ", hold.confirmers,
                    " that shorten the hold");
  } else {
    absl::StrAppend(&line, ", nobody else could confirm");
  }
  if (hold.refusals > 0) absl::StrAppend(&line, ", its port refused ", Times(hold.refusals, "observer"));
  if (hold.condemned) absl::StrAppend(&line, ", others hold it dead");
  return line;
}

std::string WitnessLine(const std::vector<Witness>& witnesses, const Namer& name) {
  std::string line = "against it:";
  for (const Witness& w : witnesses) {
    absl::StrAppend(&line, " ", name(w.observer), w.verdict ? " (says dead" : " (says suspect",
                    w.refused ? ", refused" : "", w.counts ? ")" : ", counts no more)");
  }
  return line;
}

std::string SaidLine(const Testimony& said, Instant now, const Namer& name) {
  const std::string when = Seconds(std::max(Duration::zero(), now - said.at));
  std::string line = absl::StrCat(when, " ago: ");
  if (said.kind == Testimony::Kind::kSignal) {
    absl::StrAppend(&line, Absl(Name(said.signal)), " by ", By(said.observer, name), " (", Absl(Name(said.reason)),
                    said.weight == 1 ? ")" : absl::StrCat(", weight ", said.weight, ")"));
  } else {
    absl::StrAppend(&line, Absl(Name(said.kind)), " by ", By(said.observer, name));
  }
  return line;
}

}  // namespace

std::string_view Name(Testimony::Kind kind) {
  switch (kind) {
    case Testimony::Kind::kSignal:
      return "signal";
    case Testimony::Kind::kRumour:
      return "rumour";
    case Testimony::Kind::kVerdict:
      return "verdict";
    case Testimony::Kind::kRefutation:
      return "refutation";
  }
  return "unknown";
}

std::string Describe(const Explanation& why, const Namer& name) {
  std::string text = StateLine(why, name);
  if (!why.recorded) return text;
  absl::StrAppend(&text, "\n", CountLine(why));
  if (why.hold.has_value()) absl::StrAppend(&text, "\n", HoldLine(*why.hold));
  if (!why.witnesses.empty()) absl::StrAppend(&text, "\n", WitnessLine(why.witnesses, name));
  if (why.flaps > 0) absl::StrAppend(&text, "\nreturned from SUSPECT ", Times(why.flaps, "time"), " lately");
  for (const Testimony& said : why.recent) absl::StrAppend(&text, "\n", SaidLine(said, why.at, name));
  return text;
}

}  // namespace nekton
