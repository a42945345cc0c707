// The simulator: whole groups of members on a virtual clock and a simulated network, in one thread.
//
// It is shipped so that users test their own code on it. It drives the same pure `Member` (lease/member.h) that a node
// drives over sockets, and plays its shell: it resolves the seeds and orders the join, takes the generation from the
// wall clock, stops the process when its leave is done. Time passes only inside RunFor, RunTo and RunUntil.
//
// - Deterministic: the same seed and the same calls give the same run, bit for bit, on every compiler; Fingerprint()
//   proves it. What falls on the same instant is handled in the order: what was scheduled first comes first, input
//   before wakes.
// - Not thread-safe; several simulators do not share anything.
// - Callbacks (handlers, tap, filter, actions of At, OnAnswer) may call everything but the Run functions, Step, and the
//   setters of callbacks.
// - Ids must come from Add. A wrong id, and time run from a callback, end the program with a message. What a test may
//   want to see fail returns a Status. All other calls that make no sense in the member's state (pausing what is down) do
//   nothing.
// - Bounded (SimOptions): the event log, the socket buffer of a paused member, and what is in flight.
// - Not modelled: bandwidth, CPU time, the size of a segment (a whole request is one segment), corrupted bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "lease/member.h"
#include "lease/memory_register.h"
#include "lease/view_store.h"
#include "phi/time.h"
#include "swim/address.h"
#include "swim/config.h"
#include "swim/event.h"
#include "transport/seal_key.h"
#include "transport/sim_network.h"

namespace nekton {

class Seal;  // transport/seal.h

struct SimOptions {
  std::uint64_t seed = 1;
  LinkLaw link = {};  // of every link without a law of its own
  // Streams: false: a link only delays them. true: a segment meets the loss of its link and is sent again after
  // 1 s, 2 s, ... (the connection's SYN and its answer) or 200 ms, 400 ms, ... (request and answer).
  bool lossy_streams = false;
  Instant boot_start = Instant(std::chrono::hours(1));                  // every boot clock at the beginning
  WallTime wall_start = WallTime(std::chrono::seconds(1'767'225'600));  // 2026-01-01
  std::size_t socket_buffer = 212'992;                                  // bytes, each datagram counts 256 more
  std::size_t log_max = 1'000'000;                                      // events kept; more are only counted
  std::size_t flights_max = 4'000'000;  // datagrams and timers of streams; a further datagram is dropped
  Duration resolve_interval = std::chrono::seconds(5);  // seeds that are names are looked up again
  Duration store_time = std::chrono::milliseconds(2);   // so long a store takes to write
};

struct SimMemberOptions {
  std::optional<Address> address = std::nullopt;  // default: 10.x.y.z:7946, where x.y.z is the id + 1
  bool record = true;       // its events go to log(); false (and no handler): it makes none, which is faster
  LeaseConfig leases = {};  // its group's authority (lease/lease_config.h); by default none
  // Where it keeps its view, if it is that; its machine's, so that it outlives the process. Null: a store in memory.
  std::shared_ptr<ViewStore> store = nullptr;
  // Of a candidate for the authority (LeaseConfig::candidates), which needs one; of all of them the same. Of this simulator
  // alone. Its faults may be changed at any time.
  std::shared_ptr<SimRegister> lease_register = nullptr;
  std::vector<SealKey> keys = {};  // with Config::sealing: the first seals. Config::key_file is not looked at
};

// What answers at a crashed member's address.
enum class Port : std::uint8_t {
  kRefuses,  // the process died, its machine lives: streams are refused, open ones reset; datagrams vanish
  kSilent,   // the machine died
};

struct RestartOptions {
  // true: its generation is above every one it used, as with a counter in a file. false: 1 + the wall clock in ms, so
  // that a wall clock stepped back can break it. Rows, tags and incarnation are forgotten in either case.
  bool memory = true;
  std::uint64_t generation = 0;                             // not 0: this one
  std::optional<Address> address = std::nullopt;            // moves there; else it comes back where it was
  std::optional<Config> config = std::nullopt;              // else the same as before
  std::optional<std::vector<SealKey>> keys = std::nullopt;  // else those of SimMemberOptions
};

struct PauseOptions {
  enum class Kind : std::uint8_t {
    kFrozen,     // the process stands still (SIGSTOP, a long collection); its machine still accepts streams
    kSuspended,  // the machine stands still: its port is silent and its raw clock stops
    kBlocked,  // sends and receives wait, timers run on (the anomaly of the Lifeguard paper, section V-D): an event loop
    kProber,   // the same of a process whose prober and gossiper are threads, stuck in their first send, as those of
               // memberlist are (Engine::HoldProbes): it begins one probe round at most, its suspicions run out
  };
  Kind kind = Kind::kFrozen;
  // What comes meanwhile waits in the socket buffer, and is handled when it resumes, before any timer. false: datagrams
  // are dropped.
  bool keep_input = true;
};

// How late a slow member handles things; each on its own, so a later one may overtake.
struct Slowness {
  Duration fixed{};   // every input this late,
  Duration random{};  // and exponentially distributed with this mean on top
  Duration wake{};    // every timer this late
};

enum class SimState : std::uint8_t {
  kAdded,    // not started yet
  kRunning,  // also while paused
  kCrashed,
  kLeft,  // its leave was done, and the process ended
  kRemoved,
};

struct SimEvent {
  Duration at{};           // since the simulation began
  SimId member = kNobody;  // whose event it is
  Event event;
};
struct SimEvidence {
  Duration at{};
  SimId member = kNobody;
  Evidence evidence;
};

std::ostream& operator<<(std::ostream& out, const SimEvent& event);  // "  3.250s n2: <Describe>"; no newline

// A datagram as tap and filter see it. The bytes are valid during the call.
struct SimDatagram {
  enum class Moment : std::uint8_t { kSent, kDelivered, kDropped };
  Moment moment = Moment::kSent;
  Drop drop = Drop::kNone;
  Duration at{};
  SimId from = kNobody;
  SimId to = kNobody;
  Address from_address;
  Address to_address;
  std::span<const std::byte> bytes;
};

struct SimCounters {
  std::uint64_t events = 0;  // inputs that members handled: datagrams, stream inputs, reports, wakes
  std::uint64_t wakes = 0;
  std::uint64_t datagrams_sent = 0;
  std::uint64_t bytes_sent = 0;  // of datagrams
  std::uint64_t datagrams_delivered = 0;
  std::uint64_t bytes_delivered = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t reordered = 0;
  std::array<std::uint64_t, kDropNames.size()> dropped{};  // by Drop
  std::uint64_t streams = 0;                               // exchanges begun; each ends in one of the next four,
  std::uint64_t streams_answered = 0;                      // or dies with its client
  std::uint64_t streams_refused = 0;
  std::uint64_t streams_reset = 0;  // the other end crashed, or closed it without an answer
  std::uint64_t streams_expired = 0;
  std::uint64_t stream_bytes = 0;     // of requests and answers, each counted once
  std::uint64_t segments_resent = 0;  // SYN included
  std::uint64_t events_unlogged = 0;  // beyond SimOptions::log_max
  std::uint64_t stuck_wakes = 0;      // a member asked for a Wake not later than the one it was just given
  std::uint64_t of(Drop drop) const { return dropped[static_cast<std::size_t>(drop)]; }
};

class Simulator {
 public:
  explicit Simulator(const SimOptions& options = {});
  ~Simulator();
  Simulator(Simulator&&) noexcept;
  Simulator& operator=(Simulator&&) noexcept;

  // Members. Add fills in what is empty: the name ("n" and the id), the seed (from the simulator's). The generation, if
  // 0, is taken at each start as 1 + the wall clock in ms. Config::bind and advertise are not looked at.
  SimId Add(const Config& config, const SimMemberOptions& options = {});
  // The first Wake, then Order(Join) for its seeds. Errors: what Member::Create says; FailedPrecondition if it runs,
  // was removed, or another member runs at its address.
  absl::Status Start(SimId id);
  // Ends the process at once; its memory is gone.
  void Crash(SimId id, Port port = Port::kSilent);
  // A new process of the same name. Errors: Start's. The same Config::seeds are ordered to be joined.
  absl::Status Restart(SimId id, const RestartOptions& options = {});
  void Remove(SimId id);  // Crash, and never again

  // Pausing a paused member changes the kind; Resume hands over what waited, then a Wake that is due.
  void Pause(SimId id, const PauseOptions& options = {});
  void Resume(SimId id);
  void SetSlowness(SimId id, const Slowness& slowness);  // {}: none
  void SetSendsFail(SimId id, bool fail);                // each datagram of its own ends in Report(kSendFailed)
  // Clocks: the machine's, which a restart keeps. ppm in [-900'000, 1'000'000].
  void SetClockRate(SimId id, std::int64_t ppm);
  void StepWall(SimId id, Duration by);

  // Hands an order to a running member; Unavailable if it does not run or is frozen.
  absl::Status Order(SimId id, const Command& command);
  absl::Status Leave(SimId id, Duration timeout = {});  // = Order(nekton::Leave)
  // Member::Move; Unavailable as Order.
  absl::Status Move(SimId id, const ObjectId& object, std::string_view to);
  // A datagram with any bytes and any sender, there at once. No link sees it.
  void Inject(SimId to, const Address& from, std::span<const std::byte> bytes);
  // A request over a stream from outside, there at once. `done` gets the answer, or Unavailable (nobody there, or
  // closed without an answer).
  using OnAnswer = std::function<void(const absl::Status& status, std::span<const std::byte> answer)>;
  void InjectRequest(SimId to, const Address& from, std::span<const std::byte> bytes, OnAnswer done);

  // The fake resolver of seeds that are no numeric addresses. `name` is without the port, and the port of an address is
  // ignored: it comes from the seed, or is 7946. No addresses: the look-up fails.
  void SetHost(const std::string& name, std::vector<Address> addresses);
  SimNetwork& network();

  // Time. All times are since the simulation began.
  Duration now() const;
  void RunFor(Duration time);
  void RunTo(Duration time);  // handles all that is due at or before it
  // Runs until `done` holds, looked at now and after every `step` of time; false if it did not within `limit`.
  bool RunUntil(const std::function<bool()>& done, Duration limit, Duration step = std::chrono::milliseconds(10));
  bool Step();  // handles the next thing in time; false if there is nothing to come
  void At(Duration time, std::function<void()> action);  // a time that has passed: at once, when time next runs

  // Looking.
  std::size_t size() const;  // members ever added
  SimState state(SimId id) const;
  bool paused(SimId id) const;
  // It runs, is not paused or displaced, and has not left: its table has to be right.
  bool live(SimId id) const;
  std::size_t live_count() const;
  const Member* member(SimId id) const;  // null if it does not run; valid until it stops
  // Its views, homes and leases; null if it does not run or has no authority. Decide and the like with Clock(id).
  LeaseRoom* leases(SimId id);
  Seal* seal(SimId id);  // of a member that seals its frames; else null. Valid until it stops
  const std::string& name(SimId id) const;
  const Address& address(SimId id) const;
  std::uint64_t generation(SimId id) const;   // of the last start; 0 before
  SimId Owner(const Address& address) const;  // who runs there, or whose dead port it is; else kNobody
  Tick Clock(SimId id) const;
  // All live members hold equal tables with exactly the live members in them; the second form for one group of several.
  bool Converged() const;
  bool Converged(std::span<const SimId> group) const;

  // Observing.
  const std::vector<SimEvent>& log() const;
  const std::vector<SimEvidence>& evidence() const;  // of members whose events are recorded; also at most log_max
  void ClearLog();                                   // of both
  void SetRecording(SimId id, bool record);
  void SetHandler(std::function<void(const SimEvent&)> handler);  // of every event, recorded or not
  // Of what other members send it, and of how its own requests end (swim/mail.h); it answers with Order(Respond).
  // Without a handler requests and reliable messages are answered with Unimplemented.
  void SetMailHandler(std::function<void(SimId member, const Mail& mail)> handler);
  void SetTap(std::function<void(const SimDatagram&)> tap);      // of every datagram sent, delivered and dropped
  void SetFilter(std::function<bool(const SimDatagram&)> keep);  // false: the datagram is dropped when it is sent
  const SimCounters& counters() const;
  std::uint64_t Fingerprint() const;  // over every member's, the dead ones' too, and all that the network did

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nekton
