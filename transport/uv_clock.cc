#include "transport/uv_clock.h"

#include <time.h>

#include <algorithm>
#include <chrono>

namespace nekton {
namespace {

Duration Read(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

constexpr std::uint64_t kNanosPerMilli = 1000000;

}  // namespace

Tick ReadClocks() {
  return {.boot = Instant(Read(CLOCK_BOOTTIME)),
          .raw = RawInstant(Read(CLOCK_MONOTONIC_RAW)),
          .wall = WallTime(Read(CLOCK_REALTIME))};
}

void StartTimerAt(uv_timer_t* timer, std::uint64_t due, uv_timer_cb callback) {
  uv_loop_t* loop = uv_handle_get_loop(reinterpret_cast<uv_handle_t*>(timer));
  // Of the loop's own time, however stale, as libuv adds it again.
  const std::uint64_t now = uv_now(loop);
  const std::uint64_t due_ms = (due + kNanosPerMilli - 1) / kNanosPerMilli;
  uv_timer_start(timer, callback, std::max(due_ms, now + 1) - now, 0);
}

std::uint64_t HrtimeIn(Duration delay) {
  const Duration bounded = std::clamp(delay, Duration::zero(), Duration(std::chrono::hours(24)));
  return uv_hrtime() + static_cast<std::uint64_t>(bounded.count());
}

}  // namespace nekton
