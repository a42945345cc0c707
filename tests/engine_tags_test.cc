// Tags changed while the engine runs: our own, and those of others.
#include <chrono>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "swim/tags.h"
#include "tests/engine_rig.h"

namespace nekton {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using Tags = std::map<std::string, std::string>;

// No round of our own falls into a test.
Config Patient() {
  Config config = Rig::Lan();
  config.period = config.tolerated_pause = hours(1);
  config.hold_alpha = 0;
  return config;
}

std::string Encoded(const Tags& tags) { return EncodeTags(tags).value(); }
Tags Own(const Rig& rig) { return rig.engine->Self()->tags; }
std::uint64_t Incarnation(const Rig& rig) { return rig.engine->Self()->key.incarnation; }

TEST(EngineTags, OneIsSetOrErasedAndTheOthersStay) {
  Config config = Patient();
  config.tags = {{"role", "db"}, {"zone", "a"}};
  Rig rig(config);
  ASSERT_TRUE(rig.Order(SetTag{"zone", "b"}).ok());
  EXPECT_THAT(Own(rig), ElementsAre(Pair("role", "db"), Pair("zone", "b")));
  ASSERT_TRUE(rig.Order(SetTag{"load", "7"}).ok());
  ASSERT_TRUE(rig.Order(EraseTag{"role"}).ok());
  EXPECT_THAT(Own(rig), ElementsAre(Pair("load", "7"), Pair("zone", "b")));
  ASSERT_TRUE(rig.Order(SetTags{{{"x", std::string("\0y", 2)}}}).ok());
  EXPECT_THAT(Own(rig), ElementsAre(Pair("x", std::string("\0y", 2))));
  EXPECT_EQ(Incarnation(rig), 4u);
  EXPECT_EQ(rig.Events(), "updated self, updated self, updated self, updated self");
}

TEST(EngineTags, AChangeIsNewsAtAHigherIncarnationAndNoRefutation) {
  Rig rig(Patient());
  rig.Know(3);
  ASSERT_TRUE(rig.Order(SetTag{"zone", "b"}).ok());
  ASSERT_FALSE(rig.sent.empty()) << "the first news after a quiet time goes out at once";
  const Update* told = rig.sent[0].Of("self");
  ASSERT_NE(told, nullptr);
  EXPECT_EQ(told->kind, UpdateKind::kAlive);
  EXPECT_EQ(told->key, (LifeKey{Rig::kGeneration, 1}));
  EXPECT_EQ(told->tags, Encoded({{"zone", "b"}}));
  EXPECT_EQ(rig.Count(Counter::kRefutations), 0u);
  EXPECT_EQ(rig.Events(), "updated self");
}

TEST(EngineTags, WhatChangesNothingIsNoChange) {
  Config config = Patient();
  config.tags = {{"zone", "b"}};
  Rig rig(config);
  rig.Know(3);
  EXPECT_TRUE(rig.Order(SetTag{"zone", "b"}).ok());
  EXPECT_TRUE(rig.Order(EraseTag{"role"}).ok());
  EXPECT_TRUE(rig.Order(SetTags{{{"zone", "b"}}}).ok());
  EXPECT_EQ(Incarnation(rig), 0u);
  EXPECT_EQ(rig.Events(), "");
  EXPECT_THAT(rig.sent, IsEmpty());
}

TEST(EngineTags, TheLimitIsRefusedWithTheSizeAndTheOldOnesStay) {
  Rig rig(Patient());
  // A key of one byte, and the lengths: 4 bytes beside a value of 128 to 16,383.
  ASSERT_TRUE(rig.Order(SetTag{"k", std::string(508, 'v')}).ok());
  const Tags before = Own(rig);
  const std::uint64_t incarnation = Incarnation(rig);
  rig.Clear();
  for (const std::size_t size : {std::size_t{509}, std::size_t{1} << 20}) {
    for (const Command& order :
         {Command(SetTag{"k", std::string(size, '\0')}), Command(SetTags{{{"k", std::string(size, '\0')}}})}) {
      const absl::Status refused = rig.Order(order);
      EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(std::string(refused.message()), HasSubstr("at most 512"));
      EXPECT_THAT(std::string(refused.message()), HasSubstr(std::to_string(size == 509 ? 513 : (1 << 20) + 5)));
    }
  }
  EXPECT_THAT(std::string(rig.Order(SetTag{"", "v"}).message()), HasSubstr("empty key"));
  EXPECT_EQ(Own(rig), before);
  EXPECT_EQ(Incarnation(rig), incarnation);
  EXPECT_EQ(rig.Events(), "");
  EXPECT_TRUE(rig.Order(SetTag{"k", "v"}).ok()) << "it runs on";
}

TEST(EngineTags, TagsThatASmallDatagramCannotCarryAreRefused) {
  Config config = Patient();
  config.datagram_max = 512;
  Rig rig(config);
  const absl::Status refused = rig.Order(SetTag{"k", std::string(500, 'v')});
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("datagram_max = 512"));
  EXPECT_THAT(Own(rig), IsEmpty());
}

TEST(EngineTags, NothingIsChangedOnceWeLeave) {
  Rig rig(Patient());
  rig.Know(3);
  rig.Silence();
  ASSERT_TRUE(rig.Order(Leave{}).ok());
  EXPECT_EQ(rig.Order(SetTag{"a", "b"}).code(), absl::StatusCode::kFailedPrecondition);
  rig.Run(seconds(10));
  EXPECT_EQ(rig.Order(SetTag{"a", "b"}).code(), absl::StatusCode::kFailedPrecondition);
}

// ---- Those of others. ----

TEST(EngineTags, EachChangeIsOneEventAndNoneGoesBack) {
  Rig rig(Patient());
  rig.Know(3);
  Peer& m1 = rig[1];
  const auto at = [&](std::uint64_t incarnation, const std::string& value) {
    m1.tags = Encoded({{"v", value}});
    rig.Gossip(rig[2], {Alive(m1, incarnation)});
  };
  at(1, "1");
  at(1, "1");
  EXPECT_EQ(rig.Events(), "updated m1") << "a copy is none";
  at(5, "5");
  at(3, "3");
  EXPECT_EQ(rig.Events(), "updated m1") << "3 was skipped, and comes too late";
  EXPECT_THAT(rig.Member("m1")->tags, ElementsAre(Pair("v", "5")));
  rig.Gossip(rig[2], {Alive(m1, 6)});
  EXPECT_EQ(rig.Events(), "updated m1");
  rig.Gossip(rig[2], {Alive(m1, 7)});
  EXPECT_EQ(rig.Events(), "") << "a refutation with the same tags";
}

// It lived after the accusation was made, so the suspicion is over; and the user hears of both.
TEST(EngineTags, AChangeOfASuspectRefutesOlderAccusationsAlone) {
  Rig rig(Patient());
  rig.Know(3);
  rig[1].tags = Encoded({{"v", "1"}});
  rig.Gossip(rig[2], {Suspect(rig[1], {&rig[2]}, 0)});
  EXPECT_EQ(rig.Events(), "suspected m1");
  rig.Gossip(rig[2], {Alive(rig[1], 1)});
  ASSERT_EQ(rig.events.size(), 2u);
  EXPECT_EQ(rig.events[1].before, rig.events[1].member->status) << "the second is no change of state";
  EXPECT_EQ(rig.Events(), "recovered m1, updated m1");
  rig.Gossip(rig[2], {Suspect(rig[1], {&rig[2]}, 2)});
  EXPECT_EQ(rig.Events(), "suspected m1");
  rig[1].tags = Encoded({{"v", "2"}});
  rig.Gossip(rig[2], {Alive(rig[1], 2)});
  EXPECT_EQ(rig.Events(), "updated m1") << "it was made before: the tags are taken, the suspicion stays";
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 2");
  EXPECT_THAT(rig.Member("m1")->tags, ElementsAre(Pair("v", "2")));
}

TEST(EngineTags, ASuspectThatMovedIsTold) {
  Rig rig(Patient());
  rig.Know(3);
  rig.Gossip(rig[2], {Suspect(rig[1], {&rig[2]}, 0)});
  EXPECT_EQ(rig.Events(), "suspected m1");
  Peer moved = rig[1];
  moved.address = Rig::At(200);
  rig.Gossip(rig[2], {Alive(moved)});
  EXPECT_EQ(rig.Member("m1")->address, moved.address);
  EXPECT_EQ(rig.Events(), "updated m1");
}

TEST(EngineTags, ADeadMembersChangeRevivesItAndIsToldWithThat) {
  Rig rig(Patient());
  rig.Know(3);
  rig.Gossip(rig[2], {Suspect(rig[1], {&rig[2]}, 0)});
  rig.Run(seconds(4));
  EXPECT_EQ(rig.Events(), "suspected m1, failed m1");
  rig[1].tags = Encoded({{"v", "1"}});
  rig.Gossip(rig[2], {Alive(rig[1], 1)});
  ASSERT_EQ(rig.events.size(), 1u);
  EXPECT_EQ(rig.events[0].kind, EventKind::kRecovered);
  EXPECT_THAT(rig.events[0].member->tags, ElementsAre(Pair("v", "1")));
}

}  // namespace
}  // namespace nekton
