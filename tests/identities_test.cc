// Names and tags that are kept once, however many tables speak of them.
#include "swim/identities.h"

#include <gtest/gtest.h>

#include "swim/member_table.h"

namespace nekton {
namespace {

TEST(IdentitiesTest, EqualOnesAreOneUntilTheLastIsReturned) {
  Identities all;
  const Identity* a = all.Take("alpha", "tags", 1, 2);
  EXPECT_EQ(all.Take("alpha", "tags", 1, 2), a);
  EXPECT_EQ(a->name, "alpha");
  EXPECT_EQ(a->tags, "tags");
  EXPECT_EQ(a->version_min, 1);
  EXPECT_EQ(a->version_max, 2);
  // Whatever differs is another one, also where both parts together are the same text.
  for (const Identity* other : {all.Take("alpha", "", 1, 2), all.Take("alphat", "ags", 1, 2),
                                all.Take("alpha", "tags", 0, 2), all.Take("alpha", "tags", 1, 1)}) {
    EXPECT_NE(other, a);
  }
  EXPECT_EQ(all.size(), 5u);
  all.Return(a);
  EXPECT_EQ(all.size(), 5u);
  EXPECT_EQ(a->name, "alpha");
  all.Return(a);
  EXPECT_EQ(all.size(), 4u);
}

TEST(IdentitiesTest, TablesShareThemAndGiveThemBack) {
  const auto all = std::make_shared<Identities>();
  Random random(1);
  {
    MemberTable one(10, false, all);
    MemberTable two(10, false, all);
    for (MemberTable* table : {&one, &two}) {
      for (const char* name : {"a", "b", "c"}) {
        const PeerId row = table->Add(name, Address::V4(10, 0, 0, 1, 7946), {1, 0}, MemberStatus::kActive, random);
        table->SetDetails(row, "", 1, 1);
      }
    }
    EXPECT_EQ(all->size(), 3u);
    EXPECT_EQ(one[1].who, two[1].who);
    two.SetDetails(1, "", 1, 3);  // as it is told here
    EXPECT_EQ(all->size(), 4u);
    EXPECT_EQ(one[1].who->version_max, 1);
    one.Remove(2);
    EXPECT_EQ(all->size(), 4u);
    two.Remove(2);
    EXPECT_EQ(all->size(), 3u);
  }
  EXPECT_EQ(all->size(), 0u);
}

}  // namespace
}  // namespace nekton
