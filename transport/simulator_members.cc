// The simulator: the lives of its members.

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "transport/seal_transport.h"
#include "transport/simulator_impl.h"

namespace nekton {
namespace {

constexpr std::uint16_t kDefaultPort = 7946;

Address DefaultAddress(SimId id) {
  const SimId number = id + 1;
  return Address::V4(10, static_cast<std::uint8_t>(number >> 16), static_cast<std::uint8_t>(number >> 8),
                     static_cast<std::uint8_t>(number), kDefaultPort);
}

// "host:port" or "host" of a seed that is no numeric address.
std::pair<std::string, std::uint16_t> HostAndPort(const std::string& seed) {
  const std::size_t colon = seed.rfind(':');
  if (colon == std::string::npos) return {seed, kDefaultPort};
  std::uint32_t port = 0;
  for (const char digit : seed.substr(colon + 1)) {
    if (digit < '0' || digit > '9' || port > 65535) return {seed, kDefaultPort};
    port = port * 10 + static_cast<std::uint32_t>(digit - '0');
  }
  return {seed.substr(0, colon), static_cast<std::uint16_t>(std::min(port, 65535U))};
}

}  // namespace

SimId Simulator::Impl::Add(const Config& config, const SimMemberOptions& options) {
  const auto id = static_cast<SimId>(processes_.size());
  if (id + 1 >= kSimIdMax) Die("too many members");
  processes_.push_back(std::make_unique<Process>(config, options, SimClock(options_.boot_start, options_.wall_start)));
  Process& process = *processes_.back();
  process.id = id;
  process.address = options.address.value_or(DefaultAddress(id));
  if (process.config.name.empty()) process.config.name = absl::StrCat("n", id);
  if (process.options.store == nullptr && options.leases.enabled()) {
    process.options.store = std::make_shared<MemoryViewStore>();
  }
  if (process.config.seed == 0) process.config.seed = Mixed(Mixed(options_.seed, id), 1) | 1;
  return id;
}

absl::StatusOr<std::shared_ptr<Seal>> Simulator::Impl::MakeSeal(const Process& process, const Config& config) const {
  // Before it is made smaller: the mistakes are those of the configuration that was given.
  if (absl::Status status = config.Validate(); !status.ok()) return status;
  if (process.options.keys.empty()) return absl::InvalidArgumentError("sealing: there is no key (SimMemberOptions)");
  SealOptions options;
  for (const SealKey& key : process.options.keys) {
    if (absl::Status status = options.keys.Add(key); !status.ok()) return status;
  }
  options.label = config.label;
  options.name = config.name;
  options.generation = config.generation;
  options.mode = config.sealing;
  options.random = [random = Random(Mixed(config.seed, 0x7365616c))](std::span<std::byte> bytes) mutable {
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.Next() >> 56);
  };
  return std::make_shared<Seal>(std::move(options));
}

absl::Status Simulator::Impl::Start(SimId id, std::uint64_t generation) {
  Process& process = At(id);
  if (process.member) return absl::FailedPreconditionError(absl::StrCat(process.config.name, " runs already"));
  if (process.state == SimState::kRemoved) {
    return absl::FailedPreconditionError(absl::StrCat(process.config.name, " was removed"));
  }
  const SimId owner = Owner(process.address);
  if (owner != kNobody && owner != id && processes_[owner]->member) {
    return absl::FailedPreconditionError(
        absl::StrCat("address in use: ", processes_[owner]->config.name, " runs at ", process.address.ToString()));
  }
  Config config = process.config;
  const auto wall = process.clock.At(now_).wall.time_since_epoch();
  const auto wall_ms = std::chrono::duration_cast<std::chrono::milliseconds>(std::max(wall, Duration::zero()));
  config.generation = generation != 0 ? generation : 1 + static_cast<std::uint64_t>(wall_ms.count());
  config.seed += process.life * 0x9e3779b97f4a7c15;  // each life has its own luck
  const LeaseConfig& leases = process.options.leases;
  absl::StatusOr<View> stored = View();
  if (leases.signing.has_value() && !leases.by_lease()) stored = process.options.store->Read();
  if (!stored.ok()) return stored.status();
  std::shared_ptr<Seal> seal;
  if (config.sealing != Sealing::kOff) {
    absl::StatusOr<std::shared_ptr<Seal>> made = MakeSeal(process, config);
    if (!made.ok()) return made.status();
    seal = *std::move(made);
  }
  absl::StatusOr<Member> member =
      Member::Create(BehindSeal(config), process.address, identities_, leases, *std::move(stored));
  if (!member.ok()) return member.status();

  process.member = *std::move(member);
  process.seal = std::move(seal);
  process.state = SimState::kRunning;
  process.leaving = process.displaced = process.holds_probes = false;
  process.generation = config.generation;
  process.generation_max = std::max(process.generation_max, config.generation);
  const std::uint32_t life = ++process.life;
  process.seeds.clear();
  SetOwner(process.address, id);
  ++counters_.wakes;
  Feed(process, [](Member& its, const Tick& now, Outbox& out) { its.Wake(now, out); });
  if (process.member && process.life == life) JoinSeeds(process);
  return absl::OkStatus();
}

absl::Status Simulator::Impl::Restart(SimId id, const RestartOptions& options) {
  Process& process = At(id);
  if (process.member) return absl::FailedPreconditionError(absl::StrCat(process.config.name, " runs already"));
  if (options.address && *options.address != process.address) {
    if (Owner(process.address) == id) SetOwner(process.address, kNobody);
    process.address = *options.address;
  }
  if (options.config) {
    const std::string name = process.config.name;
    const std::uint64_t seed = process.config.seed;
    process.config = *options.config;
    if (process.config.name.empty()) process.config.name = name;
    if (process.config.seed == 0) process.config.seed = seed;
  }
  if (options.keys) process.options.keys = *options.keys;
  std::uint64_t generation = options.generation;
  if (generation == 0 && options.memory) {
    const auto wall = process.clock.At(now_).wall.time_since_epoch();
    const auto wall_ms = std::chrono::duration_cast<std::chrono::milliseconds>(std::max(wall, Duration::zero()));
    generation = std::max(process.generation_max, static_cast<std::uint64_t>(wall_ms.count())) + 1;
  }
  return Start(id, generation);
}

void Simulator::Impl::Stop(Process& process, SimState state, Port port) {
  process.state = state;
  process.port = port;
  if (state == SimState::kRemoved && Owner(process.address) == process.id) SetOwner(process.address, kNobody);
  if (!process.member) return;
  process.fingerprint = Mixed(process.fingerprint, process.member->Fingerprint());
  process.member.reset();
  process.seal.reset();
  if (process.paused && process.pause.kind == PauseOptions::Kind::kSuspended) process.clock.Resume(now_);
  process.paused = false;
  wakes_.Cancel(process.id);
  process.wake_at = Duration::max();
  for (const std::uint32_t slot : process.inbox) flights_.Free(slot);
  for (const std::uint32_t slot : process.held) flights_.Free(slot);
  process.inbox.clear();
  process.held.clear();
  process.answers.clear();
  process.inbox_bytes = process.held_bytes = 0;
  streams_.Stop(process.id, process.life, port == Port::kRefuses);
}

void Simulator::Impl::Pause(SimId id, const PauseOptions& options) {
  Process& process = At(id);
  if (!process.member) return;
  const bool prober = options.kind == PauseOptions::Kind::kProber;
  if (!prober) HoldProbes(process, false);
  if (!process.member) return;  // a callback crashed it
  const auto suspends = [](const Process& its) {
    return its.paused && its.pause.kind == PauseOptions::Kind::kSuspended;
  };
  const bool before = suspends(process);
  process.paused = true;
  process.pause = options;
  if (suspends(process) != before) {
    if (before) {
      process.clock.Resume(now_);
    } else {
      process.clock.Suspend(now_);
    }
  }
  if (!process.blocked()) {
    wakes_.Cancel(id);
    process.wake_at = Duration::max();
  }
  if (prober) HoldProbes(process, true);
  Reschedule(process);
}

void Simulator::Impl::HoldProbes(Process& process, bool hold) {
  if (process.holds_probes == hold) return;
  process.holds_probes = hold;
  Feed(process, [hold](Member& its, const Tick& now, Outbox& out) { its.HoldProbes(now, hold, out); });
}

void Simulator::Impl::Resume(SimId id) {
  Process& process = At(id);
  if (!process.paused) return;
  if (process.pause.kind == PauseOptions::Kind::kSuspended) process.clock.Resume(now_);
  process.paused = false;
  Release(process);
  Reschedule(process);
}

void Simulator::Impl::SetClockRate(SimId id, std::int64_t ppm) {
  Process& process = At(id);
  process.clock.SetRate(now_, std::clamp<std::int64_t>(ppm, -900'000, 1'000'000));
  Reschedule(process);
}

absl::Status Simulator::Impl::CheckRuns(const Process& process) const {
  if (!process.member) return absl::UnavailableError(absl::StrCat(process.config.name, " does not run"));
  if (process.paused && !process.blocked()) {
    return absl::UnavailableError(absl::StrCat(process.config.name, " is paused"));
  }
  return absl::OkStatus();
}

absl::Status Simulator::Impl::Order(SimId id, const Command& command) {
  Process& process = At(id);
  absl::Status status = CheckRuns(process);
  if (!status.ok()) return status;
  Feed(process, [&](Member& its, const Tick& now, Outbox& out) {
    status = its.Order(now, command, out);
    process.leaving |= status.ok() && std::holds_alternative<nekton::Leave>(command);
  });
  return status;
}

void Simulator::Impl::JoinSeeds(Process& process) {
  Join join;
  bool names = false;
  const auto add = [&](const Address& address) {
    if (std::find(process.seeds.begin(), process.seeds.end(), address) != process.seeds.end()) return;
    process.seeds.push_back(address);
    join.addresses.push_back(address);
  };
  for (const std::string& seed : process.config.seeds) {
    const absl::StatusOr<Address> numeric = Address::Parse(seed, kDefaultPort);
    if (numeric.ok()) {
      add(*numeric);
      continue;
    }
    names = true;
    const auto [host, port] = HostAndPort(seed);
    const auto found = hosts_.find(host);
    if (found == hosts_.end()) continue;
    for (Address address : found->second) {
      address.port = port;
      add(address);
    }
  }
  if (names) {
    const std::uint32_t slot = flights_.New();
    flights_[slot].kind = FlightKind::kLookup;
    flights_[slot].to = process.id;
    flights_[slot].life = process.life;
    flights_.Launch(slot, now_ + options_.resolve_interval);
  }
  // What the order's status could say (it left, it was displaced) its events have said already.
  if (!join.addresses.empty()) Order(process.id, join).IgnoreError();
}

bool Simulator::Impl::Live(const Process& process) const {
  return process.member.has_value() && !process.paused && !process.displaced;
}

}  // namespace nekton
