#include "transport/lease_keeper_core.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"

namespace nekton {
namespace {

std::uint64_t RandomSeed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32U) | device();
}

}  // namespace

LeaseKeeper::Core::Core(std::shared_ptr<Register> over, LeaseKeeperOptions options)
    : register_(std::move(over)), options_(std::move(options)) {}

// Each thread keeps the core, for it may be ended by a callback.
void LeaseKeeper::Core::Begin() {
  driver_ = std::thread([core = shared_from_this()] { core->Drive(); });
  teller_ = std::thread([core = shared_from_this()] { core->CallBack(); });
  const std::lock_guard lock(mutex_);
  teller_id_ = teller_.get_id();
}

void LeaseKeeper::Core::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  work_.notify_all();
  events_.notify_all();
  changed_.notify_all();
  {
    const std::lock_guard lock(driver_mutex_);
    if (driver_.joinable()) driver_.join();
    // Here, and not with the core: a callback of the register's may be the last to let go of that, and on the register's own
    // thread it must not end.
    register_.reset();
  }
  if (OnCallbackThread()) return;
  const std::lock_guard lock(teller_mutex_);
  if (teller_.joinable()) teller_.join();
}

// Inside a callback: the thread owns what it still touches.
void LeaseKeeper::Core::LetGo() {
  if (teller_.joinable()) teller_.detach();
}

bool LeaseKeeper::Core::stopped() {
  const std::lock_guard lock(mutex_);
  return stopped_;
}

// ---- Calls of users ----

absl::StatusOr<std::shared_ptr<LeaseHandle::Client>> LeaseKeeper::Core::Acquire(const std::string& name,
                                                                                const LeaseOptions& options,
                                                                                LeaseCallbacks callbacks) {
  NamedLeaseOptions named;
  named.name = name;
  named.holder = options_.holder;
  named.generation = options_.generation;
  named.drift_ppm = options_.drift_ppm;
  named.duration = options.duration;
  named.handover_delay = options.handover_delay;
  named.notice = options.notice;
  named.spread = options.spread;
  named.release_spread = options.release_spread;
  named.patience = options.patience;
  const std::vector<std::string> problems = ProblemsOf(named);
  if (!problems.empty()) return absl::InvalidArgumentError(absl::StrCat("lease \"", name, "\": ", problems.front()));
  auto client = std::make_shared<Client>();
  client->callbacks = std::move(callbacks);
  client->name = name;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return absl::FailedPreconditionError("the keeper has ended");
    const auto found = names_.find(name);
    if (found != names_.end() && found->second.taken) {
      return absl::AlreadyExistsError(absl::StrCat("lease \"", name, "\": another handle contends for it"));
    }
    if (found != names_.end() && found->second.options.duration != options.duration) {
      return absl::FailedPreconditionError(
          absl::StrCat("lease \"", name, "\": it is still being released, under another duration"));
    }
    if (names_.size() >= options_.leases_max || commands_.size() >= kCommandsMax) {
      return absl::ResourceExhaustedError("leases_max: too many leases, or too many calls wait");
    }
    if (found != names_.end()) {
      found->second.taken = true;
      client->lease = found->second.lease;
      client->hold = found->second.hold;
      commands_.emplace_back(Again{client->lease, client});
    } else {
      client->lease = next_lease_++;
      client->hold = std::make_shared<LeaseHold>();
      names_[name] = {.lease = client->lease, .taken = true, .hold = client->hold, .options = options};
      commands_.emplace_back(Start{client->lease, name, std::move(named), client});
    }
  }
  work_.notify_one();
  return client;
}

bool LeaseKeeper::Core::Put(Command command) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_ || commands_.size() >= kCommandsMax) return false;
    commands_.push_back(std::move(command));
  }
  work_.notify_one();
  return true;
}

void LeaseKeeper::Core::HolderInactive(const std::string& holder) { Put(Inactive{holder}); }
void LeaseKeeper::Core::RaiseAbove(const Client& client, FencingToken token) { Put(Raise{client.lease, token}); }

void LeaseKeeper::Core::Release(Client& client) {
  if (client.over.exchange(true, std::memory_order_acq_rel)) return;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    // One for each Acquire, so this needs no bound of its own.
    commands_.emplace_back(Released{client.lease});
    const auto name = names_.find(client.name);
    if (name != names_.end() && name->second.lease == client.lease) name->second.taken = false;
  }
  work_.notify_one();
}

void LeaseKeeper::Core::Forget(Client& client) {
  Lock lock(mutex_);
  client.gone = true;
  client.events.clear();
  if (!OnCallbackThread()) changed_.wait(lock, [&] { return telling_ != &client; });
}

bool LeaseKeeper::Core::WaitHeld(const Client& client, Duration timeout) {
  Lock lock(mutex_);
  const auto held = [&] { return client.token.load() != 0; };
  changed_.wait_for(lock, timeout, [&] { return stopped_ || held(); });
  return held();
}

std::optional<LossReason> LeaseKeeper::Core::WaitReleased(const Client& client, Duration timeout) {
  Lock lock(mutex_);
  changed_.wait_for(lock, timeout, [&] { return stopped_ || client.released.has_value(); });
  return stopped_ && !client.released ? LossReason::kUnsettled : client.released;
}

// ---- The driver ----

void LeaseKeeper::Core::Drive() {
  std::deque<Command> commands;
  std::map<std::uint64_t, RegisterAnswer> news;
  for (;;) {
    {
      Lock lock(mutex_);
      const auto awake = [this] { return stopped_ || !commands_.empty() || !news_.empty(); };
      if (due_.empty()) {
        work_.wait(lock, awake);
      } else {
        const Duration in = due_.begin()->first - ReadLeaseClocks().boot;
        if (in > Duration::zero()) work_.wait_for(lock, in, awake);
      }
      commands.swap(commands_);
      news.swap(news_);
      if (stopped_) break;
    }
    TakeTurn(commands, news);
    commands.clear();
    news.clear();
  }
  for (Command& command : commands) Do(command);
  for (auto& [number, entry] : entries_) {
    LeaseOutbox out;
    entry.client = nullptr;
    entry.lease->Release(ReadLeaseClocks(), out);
    // Nobody is there for the answers.
    for (RegisterRequest& request : out.requests) {
      register_->CompareAndSet(request.key, request.expected, std::move(request.value), [](const RegisterAnswer&) {});
    }
    if (entry.watch != 0) register_->Unwatch(entry.watch);
  }
  entries_.clear();
}

void LeaseKeeper::Core::TakeTurn(std::deque<Command>& commands, std::map<std::uint64_t, RegisterAnswer>& news) {
  for (Command& command : commands) Do(command);
  for (const auto& [number, there] : news) {
    const auto found = entries_.find(number);
    if (found == entries_.end()) continue;
    LeaseOutbox out;
    found->second.lease->Observe(there, ReadLeaseClocks(), out);
    Step(number, found->second, out);
  }
  const Instant now = ReadLeaseClocks().boot;
  while (!due_.empty() && due_.begin()->first <= now) {
    const std::uint64_t number = due_.begin()->second;
    due_.erase(due_.begin());
    Entry& entry = entries_.at(number);
    entry.due = kNever;
    LeaseOutbox out;
    entry.lease->Wake(ReadLeaseClocks(), out);
    Step(number, entry, out);
  }
}

void LeaseKeeper::Core::Do(Command& command) {
  LeaseOutbox out;
  if (auto* start = std::get_if<Start>(&command)) {
    Entry& entry = entries_[start->lease];
    entry.name = start->name;
    entry.client = start->client;
    const std::weak_ptr<Core> weak = weak_from_this();
    entry.watch = register_->Watch(start->name, [weak, number = start->lease](const RegisterAnswer& there) {
      const std::shared_ptr<Core> core = weak.lock();
      if (core == nullptr) return;
      {
        const std::lock_guard lock(core->mutex_);
        if (core->stopped_) return;
        core->news_[number] = there;
      }
      core->work_.notify_one();
    });
    start->options.watched = entry.watch != 0;
    entry.lease = std::make_unique<NamedLease>(std::move(start->options), RandomSeed(), start->client->hold);
    entry.lease->Acquire(ReadLeaseClocks(), out);
    Step(start->lease, entry, out);
    return;
  }
  if (const auto* inactive = std::get_if<Inactive>(&command)) {
    std::vector<std::uint64_t> waiting;  // a step may end an entry
    for (const auto& [number, entry] : entries_) {
      const std::optional<LeaseRecord>& record = entry.lease->record();
      if (record && record->holder == inactive->holder) waiting.push_back(number);
    }
    for (const std::uint64_t number : waiting) {
      Entry& entry = entries_.at(number);
      entry.lease->Hint(ReadLeaseClocks(), out);
      Step(number, entry, out);
      out = {};
    }
    return;
  }
  const std::uint64_t number = std::visit(
      [](const auto& c) {
        if constexpr (requires { c.lease; }) return std::uint64_t{c.lease};
        return std::uint64_t{0};
      },
      command);
  const auto found = entries_.find(number);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  const Tick now = ReadLeaseClocks();
  if (auto* again = std::get_if<Again>(&command)) {
    entry.client = again->client;
    entry.lease->Acquire(now, out);
  } else if (auto* answered = std::get_if<Answered>(&command)) {
    entry.lease->Answer(answered->id, answered->answer, now, out);
  } else if (const auto* raise = std::get_if<Raise>(&command)) {
    entry.lease->RaiseAbove(raise->token, now, out);
  } else {
    ReleaseEntry(entry, out);
  }
  Step(number, entry, out);
}

void LeaseKeeper::Core::ReleaseEntry(Entry& entry, LeaseOutbox& out) {
  std::shared_ptr<Client> client = std::exchange(entry.client, nullptr);
  if (client == nullptr) return;
  // An earlier one is done with: what comes of its lease now is this one's.
  if (entry.releasing != nullptr) {
    Queue(std::exchange(entry.releasing, nullptr),
          {.kind = LeaseEventKind::kReleased, .token = {}, .reason = LossReason::kUnsettled, .by = {}});
  }
  if (entry.lease->Release(ReadLeaseClocks(), out)) {
    entry.releasing = std::move(client);
  } else {
    // There was nothing to give back, or it was lost on the way.
    Queue(client, {.kind = LeaseEventKind::kReleased, .token = {}, .reason = LossReason::kNone, .by = {}});
  }
}

void LeaseKeeper::Core::Step(std::uint64_t number, Entry& entry, LeaseOutbox& out) {
  for (RegisterRequest& request : out.requests) Send(number, entry, std::move(request));
  for (LeaseEvent& event : out.events) Tell(entry, std::move(event));
  due_.erase({entry.due, number});
  if (entry.client == nullptr && entry.releasing == nullptr && entry.lease->idle()) {
    {
      const std::lock_guard lock(mutex_);
      const auto name = names_.find(entry.name);
      // Taken again meanwhile: that command is on its way.
      if (name == names_.end() || name->second.lease != number || name->second.taken) {
        entry.due = kNever;
        return;
      }
      names_.erase(name);
    }
    if (entry.watch != 0) register_->Unwatch(entry.watch);
    entries_.erase(number);
    return;
  }
  entry.due = entry.lease->NextWake();
  if (entry.due != kNever) due_.insert({entry.due, number});
}

void LeaseKeeper::Core::Send(std::uint64_t number, Entry& entry, RegisterRequest request) {
  Register::Done done = [weak = weak_from_this(), number, id = request.id](RegisterAnswer answer) {
    const std::shared_ptr<Core> core = weak.lock();
    if (core != nullptr) core->Put(Answered{number, id, std::move(answer)});
  };
  if (request.write) {
    register_->CompareAndSet(entry.name, request.expected, std::move(request.value), std::move(done));
  } else {
    register_->Read(entry.name, std::move(done));
  }
}

void LeaseKeeper::Core::Tell(Entry& entry, LeaseEvent event) {
  if (event.kind == LeaseEventKind::kReleased) {
    if (entry.releasing != nullptr) Queue(std::exchange(entry.releasing, nullptr), std::move(event));
    return;
  }
  // Who has called Release hears of nothing but its end.
  if (entry.client == nullptr || entry.client->over.load(std::memory_order_acquire)) return;
  if (event.kind == LeaseEventKind::kAcquired) {
    const std::lock_guard lock(mutex_);
    entry.client->token.store(event.token.value, std::memory_order_release);
    changed_.notify_all();
  }
  Queue(entry.client, std::move(event));
}

void LeaseKeeper::Core::Queue(const std::shared_ptr<Client>& client, LeaseEvent event) {
  {
    const std::lock_guard lock(mutex_);
    if (event.kind == LeaseEventKind::kReleased) {
      client->released = event.reason;
      changed_.notify_all();
    }
    if (client->gone) return;
    std::deque<LeaseEvent>& events = client->events;
    // Of an acquisition that is over before it was told of, nothing is.
    if (event.kind == LeaseEventKind::kLost || event.kind == LeaseEventKind::kReleased) {
      const auto untold = std::find_if(events.begin(), events.end(),
                                       [](const LeaseEvent& e) { return e.kind == LeaseEventKind::kAcquired; });
      const bool all = untold != events.end();
      events.erase(untold, events.end());
      if (all && event.kind == LeaseEventKind::kLost) return;
    }
    if (events.empty()) to_tell_.push_back(client);
    events.push_back(std::move(event));
  }
  events_.notify_one();
}

// ---- The one that calls back ----

void LeaseKeeper::Core::CallBack() {
  Lock lock(mutex_);
  for (;;) {
    events_.wait(lock, [this] { return stopped_ || !to_tell_.empty(); });
    if (stopped_) return;
    const std::shared_ptr<Client> client = to_tell_.front();
    to_tell_.pop_front();
    if (client->events.empty()) continue;
    const LeaseEvent event = std::move(client->events.front());
    client->events.pop_front();
    if (!client->events.empty()) to_tell_.push_back(client);
    Call(lock, client, event);
  }
}

void LeaseKeeper::Core::Call(Lock& lock, const std::shared_ptr<Client>& client, const LeaseEvent& event) {
  telling_ = client.get();
  lock.unlock();
  const LeaseCallbacks& to = client->callbacks;
  switch (event.kind) {
    case LeaseEventKind::kAcquired:
      if (to.acquired) to.acquired(event.token);
      break;
    case LeaseEventKind::kAboutToLose:
      if (to.about_to_lose) to.about_to_lose(event.token);
      break;
    case LeaseEventKind::kLost:
      if (to.lost) to.lost(event.token, event.reason, event.by);
      break;
    case LeaseEventKind::kReleased:
      if (to.released) to.released(event.reason);
      break;
  }
  lock.lock();
  telling_ = nullptr;
  changed_.notify_all();
}

}  // namespace nekton
