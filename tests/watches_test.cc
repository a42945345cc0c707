// What a watch keeps: of those that we watch, and of those that watch us.
#include "swim/watches.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "swim/random.h"
#include "swim/watchers.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::SizeIs;

constexpr Instant kStart{1000s};
constexpr Duration kBeat = 100ms;
constexpr DetectorKind kBoth[] = {DetectorKind::kFixed, DetectorKind::kPhi};

// "+3" for each threshold that is reached, "-3" for each that is not any more.
std::string Settled(WatchedMember& watched, Instant now) {
  std::string text;
  watched.Settle(now, [&](double threshold, bool rose, double level) {
    text += (text.empty() ? "" : " ") + std::string(rose ? "+" : "-") + std::to_string(static_cast<int>(threshold));
    EXPECT_EQ(rose, level >= threshold);
  });
  return text;
}

// The only one of its plan.
struct Alone : WatchedMember {
  Alone(Duration interval, std::vector<double> thresholds, DetectorKind detector, std::uint32_t sequence, Instant now)
      : WatchedMember(std::make_shared<WatchPlan>(interval, std::move(thresholds)), detector, sequence, now) {}
};

// A member whose pulses came for a while, each up to `jitter` late; the last one at the instant that is returned.
Instant Learn(WatchedMember& watched, Duration jitter, int pulses = 200) {
  Random dice(5);
  Instant last = kStart;
  for (int i = 1; i <= pulses; ++i) {
    last = kStart + i * kBeat + Duration(dice.Below(static_cast<std::uint32_t>(jitter.count()) + 1));
    EXPECT_TRUE(watched.Heard(watched.sequence() + 1, i == 1, last));
  }
  return last;
}

TEST(WatchedMember, EachThresholdIsReachedAtItsInstantAndNotOneNanosecondBefore) {
  for (const DetectorKind detector : kBoth) {
    for (const Duration jitter : {Duration(0), Duration(3ms), Duration(40ms)}) {
      Alone watched(kBeat, {8, 1, 1000, 0.01, 3}, detector, 0, kStart);
      Learn(watched, jitter);
      EXPECT_THAT(watched.thresholds(), ElementsAre(0.01, 1, 3, 8, 1000));
      for (const double threshold : watched.thresholds()) {
        const Instant at = watched.NextLevel();
        ASSERT_LT(at, kNever);
        EXPECT_LT(watched.Level(at - 1ns), threshold);
        EXPECT_GE(watched.Level(at), threshold);
        EXPECT_EQ(Settled(watched, at - 1ns), "");
        EXPECT_EQ(Settled(watched, at), "+" + std::to_string(static_cast<int>(threshold)));
        EXPECT_EQ(Settled(watched, at), "") << "once";
      }
      EXPECT_EQ(watched.NextLevel(), kNever);
    }
  }
}

TEST(WatchedMember, TheFixedLevelIsEightAtThreeIntervals) {
  Alone watched(kBeat, {1, 8, 16}, DetectorKind::kFixed, 0, kStart);
  EXPECT_EQ(watched.NextLevel(), kStart + 37'500us);
  EXPECT_EQ(Settled(watched, kStart + 300ms), "+1 +8");
  EXPECT_EQ(watched.Level(kStart + 300ms), 8);
  EXPECT_EQ(watched.NextLevel(), kStart + 600ms);
  ASSERT_TRUE(watched.Heard(1, true, kStart + 450ms));
  EXPECT_EQ(Settled(watched, kStart + 450ms), "-8 -1") << "in the reverse order";
  EXPECT_EQ(watched.Level(kStart + 450ms), 0);
  EXPECT_EQ(watched.NextLevel(), kStart + 487'500us);
}

TEST(WatchedMember, OnlyNewerPulsesCountAndNumbersWrap) {
  Alone watched(kBeat, {8}, DetectorKind::kFixed, 0xfffffffe, kStart);
  EXPECT_FALSE(watched.Heard(0xfffffffe, false, kStart + 1ms));
  EXPECT_TRUE(watched.Heard(0xffffffff, true, kStart + 1ms));
  EXPECT_FALSE(watched.Heard(0xffffffff, false, kStart + 2ms));
  EXPECT_TRUE(watched.Heard(2, false, kStart + 3ms));
  EXPECT_FALSE(watched.Heard(0xffffffff, false, kStart + 4ms));
  EXPECT_FALSE(watched.Heard(1, false, kStart + 4ms));
  EXPECT_EQ(watched.sequence(), 2u);
  EXPECT_EQ(watched.NextLevel(), kStart + 303ms) << "the older ones changed nothing";
}

// How long it takes from the last pulse until the level is 1.
Duration Patience(const WatchedMember& watched, Instant last) { return watched.NextLevel() - last; }

TEST(WatchedMember, WhatEndsNoIntervalIsNoSample) {
  const auto patience_after = [](Duration gap, auto before, bool first) {
    Alone watched(kBeat, {1}, DetectorKind::kPhi, 0, kStart);
    const Instant last = Learn(watched, 0ns);
    before(watched);
    EXPECT_TRUE(watched.Heard(watched.sequence() + 1, first, last + gap));
    return Patience(watched, last + gap);
  };
  const auto nothing = [](WatchedMember&) {};
  const Duration usual = patience_after(kBeat, nothing, false);
  EXPECT_GT(patience_after(5s, nothing, false), usual) << "a late one is a sample";
  EXPECT_EQ(patience_after(5s, nothing, true), patience_after(1ms, nothing, true)) << "the first of a series is none";
  const auto gone = [](WatchedMember& watched) { watched.GiveUp(); };
  EXPECT_EQ(patience_after(5s, gone, false), patience_after(1ms, gone, false)) << "nor is what follows its death";
}

TEST(WatchedMember, TheVeryFirstPulseIsNoSample) {
  Alone soon(kBeat, {1}, DetectorKind::kPhi, 0, kStart);
  Alone late(kBeat, {1}, DetectorKind::kPhi, 0, kStart);
  const Duration grace = soon.NextLevel() - kStart;
  ASSERT_TRUE(soon.Heard(1, false, kStart + 1ms));
  ASSERT_TRUE(late.Heard(7, false, kStart + 3s));
  EXPECT_EQ(Patience(soon, kStart + 1ms), grace);
  EXPECT_EQ(Patience(late, kStart + 3s), grace);
}

TEST(WatchedMember, LostPulsesAreToldByTheirNumbers) {
  const auto patience_after = [](std::uint32_t ahead) {
    Alone watched(kBeat, {1}, DetectorKind::kPhi, 0, kStart);
    const Instant last = Learn(watched, 0ns);
    EXPECT_TRUE(watched.Heard(watched.sequence() + ahead, false, last + 3 * kBeat));
    return Patience(watched, last + 3 * kBeat);
  };
  EXPECT_LT(patience_after(3), patience_after(1)) << "two were lost: the intervals were as ever";
}

TEST(WatchedMember, ANewLifeIsAStranger) {
  Alone watched(kBeat, {1}, DetectorKind::kPhi, 0, kStart);
  const Duration grace = watched.NextLevel() - kStart;
  const Instant last = Learn(watched, 40ms);
  EXPECT_NE(Patience(watched, last), grace);
  EXPECT_EQ(Settled(watched, last + 10s), "+1");
  watched.Restarted(last + 10s);
  EXPECT_EQ(Settled(watched, last + 10s), "-1");
  EXPECT_EQ(watched.NextLevel(), last + 10s + grace);
}

TEST(WatchedMember, OurOwnPauseDoesNotCount) {
  for (const DetectorKind detector : kBoth) {
    Alone watched(kBeat, {1, 8}, detector, 0, kStart);
    const Instant last = Learn(watched, 3ms);
    const Instant at = watched.NextLevel();
    EXPECT_EQ(Settled(watched, at), "+1");
    const Instant next = watched.NextLevel();
    const double level = watched.Level(at);
    watched.Excuse(3s);
    EXPECT_EQ(watched.Level(at + 3s), level);
    EXPECT_EQ(Settled(watched, at + 3s), "");
    EXPECT_EQ(watched.NextLevel(), next + 3s) << last.time_since_epoch().count();
  }
}

TEST(WatchedMember, ASwapAsksTheOtherOneOfThatWhichBothHaveLearned) {
  Alone watched(kBeat, {1}, DetectorKind::kFixed, 0, kStart);
  Alone other(kBeat, {1}, DetectorKind::kPhi, 0, kStart);
  const Instant last = Learn(watched, 20ms);
  Learn(other, 20ms);
  watched.Use(DetectorKind::kPhi);
  EXPECT_EQ(watched.NextLevel(), other.NextLevel());
  EXPECT_EQ(watched.Level(last + 500ms), other.Level(last + 500ms));
  watched.Use(DetectorKind::kFixed);
  EXPECT_EQ(watched.NextLevel(), last + 37'500us);
}

TEST(WatchedMember, ItAsksEachFourIntervalsAndWhenInDoubtEachOne) {
  Alone watched(kBeat, {8}, DetectorKind::kFixed, 0, kStart);
  EXPECT_EQ(watched.NextAsk(), kStart + 150ms) << "overdue by half an interval";
  watched.Asked(kStart + 150ms);
  EXPECT_EQ(watched.NextAsk(), kStart + 250ms);
  watched.Asked(kStart + 250ms);
  EXPECT_EQ(watched.NextAsk(), kStart + 350ms);
  ASSERT_TRUE(watched.Heard(1, true, kStart + 300ms));
  EXPECT_EQ(watched.NextAsk(), kStart + 450ms);
  ASSERT_TRUE(watched.Heard(2, false, kStart + 400ms));
  EXPECT_EQ(watched.NextAsk(), kStart + 550ms);
  ASSERT_TRUE(watched.Heard(3, false, kStart + 510ms));
  EXPECT_EQ(watched.NextAsk(), kStart + 650ms) << "four intervals after the last time";
  watched.Asked(kStart + 650ms);
  EXPECT_EQ(watched.asked_sequence(), 3u);
}

TEST(WatchedMember, ALowThresholdIsDoubtToo) {
  Alone watched(kBeat, {1}, DetectorKind::kFixed, 0, kStart);
  EXPECT_EQ(watched.NextAsk(), kStart + 100ms) << "reached at 37.5 ms, but no more than once an interval";
  watched.Asked(kStart + 100ms);
  EXPECT_EQ(Settled(watched, kStart + 100ms), "+1");
  ASSERT_TRUE(watched.Heard(1, true, kStart + 190ms));
  EXPECT_EQ(Settled(watched, kStart + 190ms), "-1");
  EXPECT_EQ(watched.NextAsk(), kStart + 227'500us) << "when it is reached again";
}

TEST(WatchesTest, WhoIsWatchedAlikeSharesAPlanAndNothingOfWhatIsLearned) {
  Watches watches;
  WatchedMember& steady = watches.Open(3, kBeat, {8, 1}, DetectorKind::kPhi, kStart);
  WatchedMember& jumpy = watches.Open(4, kBeat, {1, 8}, DetectorKind::kPhi, kStart);
  const Instant unheard = watches.Open(5, kBeat, {1, 8}, DetectorKind::kPhi, kStart).NextLevel();
  EXPECT_EQ(jumpy.plan(), steady.plan());
  EXPECT_EQ(watches.Find(5)->plan(), steady.plan());
  EXPECT_NE(watches.Open(6, kBeat, {1}, DetectorKind::kPhi, kStart).plan(), steady.plan());
  EXPECT_NE(watches.Open(7, 2 * kBeat, {1, 8}, DetectorKind::kPhi, kStart).plan(), steady.plan());

  Alone alone(kBeat, {1, 8}, DetectorKind::kPhi, 0, kStart);
  const Instant last = Learn(alone, 20ms);
  Learn(jumpy, 90ms);
  EXPECT_EQ(Learn(steady, 20ms), last);
  EXPECT_EQ(steady.NextLevel(), alone.NextLevel());
  EXPECT_EQ(watches.Find(5)->Level(unheard - 1ns),
            Alone(kBeat, {1, 8}, DetectorKind::kPhi, 0, kStart).Level(unheard - 1ns));
  EXPECT_LT(watches.Find(5)->Level(unheard - 1ns), 1);
  EXPECT_GE(watches.Find(5)->Level(unheard), 1) << "what others do moves no instant that was promised";

  watches.Close(4);
  EXPECT_EQ(watches.Open(9, kBeat, {1, 8}, DetectorKind::kPhi, kStart).NextLevel(), unheard)
      << "who sits down where another sat inherits nothing";
  watches.Close(3);
  EXPECT_EQ(watches.Open(10, kBeat, {1, 8}, DetectorKind::kPhi, last).NextLevel() - last, unheard - kStart);
}

TEST(WatchesTest, APlanHasAsManySeatsAsThereAreWatches) {
  Watches watches;
  for (int round = 0; round < 3; ++round) {
    for (PeerId row = 1; row <= Watches::kMax; ++row) {
      WatchedMember& watched = watches.Open(row, kBeat, {1}, DetectorKind::kPhi, kStart);
      Learn(watched, Duration(row * 1ms), 50);
    }
  }
  for (PeerId row = 1; row <= Watches::kMax; ++row) {
    Alone alone(kBeat, {1}, DetectorKind::kPhi, 0, kStart);
    Learn(alone, Duration(row * 1ms), 50);
    EXPECT_EQ(watches.Find(row)->NextLevel(), alone.NextLevel()) << row;
  }
}

TEST(WatchesTest, TheEarliestIsNext) {
  Watches watches;
  EXPECT_EQ(watches.next(), kNever);
  EXPECT_EQ(watches.Find(3), nullptr);
  WatchedMember& slow = watches.Open(3, 1s, {8}, DetectorKind::kFixed, kStart);
  WatchedMember& fast = watches.Open(5, 100ms, {8}, DetectorKind::kFixed, kStart);
  EXPECT_EQ(watches.next(), kStart) << "each asks at once";
  watches.Schedule(3, slow);
  watches.Schedule(5, fast);
  EXPECT_EQ(watches.next(), kStart + 150ms);
  EXPECT_EQ(watches.first_due(), 5u);
  EXPECT_EQ(watches.Find(5), &fast);
  watches.Close(5);
  EXPECT_EQ(watches.Find(5), nullptr);
  EXPECT_EQ(watches.next(), kStart + 1500ms);
  watches.Close(5);
  EXPECT_EQ(watches.size(), 1u);
}

TEST(WatchesTest, OneForEachMemberAndNoMoreThanTheBound) {
  Watches watches;
  for (PeerId row = 1; row <= Watches::kMax; ++row) {
    EXPECT_FALSE(watches.full());
    watches.Open(row, 1s, {8}, DetectorKind::kFixed, kStart);
  }
  EXPECT_TRUE(watches.full());
  const std::uint32_t before = watches.Find(7)->sequence();
  const WatchedMember& again = watches.Open(7, 2s, {8}, DetectorKind::kFixed, kStart);
  EXPECT_EQ(watches.size(), Watches::kMax) << "in place of the other";
  EXPECT_EQ(watches.Find(7), &again);
  EXPECT_GT(again.sequence(), before);
}

const Address kFrom = Address::V4(10, 0, 0, 3, 7946);

struct Pulse {
  Instant at;
  PeerId row;
  std::uint32_t sequence;
  bool first;
  friend bool operator==(const Pulse&, const Pulse&) = default;
};

// Woken at exactly the instants that they ask for.
std::vector<Pulse> Served(Watchers& watchers, Instant until) {
  std::vector<Pulse> pulses;
  while (watchers.next() <= until) {
    const Instant now = watchers.next();
    watchers.Due(now, [&](const Watcher& w) { pulses.push_back({now, w.row, w.sequence, w.first}); });
  }
  return pulses;
}

TEST(WatchersTest, PulsesFollowEachOtherUntilNobodyAsksForThem) {
  Watchers watchers;
  EXPECT_EQ(watchers.next(), kNever);
  ASSERT_TRUE(watchers.Ask(3, kFrom, kBeat, 41, kStart));
  const std::vector<Pulse> pulses = Served(watchers, kStart + 1h);
  ASSERT_THAT(pulses, SizeIs(10));
  for (std::uint32_t i = 0; i < 10; ++i) EXPECT_EQ(pulses[i], (Pulse{kStart + i * kBeat, 3, 42 + i, i == 0})) << i;
  EXPECT_EQ(watchers.size(), 0u);
}

TEST(WatchersTest, WhoAsksAgainInTimeIsServedOn) {
  Watchers watchers;
  ASSERT_TRUE(watchers.Ask(3, kFrom, kBeat, 0, kStart));
  EXPECT_THAT(Served(watchers, kStart + 950ms), SizeIs(10));
  ASSERT_TRUE(watchers.Ask(3, kFrom, kBeat, 9, kStart + 999ms));
  EXPECT_THAT(Served(watchers, kStart + 1999ms - 1ns), SizeIs(10)) << "no pulse out of the rhythm";
  EXPECT_THAT(Served(watchers, kStart + 1h), SizeIs(0));
  // It has forgotten him; he has not forgotten where the sequence was.
  ASSERT_TRUE(watchers.Ask(3, kFrom, kBeat, 20, kStart + 2s));
  EXPECT_THAT(Served(watchers, kStart + 2s), ElementsAre(Pulse{kStart + 2s, 3, 21, true}));
}

TEST(WatchersTest, AnotherIntervalBeginsAtOnce) {
  Watchers watchers;
  ASSERT_TRUE(watchers.Ask(3, kFrom, 1s, 0, kStart));
  EXPECT_THAT(Served(watchers, kStart + 1500ms), SizeIs(2));
  ASSERT_TRUE(watchers.Ask(3, kFrom, kBeat, 1000, kStart + 1500ms));
  EXPECT_THAT(Served(watchers, kStart + 1600ms),
              ElementsAre(Pulse{kStart + 1500ms, 3, 1001, true}, Pulse{kStart + 1600ms, 3, 1002, false}));
}

TEST(WatchersTest, ALateWakeSendsOneAndNotAll) {
  Watchers watchers;
  ASSERT_TRUE(watchers.Ask(3, kFrom, kBeat, 0, kStart));
  EXPECT_THAT(Served(watchers, kStart), SizeIs(1));
  int sent = 0;
  watchers.Due(kStart + 530ms, [&](const Watcher&) { ++sent; });
  EXPECT_EQ(sent, 1);
  EXPECT_EQ(watchers.next(), kStart + 630ms);
  watchers.Due(kStart + 640ms, [&](const Watcher&) { ++sent; });
  EXPECT_EQ(watchers.next(), kStart + 730ms) << "a little late is no new rhythm";
}

TEST(WatchersTest, TimeThatWeDidNotRunIsNotHeldAgainstThem) {
  Watchers watchers;
  ASSERT_TRUE(watchers.Ask(3, kFrom, kBeat, 0, kStart));
  watchers.Excuse(5s);
  EXPECT_THAT(Served(watchers, kStart + 1h).back().at, kStart + 5900ms);
}

TEST(WatchersTest, NoMoreThanTheBound) {
  Watchers watchers;
  for (PeerId row = 1; row <= Watchers::kMax; ++row) EXPECT_TRUE(watchers.Ask(row, kFrom, kBeat, 0, kStart));
  EXPECT_FALSE(watchers.Ask(1000, kFrom, kBeat, 0, kStart));
  EXPECT_TRUE(watchers.Ask(5, kFrom, kBeat, 0, kStart)) << "it is served already";
  watchers.Drop(9);
  watchers.Drop(9);
  EXPECT_EQ(watchers.size(), Watchers::kMax - 1);
  EXPECT_TRUE(watchers.Ask(1000, kFrom, kBeat, 0, kStart));
  EXPECT_THAT(Served(watchers, kStart), SizeIs(Watchers::kMax));
}

}  // namespace
}  // namespace nekton
