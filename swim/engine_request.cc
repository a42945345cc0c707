// Our messages and requests to other members (swim/mail.h).
#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "swim/bytes.h"
#include "swim/engine_mail.h"
#include "swim/quoted.h"
#include "swim/wire.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace nekton {
namespace {

constexpr std::uint64_t kMailStream = 0x6d61696c;  // of randomness: see Requests

double Seconds(Duration d) { return std::chrono::duration<double>(d).count(); }

absl::Status StatusOf(const Frame& answer) {
  const auto* text = reinterpret_cast<const char*>(answer.body.data());
  return {static_cast<absl::StatusCode>(answer.code), absl::string_view(text, answer.body.size())};
}

}  // namespace

absl::Status CheckMail(std::size_t bytes, Duration budget) {
  if (bytes > kMailBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("body: ", bytes, " bytes; requests and reliable messages have at most ", kMailBytesMax));
  }
  if (budget < kMailBudgetMin || budget > kMailBudgetMax) {
    return absl::InvalidArgumentError(absl::StrCat("budget: ", Seconds(budget), " s; must be from 1 ms to 1 h"));
  }
  return absl::OkStatus();
}

Engine::Impl::MailDesk& Engine::Impl::Mailing() {
  if (mail_ == nullptr) mail_ = std::make_unique<MailDesk>(*this);
  return *mail_;
}

Engine::Impl::MailDesk::MailDesk(Impl& engine)
    : engine_(engine),
      requests_(engine.config_.mail,
                engine.config_.seed ^ MemberId(engine.config_.name, engine.config_.generation) ^ kMailStream),
      served_(engine.config_.mail),
      retries_(engine.config_.mail.retries_per_second) {}

void Engine::Impl::MailDesk::Due(Outbox& out) {
  RequestsDue(out);
  ServedDue(out);
}

void Engine::Impl::MailDesk::SendDatagram(Outbox& out, const Address& to, const Frame& mail) {
  engine_.Send(out, to, mail, Purpose::kMail, {}, false);
}

Frame Engine::Impl::MailDesk::MailTo(std::uint64_t life, Letter letter, std::uint32_t number) const {
  Frame frame = engine_.Header(FrameType::kMail, number);
  frame.target = life;
  frame.letter = letter;
  return frame;
}

// False: too many are under way.
bool Engine::Impl::MailDesk::SendStream(Outbox& out, Exchange exchange, const Frame& mail, Instant deadline) {
  if (streams_ >= kStreamsMax) return false;
  ++streams_;
  Outbox::Request request;
  request.id = ++engine_.last_exchange_;
  request.to = exchange.address;
  request.limit = deadline - engine_.now_.boot;
  FrameWriter writer(mail, kSyncBytesMax, request.bytes);
  writer.Finish();
  ++engine_.counters_[Counter::kMailStreamsSent];
  engine_.counters_[Counter::kMailStreamBytesSent] += request.bytes.size();
  engine_.MixFingerprint(XXH3_64bits(request.bytes.data(), request.bytes.size()));
  engine_.exchanges_[request.id] = std::move(exchange);
  out.Add(std::move(request));
  return true;
}

absl::StatusOr<PeerId> Engine::Impl::MailDesk::Addressee(const std::string& member) const {
  if (engine_.phase_ == Phase::kLeaving) return absl::FailedPreconditionError("the member is leaving");
  const PeerId row = engine_.table_.FindName(member);
  if (row == kSelf) return absl::InvalidArgumentError("member: it is this one itself");
  if (row == kNoPeer || engine_.table_[row].status == MemberStatus::kLeft) {
    return absl::NotFoundError(absl::StrCat("member: ", Quoted(member), " is unknown, or has left"));
  }
  if (!engine_.table_.IsAlive(row)) return absl::UnavailableError(absl::StrCat("member: ", member, " is INACTIVE"));
  return row;
}

absl::Status Engine::Impl::MailDesk::Take(Outbox& out, const nekton::Send& order, bool inner) {
  Frame frame;
  frame.body = order.body;
  if (!FitsDatagram(frame)) {
    return absl::InvalidArgumentError(absl::StrCat("body: ", order.body.size(), " bytes; a message that is best effort",
                                                   " has at most ", engine_.config_.datagram_max - kMailHeadMax,
                                                   " (datagram_max less ", kMailHeadMax, "), a reliable one ",
                                                   kMailBytesMax));
  }
  const absl::StatusOr<PeerId> row = Addressee(order.member);
  if (!row.ok()) return row.status();
  frame = MailTo(engine_.table_[*row].id, Letter::kMessage, 0);
  frame.flags |= inner ? kFlagInner : 0;
  frame.body = order.body;
  SendDatagram(out, engine_.table_[*row].address, frame);
  return absl::OkStatus();
}

template <typename Ordered>
absl::Status Engine::Impl::MailDesk::TakeRequest(Outbox& out, const Ordered& order, bool inner) {
  if (!inner && order.id >= kInnerRequests) {
    return absl::InvalidArgumentError(absl::StrCat("id = ", order.id, ": must be below 2^63"));
  }
  if (absl::Status status = CheckMail(order.body.size(), order.budget); !status.ok()) return status;
  const absl::StatusOr<PeerId> row = Addressee(order.member);
  if (!row.ok()) return row.status();
  Instant deadline = engine_.now_.boot + order.budget;
  if (order.on_behalf_of != 0) {
    const ServedRequest* cause = served_.FindId(order.on_behalf_of);
    if (absl::Status status = Unanswerable(cause); !status.ok()) {
      return {status.code(), absl::StrCat("on_behalf_of = ", order.on_behalf_of, ": ", status.message())};
    }
    deadline = std::min(deadline, cause->deadline);
    if (deadline - engine_.now_.boot < kMailBudgetMin) {
      return absl::DeadlineExceededError("on_behalf_of: nothing is left of that request's budget");
    }
  }
  if (absl::Status status = requests_.Room(order.id, order.member, order.body.size()); !status.ok()) return status;
  OpenRequest request;
  request.id = order.id;
  request.member = order.member;
  request.life = engine_.table_[*row].id;
  request.as = engine_.table_[kSelf].id;
  request.cause = order.on_behalf_of;
  request.body = order.body;
  request.deadline = deadline;
  request.reliable = std::is_same_v<Ordered, SendReliable>;
  request.idempotent = order.idempotent;
  request.inner = inner;
  if (requests_.empty()) reviewed_ = engine_.table_.version();
  OpenRequest& open = requests_.Open(std::move(request), engine_.now_.boot);
  ++engine_.counters_[Counter::kRequestsSent];
  SendRequest(out, open);
  if (!open.streaming) requests_.Later(open, engine_.now_.boot);
  return absl::OkStatus();
}
absl::Status Engine::Impl::MailDesk::Take(Outbox& out, const Request& order, bool inner) {
  return TakeRequest(out, order, inner);
}
absl::Status Engine::Impl::MailDesk::Take(Outbox& out, const SendReliable& order) {
  return TakeRequest(out, order, /*inner=*/false);
}

absl::Status Engine::Impl::MailDesk::Take(Outbox& out, const CancelRequest& order) {
  OpenRequest* request = requests_.FindId(order.id);
  if (request == nullptr) return absl::NotFoundError(absl::StrCat("id = ", order.id, ": no such request is open"));
  Cancel(out, *request, absl::CancelledError("it was cancelled here"));
  return absl::OkStatus();
}

// What is to be said of it now. Nothing, where the member has gone, or too many streams are under way.
void Engine::Impl::MailDesk::SendRequest(Outbox& out, OpenRequest& request) {
  const PeerId row = engine_.table_.FindName(request.member);
  if (row == kNoPeer || engine_.table_[row].status == MemberStatus::kLeft) return;
  Letter letter = request.reliable ? Letter::kReliable : Letter::kRequest;
  if (request.received) letter = Letter::kRepeat;
  if (request.cancelled) letter = Letter::kCancel;
  Frame frame = MailTo(request.life, letter, request.number);
  frame.flags |= request.inner ? kFlagInner : 0;
  if (letter == Letter::kReliable || letter == Letter::kRequest) {
    frame.body = request.body;
    frame.budget = request.deadline - engine_.now_.boot;
    if (frame.budget < kMailBudgetMin) return;
  }
  if (letter == Letter::kReliable || !FitsDatagram(frame)) {
    const Exchange exchange{
        .errand = Errand::kMail, .address = engine_.table_[row].address, .sequence = request.number};
    if (!SendStream(out, exchange, frame, request.deadline)) return;
    request.streaming = true;
    requests_.AtDeadline(request);
  } else {
    SendDatagram(out, engine_.table_[row].address, frame);
  }
  ++request.tries;
}

void Engine::Impl::MailDesk::RequestsDue(Outbox& out) {
  while (OpenRequest* request = requests_.Due(engine_.now_.boot)) {
    if (request->deadline <= engine_.now_.boot) {
      Expire(out, *request);
      continue;
    }
    if (request->streaming) {
      requests_.AtDeadline(*request);
      continue;
    }
    const std::uint32_t tries = request->tries;
    if (tries != 0 && !retries_.Take(engine_.now_.boot)) {
      ++engine_.counters_[Counter::kRetriesHeld];
    } else {
      SendRequest(out, *request);
      if (tries != 0 && request->tries > tries) ++engine_.counters_[Counter::kRequestsRetried];
    }
    if (!request->streaming) requests_.Later(*request, engine_.now_.boot);
  }
}

void Engine::Impl::MailDesk::Expire(Outbox& out, OpenRequest& request) {
  if (!request.cancelled) {
    TellDone(out, request,
             absl::DeadlineExceededError(absl::StrCat("no answer of ", request.member, " within ",
                                                      Seconds(engine_.now_.boot - request.begun), " s; sent ",
                                                      request.tries, " times")));
    requests_.Cancel(request);
    // Once: the other has a deadline of its own, which is about now.
    if (request.tries != 0) SendRequest(out, request);
  }
  requests_.Close(request);
}

void Engine::Impl::MailDesk::TellDone(Outbox& out, const OpenRequest& request, absl::Status status,
                                      std::span<const std::byte> body) {
  Mail mail;
  mail.kind = MailKind::kDone;
  mail.inner = request.inner;
  mail.id = request.id;
  mail.member = request.member;
  mail.at = engine_.now_.boot;
  mail.status = std::move(status);
  mail.body.assign(body.begin(), body.end());
  out.Add(std::move(mail));
}

// The user hears of it now, the other member until it says so, or until the deadline.
void Engine::Impl::MailDesk::Cancel(Outbox& out, OpenRequest& request, absl::Status why) {
  TellDone(out, request, std::move(why));
  requests_.Cancel(request);
  if (request.tries == 0) return requests_.Close(request);
  SendRequest(out, request);
  requests_.Later(request, engine_.now_.boot);
}

// Where another life than the one that we asked says so, it is known by the place where that one was.
bool Engine::Impl::MailDesk::IsFromAddressee(const OpenRequest& request, const Frame& frame,
                                             const Address* from) const {
  if (frame.target != request.as) return false;
  if (frame.letter != Letter::kAnswer || frame.code != kCodeOtherLife) return frame.sender == request.life;
  const PeerId row = engine_.table_.FindName(request.member);
  return from == nullptr || (row != kNoPeer && engine_.table_[row].address == *from);
}

void Engine::Impl::MailDesk::OnAnswer(Outbox& out, const Frame& frame, const Address* from) {
  OpenRequest* request = requests_.FindNumber(frame.sequence);
  if (request == nullptr || !IsFromAddressee(*request, frame, from)) {
    ++engine_.counters_[Counter::kMailStray];
    return;
  }
  if (request->deadline <= engine_.now_.boot) return Expire(out, *request);  // we were late, and so is this
  if (frame.letter == Letter::kReceipt) {
    if (request->cancelled && frame.code == 1) return requests_.Close(*request);
    request->received |= frame.code == 0 && !request->reliable;
    return;
  }
  if (request->cancelled) return requests_.Close(*request);
  if (frame.code == kCodeOtherLife) return OtherLife(out, *request);
  if (frame.code == kCodeStranger) return;  // it will hear of us
  if (frame.code == kCodeLate) return CameLate(*request, frame);
  const absl::Status status = StatusOf(frame);
  TellDone(out, *request, status, status.ok() ? frame.body : std::span<const std::byte>());
  requests_.Close(*request);
}

// How a stream that carried mail ended.
void Engine::Impl::MailDesk::Exchanged(Outbox& out, const Exchange& exchange, const absl::Status& result,
                                       const Frame& frame) {
  --streams_;
  if (exchange.errand == Errand::kMailAnswer) {
    if (ServedRequest* served = served_.FindId(exchange.served); served != nullptr) served->streaming = false;
    return;  // if it was lost, the other asks again
  }
  OpenRequest* request = requests_.FindNumber(exchange.sequence);
  if (request == nullptr) return;
  request->streaming = false;
  requests_.Later(*request, engine_.now_.boot);
  if (!result.ok() || frame.type != FrameType::kMail || frame.sequence != exchange.sequence) return;
  if (frame.letter == Letter::kAnswer || frame.letter == Letter::kReceipt) OnAnswer(out, frame, nullptr);
}

// The life that it was sent to is over. Without a mark that it may be done twice we can only say that.
void Engine::Impl::MailDesk::OtherLife(Outbox& out, OpenRequest& request) {
  if (!request.idempotent) {
    TellDone(out, request,
             absl::UnavailableError(
                 absl::StrCat(request.member, " or this member has begun another life: it may have been done or not")));
    return requests_.Close(request);
  }
  const PeerId row = engine_.table_.FindName(request.member);
  if (row == kNoPeer || !engine_.table_.IsAlive(row)) return;  // its next life will be heard of
  if (engine_.table_[row].id == request.life && engine_.table_[kSelf].id == request.as) return;
  request.life = engine_.table_[row].id;
  request.as = engine_.table_[kSelf].id;
  request.received = false;
  if (!request.streaming) requests_.AtOnce(request, engine_.now_.boot);
}

// A later request of ours has come and gone there before this one came. While we wait for it the other would know it if it
// had begun it, for it remembers each until our deadline at least, and `keep` more. So it has not, and never will under
// this number: it gets another.
void Engine::Impl::MailDesk::CameLate(OpenRequest& request, const Frame& frame) {
  if (request.streaming || request.received) return;
  requests_.Renumber(request, ByteReader(frame.body).Fixed<std::uint32_t>());
  requests_.AtOnce(request, engine_.now_.boot);
}

void Engine::Impl::MailDesk::Review(Outbox& out) {
  reviewed_ = engine_.table_.version();
  requests_.ForEach([&](OpenRequest& request) {
    if (request.cancelled) return;
    const PeerId row = engine_.table_.FindName(request.member);
    const bool alive = row != kNoPeer && engine_.table_.IsAlive(row);
    if (alive && engine_.table_[row].id == request.life && engine_.table_[kSelf].id == request.as) return;
    if (alive || request.idempotent) return OtherLife(out, request);
    TellDone(
        out, request,
        absl::UnavailableError(absl::StrCat(request.member, " is INACTIVE or has left: it may have been done or not")));
    requests_.Close(request);
  });
}

void Engine::Impl::MailDesk::Settle(Outbox& out) {
  if (requests_.empty() && served_.working() == 0) return;
  if (engine_.phase_ != Phase::kGone) {
    if (engine_.table_.version() != reviewed_) Review(out);
    return;
  }
  const absl::Status why = absl::CancelledError("this member has left the group, or was displaced");
  requests_.ForEach([&](OpenRequest& request) {
    if (!request.cancelled) TellDone(out, request, why);
    requests_.Close(request);
  });
  served_.ForEachWorking([&](ServedRequest& served) { EndServed(out, served, why); });
}

}  // namespace nekton
