// Field: each period costs more in a larger group. Whole groups at rest, in one run: no matter how fast the machine is.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <iostream>
#include <limits>

#include <gtest/gtest.h>

#include "tests/cluster.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

double Cpu() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// CPU time of one member and period, simulator included: the shortest of several stretches of time. A thousand large tables are
// more than a processor's cache holds, and others use it too; so the groups differ by a factor that waiting for memory,
// with all of it missing the cache, does not come near.
double MemberPeriod(std::size_t nodes) {
  Cluster c({.nodes = nodes, .seed = nodes, .record = false});
  EXPECT_TRUE(c.Converge(120s));
  c.RunFor(60s);
  const std::uint64_t streams = c.sim().counters().streams;
  double best = std::numeric_limits<double>::max();
  for (int i = 0; i < 8; ++i) {
    const double from = Cpu();
    c.RunFor(std::chrono::seconds(20'000 / nodes));
    best = std::min(best, (Cpu() - from) / 20'000);
  }
  EXPECT_EQ(c.sim().counters().streams, streams) << "at rest nobody syncs";
  EXPECT_EQ(c.Sum(Counter::kSuspicionsOwn), 0u);
  return best;
}

TEST(FieldSizeSlow, APeriodOfAMemberCostsTheSameInALargeGroup) {
  const double small = MemberPeriod(50);
  const double large = MemberPeriod(1000);
  std::cout << "a member's period costs " << small * 1e9 << " ns among 50 and " << large * 1e9 << " ns among 1000\n";
  EXPECT_LT(large, 10 * small) << "what grows with the group would cost 20 times as much";
}

}  // namespace
}  // namespace nekton
