// The port between a member and a network. Shipped: libuv (transport/uv_transport.h), the simulator's, your own.
//
// All calls and all callbacks happen on one thread, the transport's. No callback comes from inside a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "phi/time.h"
#include "swim/address.h"
#include "swim/engine.h"
#include "swim/outbox.h"

namespace nekton {

class Transport {
 public:
  // Who is told what comes in.
  class Receiver {
   public:
    virtual ~Receiver() = default;
    virtual void OnDatagram(const Address& from, std::span<const std::byte> bytes) = 0;
    // `busy`: as many answers are under way as the transport takes (Engine::Serve). One that has no such bound says false.
    virtual void OnRequest(const Address& from, ExchangeId id, std::span<const std::byte> bytes, bool busy) = 0;
    virtual void OnAnswer(ExchangeId id, const absl::Status& status, std::span<const std::byte> bytes) = 0;
    // kRefused comes before the OnAnswer of the exchange that was refused.
    virtual void OnTrouble(const Address& about, Trouble trouble) = 0;
  };

  virtual ~Transport() = default;
  virtual void Open(Receiver* receiver) = 0;
  // May drop, never blocks. The bytes are used up when it returns.
  virtual void Send(const Address& to, std::span<const std::byte> bytes) = 0;
  // Connect, send the request, take one answer, close. Ends in exactly one OnAnswer within `limit`: OK with the bytes,
  // DeadlineExceeded, Unavailable (refused or reset), or ResourceExhausted (too many streams, or an answer too large).
  virtual void Exchange(ExchangeId id, const Address& to, Duration limit, std::vector<std::byte> request) = 0;
  // Answers an OnRequest; an empty answer closes the stream. An id that is gone is ignored.
  virtual void Reply(ExchangeId id, std::vector<std::byte> answer) = 0;
  virtual Address local() const = 0;    // with the real port
  virtual std::size_t mtu() const = 0;  // largest datagram, bytes
  // No callback but `done` comes after this call; `done` comes once, later.
  virtual void Close(std::function<void()> done) = 0;
};

}  // namespace nekton
