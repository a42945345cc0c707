// A subscription to a node's events, ended by its destructor.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "swim/event.h"

namespace nekton {

class Delivery;

using EventHandler = std::function<void(const Event&)>;

// What a new subscriber hears first.
enum class SubscribeFrom : std::uint8_t {
  kNow,       // events from here on
  kSnapshot,  // first one kJoined for each other member that is ACTIVE or SUSPECT now (its status says which)
};

// Move-only; may outlive the node. When Cancel() or the destructor has returned, the handler is not running and will
// not be called again: from another thread they wait for a call that is running; inside the handler itself they return
// at once. So do not hold a lock that the handler takes. Thread-compatible.
class Subscription {
 public:
  Subscription() = default;
  Subscription(Subscription&& other) noexcept;
  Subscription& operator=(Subscription&& other) noexcept;
  ~Subscription();
  void Cancel();

 private:
  friend class Delivery;
  Subscription(std::shared_ptr<Delivery> delivery, std::uint64_t id) : delivery_(std::move(delivery)), id_(id) {}
  std::shared_ptr<Delivery> delivery_;
  std::uint64_t id_ = 0;
};

}  // namespace nekton
