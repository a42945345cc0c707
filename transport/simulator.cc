#include "transport/simulator.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "transport/simulator_impl.h"

namespace nekton {
namespace {

constexpr std::uint16_t kPort = 7946;
// Each user of randomness has a stream of its own.
constexpr std::uint64_t kNetworkStream = 0x6e6574;
constexpr std::uint64_t kSlowStream = 0x736c6f;

// The default address of member i is 10.x.y.z:7946 with x.y.z = i + 1. `number` is i.
bool IsDefault(const Address& address, SimId* number) {
  static const Address kModel = Address::V4(10, 0, 0, 0, kPort);
  if (address.port != kPort || address.scope != 0 || std::memcmp(address.ip.data(), kModel.ip.data(), 13) != 0) {
    return false;
  }
  *number = (SimId{address.ip[13]} << 16 | SimId{address.ip[14]} << 8 | address.ip[15]) - 1;
  return *number < kSimIdMax;
}

// Marks that time runs, so that a callback that lets it run is caught.
class Running {
 public:
  explicit Running(bool* flag) : flag_(flag) { *flag_ = true; }
  ~Running() { *flag_ = false; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  bool* flag_;
};

}  // namespace

std::ostream& operator<<(std::ostream& out, const SimEvent& event) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(event.at).count();
  char time[32];
  std::snprintf(time, sizeof time, "%7lld.%03llds", static_cast<long long>(ms / 1000),
                static_cast<long long>(ms % 1000));
  return out << time << " #" << event.member << ": " << event.event;
}

void Simulator::Impl::Die(std::string_view message) {
  std::fprintf(stderr, "Simulator: %.*s\n", static_cast<int>(message.size()), message.data());
  std::abort();
}

Simulator::Impl::Impl(const SimOptions& options)
    : options_(options),
      network_(Mixed(options.seed, kNetworkStream), options.link),
      slow_random_(Mixed(options.seed, kSlowStream)),
      streams_(this) {}

Simulator::Impl::Process& Simulator::Impl::At(SimId id) const {
  if (id >= processes_.size()) Die("no member has this id");
  return *processes_[id];
}

// The next thing in time, if it is due at or before `until`. Input comes before wakes.
bool Simulator::Impl::Step(Duration until) {
  const Duration flight = flights_.empty() ? Duration::max() : flights_.next();
  const Duration wake = wakes_.empty() ? Duration::max() : wakes_.top().when.time_since_epoch();
  const Duration next = std::min(flight, wake);
  if (next > until || next == Duration::max()) return false;
  now_ = std::max(now_, next);
  if (flight <= wake) {
    Land(flights_.Pop());
  } else {
    Wake(*processes_[wakes_.top().id]);
  }
  return true;
}

void Simulator::Impl::RunTo(Duration time) {
  if (running_) Die("a callback must not let time run");
  const Running running(&running_);
  while (Step(time)) {
  }
  now_ = std::max(now_, time);
}

void Simulator::Impl::Schedule(Duration time, std::function<void()> action) {
  if (free_actions_.empty()) {
    free_actions_.push_back(static_cast<std::uint32_t>(actions_.size()));
    actions_.emplace_back();
  }
  const std::uint32_t index = free_actions_.back();
  free_actions_.pop_back();
  actions_[index] = std::move(action);
  const std::uint32_t slot = flights_.New();
  flights_[slot].kind = FlightKind::kAction;
  flights_[slot].handle = index;
  flights_.Launch(slot, std::max(time, now_));
}

void Simulator::Impl::RunAction(std::uint64_t index) {
  const std::function<void()> action = std::move(actions_[index]);
  actions_[index] = nullptr;
  free_actions_.push_back(static_cast<std::uint32_t>(index));
  if (action) action();
}

SimId Simulator::Impl::Owner(const Address& address) const {
  SimId number = 0;
  if (IsDefault(address, &number) && number < owners_.size() && owners_[number] != kNobody) return owners_[number];
  if (other_owners_.empty()) return kNobody;
  const auto found = other_owners_.find(address);
  return found == other_owners_.end() ? kNobody : found->second;
}

void Simulator::Impl::SetOwner(const Address& address, SimId id) {
  SimId number = 0;
  // An address that somebody moved to may look like a default one, of a number that no member has.
  const bool by_number = IsDefault(address, &number) && number < processes_.size();
  if (by_number && number >= owners_.size()) owners_.resize(processes_.size(), kNobody);
  if (by_number) owners_[number] = id;
  if (by_number || id == kNobody) {
    other_owners_.erase(address);
  } else {
    other_owners_[address] = id;
  }
}

void Simulator::Impl::Log(const Process& process, const Event& event) {
  if (!handler_ && !process.options.record) return;
  const SimEvent logged{now_, process.id, event};
  if (process.options.record) {
    if (log_.size() < options_.log_max) {
      log_.push_back(logged);
    } else {
      ++counters_.events_unlogged;
    }
  }
  if (handler_) handler_(logged);
}

void Simulator::Impl::TakeEvidence(Process& process) {
  for (const Evidence& evidence : process.member->evidence()) {
    if (!process.options.record) break;
    if (evidence_.size() >= options_.log_max) {
      ++counters_.events_unlogged;
    } else {
      evidence_.push_back({now_, process.id, evidence});
    }
  }
  process.member->ClearEvidence();
}

void Simulator::Impl::Hand(Process& process, const Mail& mail) {
  if (mail_handler_) return mail_handler_(process.id, mail);
  if (mail.kind == MailKind::kCancelled || mail.kind == MailKind::kDone || mail.id == 0) return;
  // It was open a moment ago, and nothing has happened since.
  Order(process.id, Respond{.id = mail.id, .status = absl::UnimplementedError("no handler takes it"), .body = {}})
      .IgnoreError();
}

// The public face.

Simulator::Simulator(const SimOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Simulator::~Simulator() = default;
Simulator::Simulator(Simulator&&) noexcept = default;
Simulator& Simulator::operator=(Simulator&&) noexcept = default;

SimId Simulator::Add(const Config& config, const SimMemberOptions& options) { return impl_->Add(config, options); }
absl::Status Simulator::Start(SimId id) { return impl_->Start(id, impl_->At(id).config.generation); }
void Simulator::Crash(SimId id, Port port) {
  Impl::Process& process = impl_->At(id);
  if (process.member) impl_->Stop(process, SimState::kCrashed, port);
}
absl::Status Simulator::Restart(SimId id, const RestartOptions& options) { return impl_->Restart(id, options); }
void Simulator::Remove(SimId id) { impl_->Stop(impl_->At(id), SimState::kRemoved, Port::kSilent); }

void Simulator::Pause(SimId id, const PauseOptions& options) { impl_->Pause(id, options); }
void Simulator::Resume(SimId id) { impl_->Resume(id); }
void Simulator::SetSlowness(SimId id, const Slowness& slowness) {
  Impl::Process& process = impl_->At(id);
  process.slowness = slowness;
  process.slow = slowness.fixed > Duration::zero() || slowness.random > Duration::zero();
  impl_->Reschedule(process);
}
void Simulator::SetSendsFail(SimId id, bool fail) { impl_->At(id).sends_fail = fail; }
void Simulator::SetClockRate(SimId id, std::int64_t ppm) { impl_->SetClockRate(id, ppm); }
void Simulator::StepWall(SimId id, Duration by) { impl_->At(id).clock.StepWall(by); }

absl::Status Simulator::Order(SimId id, const Command& command) { return impl_->Order(id, command); }
absl::Status Simulator::Leave(SimId id, Duration timeout) { return impl_->Order(id, nekton::Leave{timeout}); }
absl::Status Simulator::Move(SimId id, const ObjectId& object, std::string_view to) {
  Impl::Process& process = impl_->At(id);
  absl::Status status = impl_->CheckRuns(process);
  if (!status.ok()) return status;
  impl_->Feed(process, [&](Member& its, const Tick& now, Outbox& out) { status = its.Move(now, object, to, out); });
  return status;
}
void Simulator::Inject(SimId to, const Address& from, std::span<const std::byte> bytes) {
  impl_->Inject(to, from, bytes);
}
void Simulator::InjectRequest(SimId to, const Address& from, std::span<const std::byte> bytes, OnAnswer done) {
  impl_->InjectRequest(to, from, bytes, std::move(done));
}
void Simulator::SetHost(const std::string& name, std::vector<Address> addresses) {
  impl_->hosts_[name] = std::move(addresses);
}
SimNetwork& Simulator::network() { return impl_->network_; }

Duration Simulator::now() const { return impl_->now_; }
void Simulator::RunFor(Duration time) { impl_->RunTo(impl_->now_ + time); }
void Simulator::RunTo(Duration time) { impl_->RunTo(time); }
bool Simulator::RunUntil(const std::function<bool()>& done, Duration limit, Duration step) {
  const Duration end = impl_->now_ + limit;
  while (!done()) {
    if (impl_->now_ >= end) return false;
    impl_->RunTo(std::min(impl_->now_ + std::max(step, Duration(1)), end));
  }
  return true;
}
bool Simulator::Step() {
  if (impl_->running_) Impl::Die("a callback must not let time run");
  const Running running(&impl_->running_);
  return impl_->Step(Duration::max());
}
void Simulator::At(Duration time, std::function<void()> action) { impl_->Schedule(time, std::move(action)); }

std::size_t Simulator::size() const { return impl_->processes_.size(); }
SimState Simulator::state(SimId id) const { return impl_->At(id).state; }
bool Simulator::paused(SimId id) const { return impl_->At(id).paused; }
bool Simulator::live(SimId id) const { return impl_->Live(impl_->At(id)); }
std::size_t Simulator::live_count() const {
  return static_cast<std::size_t>(std::count_if(impl_->processes_.begin(), impl_->processes_.end(),
                                                [this](const auto& process) { return impl_->Live(*process); }));
}
const Member* Simulator::member(SimId id) const {
  const Impl::Process& process = impl_->At(id);
  return process.member ? &*process.member : nullptr;
}
LeaseRoom* Simulator::leases(SimId id) {
  Impl::Process& process = impl_->At(id);
  return process.member ? process.member->leases() : nullptr;
}
Seal* Simulator::seal(SimId id) { return impl_->At(id).seal.get(); }
const std::string& Simulator::name(SimId id) const { return impl_->At(id).config.name; }
const Address& Simulator::address(SimId id) const { return impl_->At(id).address; }
std::uint64_t Simulator::generation(SimId id) const { return impl_->At(id).generation; }
SimId Simulator::Owner(const Address& address) const { return impl_->Owner(address); }
Tick Simulator::Clock(SimId id) const { return impl_->At(id).clock.At(impl_->now_); }

bool Simulator::Converged() const {
  std::vector<SimId> all(size());
  for (SimId id = 0; id < all.size(); ++id) all[id] = id;
  return Converged(all);
}

bool Simulator::Converged(std::span<const SimId> group) const {
  std::size_t live = 0;
  for (const SimId id : group) live += impl_->Live(impl_->At(id)) ? 1 : 0;
  const Member* first = nullptr;
  for (const SimId id : group) {
    const Impl::Process& process = impl_->At(id);
    if (!impl_->Live(process)) continue;
    if (first == nullptr) first = &*process.member;
    if (process.member->alive() != live || process.member->digest() != first->digest()) return false;
  }
  return true;
}

const std::vector<SimEvent>& Simulator::log() const { return impl_->log_; }
const std::vector<SimEvidence>& Simulator::evidence() const { return impl_->evidence_; }
void Simulator::ClearLog() {
  impl_->log_.clear();
  impl_->evidence_.clear();
}
void Simulator::SetRecording(SimId id, bool record) { impl_->At(id).options.record = record; }
void Simulator::SetHandler(std::function<void(const SimEvent&)> handler) { impl_->handler_ = std::move(handler); }
void Simulator::SetMailHandler(std::function<void(SimId, const Mail&)> handler) {
  impl_->mail_handler_ = std::move(handler);
}
void Simulator::SetTap(std::function<void(const SimDatagram&)> tap) { impl_->tap_ = std::move(tap); }
void Simulator::SetFilter(std::function<bool(const SimDatagram&)> keep) { impl_->filter_ = std::move(keep); }
const SimCounters& Simulator::counters() const { return impl_->counters_; }

std::uint64_t Simulator::Fingerprint() const {
  std::uint64_t hash = impl_->fingerprint_;
  for (const auto& process : impl_->processes_) {
    hash = Impl::Mixed(hash, process->fingerprint);
    if (process->member) hash = Impl::Mixed(hash, process->member->Fingerprint());
  }
  return hash;
}

}  // namespace nekton
