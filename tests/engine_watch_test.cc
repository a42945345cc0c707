// Watching a member by its pulses (Order(Watch)): levels, events, requests, mistakes.
#include <chrono>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "swim/watches.h"
#include "tests/watch_rig.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// ---- Levels and events. ----

TEST(EngineWatch, EachThresholdIsToldAtTheNanosecondAtWhichItIsReached) {
  for (const DetectorKind detector : kBoth) {
    WatchRig rig(With(detector));
    rig.Watch({3, 8, 1});
    rig.Pulses(100, 20ms);
    rig.Clear();
    for (const double threshold : {1.0, 3.0, 8.0}) {
      while (rig.events.empty()) rig.Step();
      ASSERT_THAT(rig.events, SizeIs(1));
      const Event event = std::exchange(rig.events, {})[0];
      EXPECT_EQ(event.kind, EventKind::kLevel);
      EXPECT_EQ(event.member->name, "m1");
      EXPECT_EQ(event.at, rig.now.boot);
      EXPECT_EQ(event.threshold, threshold);
      EXPECT_TRUE(event.rose);
      EXPECT_EQ(event.level, rig.Level());
      EXPECT_GE(rig.Level(), threshold);
      EXPECT_LT(rig.Level("m1", -1ns), threshold);
    }
    rig.Run(10s);
    EXPECT_EQ(rig.Passed(), "") << "each once";
    rig.Pulse();
    EXPECT_THAT(rig.events, SizeIs(3));
    for (const Event& event : rig.events) EXPECT_EQ(event.at, rig.now.boot);
    EXPECT_EQ(rig.Passed(), "-8 -3 -1");
    EXPECT_EQ(rig.Level(), 0);
    rig.Run(10s);
    EXPECT_EQ(rig.Passed(), "+1 +3 +8") << "and again in the next rise";
  }
}

TEST(EngineWatch, TheFixedLevelIsEightAfterThreeIntervals) {
  WatchRig rig;
  rig.Watch({8});
  const Instant start = rig.now.boot;
  rig.RunUntil(start + 300ms - 1ns);
  EXPECT_EQ(rig.Passed(), "") << "the grace of a watch that has just begun";
  EXPECT_EQ(rig.engine->NextWake(), start + 300ms);
  rig.RunUntil(start + 300ms);
  EXPECT_EQ(rig.Passed(), "+8");
  EXPECT_EQ(rig.Level(), 8);
}

TEST(EngineWatch, SeveralThresholdsAtOneLateWake) {
  WatchRig rig;
  rig.Watch({1, 3, 8});
  rig.Pass(400ms);  // less than a pause of ours
  rig.Wake();
  EXPECT_EQ(rig.Passed(), "+1 +3 +8");
}

TEST(EngineWatch, APulseThatWaitedInTheSocketIsHeardBeforeAnythingIsTold) {
  WatchRig rig;
  rig.Watch({8});
  rig.Pass(400ms);
  rig.Pulse();
  rig.Wake();
  EXPECT_EQ(rig.Passed(), "");
}

TEST(EngineWatch, PhiLearnsTheRhythm) {
  WatchRig steady(With(DetectorKind::kPhi));
  WatchRig unsteady(With(DetectorKind::kPhi));
  for (WatchRig* rig : {&steady, &unsteady}) rig->Watch({1});
  steady.Pulses(100);
  unsteady.Pulses(100, 60ms);
  EXPECT_GT(steady.Level("m1", 130ms), unsteady.Level("m1", 130ms));
}

TEST(EngineWatch, LostPulsesAreToldByTheGapInTheirNumbers) {
  WatchRig told(With(DetectorKind::kPhi));
  WatchRig late(With(DetectorKind::kPhi));
  for (WatchRig* rig : {&told, &late}) {
    rig->Watch({1});
    rig->Pulses(20);
    rig->Run(3 * kBeat);
  }
  told.PulseOf(told[1], told.sequence() + 3);
  late.PulseOf(late[1], late.sequence() + 1);
  EXPECT_GT(told.Level("m1", 120ms), late.Level("m1", 120ms)) << "its rhythm is as it was";
  EXPECT_LT(told.Level("m1", 180ms), late.Level("m1", 180ms)) << "but it is known to lose some";
}

// ---- Which pulses count. ----

TEST(EngineWatch, OldPulsesAreCountedAndChangeNothing) {
  WatchRig rig;
  rig.Watch({8});
  rig.Pulses(3);
  const Instant heard = rig.now.boot;
  rig.Run(50ms);
  const double level = rig.Level();
  EXPECT_GT(level, 0);
  rig.PulseOf(rig[1], rig.sequence());
  rig.PulseOf(rig[1], rig.sequence() - 2);
  EXPECT_EQ(rig.Count(Counter::kPulsesOld), 2u);
  EXPECT_EQ(rig.Level(), level);
  rig.Run(1s);
  EXPECT_EQ(rig.events.at(0).at, heard + 300ms);
}

TEST(EngineWatch, APulseOfAnEarlierIncarnationIsNone) {
  WatchRig rig;
  const Peer before = rig[1];
  rig[1].key.incarnation = 1;
  rig.Gossip(rig[2], {Alive(rig[1])});
  rig.Clear();
  rig.Watch({8});
  rig.Run(50ms);
  rig.PulseOf(before, rig.SentTo(rig[1], FrameType::kWatch).back().frame.sequence + 1);
  EXPECT_EQ(rig.Count(Counter::kPulsesOld), 1u);
  EXPECT_GT(rig.Level(), 0);
  rig[1].key.incarnation = 2;  // of which we have not heard: not an earlier one
  rig.Pulse();
  EXPECT_EQ(rig.Level(), 0);
}

TEST(EngineWatch, PulsesOfOthersAreCountedAndDropped) {
  WatchRig rig;
  rig.Watch({8});
  rig.Run(50ms);
  rig.PulseOf(rig[2], 0x7fffffff);                                          // nobody watches it
  rig.PulseOf(Peer{"stranger", Rig::At(77), {Rig::kGeneration, 0}}, 1000);  // unknown
  Peer former = rig[1];
  former.key.generation -= 5;
  rig.PulseOf(former, 0x7fffffff);
  EXPECT_EQ(rig.Count(Counter::kPulsesStray), 3u);
  EXPECT_GT(rig.Level(), 0);
}

// ---- Requests. ----

TEST(EngineWatch, ARequestGoesOutAtOnceAndAgainEveryFourIntervals) {
  WatchRig rig;
  rig.Watch({8});
  ASSERT_THAT(rig.sent, SizeIs(1));
  EXPECT_EQ(rig.sent[0].frame.type, FrameType::kWatch);
  EXPECT_EQ(rig.sent[0].to, rig[1].address);
  EXPECT_EQ(rig.sent[0].frame.interval, kBeat);
  EXPECT_EQ(rig.sent[0].frame.sender, rig.self.id());
  EXPECT_THAT(rig.sent[0].updates, SizeIs(0));
  const Instant start = rig.now.boot;
  rig.Pulse(kFlagExtra);
  rig.Pulses(21);
  std::vector<Duration> asked;
  for (const Said& said : rig.SentTo(rig[1], FrameType::kWatch)) asked.push_back(said.at - start);
  EXPECT_THAT(asked, ElementsAre(0ms, 400ms, 800ms, 1200ms, 1600ms, 2000ms));
  EXPECT_EQ(rig.Count(Counter::kWatchDatagramsSent), 6u);
  EXPECT_EQ(rig.Count(Counter::kWatchBytesSent), 6 * 28u);
  EXPECT_EQ(rig.Sent(FrameType::kGossip).size(), 0u);
}

TEST(EngineWatch, WithoutPulsesItAsksOnceAnInterval) {
  WatchRig rig;
  rig.Watch({8});
  const Instant start = rig.now.boot;
  rig.Run(600ms);
  std::vector<Duration> asked;
  for (const Said& said : rig.SentTo(rig[1], FrameType::kWatch)) asked.push_back(said.at - start);
  EXPECT_THAT(asked, ElementsAre(0ms, 150ms, 250ms, 350ms, 450ms, 550ms));
  rig.Pulse(kFlagExtra);
  rig.Clear();
  rig.Pulses(3);
  EXPECT_THAT(rig.SentTo(rig[1], FrameType::kWatch), SizeIs(0)) << "heard: it asks no more until 950 ms";
}

TEST(EngineWatch, ARequestSaysWhichPulseWasTheLastOne) {
  WatchRig rig;
  rig.Watch({8});
  rig.Pulses(6);
  const auto asked = rig.SentTo(rig[1], FrameType::kWatch);
  ASSERT_THAT(asked, SizeIs(2));
  EXPECT_EQ(asked[1].frame.sequence, asked[0].frame.sequence + 3) << "of 100, 200 and 300 ms";
}

TEST(EngineWatch, WhereAnotherHasItsAddressNobodyIsAsked) {
  WatchRig rig;
  rig.Watch({8});
  Peer other{"other", rig[1].address, {Rig::kGeneration + 9, 0}};
  rig.Gossip(rig[2], {Alive(other)});
  ASSERT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
  rig.Clear();
  rig.Run(2s);
  EXPECT_THAT(rig.Sent(FrameType::kWatch), SizeIs(0));
  EXPECT_EQ(rig.Passed(), "+8");
}

// ---- Orders. ----

TEST(EngineWatch, AllMistakesAreToldAtOnce) {
  WatchRig rig;
  const absl::Status status = rig.Order(Watch{"self", 9'999'999ns, {0, 1, 1001, 1, -3}});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(status.message()),
            "member: a member does not watch itself\n"
            "interval = 9999999 ns: must be 10 ms to 1 h\n"
            "thresholds[0] = 0: must be above 0 and at most 1000\n"
            "thresholds[2] = 1001: must be above 0 and at most 1000\n"
            "thresholds[3] = 1: stands there twice\n"
            "thresholds[4] = -3: must be above 0 and at most 1000");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(std::string(rig.Order(Watch{"m\n9", 1h + 1ms, {nan}}).message()),
              testing::AllOf(HasSubstr("member = \"m\\n9\": no such member\n"), HasSubstr("interval"),
                             HasSubstr("thresholds[0] = nan")));
  EXPECT_THAT(std::string(rig.Order(Watch{"m1", 10ms, {}}).message()), HasSubstr("thresholds: 0 of them"));
  EXPECT_THAT(std::string(rig.Order(Watch{"m1", 10ms, {1, 2, 3, 4, 5, 6, 7, 8, 9}}).message()),
              HasSubstr("thresholds: 9 of them"));
  EXPECT_THAT(std::string(rig.Order(Watch{"m1", 10'500us, {1}}).message()), HasSubstr("whole milliseconds"));
  EXPECT_EQ(rig.Order(Watch{"nobody", kBeat, {1}}).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(rig.Order(Watch{"self", kBeat, {1}}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(rig.sent, SizeIs(0));
  for (const Duration bound : {Duration(10ms), Duration(1h)}) {
    EXPECT_TRUE(rig.Order(Watch{"m1", bound, {1000, 0.001, 1, 2, 3, 4, 5, 6}}).ok());
  }
}

TEST(EngineWatch, WhoHasLeftIsNotThere) {
  WatchRig rig;
  rig.Gossip(rig[1], {Left(rig[1])});
  EXPECT_EQ(rig.Order(Watch{"m1", kBeat, {1}}).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(rig.engine->Level(rig.now, "m1").status().code(), absl::StatusCode::kNotFound);
}

TEST(EngineWatch, SixtyFourAndNoMore) {
  WatchRig rig(With(DetectorKind::kFixed), Watches::kMax + 1);
  for (std::size_t i = 1; i <= Watches::kMax; ++i) rig.Watch({8}, kBeat, rig[i].name);
  EXPECT_EQ(rig.Order(Watch{"m65", kBeat, {8}}).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(rig.Order(Watch{"m64", kBeat, {9}}).ok()) << "in place of another";
  EXPECT_TRUE(rig.Order(Unwatch{"m7"}).ok());
  EXPECT_TRUE(rig.Order(Watch{"m65", kBeat, {8}}).ok());
}

TEST(EngineWatch, ASecondWatchTakesThePlaceOfTheFirst) {
  WatchRig rig;
  rig.Watch({1});
  rig.Pulses(5);
  rig.Run(90ms);
  rig.Clear();
  rig.Watch({8}, 200ms);
  EXPECT_EQ(rig.Passed(), "ended ABORTED");
  ASSERT_THAT(rig.sent, SizeIs(1));
  EXPECT_EQ(rig.sent[0].frame.interval, 200ms);
  const Instant start = rig.now.boot;
  rig.Run(2s);
  EXPECT_THAT(rig.events, SizeIs(1));
  EXPECT_EQ(rig.events.at(0).at, start + 600ms);
}

TEST(EngineWatch, AfterUnwatchThereIsNoMoreOfIt) {
  WatchRig rig;
  rig.Watch({1});
  rig.Pulses(5);
  rig.Clear();
  EXPECT_TRUE(rig.Order(Unwatch{"m1"}).ok());
  EXPECT_EQ(rig.Passed(), "ended OK");
  ASSERT_THAT(rig.sent, SizeIs(1));
  EXPECT_EQ(rig.sent[0].frame.type, FrameType::kWatch);
  EXPECT_EQ(rig.sent[0].frame.interval, 0ms);
  rig.Run(10s);
  EXPECT_EQ(rig.Passed(), "");
  EXPECT_THAT(rig.sent, SizeIs(1));
  EXPECT_EQ(rig.Order(Unwatch{"m1"}).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(rig.Order(Unwatch{"nobody"}).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(rig.Level(), 0) << "no open round either";
}

}  // namespace
}  // namespace nekton
