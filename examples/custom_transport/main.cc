// Two members over a transport of our own (unix_transport.h), driven by transport/driver.h in a poll() loop.
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "examples/custom_transport/unix_transport.h"
#include "transport/driver.h"

namespace {

nekton::Tick Now() {
  const auto read = [](clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
  };
  return {.boot = nekton::Instant(read(CLOCK_BOOTTIME)),
          .raw = nekton::RawInstant(read(CLOCK_MONOTONIC_RAW)),
          .wall = nekton::WallTime(read(CLOCK_REALTIME))};
}

struct Host {
  std::unique_ptr<example::UnixTransport> transport;
  std::unique_ptr<nekton::Driver> driver;
};

Host Begin(const std::string& folder, const std::string& name, std::uint16_t port) {
  Host host;
  const auto address = nekton::Address::V4(127, 0, 0, 1, port);
  host.transport = std::make_unique<example::UnixTransport>(folder, address, [] { return Now().boot; });
  auto config = nekton::Config::Local();
  config.name = name;
  config.generation = static_cast<std::uint64_t>(Now().wall.time_since_epoch().count() / 1000000);
  config.seed = config.generation;
  auto member = nekton::Member::Create(config, address);
  if (!member.ok()) return host;
  host.driver = std::make_unique<nekton::Driver>(*std::move(member), *host.transport, Now);
  host.transport->Open(host.driver.get());
  host.driver->Wake();
  return host;
}

// One turn: input first, then the time.
void Turn(std::vector<Host>& hosts) {
  std::vector<pollfd> polled;
  for (const Host& host : hosts) polled.push_back({host.transport->fd(), POLLIN, 0});
  poll(polled.data(), polled.size(), 5);
  for (Host& host : hosts) {
    host.transport->Turn();
    if (host.driver->NextWake() <= Now().boot) host.driver->Wake();
  }
}

int Run(const std::string& folder) {
  std::vector<Host> hosts;
  hosts.push_back(Begin(folder, "alpha", 1));
  hosts.push_back(Begin(folder, "beta", 2));
  for (const Host& host : hosts) {
    if (host.driver == nullptr) return 1;
  }
  if (!hosts[1].driver->Order(nekton::Join{{hosts[0].transport->local()}}).ok()) return 1;
  const nekton::Instant end = Now().boot + std::chrono::seconds(10);
  const auto met = [&] {
    return std::all_of(hosts.begin(), hosts.end(), [](const Host& h) { return h.driver->member().alive() == 2; });
  };
  while (!met() && Now().boot < end) Turn(hosts);
  std::cout << "custom_transport: alpha knows " << hosts[0].driver->member().alive() << " members, beta "
            << hosts[1].driver->member().alive() << '\n';
  return met() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    const bool help = std::string_view(argv[1]) == "--help";
    (help ? std::cout : std::cerr) << "custom_transport: two members meet over Unix datagram sockets; no arguments\n";
    return help ? 0 : 2;
  }
  std::string folder = "/tmp/nekton_custom_XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return 1;
  const int result = Run(folder);
  std::error_code ignored;
  std::filesystem::remove(folder, ignored);  // empty by now
  return result;
}
