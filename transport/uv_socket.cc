#include "transport/uv_socket.h"

#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>
#include <uv.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

namespace nekton {
namespace {

constexpr int kPortTries = 16;  // of port 0
constexpr int kBacklog = 128;
constexpr int kReceiveBuffer = 1 << 20;  // bytes; what arrives while the process is stopped

bool IsLinkLocal(const std::array<std::uint8_t, 16>& ip) { return ip[0] == 0xfe && (ip[1] & 0xc0) == 0x80; }

bool SetOption(int fd, int level, int option, int value) {
  return setsockopt(fd, level, option, &value, sizeof(value)) == 0;
}

absl::Status BindError(const Address& address, std::string_view kind, int error) {
  const absl::string_view k(kind.data(), kind.size());
  if (error == EADDRINUSE) {
    return absl::AlreadyExistsError(absl::StrCat("address in use: ", address.ToString(), " (", k, ")"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("cannot bind ", address.ToString(), " (", k, "): ", std::strerror(error)));
}

absl::Status BindOne(const Socket& socket, const Address& address, bool v4, std::string_view kind) {
  if (!socket.open()) return BindError(address, kind, errno);
  // "::" is to hear v4 as well, whatever the system's default.
  if (!v4 && address.is_unspecified()) SetOption(socket.fd(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  sockaddr_storage storage{};
  const socklen_t size = ToSockaddr(address, v4, &storage);
  if (bind(socket.fd(), reinterpret_cast<const sockaddr*>(&storage), size) != 0) {
    return BindError(address, kind, errno);
  }
  return absl::OkStatus();
}

Address NameOf(const Socket& socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&storage), &size);
  return FromSockaddr(reinterpret_cast<const sockaddr*>(&storage));
}

absl::StatusOr<BoundPair> TryBind(const Address& wanted) {
  const bool v4 = wanted.is_v4();
  const int family = v4 ? AF_INET : AF_INET6;
  constexpr int kFlags = SOCK_NONBLOCK | SOCK_CLOEXEC;
  Socket stream(socket(family, SOCK_STREAM | kFlags, 0));
  // A listener may take over a port whose last connections linger; it cannot steal one that is listened on.
  if (stream.open()) SetOption(stream.fd(), SOL_SOCKET, SO_REUSEADDR, 1);
  Socket datagram(socket(family, SOCK_DGRAM | kFlags, 0));
  // UDP first where the port is given: its error is the one to tell.
  Address address = wanted;
  if (wanted.port == 0) {
    if (auto status = BindOne(stream, address, v4, "TCP"); !status.ok()) return status;
    address.port = NameOf(stream).port;
  }
  if (auto status = BindOne(datagram, address, v4, "UDP"); !status.ok()) return status;
  if (wanted.port != 0) {
    if (auto status = BindOne(stream, address, v4, "TCP"); !status.ok()) return status;
  }
  if (listen(stream.fd(), kBacklog) != 0) return BindError(address, "TCP", errno);
  SetOption(datagram.fd(), SOL_SOCKET, SO_RCVBUF, kReceiveBuffer);  // the system may give less
  return BoundPair{std::move(datagram), std::move(stream), address, v4};
}

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    Reset();
    fd_ = other.Release();
  }
  return *this;
}

int Socket::Release() { return std::exchange(fd_, -1); }

void Socket::Reset() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

socklen_t ToSockaddr(const Address& address, bool v4_socket, sockaddr_storage* out) {
  if (v4_socket) {
    if (!address.is_v4()) return 0;
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(address.port);
    std::memcpy(&in.sin_addr, address.ip.data() + 12, 4);
    std::memcpy(out, &in, sizeof(in));
    return sizeof(in);
  }
  sockaddr_in6 in6{};
  in6.sin6_family = AF_INET6;
  in6.sin6_port = htons(address.port);
  in6.sin6_scope_id = address.scope;
  std::memcpy(&in6.sin6_addr, address.ip.data(), 16);
  std::memcpy(out, &in6, sizeof(in6));
  return sizeof(in6);
}

Address FromSockaddr(const sockaddr* from) {
  Address address;
  if (from->sa_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, from, sizeof(in));
    std::array<std::uint8_t, 4> ip{};
    std::memcpy(ip.data(), &in.sin_addr, 4);
    return Address::V4(ip[0], ip[1], ip[2], ip[3], ntohs(in.sin_port));
  }
  if (from->sa_family == AF_INET6) {
    sockaddr_in6 in6{};
    std::memcpy(&in6, from, sizeof(in6));
    std::memcpy(address.ip.data(), &in6.sin6_addr, 16);
    address.port = ntohs(in6.sin6_port);
    if (IsLinkLocal(address.ip)) address.scope = in6.sin6_scope_id;
  }
  return address;
}

absl::StatusOr<BoundPair> BindPair(const Address& bind) {
  absl::StatusOr<BoundPair> pair = TryBind(bind);
  for (int i = 1; i < kPortTries && bind.port == 0 && absl::IsAlreadyExists(pair.status()); ++i) pair = TryBind(bind);
  return pair;
}

Socket NewStream(const Address& bound, bool v4) {
  Socket made(socket(v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!made.open()) return made;
  SetOption(made.fd(), IPPROTO_TCP, TCP_NODELAY, 1);
  if (!bound.is_unspecified()) {
    // Best effort: without it the system picks the source by its routes, which is right on most machines.
    SetOption(made.fd(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
    Address source = bound;
    source.port = 0;
    sockaddr_storage storage{};
    const socklen_t size = ToSockaddr(source, v4, &storage);
    if (bind(made.fd(), reinterpret_cast<const sockaddr*>(&storage), size) != 0) errno = 0;
  }
  return made;
}

std::string WithNumericZone(const std::string& text) {
  const std::size_t percent = text.find('%');
  if (percent == std::string::npos) return text;
  const std::size_t end = std::min(text.find(']', percent), text.size());
  const unsigned index = if_nametoindex(text.substr(percent + 1, end - percent - 1).c_str());
  if (index == 0) return text;
  return absl::StrCat(text.substr(0, percent + 1), index, text.substr(end));
}

std::vector<Address> InterfaceAddresses() {
  std::vector<Address> found;
  uv_interface_address_t* list = nullptr;
  int count = 0;
  if (uv_interface_addresses(&list, &count) != 0) return found;
  for (int i = 0; i < count; ++i) {
    Address address = FromSockaddr(reinterpret_cast<const sockaddr*>(&list[i].address));
    address.port = 0;
    if (!address.is_unspecified()) found.push_back(address);
  }
  uv_free_interface_addresses(list, count);
  std::stable_partition(found.begin(), found.end(), [](const Address& a) { return !IsLoopback(a); });
  return found;
}

bool IsLoopback(const Address& address) {
  if (address.is_v4()) return address.ip[12] == 127;
  const auto& ip = address.ip;
  return ip[15] == 1 && std::all_of(ip.begin(), ip.begin() + 15, [](std::uint8_t b) { return b == 0; });
}

Address ReachableAddress(const Address& bound, const std::vector<Address>& interfaces) {
  if (!bound.is_unspecified()) return bound;
  const bool v4 = bound.is_v4();
  const Address* best = nullptr;
  int best_rank = 0;
  for (const Address& a : interfaces) {
    if (v4 && !a.is_v4()) continue;
    const int rank = IsLoopback(a) || IsLinkLocal(a.ip) ? 1 : (a.is_v4() == v4 ? 3 : 2);
    if (rank > best_rank) {
      best = &a;
      best_rank = rank;
    }
  }
  Address chosen = best != nullptr ? *best : Address::V4(127, 0, 0, 1, 0);
  chosen.port = bound.port;
  return chosen;
}

}  // namespace nekton
