// Messages, requests and their answers between members: what a user orders, and what comes of it.
//
//   Send          best effort: one datagram, which may be lost, or come twice
//   SendReliable  sent until the other member's program has it, or the budget is spent; handed over once
//   Request       sent until the answer is here, or the budget is spent; handed over once
//
// Time. A budget is a duration; no clock reading goes over the wire. Each copy of a request carries what is left of its
// budget in whole milliseconds, rounded down, and the other member's deadline is its own clock at the arrival plus that.
// What was lost on the way there is not counted, which is why the caller also sends a cancellation when its own deadline
// comes. A handler that asks others names the request that it works for (on_behalf_of): its budget is then never more
// than what is left of that one's, and when that one is cancelled, or its deadline passes, these are cancelled too.
// Repetitions spend the same budget; they back off, and all of them together are bounded (swim/retry_budget.h).
//
// Once. A request has a number, and repetitions bear the same. The other member remembers the number until the request's
// deadline and MailLimits::keep have passed: a repetition is answered with the first answer, or absorbed while the handler
// works. Numbers rise, and up to the highest that it has forgotten, or refused, it begins nothing that it does not know: a
// copy that was held back somewhere, for however long, is told so, and a request that comes late but is still waited for
// gets a new number (one round trip more). So a handler sees each request at most once, and an answer says that it was done
// once. (`keep` has to be more than what the clocks of the two may drift apart within a budget.)
//
// Lives. A request is addressed to the life of its member that is known when it is ordered. If that life ends (it is
// restarted, dies, leaves or is forgotten) what it remembers is lost, and nobody can tell whether the request was done:
// it ends in Unavailable at once. One that is marked idempotent is instead sent to the next life, within its budget. So
// it is when we ourselves get another generation.
//
// How it travels. What fits into a datagram goes as one; what does not, and each reliable message, over a stream that
// ends when it has been received: the answer comes back by itself, as a datagram or over a stream of its own, however
// late. A stream that waited for its answer would be cheaper to write, but a member serves 32 streams at a time and each
// for some seconds; 32 slow handlers would keep out the syncs and joins of the group, and none could work longer than a
// stream may stay. A request that has been received is not sent again, only asked about (37 bytes).
//
// What is refused comes back as a status, and nothing is dropped in silence but best-effort messages, which are counted.
// None of it proves anything to the failure detector, but that a port which refuses a stream refuses it whoever asks
// (Trouble::kRefused). Who uses none of it pays nothing: no byte, no timer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "phi/time.h"
#include "swim/mail_limits.h"

namespace nekton {

inline constexpr std::size_t kMailBytesMax = std::size_t{1} << 20;        // body of a request, answer, reliable message
inline constexpr Duration kMailBudgetMin = std::chrono::milliseconds(1);  // budgets are whole milliseconds on the wire
inline constexpr Duration kMailBudgetMax = std::chrono::hours(1);
// What a frame adds to a body: Send takes Config::datagram_max less this.
inline constexpr std::size_t kMailHeadMax = 41;

// Ids of requests from here on are nekton's own.
inline constexpr std::uint64_t kInnerRequests = std::uint64_t{1} << 63;

// Orders. All but Respond and CancelRequest fail with InvalidArgument (size, budget, ourselves), NotFound (the member is
// unknown or has left), Unavailable (it is INACTIVE), and FailedPrecondition (we are leaving); then nothing is sent.

struct Send {
  std::string member;
  std::vector<std::byte> body;  // may be empty
};

// Each ends in one Mail of kind kDone with its id, unless Order says why not. Errors, besides: AlreadyExists (the id),
// ResourceExhausted (a limit), DeadlineExceeded or Cancelled (of what it is on behalf of).
struct Request {
  // Chosen by who orders: not the id of another that has not ended, and below kInnerRequests.
  std::uint64_t id = 0;
  std::string member;
  std::vector<std::byte> body;
  Duration budget{};
  std::uint64_t on_behalf_of = 0;  // the Mail::id of a request that we serve; 0: of none
  bool idempotent = false;         // may be done twice, by two lives of the member
};
struct SendReliable {
  std::uint64_t id = 0;
  std::string member;
  std::vector<std::byte> body;
  Duration budget{};
  std::uint64_t on_behalf_of = 0;
  bool idempotent = false;
};

// Ends a request or reliable message of ours with Cancelled, and tells the other member. NotFound: there is none.
struct CancelRequest {
  std::uint64_t id = 0;
};

// Answers a request that we serve, or says that a reliable message was taken. Errors: NotFound; Cancelled and
// DeadlineExceeded (nobody waits for the answer any more, and none is sent); FailedPrecondition (it has been answered);
// InvalidArgument (a body above kMailBytesMax: then it may be answered again).
struct Respond {
  std::uint64_t id = 0;  // Mail::id
  absl::Status status;   // not OK: the caller gets it, and no body; its message is cut to 1,000 bytes
  std::vector<std::byte> body;
};

// InvalidArgument: what no request or reliable message may have.
absl::Status CheckMail(std::size_t bytes, Duration budget);

enum class MailKind : std::uint8_t {
  kMessage,    // a message of another member. With an id it is a reliable one, and wants to be responded to
  kRequest,    // a request of another member, which wants to be responded to
  kCancelled,  // nobody waits for our answer to it any more: its work may stop
  kDone,       // how a Request or SendReliable of ours ended
};

// What came, or what became of what was sent.
struct Mail {
  MailKind kind = MailKind::kMessage;
  std::uint64_t id = 0;  // kDone: as it was ordered; else: what Respond names. 0: a message that is best effort
  std::string member;    // the other one
  Instant at{};
  Instant deadline{};  // kRequest, kMessage with an id: on our boot clock
  // kDone: OK; DeadlineExceeded, at the very instant of the deadline; Cancelled; Unavailable (the life that it was
  // addressed to ended: it may have been done or not); or what was answered: Unimplemented where nobody takes it,
  // ResourceExhausted where the other member is overloaded (not to be repeated at once), or any status of its handler.
  // kCancelled: Cancelled or DeadlineExceeded.
  absl::Status status;
  std::vector<std::byte> body;  // kMessage, kRequest; of kDone the answer
  // Nekton's own (Engine::SendInner): in Outbox::inner() and never in Outbox::mail().
  bool inner = false;
  std::uint64_t generation = 0;  // inner messages and requests: of the life of `member` that sent it
};

}  // namespace nekton
