// When an engine finds that it is isolated, to the nanosecond.
#include <chrono>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine_rig.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr Duration kAfter = 5s + 12345ns;  // at no other timer's instant

Config Isolating() {
  Config config = Rig::Lan();
  config.isolation_after = kAfter;
  return config;
}

// m2 and m3 are heard of as dead: of four known ones two are reached.
Instant HalfIsGone(Rig& rig) {
  rig.Know(1);
  while (rig.peers.size() < 3) rig.NewPeer();
  rig.Gossip(rig[1], {Dead(rig[2], {&rig[1]}), Dead(rig[3], {&rig[1]})});
  EXPECT_EQ(rig.engine->contact(), (Contact{2, 4, false}));
  return rig.now.boot;
}

std::vector<Event> Told(const Rig& rig) {
  std::vector<Event> told;
  for (const Event& event : rig.events) {
    if (event.kind == EventKind::kIsolated || event.kind == EventKind::kRejoined) told.push_back(event);
  }
  return told;
}

TEST(EngineIsolation, ToTheNanosecondBothWays) {
  Rig rig(Isolating());
  const Instant since = HalfIsGone(rig);
  rig.RunUntil(since + kAfter - 1ns);
  rig.Wake();
  EXPECT_TRUE(Told(rig).empty());
  EXPECT_LE(rig.engine->NextWake(), since + kAfter);
  rig.RunUntil(since + kAfter);
  ASSERT_EQ(Told(rig).size(), 1U);
  const Event isolated = Told(rig)[0];
  EXPECT_EQ(isolated.kind, EventKind::kIsolated);
  EXPECT_EQ(isolated.at, since + kAfter);
  EXPECT_EQ(isolated.contact, (Contact{2, 4, true}));
  EXPECT_EQ(rig.engine->contact(), isolated.contact);
  ASSERT_NE(isolated.member, nullptr);
  EXPECT_TRUE(isolated.member->self);
  rig.Run(20s);
  EXPECT_EQ(Told(rig).size(), 1U) << "once";

  rig.Gossip(rig[2], {Alive(rig[2], 1)});  // it lives
  const Instant back = rig.now.boot;
  EXPECT_EQ(rig.engine->contact(), (Contact{3, 4, true}));
  rig.RunUntil(back + kAfter - 1ns);
  rig.Wake();
  EXPECT_EQ(Told(rig).size(), 1U);
  rig.RunUntil(back + kAfter);
  ASSERT_EQ(Told(rig).size(), 2U);
  EXPECT_EQ(Told(rig)[1].kind, EventKind::kRejoined);
  EXPECT_EQ(Told(rig)[1].at, back + kAfter);
  EXPECT_EQ(Told(rig)[1].contact, (Contact{3, 4, false}));
}

TEST(EngineIsolation, WhatWasInterruptedBeginsAnew) {
  Rig rig(Isolating());
  const Instant since = HalfIsGone(rig);
  rig.RunUntil(since + kAfter - 1ns);
  rig.Gossip(rig[2], {Alive(rig[2], 1)});
  rig.Run(10s);
  EXPECT_TRUE(Told(rig).empty());
}

TEST(EngineIsolation, ASuspectIsReached) {
  Rig rig(Isolating());
  rig.Know(3);
  rig.Gossip(rig[1], {Suspect(rig[2], {&rig[1]}), Suspect(rig[3], {&rig[1]})});
  EXPECT_EQ(rig.engine->contact(), (Contact{4, 4, false}));
}

TEST(EngineIsolation, WhoLeavesIsNotMissed) {
  Rig rig(Isolating());
  rig.Know(5);
  for (std::size_t i = 2; i <= 5; ++i) rig.Gossip(rig[1], {Left(rig[i])});
  EXPECT_EQ(rig.engine->contact(), (Contact{2, 2, false}));
  rig.Run(10s);
  EXPECT_TRUE(Told(rig).empty());
}

TEST(EngineIsolation, TombstonesThatEndMendNothing) {
  Config config = Isolating();
  config.forget_after = 30s;
  Rig rig(config);
  const Instant since = HalfIsGone(rig);
  rig.RunUntil(since + 1min);
  EXPECT_EQ(rig.engine->size(), 2U) << "they are forgotten";
  EXPECT_EQ(Told(rig).size(), 1U);
  EXPECT_EQ(rig.engine->contact(), (Contact{2, 4, true}));
  rig.Gossip(rig[1], {Dead(rig.NewPeer(), {&rig[1]})});
  EXPECT_EQ(rig.engine->contact(), (Contact{2, 4, true})) << "taken for one of them";
  rig.Gossip(rig[1], {Alive(rig.NewPeer())});
  const Instant back = rig.now.boot;
  EXPECT_EQ(rig.engine->contact(), (Contact{3, 4, true}));
  rig.RunUntil(back + kAfter);
  ASSERT_EQ(Told(rig).size(), 2U);
  EXPECT_EQ(Told(rig)[1].at, back + kAfter);
}

TEST(EngineIsolation, APauseOfOurOwnIsNoTimeWithoutContact) {
  Rig rig(Isolating());
  const Instant since = HalfIsGone(rig);
  rig.Run(1s);
  rig.Pass(20s);
  rig.Wake();
  EXPECT_TRUE(Told(rig).empty());
  Duration slept{};
  for (const Event& event : rig.events) slept += event.kind == EventKind::kPaused ? event.duration : Duration{};
  ASSERT_GT(slept, 19s);
  rig.RunUntil(since + kAfter + slept - 1ns);
  rig.Wake();
  EXPECT_TRUE(Told(rig).empty());
  rig.RunUntil(since + kAfter + slept);
  EXPECT_EQ(Told(rig).size(), 1U);
}

TEST(EngineIsolation, ALeavingMemberIsToldNothing) {
  Rig rig(Isolating());
  HalfIsGone(rig);
  rig[1].answers = false;
  ASSERT_TRUE(rig.Order(Leave{.timeout = 20s}).ok());
  rig.Run(1min);
  EXPECT_TRUE(Told(rig).empty());
  EXPECT_EQ(rig.engine->NextWake(), kNever);
}

TEST(EngineIsolation, WhoExpectsOthersIsIsolatedUntilTheyAreThere) {
  for (const std::uint32_t expect : {0U, 1U, 3U}) {
    Config config = Isolating();
    config.bootstrap_expect = expect;
    Rig rig(config);
    EXPECT_EQ(rig.engine->contact(), (Contact{1, std::max(1U, expect), false}));
    rig.RunUntil(Rig::kStart + kAfter - 1ns);
    rig.Wake();
    EXPECT_TRUE(Told(rig).empty());
    rig.RunUntil(Rig::kStart + kAfter);
    ASSERT_EQ(Told(rig).size(), expect > 1 ? 1U : 0U);
    if (expect <= 1) continue;
    EXPECT_EQ(Told(rig)[0].at, Rig::kStart + kAfter);
    rig.Know(1);  // clears what was told
    const Instant met = rig.now.boot;
    rig.RunUntil(met + kAfter);
    ASSERT_EQ(Told(rig).size(), 1U);
    EXPECT_EQ(Told(rig)[0].kind, EventKind::kRejoined);
    EXPECT_EQ(Told(rig)[0].contact, (Contact{2, 3, false}));
  }
}

TEST(EngineIsolation, NobodyIsReachedFromARoundWithoutAWordUntilAsManyWereAnswered) {
  Rig rig(Isolating());
  rig.Know(5);
  rig.Silence();
  rig.NextRound();
  const Instant began = rig.now.boot;
  rig.RunUntil(began + 1s - 1ns);
  EXPECT_EQ(rig.engine->contact().reachable, 6U);
  rig.RunUntil(began + 1s);
  EXPECT_EQ(rig.Count(Counter::kRoundsVoid), 1U);
  EXPECT_EQ(rig.engine->contact(), (Contact{1, 6, false}));
  EXPECT_EQ(rig.engine->alive(), 6U) << "nobody is accused for it";
  rig.RunUntil(began + 1s + kAfter - 1ns);
  EXPECT_TRUE(Told(rig).empty());
  rig.RunUntil(began + 1s + kAfter);
  ASSERT_EQ(Told(rig).size(), 1U);
  // Heard is not answered: it is our own words that do not get through.
  rig.Gossip(rig[1], {});
  EXPECT_EQ(rig.engine->contact().reachable, 1U);
  for (Peer& peer : rig.peers) peer.answers = true;
  rig.Run(200ms);  // the round that is open is answered, and two more; further ones without a word are not counted
  rig.NextRound();
  EXPECT_EQ(rig.engine->contact(), (Contact{1, 6, true}));
  rig.NextRound();
  EXPECT_EQ(rig.engine->contact(), (Contact{6, 6, true}));
  const Instant back = rig.now.boot;
  rig.RunUntil(back + kAfter);
  ASSERT_EQ(Told(rig).size(), 2U);
  EXPECT_EQ(Told(rig)[1].at, back + kAfter);
}

// One that was lost, and the next is answered.
TEST(EngineIsolation, ARoundWithoutAWordIsMadeUpForByTheNext) {
  Rig rig(Isolating());
  rig.Know(5);
  rig.Silence();
  rig.NextRound();
  rig.Run(1s);
  EXPECT_EQ(rig.engine->contact().reachable, 1U);
  for (Peer& peer : rig.peers) peer.answers = true;
  rig.NextRound();
  EXPECT_EQ(rig.engine->contact().reachable, 6U);
}

TEST(EngineIsolation, OneWordOfARelayIsContact) {
  Rig rig(Isolating());
  rig.Know(5);
  for (Peer& peer : rig.peers)
    peer.answers = peer.answers_relays = false;  // but they relay, and say that they hear nothing
  rig.Run(1500ms);
  EXPECT_EQ(rig.engine->contact().reachable, 6U);
}

TEST(EngineIsolation, ShareZeroIsOff) {
  Config config = Isolating();
  config.isolation_share = 0;
  config.bootstrap_expect = 100;
  Rig rig(config);
  rig.Run(1min);
  EXPECT_TRUE(Told(rig).empty());
  EXPECT_EQ(rig.engine->contact(), (Contact{1, 100, false}));
}

TEST(EngineIsolation, AStandaloneMemberJoinsNobody) {
  Config config = Rig::Lan();
  config.standalone = true;
  Rig rig(config);
  const absl::Status status = rig.Order(Join{{Rig::At(1)}});
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("standalone"));
  EXPECT_TRUE(rig.requests.empty());
}

}  // namespace
}  // namespace nekton
