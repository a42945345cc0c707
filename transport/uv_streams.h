// The stream half of the libuv transport: a listener, the requests it serves, and our own exchanges.
//
// Polls its own sockets (uv_poll) where uv_tcp would do: a write of uv_tcp to a peer that has gone raises SIGPIPE,
// which ends a host program that attached us to its loop and does not happen to ignore it.
#pragma once

#include <uv.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "phi/time.h"
#include "swim/address.h"
#include "swim/message.h"
#include "swim/outbox.h"
#include "transport/transport_counters.h"
#include "transport/uv_frame.h"
#include "transport/uv_socket.h"

namespace nekton {

struct StreamLimits {
  // One served stream has so long from its accept to the last byte of its answer; nothing extends it.
  Duration served = std::chrono::seconds(5);
  std::size_t served_max = 64;    // connections; at the bound see UvStreams
  std::size_t answers_max = 32;   // of them whose request is whole and whose answer is not all sent: beyond, busy
  std::size_t outgoing_max = 64;  // a further exchange ends in ResourceExhausted
  std::size_t inbound_bytes_max = 4 * kSyncBytesMax;
};

// Lives on its loop's thread. Must be closed, and live until OnStreamsClosed; a call after Close() does nothing.
//
// At `served_max` streams a new one takes the place of the one that has kept us waiting for its request longest, if
// that is a second or more (silent strangers must not lock a joiner out); else it is closed at once. What is bounded apart
// from that is the answers under way, each of which may hold a whole table in memory: at `answers_max` a further request
// is handed over as `busy`, so that it gets an answer in words. Small answers go to the kernel at once and never count; a
// rate would only slow a group that starts, whose tables are small.
class UvStreams {
 public:
  class Owner {
   public:
    // Not inside a call of ours, but for Reply() inside OnStreamRequest and the like, which is what they are for.
    // `busy`: `answers_max` others wait for their answers, or have not taken them in yet.
    virtual void OnStreamRequest(const Address& from, ExchangeId id, std::span<const std::byte> bytes, bool busy) = 0;
    virtual void OnStreamAnswer(ExchangeId id, const absl::Status& status, std::span<const std::byte> bytes) = 0;
    virtual void OnStreamRefused(const Address& to) = 0;                      // before the answer of its exchange
    virtual void OnStranger(const Address& from, std::string_view what) = 0;  // it speaks another language
    virtual void OnStreamsClosed() = 0;

   protected:
    ~Owner() = default;
  };

  UvStreams(Owner& owner, TransportCounters& counters, const StreamLimits& limits)
      : owner_(owner), counters_(counters), limits_(limits), budget_(limits.inbound_bytes_max) {}
  UvStreams(const UvStreams&) = delete;
  UvStreams& operator=(const UvStreams&) = delete;

  // 0, or a libuv error, after which only Close() may follow. Accepts from Listen() on.
  int Open(uv_loop_t* loop, Socket listener, const Address& bound, bool v4);
  int Listen();
  void Exchange(ExchangeId id, const Address& to, Duration limit, std::vector<std::byte> request);
  void Reply(ExchangeId id, std::vector<std::byte> answer);
  void Close();

 private:
  struct Stream;
  // An exchange that ended before it had a stream: its answer must not come from inside Exchange().
  struct Stillborn {
    ExchangeId id = 0;
    Address to;
    bool refused = false;
    absl::Status status;
  };

  void OnAcceptable();
  void Admit(Socket socket, const Address& from);
  bool EvictSlow();
  bool Busy() const;
  void OnReady(Stream* s, int status);
  void Connected(Stream* s);
  void Send(Stream* s);
  void Receive(Stream* s, std::size_t limit);
  void Finished(Stream* s);
  void Failed(Stream* s, FrameStep step, int error);
  void FailedServed(Stream* s, FrameStep step);
  void End(Stream* s, const absl::Status& status);
  void Refused(Stream* s, int error);
  void Poll(Stream* s, int events);
  Stream* Watch(Socket socket, bool served, const Address& peer);
  void Drop(Stream* s);
  void OnTimer();
  void Expire(Stream* s);
  void Rearm();
  void HandleClosed();

  Owner& owner_;
  TransportCounters& counters_;
  const StreamLimits limits_;
  ByteBudget budget_;
  uv_loop_t* loop_ = nullptr;
  Address bound_;
  bool v4_ = true;
  bool closing_ = false;
  std::size_t handles_ = 0;  // initialised and not yet closed
  Socket listener_;
  uv_poll_t acceptable_{};
  uv_timer_t timer_{};
  std::uint64_t accept_again_ = 0;  // 0: accepting; else resumes at that uv_hrtime (no descriptors were left)
  ExchangeId next_served_ = 1;
  std::vector<Stream*> served_;
  std::vector<Stream*> outgoing_;
  std::vector<Stillborn> stillborn_;
};

}  // namespace nekton
