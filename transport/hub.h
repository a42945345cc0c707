// A network inside one process: for tests of a program that uses nekton, without sockets, ports or a kernel's buffers.
//
// Each transport lives on the thread that calls its Turn(); the hub between them is thread-safe, so members may live on
// threads of their own. On a libuv loop: transport/uv_hub.h. Nothing is lost or late of itself (transport/fault_transport.h
// makes it so), but that an endpoint keeps at most kInboxMax datagrams for its next turn; further ones are dropped and
// counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "transport/transport.h"

namespace nekton {

class HubTransport;

class Hub {
 public:
  static constexpr std::size_t kInboxMax = 4096;
  static constexpr std::size_t kMtu = 65507;

  // `wake` is called, from any thread, when there is something for Turn(); it must not call Turn() itself. `clock` is read
  // on the transport's thread. Port 0: a free one; the unspecified address: 127.0.0.1. AlreadyExists: address in use.
  absl::StatusOr<std::unique_ptr<HubTransport>> Attach(Address bind, std::function<void()> wake,
                                                       std::function<Instant()> clock);
  std::uint64_t dropped() const;  // datagrams to nobody, or to a full inbox

 private:
  friend class HubTransport;
  enum class What : std::uint8_t { kDatagram, kRequest, kAnswer, kTrouble };
  struct Item {
    What what = What::kDatagram;
    Address from;
    ExchangeId id = 0;
    absl::Status status;
    std::vector<std::byte> bytes;
  };
  struct Endpoint {
    std::function<void()> wake;
    std::deque<Item> inbox;
    std::size_t datagrams = 0;  // in it
  };
  struct Asked {  // a request that waits for its answer
    Address client;
    Address server;
    ExchangeId id = 0;  // the client's
  };
  // What the endpoints share; they may outlive the hub.
  struct State {
    std::mutex mutex;
    std::map<Address, Endpoint> endpoints;
    std::map<ExchangeId, Asked> asked;
    ExchangeId next = 1;
    std::uint16_t next_port = 1024;
    std::uint64_t dropped = 0;
    bool Post(const Address& to, Item item);  // the mutex is held
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

class HubTransport final : public Transport {
 public:
  ~HubTransport() override;
  void Open(Receiver* receiver) override;
  void Send(const Address& to, std::span<const std::byte> bytes) override;
  void Exchange(ExchangeId id, const Address& to, Duration limit, std::vector<std::byte> request) override;
  void Reply(ExchangeId id, std::vector<std::byte> answer) override;
  Address local() const override { return local_; }
  std::size_t mtu() const override { return Hub::kMtu; }
  void Close(std::function<void()> done) override;

  // Hands over what has come, and ends what is overdue.
  void Turn();
  Instant NextTurn() const;  // when the next exchange is overdue; kNever: none. Input comes with `wake`

 private:
  friend class Hub;
  HubTransport(std::shared_ptr<Hub::State> state, const Address& local, std::function<void()> wake,
               std::function<Instant()> clock)
      : state_(std::move(state)), local_(local), wake_(std::move(wake)), clock_(std::move(clock)) {}
  void Later(Hub::Item item);
  void Hand(Hub::Item& item);
  void Detach();

  const std::shared_ptr<Hub::State> state_;
  const Address local_;
  const std::function<void()> wake_;
  const std::function<Instant()> clock_;
  Receiver* receiver_ = nullptr;
  bool closed_ = false;
  std::function<void()> done_;
  std::map<ExchangeId, Instant> open_;  // our exchanges, by when they are overdue
};

}  // namespace nekton
