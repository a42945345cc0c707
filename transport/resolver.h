// Names to addresses, in the background.
//
// The system's resolver blocks for as long as it likes and cannot be interrupted, so each look-up has a thread of its
// own that nobody waits for: not the loop, not Stop(), not the end of the process. (uv_getaddrinfo would share the four
// threads of the host's libuv pool, and a process waits for that pool when it exits.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "swim/address.h"

namespace nekton {

// Looks a host name up: all its addresses, whose port is ignored. It blocks, on a thread of its own, up to
// Resolver::kAtOnce of them at a time. It may still run when the node is gone, so it must own what it uses.
using ResolveFunction = std::function<absl::StatusOr<std::vector<Address>>(const std::string& host)>;

// getaddrinfo(): each address once, in the system's order, port 0. Unavailable with the system's words.
absl::StatusOr<std::vector<Address>> ResolveBySystem(const std::string& host);

class Resolver {
 public:
  struct Result {
    std::uint64_t ticket = 0;
    absl::StatusOr<std::vector<Address>> addresses;
  };
  static constexpr std::size_t kAtOnce = 8;

  // `wake` is called on any thread when there is a result; never after the destructor has begun to return.
  Resolver(ResolveFunction resolve, std::function<void()> wake);
  // Waits for nothing; results that come later are dropped.
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // False, and nothing is begun, while kAtOnce look-ups run.
  bool Begin(std::uint64_t ticket, const std::string& host);
  std::vector<Result> Take();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace nekton
