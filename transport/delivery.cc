#include "transport/delivery.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace nekton {
namespace {

// Longer waits would overflow the clock.
constexpr Duration kWaitMax = std::chrono::hours(24 * 365);

}  // namespace

std::string_view Name(LogLevel level) {
  switch (level) {
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "unknown";
}

Subscription::Subscription(Subscription&& other) noexcept
    : delivery_(std::move(other.delivery_)), id_(std::exchange(other.id_, 0)) {}

Subscription& Subscription::operator=(Subscription&& other) noexcept {
  if (this != &other) {
    Cancel();
    delivery_ = std::move(other.delivery_);
    id_ = std::exchange(other.id_, 0);
  }
  return *this;
}

Subscription::~Subscription() { Cancel(); }

void Subscription::Cancel() {
  const std::shared_ptr<Delivery> delivery = std::move(delivery_);
  if (delivery != nullptr) delivery->Cancel(std::exchange(id_, 0));
}

Delivery::Delivery(Options options) : options_(std::move(options)) {}

// ---- what the driving thread says

void Delivery::Publish(const MembersView* view, std::vector<Event>& events) {
  MembersView old;  // freed outside the lock: it may be the last holder of ten thousand members
  {
    const Lock lock(mutex_);
    if (stopped_) return events.clear();
    if (view != nullptr) old = std::exchange(view_, *view);
    for (const Event& event : events) Remember(event);
    Queue(events);
  }
  changed_.notify_all();
  work_.notify_one();
}

void Delivery::Queue(std::vector<Event>& events) {
  last_event_ += events.size();
  if (subscribers_.empty()) {
    events_.clear();
    return events.clear();
  }
  if (options_.bound != 0 && events_.size() + events.size() > options_.bound) {
    // All of it goes: the snapshot that was published with these events tells more than any part of them.
    losses_.events += events_.size() + events.size();
    ++losses_.resyncs;
    if (!events_.empty() && events_.front().kind == EventKind::kResync) --losses_.events;
    Event resync;
    resync.kind = EventKind::kResync;
    resync.at = events.empty() ? Instant{} : events.back().at;
    events_.clear();
    events_.push_back(std::move(resync));
  } else {
    std::move(events.begin(), events.end(), std::back_inserter(events_));
  }
  events.clear();
}

void Delivery::Remember(const Event& event) {
  if (event.kind != EventKind::kJoinResult) return;
  const std::string_view message(event.status.message().data(), event.status.message().size());
  std::string what = event.status.ok() ? "joined" : std::string(message);
  std::string key = event.address.port != 0 ? event.address.ToString() : what;
  std::erase_if(join_results_, [&](const auto& result) { return result.first == key; });
  if (join_results_.size() >= kJoinResultsMax) join_results_.erase(join_results_.begin());
  join_results_.emplace_back(std::move(key), std::move(what));
}

void Delivery::Log(LogLevel level, std::string line) {
  if (!options_.log) return;
  {
    const Lock lock(mutex_);
    if (stopped_) return;
    if (lines_.size() >= kLinesMax) {
      ++losses_.lines;
      return;
    }
    lines_.push_back({level, std::move(line)});
  }
  work_.notify_one();
}

void Delivery::LeaveEnded(const absl::Status& status) {
  {
    const Lock lock(mutex_);
    if (stopped_ || left_.has_value()) return;
    left_ = status;
    for (Completion& done : on_left_) ready_.push_back(Leaver(std::move(done)));
    on_left_.clear();
  }
  changed_.notify_all();
  work_.notify_one();
}

void Delivery::Post(std::function<void()> completion) {
  {
    const Lock lock(mutex_);
    if (stopped_) return;
    ready_.push_back(std::move(completion));
  }
  work_.notify_one();
}

// ---- the dispatcher

bool Delivery::Pending() const {
  return !lines_.empty() || !events_.empty() || !ready_.empty() ||
         std::any_of(subscribers_.begin(), subscribers_.end(), [](const auto& s) { return s->snapshot.has_value(); });
}

void Delivery::Run() {
  Lock lock(mutex_);
  dispatcher_ = std::this_thread::get_id();
  for (;;) {
    work_.wait(lock, [this] { return stopped_ || Pending(); });
    if (!Next(lock)) break;
  }
  dispatcher_ = std::thread::id();  // the number may be another thread's soon
}

void Delivery::Dispatch() {
  const std::shared_ptr<Delivery> self = shared_from_this();  // a callback may destroy the node
  Lock lock(mutex_);
  dispatcher_ = std::this_thread::get_id();
  if (running_on_ != std::thread::id()) return;  // a callback runs the loop: one at a time
  while (Pending() && Next(lock)) {
  }
}

void Delivery::DispatchHere() {
  const Lock lock(mutex_);
  dispatcher_ = std::this_thread::get_id();
}

// Makes one step; false once stopped.
bool Delivery::Next(Lock& lock) {
  if (stopped_) return false;
  const auto waits =
      std::find_if(subscribers_.begin(), subscribers_.end(), [](const auto& s) { return s->snapshot.has_value(); });
  if (!lines_.empty()) {
    const Line line = std::move(lines_.front());
    lines_.pop_front();
    Outside(lock, 0, [&] { options_.log(line.level, line.text); });
  } else if (waits != subscribers_.end()) {
    TellSnapshot(lock, *waits);
  } else if (!events_.empty()) {
    TellEvent(lock);
  } else if (!ready_.empty()) {
    // After the events that led to it.
    std::function<void()> done = std::move(ready_.front());
    ready_.pop_front();
    Outside(lock, 0, [&] {
      done();
      done = nullptr;  // what it holds dies outside the lock
    });
  }
  return !stopped_;
}

template <typename Call>
void Delivery::Outside(Lock& lock, std::uint64_t subscriber, Call call) {
  running_on_ = std::this_thread::get_id();
  running_for_ = subscriber;
  lock.unlock();
  call();
  lock.lock();
  running_on_ = std::thread::id();
  running_for_ = 0;
  idle_.notify_all();
}

// Lets go of what belongs to users: its destructors are their code and may call us.
template <typename Users>
void Delivery::Free(Lock& lock, Users& users) {
  lock.unlock();
  users = Users();
  lock.lock();
}

void Delivery::Tell(Lock& lock, const std::shared_ptr<Subscriber>& subscriber, const Event& event) {
  if (stopped_ || subscriber->cancelled) return;
  Outside(lock, subscriber->id, [&] { subscriber->handler(event); });
}

void Delivery::TellSnapshot(Lock& lock, const std::shared_ptr<Subscriber>& subscriber) {
  std::shared_ptr<Subscriber> keep = subscriber;  // the table may change meanwhile
  const MembersView view = *std::exchange(keep->snapshot, std::nullopt);
  for (const MemberPtr& member : view.Routable()) {
    if (member->self) continue;
    Event event;
    event.kind = EventKind::kJoined;
    event.member = member;
    event.before = member->status;
    event.address = member->address;
    Tell(lock, keep, event);
  }
  Free(lock, keep);
}

void Delivery::TellEvent(Lock& lock) {
  const std::uint64_t number = last_event_ - events_.size() + 1;
  const Event event = std::move(events_.front());
  events_.pop_front();
  std::vector<std::shared_ptr<Subscriber>> all = subscribers_;
  for (const auto& subscriber : all) {
    if (number > subscriber->after) Tell(lock, subscriber, event);
  }
  Free(lock, all);
}

bool Delivery::OnDispatcher() const {
  const Lock lock(mutex_);
  return dispatcher_ == std::this_thread::get_id();
}

// ---- the users

void Delivery::Stop() {
  std::vector<Completion> dropped;  // die outside the lock: they are the user's code
  std::deque<std::function<void()>> ready;
  Lock lock(mutex_);
  stopped_ = true;
  dropped.swap(on_left_);
  ready.swap(ready_);
  events_.clear();
  lines_.clear();
  work_.notify_all();
  changed_.notify_all();
  if (running_on_ != std::this_thread::get_id()) {
    idle_.wait(lock, [this] { return running_on_ == std::thread::id(); });
  }
  lock.unlock();
}

bool Delivery::stopped() const {
  const Lock lock(mutex_);
  return stopped_;
}

MembersView Delivery::view() const {
  const Lock lock(mutex_);
  return view_;
}

Delivery::Losses Delivery::losses() const {
  const Lock lock(mutex_);
  return losses_;
}

absl::StatusOr<Delivery::Place> Delivery::TakePlace() {
  if (places_->fetch_add(1) >= options_.completions) {
    places_->fetch_sub(1);
    return absl::ResourceExhaustedError(absl::StrCat("overloaded: ", options_.completions,
                                                     " calls wait for their callbacks (NodeOptions::callback_queue)"));
  }
  return Place(places_.get(), [places = places_](void*) { places->fetch_sub(1); });
}

Subscription Delivery::Subscribe(EventHandler handler, SubscribeFrom from) {
  if (!handler) return {};
  auto subscriber = std::make_shared<Subscriber>();
  subscriber->handler = std::move(handler);
  {
    const Lock lock(mutex_);
    if (stopped_) return {};
    subscriber->id = next_subscriber_++;
    subscriber->after = last_event_;
    if (from == SubscribeFrom::kSnapshot) subscriber->snapshot = view_;
    subscribers_.push_back(subscriber);
  }
  work_.notify_one();
  return Subscription(shared_from_this(), subscriber->id);
}

void Delivery::Cancel(std::uint64_t id) {
  std::shared_ptr<Subscriber> dying;  // its handler is freed outside the lock
  Lock lock(mutex_);
  const auto found =
      std::find_if(subscribers_.begin(), subscribers_.end(), [id](const auto& s) { return s->id == id; });
  if (found == subscribers_.end()) return;
  dying = std::move(*found);
  subscribers_.erase(found);
  dying->cancelled = true;
  if (running_on_ != std::this_thread::get_id()) idle_.wait(lock, [&] { return running_for_ != id; });
  lock.unlock();
}

// Tells one of those who wait how the leave ended.
std::function<void()> Delivery::Leaver(Completion done) {
  return [this, done = std::move(done), status = *left_] {
    {
      const Lock lock(mutex_);
      --leavers_;
    }
    if (done) done(status);
  };
}

absl::Status Delivery::OnLeft(Completion done) {
  {
    const Lock lock(mutex_);
    if (stopped_) return absl::FailedPreconditionError("the node is stopped");
    if (leavers_ >= kCompletionsMax) {
      return absl::ResourceExhaustedError(absl::StrCat("more than ", kCompletionsMax, " callers wait for the leave"));
    }
    ++leavers_;
    if (!left_.has_value()) {
      on_left_.push_back(std::move(done));
      return absl::OkStatus();
    }
    ready_.push_back(Leaver(std::move(done)));
  }
  work_.notify_one();
  return absl::OkStatus();
}

absl::Status Delivery::WaitLeft(Duration timeout) {
  Lock lock(mutex_);
  changed_.wait_for(lock, std::min(timeout, kWaitMax), [this] { return stopped_ || left_.has_value(); });
  if (left_.has_value()) return *left_;
  if (stopped_) return absl::CancelledError("the node was stopped");
  return absl::DeadlineExceededError("the loop did not run in time to say goodbye");
}

absl::Status Delivery::WaitJoined(Duration timeout) {
  Lock lock(mutex_);
  changed_.wait_for(lock, std::min(timeout, kWaitMax), [this] { return stopped_ || Joined(); });
  if (Joined()) return absl::OkStatus();
  if (stopped_) return absl::CancelledError("the node was stopped");
  return absl::DeadlineExceededError(JoinFailure(timeout));
}

bool Delivery::Joined() const {
  if (options_.expect != 0) return view_.Alive().size() >= options_.expect;
  const MembersView::List routable = view_.Routable();
  return std::any_of(routable.begin(), routable.end(), [](const MemberPtr& m) { return !m->self; });
}

std::string Delivery::JoinFailure(Duration timeout) const {
  const double seconds = std::chrono::duration<double>(timeout).count();
  std::string text = options_.expect == 0 ? absl::StrCat("no other member was found within ", seconds, " s")
                                          : absl::StrCat("only ", view_.Alive().size(), " of ", options_.expect,
                                                         " members are there after ", seconds, " s");
  if (join_results_.empty()) return absl::StrCat(text, "; no seed has answered or failed yet");
  for (const auto& [key, what] : join_results_) {
    absl::StrAppend(&text, "; ", key == what ? what : absl::StrCat(key, ": ", what));
  }
  return text;
}

}  // namespace nekton
