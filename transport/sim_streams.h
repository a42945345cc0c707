// The streams of the simulated network: each carries one request and one answer.
//
//   client  -- SYN -->  server     or a refusal comes back
//   client <-- SYN/ACK  server
//   client -- request-> server     the server is asked (Serve)
//   client <- answer --  server    the client is told (Answer)
//
// Each arrow is one segment of the link (SimNetwork::Segment). A segment that is dropped is sent again: SYN or its
// answer after 1 s, 2 s, 4 s, ... (RFC 6298, section 2.1), request and answer after 200 ms, 400 ms, ... (Linux's least
// timeout), until the exchange's limit ends it. A frozen process has a machine that still accepts and still sends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "phi/time.h"
#include "swim/address.h"
#include "swim/outbox.h"
#include "transport/sim_network.h"

namespace nekton {

enum class StreamEnd : std::uint8_t { kAnswered, kRefused, kReset, kClosed, kExpired };
absl::Status StatusOf(StreamEnd end);

class SimStreams {
 public:
  // What arrives, and what a timer does.
  enum class Step : std::uint8_t {
    kSyn,
    kSynAck,
    kRefusal,
    kRequest,
    kAnswer,
    kClosed,  // the end of the stream instead of an answer
    kReset,
    kResendSyn,
    kResendRequest,
    kResendAnswer,
    kExpire,
  };
  using OnAnswer = std::function<void(const absl::Status&, std::span<const std::byte>)>;

  // Who answers at an address.
  struct Listener {
    enum class Kind : std::uint8_t { kAccepts, kRefuses, kSilent };
    Kind kind = Kind::kSilent;
    SimId member = kNobody;
    std::uint32_t life = 0;
  };

  // What streams need of the world around them.
  class World {
   public:
    virtual ~World() = default;
    virtual Duration StreamTime() const = 0;
    virtual SimNetwork::Fate SendSegment(SimId from, SimId to) = 0;
    // Advance(handle, step) is to be called at `at`.
    virtual void Schedule(std::uint64_t handle, Step step, Duration at) = 0;
    virtual Listener ListenerAt(const Address& address) const = 0;
    // That life of the member still goes on, and its machine is not suspended.
    virtual bool Reachable(SimId member, std::uint32_t life) const = 0;
    virtual void Deliver(SimId server, const Address& client, ExchangeId id, std::vector<std::byte> request) = 0;
    virtual void End(SimId client, std::uint32_t life, ExchangeId id, const Address& server, StreamEnd end,
                     std::vector<std::byte> answer) = 0;
    virtual void CountResend() = 0;
  };

  explicit SimStreams(World* world) : world_(world) {}

  // Opens a stream; its end is one World::End, unless the client's life ends first. Connect sends the SYN: a blocked
  // client opens now and connects later.
  std::uint64_t Open(SimId client, std::uint32_t life, const Address& client_address, Outbox::Request request);
  void Connect(std::uint64_t handle);
  // A request from outside the network, already at the server: World::Deliver is called at once.
  void OpenFromOutside(const Listener& server, const Address& client, std::span<const std::byte> request,
                       OnAnswer done);
  // The server's answer to World::Deliver; empty: it closes the stream. An id that is gone is ignored.
  void Reply(ExchangeId id, std::vector<std::byte> answer);
  // A life ended: its own requests end in silence; if `resets`, who waits for its answers hears of it.
  void Stop(SimId member, std::uint32_t life, bool resets);
  void Advance(std::uint64_t handle, Step step);
  std::size_t open() const { return open_; }

 private:
  enum class Phase : std::uint8_t { kFree, kOpen, kConnecting, kRequesting, kServing, kAnswering };
  struct Exchange {
    Phase phase = Phase::kFree;
    Step ending = Step::kAnswer;  // kAnswering: what the server sends, kAnswer or kClosed
    std::uint32_t serial = 0;     // tells the users of a slot apart
    std::uint32_t client_life = 0;
    SimId client = kNobody;
    SimId server = kNobody;
    std::uint32_t server_life = 0;
    ExchangeId id = 0;
    Address client_address;
    Address server_address;
    Duration patience{};  // until the next sending again
    std::vector<std::byte> request;
    std::vector<std::byte> answer;
    OnAnswer done;
  };

  Exchange& Take(std::uint64_t* handle);
  Exchange* Find(std::uint64_t handle);
  void Free(Exchange& exchange);
  void Send(SimId from, SimId to, std::uint64_t handle, Step step);
  // Sends what the phase is about, and sets the timer that does it again.
  void SendAndWatch(Exchange& exchange, std::uint64_t handle);
  void Resend(Exchange& exchange, std::uint64_t handle, Phase phase, Step step);
  void OnSyn(Exchange& exchange, std::uint64_t handle);
  void OnSynAck(Exchange& exchange, std::uint64_t handle);
  void OnRequest(Exchange& exchange, std::uint64_t handle);
  void Finish(Exchange& exchange, StreamEnd end);

  World* world_;
  std::vector<Exchange> exchanges_;
  std::vector<std::uint32_t> free_;
  std::size_t open_ = 0;
};

}  // namespace nekton
