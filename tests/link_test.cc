// What happened between us and one other member: nothing is judged here, only kept.
#include "swim/link.h"

#include <chrono>
#include <cstdint>
#include <optional>

#include <gtest/gtest.h>

namespace nekton {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart{1000s};

constexpr bool kInRhythm = false;
constexpr bool kExtra = true;

TEST(Link, BeginsWithBothDirectionsProvenButNothingAcknowledged) {
  const Link link(kStart);
  EXPECT_EQ(link.heard(), kStart);
  EXPECT_EQ(link.reached(), kStart);
  EXPECT_EQ(link.acknowledged(), 0u);
  EXPECT_EQ(link.sent(), 0u);
  EXPECT_EQ(link.watermark(), 0u);
}

TEST(Link, SequencesRiseByOneFromOne) {
  Link link(kStart);
  for (std::uint32_t i = 1; i <= 10; ++i) EXPECT_EQ(link.Send(kStart + i * 1s), i);
  EXPECT_EQ(link.sent(), 10u);
}

// Whoever was forgotten and is met again, or let in again, may remember us: lower sequences would prove nothing to it.
TEST(Link, SequencesGoOn) {
  Link link(kStart, 41);
  EXPECT_EQ(link.sent(), 41u);
  EXPECT_EQ(link.acknowledged(), 0u);
  EXPECT_EQ(link.Send(kStart), 42u);
  EXPECT_TRUE(link.Acknowledged(42));
  EXPECT_TRUE(link.HeardBeat(7, kInRhythm, kStart + 1s));
  link.Renew(kStart + 100s);
  EXPECT_EQ(link.heard(), kStart + 100s);
  EXPECT_EQ(link.reached(), kStart + 100s);
  EXPECT_FALSE(link.HeardBeat(7, kInRhythm, kStart + 101s)) << "what was heard before is heard";
  EXPECT_EQ(link.Send(kStart + 101s), 43u);
  EXPECT_FALSE(link.Acknowledged(42));
  EXPECT_TRUE(link.Acknowledged(43));
  const auto next = link.HeardBeat(8, kInRhythm, kStart + 102s);
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->beats, 0u) << "the time between is no interval";
}

// The interval that a heartbeat which is news has ended: how many were due in it, and since when. -1: it was not news.
int Due(const std::optional<Link::Interval>& interval) {
  return interval.has_value() ? static_cast<int>(interval->beats) : -1;
}
Duration Since(const std::optional<Link::Interval>& interval) { return interval.value().opened - kStart; }

TEST(Link, OnlyASequenceAboveAllBeforeIsHeard) {
  Link link(kStart);
  EXPECT_TRUE(link.HeardBeat(5, kInRhythm, kStart + 1s));
  EXPECT_EQ(link.watermark(), 5u);
  EXPECT_EQ(link.heard(), kStart + 1s);
  for (const std::uint32_t old : {5u, 4u, 1u, 0u}) {
    for (const bool extra : {kInRhythm, kExtra}) {
      EXPECT_FALSE(link.HeardBeat(old, extra, kStart + 2s)) << old;
      EXPECT_EQ(link.watermark(), 5u);
      EXPECT_EQ(link.heard(), kStart + 1s) << "what is old proves nothing";
    }
  }
  EXPECT_TRUE(link.HeardBeat(6, kExtra, kStart + 3s));
  EXPECT_EQ(link.watermark(), 6u);
  EXPECT_EQ(link.heard(), kStart + 3s);
  EXPECT_FALSE(link.HeardBeat(6, kInRhythm, kStart + 4s)) << "the extra one has used its sequence up";
  const auto next = link.HeardBeat(7, kInRhythm, kStart + 11s);
  EXPECT_EQ(Due(next), 1);
  EXPECT_EQ(Since(next), 1s) << "the old ones have not moved the rhythm either";
}

TEST(Link, AnIntervalNeedsTwoHeartbeatsInRhythm) {
  Link link(kStart);
  EXPECT_EQ(Due(link.HeardBeat(1, kInRhythm, kStart + 3s)), 0) << "nobody knows since when the first was due";
  const auto second = link.HeardBeat(2, kInRhythm, kStart + 13s);
  EXPECT_EQ(Due(second), 1);
  EXPECT_EQ(Since(second), 3s);
  const auto third = link.HeardBeat(3, kInRhythm, kStart + 22s);
  EXPECT_EQ(Due(third), 1);
  EXPECT_EQ(Since(third), 13s);
}

TEST(Link, TheLostOnesWereDueToo) {
  Link link(kStart);
  EXPECT_EQ(Due(link.HeardBeat(7, kInRhythm, kStart)), 0)
      << "those before the first are not lost, they were never awaited";
  const auto later = link.HeardBeat(10, kInRhythm, kStart + 30s);
  EXPECT_EQ(Due(later), 3);
  EXPECT_EQ(Since(later), 0s);
  EXPECT_EQ(Due(link.HeardBeat(11, kInRhythm, kStart + 40s)), 1) << "counted once";
}

// An answer, or one that was sent again, says nothing about the rhythm and does not break it.
TEST(Link, ExtraOnesAreNoneOfTheRhythm) {
  Link link(kStart);
  EXPECT_EQ(Due(link.HeardBeat(1, kInRhythm, kStart)), 0);
  EXPECT_EQ(Due(link.HeardBeat(2, kExtra, kStart + 4s)), 0);
  EXPECT_EQ(Due(link.HeardBeat(3, kExtra, kStart + 5s)), 0);
  const auto fourth = link.HeardBeat(4, kInRhythm, kStart + 10s);
  EXPECT_EQ(Due(fourth), 1) << "the extra ones were not due";
  EXPECT_EQ(Since(fourth), 0s);
  EXPECT_EQ(link.heard(), kStart + 10s);
  // One is lost before an extra one and one after it.
  EXPECT_EQ(Due(link.HeardBeat(6, kExtra, kStart + 25s)), 0);
  const auto eighth = link.HeardBeat(8, kInRhythm, kStart + 40s);
  EXPECT_EQ(Due(eighth), 3);
  EXPECT_EQ(Since(eighth), 10s);
}

TEST(Link, ExtraOnesBeforeTheFirstOfTheRhythmOpenNoInterval) {
  Link link(kStart);
  EXPECT_EQ(Due(link.HeardBeat(3, kExtra, kStart + 1s)), 0);
  EXPECT_EQ(Due(link.HeardBeat(6, kInRhythm, kStart + 2s)), 0);
  EXPECT_EQ(Due(link.HeardBeat(7, kInRhythm, kStart + 12s)), 1) << "what was lost before the first is forgotten";
}

TEST(Link, AVoidIntervalEndsWithTheNextHeartbeatInRhythm) {
  Link link(kStart);
  EXPECT_EQ(Due(link.HeardBeat(1, kInRhythm, kStart)), 0);
  link.VoidInterval();
  EXPECT_EQ(Due(link.HeardBeat(9, kExtra, kStart + 100s)), 0);
  EXPECT_EQ(Due(link.HeardBeat(20, kInRhythm, kStart + 200s)), 0);
  const auto next = link.HeardBeat(21, kInRhythm, kStart + 210s);
  EXPECT_EQ(Due(next), 1);
  EXPECT_EQ(Since(next), 200s);
}

TEST(Link, AnyFrameMovesWhatWasHeardAndNothingElse) {
  Link link(kStart);
  EXPECT_EQ(Due(link.HeardBeat(1, kInRhythm, kStart + 1s)), 0);
  link.Heard(kStart + 8s);
  EXPECT_EQ(link.heard(), kStart + 8s);
  EXPECT_EQ(link.watermark(), 1u);
  EXPECT_EQ(Since(link.HeardBeat(2, kInRhythm, kStart + 11s)), 1s) << "the interval is between heartbeats";
}

// The way there is proven up to the moment at which the acknowledged heartbeat was sent, not at which that was heard.
TEST(Link, AnAcknowledgementProvesWhenItWasSent) {
  Link link(kStart);
  link.Send(kStart + 10s);
  link.Send(kStart + 20s);
  EXPECT_TRUE(link.Acknowledged(1));
  EXPECT_EQ(link.acknowledged(), 1u);
  EXPECT_EQ(link.reached(), kStart + 10s);
  EXPECT_TRUE(link.Acknowledged(2));
  EXPECT_EQ(link.reached(), kStart + 20s);
}

TEST(Link, AnEqualOrLowerAcknowledgementIsNothingNew) {
  Link link(kStart);
  for (int i = 1; i <= 3; ++i) link.Send(kStart + i * 10s);
  ASSERT_TRUE(link.Acknowledged(2));
  for (const std::uint32_t old : {2u, 1u, 0u}) {
    EXPECT_FALSE(link.Acknowledged(old)) << old;
    EXPECT_EQ(link.acknowledged(), 2u);
    EXPECT_EQ(link.reached(), kStart + 20s);
  }
}

TEST(Link, NothingThatWasNeverSentIsAcknowledged) {
  Link link(kStart);
  EXPECT_FALSE(link.Acknowledged(0)) << "it has seen none of ours";
  EXPECT_FALSE(link.Acknowledged(1)) << "of a former life of ours";
  link.Send(kStart + 10s);
  EXPECT_FALSE(link.Acknowledged(2));
  EXPECT_FALSE(link.Acknowledged(0xffffffff));
  EXPECT_EQ(link.acknowledged(), 0u);
  EXPECT_EQ(link.reached(), kStart);
  EXPECT_TRUE(link.Acknowledged(1));
}

TEST(Link, TheLogKeepsTheLastFour) {
  for (std::uint32_t acknowledged = 1; acknowledged <= 6; ++acknowledged) {
    Link link(kStart);
    for (int i = 1; i <= 6; ++i) link.Send(kStart + i * 10s);
    EXPECT_TRUE(link.Acknowledged(acknowledged)) << "new in any case";
    const bool kept = acknowledged >= 3;
    EXPECT_EQ(link.acknowledged(), acknowledged);
    EXPECT_EQ(link.reached(), kept ? kStart + acknowledged * 10s : kStart) << "an older one proves no time";
  }
}

TEST(Link, APauseOfOursCountsInNothing) {
  Link link(kStart);
  ASSERT_TRUE(link.HeardBeat(1, kInRhythm, kStart + 5s));
  link.Send(kStart + 6s);
  link.Send(kStart + 7s);
  ASSERT_TRUE(link.Acknowledged(1));
  link.Excuse(100s);
  EXPECT_EQ(link.heard(), kStart + 105s);
  EXPECT_EQ(link.reached(), kStart + 106s);
  EXPECT_TRUE(link.Acknowledged(2));
  EXPECT_EQ(link.reached(), kStart + 107s) << "what was sent before it is that much younger, too";
  const auto next = link.HeardBeat(2, kInRhythm, kStart + 115s);
  EXPECT_EQ(Since(next), 105s) << "the interval is ten seconds";
  EXPECT_EQ(Due(next), 1);
}

TEST(Link, APauseBeforeTheFirstHeartbeatBeginsNoInterval) {
  Link link(kStart);
  link.Excuse(100s);
  EXPECT_EQ(Due(link.HeardBeat(1, kInRhythm, kStart + 101s)), 0);
}

TEST(Link, AnEndlessPauseStaysAtTheEndOfTime) {
  Link link(kStart);
  link.Excuse(Duration::max());
  EXPECT_EQ(link.heard(), kNever);
  EXPECT_EQ(link.reached(), kNever);
}

}  // namespace
}  // namespace nekton
