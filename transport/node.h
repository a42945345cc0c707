// One member of a group on real sockets: the thread-safe face.
//
//   auto node = nekton::Node::Start(config);                      // its own thread and loop, or
//   auto node = nekton::Node::Attach(uv_default_loop(), config);  // your loop, never run or stopped by the node
//
// Every function may be called from any thread and inside any callback, at any time between Start and the destructor;
// what cannot be done there says so with a status, and nothing deadlocks. Reads come from a snapshot that is published
// before the events that led to it; and what a call has changed is in it when the call returns, or its `done` comes.
//
// With config.standalone it is a group of one for good: no socket, no resolver, and all else as ever.
//
// Where callbacks run (event handlers, the log sink, LeaveAsync, messages and requests):
//   Start:  one after another on a delivery thread of the node, fed by a bounded queue. A slow or blocking callback
//           never stops the protocol; if the queue overflows, what waited in it is replaced by one kResync event, and
//           Members() is the truth.
//   Attach: on the loop's thread. What blocks there blocks the node, and the node knows: it accuses nobody for it.
//
// The `done` of an asynchronous call has a place in a queue of NodeOptions::callback_queue from the call on until it has
// returned. So none is ever lost to a slow callback; where there is no place left the call is refused with
// ResourceExhausted, and nothing is done. (LeaveAsync has 1,024 places of its own.) A null `done` needs none.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lease/evidence.h"
#include "lease/held_view.h"
#include "lease/lease_config.h"
#include "lease/lease_counters.h"
#include "lease/object_gate.h"
#include "lease/register.h"
#include "lease/route_cache.h"
#include "lease/view_store.h"
#include "phi/time.h"
#include "swim/address.h"
#include "swim/config.h"
#include "swim/contact.h"
#include "swim/engine.h"
#include "swim/event.h"
#include "swim/member_explanation.h"
#include "transport/join_report.h"
#include "transport/lease_keeper.h"
#include "transport/log.h"
#include "transport/members_view.h"
#include "transport/resolver.h"
#include "transport/responder.h"
#include "transport/seal_key.h"
#include "transport/subscription.h"
#include "transport/transport_factory.h"

extern "C" {
typedef struct uv_loop_s uv_loop_t;
}

namespace nekton {

struct NodeOptions {
  LogSink log = {};                 // lines in words, without a newline; none by default
  std::size_t event_queue = 16384;  // Start: events that wait for a slow handler; >= 1
  std::size_t mail_queue = 1024;    // messages and requests that wait for a slow handler; >= 1
  // Calls with a `done` that has not been called yet; >= 1. Open requests are among them.
  std::size_t callback_queue = 8192;
  ResolveFunction resolve = {};          // of seed names; empty: the system's resolver
  Keyring keys = {};                     // with Config::sealing, in place of Config::key_file
  TransportFactory transport = nullptr;  // empty: UDP and TCP by libuv. Not with Config::standalone
  // The authority of the group; by default there is none, and then there are no views, homes and leases.
  LeaseConfig leases = {};
  // Where this member keeps its view, if it is the authority: then it must be given. It is read in Start() or Attach(), and
  // written on a thread of its own.
  std::shared_ptr<ViewStore> view_store = nullptr;
  // Is told what was decided about members, views and homes, as handlers are; empty: nobody. At most 4,096 wait for it.
  std::function<void(const Evidence&)> evidence = nullptr;
  // Where named leases are held (AcquireLease), and where candidates find out which of them is the authority
  // (LeaseConfig::candidates, which need it); null: there are none. Several nodes of one process may share it.
  std::shared_ptr<Register> lease_register = nullptr;
};

// What is to be done with a request for an object, and by which lease.
struct ObjectDecision {
  Verdict verdict = Verdict::kNotCurrent;
  std::uint64_t epoch = 0;        // ours; kMoved: of the move
  std::string moved_to;           // kMoved
  std::vector<std::byte> answer;  // kReplay: the first one; kServe: what was served, if it was at once
  absl::Status detail;            // kForbidden: why
  // kServe: from the decision on, so long reads and commits are covered by our leases. Who begins later has lost them.
  Duration read_left{};
  Duration write_left{};
};

// Where this member stands with the authority and its objects.
struct LeaseStanding {
  AuthorityEvidence authority;
  Duration read_left{};
  CountersEvidence totals;
  LeaseCounters counters;
  std::vector<std::pair<ObjectId, Route>> routes;  // those that are cached, in the order of the objects
};

// Of a request or a reliable message.
struct RequestOptions {
  Duration budget = std::chrono::seconds(1);  // for all of it: waiting for the loop, every try, the answer; 1 ms to 1 h
  // Also not later than the deadline of this one, which it is for; and cancelled with it. Null: it is for none.
  const Responder* deadline_of = nullptr;
  bool idempotent = false;  // may be done twice, by two lives of the member (swim/mail.h)
};
using RequestId = std::uint64_t;  // of one node's own

struct CounterValue {
  std::string name;  // stable, fit for a metrics system
  std::uint64_t value = 0;
};

class Node {
 public:
  // Opens the sockets and begins to join. Does not wait for anybody. config.generation 0 takes the start time in ms,
  // config.seed 0 random bits of the system.
  // Errors: InvalidArgument with every mistake of the configuration, one a line; AlreadyExists "address in use:
  // 127.0.0.1:7946"; FailedPrecondition "cannot bind ...". A seed that does not resolve or answer is no error: it is
  // retried for ever; a kJoinResult event tells the first result of each address, and every one that differs
  // (of a name that does not resolve: each look-up's). Events before Subscribe() reach nobody: who wants the first
  // results starts without seeds, subscribes, then calls Join().
  static absl::StatusOr<std::unique_ptr<Node>> Start(Config config, NodeOptions options = {});
  // On the thread that runs `loop`, or before it runs. Destroy the node on that thread too: there the destructor never
  // blocks. The node's handles are closed in the loop's next turns, after which uv_loop_close() returns 0. The loop
  // must run (or be given turns) for the node to live, and must be given turns until the handles are closed.
  static absl::StatusOr<std::unique_ptr<Node>> Attach(uv_loop_t* loop, Config config, NodeOptions options = {});
  // Stop(). Legal in a callback.
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Wait-free but for a lock of a few nanoseconds. After Stop(): the last one.
  MembersView Members() const;
  // How much of the group this member reaches, and whether it is isolated (swim/contact.h): Members().contact(). kIsolated
  // and kRejoined tell of the changes. It is no quorum.
  Contact contact() const;
  // What is published after this call reaches the handler, in order. On a stopped node the handler is never called. Null:
  // nobody subscribes.
  [[nodiscard]] Subscription Subscribe(EventHandler handler, SubscribeFrom from = SubscribeFrom::kNow);

  // Further seeds, "host:port", for ever; after a leave without effect. Returns at once. InvalidArgument with all
  // mistakes (then none is taken); ResourceExhausted beyond 1,024 seeds; FailedPrecondition on a stopped node and on a
  // standalone one.
  absl::Status Join(std::vector<std::string> addresses);
  // The same, and waits until one of them has let us in, all have refused for good, or `timeout` (above 0) is over; what
  // became of each address is in the report (transport/join_report.h). They are retried within that time with
  // Config::join_backoff, names looked up anew; so seeds may come up meanwhile. Whatever the report says they stay seeds
  // for ever. A report whose status is InvalidArgument, ResourceExhausted (also beyond 64 calls at a time) or, without
  // results, FailedPrecondition: as Join above. Places as WaitJoined.
  JoinReport Join(std::vector<std::string> addresses, Duration timeout);
  // The same without waiting: `done` comes once, after the events that led to it, unless the node is stopped first (then
  // it is dropped). If the returned status is not OK it never comes. Legal everywhere.
  absl::Status JoinAsync(std::vector<std::string> addresses, Duration timeout,
                         std::function<void(const JoinReport&)> done);
  // OK as soon as another member is known that is ACTIVE or SUSPECT; with config.bootstrap_expect, as soon as so many
  // are ACTIVE, this one included; standalone: at once. DeadlineExceeded says how many of them there are, and what became
  // of each seed.
  // Cancelled if the node stops meanwhile. FailedPrecondition inside a callback or on the loop's thread.
  absl::Status WaitJoined(Duration timeout);
  // Says goodbye; returns when it was heard, or with the reason why not after `timeout` (0: config.leave_timeout;
  // InvalidArgument below). Leaving again gives the first result. Errors and places as WaitJoined; FailedPrecondition
  // also on a stopped node. The node stays, silent, until Stop().
  absl::Status Leave(Duration timeout = Duration::zero());
  // The same without waiting: `done` comes once, unless the node is stopped first (then it is dropped). If the returned
  // status is not OK (stopped node, more than 1,024 callers waiting) it never comes. Legal everywhere.
  absl::Status LeaveAsync(Duration timeout, std::function<void(const absl::Status&)> done);

  // Hands in what the application has seen of members (swim/engine.h), to be debounced like our own probes. `done`, if
  // there is one, comes once with the engine's status, after the events that this caused, unless the node is stopped
  // first (then it is dropped). If the returned status is not OK (stopped node; ResourceExhausted: 1,024 calls wait for
  // the loop, or NodeOptions::callback_queue for their callbacks) it never comes. Legal everywhere.
  absl::Status ObserveAsync(std::vector<PeerObservation> observations,
                            std::function<void(const absl::Status&)> done = nullptr);
  // The same, and waits for the status. Errors and places as WaitJoined.
  absl::Status Observe(std::vector<PeerObservation> observations, Duration timeout = std::chrono::seconds(1));

  // Changes the configuration while the node runs (swim/reconfigure.h, whose Changes() makes it of two Configs). Statuses:
  // the engine's. Errors and places as Observe.
  absl::Status ReconfigureAsync(nekton::Reconfigure changes, std::function<void(const absl::Status&)> done = nullptr);
  absl::Status Reconfigure(nekton::Reconfigure changes, Duration timeout = std::chrono::seconds(1));
  // The detector alone, and returns at once. InvalidArgument: no such detector; else as ObserveAsync. Legal everywhere.
  absl::Status Reconfigure(DetectorKind detector);

  // A planned restart of a member, this one or another: for so long nobody removes it (swim/notice.h); 0: it ends now.
  // OK says that it is on its way, and known here. Statuses: the engine's. Errors and places as Observe.
  absl::Status MaintenanceAsync(std::string member, Duration duration,
                                std::function<void(const absl::Status&)> done = nullptr);
  absl::Status Maintenance(std::string member, Duration duration, Duration timeout = std::chrono::seconds(1));
  // Removes another member by hand (swim/notice.h). As Maintenance.
  absl::Status ExpelAsync(std::string member, std::function<void(const absl::Status&)> done = nullptr);
  absl::Status Expel(std::string member, Duration timeout = std::chrono::seconds(1));

  // Why a member is in its state: counts, what is left of its hold, who said what of it last. NotFound where no member
  // has this name; else as above.
  absl::Status ExplainAsync(std::string name, std::function<void(const absl::StatusOr<MemberExplanation>&)> done);
  absl::StatusOr<MemberExplanation> Explain(std::string name, Duration timeout = std::chrono::seconds(1));

  // Watches a member (swim/engine.h): its level of suspicion is there at every moment, and each time that it reaches one
  // of the thresholds, or falls below it again, is an event. Statuses: the engine's. Errors and places as Observe.
  absl::Status WatchAsync(std::string member, std::chrono::nanoseconds interval, std::vector<double> thresholds,
                          std::function<void(const absl::Status&)> done = nullptr);
  absl::Status Watch(std::string member, std::chrono::nanoseconds interval, std::vector<double> thresholds,
                     Duration timeout = std::chrono::seconds(1));
  absl::Status UnwatchAsync(std::string member, std::function<void(const absl::Status&)> done = nullptr);
  absl::Status Unwatch(std::string member, Duration timeout = std::chrono::seconds(1));
  // The level now (swim/engine.h), also of members that nobody watches. Errors and places as Explain.
  absl::Status LevelAsync(std::string member, std::function<void(const absl::StatusOr<double>&)> done);
  absl::StatusOr<double> Level(std::string member, Duration timeout = std::chrono::seconds(1));

  // Changes our own tags (swim/user_data.h): one of them, or all. Statuses: the engine's. Errors and places as Observe.
  absl::Status SetTagAsync(std::string key, std::string value, std::function<void(const absl::Status&)> done = nullptr);
  absl::Status SetTag(std::string key, std::string value, Duration timeout = std::chrono::seconds(1));
  absl::Status EraseTagAsync(std::string key, std::function<void(const absl::Status&)> done = nullptr);
  absl::Status EraseTag(std::string key, Duration timeout = std::chrono::seconds(1));
  absl::Status SetTagsAsync(std::map<std::string, std::string> tags,
                            std::function<void(const absl::Status&)> done = nullptr);
  absl::Status SetTags(std::map<std::string, std::string> tags, Duration timeout = std::chrono::seconds(1));

  // Tells every member that is alive (swim/user_data.h): of the latest of each key each of them gets one kBroadcast event.
  // Statuses: the engine's. Errors and places as Observe.
  absl::Status BroadcastAsync(std::string key, std::string bytes,
                              std::function<void(const absl::Status&)> done = nullptr);
  absl::Status Broadcast(std::string key, std::string bytes, Duration timeout = std::chrono::seconds(1));
  // The latest of each key that is held here, all marked `replayed`: for who has lost events (kResync). As Explain.
  absl::Status HeldBroadcastsAsync(std::function<void(const std::vector<BroadcastInfo>&)> done);
  absl::StatusOr<std::vector<BroadcastInfo>> HeldBroadcasts(Duration timeout = std::chrono::seconds(1));

  // The keys of this node's ring, while it runs; in a group: Add the new one at every member, then Use it at every one, then
  // Remove the old one at every one. With Config::key_file the file is written anew, so that a restart finds the same;
  // what cannot be written is not changed. Statuses: those of Keyring and SaveKeyring (transport/seal_key.h);
  // FailedPrecondition: this node does not seal its frames. Errors and places as Observe.
  absl::Status AddKey(const SealKey& key, Duration timeout = std::chrono::seconds(1));
  absl::Status UseKey(SealKey::Id id, Duration timeout = std::chrono::seconds(1));
  absl::Status RemoveKey(SealKey::Id id, Duration timeout = std::chrono::seconds(1));
  absl::StatusOr<std::vector<SealKey::Id>> Keys(Duration timeout = std::chrono::seconds(1));  // the first seals
  // The same without waiting, as ObserveAsync. Legal everywhere.
  absl::Status AddKeyAsync(const SealKey& key, std::function<void(const absl::Status&)> done = nullptr);
  absl::Status UseKeyAsync(SealKey::Id id, std::function<void(const absl::Status&)> done = nullptr);
  absl::Status RemoveKeyAsync(SealKey::Id id, std::function<void(const absl::Status&)> done = nullptr);
  absl::Status KeysAsync(std::function<void(const absl::StatusOr<std::vector<SealKey::Id>>&)> done);
  // From Sealing::kAccept to kRequire, once every member accepts; and back. InvalidArgument: kOff.
  absl::Status SetSealing(Sealing mode, Duration timeout = std::chrono::seconds(1));

  // Messages and requests to other members: swim/mail.h has what they promise, and their limits.

  // Best effort: one datagram, which may be lost or come twice. OK: it is on its way. InvalidArgument: more bytes than fit
  // (config.datagram_max less 41), or it is for this member; NotFound, Unavailable: the member is unknown or has left, is
  // INACTIVE, as Members() has it; ResourceExhausted: 1,024 calls wait; FailedPrecondition: stopped. Legal everywhere.
  absl::Status SendTo(const std::string& member, std::vector<std::byte> body);
  // Up to 1 MiB, within a budget. `done` comes once: OK when the other member's node has put it into the queue of its
  // handler; else why not. It is dropped if this node is stopped first. If the returned status is not OK (InvalidArgument:
  // body, budget; else as ObserveAsync) it never comes. Legal everywhere.
  absl::StatusOr<RequestId> SendReliableAsync(std::string member, std::vector<std::byte> body, RequestOptions options,
                                              std::function<void(const absl::Status&)> done);
  // The same, and waits. Cancelled if the node stops meanwhile. FailedPrecondition inside a callback or on the loop's
  // thread.
  absl::Status SendReliable(std::string member, std::vector<std::byte> body, RequestOptions options = {});
  // The same for a request: `done` gets the answer of the other member's handler, or a status (swim/mail.h, Mail::status).
  absl::StatusOr<RequestId> RequestAsync(std::string member, std::vector<std::byte> body, RequestOptions options,
                                         std::function<void(const absl::StatusOr<std::vector<std::byte>>&)> done);
  absl::StatusOr<std::vector<std::byte>> Request(std::string member, std::vector<std::byte> body,
                                                 RequestOptions options = {});
  // Its `done` gets Cancelled, and the other member's handler hears of it. NotFound: it has ended; else as ObserveAsync.
  absl::Status CancelRequest(RequestId id);

  // Who gets what others send. One handler each; null: none, and then messages are dropped, reliable ones and requests
  // answered with Unimplemented. Where more than NodeOptions::mail_queue of them wait, best-effort messages are dropped
  // and counted, and the rest is answered with ResourceExhausted. An earlier handler is not running any more when the
  // call returns, unless that is made in a callback. A handler may answer later (transport/responder.h). On a stopped
  // node without effect.
  void OnMessage(MessageHandler handler);
  void OnRequest(RequestHandler handler);

  // Views, homes and leases (lease/lease_room.h): of a member with an authority, NodeOptions::leases. Without one the
  // calls fail with FailedPrecondition; else statuses and places are those of ObserveAsync and Observe.

  // The view that was published last, before the evidence of it; never null. Wait-free but for a lock.
  std::shared_ptr<const HeldView> view() const;
  // Who is home to an object by it; empty: nobody.
  std::string HomeOf(const ObjectId& object) const { return view()->HomeOf(object); }
  // Of a client: where the requests for an object go, from the bounded cache whose entries are fenced when their home
  // leaves the view; and what a home that holds the old lease says of it. `took` false: no newer news, or no member.
  absl::Status RouteAsync(ObjectId object, std::function<void(const Route&)> done);
  absl::StatusOr<Route> FindRoute(ObjectId object, Duration timeout = std::chrono::seconds(1));
  absl::Status RedirectAsync(ObjectId object, std::string home, std::uint64_t home_epoch,
                             std::function<void(bool took)> done = nullptr);
  // Of a home: what is to be done with a request (lease/object_gate.h). One that is to be served must end in ServedAsync,
  // with its answer; until then repetitions of it are told kBusy.
  absl::Status DecideAsync(ObjectRequest request, std::function<void(const ObjectDecision&)> done);
  absl::Status ServedAsync(ObjectRequest request, std::vector<std::byte> answer);
  // The same for what is quick: if it is to be served `serve` is called at once, on the loop's thread, under the very
  // leases by which it was decided, and what it returns is the answer. It must not block, nor call the node.
  absl::Status ServeAsync(ObjectRequest request, std::function<std::vector<std::byte>()> serve,
                          std::function<void(const ObjectDecision&)> done);
  absl::Status StandingAsync(std::function<void(const LeaseStanding&)> done);
  absl::StatusOr<LeaseStanding> Standing(Duration timeout = std::chrono::seconds(1));
  // Of the authority: moves an object to another member for as long as the view lasts (Authority::Move).
  absl::Status MoveAsync(ObjectId object, std::string to, std::function<void(const absl::Status&)> done = nullptr);
  absl::Status Move(ObjectId object, std::string to, Duration timeout = std::chrono::seconds(1));

  // Named leases (transport/lease_keeper.h has what they promise), held under this member's name in
  // NodeOptions::lease_register, with the drift of NodeOptions::leases.terms. That the failure detector suspects a holder or
  // holds it for INACTIVE is a hint to those who wait for it: they look at the record at once, and wait no shorter for it.
  //
  // Their callbacks come one at a time from a thread of their own, so neither a slow event handler nor a blocked loop of yours
  // delays what is told of a lease; everything may be called there, but what blocks for a lease. Stop() releases what is
  // held, without waiting for the register, and waits for the callback that runs, also with Attach; a LeaseHandle may
  // outlive the node, and says no from then on. Two callbacks that wait for each other (a handle is destroyed in an event
  // handler, while a callback of that very lease stops the node) wait for ever.

  // Contends from now on, and again after every loss, until the handle is released or gone. Errors: LeaseKeeper::Acquire's;
  // FailedPrecondition: there is no register, or the node is stopped; InvalidArgument: the name is the one by which
  // candidates find the authority. Legal everywhere.
  absl::StatusOr<LeaseHandle> AcquireLeaseAsync(const std::string& name, const LeaseOptions& options = {},
                                                LeaseCallbacks callbacks = {});
  // The same, and waits until it is held. DeadlineExceeded: it is another's, and not contended for any more. Cancelled: the
  // node was stopped. FailedPrecondition inside a callback or on the loop's thread; LeaseHandle::ReleaseWithin is refused
  // there, too.
  absl::StatusOr<LeaseHandle> AcquireLease(const std::string& name, const LeaseOptions& options, Duration timeout,
                                           LeaseCallbacks callbacks = {});

  // Ends the node without a goodbye. Any thread, any state, any number of times, also two threads at once. When it has
  // returned no callback is running (but the one that called it) and none will come. Start: the loop's thread is gone.
  void Stop();

  // Of the engine ("probe_rounds"), of its StateTransitionManager ("stm_input_duplicate"), and of the sockets
  // ("transport_datagrams_truncated"), as of the last turn.
  std::vector<CounterValue> Counters() const;
  // Whose datagrams were refused, and how many: of the first 32 hosts, port 0; all others under the unspecified address.
  std::vector<std::pair<Address, std::uint64_t>> Refused() const;
  Address local() const;       // as bound, with the real port; standalone: unspecified, port 0
  Address advertised() const;  // what others are told; standalone: config.advertise, or as local()

 private:
  absl::Status CheckSeeds(std::vector<std::string>& addresses) const;
  absl::Status CheckLeases() const;

  class Impl;
  explicit Node(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace nekton
