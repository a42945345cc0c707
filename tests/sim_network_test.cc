// The laws of the simulated links, and the queue of what is under way.
#include "transport/sim_network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "transport/sim_clock.h"
#include "transport/sim_flights.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

struct Tally {
  int sent = 0;
  int lost = 0;
  double share() const { return static_cast<double>(lost) / sent; }
};

// Sends `count` datagrams `gap` apart.
Tally Send(SimNetwork& network, SimId from, SimId to, int count, Duration gap = 1ms) {
  Tally tally;
  tally.sent = count;
  for (int i = 0; i < count; ++i) {
    tally.lost += network.Datagram(from, to, 100, i * gap).drop == Drop::kLoss ? 1 : 0;
  }
  return tally;
}

// Four standard deviations of a binomial share: one in 16,000 seeds fails by chance.
double Tolerance(double p, double n) { return 4 * std::sqrt(p * (1 - p) / n); }

TEST(SimNetwork, LosesAsOftenAsItsLawSays) {
  for (const double rate : {0.01, 0.15, 0.3, 0.9}) {
    LinkLaw law;
    law.loss.rate = rate;
    SimNetwork network(1, law);
    constexpr int kCount = 50'000;
    EXPECT_NEAR(Send(network, 0, 1, kCount).share(), rate, Tolerance(rate, kCount));
  }
}

TEST(SimNetwork, LossOfSenderLinkAndReceiverAddUp) {
  LinkLaw law;
  law.loss.rate = 0.1;
  SimNetwork network(1, law);
  MemberLaw half;
  half.loss.rate = 0.5;
  network.SetOut(0, half);
  MemberLaw fifth;
  fifth.loss.rate = 0.2;
  network.SetIn(1, fifth);
  constexpr int kCount = 50'000;
  const double both = 1 - 0.9 * 0.5 * 0.8;
  EXPECT_NEAR(Send(network, 0, 1, kCount).share(), both, Tolerance(both, kCount));
  EXPECT_NEAR(Send(network, 1, 0, kCount).share(), 0.1, Tolerance(0.1, kCount));
  EXPECT_NEAR(Send(network, 2, 1, kCount).share(), 1 - 0.9 * 0.8, Tolerance(0.28, kCount));
}

TEST(SimNetwork, OneDirectionOfALinkHasItsOwnLaw) {
  SimNetwork network(1, {});
  LinkLaw dead;
  dead.loss.rate = 1;
  network.SetLink(3, 4, dead);
  EXPECT_EQ(Send(network, 3, 4, 100).lost, 100);
  EXPECT_EQ(Send(network, 4, 3, 100).lost, 0);
  EXPECT_EQ(Send(network, 3, 5, 100).lost, 0);
  network.ClearLink(3, 4);
  EXPECT_EQ(Send(network, 3, 4, 100).lost, 0);
}

TEST(SimNetwork, BurstsHaveTheirShareAndTheirLength) {
  LinkLaw law;
  law.loss = Loss::Bursts(0.2, 100ms, 1.0);
  SimNetwork network(1, law);
  // One datagram a millisecond for 2000 s: about 4000 bad times of 100 datagrams on average.
  int bad = 0;
  int runs = 0;
  bool last = false;
  constexpr int kCount = 2'000'000;
  for (int i = 0; i < kCount; ++i) {
    const bool lost = network.Datagram(0, 1, 100, i * 1ms).drop == Drop::kLoss;
    bad += lost ? 1 : 0;
    runs += lost && !last ? 1 : 0;
    last = lost;
  }
  // Both means come from about 4000 exponential lengths: a standard deviation of 1.6 % of each.
  EXPECT_NEAR(static_cast<double>(bad) / kCount, 0.2, 0.2 * 0.08);
  // Bad times shorter than a millisecond are often not met at all, so a run that is met is slightly longer.
  EXPECT_NEAR(static_cast<double>(bad) / runs, 100, 10);
}

TEST(SimNetwork, EveryLinkHasItsOwnBursts) {
  LinkLaw law;
  law.loss = Loss::Bursts(0.5, 1s, 1.0);
  SimNetwork network(1, law);
  int alike = 0;
  constexpr int kCount = 20'000;
  for (int i = 0; i < kCount; ++i) {
    const bool there = network.Datagram(0, 1, 100, i * 1s).drop == Drop::kLoss;
    const bool back = network.Datagram(1, 0, 100, i * 1s).drop == Drop::kLoss;
    alike += there == back ? 1 : 0;
  }
  // Samples 1 s apart are correlated (e^-2), which widens the binomial deviation by less than a half.
  EXPECT_NEAR(static_cast<double>(alike) / kCount, 0.5, 1.5 * Tolerance(0.5, kCount));
}

TEST(SimNetwork, DelaysFillTheirRange) {
  LinkLaw law;
  law.delay_min = 10ms;
  law.delay_max = 30ms;
  SimNetwork network(1, law);
  MemberLaw far;
  far.delay_min = far.delay_max = 5ms;
  network.SetIn(2, far);
  Duration least = 1h;
  Duration most{};
  double sum = 0;
  constexpr int kCount = 20'000;
  for (int i = 0; i < kCount; ++i) {
    const Duration delay = network.Datagram(0, 1, 100, 0s).delay;
    least = std::min(least, delay);
    most = std::max(most, delay);
    sum += static_cast<double>(delay.count());
    const Duration farther = network.Datagram(0, 2, 100, 0s).delay;
    ASSERT_GE(farther, 15ms);
    ASSERT_LE(farther, 35ms);
  }
  EXPECT_GE(least, 10ms);
  EXPECT_LT(least, 10'010us);
  EXPECT_LE(most, 30ms);
  EXPECT_GT(most, 29'990us);
  EXPECT_NEAR(sum / kCount, 20e6, 4 * 20e6 / std::sqrt(12.0 * kCount));
}

TEST(SimNetwork, AFixedDelayIsFixed) {
  LinkLaw law;
  law.delay_min = law.delay_max = 7ms;
  SimNetwork network(1, law);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(network.Datagram(0, 1, 1, 0s).delay, 7ms);
  EXPECT_EQ(network.Segment(0, 1, true, 0s).delay, 7ms);
}

TEST(SimNetwork, DoublesAndReorders) {
  LinkLaw law;
  law.duplicate = 0.1;
  law.reorder = 0.25;
  law.reorder_delay = 50ms;
  SimNetwork network(1, law);
  int twice = 0;
  int reordered = 0;
  constexpr int kCount = 20'000;
  for (int i = 0; i < kCount; ++i) {
    const SimNetwork::Fate fate = network.Datagram(0, 1, 100, 0s);
    twice += fate.twice ? 1 : 0;
    reordered += fate.reordered ? 1 : 0;
    EXPECT_EQ(fate.delay >= 50ms, fate.reordered);
    if (fate.twice) {
      EXPECT_GE(fate.second, 500us);
      EXPECT_LE(fate.second, 1ms);
    }
  }
  EXPECT_NEAR(static_cast<double>(twice) / kCount, 0.1, Tolerance(0.1, kCount));
  EXPECT_NEAR(static_cast<double>(reordered) / kCount, 0.25, Tolerance(0.25, kCount));
  const SimNetwork::Fate segment = network.Segment(0, 1, true, 0s);
  EXPECT_FALSE(segment.twice);
  EXPECT_FALSE(segment.reordered);
}

TEST(SimNetwork, TooLargeVanishes) {
  LinkLaw law;
  law.mtu = 1000;
  SimNetwork network(1, law);
  EXPECT_EQ(network.Datagram(0, 1, 1000, 0s).drop, Drop::kNone);
  EXPECT_EQ(network.Datagram(0, 1, 1001, 0s).drop, Drop::kMtu);
}

TEST(SimNetwork, CutsOneDirectionAndOneTraffic) {
  SimNetwork network(1, {});
  network.CutOneWay(0, 1, Traffic::kDatagrams);
  EXPECT_EQ(network.Datagram(0, 1, 1, 0s).drop, Drop::kCut);
  EXPECT_EQ(network.Datagram(1, 0, 1, 0s).drop, Drop::kNone);
  EXPECT_EQ(network.Segment(0, 1, false, 0s).drop, Drop::kNone);
  network.CutOneWay(0, 1, Traffic::kStreams);
  EXPECT_EQ(network.Segment(0, 1, false, 0s).drop, Drop::kCut);
  EXPECT_TRUE(network.IsCut(0, 1, Traffic::kDatagrams));
  network.Heal(1, 0);
  EXPECT_FALSE(network.IsCut(0, 1, Traffic::kAll));
}

TEST(SimNetwork, CutsAllOfOneMember) {
  SimNetwork network(1, {});
  network.CutOut(1);
  EXPECT_TRUE(network.IsCut(1, 0, Traffic::kDatagrams));
  EXPECT_FALSE(network.IsCut(0, 1, Traffic::kDatagrams));
  network.CutIn(1);
  EXPECT_TRUE(network.IsCut(7, 1, Traffic::kStreams));
  network.Heal(1);
  EXPECT_FALSE(network.IsCut(1, 0, Traffic::kAll));
  EXPECT_FALSE(network.IsCut(0, 1, Traffic::kAll));
}

TEST(SimNetwork, PartitionsIntoGroupsAndARest) {
  SimNetwork network(1, {});
  network.Partition({{0, 1}, {2}});
  EXPECT_FALSE(network.IsCut(0, 1, Traffic::kAll));
  EXPECT_TRUE(network.IsCut(1, 2, Traffic::kAll));
  EXPECT_TRUE(network.IsCut(2, 3, Traffic::kAll));
  EXPECT_FALSE(network.IsCut(3, 4, Traffic::kAll));
  network.Partition({{3}});  // replaces it
  EXPECT_FALSE(network.IsCut(1, 2, Traffic::kAll));
  EXPECT_TRUE(network.IsCut(3, 4, Traffic::kAll));
  network.HealPartition();
  EXPECT_FALSE(network.IsCut(3, 4, Traffic::kAll));
}

TEST(SimNetwork, HealAllKeepsTheLaws) {
  LinkLaw dead;
  dead.loss.rate = 1;
  SimNetwork network(1, {});
  network.SetLink(0, 1, dead);
  network.Cut(0, 1);
  network.CutOut(2);
  network.Partition({{3}, {4}});
  network.HealAll();
  EXPECT_EQ(network.Datagram(0, 1, 1, 0s).drop, Drop::kLoss);
  EXPECT_EQ(network.Datagram(1, 0, 1, 0s).drop, Drop::kNone);
  EXPECT_FALSE(network.IsCut(2, 0, Traffic::kAll));
  EXPECT_FALSE(network.IsCut(3, 4, Traffic::kAll));
}

TEST(SimNetwork, OnlyALossyStreamLosesSegments) {
  LinkLaw law;
  law.loss.rate = 1;
  SimNetwork network(1, law);
  EXPECT_EQ(network.Segment(0, 1, false, 0s).drop, Drop::kNone);
  EXPECT_EQ(network.Segment(0, 1, true, 0s).drop, Drop::kLoss);
}

TEST(SimNetwork, TakesNonsenseAsTheNearestSense) {
  LinkLaw law;
  law.loss.rate = std::nan("");
  law.duplicate = 7;
  law.delay_min = 5ms;
  law.delay_max = 1ms;
  SimNetwork network(1, law);
  const SimNetwork::Fate fate = network.Datagram(0, 1, 1, 0s);
  EXPECT_EQ(fate.drop, Drop::kNone);
  EXPECT_TRUE(fate.twice);
  EXPECT_EQ(fate.delay, 5ms);
}

TEST(SimNetwork, ExponentialHasItsMeanAndItsTail) {
  Random random(7);
  constexpr int kCount = 100'000;
  double sum = 0;
  int beyond = 0;
  for (int i = 0; i < kCount; ++i) {
    const Duration length = Exponential(random, 2s);
    sum += static_cast<double>(length.count());
    beyond += length > 6s ? 1 : 0;
  }
  EXPECT_NEAR(sum / kCount, 2e9, 4 * 2e9 / std::sqrt(kCount));
  EXPECT_NEAR(static_cast<double>(beyond) / kCount, std::exp(-3.0), Tolerance(std::exp(-3.0), kCount));
  EXPECT_EQ(Exponential(random, 0s), 0s);
}

TEST(SimNetworkDeathTest, AnIdThatIsNoneEndsTheProgram) {
  SimNetwork network(1, {});
  EXPECT_DEATH(network.CutOut(kNobody), "no member's id");
}

// ---- the queue

TEST(Flights, ComeInOrderOfTimeThenOfLaunch) {
  Flights flights;
  Random random(3);
  std::vector<std::pair<Duration, std::uint64_t>> launched;
  std::vector<std::pair<Duration, std::uint64_t>> landed;
  std::uint64_t count = 0;
  // Grow to 500, then replace, then drain: the heap is right in each phase.
  for (int i = 0; i < 3000; ++i) {
    if (flights.size() < 500 || (i < 2500 && random.Below(2) == 0)) {
      const std::uint32_t slot = flights.New();
      const Duration at = flights.empty() ? 0s : flights.next() + Duration(random.Below(20));
      flights[slot].handle = count;
      flights.Launch(slot, at);
      launched.emplace_back(at, count++);
    } else {
      const Duration at = flights.next();
      const std::uint32_t slot = flights.Pop();
      landed.emplace_back(at, flights[slot].handle);
      flights.Free(slot);
    }
  }
  while (!flights.empty()) {
    const Duration at = flights.next();
    const std::uint32_t slot = flights.Pop();
    landed.emplace_back(at, flights[slot].handle);
    flights.Free(slot);
  }
  ASSERT_EQ(landed.size(), launched.size());
  // Nothing is ever launched before the earliest of the queue, so they land in sorted order.
  EXPECT_TRUE(std::is_sorted(landed.begin(), landed.end()));
  std::sort(launched.begin(), launched.end());
  EXPECT_EQ(landed, launched);
}

TEST(Flights, AFreedSlotIsCleanAndUsedAgain) {
  Flights flights;
  const std::uint32_t slot = flights.New();
  flights[slot].bytes.resize(100);
  flights[slot].late = true;
  flights[slot].to = 3;
  flights.Free(slot);
  ASSERT_EQ(flights.New(), slot);
  EXPECT_TRUE(flights[slot].bytes.empty());
  EXPECT_GE(flights[slot].bytes.capacity(), 100u);
  EXPECT_FALSE(flights[slot].late);
  EXPECT_EQ(flights[slot].to, kNobody);
}

// ---- clocks

TEST(SimClock, FollowsVirtualTime) {
  const SimClock clock(Instant(1h), WallTime(1000s));
  EXPECT_EQ(clock.At(5s).boot, Instant(1h + 5s));
  EXPECT_EQ(clock.At(5s).raw, RawInstant(1h + 5s));
  EXPECT_EQ(clock.At(5s).wall, WallTime(1005s));
  EXPECT_EQ(clock.When(Instant(1h + 5s)), 5s);
  EXPECT_EQ(clock.When(Instant(1s)), 0s);
  EXPECT_EQ(clock.When(Instant::min()), 0s);
  EXPECT_EQ(clock.When(kNever), Duration::max());
}

TEST(SimClock, WhenIsTheFirstMomentAtAnyRate) {
  Random random(5);
  for (const std::int64_t ppm : {-900'000, -10'000, -200, -1, 0, 1, 33, 200, 10'000, 999'983, 1'000'000}) {
    SimClock clock(Instant(1h), WallTime(0s));
    clock.SetRate(10s, ppm);
    for (int i = 0; i < 1000; ++i) {
      const Instant boot = clock.At(10s).boot + Duration(1 + random.Below(2'000'000'000));
      const Duration when = clock.When(boot);
      ASSERT_GE(clock.At(when).boot, boot) << ppm;
      ASSERT_LT(clock.At(when - 1ns).boot, boot) << ppm;
    }
  }
}

TEST(SimClock, RunsAtItsRateWithoutAStep) {
  SimClock clock(Instant(1h), WallTime(0s));
  clock.SetRate(10s, 10'000);  // 1 % fast
  EXPECT_EQ(clock.At(10s).boot, Instant(1h + 10s));
  EXPECT_EQ(clock.At(110s).boot, Instant(1h + 111s));
  EXPECT_EQ(clock.At(110s).wall, WallTime(111s));
  clock.SetRate(110s, -10'000);
  EXPECT_EQ(clock.At(210s).boot, Instant(1h + 210s));
}

TEST(SimClock, SuspendStopsOnlyTheRawClock) {
  SimClock clock(Instant(1h), WallTime(0s));
  clock.Suspend(10s);
  EXPECT_EQ(clock.At(15s).raw, RawInstant(1h + 10s));
  EXPECT_EQ(clock.At(15s).boot, Instant(1h + 15s));
  clock.Resume(20s);
  EXPECT_EQ(clock.At(21s).raw, RawInstant(1h + 11s));
  EXPECT_EQ(clock.At(21s).wall, WallTime(21s));
}

TEST(SimClock, AStepMovesOnlyTheWallClock) {
  SimClock clock(Instant(1h), WallTime(100s));
  clock.StepWall(-50s);
  EXPECT_EQ(clock.At(10s).wall, WallTime(60s));
  EXPECT_EQ(clock.At(10s).boot, Instant(1h + 10s));
}

}  // namespace
}  // namespace nekton
