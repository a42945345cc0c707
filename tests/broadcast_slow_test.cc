// A thousand members that come and go, and fifty broadcasts a second.
#include <chrono>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/str_format.h"
#include "swim/random.h"
#include "tests/cluster.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMembers = 1000;
constexpr int kKeys = 200;
constexpr int kBroadcasts = 1000;  // 20 s of them

// The first 50 crash, are started again or leave, others join; the rest are there throughout.
class Churn {
 public:
  explicit Churn(Cluster& c) : c_(c), random_(7) {}
  void Turn() {
    const SimId id = 1 + random_.Below(49);
    if (c_.sim().state(id) != SimState::kRunning) {
      c_.Restart(id);
    } else if (turns_ % 4 == 0) {
      c_.Leave(id);
    } else {
      c_.Crash(id);
    }
    if (turns_ % 3 == 0) c_.AddNode();
    ++turns_;
  }

 private:
  Cluster& c_;
  Random random_;
  int turns_ = 0;
};

TEST(ThousandBroadcasts, FiftyASecondAllArriveUnderChurn) {
  Cluster c({.nodes = kMembers, .seed = 21, .record = false});
  ASSERT_TRUE(c.Converge(60s));
  c.RunFor(5s);
  c.Lose(0.01);
  std::vector<std::vector<std::uint8_t>> told(kBroadcasts, std::vector<std::uint8_t>(kMembers));
  c.sim().SetHandler([&](const SimEvent& event) {
    if (event.event.kind != EventKind::kBroadcast || event.member >= kMembers) return;
    ++told[std::stoul(event.event.broadcast->bytes)][event.member];
  });
  Random random(8);
  Churn churn(c);
  const std::uint64_t news_before = c.Sum(Counter::kNewsBytesSent);
  const std::uint64_t sent_before = c.sim().counters().bytes_sent;
  for (int i = 0; i < kBroadcasts; ++i) {
    const SimId from = 50 + random.Below(kMembers - 50);
    const absl::Status said = c.sim().Order(from, Broadcast{"k" + std::to_string(i % kKeys), std::to_string(i)});
    ASSERT_TRUE(said.ok()) << said;
    c.RunFor(20ms);
    if (i % 25 == 0) churn.Turn();
  }
  c.RunFor(20s);

  std::size_t missing = 0;
  std::size_t twice = 0;
  for (int i = 0; i < kBroadcasts; ++i) {
    for (std::size_t id = 50; id < kMembers; ++id) {
      if (told[static_cast<std::size_t>(i)][id] == 0) ++missing;
      if (told[static_cast<std::size_t>(i)][id] > 1) ++twice;
    }
  }
  EXPECT_EQ(missing, 0u) << "of " << kBroadcasts * (kMembers - 50);
  EXPECT_EQ(twice, 0u);
  const double sent = static_cast<double>(c.sim().counters().bytes_sent - sent_before);
  const double news = static_cast<double>(c.Sum(Counter::kNewsBytesSent) - news_before);
  const double broadcasts = static_cast<double>(c.Sum(Counter::kBroadcastBytesSent));
  EXPECT_GT(news, 0);
  EXPECT_GT(broadcasts, 0);
  std::cout << absl::StrFormat(
      "of %.1f MB in datagrams (%.0f B/s and member): broadcasts %.1f %%, news of members %.1f %%; %d syncs for "
      "broadcasts\n",
      sent / 1e6, sent / 40 / static_cast<double>(kMembers), 100 * broadcasts / sent, 100 * news / sent,
      static_cast<int>(c.Sum(Counter::kBroadcastSyncsSent)));
}

}  // namespace
}  // namespace nekton
