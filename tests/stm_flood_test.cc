// Floods (T5 of heartbeat-and-stm): whatever arrives, memory stays at its bound, what is dropped is counted, and what
// we ourselves observe is still committed.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "stm/stm.h"
#include "tests/count_allocations.h"

namespace nekton {
namespace {

constexpr std::uint64_t kMillion = 1'000'000;
constexpr PeerId kPeer = 1;
constexpr PeerId kOther = 2;
constexpr PeerId kUs = 3;
constexpr PeerId kStranger = 4;
constexpr PeerId kCrowd = 1000;  // the first of a million
constexpr LifeKey kKey{5, 3};

class StmFloodTest : public testing::Test {
 protected:
  StmFloodTest() { changes_.reserve(100'000); }

  static StmConfig Config() {
    StmConfig config;  // SWIM's
    config.max_records = 1000;
    return config;
  }

  Outcome Own(Signal signal, PeerId peer) {
    ++own_;
    return Apply({.peer = peer, .observer = kUs, .signal = signal, .epoch = 5, .sequence = own_, .nonce = own_});
  }
  Outcome Outside(PeerId peer, PeerId observer, Signal signal, std::uint64_t nonce, WallTime stamp) {
    return Apply(
        {.peer = peer, .observer = observer, .signal = signal, .epoch = 5, .nonce = nonce, .timestamp = stamp});
  }
  Outcome Apply(const Observation& said) {
    ++sent_;
    return stm_.Apply(now_, said, kKey, kTerms, changes_);
  }
  void Pass(Duration time) {
    now_.boot += time;
    now_.wall += time;
  }

  // A million times `one(i)`; after the first hundred thousand nothing is allocated any more.
  template <typename One>
  void Flood(One one) {
    for (std::uint64_t i = 0; i < kMillion / 10; ++i) one(i);
    const std::uint64_t before = allocations;
    for (std::uint64_t i = kMillion / 10; i < kMillion; ++i) one(i);
    EXPECT_EQ(allocations - before, 0U);
    const auto& outcomes = stm_.counters().outcomes;
    EXPECT_EQ(std::accumulate(outcomes.begin(), outcomes.end(), std::uint64_t{0}), sent_);
  }

  // Ten kSuspect of ours commit SUSPECT and, with time, INACTIVE.
  void ExpectWeAreHeard(PeerId peer) {
    changes_.clear();
    for (int i = 0; i < 10; ++i) Own(Signal::kSuspect, peer);
    EXPECT_EQ(stm_.StateOf(peer), State::kSuspect);
    Pass(kTerms.max);
    stm_.Advance(now_, changes_);
    EXPECT_EQ(stm_.StateOf(peer), State::kInactive);
    EXPECT_EQ(std::count_if(changes_.begin(), changes_.end(), [&](const StateChange& c) { return c.peer == peer; }), 2);
  }

  static constexpr HoldTerms kTerms{std::chrono::seconds(2), std::chrono::seconds(8), 3, std::chrono::seconds(1),
                                    std::chrono::seconds(1)};
  Stm stm_{Config()};
  Tick now_{.boot = Instant(std::chrono::seconds(1000)), .wall = WallTime(std::chrono::hours(1'000'000))};
  std::uint64_t own_ = 0;
  std::uint64_t sent_ = 0;
  std::vector<StateChange> changes_;
};

TEST_F(StmFloodTest, AMillionObserversOfOnePeer) {
  // Each is later than the last, so each is let in and displaces another; half of them speak well of it.
  Flood([&](std::uint64_t i) {
    Pass(Duration(1));
    const auto observer = static_cast<PeerId>(kCrowd + i);
    Outside(kPeer, observer, i % 2 == 0 ? Signal::kHealthy : Signal::kSuspect, i, now_.wall);
    if (i % 1000 == 0) changes_.clear();
  });
  const StmCounters& counters = stm_.counters();
  // The first found no record and left none.
  EXPECT_EQ(counters.of(Outcome::kApplied), kMillion - 1);
  EXPECT_EQ(counters.of(Outcome::kNoEffect), 1U);
  EXPECT_EQ(counters.observers_displaced, kMillion - 1 - Trails::kObservers);
  EXPECT_EQ(stm_.records(), 1U);
  EXPECT_EQ(stm_.StateOf(kPeer), State::kActive);
  ExpectWeAreHeard(kPeer);
  ExpectWeAreHeard(kOther);
}

TEST_F(StmFloodTest, WhatIsDroppedDisturbsNoSignalOfOurs) {
  Own(Signal::kSuspect, kPeer);
  for (PeerId i = 0; i < 30; ++i) {  // leaves a floor
    Pass(Duration(1));
    EXPECT_EQ(Outside(kPeer, kCrowd + i, Signal::kHealthy, 1, now_.wall), Outcome::kApplied);
  }
  const WallTime floor = now_.wall - Duration(Trails::kObservers);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Own(Signal::kSuspect, kPeer), Outcome::kApplied);
  const auto count = [&] { return stm_.Explain(now_, kPeer).count; };
  ASSERT_EQ(count(), 4U);
  const StmCounters before = stm_.counters();
  Flood([&](std::uint64_t i) {
    const auto observer = static_cast<PeerId>(kCrowd + 100 + i);
    switch (i % 5) {
      case 0:  // of whom we know nothing, at the floor
        return void(Outside(kPeer, observer, Signal::kHealthy, i, floor));
      case 1:  // once more
        return void(Outside(kPeer, kCrowd + 29, Signal::kHealthy, 1, now_.wall));
      case 2:  // of another life
        return void(Apply({.peer = kPeer, .observer = observer, .epoch = 4, .nonce = i, .timestamp = now_.wall}));
      case 3:
        return void(Outside(kPeer, observer, Signal::kHealthy, i, now_.wall + std::chrono::seconds(31)));
      default:
        return void(Outside(kPeer, observer, static_cast<Signal>(7), i, now_.wall));
    }
  });
  for (const Outcome dropped :
       {Outcome::kStale, Outcome::kDuplicate, Outcome::kOldEpoch, Outcome::kFuture, Outcome::kInvalid}) {
    EXPECT_EQ(stm_.count(dropped), before.of(dropped) + kMillion / 5) << Name(dropped);
  }
  EXPECT_EQ(count(), 4U);
  EXPECT_EQ(stm_.StateOf(kPeer), State::kActive);
  Own(Signal::kSuspect, kPeer);
  EXPECT_EQ(stm_.StateOf(kPeer), State::kSuspect);
  EXPECT_EQ(stm_.counters().observers_displaced, before.observers_displaced);
}

TEST_F(StmFloodTest, AMillionNoncesOfOneObserver) {
  // One and the same observation with ever larger nonces is one: it is superseded, and no counter moves.
  Flood([&](std::uint64_t i) { Outside(kPeer, kCrowd, Signal::kSuspect, i, now_.wall); });
  EXPECT_EQ(stm_.count(Outcome::kApplied), 1U);
  EXPECT_EQ(stm_.count(Outcome::kSuperseded), kMillion - 1);
  EXPECT_EQ(stm_.Explain(now_, kPeer).count, 1U);
  // The last 16 are known, those before come too late; neither counts.
  for (std::uint64_t i = kMillion - 32; i < kMillion; ++i) {
    EXPECT_EQ(Outside(kPeer, kCrowd, Signal::kSuspect, i, now_.wall),
              i < kMillion - Trails::kNonces ? Outcome::kOutOfOrder : Outcome::kDuplicate);
  }
  EXPECT_EQ(stm_.Explain(now_, kPeer).count, 1U);
  ExpectWeAreHeard(kPeer);
}

TEST_F(StmFloodTest, AMillionRumoursOfOnePeer) {
  // From high to low, so that each displaces another.
  Flood([&](std::uint64_t i) {
    ++sent_;
    const auto observer = static_cast<PeerId>(kCrowd + kMillion - i);
    stm_.Rumour(now_, kPeer, kKey, {.observer = observer}, kTerms, changes_);
  });
  EXPECT_EQ(stm_.count(Outcome::kApplied), kMillion);
  EXPECT_EQ(stm_.counters().witnesses_displaced, kMillion - Witnesses::kMax);
  // And from low to high: no room.
  const std::uint64_t full = stm_.count(Outcome::kFull);
  Flood([&](std::uint64_t i) {
    ++sent_;
    stm_.Rumour(now_, kPeer, kKey, {.observer = static_cast<PeerId>(kCrowd + kMillion + 1 + i)}, kTerms, changes_);
  });
  EXPECT_EQ(stm_.count(Outcome::kFull), full + kMillion);
  EXPECT_EQ(changes_.size(), 1U);
  EXPECT_EQ(stm_.HoldOf(kPeer)->end, now_.boot + kTerms.min + kTerms.margin);
  ExpectWeAreHeard(kOther);
}

TEST_F(StmFloodTest, AMillionPeersOfStrangers) {
  Own(Signal::kSuspect, kOther);  // the oldest record of all, but ours
  Flood([&](std::uint64_t i) {
    Pass(Duration(1));
    Outside(static_cast<PeerId>(kCrowd + i), kStranger, Signal::kSuspect, i, now_.wall);
    if (stm_.records() > 501) FAIL() << stm_.records() << " records after " << i;
  });
  EXPECT_EQ(stm_.count(Outcome::kApplied), 1 + kMillion);
  EXPECT_EQ(stm_.counters().records_displaced, kMillion - 500);
  EXPECT_EQ(stm_.Explain(now_, kOther).count, 1U);
  ExpectWeAreHeard(kOther);
  ExpectWeAreHeard(kPeer);
}

TEST_F(StmFloodTest, AMillionDeadPeersOfStrangers) {
  // SUSPECT at once, so none of them makes room for another.
  Flood([&](std::uint64_t i) {
    Outside(static_cast<PeerId>(kCrowd + i), kStranger, Signal::kDead, i, now_.wall);
    if (stm_.records() > 500) FAIL() << stm_.records() << " records after " << i;
  });
  EXPECT_EQ(stm_.count(Outcome::kApplied), 500U);
  EXPECT_EQ(stm_.count(Outcome::kFull), kMillion - 500);
  ExpectWeAreHeard(kOther);
  ExpectWeAreHeard(kCrowd + 700'000);                     // one that a stranger spoke of, and found no room
  EXPECT_EQ(stm_.StateOf(kCrowd + 7), State::kInactive);  // the holds of the others ran out meanwhile
}

TEST_F(StmFloodTest, AMillionPeersThatComeAndGo) {
  Flood([&](std::uint64_t i) {
    const auto peer = static_cast<PeerId>(kCrowd + i);
    Own(Signal::kDead, peer);
    sent_ += 2;
    stm_.Left(now_, peer, kKey, changes_);
    stm_.Bury(now_, peer + 1, kKey);
    stm_.Forget(peer);
    if (i % 1000 == 0) changes_.clear();
    if (stm_.records() > 2) FAIL() << stm_.records() << " records after " << i;
  });
  ExpectWeAreHeard(kPeer);
}

}  // namespace
}  // namespace nekton
