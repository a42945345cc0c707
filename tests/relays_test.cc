// What we probe for others: bounded, answered in time, never worked on past its end.
#include "swim/relays.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "swim/random.h"

namespace nekton {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr Instant kStart{std::chrono::seconds(1000)};

// A request of 1 s, made at `now`; its sequence.
std::uint32_t Take(Relays& relays, Instant now, Duration budget = milliseconds(1000)) {
  Relayed* entry = relays.Open(now);
  if (entry == nullptr) return 0;
  entry->nack_at = now + budget / 5 * 4;
  entry->end = now + budget;
  relays.Schedule(entry->nack_at);
  return Relays::Sequence(*entry);
}

std::vector<std::uint32_t> DueAt(Relays& relays, Instant now) {
  std::vector<std::uint32_t> due;
  relays.Due(now, [&](const Relayed& entry) { due.push_back(Relays::Sequence(entry)); });
  return due;
}

TEST(RelaysTest, SequencesNeverLookLikeThoseOfOurOwnRounds) {
  Relays relays;
  std::set<std::uint32_t> seen;
  for (std::uint32_t i = 0; i < Relays::kSlots; ++i) {
    const std::uint32_t sequence = Take(relays, kStart);
    EXPECT_NE(sequence & 0x80000000u, 0u);
    EXPECT_TRUE(seen.insert(sequence).second);
  }
}

TEST(RelaysTest, AnEntryIsFoundByItsSequenceUntilItsEnd) {
  Relays relays;
  const std::uint32_t sequence = Take(relays, kStart);
  const Instant end = kStart + milliseconds(1000);
  ASSERT_NE(relays.Find(sequence, end - nanoseconds(1)), nullptr);
  EXPECT_EQ(relays.Find(sequence, end), nullptr) << "no work at or past the end";
  EXPECT_EQ(relays.Find(sequence + 1, kStart), nullptr);
  EXPECT_EQ(relays.Find(sequence + Relays::kSlots, kStart), nullptr) << "the same slot, another entry";
  EXPECT_EQ(relays.Find(sequence & ~Relays::kMark, kStart), nullptr) << "a sequence of a round of our own";
  relays.Find(sequence, kStart)->open = false;
  EXPECT_EQ(relays.Find(sequence, kStart), nullptr);
}

TEST(RelaysTest, OneMoreThanTheBoundIsRefusedUntilOneEnds) {
  Relays relays;
  std::vector<std::uint32_t> taken;
  for (std::uint32_t i = 0; i < Relays::kSlots; ++i) {
    taken.push_back(Take(relays, kStart, i == 20 ? milliseconds(10) : milliseconds(1000)));
    ASSERT_NE(taken.back(), 0u);
  }
  EXPECT_EQ(relays.Open(kStart), nullptr);
  EXPECT_EQ(relays.Open(kStart + milliseconds(10) - nanoseconds(1)), nullptr);
  const Instant later = kStart + milliseconds(10);
  EXPECT_NE(Take(relays, later), 0u);
  EXPECT_EQ(relays.Open(later), nullptr);
  for (std::size_t i = 0; i < taken.size(); ++i) {
    EXPECT_EQ(relays.Find(taken[i], kStart + milliseconds(500)) != nullptr, i != 20) << i;
  }
}

TEST(RelaysTest, ANackComesOnceAndExactlyWhenItIsDue) {
  Relays relays;
  EXPECT_EQ(relays.next(), kNever);
  const std::uint32_t sequence = Take(relays, kStart);
  const Instant due = kStart + milliseconds(800);
  EXPECT_EQ(relays.next(), due);
  EXPECT_THAT(DueAt(relays, due - nanoseconds(1)), IsEmpty());
  EXPECT_EQ(relays.next(), due);
  EXPECT_THAT(DueAt(relays, due), ElementsAre(sequence));
  EXPECT_EQ(relays.next(), kNever);
  EXPECT_THAT(DueAt(relays, due), IsEmpty());
  EXPECT_NE(relays.Find(sequence, due), nullptr) << "an ack that comes now is still passed back";
}

TEST(RelaysTest, AnAnsweredOneGivesNoNackAndALateOneNeither) {
  Relays relays;
  const std::uint32_t answered = Take(relays, kStart);
  Take(relays, kStart);
  relays.Find(answered, kStart)->open = false;
  EXPECT_THAT(DueAt(relays, kStart + milliseconds(1000)), IsEmpty()) << "past its end nobody waits for a nack";
  EXPECT_EQ(relays.next(), kNever);
}

TEST(RelaysTest, ClearedNothingIsLeft) {
  Relays relays;
  const std::uint32_t sequence = Take(relays, kStart);
  relays.Clear();
  EXPECT_EQ(relays.Find(sequence, kStart), nullptr);
  EXPECT_EQ(relays.next(), kNever);
  EXPECT_THAT(DueAt(relays, kStart + milliseconds(800)), IsEmpty());
}

TEST(RelaysTest, AgreesWithASlowModel) {
  struct Entry {
    Instant nack_at, end;
    bool open = true, nacked = false;
  };
  Relays relays;
  std::map<std::uint32_t, Entry> model;
  Random dice(11);
  Instant now = kStart;
  for (int step = 0; step < 20000; ++step) {
    now += milliseconds(dice.Below(30));
    std::erase_if(model, [&](const auto& item) { return item.second.end <= now || !item.second.open; });
    switch (dice.Below(4)) {
      case 0:
      case 1: {
        const Duration budget = milliseconds(1 + dice.Below(2000));
        const std::uint32_t sequence = Take(relays, now, budget);
        ASSERT_EQ(sequence == 0, model.size() == Relays::kSlots);
        if (sequence != 0) model[sequence] = {now + budget / 5 * 4, now + budget};
        break;
      }
      case 2: {
        std::vector<std::uint32_t> expected;
        for (auto& [sequence, entry] : model) {
          if (entry.nacked || entry.nack_at > now) continue;
          entry.nacked = true;
          expected.push_back(sequence);
        }
        ASSERT_THAT(DueAt(relays, now), testing::UnorderedElementsAreArray(expected));
        Instant next = kNever;
        for (const auto& [sequence, entry] : model) {
          if (!entry.nacked) next = std::min(next, entry.nack_at);
        }
        ASSERT_EQ(relays.next(), next) << "it has just looked";
        break;
      }
      default: {
        if (model.empty()) break;
        const auto any = std::next(model.begin(), dice.Below(static_cast<std::uint32_t>(model.size())));
        Relayed* entry = relays.Find(any->first, now);
        ASSERT_NE(entry, nullptr);
        entry->open = any->second.open = false;
        break;
      }
    }
    // It may ask too early (for one that has been answered since), never too late.
    for (const auto& [sequence, entry] : model) {
      if (entry.open && !entry.nacked) {
        ASSERT_LE(relays.next(), entry.nack_at);
      }
    }
  }
}

}  // namespace
}  // namespace nekton
