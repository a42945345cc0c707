// The clocks of this machine, and libuv timers that do not fire early.
#pragma once

#include <uv.h>

#include <cstdint>

#include "phi/time.h"

namespace nekton {

// CLOCK_BOOTTIME, CLOCK_MONOTONIC_RAW and the wall clock, read one after another. Thread-safe.
Tick ReadClocks();

// Starts `timer` so that it fires at `due` or later, never before: `due` is an instant of uv_hrtime(), in ns. libuv
// counts from the loop's cached time, which is stale after a long callback, and in whole milliseconds; so the delay is
// taken from that cached time and rounded up. At least 1 ms of the loop's time from now, so that a timer that starts
// itself again gives the sockets their turn.
void StartTimerAt(uv_timer_t* timer, std::uint64_t due, uv_timer_cb callback);

// The instant of uv_hrtime() that lies `delay` ahead; a negative delay counts as none, a very long one is cut to a day.
std::uint64_t HrtimeIn(Duration delay);

}  // namespace nekton
