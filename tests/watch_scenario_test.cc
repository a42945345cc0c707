// One member of a group of a hundred watches three others: one dies, one freezes for a while, one loses messages.
#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cluster.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::AnyOf;
using testing::ElementsAre;

constexpr SimId kWatcher = 0;
constexpr SimId kKilled = 10;
constexpr SimId kFrozen = 20;
constexpr SimId kLossy = 30;
constexpr Duration kBeat = 100ms;

class WatchScenario : public testing::TestWithParam<DetectorKind> {
 protected:
  static ClusterOptions Options() {
    ClusterOptions options{.nodes = 100, .seed = 4};
    options.config.detector = GetParam();
    return options;
  }

  WatchScenario() : c_(Options()) {
    c_.sim().SetHandler([this](const SimEvent& seen) { Check(seen); });
  }

  void WatchAll() {
    for (const SimId subject : {kKilled, kFrozen, kLossy}) {
      const absl::Status status = c_.sim().Order(kWatcher, Watch{c_.sim().name(subject), kBeat, {1, 3, 8}});
      ASSERT_TRUE(status.ok()) << status;
    }
  }

  double Level(SimId subject) {
    return c_.member(kWatcher).Level(c_.sim().Clock(kWatcher), c_.sim().name(subject)).value_or(-1);
  }

  // Each rise is told at the very instant.
  void Check(const SimEvent& seen) {
    const Event& event = seen.event;
    if (event.kind != EventKind::kLevel) return;
    EXPECT_EQ(seen.member, kWatcher);
    if (!event.rose) return;
    ++rises_;
    const auto level = [&](Instant at) {
      return c_.member(kWatcher).Level(Tick{.boot = at, .raw = {}, .wall = {}}, event.member->name).value_or(-1);
    };
    EXPECT_GE(level(event.at), event.threshold) << seen;
    EXPECT_LT(level(event.at - 1ns), event.threshold) << seen;
    EXPECT_EQ(event.at, c_.sim().Clock(kWatcher).boot);
  }

  // "+3" where it reached a threshold, "-3" where it fell below it.
  static std::string Word(const Event& event) {
    return (event.rose ? "+" : "-") + std::to_string(static_cast<int>(event.threshold));
  }
  std::vector<std::string> Passed(SimId subject, Duration since) const {
    std::vector<std::string> passed;
    for (const SimEvent& seen : c_.Events({.kind = EventKind::kLevel, .subject = subject, .since = since})) {
      passed.push_back(Word(seen.event));
    }
    return passed;
  }

  Cluster c_;
  int rises_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Detectors, WatchScenario, testing::Values(DetectorKind::kFixed, DetectorKind::kPhi),
                         [](const auto& param) { return param.param == DetectorKind::kFixed ? "Fixed" : "Phi"; });

TEST_P(WatchScenario, TheLevelOfAKilledMemberRisesThresholdByThreshold) {
  ASSERT_TRUE(c_.Converge(60s));
  WatchAll();
  c_.RunFor(30s);
  c_.Crash(kKilled);
  // What it sent is there by then; with the fixed detector 1 is reached in every interval.
  c_.RunFor(10ms);
  const Duration killed = c_.now();
  const double level = Level(kKilled);
  EXPECT_GE(level, 0);
  EXPECT_LT(level, 3);
  c_.RunFor(1s);
  EXPECT_THAT(Passed(kKilled, killed), AnyOf(ElementsAre("+1", "+3", "+8"), ElementsAre("+3", "+8")));
  EXPECT_GE(Level(kKilled), 8);
  EXPECT_GT(rises_, 1);
  // Long before the group has a verdict; the watch outlives that, and ends when the group forgets the member.
  EXPECT_NE(c_.Sees(kWatcher, kKilled), MemberStatus::kInactive);
  c_.RunFor(20s);
  EXPECT_TRUE(c_.AllSee(kKilled, MemberStatus::kInactive));
  EXPECT_EQ(c_.Count(EventKind::kWatchEnded), 0u);
  c_.RunFor(120s);
  EXPECT_EQ(c_.Count({.kind = EventKind::kWatchEnded, .observer = kWatcher, .subject = kKilled}), 1u);
  EXPECT_EQ(Level(kKilled), -1) << "it is unknown now";
}

TEST_P(WatchScenario, AFrozenMemberRisesAndFallsAndNobodyIsSuspected) {
  ASSERT_TRUE(c_.Converge(60s));
  WatchAll();
  c_.RunFor(30s);
  c_.Pause(kFrozen);
  c_.RunFor(10ms);
  const Duration frozen = c_.now();
  c_.RunFor(1990ms);
  c_.Resume(kFrozen);
  const Duration resumed = c_.now();
  c_.RunFor(60s);
  std::vector<std::string> passed;
  Duration last{};
  for (const SimEvent& seen : c_.Events({.kind = EventKind::kLevel, .subject = kFrozen, .since = frozen})) {
    passed.push_back(Word(seen.event));
    last = seen.at;
    if (passed.back() == "-1" && passed.size() > 2) break;
  }
  EXPECT_THAT(passed,
              AnyOf(ElementsAre("+1", "+3", "+8", "-8", "-3", "-1"), ElementsAre("+3", "+8", "-8", "-3", "-1")));
  // Its first pulse may be overtaken by its refutation, and is one of an earlier incarnation then.
  EXPECT_GT(last, resumed);
  EXPECT_LT(last, resumed + kBeat + 2ms);
  EXPECT_EQ(c_.Count(EventKind::kFailed), 0u);
}

TEST_P(WatchScenario, LostMessagesAloneReachEightOnlyWithTheFixedDetector) {
  ASSERT_TRUE(c_.Converge(60s));
  MemberLaw law;
  law.loss.rate = 0.05;
  c_.network().SetIn(kLossy, law);
  c_.network().SetOut(kLossy, law);
  const Duration since = c_.now();
  WatchAll();
  c_.RunFor(10min);
  int eights = 0;
  int threes = 0;
  for (const SimEvent& seen : c_.Events({.kind = EventKind::kLevel, .subject = kLossy, .since = since})) {
    eights += seen.event.rose && seen.event.threshold == 8 ? 1 : 0;
    threes += seen.event.rose && seen.event.threshold == 3 ? 1 : 0;
  }
  RecordProperty("rises_to_3", threes);
  RecordProperty("rises_to_8", eights);
  EXPECT_GT(threes, 0) << "pulses were lost";
  if (GetParam() == DetectorKind::kPhi) {
    EXPECT_EQ(eights, 0);
  } else {
    EXPECT_GT(eights, 0) << "two lost in a row are 300 ms of silence, give or take the delays";
  }
  EXPECT_EQ(c_.Count(EventKind::kFailed), 0u);
}

// With links that delay everything alike, two groups differ in nothing but the watches.
TEST(WatchScenarioCost, IsCountedApartAndNothingElseChanges) {
  constexpr std::array kSame = {
      Counter::kProbeDatagramsSent,     Counter::kProbeBytesSent,      Counter::kRelayDatagramsSent,
      Counter::kRelayBytesSent,         Counter::kGossipDatagramsSent, Counter::kGossipBytesSent,
      Counter::kReconnectDatagramsSent, Counter::kReconnectBytesSent,  Counter::kRounds,
      Counter::kRoundsFailed,           Counter::kSuspicionsOwn,       Counter::kSuspicionsHeard};
  ClusterOptions options{.nodes = 100, .seed = 4};
  options.sim.link.delay_min = options.sim.link.delay_max = 700us;
  Cluster watching(options);
  Cluster plain(options);
  std::uint64_t sent_before = 0;
  for (Cluster* c : {&watching, &plain}) {
    ASSERT_TRUE(c->Converge(60s));
    c->RunFor(10s);
    if (c == &watching) {
      sent_before = c->Sum(Counter::kWatchDatagramsSent);
      for (const SimId id : {kKilled, kFrozen, kLossy}) {
        ASSERT_TRUE(c->sim().Order(kWatcher, Watch{c->sim().name(id), kBeat, {3, 8}}).ok());
      }
    }
    c->RunFor(60s);
    c->Crash(kKilled);
    c->RunFor(60s);
  }
  EXPECT_EQ(sent_before, 0u);
  for (const Counter counter : kSame) {
    EXPECT_EQ(watching.Sum(counter), plain.Sum(counter)) << kCounterNames[static_cast<std::size_t>(counter)];
  }
  EXPECT_EQ(plain.Sum(Counter::kWatchDatagramsSent), 0u);
  // Two of them for 120 s: ten pulses a second, and a request for every four. The dead one is asked ten times a second
  // until it is declared dead, and then every five seconds.
  double asked = 0;
  for (const SimEvent& seen : watching.sim().log()) {
    if (seen.member != kWatcher || seen.event.kind != EventKind::kFailed) continue;
    asked = 60 - std::chrono::duration<double>(watching.sim().now() - seen.at).count();
  }
  EXPECT_GT(asked, 2);
  const std::uint64_t requests = watching.member(kWatcher).counters()[Counter::kWatchDatagramsSent];
  EXPECT_NEAR(static_cast<double>(requests), 2 * 300 + 150 + 10 * asked + (60 - asked) / 5, 10);
  const std::uint64_t pulses = watching.Sum(Counter::kWatchDatagramsSent) - requests;
  EXPECT_NEAR(static_cast<double>(pulses), 2 * 1200, 4) << "the dead one's are not in the sum";
  EXPECT_EQ(watching.Sum(Counter::kWatchBytesSent), 28 * requests + 24 * pulses);
  EXPECT_EQ(watching.Sum(Counter::kPulsesOld) + watching.Sum(Counter::kPulsesStray), 0u);
}

}  // namespace
}  // namespace nekton
