#include "transport/node_mail.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "transport/uv_clock.h"

namespace nekton {

struct Responder::State {
  std::weak_ptr<NodeMail> mail;
  std::uint64_t id = 0;
  std::string member;
  Instant deadline{};
  std::mutex mutex;  // over what follows
  bool cancelled = false;
  bool answered = false;
  std::function<void()> on_cancel;
  bool posted = false;  // a call of on_cancel waits for its turn
};

namespace {

// The call of `on_cancel` that waits. It calls what is there when its turn comes; if that never comes it dies with it.
class CancelCall {
 public:
  explicit CancelCall(std::shared_ptr<Responder::State> state) : state_(std::move(state)) {}
  ~CancelCall() { Take(); }
  CancelCall(const CancelCall&) = delete;
  CancelCall& operator=(const CancelCall&) = delete;

  void Make() {
    if (const std::function<void()> callback = Take()) callback();
  }

 private:
  std::function<void()> Take() {
    std::function<void()> callback;
    if (state_ == nullptr) return callback;
    {
      const std::lock_guard lock(state_->mutex);
      state_->posted = false;
      callback.swap(state_->on_cancel);
    }
    state_.reset();
    return callback;
  }

  std::shared_ptr<Responder::State> state_;
};

void PostCancel(NodeMail& mail, std::shared_ptr<Responder::State> state) {
  mail.Post([call = std::make_shared<CancelCall>(std::move(state))] { call->Make(); });
}

}  // namespace

// ---- Responder

Responder::Responder(std::shared_ptr<State> state) : state_(std::move(state)) {}
Responder::Responder(Responder&&) noexcept = default;

Responder& Responder::operator=(Responder&& other) noexcept {
  if (this != &other) {
    const Responder old(std::move(*this));
    state_ = std::move(other.state_);
  }
  return *this;
}

Responder::~Responder() {
  if (state_ != nullptr) Respond(absl::InternalError("the handler gave no answer"), {}).IgnoreError();
}

const std::string& Responder::member() const {
  static const std::string nobody;
  return state_ != nullptr ? state_->member : nobody;
}

Instant Responder::deadline() const { return state_ != nullptr ? state_->deadline : Instant{}; }
Duration Responder::remaining() const { return std::max(Duration::zero(), deadline() - ReadClocks().boot); }

bool Responder::cancelled() const {
  if (state_ == nullptr) return true;
  const std::lock_guard lock(state_->mutex);
  return state_->cancelled || ReadClocks().boot >= state_->deadline;
}

void Responder::OnCancel(std::function<void()> callback) {
  if (state_ == nullptr) return;
  const auto mail = state_->mail.lock();
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->answered || (state_->cancelled && mail == nullptr)) return;
    state_->on_cancel.swap(callback);  // the old one dies outside the lock
    if (!state_->cancelled || state_->posted || !state_->on_cancel) return;
    state_->posted = true;
  }
  PostCancel(*mail, state_);
  mail->Call([](Driver&) {}).IgnoreError();  // a loop of the user's takes a turn; if calls wait, it does anyway
}

absl::Status Responder::Answer(std::vector<std::byte> body) {
  if (body.size() > kMailBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("body: ", body.size(), " bytes; an answer has at most ", kMailBytesMax));
  }
  return Respond(absl::OkStatus(), std::move(body));
}

absl::Status Responder::Fail(const absl::Status& status) {
  if (status.ok()) return absl::InvalidArgumentError("status: is OK, which is no failure");
  return Respond(status, {});
}

absl::Status Responder::Respond(const absl::Status& status, std::vector<std::byte> body) {
  if (state_ == nullptr) return absl::FailedPreconditionError("this responder was moved away");
  const auto mail = state_->mail.lock();
  if (mail == nullptr) return absl::FailedPreconditionError("the node is stopped");
  std::function<void()> dropped;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->answered) return absl::FailedPreconditionError("it has been answered");
    if (ReadClocks().boot >= state_->deadline) return absl::DeadlineExceededError("its deadline has passed");
    if (state_->cancelled) return absl::CancelledError("nobody waits for it any more");
    state_->answered = true;
    dropped.swap(state_->on_cancel);
  }
  auto order = std::make_shared<nekton::Respond>();
  order->id = state_->id;
  order->status = status;
  order->body = std::move(body);
  // That it has ended meanwhile is what the caller knows already.
  absl::Status taken = mail->Call([order](Driver& driver) { driver.Order(std::move(*order)).IgnoreError(); });
  if (taken.ok()) {
    mail->Forget(state_->id);
    return taken;
  }
  // It is as if nothing had been tried; who cancelled meanwhile found it answered.
  bool post = false;
  {
    const std::lock_guard lock(state_->mutex);
    state_->answered = false;
    state_->on_cancel.swap(dropped);
    post = state_->cancelled && !state_->posted && state_->on_cancel;
    state_->posted |= post;
  }
  if (post) PostCancel(*mail, state_);
  return taken;
}

// ---- NodeMail: ours

void NodeMail::Post(std::function<void()> callback) { delivery_->Post(std::move(callback)); }

void NodeMail::Forget(std::uint64_t served) {
  const std::lock_guard lock(mutex_);
  serving_.erase(served);
}

bool NodeMail::OnBehalfOf(const Responder& request, Errand& errand) {
  if (request.state_ == nullptr) return false;
  errand.on_behalf_of = request.state_->id;
  errand.deadline = std::min(errand.deadline, request.state_->deadline);
  return true;
}

absl::Status NodeMail::Send(std::string member, Bytes body) {
  auto order = std::make_shared<nekton::Send>();
  order->member = std::move(member);
  order->body = std::move(body);
  return Call([self = shared_from_this(), order](Driver& driver) {
    if (driver.Order(std::move(*order)).ok()) return;
    const std::lock_guard lock(self->mutex_);
    ++self->losses_.unsent;
  });
}

absl::StatusOr<std::uint64_t> NodeMail::Begin(Errand errand, Done done) {
  std::uint64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return absl::FailedPreconditionError("the node is stopped");
    id = ++last_id_;
    waiting_[id] = {std::move(done), errand.direct};
  }
  const auto shared = std::make_shared<Errand>(std::move(errand));
  const absl::Status taken = Call([self = shared_from_this(), shared, id](Driver& driver) {
    const Duration budget = shared->deadline - driver.Now().boot;
    absl::Status status = absl::DeadlineExceededError("the budget was spent before the loop came to it");
    if (budget >= kMailBudgetMin && shared->reliable) {
      status = driver.Order(SendReliable{.id = id,
                                         .member = std::move(shared->member),
                                         .body = std::move(shared->body),
                                         .budget = budget,
                                         .on_behalf_of = shared->on_behalf_of,
                                         .idempotent = shared->idempotent});
    } else if (budget >= kMailBudgetMin) {
      status = driver.Order(Request{.id = id,
                                    .member = std::move(shared->member),
                                    .body = std::move(shared->body),
                                    .budget = budget,
                                    .on_behalf_of = shared->on_behalf_of,
                                    .idempotent = shared->idempotent});
    }
    if (!status.ok()) self->End(id, status);
  });
  if (taken.ok()) return id;
  Waiting dropped;  // dies outside the lock: it is the user's
  const std::lock_guard lock(mutex_);
  if (const auto it = waiting_.find(id); it != waiting_.end()) {
    dropped = std::move(it->second);
    waiting_.erase(it);
  }
  return taken;
}

absl::Status NodeMail::Cancel(std::uint64_t id) {
  {
    const std::lock_guard lock(mutex_);
    if (!waiting_.contains(id)) return absl::NotFoundError(absl::StrCat("id = ", id, ": no such request is open"));
  }
  return Call([id](Driver& driver) { driver.Order(CancelRequest{id}).IgnoreError(); });
}

void NodeMail::End(std::uint64_t id, absl::StatusOr<Bytes> answer) {
  Waiting ended;
  {
    const std::lock_guard lock(mutex_);
    const auto it = waiting_.find(id);
    if (it == waiting_.end()) return;
    ended = std::move(it->second);
    waiting_.erase(it);
  }
  if (!ended.done) return;
  if (ended.direct) return ended.done(answer);
  const auto shared = std::make_shared<absl::StatusOr<Bytes>>(std::move(answer));
  Post([done = std::move(ended.done), shared] { done(*shared); });
}

// ---- NodeMail: others'

void NodeMail::Hand(std::vector<Mail>& mail, Driver& driver) {
  for (Mail& one : mail) {
    switch (one.kind) {
      case MailKind::kDone:
        if (one.status.ok()) {
          End(one.id, std::move(one.body));
        } else {
          End(one.id, one.status);
        }
        break;
      case MailKind::kMessage:
        HandMessage(std::move(one), driver);
        break;
      case MailKind::kRequest:
        HandRequest(std::move(one), driver);
        break;
      case MailKind::kCancelled:
        HandCancelled(one);
        break;
    }
  }
  mail.clear();
}

// Whether one more has no place; if it has, it takes it.
bool NodeMail::Full() {
  if (queued_ >= bound_) return true;
  ++queued_;
  return false;
}

// The dispatcher's. Whoever is replaced is not called, and not kept, after Replace() has returned.
template <typename Handler, typename Use>
void NodeMail::Run(const std::shared_ptr<Handler>& slot, Use use) {
  --queued_;
  const std::lock_guard running(running_);
  std::shared_ptr<Handler> handler;
  {
    const std::lock_guard lock(mutex_);
    handler = slot;
  }
  use(handler.get());
}

namespace {

absl::Status NoHandler() { return absl::UnimplementedError("this member has no handler for it"); }
absl::Status QueueFull(std::size_t bound) {
  return absl::ResourceExhaustedError(
      absl::StrCat("overloaded: ", bound, " messages and requests wait for their handler (NodeOptions::mail_queue)"));
}

}  // namespace

void NodeMail::HandMessage(Mail mail, Driver& driver) {
  absl::Status status;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    if (on_message_ == nullptr) {
      status = NoHandler();
      losses_.unhandled += mail.id == 0 ? 1 : 0;
    } else if (Full()) {
      status = QueueFull(bound_);
      ++(mail.id == 0 ? losses_.messages : losses_.refused);
    }
  }
  // An answer that comes too late is nobody's any more.
  if (mail.id != 0) driver.Order(nekton::Respond{.id = mail.id, .status = status, .body = {}}).IgnoreError();
  if (!status.ok()) return;
  const auto message = std::make_shared<Message>(Message{std::move(mail.member), std::move(mail.body)});
  Post([self = shared_from_this(), message] {
    self->Run(self->on_message_, [&](const MessageHandler* handler) {
      if (handler != nullptr) (*handler)(*message);
    });
  });
}

void NodeMail::HandRequest(Mail mail, Driver& driver) {
  absl::Status status;
  auto state = std::make_shared<Responder::State>();
  state->mail = weak_from_this();
  state->id = mail.id;
  state->member = mail.member;
  state->deadline = mail.deadline;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    if (on_request_ == nullptr) {
      status = NoHandler();
    } else if (Full()) {
      status = QueueFull(bound_);
      ++losses_.refused;
    } else {
      serving_[mail.id] = state;
    }
  }
  if (!status.ok()) {
    driver.Order(nekton::Respond{.id = mail.id, .status = status, .body = {}}).IgnoreError();
    return;
  }
  const auto request = std::make_shared<Message>(Message{std::move(mail.member), std::move(mail.body)});
  const auto responder = std::make_shared<Responder>(std::move(state));
  Post([self = shared_from_this(), request, responder] {
    self->Run(self->on_request_, [&](const RequestHandler* handler) {
      if (handler != nullptr) return (*handler)(*request, std::move(*responder));
      responder->Fail(NoHandler()).IgnoreError();  // it was taken away meanwhile
    });
  });
}

void NodeMail::HandCancelled(const Mail& mail) {
  std::shared_ptr<Responder::State> state;
  {
    const std::lock_guard lock(mutex_);
    const auto it = serving_.find(mail.id);
    if (it == serving_.end()) return;
    state = it->second.lock();
    serving_.erase(it);
  }
  if (state == nullptr) return;
  {
    const std::lock_guard lock(state->mutex);
    state->cancelled = true;
    if (state->answered || state->posted || !state->on_cancel) return;
    state->posted = true;
  }
  PostCancel(*this, std::move(state));
}

// ---- NodeMail: handlers, and the end

template <typename Handler>
void NodeMail::Replace(std::shared_ptr<Handler>& slot, Handler handler) {
  auto other = handler ? std::make_shared<Handler>(std::move(handler)) : nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (!closed_) slot.swap(other);
  }
  if (!delivery_->OnDispatcher()) {
    const std::lock_guard wait(running_);
  }
}  // the old one dies here, outside the locks

void NodeMail::SetHandler(MessageHandler handler) { Replace(on_message_, std::move(handler)); }
void NodeMail::SetHandler(RequestHandler handler) { Replace(on_request_, std::move(handler)); }

void NodeMail::Close() {
  absl::flat_hash_map<std::uint64_t, Waiting> waiting;  // all of these are the user's, and die outside the lock
  std::shared_ptr<MessageHandler> on_message;
  std::shared_ptr<RequestHandler> on_request;
  absl::flat_hash_map<std::uint64_t, std::weak_ptr<Responder::State>> serving;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    waiting.swap(waiting_);
    serving.swap(serving_);
    on_message.swap(on_message_);
    on_request.swap(on_request_);
  }
  for (const auto& [id, weak] : serving) {
    const std::shared_ptr<Responder::State> state = weak.lock();
    if (state == nullptr) continue;
    std::function<void()> dropped;
    const std::lock_guard lock(state->mutex);
    state->cancelled = true;
    dropped.swap(state->on_cancel);
  }
}

NodeMail::Losses NodeMail::losses() const {
  const std::lock_guard lock(mutex_);
  return losses_;
}

}  // namespace nekton
