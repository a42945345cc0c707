// Two bare members inside an epoll loop that a program has anyway, here with a timer of its own: no threads, no libuv. What a
// member needs of its host, sockets and time, is in examples/bare_engine/bare_host.h.
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <vector>

#include "examples/bare_engine/bare_host.h"

namespace {

using nekton::Instant;

constexpr std::chrono::seconds kPatience(10);
constexpr std::chrono::milliseconds kTick(20);

// The program's own loop: one epoll set, one timer.
class Program {
 public:
  Program() {
    const itimerspec every{{0, std::chrono::nanoseconds(kTick).count()}, {0, std::chrono::nanoseconds(kTick).count()}};
    timerfd_settime(timer_, 0, &every, nullptr);
    Watch(timer_, EPOLLIN);
  }
  ~Program() {
    close(timer_);
    close(epoll_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void Add(bare::Host* host) { hosts_.push_back(host); }

  // Sleeps until a socket, the timer or a member's next wake. Input first, then the time: what waits in the sockets must
  // not be judged missing.
  void Turn() {
    std::vector<pollfd> polled;
    Instant next = nekton::kNever;
    for (bare::Host* host : hosts_) {
      host->AddPolled(polled);
      next = std::min(next, host->NextWake());
    }
    for (const pollfd& p : polled) Watch(p.fd, static_cast<std::uint32_t>(p.events));  // streams come and go
    const Instant now = bare::Now().boot;
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(
        std::clamp(nekton::Duration(next <= now ? Instant() - Instant() : next - now), nekton::Duration(0),
                   nekton::Duration(std::chrono::seconds(1))));
    std::array<epoll_event, 16> ready{};
    const int count = epoll_wait(epoll_, ready.data(), static_cast<int>(ready.size()), static_cast<int>(wait.count()));
    for (int i = 0; i < count; ++i) {
      if (ready[static_cast<std::size_t>(i)].data.fd == timer_) Tick();
    }
    for (bare::Host* host : hosts_) host->HandleInput();
    for (bare::Host* host : hosts_) host->HandleTime();
  }
  std::uint64_t ticks() const { return ticks_; }

 private:
  void Watch(int fd, std::uint32_t events) {
    epoll_event event{};
    event.events = events;  // those of poll() have the same numbers
    event.data.fd = fd;
    if (epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event) != 0) epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  }
  void Tick() {
    std::uint64_t times = 0;
    if (read(timer_, &times, sizeof(times)) == sizeof(times)) ticks_ += times;
  }

  int epoll_ = epoll_create1(EPOLL_CLOEXEC);
  int timer_ = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  std::uint64_t ticks_ = 0;
  std::vector<bare::Host*> hosts_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    std::cout << "embed_epoll: two members in a program's own epoll loop, without libuv; takes no arguments\n";
    return std::string_view(argv[1]) == "--help" ? EXIT_SUCCESS : EXIT_FAILURE;
  }
  auto alpha = bare::Host::Begin("alpha");
  auto beta = bare::Host::Begin("beta");
  if (!alpha.ok() || !beta.ok()) {
    std::cerr << alpha.status() << ' ' << beta.status() << '\n';
    return EXIT_FAILURE;
  }
  Program program;
  program.Add(alpha->get());
  program.Add(beta->get());
  (*beta)->Join((*alpha)->address());
  const Instant end = bare::Now().boot + kPatience;
  const auto done = [&] { return (*alpha)->probed() && (*beta)->probed() && program.ticks() >= 5; };
  while (!done() && bare::Now().boot < end) program.Turn();
  std::cout << "embed_epoll: alpha knows " << (*alpha)->alive() << " members, beta knows " << (*beta)->alive()
            << (program.ticks() >= 5 ? "; the program's own timer went on\n"
                                     : "; the program's own timer stood still\n");
  return done() ? EXIT_SUCCESS : EXIT_FAILURE;
}
