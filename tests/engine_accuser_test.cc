// Whoever accuses a member itself: it goes on probing (rule E), tells, and takes an ack for an answer.
#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "swim/random.h"
#include "tests/engine_holds.h"

namespace nekton {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;

TEST(EngineAccuser, AnAccuserProbesOnEachPeriodBesideItsRegularRound) {
  Rig rig;
  rig.Know(6);
  const Instant since = SuspectByARound(rig);
  // The instant itself was cleared away: look at the periods after it.
  rig.RunUntil(since + kLongest - nanoseconds(1));
  std::map<Duration, int> at_suspect;
  std::map<Duration, int> at_others;
  for (const Said& round : rig.Rounds()) ++(round.to == rig[1].address ? at_suspect : at_others)[round.at - since];
  std::map<Duration, int> once_a_period;
  for (int period = 1; period <= 9; ++period) once_a_period[seconds(period)] = 1;
  EXPECT_EQ(at_suspect, once_a_period);
  EXPECT_EQ(at_others, once_a_period);
}

TEST(EngineAccuser, EveryFrameOfAnAccusingRoundCarriesTheSuspicion) {
  Rig rig;
  rig.Know(6);
  const Instant since = SuspectByARound(rig);
  rig.RunUntil(since + milliseconds(1999));
  const auto carries = [&](const Said& said) {
    const Update* update = said.Of("m1");
    return update != nullptr && update->kind == UpdateKind::kSuspect && update->key == rig[1].key &&
           update->accuser_count == 1 && update->accusers[0] == Accuser{rig.self.id(), false};
  };
  const std::vector<Said> pings = rig.SentTo(rig[1], FrameType::kPing);
  ASSERT_THAT(pings, SizeIs(9)) << "four of the first, five of the second";
  for (const Said& ping : pings) EXPECT_TRUE(carries(ping));
  std::size_t asked = 0;
  for (const Said& request : rig.Sent(FrameType::kPingReq)) {
    if (request.frame.target != rig[1].id()) continue;
    ++asked;
    EXPECT_TRUE(carries(request));
  }
  EXPECT_EQ(asked, 10u) << "five relays in each";
  ASSERT_THAT(rig.requests, SizeIs(2));
  for (const Said& request : rig.requests) EXPECT_TRUE(carries(request));
}

TEST(EngineAccuser, AFailedRoundKeepsTheHoldRunningAndIsToldNoSecondTime) {
  Rig rig;
  rig.Know(6);
  const Instant since = SuspectByARound(rig);
  rig.RunUntil(since + milliseconds(999));  // gossiped
  rig.Clear();
  ExpectEnd(rig, since + kLongest);
  EXPECT_EQ(rig.Count(Counter::kRoundsFailed), 11u) << "one a period; the last ends with the hold";
  EXPECT_EQ(rig.Count(Counter::kSuspicionsOwn), 1u);
  EXPECT_THAT(Gossiped(rig), SizeIs(0));
}

TEST(EngineAccuser, AnAccusationByNobodyWhoCountsStopsNoAccuser) {
  Rig rig;
  rig.Know(6);
  const Instant since = SuspectByARound(rig);
  const Peer nobody = {"nobody", Rig::At(200), {Rig::kGeneration, 0}};
  rig.Gossip(rig[2], {Suspect(rig[1], {&nobody}, 1), Dead(rig[1], {&nobody}, 2)});
  ExpectEnd(rig, since + kLongest);
  const std::vector<Said> rounds = rig.Rounds();
  EXPECT_EQ(std::count_if(rounds.begin(), rounds.end(), [&](const Said& r) { return r.to == rig[1].address; }), 10)
      << "one a period, the last as the hold ends";
}

TEST(EngineAccuser, ARefutationInTheAckBringsItBackAtOnceAndIsSpread) {
  Rig rig;
  rig.Know(6);
  const Instant since = SuspectByARound(rig);
  rig.RunUntil(since + milliseconds(999));
  rig[1].answers = rig[1].refutes = true;
  rig.Clear();
  rig.Step();
  EXPECT_EQ(rig.now.boot, since + seconds(1));
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 1");
  ASSERT_THAT(rig.events, SizeIs(1));
  EXPECT_EQ(rig.events[0].kind, EventKind::kRecovered);
  EXPECT_EQ(rig.events[0].before, MemberStatus::kSuspect);
  EXPECT_EQ(rig.events[0].cause.transition, Transition::kRefuted);
  EXPECT_TRUE(rig.Spread("m1", UpdateKind::kAlive)) << "the refutation's gossip brings everyone else back";
  rig.Run(seconds(20));
  EXPECT_THAT(rig.events, SizeIs(1));
}

TEST(EngineAccuser, AnAckCancelsTheHoldAndTheSuspicionIsPassedOnNoMore) {
  Rig rig;
  rig.Know(9);
  const Instant since = SuspectByARound(rig);
  rig.RunUntil(since + milliseconds(1100));
  rig.Ack(rig[1], rig.SentTo(rig[1], FrameType::kPing).back().frame.sequence);
  rig.Clear();
  rig.RunUntil(since + milliseconds(2999));
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  EXPECT_EQ(rig.Events(), "");
  for (const Said& said : rig.sent) {
    const bool for_it =
        said.to == rig[1].address || (said.frame.type == FrameType::kPingReq && said.frame.target == rig[1].id());
    EXPECT_TRUE(for_it || said.Of("m1") == nullptr);
  }
  // Not even by a sync, or to who has stale news of it. The accused itself hears of it all the same.
  const auto told = [&](const Said& said) {
    const Update* update = said.Of("m1");
    return update == nullptr ? UpdateKind::kLeft : update->kind;
  };
  EXPECT_EQ(told(rig.Serve(rig[2], Rig::Of(FrameType::kSync), {Alive(rig[2])})), UpdateKind::kAlive);
  const Peer former = {"m1", rig[1].address, {Rig::kGeneration - 1, 0}};
  rig.Receive(rig[4], Rig::Of(FrameType::kPing, 77), {Alive(former)});
  EXPECT_EQ(told(rig.sent.back()), UpdateKind::kAlive);
  rig.Receive(rig[1], Rig::Of(FrameType::kPing, 77));
  EXPECT_EQ(told(rig.sent.back()), UpdateKind::kSuspect);
  // The next round decides. It fails: the hold begins again, and so does the telling.
  rig.Clear();
  rig.RunUntil(since + seconds(3));
  EXPECT_FALSE(rig.Sent(FrameType::kGossip).empty());
  for (const Said& gossip : rig.Sent(FrameType::kGossip)) EXPECT_TRUE(gossip.Accuses("m1"));
  ExpectEnd(rig, since + seconds(3) + kLongest);
}

TEST(EngineAccuser, ASecondAckMakesItActiveHereAndGossipsNothing) {
  Rig rig;
  rig.Know(9);
  const Instant since = SuspectByARound(rig);
  rig.RunUntil(since + milliseconds(999));
  rig[1].answers = true;
  rig.Step();
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  rig.Clear();
  rig.RunUntil(since + seconds(2));
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
  ASSERT_THAT(rig.events, SizeIs(1));
  EXPECT_EQ(rig.events[0].kind, EventKind::kRecovered);
  EXPECT_EQ(rig.events[0].cause.transition, Transition::kPromotionThreshold);
  rig.Run(seconds(10));
  for (const Said& said : rig.sent) {
    if (said.to == rig[1].address) continue;
    EXPECT_TRUE(said.updates.empty()) << "only the member itself refutes";
    EXPECT_NE(said.frame.type, FrameType::kGossip);
  }
  EXPECT_THAT(rig.events, SizeIs(1));
}

TEST(EngineAccuser, WhatOneAckEndsIsToldNoMoreEither) {
  Config config = Rig::Lan();
  config.promote_threshold = 1;
  Rig rig(config);
  rig.Know(9);
  Kill(rig[1]);
  while (rig.StateOf(rig[1]) != "SUSPECT 0") rig.Step();
  rig.Ack(rig[1], rig.SentTo(rig[1], FrameType::kPing).back().frame.sequence);  // while it is still being told
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
  rig.Clear();
  rig[1].answers = true;
  rig.Run(seconds(10));
  for (const Said& said : rig.sent) EXPECT_TRUE(said.to == rig[1].address || said.Of("m1") == nullptr);
}

// Two acks of one round are one.
TEST(EngineAccuser, ASecondAckOfTheSameRoundPromotesNobody) {
  Rig rig;
  rig.Know(9);
  const Instant since = SuspectByARound(rig);
  rig.RunUntil(since + milliseconds(1300));
  const std::vector<Said> pings = rig.SentTo(rig[1], FrameType::kPing);
  rig.Ack(rig[1], pings.back().frame.sequence);
  rig.Ack(rig[1], pings.back().frame.sequence - 1);
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
}

// Whoever had an ack cancel its hold goes on, too, though it had only heard of the suspicion.
TEST(EngineAccuser, AHearerWhoseHoldAnAckCancelledGoesOn) {
  Rig rig;
  rig.Know(9);
  SuspectByHearsay(rig);
  rig[1].answers = true;
  const Said first = rig.NextRound(&rig[1]);  // its regular one
  ASSERT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  Kill(rig[1]);
  rig.Clear();
  rig.RunUntil(first.at + milliseconds(1999));
  const std::vector<Said> rounds = rig.Rounds();
  EXPECT_TRUE(std::any_of(rounds.begin(), rounds.end(), [&](const Said& r) { return r.to == rig[1].address; }));
  // It fails: the hold begins again, and it is our own. What m2 said before the ack confirms it no more.
  ExpectEnd(rig, first.at + seconds(2) + kLongest);
  EXPECT_THAT(Questions(rig), SizeIs(0)) << "nor does it ask any more, as a hearer would have";
}

TEST(EngineAccuser, AVoidRoundGivesNoSignal) {
  Rig rig;
  rig.Know(5);
  const Instant since = SuspectByARound(rig);
  rig.RunUntil(since + milliseconds(100));
  rig.Step();
  rig.Ack(rig[1], rig.SentTo(rig[1], FrameType::kPing).back().frame.sequence);  // cancels the hold
  rig.Silence();
  rig.Clear();
  rig.RunUntil(since + seconds(30));
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0") << "neither failed nor acked: it waits for a round that says something";
}

TEST(EngineAccuser, AtMostEightAccusingRoundsAtOnceTheOldestFirst) {
  Config config = Rig::Lan();
  config.tolerated_pause = seconds(60);  // a hold of almost a minute: all are SUSPECT together
  config.forget_after = seconds(600);
  Rig rig(config);
  rig.Know(14);
  for (std::size_t i = 1; i <= 12; ++i) rig[i].answers = rig[i].answers_relays = false;  // as relays they say so
  std::vector<std::string> order;
  while (order.size() < 12) {
    rig.Step();
    for (const Event& event : rig.events) order.push_back(event.member->name);
    rig.Clear();
  }
  const Instant from = rig.now.boot;
  rig.RunUntil(from + seconds(10));
  const std::set<std::string> oldest(order.begin(), order.begin() + 8);
  for (int period = 1; period <= 10; ++period) {
    std::map<std::string, int> probed;
    for (const Said& round : rig.Rounds()) {
      if (round.at == from + seconds(period)) ++probed[rig.Find(round.to)->name];
    }
    EXPECT_LE(probed.size(), 9u) << period;
    EXPECT_GE(probed.size(), 8u) << period;
    for (const auto& [name, count] : probed) EXPECT_EQ(count, 1) << name;
    for (const std::string& name : oldest) EXPECT_TRUE(probed.contains(name)) << name << " in period " << period;
  }
}

// ---- What others say of whom we accuse. ----

TEST(EngineAccuser, EveryFurtherConfirmationIsGossipedOnOnce) {
  Rig rig;
  rig.Know(12);
  const Instant since = SuspectByARound(rig);
  rig.RunUntil(since + milliseconds(1500));  // our own word has been gossiped
  rig.Clear();
  rig.Gossip(rig[5], {Suspect(rig[1], {&rig[2]})});
  rig.Run(seconds(1));
  EXPECT_THAT(Gossiped(rig), AllOf(SizeIs(testing::Gt(0u)), Each(ElementsAre("m2", "self"))));
  for (const Said& ping : rig.SentTo(rig[1], FrameType::kPing)) {
    EXPECT_THAT(AccusersIn(rig, *ping.Of("m1")), ElementsAre("m2", "self")) << "the accused is told of all of them";
  }
  rig.Clear();
  rig.Gossip(rig[6], {Suspect(rig[1], {&rig[2]})});
  rig.Run(seconds(1));
  EXPECT_THAT(Gossiped(rig), SizeIs(0)) << "it is known";
  rig.Gossip(rig[5], {Refused(Suspect(rig[1], {&rig[2]}))});
  rig.Run(milliseconds(100));
  EXPECT_THAT(Gossiped(rig), AllOf(SizeIs(testing::Gt(0u)), Each(ElementsAre("m2 refused", "self"))))
      << "but this is not";
}

TEST(EngineAccuser, OurNameComingBackConfirmsNothing) {
  Rig rig;
  rig.Know(12);
  const Instant since = SuspectByARound(rig);
  rig.RunUntil(since + milliseconds(1500));
  rig.Clear();
  for (const UpdateKind kind : {UpdateKind::kSuspect, UpdateKind::kDead}) {
    rig.Gossip(rig[2], {Accused(kind, rig[1], {&rig.self}, 0)});
  }
  rig.Run(seconds(1));
  EXPECT_THAT(Gossiped(rig), SizeIs(0));
  ExpectEnd(rig, since + kLongest);
}

// K + 1 are passed on, those of the lowest ids, whoever was heard first.
TEST(EngineAccuser, WhoIsPassedOnDependsOnNoOrder) {
  std::vector<std::size_t> order = {2, 3, 4, 5, 6, 7, 8};
  Random dice(3);
  std::set<std::vector<std::string>> told;
  for (int trial = 0; trial < 50; ++trial) {
    Rig rig;
    rig.Know(12);
    const Instant since = SuspectByARound(rig);
    for (std::size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[dice.Below(static_cast<std::uint32_t>(i))]);
    }
    for (const std::size_t by : order) {
      rig.Gossip(rig[by], {Suspect(rig[1], {&rig[by]})});
      rig.Run(milliseconds(300));
    }
    EXPECT_EQ(rig.now.boot, since + milliseconds(2100));
    std::vector<std::pair<std::uint64_t, std::string>> all = {{rig.self.id(), "self"}};
    for (const std::size_t by : order) all.emplace_back(rig[by].id(), rig[by].name);
    std::sort(all.begin(), all.end());
    std::vector<std::string> lowest;
    for (std::size_t i = 0; i < 4; ++i) lowest.push_back(all[i].second);
    std::sort(lowest.begin(), lowest.end());
    EXPECT_EQ(AccusersIn(rig, *rig.SentTo(rig[1], FrameType::kPing).back().Of("m1")), lowest);
  }
}

// ---- A hearer whose own round fails. ----

TEST(EngineAccuser, AHearerWhoseRoundFailsConfirmsAndTellsSo) {
  for (const HoldLengthCase& c : kHoldLengths) {
    if (c.confirmations != 1) continue;
    int in_time = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Rig rig(Rig::Lan(seed));
      rig.Know(c.members - 1);
      const Instant since = SuspectByHearsay(rig);
      while (rig.Count(Counter::kRoundsFailed) == 0 && rig.StateOf(rig[1]) == "SUSPECT 0") {
        rig.Clear();
        rig.Step();
      }
      if (rig.Count(Counter::kRoundsFailed) == 0) continue;  // its turn did not come
      const Instant failed = rig.now.boot;
      EXPECT_EQ(rig.Count(Counter::kSuspicionsOwn), 0u) << "it was SUSPECT already";
      // The margin is gone with the hearer. A round that fails later than the new end ends it at once.
      if (failed >= since + c.length) {
        EXPECT_EQ(rig.Events(), "failed m1");
        continue;
      }
      ++in_time;
      EXPECT_EQ(rig.Events(), "");
      EXPECT_THAT(Gossiped(rig), AllOf(SizeIs(testing::Gt(0u)), Each(ElementsAre("m2", "self"))));
      rig.Clear();
      ExpectEnd(rig, since + c.length);
      EXPECT_THAT(Questions(rig), SizeIs(0)) << "who accuses asks nobody";
    }
    EXPECT_GT(in_time, 0) << c.members;
  }
}

}  // namespace
}  // namespace nekton
