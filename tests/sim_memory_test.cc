// The steady state of a simulated group, its members included, allocates nothing.
#include <gtest/gtest.h>

#include "tests/cluster.h"
#include "tests/count_allocations.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

TEST(SimMemory, AQuietGroupAllocatesNothing) {
  ClusterOptions options{.nodes = 30, .record = false};
  options.sim.link.duplicate = 0.05;
  options.sim.link.reorder = 0.05;
  options.sim.link.reorder_delay = 30ms;
  Cluster c(options);
  ASSERT_TRUE(c.Converge());
  c.RunFor(120s);  // everyone has probed everyone
  const std::uint64_t datagrams = c.sim().counters().datagrams_delivered;
  const std::uint64_t before = allocations;
  c.RunFor(60s);
  EXPECT_EQ(allocations, before);
  EXPECT_GT(c.sim().counters().datagrams_delivered, datagrams + 3000);
}

}  // namespace
}  // namespace nekton
