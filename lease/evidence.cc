#include "lease/evidence.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "swim/json_text.h"

namespace nekton {
namespace {

std::string Escaped(std::string_view name) {
  if (name.empty()) return "-";
  if (name == "-") return "%2D";
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte < 0x7f && c != '%' && c != ',') {
      out += c;
    } else {
      absl::StrAppendFormat(&out, "%%%02X", byte);
    }
  }
  return out;
}

std::string EscapedList(const std::vector<std::string>& names) {
  if (names.empty()) return "-";
  std::string out;
  for (const std::string& name : names) {
    if (!out.empty()) out += ',';
    out += Escaped(name);
  }
  return out;
}

// Two ways to write the fields of a kind.
class RowWriter {
 public:
  void Begin(std::string_view area, std::string_view kind) {
    out_ = area;
    out_ += ": ";
    out_ += kind;
  }
  void Number(std::string_view key, std::uint64_t value) { Add(key, std::to_string(value)); }
  void Bit(std::string_view key, bool value) { Add(key, value ? "1" : "0"); }
  void Word(std::string_view key, std::string_view value) { Add(key, value); }
  void Text(std::string_view key, std::string_view value) { Add(key, Escaped(value)); }
  void List(std::string_view key, const std::vector<std::string>& values) { Add(key, EscapedList(values)); }
  std::string Done() { return std::move(out_); }

 private:
  void Add(std::string_view key, std::string_view value) {
    out_ += ' ';
    out_ += key;
    out_ += '=';
    out_ += value;
  }
  std::string out_;
};

class JsonWriter {
 public:
  explicit JsonWriter(Instant at) : at_(at) {}
  void Begin(std::string_view area, std::string_view kind) {
    object_.AddText("evidence", kind);
    object_.AddText("area", area);
    object_.Add("at_ns", std::to_string(at_.time_since_epoch().count()));
  }
  void Number(std::string_view key, std::uint64_t value) { object_.AddNumber(key, value); }
  void Bit(std::string_view key, bool value) { object_.AddBool(key, value); }
  void Word(std::string_view key, std::string_view value) { object_.AddText(key, value); }
  void Text(std::string_view key, std::string_view value) { object_.AddText(key, value); }
  void List(std::string_view key, const std::vector<std::string>& values) {
    object_.Add(key, JsonArray(values, JsonText));
  }
  std::string Done() { return object_.Done(); }

 private:
  Instant at_;
  JsonObject object_;
};

constexpr std::string_view kFail = "mesh-fail";
constexpr std::string_view kRoute = "mesh-route";

std::string_view Name(PeerEvidence::Kind kind) {
  switch (kind) {
    case PeerEvidence::Kind::kSuspect:
      return "suspect";
    case PeerEvidence::Kind::kFailed:
      return "failed";
    case PeerEvidence::Kind::kRecovered:
      return "recovered";
  }
  return "?";
}

std::string_view Name(JoinEvidence::State state) {
  switch (state) {
    case JoinEvidence::State::kAsked:
      return "asked";
    case JoinEvidence::State::kAccepted:
      return "accepted";
    case JoinEvidence::State::kRefused:
      return "refused";
  }
  return "?";
}

template <typename Writer>
void Write(const PeerEvidence& peer, Writer& out) {
  out.Begin(kFail, Name(peer.kind));
  out.Text("node", peer.node);
  out.Number("epoch", peer.epoch);
}

template <typename Writer>
void Write(const ViewEvidence& change, Writer& out) {
  out.Begin(kFail, change.kind == ViewEvidence::Kind::kRemoved ? "removed" : "joined");
  out.Text("node", change.node);
  out.Number("epoch", change.epoch);
  out.Number("members", change.members);
  out.Word("digest", ToHex(change.digest));
  out.List("snapshot", change.snapshot);
}

template <typename Writer>
void Write(const ContactEvidence& contact, Writer& out) {
  out.Begin(kFail, "authority");
  out.Word("state", contact.restored ? "restored" : "lost");
  out.Number("epoch", contact.epoch);
  if (!contact.root.empty()) out.Text("root", contact.root);
  out.Bit("mutable", contact.may_commit);
  if (contact.reads_by_lease) out.Word("reads", "lease");
}

template <typename Writer>
void Write(const DisabledEvidence& disabled, Writer& out) {
  out.Begin(kFail, "disabled");
  out.Text("reason", disabled.reason);
}

template <typename Writer>
void Write(const AuthorityEvidence& authority, Writer& out) {
  const Duration left = std::max(authority.write_left, Duration::zero());
  out.Begin(kRoute, "authority");
  out.Word("state", authority.current ? "current" : "lost");
  out.Number("epoch", authority.epoch);
  out.Bit("mutable", authority.may_commit);
  out.Number("write_lease_ms",
             static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(left).count()));
}

template <typename Writer>
void Write(const Fence& fence, Writer& out) {
  out.Begin(kRoute, "fence");
  out.Word("object", ToHex(fence.object));
  out.Text("stale_home", fence.stale_home);
  out.Number("stale_home_epoch", fence.stale_home_epoch);
  out.Text("home", fence.home);
  out.Number("home_epoch", fence.home_epoch);
  out.Word("reason", Name(fence.reason));
}

template <typename Writer>
void Write(const ResultEvidence& result, Writer& out) {
  out.Begin(kRoute, "result");
  out.Number("request", result.request);
  out.Word("object", ToHex(result.object));
  out.Text("home", result.home);
  out.Number("epoch", result.epoch);
  out.Number("attempts", result.attempts);
  out.Bit("moved", result.moved);
  out.Number("timeouts", result.timeouts);
  out.Word("op", Name(result.operation));
  out.Text("status", result.status);
}

template <typename Writer>
void Write(const CountersEvidence& counters, Writer& out) {
  out.Begin(kRoute, "counters");
  out.Number("served", counters.served);
  out.Number("refused", counters.refused);
  out.Number("moved", counters.moved);
  out.Number("fences", counters.fences);
  out.Number("commits", counters.commits);
  out.Number("replays", counters.replays);
  out.Word("last_replay", counters.last_replay.has_value() ? Name(*counters.last_replay) : "none");
}

template <typename Writer>
void Write(const RefusedViewEvidence& refused, Writer& out) {
  out.Begin(kFail, "view-refused");
  out.Number("epoch", refused.head.epoch);
  out.Word("digest", ToHex(refused.head.digest));
  out.Word("reason", Name(refused.reason));
  out.Number("current", refused.current);
}

template <typename Writer>
void Write(const StoreBehindEvidence& behind, Writer& out) {
  out.Begin(kFail, "store-behind");
  out.Number("epoch", behind.epoch);
  out.Number("seen", behind.seen);
}

template <typename Writer>
void Write(const SeatEvidence& seat, Writer& out) {
  out.Begin(kFail, "seat");
  out.Word("state", seat.taken ? "taken" : "lost");
  out.Number("epoch", seat.epoch);
  out.Number("token", seat.token.value);
}

template <typename Writer>
void Write(const JoinEvidence& join, Writer& out) {
  out.Begin(kFail, "join");
  out.Text("node", join.node);
  out.Number("epoch", join.epoch);
  out.Word("state", Name(join.state));
  if (!join.reason.empty()) out.Text("reason", join.reason);
}

template <typename Writer>
std::string Written(const Evidence& evidence, Writer out) {
  std::visit([&out](const auto& what) { Write(what, out); }, evidence.what);
  return out.Done();
}

}  // namespace

std::string_view Name(RefusedViewEvidence::Reason reason) {
  switch (reason) {
    case RefusedViewEvidence::Reason::kBadSignature:
      return "bad-signature";
    case RefusedViewEvidence::Reason::kLowerEpoch:
      return "lower-epoch";
    case RefusedViewEvidence::Reason::kOtherDigest:
      return "other-digest";
    case RefusedViewEvidence::Reason::kBadBody:
      return "bad-body";
  }
  return "?";
}

ViewEvidence EvidenceOf(ViewEvidence::Kind kind, std::string_view node, const View& view) {
  ViewEvidence evidence{kind, std::string(node), view.epoch(), view.members.size(), view.head.digest, {}};
  evidence.snapshot.reserve(std::min(view.members.size(), ViewEvidence::kSnapshotMax));
  for (const ViewMember& member : view.members) {
    if (evidence.snapshot.size() == ViewEvidence::kSnapshotMax) break;
    evidence.snapshot.push_back(member.name);
  }
  return evidence;
}

CountersEvidence EvidenceOf(const GateCounters& counters, std::uint64_t fences, std::optional<Verdict> last_replay) {
  CountersEvidence evidence;
  std::uint64_t all = 0;
  for (const std::uint64_t count : counters.by_verdict) all += count;
  evidence.served = counters.of(Verdict::kServe);
  evidence.moved = counters.of(Verdict::kMoved);
  evidence.refused = all - evidence.served - evidence.moved - counters.of(Verdict::kReplay);
  evidence.fences = fences;
  evidence.commits = counters.commits;
  evidence.replays = counters.of(Verdict::kStaleEpoch) + counters.of(Verdict::kReplay);
  evidence.last_replay = last_replay;
  return evidence;
}

std::string Row(const Evidence& evidence) { return Written(evidence, RowWriter()); }
std::string ToJson(const Evidence& evidence) { return Written(evidence, JsonWriter(evidence.at)); }

}  // namespace nekton
