// The part of the engine that messages and requests between members go through (swim/mail.h). Include it from
// swim/engine*.cc only.
//
//   engine_request.cc   our messages and requests to others, and what becomes of them
//   engine_respond.cc   others' to us
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

#include "swim/engine_impl.h"
#include "swim/requests.h"
#include "swim/retry_budget.h"
#include "swim/served_requests.h"

namespace nekton {

class Engine::Impl::MailDesk {
 public:
  explicit MailDesk(Impl& engine);

  template <typename Ordered>
  static constexpr bool Takes =
      std::is_same_v<Ordered, nekton::Send> || std::is_same_v<Ordered, SendReliable> ||
      std::is_same_v<Ordered, Request> || std::is_same_v<Ordered, CancelRequest> || std::is_same_v<Ordered, Respond>;
  // `inner`: nekton's own, of which the other member's users hear nothing.
  absl::Status Take(Outbox& out, const nekton::Send& order, bool inner = false);
  absl::Status Take(Outbox& out, const Request& order, bool inner = false);
  absl::Status Take(Outbox& out, const SendReliable& order);
  absl::Status Take(Outbox& out, const CancelRequest& order);
  absl::Status Take(Outbox& out, const Respond& order);

  void SetLimits(const MailLimits& limits) {
    requests_.SetLimits(limits);
    served_.SetLimits(limits);
    retries_.SetRate(limits.retries_per_second);
  }
  void Receive(Outbox& out, const Address& from, const Frame& frame, PeerId sender);
  void Serve(Outbox& out, ExchangeId id, const Frame& frame);
  void Exchanged(Outbox& out, const Exchange& exchange, const absl::Status& result, const Frame& frame);
  Instant next() const { return std::min(requests_.next(), served_.next()); }
  void Due(Outbox& out);
  // At the end of each input: what the news of members means for what is open.
  void Settle(Outbox& out);

 private:
  static constexpr std::size_t kStreamsMax = 16;  // of ours at once: syncs and probes need theirs

  Frame MailTo(std::uint64_t life, Letter letter, std::uint32_t number) const;
  bool FitsDatagram(const Frame& mail) const { return mail.body.size() + kMailHeadMax <= engine_.config_.datagram_max; }
  void SendDatagram(Outbox& out, const Address& to, const Frame& mail);
  bool SendStream(Outbox& out, Exchange exchange, const Frame& mail, Instant deadline);

  // --- engine_request.cc
  absl::StatusOr<PeerId> Addressee(const std::string& member) const;
  template <typename Ordered>
  absl::Status TakeRequest(Outbox& out, const Ordered& order, bool inner);
  void SendRequest(Outbox& out, OpenRequest& request);
  void RequestsDue(Outbox& out);
  void Expire(Outbox& out, OpenRequest& request);
  void TellDone(Outbox& out, const OpenRequest& request, absl::Status status, std::span<const std::byte> body = {});
  void Cancel(Outbox& out, OpenRequest& request, absl::Status why);
  void OnAnswer(Outbox& out, const Frame& frame, const Address* from);  // null: over a stream
  bool IsFromAddressee(const OpenRequest& request, const Frame& frame, const Address* from) const;
  void OtherLife(Outbox& out, OpenRequest& request);
  void CameLate(OpenRequest& request, const Frame& frame);
  void Review(Outbox& out);

  // --- engine_respond.cc
  void Reply(Outbox& out, ExchangeId id, const Frame& mail);
  std::optional<Frame> TakeMail(Outbox& out, const Frame& frame, PeerId sender, ExchangeId stream);
  std::optional<Frame> TakeCancel(Outbox& out, const Frame& frame);
  std::optional<Frame> TakeKnown(Outbox& out, const Frame& frame, ServedRequest& served, ExchangeId stream);
  std::optional<Frame> TakeNew(Outbox& out, const Frame& frame, PeerId sender, ExchangeId stream);
  Frame Refused(const Frame& frame, absl::StatusCode code, std::string text);
  Frame TooLate(const Frame& frame);
  Frame AnswerOf(const ServedRequest& served) const;
  static absl::Status Unanswerable(const ServedRequest* served);
  void SendAnswer(Outbox& out, ServedRequest& served);
  void EndServed(Outbox& out, ServedRequest& served, const absl::Status& why);
  void ServedDue(Outbox& out);

  Impl& engine_;
  Requests requests_;
  ServedRequests served_;
  RetryBudget retries_;
  std::size_t streams_ = 0;     // exchanges of ours that carry mail
  std::uint64_t reviewed_ = 0;  // the table's version at the last review
  std::string refusal_text_;    // of the refusal in hand
  std::array<std::byte, 4> past_{};
};

}  // namespace nekton
