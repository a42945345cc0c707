// A thousand real nodes in one process, on one loop and two thousand sockets: all find each other, and the death of one is
// known to all. What a node costs is printed.
#include <sys/resource.h>
#include <uv.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "transport/node.h"
#include "transport/uv_clock.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

// How many; NEKTON_NODES in the environment, or a thousand.
std::size_t NodeCount() {
  const char* text = std::getenv("NEKTON_NODES");
  return text != nullptr ? static_cast<std::size_t>(std::atoi(text)) : 1000;
}

// Empty: there are enough descriptors now.
std::string RaiseDescriptors(rlim_t wanted) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= wanted) return "";
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  if (limit.rlim_cur >= wanted && setrlimit(RLIMIT_NOFILE, &limit) == 0) return "";
  return absl::StrCat("this test needs ", wanted, " descriptors, and RLIMIT_NOFILE allows ", limit.rlim_max,
                      ": raise it (ulimit -n)");
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::size_t ResidentBytes() {
  std::ifstream in("/proc/self/statm");
  std::size_t all = 0;
  std::size_t resident = 0;
  in >> all >> resident;
  return resident * 4096;
}

class ThousandTest : public testing::Test {
 protected:
  ThousandTest() { uv_loop_init(&loop_); }
  ~ThousandTest() override {
    nodes_.clear();
    uv_run(&loop_, UV_RUN_DEFAULT);
    EXPECT_EQ(uv_loop_close(&loop_), 0);
  }
  // Seconds that it took, or nothing.
  double Until(const std::function<bool()>& done, std::chrono::seconds limit) {
    const Instant begin = ReadClocks().boot;
    Instant look = begin;
    for (;;) {
      uv_run(&loop_, UV_RUN_ONCE);
      const Instant now = ReadClocks().boot;
      if (now < look) continue;
      look = now + 500ms;  // looking costs, too
      if (done()) return static_cast<double>((now - begin).count()) * 1e-9;
      if (now - begin > limit) return -1;
    }
  }
  uv_loop_t loop_{};
  std::vector<std::unique_ptr<Node>> nodes_;
};

TEST_F(ThousandTest, AllMeetAndADeathIsKnownToAll) {
  const std::size_t count = NodeCount();
  const std::string complaint = RaiseDescriptors(static_cast<rlim_t>(2 * count + 300));
  ASSERT_EQ(complaint, "");
  const std::size_t before = ResidentBytes();
  std::vector<std::string> seeds;
  for (std::size_t i = 0; i < count; ++i) {
    Config config = Config::Lan();
    config.name = absl::StrCat("n", i);
    config.bind = "127.0.0.1:0";
    config.seeds = seeds;
    auto node = Node::Attach(&loop_, config);
    ASSERT_TRUE(node.ok()) << node.status();
    nodes_.push_back(*std::move(node));
    if (i < 3) seeds.push_back(nodes_.back()->local().ToString());
    if (i % 10 == 0) Until([] { return true; }, 1s);  // as machines come up: not all at one instant
  }
  const auto all_see = [&](std::size_t wanted) {
    return std::all_of(nodes_.begin(), nodes_.end(),
                       [&](const auto& node) { return node == nullptr || node->Members().Alive().size() == wanted; });
  };
  const double met = Until([&] { return all_see(count); }, 600s);
  ASSERT_GE(met, 0) << "they did not all meet";
  // The quiet group: what a node costs.
  Until([] { return false; }, 10s);
  const double cpu = CpuSeconds();
  const double quiet = 20;
  Until([] { return false; }, 20s);
  const double per_node = (CpuSeconds() - cpu) / quiet / static_cast<double>(count);
  EXPECT_TRUE(all_see(count)) << "somebody was suspected or lost in quiet";
  const std::string victim = absl::StrCat("n", count / 2);
  nodes_[count / 2].reset();
  const auto known = [&] {
    return std::all_of(nodes_.begin(), nodes_.end(), [&](const auto& node) {
      if (node == nullptr) return true;
      const MemberPtr member = node->Members().Find(victim);
      return member == nullptr || member->status == MemberStatus::kInactive;
    });
  };
  const double died = Until(known, 120s);
  EXPECT_GE(died, 0) << "not all know of the death";
  EXPECT_TRUE(all_see(count - 1)) << "somebody else was taken for dead, too";
  std::cout << count << " nodes: all met after " << met << " s; in quiet each costs " << per_node * 1e6
            << " us of CPU a second; " << (ResidentBytes() - before) / count / 1024 << " KiB of memory each (tables of "
            << count << " rows); a death was known to all after " << died << " s\n";
}

}  // namespace
}  // namespace nekton
