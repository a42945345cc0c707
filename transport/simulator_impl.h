// The inside of the simulator: its members and its clock. Included by simulator*.cc alone.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "stm/deadlines.h"
#include "swim/outbox.h"
#include "transport/seal.h"
#include "transport/sim_clock.h"
#include "transport/sim_flights.h"
#include "transport/sim_streams.h"
#include "transport/simulator.h"

namespace nekton {

class Simulator::Impl final : private SimStreams::World {
 public:
  // One member: its process, its machine, its clocks.
  struct Process {
    Process(const Config& its_config, const SimMemberOptions& its_options, SimClock its_clock)
        : clock(its_clock), config(its_config), options(its_options) {}
    // Read for every input.
    std::optional<Member> member;
    std::shared_ptr<Seal> seal;  // null: its frames are plain
    SimClock clock;
    Duration wake_at = Duration::max();  // as set in wakes_
    SimId id = kNobody;
    std::uint32_t life = 0;  // counts starts
    SimState state = SimState::kAdded;
    bool paused = false;
    bool slow = false;
    bool sends_fail = false;
    bool leaving = false;
    bool displaced = false;
    bool holds_probes = false;  // what its engine was told
    PauseOptions pause;
    Slowness slowness;
    Address address;
    // The rest.
    Port port = Port::kSilent;  // of a crashed one
    Config config;              // name and seed filled in; generation as given
    SimMemberOptions options;
    std::uint64_t generation = 0;
    std::uint64_t generation_max = 0;
    std::uint64_t fingerprint = 0;        // of the lives that ended
    std::vector<std::uint32_t> inbox;     // flights that wait while it is paused
    std::size_t inbox_bytes = 0;          // of the datagrams among them
    std::vector<std::uint32_t> held;      // datagrams, and segments that connect or answer, while it is blocked
    std::size_t held_bytes = 0;           // of the datagrams among them
    std::vector<Address> seeds;           // ordered in this life
    std::vector<std::string> seed_hosts;  // "host:port" that are looked up again
    // Of its register: answers that wait while it is paused, and as whom it asks, in this life.
    std::vector<std::pair<std::uint64_t, RegisterAnswer>> answers;
    SimRegister::Client register_client = 0;
    std::uint32_t register_life = 0;

    bool blocked() const {  // paused, but its timers run on
      return paused && (pause.kind == PauseOptions::Kind::kBlocked || pause.kind == PauseOptions::Kind::kProber);
    }
  };

  explicit Impl(const SimOptions& options);

  // simulator_members.cc: lives and pauses.
  SimId Add(const Config& config, const SimMemberOptions& options);
  absl::Status Start(SimId id, std::uint64_t generation);
  absl::StatusOr<std::shared_ptr<Seal>> MakeSeal(const Process& process, const Config& config) const;
  absl::Status Restart(SimId id, const RestartOptions& options);
  void Stop(Process& process, SimState state, Port port);
  void Pause(SimId id, const PauseOptions& options);
  void Resume(SimId id);
  void HoldProbes(Process& process, bool hold);
  void SetClockRate(SimId id, std::int64_t ppm);
  absl::Status Order(SimId id, const Command& command);
  absl::Status CheckRuns(const Process& process) const;
  void JoinSeeds(Process& process);  // those not yet ordered in this life
  bool Live(const Process& process) const;

  // simulator_inputs.cc: what goes in and what comes out.
  void Inject(SimId to, const Address& from, std::span<const std::byte> bytes);
  void InjectRequest(SimId to, const Address& from, std::span<const std::byte> bytes, OnAnswer done);
  void Land(std::uint32_t slot);
  void Wake(Process& process);
  // Calls `input(member, tick, outbox)` and sees to what it causes.
  template <typename Input>
  void Feed(Process& process, Input input) {
    ++counters_.events;
    const bool with_events = process.options.record || handler_ != nullptr;
    Outbox& out = Borrow(with_events);
    input(*process.member, process.clock.At(now_), out);
    Reschedule(process);
    if (!process.member->evidence().empty()) TakeEvidence(process);
    if (!process.member->register_requests().empty()) AskRegister(process);
    if (!out.empty()) Drain(process, out);
    out.Clear();
    GiveBack(with_events);
    if (process.wake_at == Duration::max() && process.member && process.member->NextWake() == kNever) Over(process);
  }
  void Over(Process& process);  // the member is silent for ever
  void Reschedule(Process& process);
  void Release(Process& process);  // what a pause kept

  // simulator_register.cc: of candidates.
  void AskRegister(Process& process);
  void ScheduleRegister(const std::shared_ptr<SimRegister>& lease_register);
  void TurnRegister(const std::shared_ptr<SimRegister>& lease_register, Instant due);
  void HearRegister(Process& process);  // what waited

  // simulator.cc: time, addresses, observing.
  Process& At(SimId id) const;
  bool Step(Duration until);
  void RunTo(Duration time);
  void Schedule(Duration time, std::function<void()> action);
  SimId Owner(const Address& address) const;
  void SetOwner(const Address& address, SimId id);
  void Log(const Process& process, const Event& event);
  void TakeEvidence(Process& process);
  void Hand(Process& process, const Mail& mail);
  void Mix(std::uint64_t value) { fingerprint_ = Mixed(fingerprint_, value); }
  static std::uint64_t Mixed(std::uint64_t hash, std::uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15;
    return hash ^ (hash >> 29);
  }
  [[noreturn]] static void Die(std::string_view message);

  SimOptions options_;
  SimNetwork network_;
  Random slow_random_;  // of Slowness
  SimStreams streams_;
  Duration now_{};
  const std::shared_ptr<Identities> identities_ = std::make_shared<Identities>();  // of all members
  std::vector<std::unique_ptr<Process>> processes_;                                // by SimId; they do not move
  Deadlines wakes_;                                                                // by SimId
  Flights flights_;
  absl::flat_hash_map<std::string, std::vector<Address>> hosts_;
  std::vector<SimEvent> log_;
  std::vector<SimEvidence> evidence_;
  SimCounters counters_;
  std::function<void(const SimEvent&)> handler_;
  std::function<void(SimId, const Mail&)> mail_handler_;
  std::function<void(const SimDatagram&)> tap_;
  std::function<bool(const SimDatagram&)> filter_;
  bool running_ = false;
  std::uint64_t fingerprint_ = 0;

 private:
  // SimStreams::World.
  Duration StreamTime() const override { return now_; }
  SimNetwork::Fate SendSegment(SimId from, SimId to) override;
  void Schedule(std::uint64_t handle, SimStreams::Step step, Duration at) override;
  SimStreams::Listener ListenerAt(const Address& address) const override;
  bool Reachable(SimId member, std::uint32_t life) const override;
  void Deliver(SimId server, const Address& client, ExchangeId id, std::vector<std::byte> request) override;
  void End(SimId client, std::uint32_t life, ExchangeId id, const Address& server, StreamEnd end,
           std::vector<std::byte> answer) override;
  void CountResend() override { ++counters_.segments_resent; }

  void LandDatagram(std::uint32_t slot);
  void Arrive(std::uint32_t slot, Process& process);
  void Keep(std::uint32_t slot, Process& process);
  void Handle(std::uint32_t slot, Process& process);
  void Unseal(std::uint32_t slot, Process& process);
  void OpenStream(Process& process, Outbox::Request request);
  void AnswerStream(Process& process, ExchangeId id, std::vector<std::byte> answer);
  void Drain(Process& process, Outbox& out);
  class SealWorld;  // what a seal is between: a member and its network
  void Send(Process& process, const Address& to, std::span<const std::byte> bytes);
  void SendOut(Process& process, const Address& to, std::span<const std::byte> bytes);
  void Transmit(const Process& process, const Address& to, std::span<const std::byte> bytes);
  void Copy(const Process& process, const Address& to, std::span<const std::byte> bytes, Duration delay);
  void Write(Process& process, const Outbox::Store& store);
  void Hold(Process& process, FlightKind kind, const Address& to, std::uint64_t handle,
            std::span<const std::byte> bytes);
  void DropFlight(std::uint32_t slot, SimId to, Drop why);
  void Tell(SimDatagram::Moment moment, Drop drop, SimId from, SimId to, const Address& from_address,
            const Address& to_address, std::span<const std::byte> bytes);
  void RunAction(std::uint64_t index);
  Outbox& Borrow(bool with_events);
  void GiveBack(bool with_events) { --borrowed_[with_events]; }

  std::vector<SimId> owners_;  // of the default addresses, by their number
  absl::flat_hash_map<Address, SimId> other_owners_;
  // The clients of registers: a member in one of its lives. When the registers have something to do, which is scheduled.
  std::vector<std::pair<SimId, std::uint32_t>> register_clients_;
  std::map<std::shared_ptr<SimRegister>, Instant> registers_;
  std::vector<std::function<void()>> actions_;
  std::vector<std::uint32_t> free_actions_;
  // One per depth of calls from callbacks; without events, and with.
  std::array<std::vector<std::unique_ptr<Outbox>>, 2> outboxes_;
  std::array<std::size_t, 2> borrowed_{};
};

}  // namespace nekton
