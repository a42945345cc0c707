// Who accuses whom: the union of what is heard must not depend on its order.
#include "swim/suspicions.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "swim/random.h"

namespace nekton {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<Accuser> AccusersOf(const Suspicions& suspicions, PeerId row) {
  const Suspicion* suspicion = suspicions.Find(row);
  return suspicion == nullptr ? std::vector<Accuser>{} : suspicion->accusers;
}

TEST(SuspicionsTest, TheUnionIsTheSameInEveryOrder) {
  Random dice(7);
  for (int trial = 0; trial < 2000; ++trial) {
    const std::size_t most = 1 + dice.Below(kAccusersMax);
    std::vector<Accuser> heard;
    for (std::uint32_t i = dice.Below(20); i > 0; --i) heard.push_back({dice.Below(12), dice.Below(2) == 0});
    // Slow and obvious: of each id whether any mark was seen; then the lowest ids.
    std::map<std::uint64_t, bool> all;
    for (const Accuser& accuser : heard) all[accuser.id] |= accuser.refused;
    std::vector<Accuser> expected;
    for (const auto& [id, refused] : all) {
      if (expected.size() < most) expected.push_back({id, refused});
    }
    for (int order = 0; order < 4; ++order) {
      Suspicions suspicions(most);
      for (const Accuser& accuser : heard) {
        const std::vector<Accuser> before = AccusersOf(suspicions, 3);
        const bool changed = suspicions.Merge(3, accuser);
        ASSERT_EQ(changed, AccusersOf(suspicions, 3) != before);
      }
      ASSERT_EQ(AccusersOf(suspicions, 3), expected);
      for (std::size_t i = heard.size(); i > 1; --i) {
        std::swap(heard[i - 1], heard[dice.Below(static_cast<std::uint32_t>(i))]);
      }
    }
  }
}

TEST(SuspicionsTest, AMarkOfRefusalIsNeverTakenBack) {
  Suspicions suspicions(4);
  EXPECT_TRUE(suspicions.Merge(1, {5, false}));
  EXPECT_FALSE(suspicions.Merge(1, {5, false}));
  EXPECT_TRUE(suspicions.Merge(1, {5, true}));
  EXPECT_FALSE(suspicions.Merge(1, {5, false}));
  EXPECT_THAT(AccusersOf(suspicions, 1), ElementsAre(Accuser{5, true}));
}

TEST(SuspicionsTest, RowsAreApart) {
  Suspicions suspicions(4);
  suspicions.Merge(1, {5, false});
  suspicions.Merge(2, {6, false});
  suspicions.Forget(1);
  EXPECT_EQ(suspicions.Find(1), nullptr);
  EXPECT_THAT(AccusersOf(suspicions, 2), ElementsAre(Accuser{6, false}));
}

TEST(SuspicionsTest, OwnOnesComeOldestFirst) {
  Suspicions suspicions(4);
  for (const PeerId row : {9u, 2u, 5u}) suspicions.MarkOwn(row);
  suspicions.MarkOwn(2);  // again: it keeps its place
  EXPECT_THAT(suspicions.own(), ElementsAre(9, 2, 5));
  EXPECT_TRUE(suspicions.Find(2)->own);
}

TEST(SuspicionsTest, SettledItIsOursNoMoreButItsAccusersStayKnown) {
  Suspicions suspicions(4);
  suspicions.Merge(2, {6, true});
  for (const PeerId row : {9u, 2u, 5u}) suspicions.MarkOwn(row);
  suspicions.Settle(2);
  suspicions.Settle(2);
  suspicions.Settle(77);  // nobody accuses it
  EXPECT_THAT(suspicions.own(), ElementsAre(9, 5));
  EXPECT_FALSE(suspicions.Find(2)->own);
  EXPECT_THAT(AccusersOf(suspicions, 2), ElementsAre(Accuser{6, true}));
  suspicions.MarkOwn(2);
  EXPECT_THAT(suspicions.own(), ElementsAre(9, 5, 2)) << "accused anew, it is the youngest";
}

TEST(SuspicionsTest, WithdrawnAnAccuserIsNamedNowhereAndMakesRoom) {
  Suspicions suspicions(2);
  suspicions.Merge(1, {5, true});
  suspicions.Merge(1, {7, false});
  suspicions.Merge(2, {5, false});
  suspicions.Merge(3, {7, false});
  EXPECT_FALSE(suspicions.Merge(1, {8, false})) << "no room";
  suspicions.Withdraw(5);
  suspicions.Withdraw(5);
  suspicions.Withdraw(99);  // accuses nobody
  EXPECT_THAT(AccusersOf(suspicions, 1), ElementsAre(Accuser{7, false}));
  EXPECT_THAT(AccusersOf(suspicions, 2), IsEmpty());
  EXPECT_THAT(AccusersOf(suspicions, 3), ElementsAre(Accuser{7, false}));
  EXPECT_TRUE(suspicions.Merge(1, {8, false}));
  EXPECT_TRUE(suspicions.Merge(1, {5, false})) << "it may say so anew, without its old mark";
  EXPECT_THAT(AccusersOf(suspicions, 1), ElementsAre(Accuser{5, false}, Accuser{7, false}));
}

TEST(SuspicionsTest, WithdrawnOursStayOurs) {
  Suspicions suspicions(4);
  suspicions.MarkOwn(1);
  suspicions.Merge(1, {5, false});
  suspicions.Withdraw(5);
  EXPECT_THAT(suspicions.own(), ElementsAre(1));
  EXPECT_TRUE(suspicions.Find(1)->own);
}

TEST(SuspicionsTest, WhatIsSettledNobodyTakesBack) {
  Suspicions suspicions(4);
  suspicions.Merge(1, {5, false});
  suspicions.Merge(2, {5, false});
  suspicions.Settle(1);
  EXPECT_TRUE(suspicions.Find(1)->settled);
  suspicions.Withdraw(5);
  EXPECT_THAT(AccusersOf(suspicions, 1), ElementsAre(Accuser{5, false}));
  EXPECT_THAT(AccusersOf(suspicions, 2), IsEmpty());
}

// Any sequence of calls against a slow and obvious model: the accusers of each row, whose place nobody else holds.
TEST(SuspicionsTest, AnySequenceOfCallsKeepsWhatTheModelKeeps) {
  struct Model {
    std::map<std::uint64_t, bool> accusers;
    bool own = false;
    bool settled = false;
  };
  Random dice(11);
  for (int trial = 0; trial < 300; ++trial) {
    const std::size_t most = 1 + dice.Below(4);
    Suspicions suspicions(most);
    std::map<PeerId, Model> model;
    std::vector<PeerId> own;
    for (int step = 0; step < 60; ++step) {
      const PeerId row = dice.Below(4);
      const std::uint64_t id = dice.Below(8);
      switch (dice.Below(8)) {
        case 0:
          suspicions.Withdraw(id);
          for (auto& [other, m] : model) {
            if (!m.settled) m.accusers.erase(id);
          }
          break;
        case 1:
          suspicions.Forget(row);
          model.erase(row);
          std::erase(own, row);
          break;
        case 2:
          suspicions.Settle(row);
          if (model.contains(row)) model[row] = {model[row].accusers, false, true};
          std::erase(own, row);
          break;
        case 3:
          if (model.contains(row) && model[row].settled) break;  // the dead are accused by nobody
          suspicions.MarkOwn(row);
          if (!std::exchange(model[row].own, true)) own.push_back(row);
          break;
        default: {
          if (model.contains(row) && model[row].settled) break;
          const bool refused = dice.Below(2) == 0;
          suspicions.Merge(row, {id, refused});
          std::map<std::uint64_t, bool>& all = model[row].accusers;
          all[id] |= refused;
          if (all.size() > most) all.erase(std::prev(all.end()));
        }
      }
      ASSERT_EQ(suspicions.own(), own);
      for (PeerId r = 0; r < 4; ++r) {
        ASSERT_EQ(suspicions.Find(r) != nullptr, model.contains(r));
        if (!model.contains(r)) continue;
        std::vector<Accuser> expected;
        for (const auto& [accuser, refused] : model[r].accusers) expected.push_back({accuser, refused});
        ASSERT_EQ(AccusersOf(suspicions, r), expected);
        ASSERT_EQ(suspicions.Find(r)->own, model[r].own);
        ASSERT_EQ(suspicions.Find(r)->settled, model[r].settled);
      }
    }
  }
}

TEST(SuspicionsTest, ForgottenNothingOfItIsLeft) {
  Suspicions suspicions(4);
  suspicions.Merge(2, {6, true});
  suspicions.MarkOwn(2);
  suspicions.Forget(2);
  suspicions.Forget(2);
  EXPECT_THAT(suspicions.own(), IsEmpty());
  EXPECT_EQ(suspicions.Find(2), nullptr);
}

}  // namespace
}  // namespace nekton
