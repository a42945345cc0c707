// Messages and requests of other members, as a node hands them to its user, and how a request is answered.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "phi/time.h"

namespace nekton {

class NodeMail;
class Responder;

struct Message {
  std::string member;  // who sent it
  std::vector<std::byte> body;
};
using MessageHandler = std::function<void(const Message& message)>;
using RequestHandler = std::function<void(const Message& request, Responder responder)>;

// The one way to answer a request. Movable: keep it, and answer later, from any thread. One that is dropped unanswered
// answers Internal, so that the caller does not wait in vain. It may outlive the node.
//
// All functions but moves are thread-safe. One that was moved away is as if cancelled, and answers FailedPrecondition.
class Responder {
 public:
  struct State;
  explicit Responder(std::shared_ptr<State> state);
  Responder(Responder&&) noexcept;
  Responder& operator=(Responder&& other) noexcept;
  ~Responder();

  const std::string& member() const;  // who asks
  // On this machine's boot clock. What asks others for this request is given it in RequestOptions::deadline_of.
  Instant deadline() const;
  Duration remaining() const;  // until then; 0 after it
  // Nobody waits for an answer any more: the caller has cancelled the request, its deadline has passed, or the node was
  // stopped. Long work looks at it now and then.
  bool cancelled() const;
  // `callback` comes once, as other callbacks do, when the request is cancelled or its deadline passes before it is
  // answered; if that has happened, soon. It takes the place of an earlier one that has not come yet. Null: none. Not
  // after Stop().
  void OnCancel(std::function<void()> callback);

  // Each may be called once; the answer is on its way when it returns OK. Errors: FailedPrecondition (it was answered, or
  // the node is stopped); Cancelled and DeadlineExceeded (nobody waits for it); InvalidArgument (more than 1 MiB) and
  // ResourceExhausted (1,024 calls wait for the loop): then it may be called again.
  absl::Status Answer(std::vector<std::byte> body);
  absl::Status Fail(const absl::Status& status);  // not OK; the caller gets it, with at most 1,000 bytes of text

 private:
  friend class NodeMail;
  absl::Status Respond(const absl::Status& status, std::vector<std::byte> body);

  std::shared_ptr<State> state_;
};

}  // namespace nekton
