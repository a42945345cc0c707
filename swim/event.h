// What an engine tells its user, with the cause.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "phi/time.h"
#include "stm/observation.h"
#include "stm/state.h"
#include "swim/address.h"
#include "swim/contact.h"

namespace nekton {

enum class MemberStatus : std::uint8_t { kActive, kSuspect, kInactive, kLeft };
std::string_view Name(MemberStatus status);  // "ACTIVE", "SUSPECT", "INACTIVE", "LEFT"

// One member as a user sees it. Immutable once published; share it freely.
struct MemberInfo {
  std::string name;
  Address address;
  LifeKey key;  // generation and incarnation
  MemberStatus status = MemberStatus::kActive;
  bool self = false;
  std::map<std::string, std::string> tags;
};
using MemberPtr = std::shared_ptr<const MemberInfo>;
// One line: name, status, address, generation, incarnation, tags.
std::ostream& operator<<(std::ostream& out, const MemberInfo& member);

enum class EventKind : std::uint8_t {
  kJoined,     // a member first heard of as alive
  kSuspected,  // -> SUSPECT
  kRecovered,  // SUSPECT or INACTIVE -> ACTIVE
  kFailed,     // -> INACTIVE
  kLeft,       // it said goodbye
  kRestarted,  // a higher generation of its name
  kReplaced,   // another name took its address; it is INACTIVE from here on
  kUpdated,    // the tags or the address of a member that is ACTIVE or SUSPECT changed; of ourselves, too
  kForgotten,  // its tombstone ended; it is in no list any more. Of who was dead when first heard of it is the only one
  kAccused,    // we ourselves were accused, and refuted it
  kDisplaced,  // another process took our name with a higher generation; we are no member any more
  kNameConflict,  // two live processes claim one name
  kJoinResult,    // what became of one attempt to join through one address
  kLeaveDone,     // our own leave was heard by enough, or its deadline passed
  kPaused,        // this process did not run for a while; nobody is accused for it
  kStreamOnly,    // a member answers over the stream but not by datagram: something eats its UDP
  kLevel,         // the level of a member that we watch reached a threshold, or fell below it
  kWatchEnded,    // no more of those
  kForeign,       // frames of another cluster come from an address; one event a minute and host
  kIsolated,      // we have reached too few of the group for some time (Config::isolation_share): stop what needs it
  kRejoined,      // and enough again, for as long
  kJoinDone,      // what became of a call of Join with a limit (swim/engine.h); a node tells the caller instead
  kBroadcast,     // a broadcast (swim/user_data.h)
  kMaintenance,   // a member is spared for a planned restart, or no more (swim/notice.h)
  kExpelled,      // we ourselves were removed by hand; we are no member any more
  kResync,        // events before this one were lost at a bound of the shell: read Members() anew; no engine emits it
};
std::string_view Name(EventKind kind);  // "joined", "suspected", ...

// One try of a failed probe round.
struct AttemptReport {
  Duration after{};          // since the round began
  std::uint32_t relays = 0;  // asked with it; 0: direct only
  std::uint32_t nacks = 0;   // of them that said that they had no answer either
  bool stream = false;       // also tried over the stream
  bool refused = false;      // and its port refused the connection
};

// Why. Empty fields do not apply.
struct Cause {
  Transition transition = Transition::kDemotionThreshold;  // state changes only
  Reason reason = Reason::kHeard;                          // of the evidence, where it was our own
  bool own = false;                                        // our own evidence, not only heard
  std::vector<std::string> observers;                      // whose evidence, by name
  std::vector<AttemptReport> attempts;                     // of our own failed round
  Duration lasted{};                                       // how long it had been in the state before
  Duration silence{};                                      // of our own heartbeats: since it was last heard
};

// What became of one address of a call of Join.
struct JoinOutcome {
  Address address;
  absl::Status status;
  friend bool operator==(const JoinOutcome&, const JoinOutcome&) = default;
};

// A broadcast as it is delivered.
struct BroadcastInfo {
  std::string origin;            // the name of the member that said it
  std::uint64_t generation = 0;  // its, when it did
  std::string key;
  std::string bytes;
  bool replayed = false;  // the group held it when we joined, or it is read; else it was on its way while we were there
};

struct Event {
  EventKind kind = EventKind::kJoined;
  Instant at{};
  MemberPtr member;                             // the subject after the change; null where there is none
  MemberStatus before = MemberStatus::kActive;  // state changes only
  Cause cause;
  Address
      address;  // kJoinResult: which was tried; kForeign: whose frames; kDisplaced, kNameConflict: where the other one is
  absl::Status status;         // kJoinResult, kJoinDone, kLeaveDone, kWatchEnded: how it ended
  Duration duration{};         // kPaused: how long; kMaintenance: for how long from now, 0: it is over
  std::uint32_t heard_by = 0;  // kLeaveDone: how many acknowledged it

  std::uint64_t generation_before = 0;  // kRestarted: of the life before; 0: unknown

  double threshold = 0;  // kLevel: which one
  double level = 0;      // what the level is now
  bool rose = false;     // reached it; else fell below it

  std::shared_ptr<const BroadcastInfo> broadcast;  // kBroadcast; `member` is its origin, null if that is unknown here

  Contact contact;  // kIsolated, kRejoined: how many of how many we reach

  std::uint64_t call = 0;             // kJoinDone: Join::call
  std::vector<JoinOutcome> outcomes;  // and the last one of each of its addresses
};

// One line in words, with the cause: "beta SUSPECT (generation 17, incarnation 3): accused by alpha". No newline, and
// control characters that a peer may have sent are escaped. For people: the wording may change; programs read ToJson
// (swim/event_json.h).
std::string Describe(const Event& event);
std::ostream& operator<<(std::ostream& out, const Event& event);

}  // namespace nekton
