// The same seed gives the same run in every build: gcc and clang, optimised or not, with and without sanitizers.
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "absl/strings/str_format.h"
#include "tests/cluster.h"
#include "tests/source_dir.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

// A run with a bit of everything in it.
std::uint64_t Play(std::uint64_t seed) {
  SimOptions sim;
  sim.link.duplicate = 0.01;
  sim.lossy_streams = true;
  Cluster c({.nodes = 24, .seed = seed, .sim = sim});
  c.RunFor(10s);
  c.Lose(0.15);
  c.Crash(3);
  c.Crash(4, Port::kRefuses);
  c.RunFor(10s);
  c.Restart(3);
  c.Leave(7);
  c.Pause(9);
  c.RunFor(5s);
  c.Resume(9);
  c.Partition({{0, 1, 2, 5, 6}});
  c.RunFor(20s);
  c.Heal();
  c.RunFor(20s);
  EXPECT_GT(c.Count(EventKind::kSuspected), 0u);
  EXPECT_GT(c.Count(EventKind::kRecovered), 0u);
  EXPECT_GT(c.Count(EventKind::kRestarted), 0u);
  return c.sim().Fingerprint();
}

// tests/data/fingerprints.txt is made anew by running this with NEKTON_REWRITE=1: look at what has changed the protocol's
// behaviour before you commit it.
TEST(Fingerprint, IsTheRecordedOneInEveryBuild) {
  std::string all;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) all += absl::StrFormat("%d %016x\n", seed, Play(seed));
  const std::string path = SourceDir() + "/tests/data/fingerprints.txt";
  if (std::getenv("NEKTON_REWRITE") != nullptr) std::ofstream(path) << all;
  std::ifstream in(path);
  ASSERT_TRUE(in.is_open()) << path;
  const std::string recorded((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  EXPECT_EQ(all, recorded);
}

}  // namespace
}  // namespace nekton
