// All that a member needs of its host: a datagram socket, streams with a deadline, and the time. With POSIX alone.
//
// Streams carry one request and one answer, each as 4 bytes of length (little endian) and the bytes.
#pragma once

#include <poll.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lease/member.h"

namespace bare {

nekton::Tick Now();

// One connection, ours or one that we serve. Closed when it is destroyed.
struct Stream {
  int fd = -1;
  bool served = false;
  nekton::ExchangeId id = 0;
  nekton::Address peer;
  nekton::Instant deadline{};
  std::vector<std::byte> out;  // what is still to be sent, length first
  std::vector<std::byte> in;   // what has come, length first
  bool asked = false;          // served: the member has the request
  bool done = false;

  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();
};

class Host {
 public:
  // On a port of the system's choice of 127.0.0.1.
  static absl::StatusOr<std::unique_ptr<Host>> Create(const nekton::Config& config);
  // The same of the local profile; generation and seed are the time.
  static absl::StatusOr<std::unique_ptr<Host>> Begin(const std::string& name);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  void AddPolled(std::vector<pollfd>& polled) const;
  // Neither blocks. Input comes first: what is waiting in the sockets must not be judged missing.
  void HandleInput();
  void HandleTime();
  nekton::Instant NextWake() const;

  void Join(const nekton::Address& seed);
  const nekton::Address& address() const { return address_; }
  std::size_t alive() const { return member_.alive(); }
  bool probed() const;  // a probe of another member was answered

 private:
  Host(nekton::Member member, const nekton::Address& address, int datagrams, int listener);
  void ReadDatagrams();
  void AcceptStreams();
  void Advance(Stream& stream);
  void Finish(Stream& stream, const absl::Status& status);
  void Open(nekton::Outbox::Request& request);
  void Drain();

  nekton::Member member_;
  nekton::Address address_;
  nekton::Outbox out_;
  int datagrams_;
  int listener_;
  nekton::ExchangeId next_served_ = 1;
  std::vector<std::unique_ptr<Stream>> streams_;
};

}  // namespace bare
