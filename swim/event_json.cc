#include "swim/event_json.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace nekton {
namespace {

// The length of the UTF-8 sequence that `text` begins with; 0: it begins with none (Unicode, table 3-7).
std::size_t SequenceLength(std::string_view text) {
  const auto at = [text](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto follows = [at](std::size_t i) { return (at(i) & 0xc0) == 0x80; };
  const unsigned first = at(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool overlong = first == 0xe0 && at(1) < 0xa0;
    const bool surrogate = first == 0xed && at(1) > 0x9f;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool overlong = first == 0xf0 && at(1) < 0x90;
    const bool too_large = first == 0xf4 && at(1) > 0x8f;
    return follows(1) && follows(2) && follows(3) && !overlong && !too_large ? 4 : 0;
  }
  return 0;
}

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const std::size_t length = SequenceLength(text);
    const auto byte = static_cast<unsigned char>(text[0]);
    if (length == 0) {
      out += "\\ufffd";
    } else if (byte == '"' || byte == '\\') {
      out += {'\\', text[0]};
    } else if (byte < 0x20 || byte == 0x7f) {
      absl::StrAppendFormat(&out, "\\u%04x", byte);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out + '"';
}

std::string Seconds(Duration d) {
  const auto ns = static_cast<std::uint64_t>(d.count());
  const std::uint64_t size = d < Duration::zero() ? 0 - ns : ns;
  return absl::StrFormat("%s%d.%09d", d < Duration::zero() ? "-" : "", size / 1000000000, size % 1000000000);
}

std::string Bool(bool value) { return value ? "true" : "false"; }

template <typename List, typename Item>
std::string Array(const List& list, Item item) {
  std::string out;
  for (const auto& element : list) absl::StrAppend(&out, out.empty() ? "" : ",", item(element));
  return absl::StrCat("[", out, "]");
}

class Object {
 public:
  // `value` is JSON already.
  void Add(std::string_view key, std::string_view value) {
    if (!members_.empty()) members_ += ',';
    members_ += Quoted(key);
    members_ += ':';
    members_ += value;
  }
  void AddNumber(std::string_view key, std::uint64_t value) { Add(key, std::to_string(value)); }
  void AddText(std::string_view key, std::string_view value) { Add(key, Quoted(value)); }
  std::string Done() const { return absl::StrCat("{", members_, "}"); }

 private:
  std::string members_;
};

void AddMember(const MemberInfo& member, Object& object) {
  object.AddText("name", member.name);
  object.AddText("address", member.address.ToString());
  object.AddNumber("generation", member.key.generation);
  object.AddNumber("incarnation", member.key.incarnation);
  object.AddText("status", Name(member.status));
  object.Add("self", Bool(member.self));
  Object tags;
  for (const auto& [key, value] : member.tags) tags.AddText(key, value);
  object.Add("tags", tags.Done());
}

std::string AttemptJson(const AttemptReport& attempt) {
  Object object;
  object.Add("after_s", Seconds(attempt.after));
  object.AddNumber("relays", attempt.relays);
  object.AddNumber("nacks", attempt.nacks);
  object.Add("stream", Bool(attempt.stream));
  object.Add("refused", Bool(attempt.refused));
  return object.Done();
}

void AddEvidence(const Cause& cause, Object& object) {
  object.Add("own", Bool(cause.own));
  if (cause.own) object.AddText("reason", Name(cause.reason));
  if (!cause.observers.empty()) object.Add("observers", Array(cause.observers, Quoted));
  if (!cause.attempts.empty()) object.Add("attempts", Array(cause.attempts, AttemptJson));
}

void AddStateChange(const Event& event, Object& object) {
  object.AddText("before", Name(event.before));
  object.AddText("transition", Name(event.cause.transition));
  if (event.cause.lasted > Duration::zero()) object.Add("lasted_s", Seconds(event.cause.lasted));
  if (event.generation_before != 0) object.AddNumber("generation_before", event.generation_before);
  AddEvidence(event.cause, object);
}

void AddResult(const absl::Status& status, Object& object) {
  object.AddText("result", absl::StatusCodeToString(status.code()));
  if (!status.ok()) object.AddText("message", std::string(status.message()));
}

void AddDetails(const Event& event, Object& object) {
  switch (event.kind) {
    case EventKind::kSuspected:
    case EventKind::kRecovered:
    case EventKind::kFailed:
    case EventKind::kLeft:
    case EventKind::kRestarted:
    case EventKind::kReplaced:
      return AddStateChange(event, object);
    case EventKind::kAccused:
    case EventKind::kStreamOnly:
      return AddEvidence(event.cause, object);
    case EventKind::kNameConflict:
    case EventKind::kDisplaced:
    case EventKind::kForeign:
      return object.AddText("other_address", event.address.ToString());
    case EventKind::kJoinResult:
      if (event.address.port != 0) object.AddText("other_address", event.address.ToString());
      return AddResult(event.status, object);
    case EventKind::kLeaveDone:
      object.AddNumber("heard_by", event.heard_by);
      return AddResult(event.status, object);
    case EventKind::kPaused:
      return object.Add("duration_s", Seconds(event.duration));
    case EventKind::kJoined:
    case EventKind::kUpdated:
    case EventKind::kForgotten:
    case EventKind::kResync:
      return;
  }
}

}  // namespace

std::string ToJson(const MemberInfo& member) {
  Object object;
  AddMember(member, object);
  return object.Done();
}

std::string ToJson(const Event& event) {
  Object object;
  object.AddText("event", Name(event.kind));
  object.Add("at_ns", std::to_string(event.at.time_since_epoch().count()));
  if (event.member != nullptr) AddMember(*event.member, object);
  AddDetails(event, object);
  return object.Done();
}

}  // namespace nekton
