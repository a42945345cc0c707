// Contenders for one named lease in a world where everything goes wrong that may: clocks that drift and are slewed,
// processes that pause, crash and come again, machines that suspend, requests and answers that are late or lost, a register
// that restarts or comes back from a backup; and a resource to which whoever believes to hold the lease writes, some of it
// long after it looked. True time is the world's own; no contender sees it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lease/fenced_resource.h"
#include "lease/memory_register.h"
#include "lease/named_lease.h"
#include "swim/random.h"

namespace nekton {

enum class LeaseVariant : std::uint8_t {
  kSound,
  kNoObserverWait,    // takes over what it has not watched
  kCountsFromAnswer,  // a holder's time begins with the answer
  kNoDriftMargin,     // a holder uses all of T
  kBootClockOnly,     // the slewed clock counts alone
  kNoFence,           // the resource takes what comes
  kRawRestore,        // a backup comes back as if nothing had happened
};

struct LeaseWorldOptions {
  std::uint64_t seed = 1;
  std::uint32_t members = 4;
  Duration duration = std::chrono::seconds(10);
  std::int64_t rho_ppm = kDriftPpm;    // what contenders allow for
  std::int64_t drift_ppm = kDriftPpm;  // what oscillators do, at most
  std::int64_t slew_ppm = 80'000;      // what is done to boot clocks, at most
  bool extreme = false;                // only the extremes of both
  bool watched = true;
  bool restores = true;
  std::uint64_t acquisitions = 200;
  LeaseVariant variant = LeaseVariant::kSound;
};

struct LeaseWorldResult {
  std::uint64_t acquisitions = 0;
  std::uint64_t losses = 0;
  std::uint64_t releases = 0;
  std::uint64_t two_holders = 0;   // instants at which a second one believed
  std::uint64_t stale_writes = 0;  // accepted under a token below one that was seen, or under another's token
  std::uint64_t refused_writes = 0;
  std::uint64_t accepted_writes = 0;
  std::uint64_t repeated_tokens = 0;  // acquisitions under a token that was given before
  std::uint64_t lower_tokens = 0;     // below one that was given before
  std::uint64_t bad_order = 0;        // events that do not alternate
  std::uint64_t pauses = 0;
  std::uint64_t crashes = 0;
  std::uint64_t restores = 0;
  std::uint64_t lost_messages = 0;
  std::uint64_t wakes = 0;
  std::uint64_t idle_wakes = 0;  // for nothing, within a millisecond of the one before
  Duration simulated{};
  void Add(const LeaseWorldResult& other);
};

LeaseWorldResult RunLeaseWorld(const LeaseWorldOptions& options);

}  // namespace nekton
