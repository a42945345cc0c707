// The replay gates: duplicates, order, who makes room for whom, and what a displaced observer leaves behind.
#include "stm/trails.h"

#include <chrono>
#include <vector>

#include <gtest/gtest.h>

namespace nekton {
namespace {

using std::chrono::nanoseconds;

constexpr WallTime kThen{std::chrono::hours(1)};

// The trails of one peer.
struct Peer {
  Trails& trails;
  Trails::List list = {};
  PeerId displaced = kNoPeer;
  bool added = false;

  Outcome Admit(const Observation& what) {
    return trails.Admit(list, what, what.timestamp.value_or(kThen), &displaced, &added);
  }
  // From outside, `ns` after kThen, all its other numbers alike.
  Outcome Outside(PeerId observer, std::int64_t ns) {
    const auto number = static_cast<std::uint64_t>(ns + 1'000'000);
    return Admit({.observer = observer, .sequence = number, .nonce = number, .timestamp = kThen + nanoseconds(ns)});
  }
  Outcome Own(PeerId observer, std::uint64_t sequence) {
    return Admit({.observer = observer, .sequence = sequence, .nonce = sequence});
  }
};

constexpr Observation kFirst{.observer = 7, .epoch = 5, .sequence = 10, .nonce = 100, .timestamp = kThen};

TEST(Trails, TheFirstOfAnObserverIsApplied) {
  Trails trails;
  Peer peer{trails};
  EXPECT_EQ(peer.Admit(kFirst), Outcome::kApplied);
  EXPECT_TRUE(peer.added);
  EXPECT_EQ(peer.displaced, kNoPeer);
  EXPECT_EQ(peer.list.size, 1u);
  EXPECT_EQ(trails.in_use(), 1u);
}

TEST(Trails, ACopyIsADuplicate) {
  Trails trails;
  Peer peer{trails};
  peer.Admit(kFirst);
  EXPECT_EQ(peer.Admit(kFirst), Outcome::kDuplicate);
  EXPECT_FALSE(peer.added);
  EXPECT_EQ(trails.in_use(), 1u);
}

TEST(Trails, ANonceOnceSeenIsADuplicateWhateverElseIsNew) {
  Trails trails;
  Peer peer{trails};
  peer.Admit(kFirst);
  Observation later = kFirst;
  later.sequence = 99;
  later.timestamp = kThen + std::chrono::seconds(1);
  later.signal = Signal::kDead;
  EXPECT_EQ(peer.Admit(later), Outcome::kDuplicate);
  later.nonce = 101;
  EXPECT_EQ(peer.Admit(later), Outcome::kApplied);
}

TEST(Trails, SixteenNoncesAreRemembered) {
  Trails trails;
  Peer peer{trails};
  Observation what = kFirst;
  for (std::uint64_t i = 0; i < Trails::kNonces; ++i) {
    what.sequence = what.nonce = 1 + i;
    EXPECT_EQ(peer.Admit(what), Outcome::kApplied);
  }
  what.sequence = 100;
  for (std::uint64_t nonce = 1; nonce <= Trails::kNonces; ++nonce) {
    what.nonce = nonce;
    EXPECT_EQ(peer.Admit(what), Outcome::kDuplicate) << nonce;
  }
  what.nonce = 17;
  EXPECT_EQ(peer.Admit(what), Outcome::kApplied);  // and the first is forgotten,
  what.nonce = 2;
  EXPECT_EQ(peer.Admit(what), Outcome::kDuplicate);
  what.nonce = 1;
  EXPECT_EQ(peer.Admit(what), Outcome::kOutOfOrder);  // yet the order still keeps its replay out
}

TEST(Trails, NoncesBelongToTheirEpoch) {
  Trails trails;
  Peer peer{trails};
  peer.Admit(kFirst);
  Observation next = kFirst;
  next.epoch = 6;
  EXPECT_EQ(peer.Admit(next), Outcome::kApplied);
  EXPECT_EQ(peer.Admit(next), Outcome::kDuplicate);
  EXPECT_EQ(peer.Admit(kFirst), Outcome::kOutOfOrder);
}

TEST(Trails, EachObserverHasAnOrderOfItsOwn) {
  Trails trails;
  Peer peer{trails};
  Observation what = kFirst;
  for (PeerId observer = 1; observer <= 5; ++observer) {
    what.observer = observer;
    what.sequence = 10 - observer;
    EXPECT_EQ(peer.Admit(what), Outcome::kApplied);
  }
}

TEST(Trails, EachPeerHasObserversOfItsOwn) {
  Trails trails;
  Peer one{trails};
  Peer two{trails};
  EXPECT_EQ(one.Admit(kFirst), Outcome::kApplied);
  EXPECT_EQ(two.Admit(kFirst), Outcome::kApplied);
  EXPECT_EQ(one.Admit(kFirst), Outcome::kDuplicate);
}

// ---- Order by (epoch, sequence, timestamp, nonce) ----

struct Step {
  std::int64_t epoch, sequence, stamp, nonce;
};

Observation Moved(const Step& step) {
  Observation what = kFirst;
  what.epoch += static_cast<std::uint64_t>(step.epoch);
  what.sequence += static_cast<std::uint64_t>(step.sequence);
  what.timestamp = kThen + nanoseconds(step.stamp);
  what.nonce += static_cast<std::uint64_t>(step.nonce);
  return what;
}

TEST(Trails, AHigherEarlierPartOutweighsAllLaterOnes) {
  for (const Step& step : {Step{1, -9, -9, -9}, Step{0, 1, -9, -9}}) {
    Trails trails;
    Peer peer{trails};
    peer.Admit(kFirst);
    EXPECT_EQ(peer.Admit(Moved(step)), Outcome::kApplied);
  }
}

TEST(Trails, ALowerEarlierPartOutweighsAllLaterOnes) {
  for (const Signal signal : {Signal::kHealthy, Signal::kDead}) {
    for (const Step& step : {Step{-1, 9, 9, 9}, Step{0, -1, 9, 9}, Step{0, 0, -1, 9}, Step{0, 0, 0, -1}}) {
      Trails trails;
      Peer peer{trails};
      peer.Admit(kFirst);
      Observation what = Moved(step);
      what.signal = signal;
      EXPECT_EQ(peer.Admit(what), Outcome::kOutOfOrder);
    }
  }
}

TEST(Trails, TheSameSequenceAndSignalOnceMoreIsSuperseded) {
  for (const Step& step : {Step{0, 0, 1, -9}, Step{0, 0, 0, 1}}) {
    Trails trails;
    Peer peer{trails};
    peer.Admit(kFirst);
    EXPECT_EQ(peer.Admit(Moved(step)), Outcome::kSuperseded);
    EXPECT_EQ(peer.Admit(Moved(step)), Outcome::kDuplicate);  // it is recorded, too
    EXPECT_EQ(peer.Admit(kFirst), Outcome::kDuplicate);
  }
}

TEST(Trails, TheSameSequenceWithAnotherSignalIsApplied) {
  for (const Step& step : {Step{0, 0, 1, -9}, Step{0, 0, 0, 1}}) {
    Trails trails;
    Peer peer{trails};
    peer.Admit(kFirst);
    Observation what = Moved(step);
    what.signal = Signal::kSuspect;
    EXPECT_EQ(peer.Admit(what), Outcome::kApplied);
  }
}

TEST(Trails, WhatSupersedesTakesThePlaceOfTheLast) {
  Trails trails;
  Peer peer{trails};
  peer.Admit(kFirst);
  EXPECT_EQ(peer.Admit(Moved({0, 0, 0, 9})), Outcome::kSuperseded);
  EXPECT_EQ(peer.Admit(Moved({0, 0, 0, 8})), Outcome::kOutOfOrder);
}

TEST(Trails, WhatIsOutOfOrderLeavesNoTrace) {
  Trails trails;
  Peer peer{trails};
  peer.Admit(kFirst);
  EXPECT_EQ(peer.Admit(Moved({0, -1, 0, 1})), Outcome::kOutOfOrder);
  EXPECT_EQ(peer.Admit(Moved({0, 1, 0, 1})), Outcome::kApplied);  // its nonce was not taken
}

TEST(Trails, OurOwnMayBeStampedEarlierThanTheLastOne) {
  Trails trails;
  Peer peer{trails};
  peer.Own(9, 1);
  const Observation next{.observer = 9, .sequence = 2, .nonce = 2};
  EXPECT_EQ(trails.Admit(peer.list, next, kThen - std::chrono::hours(1), &peer.displaced, &peer.added),
            Outcome::kApplied);
}

// ---- Who makes room, and the floor ----

TEST(Trails, TheSeventeenthDisplacesTheOneAppliedLongestAgo) {
  Trails trails;
  Peer peer{trails};
  for (PeerId observer = 1; observer <= Trails::kObservers; ++observer) peer.Outside(observer, observer);
  peer.Outside(1, 100);  // now 2 is the one
  EXPECT_EQ(peer.Outside(50, 101), Outcome::kApplied);
  EXPECT_EQ(peer.displaced, 2u);
  EXPECT_TRUE(peer.added);
  EXPECT_EQ(peer.list.size, Trails::kObservers);
  EXPECT_EQ(trails.in_use(), Trails::kObservers);
}

TEST(Trails, OnlyWhatIsAdmittedCountsAsUse) {
  Trails trails;
  Peer peer{trails};
  for (PeerId observer = 1; observer <= Trails::kObservers; ++observer) peer.Outside(observer, observer);
  EXPECT_EQ(peer.Outside(1, 1), Outcome::kDuplicate);
  EXPECT_EQ(peer.Outside(1, 0), Outcome::kOutOfOrder);
  peer.Outside(50, 100);
  EXPECT_EQ(peer.displaced, 1u);
}

TEST(Trails, AnUnknownObserverAtOrBelowTheFloorIsStale) {
  Trails trails;
  Peer peer{trails};
  for (PeerId observer = 1; observer <= Trails::kObservers; ++observer) peer.Outside(observer, 10 * observer);
  peer.Outside(50, 1000);  // the first leaves 10 as the floor
  EXPECT_EQ(peer.list.floor, kThen + nanoseconds(10));
  EXPECT_EQ(peer.Outside(51, 9), Outcome::kStale);
  EXPECT_EQ(peer.Outside(51, 10), Outcome::kStale);
  EXPECT_EQ(peer.displaced, kNoPeer);  // and nobody goes for it
  EXPECT_EQ(peer.Outside(51, 11), Outcome::kApplied);
}

TEST(Trails, TheFloorDoesNotConcernThoseThatAreRemembered) {
  Trails trails;
  Peer peer{trails};
  peer.Outside(2, 1);
  peer.Outside(1, 50);
  EXPECT_EQ(peer.Outside(2, 2), Outcome::kApplied);
  std::uint32_t part = 0;
  EXPECT_TRUE(trails.Remove(peer.list, 1, 0, &part));
  EXPECT_EQ(peer.list.floor, kThen + nanoseconds(50));
  EXPECT_EQ(peer.Outside(2, 3), Outcome::kApplied);
}

TEST(Trails, TheFloorNeverFalls) {
  Trails trails;
  Peer peer{trails};
  peer.Outside(1, 50);
  peer.Outside(2, 60);
  std::uint32_t part = 0;
  trails.Remove(peer.list, 2, 0, &part);
  trails.Remove(peer.list, 1, 0, &part);
  EXPECT_EQ(peer.list.floor, kThen + nanoseconds(60));
}

TEST(Trails, AReplayInTurnBySeventeenObserversChangesNothing) {
  Trails trails;
  Peer peer{trails};
  for (PeerId observer = 1; observer <= 17; ++observer) EXPECT_EQ(peer.Outside(observer, observer), Outcome::kApplied);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(peer.Outside(1, 1), Outcome::kStale);
    for (PeerId observer = 2; observer <= 17; ++observer) {
      EXPECT_EQ(peer.Outside(observer, observer), Outcome::kDuplicate) << observer;
    }
  }
}

TEST(Trails, OurOwnIsDisplacedLastAndLeavesNoFloor) {
  Trails trails;
  Peer peer{trails};
  peer.Own(99, 1);
  for (PeerId observer = 1; observer <= 100; ++observer) {
    peer.Outside(observer == 99 ? 101 : observer, observer);
    EXPECT_NE(peer.displaced, 99u);
  }
  EXPECT_EQ(peer.Own(99, 1), Outcome::kDuplicate);
  std::uint32_t part = 0;
  const WallTime floor = peer.list.floor;
  trails.Remove(peer.list, 99, 0, &part);
  EXPECT_EQ(peer.list.floor, floor);
  EXPECT_EQ(peer.Own(99, 2), Outcome::kApplied);  // nor does the floor keep it out
}

TEST(Trails, AmongManyOfOurOwnTheOldestGoes) {
  Trails trails;
  Peer peer{trails};
  for (PeerId observer = 1; observer <= Trails::kObservers; ++observer) peer.Own(observer, 1);
  peer.Own(50, 1);
  EXPECT_EQ(peer.displaced, 1u);
  EXPECT_EQ(peer.list.floor, WallTime::min());
}

// ---- What an observer has said of what is counted now ----

TEST(Trails, ThePartIsThatOfTheLastObserverAndBeginsAnewWithARound) {
  Trails trails;
  Peer peer{trails};
  peer.Outside(1, 1);
  trails.Part(peer.list, 3) += 2;
  peer.Outside(2, 2);
  EXPECT_EQ(trails.Part(peer.list, 3), 0u);
  trails.Part(peer.list, 3) += 5;
  peer.Outside(1, 3);
  EXPECT_EQ(trails.Part(peer.list, 3), 2u);
  EXPECT_EQ(trails.Part(peer.list, 4), 0u);
  EXPECT_EQ(trails.Part(peer.list, 3), 0u);
}

TEST(Trails, RemoveTellsThePartOfTheRound) {
  Trails trails;
  Peer peer{trails};
  for (PeerId observer = 1; observer <= 3; ++observer) {
    peer.Outside(observer, observer);
    trails.Part(peer.list, 8) = 10 * observer;
  }
  std::uint32_t part = 77;
  EXPECT_FALSE(trails.Remove(peer.list, 4, 8, &part));
  EXPECT_TRUE(trails.Remove(peer.list, 2, 8, &part));  // from the middle
  EXPECT_EQ(part, 20u);
  EXPECT_FALSE(trails.Remove(peer.list, 2, 8, &part));
  EXPECT_TRUE(trails.Remove(peer.list, 3, 9, &part));  // the first; in that round it said nothing
  EXPECT_EQ(part, 0u);
  EXPECT_TRUE(trails.Remove(peer.list, 1, 8, &part));  // the last
  EXPECT_EQ(part, 10u);
  EXPECT_EQ(peer.list.size, 0u);
  EXPECT_EQ(trails.in_use(), 0u);
}

TEST(Trails, AnObserverThatWasRemovedComesBackWithoutItsPart) {
  Trails trails;
  Peer peer{trails};
  peer.Outside(1, 1);
  trails.Part(peer.list, 8) = 5;
  std::uint32_t part = 0;
  trails.Remove(peer.list, 1, 8, &part);
  EXPECT_EQ(peer.Outside(1, 1), Outcome::kStale);
  EXPECT_EQ(peer.Outside(1, 2), Outcome::kApplied);
  EXPECT_EQ(trails.Part(peer.list, 8), 0u);
}

// ---- The pool ----

TEST(Trails, ClearNamesEveryObserverAndGivesTheRoomBack) {
  Trails trails;
  Peer peer{trails};
  Peer other{trails};
  other.Outside(9, 1);
  for (PeerId observer = 1; observer <= 3; ++observer) peer.Outside(observer, observer);
  std::vector<PeerId> named;
  trails.Clear(peer.list, [&named](PeerId observer) { named.push_back(observer); });
  EXPECT_EQ(named, (std::vector<PeerId>{3, 2, 1}));
  EXPECT_EQ(peer.list.size, 0u);
  EXPECT_EQ(peer.list.floor, WallTime::min());  // of a peer that is forgotten nothing is left
  EXPECT_EQ(trails.in_use(), 1u);
  EXPECT_EQ(other.Outside(9, 1), Outcome::kDuplicate);
}

TEST(Trails, ThePoolGrowsToTheMostInUseAtOnceAndNoFurther) {
  Trails trails;
  for (int round = 0; round < 100; ++round) {
    Peer one{trails};
    Peer two{trails};
    for (PeerId observer = 1; observer <= 40; ++observer) {
      one.Outside(observer, observer);
      two.Outside(observer, observer);
    }
    EXPECT_EQ(trails.in_use(), 2 * Trails::kObservers);
    trails.Clear(one.list, [](PeerId) {});
    trails.Clear(two.list, [](PeerId) {});
  }
  EXPECT_EQ(trails.in_use(), 0u);
  EXPECT_EQ(trails.capacity(), 2 * Trails::kObservers);
}

TEST(Trails, AReusedPlaceRemembersNothing) {
  Trails trails;
  Peer peer{trails};
  peer.Admit(kFirst);
  trails.Part(peer.list, 8) = 5;
  trails.Clear(peer.list, [](PeerId) {});
  EXPECT_EQ(peer.Admit(kFirst), Outcome::kApplied);
  EXPECT_EQ(trails.Part(peer.list, 8), 0u);
}

}  // namespace
}  // namespace nekton
