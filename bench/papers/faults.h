// Rapid's second experiment (Suresh et al., USENIX ATC 2018, section 7, figures 8 to 10): ten of a thousand members crash,
// or have bad links in one direction.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/papers/bandwidth.h"
#include "bench/papers/progress.h"
#include "swim/config.h"

namespace nekton::bench {

enum class Fault : std::uint8_t {
  kCrash,
  kFlipIn,   // nothing reaches them for 20 s, then all is well for 20 s, and so on
  kFlipOut,  // nothing of theirs leaves them
  kLossIn,   // they lose 80 % of what is sent to them
  kLossOut,  // or of what they send
};
inline constexpr std::array<std::string_view, 5> kFaultNames = {"crash", "flip_in", "flip_out", "loss_in", "loss_out"};
absl::StatusOr<Fault> FaultNamed(std::string_view name);  // InvalidArgument: there is none such

struct FaultsPlan {
  Config config;
  std::uint32_t nodes = 1000;
  std::uint32_t faulty = 10;
  Fault fault = Fault::kCrash;
  std::uint32_t seconds = 900;  // from the first fault on
  std::uint64_t seed = 1;
  Progress progress;
};

// How many members those count that are well, themselves included.
struct ViewSizes {
  std::uint32_t second = 0;
  std::uint32_t smallest = 0;
  std::uint32_t median = 0;
  std::uint32_t largest = 0;
};

struct Faults {
  bool complete = false;  // all members knew each other at the beginning
  // Of each faulty member, how long after the first fault all that are well held it dead for the first time.
  std::vector<double> removed_s;
  std::uint32_t gone = 0;  // faulty members that no member that is well counts, in the end
  // A faulty member is taken back by one that is well and held it dead; and, with each incarnation counted once, by any.
  std::uint64_t readmission_events = 0;
  std::uint64_t readmissions = 0;
  std::uint64_t failed_faulty = 0;              // failure events at members that are well, about faulty ones
  std::uint64_t failed_healthy = 0;             // about members that are well, at anyone,
  std::uint64_t failed_healthy_at_healthy = 0;  // and at members that are well
  std::uint64_t suspected_healthy = 0;          // at members that are well, about members that are well
  double changes_mean = 0;                      // removals and returns that a member that is well saw
  std::uint32_t changes_max = 0;
  std::uint32_t sizes_max = 0;          // different sizes at the same time, among members that are well
  std::uint32_t seconds_disagreed = 0;  // in which there were several
  std::vector<ViewSizes> views;         // looked at every second; only those unlike the one before
  Rate sent;                            // of all members that run, each second of each a sample
  Rate received;
  double wall_s = 0;
};

// Members have met five seconds before the first fault. The seed is never faulty. Streams lose segments where datagrams
// get lost.
Faults MeasureFaults(const FaultsPlan& plan);

}  // namespace nekton::bench
