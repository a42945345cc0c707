// The datagram half of the libuv transport.
#pragma once

#include <uv.h>

#include <cstddef>
#include <memory>
#include <span>

#include "swim/address.h"
#include "swim/engine.h"
#include "transport/transport_counters.h"
#include "transport/uv_socket.h"

namespace nekton {

// Lives on its loop's thread. Must be closed, and live until OnUdpClosed; a call after Close() does nothing.
class UvUdp {
 public:
  class Owner {
   public:
    virtual void OnUdp(const Address& from, std::span<const std::byte> bytes) = 0;
    // Inside Send(): it is the owner who must not pass it on from there.
    virtual void OnUdpTrouble(const Address& to, Trouble trouble) = 0;
    virtual void OnUdpClosed() = 0;

   protected:
    ~Owner() = default;
  };

  UvUdp(Owner& owner, TransportCounters& counters) : owner_(owner), counters_(counters) {}
  UvUdp(const UvUdp&) = delete;
  UvUdp& operator=(const UvUdp&) = delete;

  // 0, or a libuv error, after which only Close() may follow. Receives from Listen() on.
  int Open(uv_loop_t* loop, Socket socket, bool v4);
  int Listen();
  // One system call, at once: a queue would let one unreachable peer spoil up to 19 datagrams to others.
  void Send(const Address& to, std::span<const std::byte> bytes);
  void Close();

  // Seams of the two ends, for tests. What uv_udp_try_send() gave:
  void Sent(const Address& to, int result);
  // What a uv_udp_recv_cb is called with.
  void Received(ssize_t size, const std::byte* bytes, const sockaddr* from, unsigned flags);

  static constexpr std::size_t kDatagramMax = 65507;

 private:
  // libuv receives one datagram per 64 KiB of buffer and system call. The buffer is one for all calls of a loop's thread:
  // nothing is to be freed, a page that no datagram ever reached costs no memory, and a thousand transports on one loop
  // cost what one does. Only a loop that is run inside a callback of another gets one of its own.
  std::byte* Buffer();
  static constexpr std::size_t kChunk = 65536;
  static constexpr std::size_t kChunks = 20;  // libuv takes no more

  Owner& owner_;
  TransportCounters& counters_;
  uv_udp_t handle_{};
  bool inited_ = false;
  bool closing_ = false;
  bool v4_ = true;
  std::unique_ptr<std::byte[]> nested_;
};

}  // namespace nekton
