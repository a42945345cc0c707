// Whose turn it is to be probed: five observers for each member, spread evenly without a common clock.
#include "swim/stagger.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "swim/member_table.h"
#include "swim/wire.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::UnorderedElementsAre;

constexpr Duration kPeriod = 1s;
constexpr Duration kLong = 1000s;
constexpr Instant kStart{5000s};

std::string NameOf(std::uint32_t member) { return "m" + std::to_string(member); }
Address At(std::uint32_t member) {
  return Address::V4(10, 0, static_cast<std::uint8_t>(member >> 8), static_cast<std::uint8_t>(member), 7946);
}
std::uint64_t IdOf(std::uint32_t member) { return MemberId(NameOf(member), 1); }

// One member with its own view, clock and chance.
struct Node {
  std::uint32_t number;
  Duration clock_ahead;
  std::unique_ptr<MemberTable> table;
  Stagger stagger;
  Random random;

  Node(std::uint32_t n, Duration ahead, std::uint64_t seed)
      : number(n), clock_ahead(ahead), table(std::make_unique<MemberTable>(200)), random(seed) {
    table->Add(NameOf(n), At(n), {1, 0}, MemberStatus::kActive, random);
  }
  void Meet(std::uint32_t other) { table->Add(NameOf(other), At(other), {1, 0}, MemberStatus::kActive, random); }
  void Lose(std::uint32_t other) { table->SetStatus(table->FindName(NameOf(other)), MemberStatus::kInactive, random); }
};

// A group whose pings arrive at once.
class Ring {
 public:
  explicit Ring(std::uint32_t members, std::uint64_t seed = 1) : dice_(seed) {
    for (std::uint32_t n = 0; n < members; ++n) Join(n);
  }
  void Join(std::uint32_t n) {
    const Duration ahead(static_cast<Duration::rep>(dice_.Unit() * 1e12));
    auto node = std::make_unique<Node>(n, ahead, dice_.Next());
    for (auto& [number, other] : nodes_) {
      node->Meet(number);
      other->Meet(n);
    }
    nodes_.emplace(n, std::move(node));
  }
  void Die(std::uint32_t n) {
    nodes_.erase(n);
    for (auto& [number, other] : nodes_) other->Lose(n);
  }

  // Runs in steps of 1 ms; each member looks at its table once a period, as the engine does.
  void Run(Duration length) {
    for (const Instant end = now_ + length; now_ < end; now_ += 1ms, ++steps_) {
      for (auto& [number, node] : nodes_) {
        const Instant its = now_ + node->clock_ahead;
        if ((steps_ + number * 37) % 1000 == 0) node->stagger.Reform(*node->table, its, kPeriod, node->random);
        while (node->stagger.next() <= its) Probe(*node, its);
      }
    }
  }
  void Forget() {
    pings_.clear();
    by_.clear();
  }
  std::size_t pings(std::uint32_t n) { return pings_[n].size(); }
  std::set<std::uint32_t> observers(std::uint32_t n) { return by_[n]; }
  // The longest time without a ping at `n` since Forget; a second ping must have come.
  Duration LongestGap(std::uint32_t n) {
    Duration longest{};
    for (std::size_t i = 1; i < pings_[n].size(); ++i) longest = std::max(longest, pings_[n][i] - pings_[n][i - 1]);
    return longest;
  }

 private:
  void Probe(Node& node, Instant its) {
    const PeerId row = node.stagger.Take(*node.table, its, kPeriod);
    if (row == kNoPeer) return;
    const auto target = nodes_.find(static_cast<std::uint32_t>(std::stoul(node.table->Info(row)->name.substr(1))));
    if (target == nodes_.end()) return;
    pings_[target->first].push_back(now_);
    by_[target->first].insert(node.number);
    Node& to = *target->second;
    node.stagger.Shift(row, to.stagger.ShiftFor(IdOf(node.number), now_ + to.clock_ahead, kPeriod), kPeriod);
  }

  Random dice_;
  Instant now_ = kStart;
  std::uint64_t steps_ = 0;
  std::map<std::uint32_t, std::unique_ptr<Node>> nodes_;
  std::map<std::uint32_t, std::vector<Instant>> pings_;
  std::map<std::uint32_t, std::set<std::uint32_t>> by_;
};

// The five whose ids follow, around the ring.
std::set<std::uint32_t> Followers(std::uint32_t n, const std::vector<std::uint32_t>& members) {
  std::map<std::uint64_t, std::uint32_t> by_distance;
  for (const std::uint32_t other : members) {
    if (other != n) by_distance[IdOf(other) - IdOf(n)] = other;
  }
  std::set<std::uint32_t> five;
  for (const auto& [distance, other] : by_distance) {
    if (five.size() < 5) five.insert(other);
  }
  return five;
}

TEST(StaggerTest, EachMemberIsProbedOnceAPeriodByTheFiveThatFollowIt) {
  for (const std::uint32_t size : {2u, 3u, 4u, 6u, 7u, 40u}) {
    Ring ring(size);
    std::vector<std::uint32_t> all;
    for (std::uint32_t n = 0; n < size; ++n) all.push_back(n);
    ring.Run(12s);
    ring.Forget();
    ring.Run(30s);
    for (const std::uint32_t n : all) {
      EXPECT_NEAR(static_cast<double>(ring.pings(n)), 30, 1) << n << " of " << size;
      EXPECT_LE(ring.LongestGap(n), kPeriod * 17 / 16) << n << " of " << size;
      EXPECT_EQ(ring.observers(n), Followers(n, all)) << n << " of " << size;
    }
  }
}

TEST(StaggerTest, TheRingReformsWithEveryDeathAndJoin) {
  Ring ring(30);
  ring.Run(12s);
  std::vector<std::uint32_t> all;
  for (std::uint32_t n = 0; n < 30; ++n) all.push_back(n);
  // All five observers of 7 at once.
  for (const std::uint32_t gone : Followers(7, all)) {
    ring.Die(gone);
    std::erase(all, gone);
  }
  ring.Join(77);
  all.push_back(77);
  ring.Forget();
  ring.Run(12s);
  EXPECT_LE(ring.LongestGap(7), 2 * kPeriod)
      << "each of the new ones begins within a period, and has its slot from then on";
  for (const std::uint32_t n : all) EXPECT_LE(ring.LongestGap(n), 3 * kPeriod) << n;
  ring.Forget();
  ring.Run(20s);
  for (const std::uint32_t n : all) {
    EXPECT_EQ(ring.observers(n), Followers(n, all)) << n;
    EXPECT_LE(ring.LongestGap(n), kPeriod * 17 / 16) << n;
  }
}

TEST(StaggerTest, WhoIsAloneProbesNobody) {
  Node alone(1, 0s, 1);
  alone.stagger.Reform(*alone.table, kStart, kPeriod, alone.random);
  EXPECT_EQ(alone.stagger.next(), kNever);
  EXPECT_EQ(alone.stagger.Take(*alone.table, kStart, kPeriod), kNoPeer);
  EXPECT_EQ(alone.stagger.ShiftFor(IdOf(2), kStart, kPeriod), 0);
  alone.stagger.Shift(1, 100, kPeriod);
}

TEST(StaggerTest, WhatChangesNothingOfTheRingMovesNoTurn) {
  Node node(0, 0s, 1);
  for (std::uint32_t n = 1; n < 20; ++n) node.Meet(n);
  node.stagger.Reform(*node.table, kStart, kPeriod, node.random);
  const Instant next = node.stagger.next();
  EXPECT_LT(next, kStart + kPeriod);
  node.table->SetKey(3, {1, 5});
  node.stagger.Reform(*node.table, kStart + 100ms, kPeriod, node.random);
  EXPECT_EQ(node.stagger.next(), next);
  node.stagger.Clear();
  EXPECT_EQ(node.stagger.next(), kNever);
}

TEST(StaggerTest, AShiftIsHeldWithinACycle) {
  for (const std::int16_t units : {std::int16_t{INT16_MAX}, std::int16_t{INT16_MIN}, std::int16_t{4096}}) {
    Node node(0, 0s, 1);
    for (std::uint32_t n = 1; n <= 2; ++n) node.Meet(n);
    node.stagger.Reform(*node.table, kStart, kPeriod, node.random);
    const Instant first = node.stagger.next();
    const PeerId target = node.stagger.Take(*node.table, first, kPeriod);
    ASSERT_NE(target, kNoPeer);
    const PeerId other = 3 - target;
    // The other one is taken as often as it is due, until its turn comes again.
    node.stagger.Shift(target, units, kPeriod);
    const Instant wanted =
        first + 2 * kPeriod + std::clamp<Duration>(kPeriod * units / 4096, -kPeriod * 3 / 2, kPeriod / 2);
    PeerId taken = other;
    Instant at{};
    while (taken == other) taken = node.stagger.Take(*node.table, at = node.stagger.next(), kPeriod);
    EXPECT_EQ(at, wanted);
  }
}

TEST(StaggerTest, OnlyObserversAreAskedToShiftAndOnlyWhenItMatters) {
  Node node(0, 0s, 1);
  std::vector<std::uint32_t> all = {0};
  for (std::uint32_t n = 1; n < 20; ++n) {
    node.Meet(n);
    all.push_back(n);
  }
  node.stagger.Reform(*node.table, kStart, kPeriod, node.random);
  const std::set<std::uint32_t> five = Followers(0, all);
  for (std::uint32_t n = 1; n < 20; ++n) {
    int asked = 0;
    for (int ms = 0; ms < 5000; ms += 10) {
      const std::int16_t shift = node.stagger.ShiftFor(IdOf(n), kStart + ms * 1ms, kPeriod);
      EXPECT_LE(shift, 4096 / 2);
      EXPECT_GE(shift, -(5 * 4096 - 4096 / 2));
      if (shift == 0) continue;
      ++asked;
      // Where it asks it to come it is content.
      const Instant then = kStart + ms * 1ms + 5 * kPeriod + kPeriod * shift / 4096;
      EXPECT_EQ(node.stagger.ShiftFor(IdOf(n), then, kPeriod), 0) << n << " at " << ms;
    }
    if (five.contains(n)) {
      EXPECT_GT(asked, 480) << n;
      EXPECT_LT(asked, 500) << n;
    } else {
      EXPECT_EQ(asked, 0) << n;
    }
  }
}

// After a long sleep of ours there is no burst.
TEST(StaggerTest, AMissedTurnIsLeftOut) {
  Node node(0, 0s, 1);
  for (std::uint32_t n = 1; n < 20; ++n) node.Meet(n);
  node.stagger.Reform(*node.table, kStart, kPeriod, node.random);
  const Instant late = kStart + kLong;
  int taken = 0;
  while (node.stagger.next() <= late) taken += node.stagger.Take(*node.table, late, kPeriod) != kNoPeer ? 1 : 0;
  EXPECT_LE(taken, 2) << "one a period, and those of half a period before";
  EXPECT_LE(node.stagger.next(), late + 5 * kPeriod);
}

TEST(StaggerTest, TheDeadAndTheForgottenAreLeftOut) {
  Node node(0, 0s, 1);
  for (std::uint32_t n = 1; n <= 3; ++n) node.Meet(n);
  node.stagger.Reform(*node.table, kStart, kPeriod, node.random);
  node.Lose(1);
  node.Lose(2);
  node.table->Remove(2);
  std::set<PeerId> taken;
  for (Instant at = node.stagger.next(); at < kStart + 10s; at = node.stagger.next()) {
    taken.insert(node.stagger.Take(*node.table, at, kPeriod));
  }
  EXPECT_THAT(taken, UnorderedElementsAre(kNoPeer, PeerId{3}));
}

}  // namespace
}  // namespace nekton
