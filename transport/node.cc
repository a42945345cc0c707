#include "transport/node.h"

#include <pthread.h>
#include <signal.h>
#include <uv.h>

#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "transport/node_impl.h"
#include "transport/node_setup.h"
#include "transport/uv_socket.h"

namespace nekton {
namespace {

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

}  // namespace

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
  // After all for which a callback of a lease may wait has ended.
  if (keeper != nullptr) keeper->Stop();
  if (delivery->OnDispatcher()) return;  // a callback of ours: its thread ends when it returns
  const std::lock_guard lock(delivery_mutex_);
  if (delivery_thread_.joinable()) delivery_thread_.join();
}

Node::Impl::~Impl() {
  Stop();
  // Destroyed in a callback: the thread owns what it still touches.
  if (delivery_thread_.joinable()) delivery_thread_.detach();
}

Node::Node(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Node::~Node() = default;

absl::StatusOr<std::unique_ptr<Node>> Node::Start(Config config, NodeOptions options) {
  const std::int64_t drift_ppm = options.leases.terms.drift_ppm;
  std::shared_ptr<Register> lease_register = std::move(options.lease_register);
  absl::StatusOr<NodePlan> plan = PlanNode(std::move(config), std::move(options.leases), std::move(options.view_store),
                                           std::move(options.keys), lease_register);
  if (!plan.ok()) return plan.status();
  plan->make_transport = std::move(options.transport);
  if (options.event_queue == 0) return absl::InvalidArgumentError("event_queue = 0: must be at least 1");
  if (options.mail_queue == 0) return absl::InvalidArgumentError("mail_queue = 0: must be at least 1");
  if (options.callback_queue == 0) return absl::InvalidArgumentError("callback_queue = 0: must be at least 1");
  absl::StatusOr<OwnLoop> loop = MakeLoop();
  if (!loop.ok()) return loop.status();
  auto delivery = std::make_shared<Delivery>(
      Delivery::Options{options.event_queue, std::move(options.log), Expected(plan->config), options.callback_queue});
  auto core = NodeCore::Open(loop->get(), *std::move(plan), std::move(options.resolve), delivery, false);
  if (!core.ok()) return core.status();
  (*core)->mail().SetBound(options.mail_queue);
  (*core)->SetEvidenceHandler(std::move(options.evidence));
  auto impl = std::make_unique<Impl>(std::move(delivery), *std::move(core));
  if (absl::Status status = impl->KeepLeases(std::move(lease_register), drift_ppm); !status.ok()) return status;
  if (absl::Status status = impl->StartThreads(*std::move(loop)); !status.ok()) return status;
  return std::unique_ptr<Node>(new Node(std::move(impl)));
}

absl::StatusOr<std::unique_ptr<Node>> Node::Attach(uv_loop_t* loop, Config config, NodeOptions options) {
  const std::int64_t drift_ppm = options.leases.terms.drift_ppm;
  std::shared_ptr<Register> lease_register = std::move(options.lease_register);
  absl::StatusOr<NodePlan> plan = PlanNode(std::move(config), std::move(options.leases), std::move(options.view_store),
                                           std::move(options.keys), lease_register);
  if (!plan.ok()) return plan.status();
  plan->make_transport = std::move(options.transport);
  if (loop == nullptr) return absl::InvalidArgumentError("loop = null");
  if (options.mail_queue == 0) return absl::InvalidArgumentError("mail_queue = 0: must be at least 1");
  if (options.callback_queue == 0) return absl::InvalidArgumentError("callback_queue = 0: must be at least 1");
  auto delivery = std::make_shared<Delivery>(
      Delivery::Options{0, std::move(options.log), Expected(plan->config), options.callback_queue});
  auto core = NodeCore::Open(loop, *std::move(plan), std::move(options.resolve), delivery, true);
  if (!core.ok()) return core.status();
  (*core)->mail().SetBound(options.mail_queue);
  (*core)->SetEvidenceHandler(std::move(options.evidence));
  delivery->DispatchHere();
  auto impl = std::make_unique<Impl>(std::move(delivery), *std::move(core));
  if (absl::Status status = impl->KeepLeases(std::move(lease_register), drift_ppm); !status.ok()) return status;
  return std::unique_ptr<Node>(new Node(std::move(impl)));
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
  for (std::string& address : addresses) address = WithNumericZone(address);
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
  if (absl::Status status = impl_->Place(done); !status.ok()) return status;
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
  for (const auto& [name, value] : impl_->core->LeaseNumbers()) all.push_back({name, value});
  for (std::size_t i = 0; i < SealCounters::size(); ++i) {
    all.push_back({std::string(kSealCounterNames[i]), numbers.seal[static_cast<SealCounter>(i)]});
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

std::vector<std::pair<Address, std::uint64_t>> Node::Refused() const {
  const NodeCore::Numbers numbers = impl_->core->numbers();
  SourceTally all = numbers.refused;
  for (const auto& [host, count] : numbers.refused_by_seal.hosts()) all.Add(host, count);
  std::vector<std::pair<Address, std::uint64_t>> list = all.hosts();
  const std::uint64_t others = all.others() + numbers.refused_by_seal.others();
  if (others != 0) list.emplace_back(Address(), others);
  return list;
}

Address Node::local() const { return impl_->core->local(); }
Address Node::advertised() const { return impl_->core->advertised(); }

}  // namespace nekton
