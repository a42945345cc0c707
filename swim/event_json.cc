#include "swim/event_json.h"

#include <cstdint>

#include "absl/strings/escaping.h"
#include "swim/json_text.h"

namespace nekton {
namespace {

std::string NameOf(PeerId peer, const MemberExplanation& all) {
  const auto found = all.names.find(peer);
  return found == all.names.end() ? "" : found->second;
}

void AddMember(const MemberInfo& member, JsonObject& object) {
  object.AddText("name", member.name);
  object.AddText("address", member.address.ToString());
  object.AddNumber("generation", member.key.generation);
  object.AddNumber("incarnation", member.key.incarnation);
  object.AddText("status", Name(member.status));
  object.AddBool("self", member.self);
  JsonObject tags;
  for (const auto& [key, value] : member.tags) tags.AddText(key, value);
  object.Add("tags", tags.Done());
}

std::string AttemptJson(const AttemptReport& attempt) {
  JsonObject object;
  object.Add("after_s", JsonSeconds(attempt.after));
  object.AddNumber("relays", attempt.relays);
  object.AddNumber("nacks", attempt.nacks);
  object.AddBool("stream", attempt.stream);
  object.AddBool("refused", attempt.refused);
  return object.Done();
}

void AddEvidence(const Cause& cause, JsonObject& object) {
  object.AddBool("own", cause.own);
  if (cause.own) object.AddText("reason", Name(cause.reason));
  if (!cause.observers.empty()) object.Add("observers", JsonArray(cause.observers, JsonText));
  if (!cause.attempts.empty()) object.Add("attempts", JsonArray(cause.attempts, AttemptJson));
}

void AddStateChange(const Event& event, JsonObject& object) {
  object.AddText("before", Name(event.before));
  object.AddText("transition", Name(event.cause.transition));
  if (event.cause.lasted > Duration::zero()) object.Add("lasted_s", JsonSeconds(event.cause.lasted));
  if (event.generation_before != 0) object.AddNumber("generation_before", event.generation_before);
  AddEvidence(event.cause, object);
}

void AddResult(const absl::Status& status, JsonObject& object) {
  object.AddText("result", absl::StatusCodeToString(status.code()));
  if (!status.ok()) object.AddText("message", std::string(status.message()));
}

std::string OutcomeJson(const JoinOutcome& outcome) {
  JsonObject object;
  object.AddText("other_address", outcome.address.ToString());
  AddResult(outcome.status, object);
  return object.Done();
}

// Text for people, and what it is made of: any bytes.
void AddBroadcast(const Event& event, JsonObject& object) {
  if (event.broadcast == nullptr) return;
  const BroadcastInfo& said = *event.broadcast;
  object.AddText("origin", said.origin);
  object.AddNumber("origin_generation", said.generation);
  object.AddText("key", said.key);
  object.AddText("text", said.bytes);
  object.AddText("hex", absl::BytesToHexString(said.bytes));
  object.AddBool("replayed", said.replayed);
}

void AddDetails(const Event& event, JsonObject& object) {
  switch (event.kind) {
    case EventKind::kSuspected:
    case EventKind::kRecovered:
    case EventKind::kFailed:
    case EventKind::kLeft:
    case EventKind::kRestarted:
    case EventKind::kReplaced:
      return AddStateChange(event, object);
    case EventKind::kAccused:
    case EventKind::kExpelled:
    case EventKind::kStreamOnly:
      return AddEvidence(event.cause, object);
    case EventKind::kNameConflict:
    case EventKind::kDisplaced:
    case EventKind::kForeign:
      return object.AddText("other_address", event.address.ToString());
    case EventKind::kJoinResult:
      if (event.address.port != 0) object.AddText("other_address", event.address.ToString());
      return AddResult(event.status, object);
    case EventKind::kJoinDone:
      object.AddNumber("call", event.call);
      object.Add("outcomes", JsonArray(event.outcomes, OutcomeJson));
      return AddResult(event.status, object);
    case EventKind::kLeaveDone:
      object.AddNumber("heard_by", event.heard_by);
      return AddResult(event.status, object);
    case EventKind::kLevel:
      object.Add("threshold", JsonReal(event.threshold));
      object.AddBool("rose", event.rose);
      return object.Add("level", JsonReal(event.level));
    case EventKind::kWatchEnded:
      return AddResult(event.status, object);
    case EventKind::kIsolated:
    case EventKind::kRejoined:
      object.AddNumber("reachable", event.contact.reachable);
      return object.AddNumber("known", event.contact.known);
    case EventKind::kBroadcast:
      return AddBroadcast(event, object);
    case EventKind::kMaintenance:
      AddEvidence(event.cause, object);
      return object.Add("duration_s", JsonSeconds(event.duration));
    case EventKind::kPaused:
      return object.Add("duration_s", JsonSeconds(event.duration));
    case EventKind::kJoined:
    case EventKind::kUpdated:
    case EventKind::kForgotten:
    case EventKind::kResync:
      return;
  }
}

std::string SaidJson(const Testimony& said, const MemberExplanation& all) {
  JsonObject object;
  object.AddText("kind", Name(said.kind));
  if (said.kind == Testimony::Kind::kSignal) {
    object.AddText("signal", Name(said.signal));
    object.AddText("reason", Name(said.reason));
  }
  object.AddText("observer", NameOf(said.observer, all));
  object.AddNumber("weight", said.weight);
  object.Add("ago_s", JsonSeconds(all.why.at - said.at));
  return object.Done();
}

std::string WitnessJson(const Witness& witness, const MemberExplanation& all) {
  JsonObject object;
  object.AddText("observer", NameOf(witness.observer, all));
  object.AddBool("verdict", witness.verdict);
  object.AddBool("refused", witness.refused);
  object.AddBool("counts", witness.counts);
  return object.Done();
}

void AddNotice(std::string_view key, const std::optional<NoticeInfo>& notice, JsonObject& object) {
  if (!notice.has_value()) return;
  JsonObject said;
  said.AddText("origin", notice->origin);
  said.Add("left_s", JsonSeconds(notice->left));
  object.Add(key, said.Done());
}

std::string HoldJson(const Explanation::Hold& hold) {
  JsonObject object;
  object.AddBool("running", hold.running);
  object.AddBool("own", hold.own);
  object.AddBool("outside", hold.outside);
  object.AddBool("awaits_signal", hold.awaits_signal);
  object.Add("left_s", JsonSeconds(hold.left));
  object.AddNumber("confirmations", hold.confirmations);
  object.AddNumber("confirmers", hold.confirmers);
  object.AddNumber("refusals", hold.refusals);
  object.AddBool("condemned", hold.condemned);
  return object.Done();
}

}  // namespace

std::string ToJson(const MemberExplanation& all) {
  const Explanation& why = all.why;
  JsonObject object;
  if (all.member != nullptr) AddMember(*all.member, object);
  object.AddText("state", Name(why.state));
  object.AddBool("recorded", why.recorded);
  object.AddBool("departed", why.departed);
  if (why.transition.has_value()) {
    object.AddText("transition", Name(*why.transition));
    if (why.observer != kNoPeer) object.AddText("observer", NameOf(why.observer, all));
    object.Add("since_s", JsonSeconds(why.since));
  }
  object.AddNumber("count", why.count);
  object.AddNumber("threshold", why.threshold);
  if (why.state == State::kInactive) {
    object.AddText("revive", Name(why.revive));
    object.Add("recovery_left_s", JsonSeconds(why.recovery_left));
  }
  if (why.hold.has_value()) object.Add("hold", HoldJson(*why.hold));
  object.Add("witnesses", JsonArray(why.witnesses, [&](const Witness& w) { return WitnessJson(w, all); }));
  AddNotice("maintenance", all.maintenance, object);
  AddNotice("expelled", all.expelled, object);
  object.AddNumber("flaps", why.flaps);
  object.Add("recent", JsonArray(why.recent, [&](const Testimony& said) { return SaidJson(said, all); }));
  return object.Done();
}

std::string ToJson(const MemberInfo& member) {
  JsonObject object;
  AddMember(member, object);
  return object.Done();
}

std::string ToJson(const Event& event) {
  JsonObject object;
  object.AddText("event", Name(event.kind));
  object.Add("at_ns", std::to_string(event.at.time_since_epoch().count()));
  if (event.member != nullptr) AddMember(*event.member, object);
  AddDetails(event, object);
  return object.Done();
}

}  // namespace nekton
