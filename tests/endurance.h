// A group that lives for hours and days: what it takes of memory then.
//
// For one .cc file of a test program (tests/count_allocations.h).
#pragma once

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/cluster.h"
#include "tests/count_allocations.h"

namespace nekton {

// Bytes of this process that are in memory.
inline std::uint64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  file >> all >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

// Each hour one member crashes, is forgotten, and comes back; at its end everybody agrees and the memory is looked at.
// From the end of the first hour on nothing may grow.
inline void Endure(std::size_t nodes, int hours) {
  using namespace std::chrono_literals;
  Cluster c({.nodes = nodes, .record = false});
  ASSERT_TRUE(c.Converge(60s));
  std::uint64_t live = 0;
  std::uint64_t resident = 0;
  for (int hour = 1; hour <= hours; ++hour) {
    const auto victim = static_cast<SimId>(1 + (static_cast<std::size_t>(hour) * 7919) % (nodes - 1));
    c.Crash(victim);
    c.RunFor(5min);
    EXPECT_EQ(c.member(0).size(), nodes - 1) << "it was forgotten";
    c.Restart(victim);
    c.RunFor(std::chrono::hours(hour) - c.now());
    EXPECT_TRUE(c.sim().Converged()) << "hour " << hour;
    EXPECT_EQ(c.member(0).size(), nodes);
    if (hour == 1) {
      live = bytes_live;
      resident = ResidentBytes();
    }
    std::cout << nodes << " members, hour " << hour << ": " << bytes_live << " bytes live, " << ResidentBytes()
              << " resident, " << c.sim().counters().events << " events\n"
              << std::flush;
  }
  // An eighth of a percent: a table or a heap of the simulator that has met a new most.
  EXPECT_LE(bytes_live, live + live / 800);
  EXPECT_LE(ResidentBytes(), resident + resident / 100);
}

}  // namespace nekton
