// Messages and requests of other members to us (swim/mail.h).
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "swim/bytes.h"
#include "swim/engine_mail.h"
#include "swim/wire.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace nekton {
namespace {

constexpr std::size_t kStatusTextMax = 1000;

std::span<const std::byte> AsBody(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace

void Engine::Impl::MailDesk::Receive(Outbox& out, const Address& from, const Frame& frame, PeerId sender) {
  if (frame.letter == Letter::kAnswer || frame.letter == Letter::kReceipt) return OnAnswer(out, frame, &from);
  const std::optional<Frame> reply = TakeMail(out, frame, sender, 0);
  if (!reply.has_value()) return;
  // Not to where it says that it came from, if we know where its sender is.
  const Address& to = sender == kNoPeer ? from : engine_.table_[sender].address;
  if (FitsDatagram(*reply)) return SendDatagram(out, to, *reply);
  if (ServedRequest* served = served_.Find(frame.sender, frame.sequence); served != nullptr) SendAnswer(out, *served);
}

void Engine::Impl::MailDesk::Serve(Outbox& out, ExchangeId id, const Frame& frame) {
  const PeerId sender = engine_.table_.FindId(frame.sender);
  if (frame.letter == Letter::kAnswer || frame.letter == Letter::kReceipt) {
    OnAnswer(out, frame, nullptr);
    return Reply(out, id, MailTo(frame.sender, Letter::kReceipt, frame.sequence));
  }
  const std::optional<Frame> reply = TakeMail(out, frame, sender, id);
  if (reply.has_value()) return Reply(out, id, *reply);
  const ServedRequest* served = served_.Find(frame.sender, frame.sequence);
  if (served != nullptr && served->stream == id) return;  // until it is responded to
  out.Add(Outbox::Reply{id, {}});
}

void Engine::Impl::MailDesk::Reply(Outbox& out, ExchangeId id, const Frame& mail) {
  Outbox::Reply reply;
  reply.id = id;
  FrameWriter writer(mail, kSyncBytesMax, reply.bytes);
  writer.Finish();
  engine_.counters_[Counter::kMailStreamBytesSent] += reply.bytes.size();
  engine_.MixFingerprint(XXH3_64bits(reply.bytes.data(), reply.bytes.size()));
  out.Add(std::move(reply));
}

// What is said at once to what came; nothing: it is answered later, or never.
std::optional<Frame> Engine::Impl::MailDesk::TakeMail(Outbox& out, const Frame& frame, PeerId sender,
                                                      ExchangeId stream) {
  const bool known = sender != kNoPeer && sender != kSelf && engine_.table_[sender].status != MemberStatus::kLeft;
  if (frame.target != engine_.table_[kSelf].id || !known) {
    ++engine_.counters_[Counter::kMailStray];
    if (frame.letter == Letter::kMessage || sender == kSelf) return std::nullopt;
    Frame reply = MailTo(frame.sender, Letter::kAnswer, frame.sequence);
    reply.code = frame.target != engine_.table_[kSelf].id ? kCodeOtherLife : kCodeStranger;
    return reply;
  }
  if (frame.letter == Letter::kMessage) {
    ++engine_.counters_[Counter::kMessagesReceived];
    Mail mail;
    mail.member = engine_.table_[sender].who->name;
    mail.at = engine_.now_.boot;
    mail.body.assign(frame.body.begin(), frame.body.end());
    mail.inner = (frame.flags & kFlagInner) != 0;
    mail.generation = engine_.table_[sender].key.generation;
    out.Add(std::move(mail));
    return std::nullopt;
  }
  if (frame.letter == Letter::kCancel) return TakeCancel(out, frame);
  ServedRequest* served = served_.Find(frame.sender, frame.sequence);
  if (served != nullptr) return TakeKnown(out, frame, *served, stream);
  return TakeNew(out, frame, sender, stream);
}

std::optional<Frame> Engine::Impl::MailDesk::TakeCancel(Outbox& out, const Frame& frame) {
  ServedRequest* served = served_.Find(frame.sender, frame.sequence);
  if (served == nullptr) {
    served_.TakeCancelled(frame.sender, frame.sequence, engine_.now_.boot);
  } else if (served->state == ServedRequest::State::kWorking) {
    EndServed(out, *served, absl::CancelledError("the member that asked waits for it no more"));
  }
  Frame receipt = MailTo(frame.sender, Letter::kReceipt, frame.sequence);
  receipt.code = 1;
  return receipt;
}

std::optional<Frame> Engine::Impl::MailDesk::TakeKnown(Outbox& out, const Frame& frame, ServedRequest& served,
                                                       ExchangeId stream) {
  ++engine_.counters_[Counter::kRequestsRepeated];
  if (served.state == ServedRequest::State::kOver || served.deadline <= engine_.now_.boot) return std::nullopt;
  if (served.state == ServedRequest::State::kAnswered) return AnswerOf(served);
  if (!served.reliable) return MailTo(frame.sender, Letter::kReceipt, frame.sequence);
  if (stream == 0) return std::nullopt;
  if (served.stream != 0) out.Add(Outbox::Reply{served.stream, {}});
  served.stream = stream;
  return std::nullopt;
}

std::optional<Frame> Engine::Impl::MailDesk::TakeNew(Outbox& out, const Frame& frame, PeerId sender,
                                                     ExchangeId stream) {
  if (frame.letter == Letter::kRepeat) {
    return Refused(frame, absl::StatusCode::kUnavailable, "this request is not known here any more");
  }
  if (served_.IsPast(frame.sender, frame.sequence)) {
    ++engine_.counters_[Counter::kRequestsLate];
    return TooLate(frame);
  }
  if (frame.budget < kMailBudgetMin) {
    ++engine_.counters_[Counter::kRequestsExpired];
    return std::nullopt;
  }
  if (engine_.phase_ == Phase::kLeaving) {
    return Refused(frame, absl::StatusCode::kUnavailable, "this member is leaving");
  }
  if (std::string full = served_.Full(frame.sender, frame.body.size()); !full.empty()) {
    ++engine_.counters_[Counter::kRequestsRefused];
    served_.SetPast(frame.sender, frame.sequence);  // who is told so is not served by a late copy
    return Refused(frame, absl::StatusCode::kResourceExhausted, std::move(full));
  }
  const Instant deadline = engine_.now_.boot + std::min(frame.budget, kMailBudgetMax);
  ServedRequest& served = served_.Take(frame.sender, frame.sequence, deadline, frame.body.size());
  served.member = engine_.table_[sender].who->name;
  served.reliable = frame.letter == Letter::kReliable;
  served.inner = (frame.flags & kFlagInner) != 0;
  Mail mail;
  mail.inner = served.inner;
  mail.generation = engine_.table_[sender].key.generation;
  mail.kind = served.reliable ? MailKind::kMessage : MailKind::kRequest;
  mail.id = served.id;
  mail.member = served.member;
  mail.at = engine_.now_.boot;
  mail.deadline = deadline;
  mail.body.assign(frame.body.begin(), frame.body.end());
  out.Add(std::move(mail));
  ++engine_.counters_[served.reliable ? Counter::kMessagesReceived : Counter::kRequestsServed];
  if (stream == 0) return std::nullopt;
  if (!served.reliable) return MailTo(frame.sender, Letter::kReceipt, frame.sequence);
  served.stream = stream;
  return std::nullopt;
}

// Its body is good until the next one.
Frame Engine::Impl::MailDesk::Refused(const Frame& frame, absl::StatusCode code, std::string text) {
  refusal_text_ = std::move(text);
  Frame reply = MailTo(frame.sender, Letter::kAnswer, frame.sequence);
  reply.code = static_cast<std::uint8_t>(code);
  reply.body = AsBody(refusal_text_);
  return reply;
}

// The same.
Frame Engine::Impl::MailDesk::TooLate(const Frame& frame) {
  ByteWriter(past_.data()).Fixed(served_.past(frame.sender));
  Frame reply = MailTo(frame.sender, Letter::kAnswer, frame.sequence);
  reply.code = kCodeLate;
  reply.body = past_;
  return reply;
}

Frame Engine::Impl::MailDesk::AnswerOf(const ServedRequest& served) const {
  Frame frame = MailTo(served.peer, Letter::kAnswer, served.number);
  frame.code = served.code;
  frame.body = served.answer;
  if (served.forgotten) {
    frame.code = static_cast<std::uint8_t>(absl::StatusCode::kUnavailable);
    frame.body = AsBody("it was done, but its answer is no longer kept (MailLimits::answer_bytes)");
  }
  return frame;
}

absl::Status Engine::Impl::MailDesk::Unanswerable(const ServedRequest* served) {
  if (served == nullptr) return absl::NotFoundError("no such request is served here");
  switch (served->state) {
    case ServedRequest::State::kAnswered:
      return absl::FailedPreconditionError("it has been answered");
    case ServedRequest::State::kOver:
      if (served->cancelled) return absl::CancelledError("it was cancelled; nobody waits for an answer");
      return absl::DeadlineExceededError("its deadline has passed; nobody waits for an answer");
    case ServedRequest::State::kWorking:
    case ServedRequest::State::kFree:
      break;
  }
  return absl::OkStatus();
}

absl::Status Engine::Impl::MailDesk::Take(Outbox& out, const Respond& order) {
  ServedDue(out);  // whose deadline is now is late, whether the timer has run or not
  ServedRequest* served = served_.FindId(order.id);
  if (absl::Status status = Unanswerable(served); !status.ok()) return status;
  if (order.body.size() > kMailBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("body: ", order.body.size(), " bytes; an answer has at most ", kMailBytesMax));
  }
  const ExchangeId stream = std::exchange(served->stream, 0);
  const auto code = static_cast<std::uint8_t>(order.status.code());
  std::vector<std::byte> body = order.body;
  if (!order.status.ok()) {
    const std::string_view text(order.status.message().data(), order.status.message().size());
    const std::span<const std::byte> cut = AsBody(text.substr(0, kStatusTextMax));
    body.assign(cut.begin(), cut.end());
  }
  served_.Answer(*served, code, std::move(body));
  if (stream == 0) {
    SendAnswer(out, *served);
  } else {
    Reply(out, stream, AnswerOf(*served));
  }
  return absl::OkStatus();
}

void Engine::Impl::MailDesk::SendAnswer(Outbox& out, ServedRequest& served) {
  const PeerId row = engine_.table_.FindId(served.peer);
  if (row == kNoPeer || served.deadline <= engine_.now_.boot) return;
  const Frame frame = AnswerOf(served);
  const Address& to = engine_.table_[row].address;
  if (FitsDatagram(frame)) return SendDatagram(out, to, frame);
  if (served.streaming) return;
  served.streaming =
      SendStream(out, {.errand = Errand::kMailAnswer, .address = to, .served = served.id}, frame, served.deadline);
}

// What was asked of others for it ends with it.
void Engine::Impl::MailDesk::EndServed(Outbox& out, ServedRequest& served, const absl::Status& why) {
  const bool expired = absl::IsDeadlineExceeded(why);
  ++engine_.counters_[expired ? Counter::kRequestsExpired : Counter::kRequestsCancelled];
  if (served.stream != 0) out.Add(Outbox::Reply{std::exchange(served.stream, 0), {}});
  Mail mail;
  mail.kind = MailKind::kCancelled;
  mail.inner = served.inner;
  mail.id = served.id;
  mail.member = served.member;
  mail.at = engine_.now_.boot;
  mail.deadline = served.deadline;
  mail.status = why;
  out.Add(std::move(mail));
  served_.Over(served, !expired);
  requests_.ForEach([&](OpenRequest& request) {
    if (request.cause == served.id && !request.cancelled) Cancel(out, request, why);
  });
}

void Engine::Impl::MailDesk::ServedDue(Outbox& out) {
  while (ServedRequest* served = served_.Expired(engine_.now_.boot)) {
    EndServed(out, *served, absl::DeadlineExceededError("its deadline has passed"));
  }
  served_.BoundPast([this](std::uint64_t life) { return engine_.table_.FindId(life) != kNoPeer; });
}

}  // namespace nekton
