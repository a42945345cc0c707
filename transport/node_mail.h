// Between a node's loop and those who send and answer messages and requests: who waits for which answer, and the handlers.
//
// The loop hands in what the engine said, and never waits for a handler. Handlers and completions are callbacks like any
// other (transport/delivery.h). At most `bound` messages and requests wait for a handler; a further one is refused with
// ResourceExhausted, or, if it is best effort, dropped and counted. All functions are thread-safe but for those of the
// loop.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "phi/time.h"
#include "swim/mail.h"
#include "transport/delivery.h"
#include "transport/driver.h"
#include "transport/responder.h"

namespace nekton {

class NodeMail : public std::enable_shared_from_this<NodeMail> {
 public:
  using Bytes = std::vector<std::byte>;
  using Done = std::function<void(const absl::StatusOr<Bytes>& answer)>;
  // Has the loop's thread do something (NodeCore::Call).
  using Caller = std::function<absl::Status(std::function<void(Driver&)>)>;
  struct Losses {
    std::uint64_t messages = 0;   // best effort, dropped at the bound
    std::uint64_t unhandled = 0;  // best effort, without a handler
    std::uint64_t refused = 0;    // requests and reliable messages, at the bound
    std::uint64_t unsent = 0;     // best effort, the member went before the loop came to it
  };
  struct Errand {
    std::string member;
    Bytes body;
    Instant deadline{};
    std::uint64_t on_behalf_of = 0;
    bool idempotent = false;
    bool reliable = false;
    bool direct = false;  // `done` is called on the loop's thread: for those who block, which no handler may delay
  };

  explicit NodeMail(std::shared_ptr<Delivery> delivery) : delivery_(std::move(delivery)) {}

  // Before anything else.
  void SetBound(std::size_t bound) { bound_ = bound; }
  void SetCaller(Caller caller) { caller_ = std::move(caller); }

  // The loop.
  void Hand(std::vector<Mail>& mail, Driver& driver);

  // From here on no handler and no completion is called; they are dropped.
  void Close();

  // It is for that request: not later than its deadline, and cancelled with it.
  static bool OnBehalfOf(const Responder& request, Errand& errand);  // false: it was moved away
  absl::Status Send(std::string member, Bytes body);
  // The id, by which it may be cancelled. If it is not OK `done` never comes.
  absl::StatusOr<std::uint64_t> Begin(Errand errand, Done done);
  absl::Status Cancel(std::uint64_t id);  // NotFound: it has ended
  // An earlier one is not running any more when this returns, unless it is called in a callback.
  void SetHandler(MessageHandler handler);
  void SetHandler(RequestHandler handler);
  Losses losses() const;

  absl::Status Call(std::function<void(Driver&)> work) { return caller_(std::move(work)); }
  void Post(std::function<void()> callback);
  void Forget(std::uint64_t served);  // it was answered

 private:
  struct Waiting {
    Done done;
    bool direct = false;
  };

  void End(std::uint64_t id, absl::StatusOr<Bytes> answer);
  void HandMessage(Mail mail, Driver& driver);
  void HandRequest(Mail mail, Driver& driver);
  void HandCancelled(const Mail& mail);
  bool Full();
  template <typename Handler>
  void Replace(std::shared_ptr<Handler>& slot, Handler handler);
  template <typename Handler, typename Use>
  void Run(const std::shared_ptr<Handler>& slot, Use use);

  const std::shared_ptr<Delivery> delivery_;
  Caller caller_;
  std::size_t bound_ = 0;
  std::atomic<std::size_t> queued_ = 0;  // for handlers
  std::mutex running_;                   // held while a handler runs, by the dispatcher

  mutable std::mutex mutex_;  // over what follows
  bool closed_ = false;
  std::uint64_t last_id_ = 0;
  absl::flat_hash_map<std::uint64_t, Waiting> waiting_;
  absl::flat_hash_map<std::uint64_t, std::weak_ptr<Responder::State>> serving_;
  std::shared_ptr<MessageHandler> on_message_;
  std::shared_ptr<RequestHandler> on_request_;
  Losses losses_;
};

}  // namespace nekton
