// The libuv transport: datagrams over UDP, exchanges over TCP, both on one port of a loop that belongs to somebody.
//
// Lives on the loop's thread (created there, or before the loop runs). It never runs or stops the loop. What it refuses
// or loses is counted (transport/transport_counters.h).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "transport/transport.h"
#include "transport/transport_counters.h"
#include "transport/uv_streams.h"

namespace nekton {

struct UvTransportOptions {
  StreamLimits streams = {};
  // Told of peers that speak another language on the stream port; may be empty. Not more often than they come: the one
  // who writes a log limits it.
  std::function<void(const Address& from, std::string_view what)> on_stranger = {};
};

class UvTransport final : public Transport {
 public:
  // Errors of BindPair (uv_socket.h), or Internal with libuv's words.
  static absl::StatusOr<std::unique_ptr<UvTransport>> Create(uv_loop_t* loop, const Address& bind,
                                                             UvTransportOptions options = {});
  // Closes, if nobody has. The handles end in later turns of the loop; nothing of this object is needed for that.
  ~UvTransport() override;
  UvTransport(const UvTransport&) = delete;
  UvTransport& operator=(const UvTransport&) = delete;

  void Open(Receiver* receiver) override;  // once
  void Send(const Address& to, std::span<const std::byte> bytes) override;
  void Exchange(ExchangeId id, const Address& to, Duration limit, std::vector<std::byte> request) override;
  void Reply(ExchangeId id, std::vector<std::byte> answer) override;
  Address local() const override;
  std::size_t mtu() const override;
  // Legal inside a callback. `done` comes when every handle is closed; once it has come, or without it one turn later,
  // the loop can be closed. A second call does nothing.
  void Close(std::function<void()> done) override;

  const TransportCounters& counters() const;

 private:
  class Impl;
  explicit UvTransport(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace nekton
