// The book of probe rounds: which answer belongs to which attempt of which round.
#include "swim/probe_rounds.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "swim/random.h"

namespace nekton {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Instant kStart{seconds(1000)};
constexpr std::uint32_t kLastSerial = (1u << 28) - 1;

ProbeRound* Open(ProbeRounds& rounds, PeerId target, Instant start = kStart, std::uint8_t attempts = 1) {
  ProbeRound* round = rounds.Open(target, 1000 + target, start, start + seconds(1));
  if (round != nullptr) round->attempts = attempts;
  return round;
}

TEST(ProbeRoundsTest, AFreshRoundHasNothingOfTheOneBefore) {
  ProbeRounds rounds(0);
  // Each slot is used, in every way, before it is used again.
  for (std::uint32_t i = 0; i < ProbeRounds::kSlots; ++i) {
    ProbeRound* used = Open(rounds, i, kStart, 5);
    used->acked = used->accusing = used->last_sent = used->refused = used->local_trouble = true;
    used->asked = 8;
    used->answered = 0xff;
    used->stream = 9;
    rounds.Close(*used, kStart);
  }
  const ProbeRound* fresh = rounds.Open(77, 1077, kStart + seconds(5), kStart + seconds(6));
  ASSERT_NE(fresh, nullptr);
  EXPECT_EQ(fresh->phase, ProbeRound::Phase::kOpen);
  EXPECT_EQ(fresh->target, 77u);
  EXPECT_EQ(fresh->target_id, 1077u);
  EXPECT_EQ(fresh->start, kStart + seconds(5));
  EXPECT_EQ(fresh->next_attempt, kStart + seconds(5));
  EXPECT_EQ(fresh->end, kStart + seconds(6));
  EXPECT_FALSE(fresh->acked || fresh->accusing || fresh->last_sent || fresh->refused || fresh->local_trouble);
  EXPECT_EQ(fresh->attempts, 0);
  EXPECT_EQ(fresh->asked, 0);
  EXPECT_EQ(fresh->answered, 0u);
  EXPECT_EQ(fresh->stream, 0u);
}

TEST(ProbeRoundsTest, ASequenceSaysWhichAttemptOfWhichRound) {
  for (const std::uint32_t start : {0u, 5u, 0x12345678u, 0xffffffffu, kLastSerial - 3, kLastSerial}) {
    ProbeRounds rounds(start);
    std::set<std::uint32_t> seen;
    for (PeerId target = 0; target < 20; ++target) {
      ProbeRound* round = Open(rounds, target, kStart, kAttemptsMax);
      ASSERT_NE(round, nullptr);
      ASSERT_NE(round->serial, 0u) << "kept for pings outside rounds";
      for (std::uint32_t i = 0; i < kAttemptsMax; ++i) {
        const std::uint32_t sequence = round->Sequence(i);
        ASSERT_EQ(sequence & 0x80000000u, 0u) << "the mark of relayed pings";
        ASSERT_TRUE(sequence != kQuestionSequence && sequence != kFarewellSequence);
        ASSERT_TRUE(seen.insert(sequence).second);
        std::uint32_t attempt = 99;
        ASSERT_EQ(rounds.Find(sequence, &attempt), round);
        ASSERT_EQ(attempt, i);
      }
    }
  }
}

TEST(ProbeRoundsTest, OnlyWhatWasSentIsFound) {
  ProbeRounds rounds(0);
  std::uint32_t attempt;
  EXPECT_EQ(rounds.Find(0, &attempt), nullptr);
  EXPECT_EQ(rounds.Find(kFarewellSequence, &attempt), nullptr);
  ProbeRound* round = Open(rounds, 3, kStart, 2);
  EXPECT_EQ(rounds.Find(round->Sequence(1), &attempt), round);
  EXPECT_EQ(rounds.Find(round->Sequence(2), &attempt), nullptr) << "an attempt that was not made";
  const std::uint32_t same_slot = (round->serial + ProbeRounds::kSlots) << 3;
  EXPECT_EQ(rounds.Find(same_slot, &attempt), nullptr);
  EXPECT_EQ(rounds.Find(round->Sequence(0) | 0x80000000u, &attempt), nullptr) << "a relayed one";
}

TEST(ProbeRoundsTest, AClosedRoundIsStillFoundUntilItsTargetIsForgotten) {
  ProbeRounds rounds(0);
  ProbeRound* round = Open(rounds, 3);
  ProbeRound* other = Open(rounds, 4);
  const std::uint32_t sequence = round->Sequence(0);
  const std::uint32_t others = other->Sequence(0);
  EXPECT_EQ(rounds.FindOpen(3), round);
  rounds.Close(*round, kStart + seconds(2));
  EXPECT_EQ(rounds.FindOpen(3), nullptr);
  std::uint32_t attempt;
  ASSERT_EQ(rounds.Find(sequence, &attempt), round);
  EXPECT_EQ(round->end, kStart + seconds(2));
  rounds.Forget(3);
  EXPECT_EQ(rounds.Find(sequence, &attempt), nullptr);
  EXPECT_EQ(rounds.Find(others, &attempt), other);
  rounds.Forget(4);
  EXPECT_EQ(rounds.FindOpen(4), nullptr);
}

TEST(ProbeRoundsTest, AnOpenRoundNeverMakesRoom) {
  ProbeRounds rounds(7);
  std::vector<ProbeRound*> open;
  for (PeerId target = 0; target < ProbeRounds::kSlots; ++target) open.push_back(Open(rounds, target));
  for (ProbeRound* round : open) ASSERT_NE(round, nullptr);
  EXPECT_EQ(Open(rounds, 99), nullptr);
  rounds.Close(*open[13], kStart);
  ProbeRound* late = Open(rounds, 99);
  ASSERT_NE(late, nullptr);
  EXPECT_EQ(Open(rounds, 100), nullptr);
  for (PeerId target = 0; target < ProbeRounds::kSlots; ++target) {
    EXPECT_EQ(rounds.FindOpen(target) != nullptr, target != 13) << target;
  }
}

// The most that an engine does: nine rounds a period, each closed at its end. An ack counts for one period more.
TEST(ProbeRoundsTest, ClosedRoundsAreKeptForAPeriodAtTheHighestRate) {
  ProbeRounds rounds(3);
  std::vector<std::uint32_t> last;
  for (int period = 0; period < 50; ++period) {
    const Instant now = kStart + seconds(period);
    rounds.ForEachOpen([&](ProbeRound& round) { rounds.Close(round, now + seconds(1)); });
    std::vector<std::uint32_t> fresh;
    for (PeerId target = 0; target < 9; ++target) {
      ProbeRound* round = Open(rounds, target, now);
      ASSERT_NE(round, nullptr);
      fresh.push_back(round->Sequence(0));
    }
    std::uint32_t attempt;
    for (const std::uint32_t sequence : last) ASSERT_NE(rounds.Find(sequence, &attempt), nullptr);
    last = fresh;
  }
}

TEST(ProbeRoundsTest, WhatIsDueNextIsTheEarliestOfTheOpenOnes) {
  ProbeRounds rounds(0);
  Random dice(2);
  EXPECT_EQ(rounds.NextDue(), kNever);
  std::vector<ProbeRound*> open;
  for (int step = 0; step < 5000; ++step) {
    const auto any = [&] { return open[dice.Below(static_cast<std::uint32_t>(open.size()))]; };
    switch (dice.Below(4)) {
      case 0:
        if (ProbeRound* round = Open(rounds, dice.Below(10), kStart + milliseconds(step)); round != nullptr) {
          open.push_back(round);
        }
        break;
      case 1:
        if (!open.empty()) {
          any()->next_attempt =
              dice.Below(4) == 0 ? kNever : kStart + milliseconds(step) + milliseconds(dice.Below(500));
          rounds.Reschedule();
        }
        break;
      case 2:
        if (!open.empty()) {
          ProbeRound* round = any();
          rounds.Close(*round, kStart + milliseconds(step));
          std::erase(open, round);
        }
        break;
      default: {
        const PeerId target = dice.Below(10);
        rounds.Forget(target);
        std::erase_if(open, [&](const ProbeRound* round) { return round->phase != ProbeRound::Phase::kOpen; });
        ASSERT_EQ(rounds.FindOpen(target), nullptr);
        break;
      }
    }
    Instant next = kNever;
    for (const ProbeRound* round : open) next = std::min({next, round->next_attempt, round->end});
    ASSERT_EQ(rounds.NextDue(), next) << "at step " << step;
    std::size_t count = 0;
    rounds.ForEachOpen([&](const ProbeRound&) { ++count; });
    ASSERT_EQ(count, open.size());
  }
}

TEST(ProbeRoundsTest, ARelayIsKnownByItsIdAndAnswersForItself) {
  ProbeRound round;
  for (std::uint64_t id : {50u, 60u, 70u}) round.relays[round.asked++] = id;
  EXPECT_TRUE(round.HasAsked(60));
  EXPECT_FALSE(round.HasAsked(61));
  round.Answered(70);
  round.Answered(70);
  round.Answered(61);
  EXPECT_EQ(round.answered, 0b100u);
}

}  // namespace
}  // namespace nekton
