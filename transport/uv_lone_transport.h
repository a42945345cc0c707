// The transport of a standalone node: it has no socket. What is sent is lost, nobody answers, nothing comes in.
//
// Lives on the loop's thread; the loop is needed only to be late: an answer and the end of Close come in a later turn.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "transport/transport.h"

extern "C" {
typedef struct uv_loop_s uv_loop_t;
}

namespace nekton {

class UvLoneTransport final : public Transport {
 public:
  explicit UvLoneTransport(uv_loop_t* loop) : loop_(loop) {}

  void Open(Receiver* receiver) override;
  void Send(const Address& to, std::span<const std::byte> bytes) override;
  // Unavailable, in a later turn, unless it is closed first.
  void Exchange(ExchangeId id, const Address& to, Duration limit, std::vector<std::byte> request) override;
  void Reply(ExchangeId id, std::vector<std::byte> answer) override;
  Address local() const override { return {}; }  // nowhere: "[::]:0"
  std::size_t mtu() const override { return 65507; }
  void Close(std::function<void()> done) override;

 private:
  void InALaterTurn(std::function<void()> call);

  uv_loop_t* const loop_;
  std::shared_ptr<Receiver*> receiver_ = std::make_shared<Receiver*>(nullptr);  // null: closed, or not open yet
  bool closed_ = false;
};

}  // namespace nekton
