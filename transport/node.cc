#include "transport/node.h"

#include <pthread.h>
#include <signal.h>
#include <uv.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "swim/quoted.h"
#include "transport/delivery.h"
#include "transport/node_core.h"
#include "transport/node_mail.h"
#include "transport/node_setup.h"
#include "transport/uv_clock.h"

namespace nekton {
namespace {

constexpr Duration kWaitMax = std::chrono::hours(24 * 365);  // longer ones would overflow the clock
constexpr Duration kLoopGrace = std::chrono::seconds(1);     // for a loop that is late

absl::Status WouldBlock(std::string_view what) {
  return absl::FailedPreconditionError(
      absl::StrCat(absl::string_view(what.data(), what.size()), " would wait for the very thread it is called on"));
}

absl::Status CheckTimeout(Duration timeout) {
  if (timeout >= Duration::zero()) return absl::OkStatus();
  return absl::InvalidArgumentError("timeout: must not be negative");
}

// How many members WaitJoined waits for. Who is alone for good waits for nobody.
std::uint32_t Expected(const Config& config) { return config.standalone ? 1 : config.bootstrap_expect; }

// Our threads leave all signals to the threads of the host program.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

// A loop on the heap that is closed when it goes. What is left in it (nothing, unless libuv failed) is left alone.
struct LoopDeleter {
  void operator()(uv_loop_t* loop) const {
    uv_run(loop, UV_RUN_DEFAULT);
    if (uv_loop_close(loop) == 0) delete loop;
  }
};
using OwnLoop = std::unique_ptr<uv_loop_t, LoopDeleter>;

absl::StatusOr<OwnLoop> MakeLoop() {
  auto loop = std::make_unique<uv_loop_t>();
  if (const int error = uv_loop_init(loop.get()); error != 0) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot make an event loop: ", uv_strerror(error)));
  }
  return OwnLoop(loop.release());
}

absl::Status CheckJoin(const std::vector<std::string>& addresses, Duration timeout) {
  if (timeout <= Duration::zero()) return absl::InvalidArgumentError("timeout: must be above 0");
  if (addresses.empty()) return absl::InvalidArgumentError("addresses: none, and so nothing to wait for");
  return absl::OkStatus();
}

// Somebody who waits for the loop's thread.
class Waiter {
 public:
  // What is waited for has been done; false: it never will be. The first call counts.
  void End(bool made) {
    {
      const std::lock_guard lock(mutex_);
      if (!ended_.has_value()) ended_ = made;
    }
    changed_.notify_all();
  }
  absl::Status Wait(Duration timeout) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::min(timeout, kWaitMax), [this] { return ended_.has_value(); });
    if (!ended_.has_value()) return absl::DeadlineExceededError("the loop did not run in time");
    return *ended_ ? absl::OkStatus() : absl::CancelledError("the node was stopped");
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<bool> ended_;  // true: made
};

// One call that the loop's thread makes for another, which waits for it.
class Call : public Waiter {
 public:
  explicit Call(std::function<void(Driver&)> work) : work_(std::move(work)) {}

  void Make(Driver& driver) {
    work_(driver);
    End(true);
  }

 private:
  const std::function<void(Driver&)> work_;
};

// An answer that a thread waits for.
class Awaited {
 public:
  using Answer = absl::StatusOr<std::vector<std::byte>>;

  void End(const Answer& answer) {
    {
      const std::lock_guard lock(mutex_);
      if (!answer_.has_value()) answer_ = answer;
    }
    changed_.notify_all();
  }
  std::optional<Answer> Wait(Duration timeout) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, timeout, [this] { return answer_.has_value(); });
    return std::move(answer_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Answer> answer_;
};

}  // namespace

class Node::Impl {
 public:
  Impl(std::shared_ptr<Delivery> d, std::shared_ptr<NodeCore> c) : delivery(std::move(d)), core(std::move(c)) {}
  ~Impl();

  absl::Status StartThreads(OwnLoop loop);
  void Stop();
  // Has the loop's thread do it, and waits for that. What `work` writes to is read only if this is OK.
  absl::Status Ask(std::string_view what, Duration timeout, std::function<void(Driver&)> work);
  // The same for an order; its status, too.
  absl::Status Order(std::string_view what, Duration timeout, Command order);
  absl::Status OrderAsync(Command order, std::function<void(const absl::Status&)> done);
  // The time of its budget begins now.
  static absl::StatusOr<NodeMail::Errand> Plan(std::string member, std::vector<std::byte> body,
                                               const RequestOptions& options, bool reliable);
  absl::StatusOr<std::vector<std::byte>> Wait(std::string_view what, absl::StatusOr<NodeMail::Errand> errand);

  const std::shared_ptr<Delivery> delivery;
  const std::shared_ptr<NodeCore> core;

 private:
  // The loop's thread waits for nobody, so anybody may wait for it. The delivery thread may itself be in Stop().
  std::mutex loop_mutex_;
  std::thread loop_thread_;
  std::mutex delivery_mutex_;
  std::thread delivery_thread_;
};

absl::Status Node::Impl::StartThreads(OwnLoop loop) {
  const SignalsBlocked blocked;
  try {
    delivery_thread_ = std::thread([d = delivery] { d->Run(); });
    pthread_setname_np(delivery_thread_.native_handle(), "nekton-events");
    loop_thread_ = std::thread([raw = loop.get()] { const OwnLoop own(raw); });  // runs it to its end
    loop.release();
    pthread_setname_np(loop_thread_.native_handle(), "nekton-loop");
  } catch (const std::system_error& error) {
    core->RequestClose();  // the loop, which is ours still, runs until that is done
    return absl::ResourceExhaustedError(absl::StrCat("cannot start a thread: ", error.what()));
  }
  return absl::OkStatus();
}

void Node::Impl::Stop() {
  core->mail().Close();  // first: it is what a callback may wait for on another thread
  delivery->Stop();
  core->RequestClose();
  {
    const std::lock_guard lock(loop_mutex_);
    if (loop_thread_.joinable()) loop_thread_.join();
  }
  if (delivery->OnDispatcher()) return;  // a callback of ours: its thread ends when it returns
  const std::lock_guard lock(delivery_mutex_);
  if (delivery_thread_.joinable()) delivery_thread_.join();
}

Node::Impl::~Impl() {
  Stop();
  // Destroyed in a callback: the thread owns what it still touches.
  if (delivery_thread_.joinable()) delivery_thread_.detach();
}

absl::Status Node::Impl::Ask(std::string_view what, Duration timeout, std::function<void(Driver&)> work) {
  if (absl::Status status = CheckTimeout(timeout); !status.ok()) return status;
  if (delivery->OnDispatcher()) return WouldBlock(what);
  const auto call = std::make_shared<Call>(std::move(work));
  // Whoever drops the call unmade ends it, too.
  std::shared_ptr<Call> ends(call.get(), [call](Call* c) { c->End(false); });
  const absl::Status taken = core->Call([ends](Driver& driver) { ends->Make(driver); });
  ends.reset();
  return taken.ok() ? call->Wait(timeout) : taken;
}

absl::Status Node::Impl::Order(std::string_view what, Duration timeout, Command order) {
  const auto result = std::make_shared<absl::Status>();
  const absl::Status asked =
      Ask(what, timeout, [result, order = std::move(order)](Driver& driver) { *result = driver.Order(order); });
  return asked.ok() ? *result : asked;
}

absl::Status Node::Impl::OrderAsync(Command order, std::function<void(const absl::Status&)> done) {
  return core->Call([to = delivery, order = std::move(order), done = std::move(done)](Driver& driver) {
    const absl::Status status = driver.Order(order);
    if (done) to->Post([done, status] { done(status); });
  });
}

absl::StatusOr<NodeMail::Errand> Node::Impl::Plan(std::string member, std::vector<std::byte> body,
                                                  const RequestOptions& options, bool reliable) {
  if (absl::Status status = CheckMail(body.size(), options.budget); !status.ok()) return status;
  NodeMail::Errand errand;
  errand.member = std::move(member);
  errand.body = std::move(body);
  errand.deadline = ReadClocks().boot + options.budget;
  errand.idempotent = options.idempotent;
  errand.reliable = reliable;
  if (options.deadline_of != nullptr) NodeMail::OnBehalfOf(*options.deadline_of, errand);
  return errand;
}

absl::StatusOr<std::vector<std::byte>> Node::Impl::Wait(std::string_view what,
                                                        absl::StatusOr<NodeMail::Errand> errand) {
  if (!errand.ok()) return errand.status();
  if (delivery->OnDispatcher()) return WouldBlock(what);
  const Instant deadline = errand->deadline;
  errand->direct = true;
  const auto awaited = std::make_shared<Awaited>();
  // Whoever drops it unanswered ends it, too.
  std::shared_ptr<Awaited> ends(awaited.get(),
                                [awaited](Awaited* a) { a->End(absl::CancelledError("the node was stopped")); });
  const absl::StatusOr<std::uint64_t> id =
      core->mail().Begin(*std::move(errand), [ends](const Awaited::Answer& answer) { ends->End(answer); });
  ends.reset();
  if (!id.ok()) return id.status();
  std::optional<Awaited::Answer> answer = awaited->Wait(deadline - ReadClocks().boot + kLeaveGrace);
  if (answer.has_value()) return *std::move(answer);
  core->mail().Cancel(*id).IgnoreError();
  return absl::DeadlineExceededError("the loop did not run in time");
}

Node::Node(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Node::~Node() = default;

absl::StatusOr<std::unique_ptr<Node>> Node::Start(Config config, NodeOptions options) {
  absl::StatusOr<NodePlan> plan = PlanNode(std::move(config));
  if (!plan.ok()) return plan.status();
  if (options.event_queue == 0) return absl::InvalidArgumentError("event_queue = 0: must be at least 1");
  if (options.mail_queue == 0) return absl::InvalidArgumentError("mail_queue = 0: must be at least 1");
  absl::StatusOr<OwnLoop> loop = MakeLoop();
  if (!loop.ok()) return loop.status();
  auto delivery = std::make_shared<Delivery>(
      Delivery::Options{options.event_queue, std::move(options.log), Expected(plan->config)});
  auto core = NodeCore::Open(loop->get(), *std::move(plan), std::move(options.resolve), delivery, false);
  if (!core.ok()) return core.status();
  (*core)->mail().SetBound(options.mail_queue);
  auto impl = std::make_unique<Impl>(std::move(delivery), *std::move(core));
  if (absl::Status status = impl->StartThreads(*std::move(loop)); !status.ok()) return status;
  return std::unique_ptr<Node>(new Node(std::move(impl)));
}

absl::StatusOr<std::unique_ptr<Node>> Node::Attach(uv_loop_t* loop, Config config, NodeOptions options) {
  absl::StatusOr<NodePlan> plan = PlanNode(std::move(config));
  if (!plan.ok()) return plan.status();
  if (loop == nullptr) return absl::InvalidArgumentError("loop = null");
  if (options.mail_queue == 0) return absl::InvalidArgumentError("mail_queue = 0: must be at least 1");
  auto delivery = std::make_shared<Delivery>(Delivery::Options{0, std::move(options.log), Expected(plan->config)});
  auto core = NodeCore::Open(loop, *std::move(plan), std::move(options.resolve), delivery, true);
  if (!core.ok()) return core.status();
  (*core)->mail().SetBound(options.mail_queue);
  delivery->DispatchHere();
  return std::unique_ptr<Node>(new Node(std::make_unique<Impl>(std::move(delivery), *std::move(core))));
}

MembersView Node::Members() const { return impl_->delivery->view(); }
Contact Node::contact() const { return Members().contact(); }

Subscription Node::Subscribe(EventHandler handler, SubscribeFrom from) {
  Subscription made = impl_->delivery->Subscribe(std::move(handler), from);
  impl_->core->Poke();
  return made;
}

absl::Status Node::CheckSeeds(std::vector<std::string>& addresses) const {
  Config check = impl_->core->config();  // sound, so that the mistakes are those of the new seeds
  if (check.standalone) return absl::FailedPreconditionError("standalone: this node has no socket and joins nobody");
  check.seeds.swap(addresses);
  const absl::Status status = check.Validate();
  check.seeds.swap(addresses);
  return status;
}

absl::Status Node::Join(std::vector<std::string> addresses) {
  if (absl::Status status = CheckSeeds(addresses); !status.ok()) return status;
  return impl_->core->Join(addresses);
}

absl::Status Node::JoinAsync(std::vector<std::string> addresses, Duration timeout,
                             std::function<void(const JoinReport&)> done) {
  if (absl::Status status = CheckSeeds(addresses); !status.ok()) return status;
  if (absl::Status status = CheckJoin(addresses, timeout); !status.ok()) return status;
  auto post = [to = impl_->delivery, done = std::move(done)](const JoinReport& report) {
    if (done) to->Post([done, report] { done(report); });
  };
  return impl_->core->Join(addresses, std::min(timeout, kWaitMax), std::move(post));
}

JoinReport Node::Join(std::vector<std::string> addresses, Duration timeout) {
  const auto failed = [](absl::Status status) { return JoinReport{std::move(status), {}}; };
  if (absl::Status status = CheckSeeds(addresses); !status.ok()) return failed(std::move(status));
  if (absl::Status status = CheckJoin(addresses, timeout); !status.ok()) return failed(std::move(status));
  if (impl_->delivery->OnDispatcher()) return failed(WouldBlock("Join()"));
  const Duration limit = std::min(timeout, kWaitMax);
  const auto report = std::make_shared<JoinReport>();
  const auto wait = std::make_shared<Waiter>();
  // Whoever drops it uncalled ends the wait, too.
  std::shared_ptr<Waiter> ends(wait.get(), [wait](Waiter* w) { w->End(false); });
  const absl::Status taken = impl_->core->Join(addresses, limit, [report, ends](const JoinReport& result) {
    *report = result;
    ends->End(true);
  });
  ends.reset();
  if (!taken.ok()) return failed(taken);
  if (absl::Status status = wait->Wait(limit + kLoopGrace); !status.ok()) return failed(std::move(status));
  return std::move(*report);
}

absl::Status Node::WaitJoined(Duration timeout) {
  if (impl_->delivery->OnDispatcher()) return WouldBlock("WaitJoined()");
  return impl_->delivery->WaitJoined(timeout);
}

absl::Status Node::Leave(Duration timeout) {
  if (absl::Status status = CheckTimeout(timeout); !status.ok()) return status;
  if (impl_->delivery->OnDispatcher()) return WouldBlock("Leave()");
  if (absl::Status status = impl_->core->Leave(timeout); !status.ok()) return status;
  const Duration limit = timeout > Duration::zero() ? timeout : impl_->core->config().leave_timeout;
  return impl_->delivery->WaitLeft(limit + kLoopGrace);
}

absl::Status Node::LeaveAsync(Duration timeout, std::function<void(const absl::Status&)> done) {
  if (absl::Status status = CheckTimeout(timeout); !status.ok()) return status;
  if (absl::Status status = impl_->delivery->OnLeft(std::move(done)); !status.ok()) return status;
  return impl_->core->Leave(timeout);
}

absl::Status Node::ObserveAsync(std::vector<PeerObservation> observations,
                                std::function<void(const absl::Status&)> done) {
  return impl_->OrderAsync(nekton::Observe{std::move(observations)}, std::move(done));
}

absl::Status Node::Observe(std::vector<PeerObservation> observations, Duration timeout) {
  return impl_->Order("Observe()", timeout, nekton::Observe{std::move(observations)});
}

absl::Status Node::Reconfigure(DetectorKind detector) {
  Config check = impl_->core->config();  // sound, so that the mistake is this one's
  check.detector = detector;
  if (absl::Status status = check.Validate(); !status.ok()) return status;
  // It fails only where nothing is to be detected any more: after a leave or a displacement.
  return impl_->core->Call([detector](Driver& driver) { driver.Order(nekton::Reconfigure{detector}).IgnoreError(); });
}

absl::Status Node::ExplainAsync(std::string name, std::function<void(const absl::StatusOr<MemberExplanation>&)> done) {
  return impl_->core->Call(
      [delivery = impl_->delivery, name = std::move(name), done = std::move(done)](Driver& driver) {
        delivery->Post([done, explanation = driver.member().Explain(driver.Now(), name)] { done(explanation); });
      });
}

absl::StatusOr<MemberExplanation> Node::Explain(std::string name, Duration timeout) {
  const auto result = std::make_shared<absl::StatusOr<MemberExplanation>>();
  const absl::Status asked = impl_->Ask("Explain()", timeout, [result, name = std::move(name)](Driver& driver) {
    *result = driver.member().Explain(driver.Now(), name);
  });
  if (!asked.ok()) return asked;
  return std::move(*result);
}

absl::Status Node::WatchAsync(std::string member, std::chrono::nanoseconds interval, std::vector<double> thresholds,
                              std::function<void(const absl::Status&)> done) {
  return impl_->OrderAsync(nekton::Watch{std::move(member), interval, std::move(thresholds)}, std::move(done));
}

absl::Status Node::Watch(std::string member, std::chrono::nanoseconds interval, std::vector<double> thresholds,
                         Duration timeout) {
  return impl_->Order("Watch()", timeout, nekton::Watch{std::move(member), interval, std::move(thresholds)});
}

absl::Status Node::UnwatchAsync(std::string member, std::function<void(const absl::Status&)> done) {
  return impl_->OrderAsync(nekton::Unwatch{std::move(member)}, std::move(done));
}

absl::Status Node::Unwatch(std::string member, Duration timeout) {
  return impl_->Order("Unwatch()", timeout, nekton::Unwatch{std::move(member)});
}

absl::Status Node::LevelAsync(std::string member, std::function<void(const absl::StatusOr<double>&)> done) {
  return impl_->core->Call(
      [delivery = impl_->delivery, member = std::move(member), done = std::move(done)](Driver& driver) {
        delivery->Post([done, level = driver.member().Level(driver.Now(), member)] { done(level); });
      });
}

absl::StatusOr<double> Node::Level(std::string member, Duration timeout) {
  const auto result = std::make_shared<absl::StatusOr<double>>();
  const absl::Status asked = impl_->Ask("Level()", timeout, [result, member = std::move(member)](Driver& driver) {
    *result = driver.member().Level(driver.Now(), member);
  });
  return asked.ok() ? *result : asked;
}

absl::Status Node::SetTagAsync(std::string key, std::string value, std::function<void(const absl::Status&)> done) {
  return impl_->OrderAsync(nekton::SetTag{std::move(key), std::move(value)}, std::move(done));
}

absl::Status Node::SetTag(std::string key, std::string value, Duration timeout) {
  return impl_->Order("SetTag()", timeout, nekton::SetTag{std::move(key), std::move(value)});
}

absl::Status Node::EraseTagAsync(std::string key, std::function<void(const absl::Status&)> done) {
  return impl_->OrderAsync(nekton::EraseTag{std::move(key)}, std::move(done));
}

absl::Status Node::EraseTag(std::string key, Duration timeout) {
  return impl_->Order("EraseTag()", timeout, nekton::EraseTag{std::move(key)});
}

absl::Status Node::SetTagsAsync(std::map<std::string, std::string> tags,
                                std::function<void(const absl::Status&)> done) {
  return impl_->OrderAsync(nekton::SetTags{std::move(tags)}, std::move(done));
}

absl::Status Node::SetTags(std::map<std::string, std::string> tags, Duration timeout) {
  return impl_->Order("SetTags()", timeout, nekton::SetTags{std::move(tags)});
}

absl::Status Node::BroadcastAsync(std::string key, std::string bytes, std::function<void(const absl::Status&)> done) {
  return impl_->OrderAsync(nekton::Broadcast{std::move(key), std::move(bytes)}, std::move(done));
}

absl::Status Node::Broadcast(std::string key, std::string bytes, Duration timeout) {
  return impl_->Order("Broadcast()", timeout, nekton::Broadcast{std::move(key), std::move(bytes)});
}

absl::Status Node::HeldBroadcastsAsync(std::function<void(const std::vector<BroadcastInfo>&)> done) {
  return impl_->core->Call([delivery = impl_->delivery, done = std::move(done)](Driver& driver) {
    delivery->Post([done, held = driver.member().HeldBroadcasts(driver.Now())] { done(held); });
  });
}

absl::StatusOr<std::vector<BroadcastInfo>> Node::HeldBroadcasts(Duration timeout) {
  const auto held = std::make_shared<std::vector<BroadcastInfo>>();
  const absl::Status asked = impl_->Ask(
      "HeldBroadcasts()", timeout, [held](Driver& driver) { *held = driver.member().HeldBroadcasts(driver.Now()); });
  if (!asked.ok()) return asked;
  return std::move(*held);
}

absl::Status Node::SendTo(const std::string& member, std::vector<std::byte> body) {
  const std::size_t most = impl_->core->config().datagram_max - kMailHeadMax;
  if (body.size() > most) {
    return absl::InvalidArgumentError(absl::StrCat("body: ", body.size(),
                                                   " bytes; a message that is best effort has at ", "most ", most,
                                                   ", a reliable one ", kMailBytesMax));
  }
  const MemberPtr known = Members().Find(member);
  if (known != nullptr && known->self) return absl::InvalidArgumentError("member: it is this one itself");
  if (known == nullptr || known->status == MemberStatus::kLeft) {
    return absl::NotFoundError(absl::StrCat("member: ", Quoted(member), " is unknown, or has left"));
  }
  if (known->status == MemberStatus::kInactive) {
    return absl::UnavailableError(absl::StrCat("member: ", member, " is INACTIVE"));
  }
  return impl_->core->mail().Send(member, std::move(body));
}

absl::StatusOr<RequestId> Node::SendReliableAsync(std::string member, std::vector<std::byte> body,
                                                  RequestOptions options,
                                                  std::function<void(const absl::Status&)> done) {
  absl::StatusOr<NodeMail::Errand> errand = Impl::Plan(std::move(member), std::move(body), options, true);
  if (!errand.ok()) return errand.status();
  NodeMail::Done told;
  if (done) told = [done = std::move(done)](const auto& answer) { done(answer.status()); };
  return impl_->core->mail().Begin(*std::move(errand), std::move(told));
}

absl::Status Node::SendReliable(std::string member, std::vector<std::byte> body, RequestOptions options) {
  return impl_->Wait("SendReliable()", Impl::Plan(std::move(member), std::move(body), options, true)).status();
}

absl::StatusOr<RequestId> Node::RequestAsync(std::string member, std::vector<std::byte> body, RequestOptions options,
                                             std::function<void(const absl::StatusOr<std::vector<std::byte>>&)> done) {
  absl::StatusOr<NodeMail::Errand> errand = Impl::Plan(std::move(member), std::move(body), options, false);
  if (!errand.ok()) return errand.status();
  return impl_->core->mail().Begin(*std::move(errand), std::move(done));
}

absl::StatusOr<std::vector<std::byte>> Node::Request(std::string member, std::vector<std::byte> body,
                                                     RequestOptions options) {
  return impl_->Wait("Request()", Impl::Plan(std::move(member), std::move(body), options, false));
}

absl::Status Node::CancelRequest(RequestId id) { return impl_->core->mail().Cancel(id); }
void Node::OnMessage(MessageHandler handler) { impl_->core->mail().SetHandler(std::move(handler)); }
void Node::OnRequest(RequestHandler handler) { impl_->core->mail().SetHandler(std::move(handler)); }

void Node::Stop() { impl_->Stop(); }

std::vector<CounterValue> Node::Counters() const {
  const NodeCore::Numbers numbers = impl_->core->numbers();
  const Delivery::Losses losses = impl_->delivery->losses();
  std::vector<CounterValue> all;
  for (std::size_t i = 0; i < nekton::Counters::size(); ++i) {
    all.push_back({std::string(kCounterNames[i]), numbers.engine[static_cast<Counter>(i)]});
  }
  numbers.stm.ForEach([&](std::string_view prefix, std::string_view name, std::uint64_t value) {
    all.push_back({std::string(prefix) + std::string(name), value});
  });
  for (std::size_t i = 0; i < TransportCounters::size(); ++i) {
    all.push_back({std::string(kTransportCounterNames[i]), numbers.transport[static_cast<TransportCounter>(i)]});
  }
  all.push_back({"node_lookups", numbers.lookups});
  all.push_back({"node_lookups_failed", numbers.lookups_failed});
  all.push_back({"node_events_lost", losses.events});
  all.push_back({"node_resyncs", losses.resyncs});
  all.push_back({"node_log_lines_lost", losses.lines});
  const NodeMail::Losses mail = impl_->core->mail().losses();
  all.push_back({"node_messages_lost", mail.messages});
  all.push_back({"node_messages_unhandled", mail.unhandled});
  all.push_back({"node_messages_unsent", mail.unsent});
  all.push_back({"node_requests_refused_full", mail.refused});
  return all;
}

Address Node::local() const { return impl_->core->local(); }
Address Node::advertised() const { return impl_->core->advertised(); }

}  // namespace nekton
