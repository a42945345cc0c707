// Messages and requests to other members.
#include <memory>
#include <utility>

#include "swim/quoted.h"
#include "transport/node_impl.h"
#include "transport/uv_clock.h"

namespace nekton {
namespace {

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

absl::StatusOr<NodeMail::Errand> Node::Impl::Plan(std::string member, std::vector<std::byte> body,
                                                  const RequestOptions& options, bool reliable) {
  if (absl::Status status = CheckMail(body.size(), options.budget); !status.ok()) return status;
  NodeMail::Errand errand;
  errand.member = std::move(member);
  errand.body = std::move(body);
  errand.deadline = ReadClocks().boot + options.budget;
  errand.idempotent = options.idempotent;
  errand.reliable = reliable;
  if (options.deadline_of != nullptr && !NodeMail::OnBehalfOf(*options.deadline_of, errand)) {
    return absl::InvalidArgumentError("deadline_of: it was moved away; ask before it is, or keep it elsewhere");
  }
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
  std::optional<Awaited::Answer> answer = awaited->Wait(deadline - ReadClocks().boot + kLoopGrace);
  if (answer.has_value()) return *std::move(answer);
  core->mail().Cancel(*id).IgnoreError();
  return absl::DeadlineExceededError("the loop did not run in time");
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
  if (absl::Status status = impl_->Place(done); !status.ok()) return status;
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
  if (absl::Status status = impl_->Place(done); !status.ok()) return status;
  return impl_->core->mail().Begin(*std::move(errand), std::move(done));
}

absl::StatusOr<std::vector<std::byte>> Node::Request(std::string member, std::vector<std::byte> body,
                                                     RequestOptions options) {
  return impl_->Wait("Request()", Impl::Plan(std::move(member), std::move(body), options, false));
}

absl::Status Node::CancelRequest(RequestId id) { return impl_->core->mail().Cancel(id); }
void Node::OnMessage(MessageHandler handler) { impl_->core->mail().SetHandler(std::move(handler)); }
void Node::OnRequest(RequestHandler handler) { impl_->core->mail().SetHandler(std::move(handler)); }

}  // namespace nekton
