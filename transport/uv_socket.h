// The POSIX sockets under the libuv transport: addresses, bound pairs, interfaces.
#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "swim/address.h"

namespace nekton {

// Owns one file descriptor.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(other.Release()) {}
  Socket& operator=(Socket&& other) noexcept;
  ~Socket() { Reset(); }
  int fd() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  int Release();
  void Reset();

 private:
  int fd_ = -1;
};

// The form that a socket of that family takes: v4 or, for a dual-stack socket, v6 with v4 mapped. 0: a v4 socket cannot
// reach this address.
socklen_t ToSockaddr(const Address& address, bool v4_socket, sockaddr_storage* out);
// `from` is of AF_INET or AF_INET6; another family gives the unspecified address.
Address FromSockaddr(const sockaddr* from);

// One datagram socket and one listening stream socket on the same port.
struct BoundPair {
  Socket datagram;
  Socket stream;
  Address address;  // as bound, with the real port
  bool v4 = true;   // family of both
};
// Non-blocking, close-on-exec. Port 0: the system's choice, tried again while it is free for one of the two only. The
// datagram socket never has SO_REUSEADDR, with which Linux lets a second process steal it.
// AlreadyExists "address in use: 127.0.0.1:7946 (UDP)", FailedPrecondition "cannot bind ...".
absl::StatusOr<BoundPair> BindPair(const Address& bind);

// A non-blocking stream socket of the family of `bound`, from its address where that is a definite one.
Socket NewStream(const Address& bound, bool v4);

// "[fe80::1%lo]:7946" with the number of that interface in place of its name; any other text as it is. An interface that
// this machine does not have stays a name, which Address::Parse refuses.
std::string WithNumericZone(const std::string& text);

// Addresses of this machine's interfaces, port 0, loopback ones last.
std::vector<Address> InterfaceAddresses();
bool IsLoopback(const Address& address);
// What others are to be told when `bound` is a wildcard: the first address of an interface that is no loopback and of
// the same family (for "::" v6 first, then v4), else the loopback. A definite `bound` is returned as it is.
Address ReachableAddress(const Address& bound, const std::vector<Address>& interfaces);

}  // namespace nekton
