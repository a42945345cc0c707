// The SWIM engine of one member: time and bytes in, outbox out.
//
// 1. Every input carries a Tick. NextWake() says when the engine wants its next Wake; early, late or repeated ones do
//    no harm, for the deadlines are kept inside.
// 2. It never calls out: what an input causes is appended to the caller's Outbox. So a handler may call anything.
// 3. No allocation in the steady state; every queue, table and loop is bounded; a bound that is reached is counted.
// 4. The same seed and the same inputs give the same outputs, bit for bit: Fingerprint() proves it.
// 5. What the network sends is counted when it is bad, never thrown, never asserted on. What the caller does wrong is
//    an absl::Status that names the field.
// 6. Not thread-safe, no statics, movable.
// 7. An input later than NextWake() by more than max_local_pause proves that *we* slept: deadlines move, nobody is
//    accused for it. A shell hands over input that is already waiting before it calls Wake.
//
// Sources: SWIM (Das, Gupta, Motivala, DSN 2002), sections 3 and 4; Lifeguard (arXiv 1707.00788). The graded round, the
// precedence of a confirm and the hearers' question are nekton's own (ARCHITECTURE.md, "the life of a failure").
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "phi/time.h"
#include "stm/observation.h"
#include "stm/stm_counters.h"
#include "swim/config.h"
#include "swim/contact.h"
#include "swim/counters.h"
#include "swim/event.h"
#include "swim/identities.h"
#include "swim/mail.h"
#include "swim/member_explanation.h"
#include "swim/notice.h"
#include "swim/outbox.h"
#include "swim/reconfigure.h"
#include "swim/user_data.h"

namespace nekton {

// What a transport noticed about an address.
enum class Trouble : std::uint8_t {
  kSendFailed,  // our own send failed (full buffer, no route): never a missed probe
  kRefused,     // it reset our connection attempt: no process listens there
  kClosed,      // an open stream closed
  kTooBig,      // a datagram of ours was larger than the path takes
};

// Orders of the user.
struct Join {
  // Each is tried, and retried for ever. An attempt ends in a kJoinResult, unless the one before at the same address
  // ended alike.
  std::vector<Address> addresses;
  // Above 0: this call also ends in one kJoinDone, with the last result of each address: OK as soon as one of them lets us
  // in or is that of a member that is ACTIVE or SUSPECT; what the first one gave, as soon as each has refused for good
  // (another cluster, other terms or version, an implausible generation, our own address); DeadlineExceeded after so
  // long; Cancelled if we leave or are displaced. Until then each is retried with Config's join_backoff, also where others
  // are there already; after it they are seeds like all others. (A name in use is retried, too: its owner may leave.)
  // ResourceExhausted, and nothing is tried, beyond 256 such calls at a time or 256 addresses in all.
  Duration limit{};
  std::uint64_t call = 0;  // comes back in that kJoinDone
};
struct Leave {
  Duration timeout{};  // 0: Config::leave_timeout. Ends in one kLeaveDone; then the engine is silent.
};
// What the application has seen of members; it is debounced like our own probes (stm/stm.h).
struct PeerObservation {
  std::string peer;  // the name of a member that is known here
  Signal signal = Signal::kHealthy;
  // Empty: we ourselves saw it, and what follows is not looked at. Else the name of the member that did.
  std::string observer = {};
  std::uint64_t epoch = 0;     // the observed one's generation; 0: the one known here, and not above it
  std::uint64_t sequence = 0;  // one counter per observer process
  std::uint64_t nonce = 0;     // 64 random bits, new for each observation
  WallTime timestamp{};        // when it was made, by the observer's clock
};
// A hold that they begin is not preceded by a failed round, so of Config::tolerated_pause it grants a period less.
// Applied in order; later ones meet the state that earlier ones made. InvalidArgument or NotFound with every mistake,
// one a line: then none is applied. That one is a duplicate, stale or out of order is no mistake; it is counted.
struct Observe {
  std::vector<PeerObservation> observations;
};
// Asks a member for pulses, so that there is a level of suspicion of it at every moment (Engine::Level), and a kLevel
// event at the very instant at which that level reaches a threshold, and when it falls below it again. It feeds the STM
// with nothing. On the level's scale 8 is what the fixed detector gives three missed pulses; phi is what it says. A second
// watch of a member takes the place of the first. Each ends in one kWatchEnded, unless we are displaced: by Unwatch, when
// the member leaves or is forgotten (not when it is INACTIVE, and not by a restart, which is awaited anew), if it has 64
// watchers already, or when we leave.
// Errors: InvalidArgument with every mistake, one a line; NotFound if the member is unknown or has left;
// ResourceExhausted at 64 watches.
struct Watch {
  std::string member;
  Duration interval{};             // of the pulses: whole milliseconds, 10 ms to 1 h
  std::vector<double> thresholds;  // 1 to 8 distinct ones, each above 0 and at most 1000
};
// NotFound: it is not watched.
struct Unwatch {
  std::string member;
};
// Messages and requests to other members: swim/mail.h. Tags and broadcasts: swim/user_data.h. A planned restart, and the
// removal of a member by hand: swim/notice.h. Another configuration: swim/reconfigure.h.
using Command = std::variant<Join, Leave, Observe, Reconfigure, Watch, Unwatch, SetTag, EraseTag, SetTags, Broadcast,
                             Maintenance, Expel, Send, SendReliable, Request, CancelRequest, Respond>;

// Names a store request (views, leases: later parts of the engine's contract; no engine emits one yet).
using StoreId = std::uint64_t;

class Engine {
 public:
  // `self` is the address that others are told. Errors: InvalidArgument with every mistake of the configuration,
  // generation 0, or an unspecified address (unless it is to stand alone). The engine begins with its first Wake; NextWake() is then Instant::min().
  // `identities`: engines of one thread may share what they keep of names and tags; null: it keeps its own.
  static absl::StatusOr<Engine> Create(const Config& config, const Address& self,
                                       std::shared_ptr<Identities> identities = nullptr);
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
  ~Engine();

  void Receive(const Tick& now, const Address& from, std::span<const std::byte> datagram, Outbox& out);
  // A request that came over a stream. Its answer is a Reply of that id, in this call's outbox or a later one's. `busy`:
  // the shell has as many answers under way as it takes; who asks for rows is told to come again, at the price of one
  // small frame, and a ping is answered as ever.
  void Serve(const Tick& now, const Address& from, ExchangeId id, std::span<const std::byte> request, Outbox& out,
             bool busy = false);
  // How our own request ended: with the answer's bytes, or with a status that is not OK (then `answer` is ignored).
  void Answer(const Tick& now, ExchangeId id, const absl::Status& status, std::span<const std::byte> answer,
              Outbox& out);
  void Report(const Tick& now, const Address& about, Trouble trouble, Outbox& out);
  void Stored(const Tick& now, StoreId id, const absl::Status& status, Outbox& out);
  void Wake(const Tick& now, Outbox& out);
  // FailedPrecondition after a leave, a displacement or an expulsion, and of a Join with Config::standalone; InvalidArgument names the
  // field.
  absl::Status Order(const Tick& now, const Command& command, Outbox& out);

  // For what stands above the engine in one member (lease/member.h): a channel of its own, which users neither hear nor
  // crowd. What comes by it is in Outbox::inner() and inner_broadcasts(); a request is answered with Order(Respond).
  // Errors: those of the orders; ids from kInnerRequests on.
  absl::Status SendInner(const Tick& now, const nekton::Send& message, Outbox& out);
  absl::Status AskInner(const Tick& now, const Request& request, Outbox& out);
  // A broadcast with a key that `name` decides (swim/notice.h). The newest that we said or heard is told as soon as it is.
  absl::Status SayInner(const Tick& now, std::string_view name, std::string_view bytes, Outbox& out);

  // For simulations alone of processes whose prober and gossiper are threads of their own, as those of memberlist are, and
  // get stuck in their first send while sends are blocked; no shell of an event loop has a use for it. While held, one
  // probe round at most is open: where none is the next that is due begins, and its first ping is the last thing that the
  // prober says; rounds begun earlier send no further attempts. No round of its own accord goes to gossip. All else goes
  // on: what is received is answered, suspicions run out, their verdicts wait to be gossiped. When the hold ends, a round
  // that still had something to send and whose end has passed asks its relays and is over at once, and no ack of it counts
  // any more; other rounds go on.
  void HoldProbes(const Tick& now, bool hold, Outbox& out);

  Instant NextWake() const;           // kNever: it has left, was displaced, or expelled
  std::uint64_t Fingerprint() const;  // over all outputs so far
  const Counters& counters() const;

  // Why a member is in its state. NotFound where no member has this name.
  absl::StatusOr<MemberExplanation> Explain(const Tick& now, std::string_view name) const;
  const StmCounters& stm_counters() const;
  // How suspicious a member's silence is now, by the detector that is asked: of the pulses of its watch; without one of
  // its heartbeats, or where members probe each other, of what the open round at it awaits, else 0. NotFound: unknown, or
  // it has left. InvalidArgument: it is ourselves.
  absl::StatusOr<double> Level(const Tick& now, std::string_view member) const;

  const Config& config() const;  // as it is now (swim/reconfigure.h)

  // What is known now. Self comes first; the order of the rest is that in which they were first heard of, but that a
  // newcomer may take the place of one that was forgotten.
  std::vector<MemberPtr> Members() const;  // shared with the events; O(N)
  MemberPtr Self() const;
  MemberPtr Find(std::string_view name) const;  // null: no member of this name is known
  std::size_t size() const;                     // rows: ACTIVE, SUSPECT, INACTIVE and LEFT, self included
  std::size_t alive() const;                    // ACTIVE and SUSPECT, self included
  // The latest broadcast of each key that is held: what a user reads anew who has lost events. O(keys).
  std::vector<BroadcastInfo> HeldBroadcasts(const Tick& now) const;
  Contact contact() const;  // how much of the group is reached; after a leave: as it was
  // Equal where the ACTIVE and SUSPECT rows are equal (with heartbeats: all rows but the LEFT, whatever their states).
  std::uint32_t digest() const;
  std::uint64_t version() const;  // rises with every change that Members() would show

 private:
  class Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  template <typename Take>
  absl::Status Inner(const Tick& now, Outbox& out, Take take);
  std::unique_ptr<Impl> impl_;
};

}  // namespace nekton
