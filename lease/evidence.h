// What a member decided about the others, the view and its homes, as values: for logs, for programs, and for tests that
// check every step of a failure.
//
// Row() writes the one line that each kind has, ToJson() the same fields as an object. Both come from one list of fields
// (evidence.cc), so that they cannot differ. Rows are in ASCII, "mesh-fail: " or "mesh-route: ", the kind, then key=value
// with one blank between; a key that does not apply is left out. In rows the bytes of a name that are no printable ASCII,
// '%' and ',' are written as %XX, and nobody as "-" (a member of that name is "%2D"); names in a list have commas
// between them.
//
// Pure values, thread-safe as such.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lease/capability.h"
#include "lease/fence.h"
#include "lease/fencing_token.h"
#include "lease/object_gate.h"
#include "lease/object_id.h"
#include "lease/view.h"
#include "phi/time.h"

namespace nekton {

// A member of the view, by our failure detector. None of these changes an epoch.
//   mesh-fail: suspect node=<name> epoch=E
//   mesh-fail: failed node=<name> epoch=E
//   mesh-fail: recovered node=<name> epoch=E          it was SUSPECT, and is not
struct PeerEvidence {
  enum class Kind : std::uint8_t { kSuspect, kFailed, kRecovered };
  Kind kind = Kind::kSuspect;
  std::string node;
  std::uint64_t epoch = 0;  // of our view
};

// A view that we installed has one member less, or one more; one of these for each.
//   mesh-fail: removed node=<name> epoch=E members=N digest=<32 hex> snapshot=<names>
//   mesh-fail: joined node=<name> epoch=E members=N digest=<32 hex> snapshot=<names>
struct ViewEvidence {
  static constexpr std::size_t kSnapshotMax = 64;  // names in a snapshot; of a larger view the first so many

  enum class Kind : std::uint8_t { kRemoved, kJoined };
  Kind kind = Kind::kRemoved;
  std::string node;
  std::uint64_t epoch = 0;  // the new one
  std::size_t members = 0;  // of the new view
  ViewDigest digest;
  std::vector<std::string> snapshot;  // their names, ascending
};
ViewEvidence EvidenceOf(ViewEvidence::Kind kind, std::string_view node, const View& view);

// Contact to the authority was lost, or is there again.
//   mesh-fail: authority state=lost|restored epoch=E [root=<name>] mutable=0|1 [reads=lease]
struct ContactEvidence {
  bool restored = false;
  std::uint64_t epoch = 0;
  std::string root;             // empty: not known
  bool may_commit = false;      // right now: a write lease may outlast the contact
  bool reads_by_lease = false;  // what is still served is served until the read lease ends
};

// No authority is configured, so nothing of all this runs.
//   mesh-fail: disabled reason=config
struct DisabledEvidence {
  std::string reason = "config";
};

// Where this member stands, when asked and when it changes.
//   mesh-route: authority state=current|lost epoch=E mutable=0|1 write_lease_ms=N
struct AuthorityEvidence {
  bool current = false;
  std::uint64_t epoch = 0;
  bool may_commit = false;
  Duration write_left{};  // of the write lease; rounded down to milliseconds
};

// A Fence (lease/fence.h):
//   mesh-route: fence object=<64 hex> stale_home=<name> stale_home_epoch=N home=<name> home_epoch=N
//               reason=left-view|lease-left-view

// How a request for an object ended, at the client.
//   mesh-route: result request=N object=<64 hex> home=<name> epoch=E attempts=N moved=0|1 timeouts=N op=stat|commit
//               status=<word>
struct ResultEvidence {
  std::uint64_t request = 0;
  ObjectId object;
  std::string home;            // that was asked last; empty: nobody was
  std::uint64_t epoch = 0;     // under which it was asked
  std::uint32_t attempts = 0;  // homes that were asked
  bool moved = false;          // a MOVED was followed
  std::uint32_t timeouts = 0;  // attempts without an answer
  Operation operation = Operation::kStat;
  std::string status;  // a Verdict's name; "no-route": there is no home to ask; "timeout"; "unreachable"
};

// What this member has done and refused so far.
//   mesh-route: counters served=N refused=N moved=N fences=N commits=N replays=N last_replay=stale-epoch|replay|none
struct CountersEvidence {
  std::uint64_t served = 0;
  std::uint64_t refused = 0;  // all verdicts but served, moved and replay
  std::uint64_t moved = 0;
  std::uint64_t fences = 0;
  std::uint64_t commits = 0;
  std::uint64_t replays = 0;  // requests from the past: of an older epoch, and repeated ones
  std::optional<Verdict> last_replay;
};
// `fences` and `last_replay` are the caller's; the rest is the gate's.
CountersEvidence EvidenceOf(const GateCounters& counters, std::uint64_t fences, std::optional<Verdict> last_replay);

// A view, or the head of one, that we did not take.
//   mesh-fail: view-refused epoch=E digest=<32 hex> reason=<word> current=E
struct RefusedViewEvidence {
  enum class Reason : std::uint8_t {
    kBadSignature,  // not the word of our authority
    kLowerEpoch,    // than ours
    kOtherDigest,   // of our epoch, but not our view
    kBadBody,       // cannot be read, or is not what the head says
  };
  Reason reason = Reason::kBadSignature;
  ViewHead head;
  std::uint64_t current = 0;  // our epoch
};
std::string_view Name(
    RefusedViewEvidence::Reason reason);  // "bad-signature", "lower-epoch", "other-digest", "bad-body"

// The authority's store is older than what somebody holds (a backup that was restored): it writes no view any more.
//   mesh-fail: store-behind epoch=E seen=E
struct StoreBehindEvidence {
  std::uint64_t epoch = 0;  // the store's
  std::uint64_t seen = 0;
};

// A candidate (lease/candidacy.h) became the authority, or is it no longer. The epoch is that of the view it went on from, or
// held at the end.
//   mesh-fail: seat state=taken|lost epoch=E token=N
struct SeatEvidence {
  bool taken = false;
  std::uint64_t epoch = 0;
  FencingToken token;
};

// A member asked to join. At the authority, and at the member itself when it has the answer.
//   mesh-fail: join node=<name> epoch=E state=asked|accepted|refused [reason=<words>]
struct JoinEvidence {
  enum class State : std::uint8_t { kAsked, kAccepted, kRefused };
  State state = State::kAsked;
  std::string node;
  std::uint64_t epoch = 0;  // of the view when it was decided
  std::string reason;       // of a refusal
};

struct Evidence {
  using What = std::variant<PeerEvidence, ViewEvidence, ContactEvidence, DisabledEvidence, AuthorityEvidence, Fence,
                            ResultEvidence, CountersEvidence, RefusedViewEvidence, StoreBehindEvidence, SeatEvidence,
                            JoinEvidence>;
  Instant at{};  // when it was decided, by the boot clock
  What what;
};

// One line, without a newline. The time is not in it.
std::string Row(const Evidence& evidence);
// {"evidence": the kind, "area": "mesh-fail" or "mesh-route", "at_ns": ..., then the fields of the row}: numbers as numbers, 0|1
// as true or false, names as they are, lists as arrays.
std::string ToJson(const Evidence& evidence);

}  // namespace nekton
