#include "swim/event.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "swim/member_explanation.h"

namespace nekton {
namespace {

// Peers choose their names and texts; a terminal must not obey them.
std::string Printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      absl::StrAppendFormat(&out, "\\x%02x", byte);
    } else {
      out += c;
    }
  }
  return out;
}

std::string Seconds(Duration d) { return absl::StrFormat("%.3f s", std::chrono::duration<double>(d).count()); }

std::string Count(std::size_t n, std::string_view what) {
  return absl::StrCat(n, " ", absl::string_view(what.data(), what.size()), n == 1 ? "" : "s");
}

std::string List(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) absl::StrAppend(&out, out.empty() ? "" : ", ", Printable(name));
  return out;
}

std::string WhoOf(const Event& event) { return event.member == nullptr ? "?" : Printable(event.member->name); }

std::string Key(const MemberInfo& member) {
  return absl::StrCat("(generation ", member.key.generation, ", incarnation ", member.key.incarnation, ")");
}

std::string WhoAndKey(const Event& event) {
  return event.member == nullptr ? "?" : absl::StrCat(Printable(event.member->name), " ", Key(*event.member));
}

std::string Where(const Event& event) {
  return event.member == nullptr ? "an unknown address" : event.member->address.ToString();
}

std::string StatusText(const absl::Status& status) { return Printable(status.ToString()); }

// "gamma SUSPECT (generation 17, incarnation 0) after 3.000 s as ACTIVE"
std::string StateLine(const Event& event) {
  std::string out = WhoOf(event);
  if (event.member != nullptr) {
    const std::string_view status = Name(event.member->status);
    absl::StrAppend(&out, " ", absl::string_view(status.data(), status.size()), " ", Key(*event.member));
  }
  if (event.cause.lasted > Duration::zero()) {
    const std::string_view before = Name(event.before);
    absl::StrAppend(&out, " after ", Seconds(event.cause.lasted), " as ",
                    absl::string_view(before.data(), before.size()));
  }
  return out;
}

// "+0.200s direct and 2 relays (1 nack) and stream, refused"
std::string AttemptText(const AttemptReport& attempt) {
  std::string out = absl::StrFormat("+%.3fs direct", std::chrono::duration<double>(attempt.after).count());
  if (attempt.relays != 0) {
    absl::StrAppend(&out, " and ", Count(attempt.relays, "relay"), " (", Count(attempt.nacks, "nack"), ")");
  }
  if (attempt.stream) out += " and stream";
  if (attempt.refused) out += ", refused";
  return out;
}

std::string RoundText(const std::vector<AttemptReport>& attempts) {
  std::string out = absl::StrCat(attempts.size() == 1 ? "the only" : absl::StrCat("all ", attempts.size()), " attempt",
                                 attempts.size() == 1 ? "" : "s", " of our own round failed: ");
  for (std::size_t i = 0; i < attempts.size(); ++i) absl::StrAppend(&out, i == 0 ? "" : ", ", AttemptText(attempts[i]));
  return out;
}

// What the evidence was: our own round, our own signals, or whom we believed.
std::string Evidence(const Cause& cause) {
  if (cause.transition == Transition::kExpelled) return absl::StrCat("by ", List(cause.observers));
  if (!cause.attempts.empty()) return RoundText(cause.attempts);
  if (cause.own) {
    const std::string_view reason = Name(cause.reason);
    if (cause.silence != Duration{}) {
      return absl::StrCat("not heard for ", Seconds(cause.silence), ", ",
                          absl::string_view(reason.data(), reason.size()));
    }
    return absl::StrCat("our own evidence, ", absl::string_view(reason.data(), reason.size()));
  }
  return cause.observers.empty() ? "accused" : absl::StrCat("accused by ", List(cause.observers));
}

State StateOf(const Event& event) {
  if (event.kind == EventKind::kRecovered) return State::kActive;
  return event.kind == EventKind::kSuspected ? State::kSuspect : State::kInactive;
}

std::string FailedText(const Event& event) {
  const std::string_view why = InWords(event.cause.transition, StateOf(event));
  return absl::StrCat(StateLine(event), ": ", absl::string_view(why.data(), why.size()), "; ", Evidence(event.cause));
}

std::string RecoveredText(const Event& event) {
  const std::string line = StateLine(event);
  if (event.cause.transition == Transition::kRefuted && event.member != nullptr) {
    return absl::StrCat(line, ": refuted with incarnation ", event.member->key.incarnation);
  }
  if (event.cause.transition == Transition::kRestarted) return absl::StrCat(line, ": it joined again");
  const std::string_view why = InWords(event.cause.transition, StateOf(event));
  return absl::StrCat(line, ": ", absl::string_view(why.data(), why.size()));
}

std::string RestartedText(const Event& event) {
  std::string out = absl::StrCat(WhoOf(event), " restarted: generation ");
  if (event.generation_before != 0) absl::StrAppend(&out, event.generation_before, " -> ");
  const std::string_view before = Name(event.before);
  absl::StrAppend(&out, event.member == nullptr ? 0 : event.member->key.generation, "; it was ",
                  absl::string_view(before.data(), before.size()));
  return out;
}

std::string TagsText(const MemberInfo& member) {
  std::string out;
  for (const auto& [key, value] : member.tags) {
    absl::StrAppend(&out, out.empty() ? "" : ", ", Printable(key), "=", Printable(value));
  }
  return absl::StrCat("{", out, "}");
}

std::string UpdatedText(const Event& event) {
  if (event.member == nullptr) return "? updated";
  return absl::StrCat(WhoAndKey(event), " updated: at ", Where(event), " with tags ", TagsText(*event.member));
}

std::string AccusedText(const Event& event) {
  return absl::StrCat("we, ", WhoOf(event), ", were ", Evidence(event.cause), ": refuted with incarnation ",
                      event.member == nullptr ? 0 : event.member->key.incarnation);
}

std::string JoinText(const Event& event) {
  // A name that does not resolve has no address; its status names it.
  if (event.address.port == 0) return absl::StrCat("join: ", StatusText(event.status));
  return absl::StrCat("join through ", event.address.ToString(), ": ", StatusText(event.status));
}

std::string JoinDoneText(const Event& event) {
  if (!event.status.ok()) return absl::StrCat("join ", event.call, " done: ", StatusText(event.status));
  const auto good = std::find_if(event.outcomes.begin(), event.outcomes.end(),
                                 [](const JoinOutcome& outcome) { return outcome.status.ok(); });
  return absl::StrCat("join ", event.call, " done",
                      good == event.outcomes.end() ? "" : absl::StrCat(" through ", good->address.ToString()), ": OK");
}

std::string LevelText(const Event& event) {
  return absl::StrCat("the level of ", WhoAndKey(event), event.rose ? " reached " : " fell below ", event.threshold,
                      absl::StrFormat(": it is %.3f", event.level));
}

std::string LeaveText(const Event& event) {
  return absl::StrCat("leave done, heard by ", Count(event.heard_by, "member"), ": ", StatusText(event.status));
}

std::string ContactText(const Contact& contact) {
  return absl::StrCat("we reach ", contact.reachable, " of ", Count(contact.known, "member"));
}

std::string MaintenanceText(const Event& event) {
  const std::string by = List(event.cause.observers);
  if (event.duration == Duration{}) return absl::StrCat("the maintenance of ", WhoAndKey(event), " is over, says ", by);
  return absl::StrCat(WhoAndKey(event), " is in maintenance for ", Seconds(event.duration), ", says ", by);
}

constexpr std::size_t kShownMax = 60;  // bytes of a broadcast

std::string BroadcastText(const Event& event) {
  if (event.broadcast == nullptr) return "a broadcast";
  const BroadcastInfo& said = *event.broadcast;
  const bool cut = said.bytes.size() > kShownMax;
  return absl::StrCat(Printable(said.origin), " broadcast ", Printable(said.key), " (",
                      Count(said.bytes.size(), "byte"), said.replayed ? ", before we joined" : "",
                      "): ", Printable(std::string_view(said.bytes).substr(0, kShownMax)), cut ? "..." : "");
}

}  // namespace

std::string_view Name(MemberStatus status) {
  switch (status) {
    case MemberStatus::kActive:
      return "ACTIVE";
    case MemberStatus::kSuspect:
      return "SUSPECT";
    case MemberStatus::kInactive:
      return "INACTIVE";
    case MemberStatus::kLeft:
      return "LEFT";
  }
  return "?";
}

std::string_view Name(EventKind kind) {
  static constexpr std::array<std::string_view, 26> kNames = {
      "joined",    "suspected",   "recovered",   "failed",      "left",          "restarted",   "replaced",
      "updated",   "forgotten",   "accused",     "displaced",   "name_conflict", "join_result", "leave_done",
      "paused",    "stream_only", "level",       "watch_ended", "foreign",       "isolated",    "rejoined",
      "join_done", "broadcast",   "maintenance", "expelled",    "resync"};
  static_assert(kNames.size() == static_cast<std::size_t>(EventKind::kResync) + 1);
  const auto i = static_cast<std::size_t>(kind);
  return i < kNames.size() ? kNames[i] : "?";
}

std::string Describe(const Event& event) {
  switch (event.kind) {
    case EventKind::kJoined:
      return absl::StrCat(WhoAndKey(event), " joined at ", Where(event));
    case EventKind::kSuspected:
      return absl::StrCat(StateLine(event), ": ", Evidence(event.cause));
    case EventKind::kRecovered:
      return RecoveredText(event);
    case EventKind::kFailed:
      return FailedText(event);
    case EventKind::kLeft:
      return absl::StrCat(WhoAndKey(event), " left");
    case EventKind::kRestarted:
      return RestartedText(event);
    case EventKind::kReplaced:
      return absl::StrCat(StateLine(event), ": replaced, another name has its address ", Where(event));
    case EventKind::kUpdated:
      return UpdatedText(event);
    case EventKind::kForgotten:
      return absl::StrCat(WhoAndKey(event), " forgotten: its tombstone ended");
    case EventKind::kAccused:
      return AccusedText(event);
    case EventKind::kDisplaced:
      return absl::StrCat("we, ", WhoAndKey(event), ", were displaced: another process has our name with a higher ",
                          "generation, at ", event.address.ToString(), "; we are no member any more");
    case EventKind::kNameConflict:
      return absl::StrCat("name conflict: two live processes claim ", WhoOf(event), ", at ", Where(event), " and at ",
                          event.address.ToString());
    case EventKind::kJoinResult:
      return JoinText(event);
    case EventKind::kLeaveDone:
      return LeaveText(event);
    case EventKind::kPaused:
      return absl::StrCat("this process did not run for ", Seconds(event.duration), "; nobody is accused for it");
    case EventKind::kStreamOnly:
      return absl::StrCat(WhoAndKey(event), " answers over the stream but not by datagram: something eats its UDP");
    case EventKind::kLevel:
      return LevelText(event);
    case EventKind::kWatchEnded:
      return absl::StrCat("the watch of ", WhoOf(event), " ended: ", StatusText(event.status));
    case EventKind::kForeign:
      return absl::StrCat("frames of another cluster come from ", event.address.ToString(),
                          "; they are dropped and counted");
    case EventKind::kIsolated:
      return absl::StrCat("isolated: ", ContactText(event.contact));
    case EventKind::kRejoined:
      return absl::StrCat("rejoined: ", ContactText(event.contact));
    case EventKind::kJoinDone:
      return JoinDoneText(event);
    case EventKind::kBroadcast:
      return BroadcastText(event);
    case EventKind::kMaintenance:
      return MaintenanceText(event);
    case EventKind::kExpelled:
      return absl::StrCat("we, ", WhoAndKey(event), ", were expelled by ", List(event.cause.observers),
                          "; we are no member any more");
    case EventKind::kResync:
      return "events before this one were lost: read the members anew";
  }
  return "?";
}

std::ostream& operator<<(std::ostream& out, const Event& event) { return out << Describe(event); }

std::ostream& operator<<(std::ostream& out, const MemberInfo& member) {
  out << Printable(member.name) << ' ' << Name(member.status) << " at " << member.address.ToString() << ' '
      << Key(member);
  if (!member.tags.empty()) out << ' ' << TagsText(member);
  return out;
}

std::string Describe(const MemberExplanation& explanation) {
  const auto name = [&](PeerId peer) {
    const auto found = explanation.names.find(peer);
    return found == explanation.names.end() ? std::string("a member that is forgotten") : Printable(found->second);
  };
  std::string text = absl::StrCat(name(explanation.why.peer), " is ", Describe(explanation.why, name));
  const auto add = [&](const char* what, const std::optional<NoticeInfo>& notice) {
    if (!notice.has_value()) return;
    absl::StrAppend(&text, "\n", what, Printable(notice->origin), ", for another ", Seconds(notice->left));
  };
  add("in maintenance, nobody removes it: said on ", explanation.maintenance);
  add("expelled, this life does not come back: said on ", explanation.expelled);
  return text;
}

}  // namespace nekton
