// From SUSPECT to its end: accusers go on, hearers ask before they believe (rule E), and a hold runs its exact time.
#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine_rig.h"

namespace nekton {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::SizeIs;

constexpr Duration kHold = milliseconds(2500);  // of profile Lan, where somebody could confirm

void Kill(Peer& peer) { peer.answers = peer.answers_relays = peer.relays = false; }

// Lets m1 die and our round at it fail; what was said and happened meanwhile is cleared away. m1 stays silent in the
// accusing round that begins in the same instant.
Instant SuspectByARound(Rig& rig) {
  Kill(rig[1]);
  while (rig.StateOf(rig[1]) != "SUSPECT 0") rig.Step();
  rig.Clear();
  return rig.now.boot;
}

// m2 accuses m1; we only hear of it.
Instant SuspectByHearsay(Rig& rig) {
  Kill(rig[1]);
  rig.Gossip(rig[2], {Suspect(rig[1], {&rig[2]})});
  EXPECT_EQ(rig.Events(), "suspected m1");
  rig.Clear();
  return rig.now.boot;
}

std::vector<Said> Questions(const Rig& rig) {
  std::vector<Said> found = rig.Sent(FrameType::kPing);
  std::erase_if(found, [](const Said& said) { return said.frame.sequence != kQuestionSequence; });
  return found;
}

// ---- How long a hold is. ----

TEST(EngineHold, AnAccuserHoldsForTheShortestTimeWhereOthersCouldConfirm) {
  for (const std::size_t others : {2u, 3u, 4u, 12u}) {
    Rig rig;
    rig.Know(others);
    const Instant since = SuspectByARound(rig);
    rig.RunUntil(since + kHold - nanoseconds(1));
    EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0") << others;
    rig.RunUntil(since + kHold);
    EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 0") << others;
    ASSERT_THAT(rig.events, SizeIs(1));
    EXPECT_EQ(rig.events[0].kind, EventKind::kFailed);
    EXPECT_EQ(rig.events[0].cause.transition, Transition::kConfirmDeadHoldElapsed);
    EXPECT_EQ(rig.events[0].cause.lasted, kHold);
    EXPECT_THAT(rig.events[0].cause.observers, ElementsAre("self"));
  }
}

TEST(EngineHold, InAGroupOfTwoItIsTheLongest) {
  Rig rig;
  rig.Know(1);
  const Instant since = SuspectByARound(rig);
  rig.RunUntil(since + seconds(10) - nanoseconds(1));
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  rig.RunUntil(since + seconds(10));
  EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
}

TEST(EngineHold, ItGrowsWithTheGroupWhereThatIsMoreThanTheFloor) {
  Config config = Rig::Lan();
  config.hold_alpha = 10;  // 10 * log10(10) periods
  config.forget_after = seconds(600);
  Rig rig(config);
  rig.Know(9);
  const Instant since = SuspectByARound(rig);
  rig.RunUntil(since + seconds(10) - nanoseconds(1));
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  rig.RunUntil(since + seconds(10));
  EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
}

TEST(EngineHold, AHearerHoldsTheMarginLonger) {
  Rig rig;
  rig.Know(5);
  const Instant since = SuspectByHearsay(rig);
  rig.RunUntil(since + kHold + seconds(1) - nanoseconds(1));
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  rig.RunUntil(since + kHold + seconds(1));
  EXPECT_EQ(rig.Events(), "failed m1");
}

// ---- Accusers go on. ----

TEST(EngineHold, AnAccuserProbesOnEachPeriodBesideItsRegularRound) {
  Rig rig;
  rig.Know(6);
  const Instant since = SuspectByARound(rig);
  // The instant itself was cleared away: look at the two periods after it.
  rig.RunUntil(since + milliseconds(2499));
  std::map<Duration, int> at_suspect;
  std::map<Duration, int> at_others;
  for (const Said& round : rig.Rounds()) ++(round.to == rig[1].address ? at_suspect : at_others)[round.at - since];
  const auto once_a_period = ElementsAre(std::pair(Duration(seconds(1)), 1), std::pair(Duration(seconds(2)), 1));
  EXPECT_THAT(at_suspect, once_a_period);
  EXPECT_THAT(at_others, once_a_period);
}

TEST(EngineHold, EveryFrameOfAnAccusingRoundCarriesTheSuspicion) {
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

TEST(EngineHold, AFailedRoundKeepsTheHoldRunningAndIsToldNoSecondTime) {
  Rig rig;
  rig.Know(6);
  const Instant since = SuspectByARound(rig);
  rig.RunUntil(since + milliseconds(2499));
  EXPECT_EQ(rig.Count(Counter::kRoundsFailed), 3u);
  EXPECT_EQ(rig.Count(Counter::kSuspicionsOwn), 1u);
  rig.RunUntil(since + kHold);
  EXPECT_EQ(rig.Events(), "failed m1");
}

TEST(EngineHold, AnAccusationByNobodyWhoCountsStopsNoAccuser) {
  Rig rig;
  rig.Know(6);
  const Instant since = SuspectByARound(rig);
  const Peer nobody = {"nobody", Rig::At(200), {Rig::kGeneration, 0}};
  rig.Gossip(rig[2], {Suspect(rig[1], {&nobody}, 1), Dead(rig[1], {&nobody}, 2)});
  rig.RunUntil(since + milliseconds(2499));
  const std::vector<Said> rounds = rig.Rounds();
  EXPECT_EQ(std::count_if(rounds.begin(), rounds.end(), [&](const Said& r) { return r.to == rig[1].address; }), 2);
  rig.RunUntil(since + kHold);
  EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
}

TEST(EngineHold, ARefutationInTheAckBringsItBackAtOnceAndIsSpread) {
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

TEST(EngineHold, AnAckCancelsTheHoldAndTheSuspicionIsPassedOnNoMore) {
  Rig rig;
  rig.Know(9);
  const Instant since = SuspectByARound(rig);
  rig.RunUntil(since + milliseconds(1100));
  rig.Ack(rig[1], rig.SentTo(rig[1], FrameType::kPing).back().frame.sequence);
  rig.Clear();
  rig.RunUntil(since + milliseconds(2999));  // the hold would have ended at 2.5 s
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
  rig.RunUntil(since + seconds(3) + kHold - nanoseconds(1));
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  rig.RunUntil(since + seconds(3) + kHold);
  EXPECT_EQ(rig.Events(), "failed m1");
}

TEST(EngineHold, ASecondAckMakesItActiveHereAndGossipsNothing) {
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

TEST(EngineHold, WhatOneAckEndsIsToldNoMoreEither) {
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
TEST(EngineHold, ASecondAckOfTheSameRoundPromotesNobody) {
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
TEST(EngineHold, AHearerWhoseHoldAnAckCancelledGoesOn) {
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
  rig.RunUntil(first.at + seconds(2));  // failed: the hold begins again, on the hearer's terms
  rig.RunUntil(first.at + seconds(2) + kHold + seconds(1) - nanoseconds(1));
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  rig.RunUntil(first.at + seconds(2) + kHold + seconds(1));
  EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
}

TEST(EngineHold, AVoidRoundGivesNoSignal) {
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

TEST(EngineHold, AtMostEightAccusingRoundsAtOnceTheOldestFirst) {
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

// ---- Hearers ask. ----

TEST(EngineHold, AHearerDoesNotProbeForIt) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Rig rig(Rig::Lan(seed));
    rig.Know(30);
    const Instant since = SuspectByHearsay(rig);
    rig.RunUntil(since + milliseconds(2999));
    // Until its turn comes in the regular way.
    std::map<Instant, int> rounds;
    for (const Said& round : rig.Rounds()) {
      ++rounds[round.at];
      if (round.to == rig[1].address) break;
    }
    for (const auto& [at, count] : rounds) EXPECT_EQ(count, 1) << "seed " << seed;
  }
}

TEST(EngineHold, HalfTheMarginBeforeItsEndAHearerAsksAnAccuserAndAnother) {
  for (const std::size_t others : {3u, 4u, 20u}) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      Rig rig(Rig::Lan(seed));
      rig.Know(others);
      const Instant since = SuspectByHearsay(rig);
      rig.RunUntil(since + seconds(3));
      const bool failed_ourselves = rig.Count(Counter::kRoundsFailed) != 0;  // its regular turn came
      rig.RunUntil(since + milliseconds(3499));
      std::set<Address> asked;
      for (const Said& question : Questions(rig)) {
        EXPECT_EQ(question.at, since + seconds(3));
        ASSERT_TRUE(question.Accuses("m1"));
        const auto& accusers = question.Of("m1")->accusers;
        const auto names = [&](const Peer& peer) {
          return std::find(accusers.begin(), accusers.end(), Accuser{peer.id(), false}) != accusers.end();
        };
        EXPECT_TRUE(names(rig[2]));
        EXPECT_EQ(names(rig.self), failed_ourselves) << "a hearer passes accusers on and adds none";
        EXPECT_TRUE(asked.insert(question.to).second);
      }
      EXPECT_THAT(asked, SizeIs(2)) << others << " others, seed " << seed;
      EXPECT_TRUE(asked.contains(rig[2].address) || failed_ourselves);
      EXPECT_FALSE(asked.contains(rig[1].address));
    }
  }
}

TEST(EngineHold, AnAccuserThatIsActiveNoMoreIsNotAsked) {
  Rig rig;
  rig.Know(6);
  const Instant since = SuspectByHearsay(rig);
  rig.Gossip(rig[3], {Left(rig[2])});
  rig.RunUntil(since + milliseconds(3499));
  const std::vector<Said> questions = Questions(rig);
  ASSERT_FALSE(questions.empty());
  for (const Said& question : questions) EXPECT_NE(question.to, rig[2].address);
}

TEST(EngineHold, AnAckWithNothingNewerChangesNothing) {
  Rig rig;
  rig.Know(5);
  const Instant since = SuspectByHearsay(rig);
  rig[2].tells = {Suspect(rig[1], {&rig[2]})};
  rig[3].tells = {Alive(rig[1])};
  rig.RunUntil(since + milliseconds(3500));
  EXPECT_EQ(rig.Events(), "failed m1");
}

TEST(EngineHold, ARefutationThatOneOfThemKnowsBringsItBack) {
  Rig rig;
  rig.Know(3);  // so that both others are asked
  const Instant since = SuspectByHearsay(rig);
  rig.RunUntil(since + milliseconds(2999));
  rig[3].tells = {Alive(rig[1], 1)};
  rig.RunUntil(since + seconds(3));
  EXPECT_EQ(rig.Events(), "recovered m1");
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 1");
}

TEST(EngineHold, TheDeathThatTheAccuserKnowsIsBelievedAtOnce) {
  Rig rig;
  rig.Know(5);
  const Instant since = SuspectByHearsay(rig);
  rig.RunUntil(since + milliseconds(2999));
  rig[2].tells = {Dead(rig[1], {&rig[2]})};
  rig.RunUntil(since + seconds(3));
  ASSERT_THAT(rig.events, SizeIs(1));
  EXPECT_EQ(rig.events[0].kind, EventKind::kFailed);
  EXPECT_EQ(rig.events[0].cause.transition, Transition::kGossip);
  EXPECT_THAT(rig.events[0].cause.observers, Contains("m2"));
}

// A confirm takes away the hearer's margin; the question comes before the new end all the same.
TEST(EngineHold, AConfirmMovesTheQuestionToo) {
  Rig rig;
  rig.Know(12);
  const Instant since = SuspectByHearsay(rig);
  rig.RunUntil(since + seconds(1));
  rig.Gossip(rig[3], {Dead(rig[1], {&rig[2]})});
  rig.Clear();
  rig.RunUntil(since + kHold - nanoseconds(1));
  const std::vector<Said> questions = Questions(rig);
  ASSERT_THAT(questions, SizeIs(2));
  for (const Said& question : questions) EXPECT_EQ(question.at, since + kHold - milliseconds(500));
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  rig.RunUntil(since + kHold);
  EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
}

TEST(EngineHold, BackBeforeTheEndNobodyIsAsked) {
  Rig rig;
  rig.Know(5);
  const Instant since = SuspectByHearsay(rig);
  rig.RunUntil(since + seconds(1));
  rig[1].answers = true;
  rig.Gossip(rig[1], {Alive(rig[1], 1)});
  rig.RunUntil(since + seconds(10));
  EXPECT_TRUE(Questions(rig).empty());
  EXPECT_EQ(rig.Events(), "recovered m1");
}

// ---- The dead. ----

TEST(EngineHold, ADeadMemberIsTriedEveryTenthPeriodUntilItIsForgotten) {
  Rig rig;
  rig.Know(4);
  Kill(rig[1]);
  rig.Run(seconds(1));
  Kill(rig[2]);
  while (rig.StateOf(rig[1]) != "INACTIVE 0" || rig.StateOf(rig[2]) != "INACTIVE 0") rig.Step();
  rig.Clear();
  rig.Run(seconds(60));
  std::map<std::string, int> tries;
  for (const Said& ping : Questions(rig)) {
    const std::string& name = rig.Find(ping.to)->name;
    ++tries[name];
    ASSERT_NE(ping.Of(name), nullptr) << "it is told of its death";
    EXPECT_EQ(ping.Of(name)->kind, UpdateKind::kDead);
  }
  EXPECT_THAT(tries, ElementsAre(std::pair("m1", 3), std::pair("m2", 3)));
  rig.Run(seconds(30));
  EXPECT_EQ(rig.StateOf(rig[1]) + rig.StateOf(rig[2]), "");
  rig.Clear();
  rig.Run(seconds(30));
  EXPECT_TRUE(rig.SentTo(rig[1], FrameType::kPing).empty());
  EXPECT_EQ(rig.engine->size(), 3u);
}

TEST(EngineHold, ADeadMemberThatLivesComesBackByTheTry) {
  Rig rig;
  rig.Know(4);
  Kill(rig[1]);
  while (rig.StateOf(rig[1]) != "INACTIVE 0") rig.Step();
  rig[1].answers = rig[1].refutes = true;
  rig.Clear();
  rig.Run(seconds(10));
  EXPECT_EQ(rig.Events(), "recovered m1");
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 1");
  ASSERT_THAT(rig.requests, SizeIs(1)) << "the first contact after a separation makes both tables equal";
  EXPECT_EQ(rig.requests[0].to, rig[1].address);
  EXPECT_EQ(rig.requests[0].frame.type, FrameType::kSync);
  EXPECT_EQ(rig.requests[0].frame.flags, kFlagReunion);
}

}  // namespace
}  // namespace nekton
