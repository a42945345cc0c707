// Two pure members in a hand-written poll() loop: no threads, no libuv. See bare_host.h for the loop's one half.
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <vector>

#include "examples/bare_engine/bare_host.h"

namespace {

using nekton::Instant;

constexpr std::chrono::seconds kPatience(10);

// One turn: sleep until somebody has something to do, hand over input, and only then wake who is due.
void Turn(const std::vector<bare::Host*>& hosts) {
  std::vector<pollfd> polled;
  Instant next = nekton::kNever;
  for (bare::Host* host : hosts) {
    host->AddPolled(polled);
    next = std::min(next, host->NextWake());
  }
  const Instant now = bare::Now().boot;
  const auto wait = next <= now ? std::chrono::milliseconds(0)
                                : std::chrono::ceil<std::chrono::milliseconds>(std::min(
                                      nekton::Duration(next - now), nekton::Duration(std::chrono::seconds(1))));
  poll(polled.data(), static_cast<nfds_t>(polled.size()), static_cast<int>(wait.count()));
  for (bare::Host* host : hosts) host->HandleInput();
  for (bare::Host* host : hosts) host->HandleTime();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    std::cout << "bare_engine: two members in a poll() loop, without threads and libuv; takes no arguments\n";
    return std::string_view(argv[1]) == "--help" ? EXIT_SUCCESS : EXIT_FAILURE;
  }
  auto alpha = bare::Host::Begin("alpha");
  auto beta = bare::Host::Begin("beta");
  if (!alpha.ok() || !beta.ok()) {
    std::cerr << alpha.status() << ' ' << beta.status() << '\n';
    return EXIT_FAILURE;
  }
  const std::vector<bare::Host*> hosts = {alpha->get(), beta->get()};
  const Instant end = bare::Now().boot + kPatience;
  (*beta)->Join((*alpha)->address());
  const auto done = [&] { return std::all_of(hosts.begin(), hosts.end(), [](bare::Host* h) { return h->probed(); }); };
  while (!done() && bare::Now().boot < end) Turn(hosts);
  std::cout << "bare_engine: alpha knows " << (*alpha)->alive() << " members, beta knows " << (*beta)->alive()
            << (done() ? ", and both have probed each other\n" : ", and a probe is missing\n");
  return done() && (*alpha)->alive() == 2 && (*beta)->alive() == 2 ? EXIT_SUCCESS : EXIT_FAILURE;
}
