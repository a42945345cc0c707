#include "transport/resolver.h"

#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

namespace nekton {

struct Resolver::State {
  ResolveFunction resolve;
  std::mutex mutex;
  std::function<void()> wake;  // empty: the resolver is gone
  std::size_t running = 0;
  std::vector<Result> results;
};

namespace {

Address FromInfo(const addrinfo& info) {
  Address address;
  if (info.ai_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, info.ai_addr, sizeof(in));
    std::array<std::uint8_t, 4> ip{};
    std::memcpy(ip.data(), &in.sin_addr, ip.size());
    return Address::V4(ip[0], ip[1], ip[2], ip[3], 0);
  }
  if (info.ai_family == AF_INET6) {
    sockaddr_in6 in6{};
    std::memcpy(&in6, info.ai_addr, sizeof(in6));
    std::memcpy(address.ip.data(), &in6.sin6_addr, address.ip.size());
    address.scope = in6.sin6_scope_id;
  }
  return address;
}

}  // namespace

absl::StatusOr<std::vector<Address>> ResolveBySystem(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* list = nullptr;
  if (const int error = getaddrinfo(host.c_str(), nullptr, &hints, &list); error != 0) {
    return absl::UnavailableError(gai_strerror(error));
  }
  std::vector<Address> found;
  for (const addrinfo* info = list; info != nullptr; info = info->ai_next) {
    const Address address = FromInfo(*info);
    if (address.is_unspecified() || std::find(found.begin(), found.end(), address) != found.end()) continue;
    found.push_back(address);
  }
  freeaddrinfo(list);
  return found;
}

Resolver::Resolver(ResolveFunction resolve, std::function<void()> wake) : state_(std::make_shared<State>()) {
  state_->resolve = resolve ? std::move(resolve) : ResolveFunction(ResolveBySystem);
  state_->wake = std::move(wake);
}

Resolver::~Resolver() {
  const std::lock_guard lock(state_->mutex);
  state_->wake = nullptr;
}

bool Resolver::Begin(std::uint64_t ticket, const std::string& host) {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->running >= kAtOnce) return false;
    ++state_->running;
  }
  // The host program's signals are for its own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool begun = true;
  try {
    std::thread([state = state_, ticket, host] {
      auto addresses = state->resolve(host);
      const std::lock_guard lock(state->mutex);
      --state->running;
      if (!state->wake) return;
      state->results.push_back({ticket, std::move(addresses)});
      state->wake();
    }).detach();
  } catch (const std::system_error&) {  // no thread to be had: tried again later
    begun = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!begun) {
    const std::lock_guard lock(state_->mutex);
    --state_->running;
  }
  return begun;
}

std::vector<Resolver::Result> Resolver::Take() {
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->results, {});
}

}  // namespace nekton
