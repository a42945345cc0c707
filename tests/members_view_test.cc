#include "transport/members_view.h"

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace nekton {
namespace {

using testing::ElementsAre;

MemberPtr Member(const std::string& name, MemberStatus status, bool self = false) {
  MemberInfo info;
  info.name = name;
  info.status = status;
  info.self = self;
  return std::make_shared<const MemberInfo>(std::move(info));
}

std::vector<std::string> Names(const MembersView::List& list) {
  std::vector<std::string> names;
  for (const MemberPtr& m : list) names.push_back(m->name);
  return names;
}

TEST(MembersViewTest, EachListIsAPrefixOfTheNextAndOrderIsKept) {
  const MembersView view({Member("me", MemberStatus::kActive, true), Member("dead", MemberStatus::kInactive),
                          Member("doubted", MemberStatus::kSuspect), Member("zoe", MemberStatus::kActive),
                          Member("gone", MemberStatus::kLeft), Member("adam", MemberStatus::kActive)},
                         7);
  EXPECT_THAT(Names(view.Alive()), ElementsAre("me", "zoe", "adam"));
  EXPECT_THAT(Names(view.Routable()), ElementsAre("me", "zoe", "adam", "doubted"));
  EXPECT_THAT(Names(view.All()), ElementsAre("me", "zoe", "adam", "doubted", "dead", "gone"));
  EXPECT_EQ(view.self()->name, "me");
  EXPECT_EQ(view.version(), 7U);
  for (const MemberPtr& m : view.All()) EXPECT_EQ(view.Find(m->name), m);
  EXPECT_EQ(view.Find("nobody"), nullptr);
  EXPECT_EQ(view.Find(""), nullptr);
  EXPECT_EQ(view.Find("zz"), nullptr);
}

TEST(MembersViewTest, AViewOfNobodyIsLegal) {
  const MembersView view;
  EXPECT_TRUE(view.Alive().empty());
  EXPECT_TRUE(view.All().empty());
  EXPECT_EQ(view.self(), nullptr);
  EXPECT_EQ(view.Find("x"), nullptr);
}

TEST(MembersViewTest, KnowsHowMuchWasReached) {
  EXPECT_EQ(MembersView({}, 1, {2, 5, true}).contact(), (Contact{2, 5, true}));
  EXPECT_FALSE(MembersView().contact().isolated);
}

TEST(MembersViewTest, AListOutlivesTheViewItCameFrom) {
  const auto make = [] { return MembersView({Member("me", MemberStatus::kActive, true)}, 1); };
  std::size_t seen = 0;
  for (const MemberPtr& m : make().Alive()) seen += m->name == "me" ? 1 : 0;  // the view is a temporary here
  EXPECT_EQ(seen, 1U);
  const MembersView::List kept = make().All();
  EXPECT_EQ(kept[0]->name, "me");
}

}  // namespace
}  // namespace nekton
