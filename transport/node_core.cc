#include "transport/node_core.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "transport/node_transport.h"
#include "transport/uv_clock.h"
#include "transport/uv_lone_transport.h"
#include "transport/uv_socket.h"

namespace nekton {
namespace {

constexpr Duration kStrangerQuiet = std::chrono::minutes(1);
constexpr std::size_t kRemembered = 64;  // strangers, and addresses that were tried

template <typename Handle>
uv_handle_t* AsHandle(Handle* handle) {
  return reinterpret_cast<uv_handle_t*>(handle);
}

Address WithoutPort(Address address) {
  address.port = 0;
  return address;
}

}  // namespace

absl::StatusOr<std::shared_ptr<NodeCore>> NodeCore::Open(uv_loop_t* loop, NodePlan plan, ResolveFunction resolve,
                                                         std::shared_ptr<Delivery> delivery, bool dispatch) {
  if (plan.config.standalone) {
    return OpenLone(loop, std::move(plan), std::move(resolve), std::move(delivery), dispatch);
  }
  // The transport exists before the core and tells it of strangers only while it is open, which the core sees to.
  auto core_of_transport = std::make_shared<NodeCore*>(nullptr);
  absl::StatusOr<NodeTransport> made =
      OpenNodeTransport(loop, plan, [core_of_transport](const Address& from, std::string_view what) {
        if (*core_of_transport != nullptr) (*core_of_transport)->Stranger(from, what);
      });
  if (!made.ok()) return made.status();
  const Reachability reach = ChooseAdvertised(plan, made->transport->local(), InterfaceAddresses());
  absl::StatusOr<Member> member =
      Member::Create(BehindSeal(plan.config), reach.advertised, nullptr, plan.leases, plan.stored);
  if (!member.ok()) return member.status();
  auto core = std::make_shared<NodeCore>(loop, std::move(plan), std::move(resolve), std::move(delivery), dispatch,
                                         std::move(made->transport), *std::move(member), reach.advertised);
  core->socket_counters_ = made->sockets;
  core->seal_ = made->seal;
  *core_of_transport = core.get();
  if (absl::Status status = core->OpenHandles(); !status.ok()) return status;
  for (const auto& [level, line] : reach.lines) core->Log(level, line);
  return core;
}

absl::StatusOr<std::shared_ptr<NodeCore>> NodeCore::OpenLone(uv_loop_t* loop, NodePlan plan, ResolveFunction resolve,
                                                             std::shared_ptr<Delivery> delivery, bool dispatch) {
  auto transport = std::make_unique<UvLoneTransport>(loop);
  // Nobody is told an address. One that the user has given is where its program is found by other ways.
  Address advertised = transport->local();
  if (!plan.config.advertise.empty()) advertised = *Address::Parse(plan.config.advertise);
  absl::StatusOr<Member> member = Member::Create(plan.config, advertised, nullptr, plan.leases, plan.stored);
  if (!member.ok()) return member.status();
  auto core = std::make_shared<NodeCore>(loop, std::move(plan), std::move(resolve), std::move(delivery), dispatch,
                                         std::move(transport), *std::move(member), advertised);
  if (absl::Status status = core->OpenHandles(); !status.ok()) return status;
  return core;
}

NodeCore::NodeCore(uv_loop_t* loop, NodePlan plan, ResolveFunction resolve, std::shared_ptr<Delivery> delivery,
                   bool dispatch, std::unique_ptr<Transport> transport, Member member, const Address& advertised)
    : config_(std::move(plan.config)),
      has_leases_(plan.leases.enabled()),
      by_candidates_(plan.leases.by_lease()),
      advertised_(advertised),
      dispatch_(dispatch),
      loop_(loop),
      delivery_(std::move(delivery)),
      mail_(std::make_shared<NodeMail>(delivery_)),
      transport_(std::move(transport)),
      local_(transport_->local()),
      driver_(std::move(member), *transport_, ReadClocks),
      resolver_(std::make_unique<Resolver>(std::move(resolve), [this] { Poke(); })),
      seeds_(config_, *resolver_),
      view_store_(std::move(plan.view_store)),
      register_(std::move(plan.lease_register)),
      register_mail_(std::make_shared<RegisterMail>(&async_)) {}

absl::Status NodeCore::OpenHandles() {
  // The first of them can fail, the others cannot.
  const int error = uv_async_init(loop_, &async_, [](uv_async_t* h) { static_cast<NodeCore*>(h->data)->OnAsync(); });
  if (error != 0) return absl::InternalError(absl::StrCat("cannot watch a wake-up channel: ", uv_strerror(error)));
  self_ = shared_from_this();
  mail_->SetCaller([core = weak_from_this()](std::function<void(Driver&)> work) {
    const std::shared_ptr<NodeCore> self = core.lock();
    return self != nullptr ? self->Call(std::move(work)) : absl::FailedPreconditionError("the node is stopped");
  });
  uv_timer_init(loop_, &timer_);
  uv_idle_init(loop_, &idle_);
  uv_check_init(loop_, &check_);
  async_.data = timer_.data = idle_.data = check_.data = this;
  open_parts_ = 5;  // these four and the transport
  Stir();
  if (absl::Status status = Join(config_.seeds); !status.ok()) {
    Close();
    return status;
  }
  transport_->Open(this);
  view_ = MembersView(driver_.member().Members(), driver_.member().version(), driver_.member().contact());
  delivery_->Publish(&view_, events_);
  Log(LogLevel::kInfo, config_.standalone
                           ? absl::StrCat("node ", config_.name, " stands alone: it has no socket")
                           : absl::StrCat("node ", config_.name, " at ", local_.ToString(), ", known to others as ",
                                          advertised_.ToString(), ", ", config_.seeds.size(), " seeds"));
  Rearm();
  return absl::OkStatus();
}

// ---- other threads

absl::Status NodeCore::Join(const std::vector<std::string>& seeds) {
  const std::lock_guard lock(mutex_);
  if (closed_ || close_wanted_) return absl::FailedPreconditionError("the node is stopped");
  std::set<std::string> fresh(seeds.begin(), seeds.end());
  std::erase_if(fresh, [this](const std::string& seed) { return known_seeds_.contains(seed); });
  if (known_seeds_.size() + fresh.size() > Seeds::kMax) {
    return absl::ResourceExhaustedError(absl::StrCat("more than ", Seeds::kMax, " seeds"));
  }
  new_seeds_.insert(new_seeds_.end(), fresh.begin(), fresh.end());
  known_seeds_.merge(fresh);
  uv_async_send(&async_);
  return absl::OkStatus();
}

absl::Status NodeCore::Join(const std::vector<std::string>& seeds, Duration limit, NodeJoins::Done done) {
  if (absl::Status status = Join(seeds); !status.ok()) return status;
  return Call([this, seeds, limit, done = std::move(done)](Driver& driver) {
    joins_.Begin(driver.Now().boot, seeds, limit, done, seeds_);
  });
}

absl::Status NodeCore::Leave(Duration timeout) {
  const std::lock_guard lock(mutex_);
  if (closed_ || close_wanted_) return absl::FailedPreconditionError("the node is stopped");
  if (!leave_.has_value()) leave_ = timeout;
  uv_async_send(&async_);
  return absl::OkStatus();
}

absl::Status NodeCore::Call(std::function<void(Driver&)> work, std::function<void()> told) {
  const std::lock_guard lock(mutex_);
  if (closed_ || close_wanted_) return absl::FailedPreconditionError("the node is stopped");
  if (calls_.size() >= kCallsMax)
    return absl::ResourceExhaustedError(absl::StrCat("more than ", kCallsMax, " calls wait"));
  calls_.push_back({std::move(work), std::move(told)});
  uv_async_send(&async_);
  return absl::OkStatus();
}

void NodeCore::Poke() {
  const std::lock_guard lock(mutex_);
  if (!closed_) uv_async_send(&async_);
}

void NodeCore::RequestClose() {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  close_wanted_ = true;
  uv_async_send(&async_);
}

NodeCore::Numbers NodeCore::numbers() const {
  const std::lock_guard lock(mutex_);
  return numbers_;
}

NodeCore::Numbers NodeCore::CurrentNumbers() const {
  const Member& member = driver_.member();
  Numbers numbers;
  numbers.engine = member.counters();
  numbers.stm = member.stm_counters();
  if (socket_counters_ != nullptr) numbers.transport = *socket_counters_;
  numbers.lookups = lookups_;
  numbers.lookups_failed = lookups_failed_;
  numbers.refused = driver_.refused();
  if (seal_ != nullptr) {
    numbers.seal = seal_->seal().counters();
    numbers.refused_by_seal = seal_->seal().refused();
  }
  return numbers;
}

// ---- the loop

void NodeCore::OnAsync() {
  std::vector<std::string> seeds;
  std::optional<Duration> leave;
  std::vector<CallOfLoop> calls;  // dropped outside the lock, if we close: they are the user's code
  std::vector<std::pair<StoreId, absl::Status>> stored;
  bool close = false;
  {
    const std::lock_guard lock(mutex_);
    close = close_wanted_;
    seeds.swap(new_seeds_);
    calls.swap(calls_);
    stored.swap(stored_);
    if (leave_.has_value() && !std::exchange(leave_taken_, true)) leave = leave_;
  }
  if (close) return Close();
  dirty_ = true;
  seeds_dirty_ = true;
  Stir();
  // The bound was checked when they came in.
  if (absl::Status status = seeds_.Add(seeds); !status.ok()) Log(LogLevel::kError, std::string(status.message()));
  for (const auto& [id, status] : stored) driver_.Stored(id, status);
  HearRegister();
  for (CallOfLoop& call : calls) {
    call.work(driver_);
    if (call.told) told_.push_back(std::move(call.told));
  }
  if (leave.has_value()) {
    // It fails where there is nothing to leave: displaced.
    if (absl::Status status = driver_.Order(nekton::Leave{*leave}); !status.ok()) delivery_->LeaveEnded(status);
  }
}

void NodeCore::Stir() {
  if (!closing_) uv_check_start(&check_, [](uv_check_t* h) { static_cast<NodeCore*>(h->data)->OnCheck(); });
}

void NodeCore::OnDatagram(const Address& from, std::span<const std::byte> bytes) {
  Stir();
  driver_.OnDatagram(from, bytes);
}
void NodeCore::OnRequest(const Address& from, ExchangeId id, std::span<const std::byte> bytes, bool busy) {
  Stir();
  driver_.OnRequest(from, id, bytes, busy);
}
void NodeCore::OnAnswer(ExchangeId id, const absl::Status& status, std::span<const std::byte> bytes) {
  Stir();
  driver_.OnAnswer(id, status, bytes);
}
void NodeCore::OnTrouble(const Address& about, Trouble trouble) {
  Stir();
  driver_.OnTrouble(about, trouble);
}

void NodeCore::OnTimer() {
  armed_ = kNever;
  due_ = true;
  turns_ = 0;
  drained_inputs_ = driver_.inputs();
  Stir();
  uv_idle_start(&idle_, [](uv_idle_t*) {});  // the loop does not block while it runs
}

// Whether the poll of this turn brought nothing new.
bool NodeCore::Drained() {
  const std::uint64_t before = std::exchange(drained_inputs_, driver_.inputs());
  return drained_inputs_ == before || ++turns_ >= kDrainTurns;
}

void NodeCore::OnCheck() {
  const std::shared_ptr<NodeCore> keep = shared_from_this();  // a callback may destroy the node
  if (closing_) return;
  if (due_ && Drained()) {
    due_ = false;
    uv_idle_stop(&idle_);
    driver_.Wake();
    seeds_dirty_ = true;
  }
  if (!due_) uv_check_stop(&check_);  // before what may stir it anew
  if (seeds_dirty_) TurnSeeds();
  if (dirty_ || driver_.changes() != flushed_changes_) Flush();
}

void NodeCore::TurnSeeds() {
  seeds_dirty_ = false;
  const Instant now = driver_.Now().boot;
  std::optional<std::vector<Address>> interfaces;
  Seeds::Surroundings around;
  around.alone = view_.Routable().size() <= 1;
  around.is_active = [this](const Address& address) {
    const auto alive = view_.Alive();
    return std::any_of(alive.begin(), alive.end(), [&](const MemberPtr& m) { return m->address == address; });
  };
  around.is_own = [&](const Address& address) {
    if (!interfaces.has_value()) interfaces = InterfaceAddresses();
    return IsOwn(address, *interfaces);
  };
  std::vector<Address> join;
  std::vector<Seeds::Report> reports;
  seeds_.Turn(now, around, join, reports);
  for (const Seeds::Report& report : reports) {
    ++lookups_;
    dirty_ = true;
    if (report.status.ok()) continue;
    ++lookups_failed_;
    if (report.news) Log(LogLevel::kWarning, std::string(report.status.message()));
    Event event;
    event.kind = EventKind::kJoinResult;
    event.at = now;
    event.status = report.status;
    events_.push_back(std::move(event));
  }
  if (!join.empty()) {
    // After a leave there is nothing to join any more.
    if (const absl::Status status = driver_.Order(nekton::Join{std::move(join)}); !status.ok()) {
      Log(LogLevel::kInfo, absl::StrCat("not joining: ", status.message()));
    }
  }
  joins_.Turn(now, seeds_, around.is_own, [this](const nekton::Join& order) { return driver_.Order(order); });
}

// Callers are told after what led to it was published.
void NodeCore::EndJoins() {
  for (const auto& [done, report] : joins_.TakeFinished(driver_.Now().boot)) done(report);
}

bool NodeCore::IsOwn(const Address& address, const std::vector<Address>& interfaces) const {
  if (address == advertised_ || address == local_) return true;
  if (!local_.is_unspecified() || address.port != local_.port) return false;
  return IsLoopback(address) ||
         std::find(interfaces.begin(), interfaces.end(), WithoutPort(address)) != interfaces.end();
}

void NodeCore::Flush() {
  dirty_ = false;
  do {  // what is refused at once is an order of ours
    flushed_changes_ = driver_.changes();
    Publish();
    WriteViews();
    AskRegister();
    driver_.TakeMail(incoming_);
    if (!incoming_.empty()) mail_->Hand(incoming_, driver_);
  } while (driver_.changes() != flushed_changes_);
  Rearm();
  if (dispatch_) delivery_->Dispatch();
}

void NodeCore::Publish() {
  driver_.TakeEvents(events_);
  std::optional<absl::Status> left;
  for (const Event& event : events_) {
    Notice(event);
    if (event.kind == EventKind::kLeaveDone) left = event.status;
    if (event.kind == EventKind::kJoinDone) joins_.Ended(event);
  }
  // Of the engine's calls, of which one of the user's may have made several; he is told of his own.
  std::erase_if(events_, [](const Event& event) { return event.kind == EventKind::kJoinDone; });
  const Member& member = driver_.member();
  const bool changed = member.version() != view_.version() || member.contact() != view_.contact();
  if (changed) view_ = MembersView(member.Members(), member.version(), member.contact());
  delivery_->Publish(changed ? &view_ : nullptr, events_);
  ClearLarge(events_);
  if (driver_.leases() != nullptr) PublishLeases();
  if (left.has_value()) delivery_->LeaveEnded(*left);
  EndJoins();
  {
    const std::lock_guard lock(mutex_);
    numbers_ = CurrentNumbers();
  }
  for (const std::function<void()>& told : std::exchange(told_, {})) told();
}

void NodeCore::Rearm() {
  if (due_) return;  // it is set anew after the wake
  const Instant next = std::min({driver_.NextWake(), seeds_.NextTurn(), joins_.next()});
  if (next == armed_) return;
  armed_ = next;
  if (next == kNever) {
    uv_timer_stop(&timer_);
    return;
  }
  const Instant now = driver_.Now().boot;
  StartTimerAt(&timer_, HrtimeIn(next > now ? next - now : Duration::zero()),
               [](uv_timer_t* h) { static_cast<NodeCore*>(h->data)->OnTimer(); });
}

// ---- the log

void NodeCore::Log(LogLevel level, std::string line) {
  delivery_->Log(level, std::move(line));
  dirty_ = true;
  Stir();
}

void NodeCore::Notice(const Event& event) {
  switch (event.kind) {
    case EventKind::kDisplaced:
    case EventKind::kExpelled:
    case EventKind::kNameConflict:
      return Log(LogLevel::kError, Describe(event));
    case EventKind::kPaused:
    case EventKind::kStreamOnly:
    case EventKind::kAccused:
    case EventKind::kForeign:
    case EventKind::kIsolated:
      return Log(LogLevel::kWarning, Describe(event));
    case EventKind::kRejoined:
    case EventKind::kMaintenance:
      return Log(LogLevel::kInfo, Describe(event));
    case EventKind::kSuspected:
    case EventKind::kFailed:
    case EventKind::kLeft:
      if (on_doubt_ && event.member != nullptr) on_doubt_(event.member->name);
      return;
    case EventKind::kJoinResult: {
      if (event.address.port == 0) return;  // a name that does not resolve: said where it was found out
      if (join_codes_.size() >= kRemembered) join_codes_.clear();
      const auto [known, fresh] = join_codes_.try_emplace(event.address, event.status.code());
      if (!fresh && known->second == event.status.code()) return;  // once, not at every retry
      known->second = event.status.code();
      return Log(event.status.ok() ? LogLevel::kInfo : LogLevel::kWarning, Describe(event));
    }
    default:
      return;
  }
}

// One line a minute for each of them, however often it comes.
void NodeCore::Stranger(const Address& from, std::string_view what) {
  const Instant now = driver_.Now().boot;
  std::erase_if(strangers_, [now](const auto& s) { return now - s.second >= kStrangerQuiet; });
  if (strangers_.size() >= kRemembered) return;  // the counter goes on
  if (!strangers_.try_emplace(WithoutPort(from), now).second) return;
  Log(LogLevel::kWarning, absl::StrCat(from.ToString(), ": ", absl::string_view(what.data(), what.size())));
}

// ---- the end

void NodeCore::Close() {
  if (closing_) return;
  closing_ = true;
  std::vector<CallOfLoop> dropped;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    dropped.swap(calls_);
    numbers_ = CurrentNumbers();
  }
  const std::vector<NodeJoins::Done> dropped_joins = joins_.TakeAll();  // the user's code, too
  told_.clear();
  mail_->Close();
  register_mail_->Close();
  EndWriting();
  resolver_.reset();
  transport_->Close([this] { PartClosed(); });
  for (uv_handle_t* handle : {AsHandle(&timer_), AsHandle(&idle_), AsHandle(&check_), AsHandle(&async_)}) {
    uv_close(handle, [](uv_handle_t* h) { static_cast<NodeCore*>(h->data)->PartClosed(); });
  }
}

void NodeCore::PartClosed() {
  if (--open_parts_ == 0) self_.reset();  // the last thing that happens here
}

}  // namespace nekton
