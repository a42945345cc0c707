// Time that cannot be read: the pure rooms are told the time, they never ask for it.
//
// A clock type without now() makes it a compile error to read a clock below the transport room. Durations are
// nanoseconds in 64 bits (292 years). All values are plain and thread-compatible.
#pragma once

#include <chrono>
#include <cstdint>

namespace nekton {

using Duration = std::chrono::nanoseconds;

// CLOCK_BOOTTIME: it counts the time a machine was suspended. Protocol time.
struct BootClock {
  using rep = Duration::rep;
  using period = Duration::period;
  using duration = Duration;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;
};

// CLOCK_MONOTONIC_RAW: never slewed, stands still in suspend. Only leases compare it with boot time.
struct RawClock {
  using rep = Duration::rep;
  using period = Duration::period;
  using duration = Duration;
  using time_point = std::chrono::time_point<RawClock>;
  static constexpr bool is_steady = true;
};

// Wall-clock time since the Unix epoch. It may step; it decides nothing about another member's liveness.
struct WallClock {
  using rep = Duration::rep;
  using period = Duration::period;
  using duration = Duration;
  using time_point = std::chrono::time_point<WallClock>;
  static constexpr bool is_steady = false;
};

using Instant = BootClock::time_point;
using RawInstant = RawClock::time_point;
using WallTime = WallClock::time_point;

inline constexpr Instant kNever = Instant::max();

// What every input of the pure rooms carries: one reading of the three clocks, taken by the caller.
struct Tick {
  Instant boot{};
  RawInstant raw{};
  WallTime wall{};
};

// `when + by`, held at kNever instead of wrapping.
constexpr Instant Later(Instant when, Duration by) { return when > kNever - by ? kNever : when + by; }

}  // namespace nekton
