// Whose word is kept, whose counts, and what is new in a word.
#include "stm/witnesses.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace nekton {
namespace {

using News = Witnesses::News;

// A set, and what the last Add displaced.
struct Bench {
  Witnesses witnesses;
  PeerId displaced = kNoPeer;

  News Rumour(PeerId observer) { return witnesses.Add({observer, false}, false, &displaced); }
  News Refused(PeerId observer) { return witnesses.Add({observer, true}, false, &displaced); }
  News Verdict(PeerId observer) { return witnesses.Add({observer, false}, true, &displaced); }
  // With the ids `first`, first + 1, ...
  void Fill(PeerId first) {
    for (PeerId i = 0; i < Witnesses::kMax; ++i) Rumour(first + i);
  }
  std::vector<PeerId> Observers() const {
    std::vector<PeerId> ids;
    for (const Witness& witness : witnesses.all()) ids.push_back(witness.observer);
    std::sort(ids.begin(), ids.end());
    return ids;
  }
};

TEST(Witnesses, ANewOneCountsAndASecondTimeIsNoNews) {
  Bench bench;
  EXPECT_EQ(bench.Rumour(7), News::kWitness);
  EXPECT_EQ(bench.Rumour(7), News::kNone);
  EXPECT_EQ(bench.Rumour(8), News::kWitness);
  EXPECT_EQ(bench.witnesses.counting(), 2u);
  EXPECT_EQ(bench.witnesses.refused(), 0u);
  EXPECT_FALSE(bench.witnesses.verdict());
  EXPECT_TRUE(bench.witnesses.Has(7));
  EXPECT_FALSE(bench.witnesses.Has(9));
  EXPECT_EQ(bench.displaced, kNoPeer);
}

TEST(Witnesses, ARefusalOrAVerdictIsMoreAndLessIsNone) {
  Bench bench;
  bench.Rumour(7);
  EXPECT_EQ(bench.Refused(7), News::kMore);
  EXPECT_EQ(bench.Refused(7), News::kNone);
  EXPECT_EQ(bench.Rumour(7), News::kNone);  // the mark stays
  EXPECT_EQ(bench.witnesses.refused(), 1u);
  EXPECT_EQ(bench.Verdict(7), News::kMore);
  EXPECT_EQ(bench.Verdict(7), News::kNone);
  EXPECT_EQ(bench.Refused(7), News::kNone);  // and so does the verdict
  EXPECT_TRUE(bench.witnesses.verdict());
  EXPECT_EQ(bench.witnesses.counting(), 1u);
}

TEST(Witnesses, RemovesWhoWasThere) {
  Bench bench;
  bench.Rumour(7);
  bench.Refused(8);
  bench.Verdict(9);
  EXPECT_TRUE(bench.witnesses.Remove(8));
  EXPECT_FALSE(bench.witnesses.Remove(8));
  EXPECT_EQ(bench.witnesses.refused(), 0u);
  EXPECT_EQ(bench.Observers(), (std::vector<PeerId>{7, 9}));
  EXPECT_TRUE(bench.witnesses.Remove(9));
  EXPECT_FALSE(bench.witnesses.verdict());
  EXPECT_EQ(bench.Verdict(9), News::kWitness);  // as if it had never spoken
}

TEST(Witnesses, ClearForgetsAll) {
  Bench bench;
  bench.Fill(10);
  bench.witnesses.Clear();
  EXPECT_TRUE(bench.witnesses.all().empty());
  EXPECT_EQ(bench.witnesses.counting(), 0u);
  EXPECT_EQ(bench.Rumour(99), News::kWitness);
}

// ---- Those that are only remembered ----

TEST(Witnesses, TheRetiredAreRememberedAndCountForNothing) {
  Bench bench;
  bench.Refused(7);
  bench.Verdict(8);
  bench.witnesses.Retire();
  EXPECT_EQ(bench.witnesses.counting(), 0u);
  EXPECT_EQ(bench.witnesses.refused(), 0u);
  EXPECT_FALSE(bench.witnesses.verdict());
  EXPECT_TRUE(bench.witnesses.Has(7));
  EXPECT_EQ(bench.Rumour(7), News::kNone);
  EXPECT_EQ(bench.Refused(7), News::kNone);
  EXPECT_EQ(bench.witnesses.counting(), 0u);
  EXPECT_EQ(bench.witnesses.refused(), 0u);
}

TEST(Witnesses, TheFirstVerdictOfARetiredOneCountsAgainAndNoSecond) {
  Bench bench;
  bench.Rumour(7);
  bench.Verdict(8);
  bench.witnesses.Retire();
  EXPECT_EQ(bench.Verdict(8), News::kNone);
  EXPECT_EQ(bench.witnesses.counting(), 0u);
  EXPECT_EQ(bench.Verdict(7), News::kWitness);
  EXPECT_EQ(bench.witnesses.counting(), 1u);
  EXPECT_TRUE(bench.witnesses.verdict());
  bench.witnesses.Retire();
  EXPECT_EQ(bench.Verdict(7), News::kNone);
}

// Else the order of a rumour with a mark and a verdict would matter.
TEST(Witnesses, AMarkIsNeverTakenBackAndCountsWithItsWitness) {
  for (const bool mark_first : {false, true}) {
    Bench bench;
    bench.Rumour(7);
    bench.witnesses.Retire();
    if (mark_first) {
      EXPECT_EQ(bench.Refused(7), News::kMore);
    }
    EXPECT_EQ(bench.witnesses.refused(), 0u);
    EXPECT_EQ(bench.Verdict(7), News::kWitness);
    if (!mark_first) {
      EXPECT_EQ(bench.Refused(7), News::kMore);
    }
    EXPECT_EQ(bench.witnesses.refused(), 1u);
    EXPECT_EQ(bench.Refused(7), News::kNone);
  }
}

// ---- When there is no room ----

TEST(Witnesses, KeepsTheLowestIds) {
  Bench bench;
  bench.Fill(10);  // 10 - 17
  EXPECT_EQ(bench.Rumour(18), News::kFull);
  EXPECT_EQ(bench.displaced, kNoPeer);
  EXPECT_EQ(bench.Rumour(9), News::kMore);  // no more of them than before
  EXPECT_EQ(bench.displaced, 17u);
  EXPECT_EQ(bench.Observers(), (std::vector<PeerId>{9, 10, 11, 12, 13, 14, 15, 16}));
  EXPECT_EQ(bench.witnesses.counting(), Witnesses::kMax);
}

TEST(Witnesses, KeepsTheRefusedBeforeLowerIds) {
  Bench bench;
  bench.Fill(10);
  EXPECT_EQ(bench.Refused(99), News::kMore);
  EXPECT_EQ(bench.displaced, 17u);
  EXPECT_EQ(bench.Rumour(9), News::kMore);
  EXPECT_EQ(bench.displaced, 16u);
  EXPECT_TRUE(bench.witnesses.Has(99));
  EXPECT_EQ(bench.witnesses.refused(), 1u);
}

TEST(Witnesses, KeepsVerdictsBeforeAllElse) {
  Bench bench;
  bench.Fill(10);
  for (PeerId i = 0; i < Witnesses::kMax; ++i) bench.Refused(10 + i);
  EXPECT_EQ(bench.Verdict(99), News::kMore);
  EXPECT_EQ(bench.displaced, 17u);
  EXPECT_TRUE(bench.witnesses.verdict());
  EXPECT_EQ(bench.Refused(9), News::kMore);
  EXPECT_EQ(bench.displaced, 16u);
}

TEST(Witnesses, KeepsThoseThatCountBeforeTheRetired) {
  Bench bench;
  bench.Fill(10);
  bench.witnesses.Retire();
  for (PeerId i = 0; i < Witnesses::kMax; ++i) {
    EXPECT_EQ(bench.Rumour(90 + i), News::kWitness);
    EXPECT_EQ(bench.displaced, 17 - i);
  }
  EXPECT_EQ(bench.Rumour(98), News::kFull);
  EXPECT_EQ(bench.witnesses.counting(), Witnesses::kMax);
}

TEST(Witnesses, AWordOfOneThatIsKeptNeedsNoRoom) {
  Bench bench;
  bench.Fill(10);
  EXPECT_EQ(bench.Refused(17), News::kMore);
  EXPECT_EQ(bench.displaced, kNoPeer);
  EXPECT_EQ(bench.Rumour(10), News::kNone);
}

TEST(Witnesses, WhoIsKeptDoesNotDependOnTheOrder) {
  struct Said {
    PeerId observer;
    bool refused;
  };
  // Twelve members; 5 and 20 say it first without, then with the mark. Kept: the three refused, then the lowest five.
  std::vector<Said> said{{1, false},  {2, false},  {3, false}, {4, false}, {5, false},
                         {6, false},  {7, false},  {8, false}, {9, false}, {20, false},
                         {21, false}, {22, false}, {5, true},  {20, true}, {22, true}};
  const std::vector<PeerId> kept{1, 2, 3, 4, 5, 6, 20, 22};
  std::uint64_t state = 1;  // of a small generator, to shuffle with
  for (int round = 0; round < 2000; ++round) {
    for (std::size_t i = said.size() - 1; i > 0; --i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      std::swap(said[i], said[(state >> 33) % (i + 1)]);
    }
    Bench bench;
    for (const Said& word : said) word.refused ? bench.Refused(word.observer) : bench.Rumour(word.observer);
    ASSERT_EQ(bench.Observers(), kept) << round;
    ASSERT_EQ(bench.witnesses.refused(), 3u) << round;
  }
}

}  // namespace
}  // namespace nekton
