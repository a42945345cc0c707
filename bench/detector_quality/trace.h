// The heartbeats of one live process as another one received them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "phi/time.h"

namespace nekton::quality {

struct Beat {
  std::uint64_t sequence = 0;
  Instant sent{};
  Instant arrived{};  // on the same clock; >= sent
};

struct Trace {
  std::string name;
  std::string description;
  Duration interval{};      // between two beats as they are meant to be sent; > 0
  std::vector<Beat> beats;  // those that arrived: `sequence` rises, `sent` and `arrived` never fall
  std::uint64_t due = 0;    // how many there would be without loss; >= beats.size()

  double Loss() const { return due == 0 ? 0 : 1 - static_cast<double>(beats.size()) / static_cast<double>(due); }
};

// `count` instants, in order, at which the sender might have crashed: one at a random place of each of `count` equal
// parts of the time between the sending of beat number `warmup` (from 0) and of the last one.
std::vector<Instant> CrashInstants(const Trace& trace, std::size_t warmup, std::size_t count, std::uint64_t seed);

}  // namespace nekton::quality
