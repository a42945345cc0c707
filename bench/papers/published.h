// What the papers print, for the tables to show beside what is measured here. Theirs are measurements of real machines.
#pragma once

#include <array>
#include <cstdint>

namespace nekton::bench {

// Suresh et al., "Stable and Consistent Membership at Scale with Rapid", USENIX ATC 2018, figure 5 (read off it, about
// 3 % wrong) and table 1: seconds until every process reports all, and how many sizes of the group were reported.
struct PublishedBootstrap {
  std::uint32_t nodes = 0;
  double memberlist_s = 0;
  double rapid_s = 0;
  std::uint32_t memberlist_sizes = 0;
  std::uint32_t rapid_sizes = 0;
};
inline constexpr std::array<PublishedBootstrap, 3> kPublishedBootstraps = {
    {{1000, 46, 30, 901, 4}, {1500, 68, 40, 1383, 8}, {2000, 97, 53, 1858, 4}}};

// The same, table 2: KB/s of one process while 10 of 1,000 crash.
struct PublishedRate {
  double mean = 0;
  double p99 = 0;
  double max = 0;
};
struct PublishedBandwidth {
  PublishedRate received;
  PublishedRate sent;
};
inline constexpr PublishedBandwidth kMemberlistBandwidth = {{0.54, 5.61, 7.36}, {0.64, 6.40, 8.04}};
inline constexpr PublishedBandwidth kRapidBandwidth = {{0.71, 3.66, 9.56}, {0.71, 3.72, 11.37}};

// Das, Gupta, Motivala, "SWIM", DSN 2002, section 5.3 (figure 4): members of 17 that are in the group in the end.
inline constexpr std::uint32_t kShrinkBasic = 2;       // without infection-style dissemination and suspicion
inline constexpr std::uint32_t kShrinkInfection = 4;   // without suspicion
inline constexpr std::uint32_t kShrinkSuspicion = 12;  // with both

}  // namespace nekton::bench
