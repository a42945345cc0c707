// A small service of objects, made of nekton's parts, to be copied: each object has one home among the members of the view,
// which answers stat and get, and takes commits while it holds a write lease. Requests travel as requests of the node.
//
//   nekton::ObjectService objects(*node);
//   objects.Commit(capability, "a new value", [](const nekton::ObjectService::Result& r) { ... r.evidence.status ... });
//
// Objects are kept in memory, and by their home alone: whoever becomes the home begins with none of them. A service that
// keeps what was committed writes it to a resource that all homes share and that compares fencing tokens, for here the
// check and the write are two steps, and a pause may come between them.
//
// Thread-safe. The node outlives the service. `done` comes once, on the node's delivery thread or inside the call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "lease/capability.h"
#include "lease/evidence.h"
#include "lease/object_id.h"
#include "phi/time.h"
#include "transport/node.h"

namespace nekton {

class ObjectService {
 public:
  struct Result {
    ResultEvidence evidence;    // what became of it: a row, and `status`
    std::uint64_t version = 0;  // commits to the object since its home took it over; 0: none
    std::string value;          // Get
  };
  using Done = std::function<void(const Result&)>;
  static constexpr std::size_t kObjectsMax = 10'000;  // that one home keeps; beyond, commits end in "full"
  static constexpr Duration kBudget = std::chrono::seconds(2);

  // Takes the node's requests (Node::OnRequest).
  explicit ObjectService(Node& node);
  ~ObjectService();
  ObjectService(const ObjectService&) = delete;
  ObjectService& operator=(const ObjectService&) = delete;

  // Each asks the object's home, which may be this member, and follows one MOVED. Budgets are for all of it.
  void Stat(const Capability& right, Done done, Duration budget = kBudget);
  void Get(const Capability& right, Done done, Duration budget = kBudget);
  void Commit(const Capability& right, std::string value, Done done, Duration budget = kBudget);

  // Sends the last commit of this service to an object once more, as it was then, epoch and all, to the home of now: what a
  // network does that delivers a frame late. NotFound: there was none.
  absl::Status Replay(const ObjectId& object, Done done, Duration budget = kBudget);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace nekton
