// Who accuses whom: the union of what is heard must not depend on its order.
#include "swim/suspicions.h"

#include <algorithm>
#include <cstdint>
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
