// A hold runs its exact time: how many confirm it, whose ports were refused, who says dead, whose word is taken back.
#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine_holds.h"

namespace nekton {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;

std::string Text(const HoldLengthCase& c) {
  return std::to_string(c.members) + " members, " + std::to_string(c.confirmations) + " confirmations";
}

// ---- Confirmations. ----

TEST(EngineHold, AnAccusersHoldShrinksWithEachConfirmation) {
  for (const HoldLengthCase& c : kHoldLengths) {
    SCOPED_TRACE(Text(c));
    Rig rig;
    rig.Know(c.members - 1);
    const Instant since = SuspectByARound(rig);
    rig.Run(milliseconds(100));
    for (const Peer* by : FromM2(rig, c.confirmations)) rig.Gossip(*by, {Suspect(rig[1], {by})});
    const Event end = ExpectEnd(rig, since + c.length);
    EXPECT_EQ(end.cause.lasted, c.length);
    EXPECT_THAT(end.cause.observers, SizeIs(std::min<std::size_t>(1 + c.confirmations, 4)));
    EXPECT_THAT(end.cause.observers, testing::IsSubsetOf({"self", "m2", "m3", "m4", "m5", "m6"}));
  }
}

TEST(EngineHold, AHearerHoldsTheMarginLonger) {
  for (const HoldLengthCase& c : kHoldLengths) {
    if (c.confirmations + 1 > c.members - 2) continue;  // so many others there are not
    SCOPED_TRACE(Text(c));
    Rig rig(Quiet());
    rig.Know(c.members - 1);
    const Instant since = SuspectByHearsay(rig);
    rig.Run(milliseconds(100));
    for (const Peer* by : FromM2(rig, 1 + c.confirmations)) rig.Gossip(*by, {Suspect(rig[1], {by})});
    const Event end = ExpectEnd(rig, since + c.length + kMargin);
    EXPECT_EQ(end.cause.lasted, c.length + kMargin);
    EXPECT_FALSE(end.cause.own);
  }
}

// In one frame or in many, early or late, several times or once, from whomever.
TEST(EngineHold, OnlyWhoConfirmsMattersNotHowItIsHeard) {
  for (const Duration apart : {milliseconds(0), milliseconds(1), milliseconds(1300)}) {
    for (const bool copies : {false, true}) {
      Rig rig;
      rig.Know(12);
      const Instant since = SuspectByARound(rig);
      for (const Peer* by : FromM2(rig, 2)) {
        for (int i = 0; i < (copies ? 5 : 1); ++i) rig.Gossip(rig[9], {Suspect(rig[1], {by})});
        rig.Run(apart);
      }
      if (copies) rig.Gossip(rig[8], {Suspect(rig[1], FromM2(rig, 2))});
      ExpectEnd(rig, since + nanoseconds(4056390622));
    }
  }
}

// The hold is as long as so many confirmations make it, and never ends in the past.
TEST(EngineHold, AConfirmationThatComesAfterTheEndItMakesEndsItAtOnce) {
  Rig rig;
  rig.Know(12);
  const Instant since = SuspectByARound(rig);
  rig.RunUntil(since + milliseconds(7300));
  rig.Gossip(rig[2], {Suspect(rig[1], {&rig[2]})});
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0") << "time alone commits it";
  EXPECT_LE(rig.engine->NextWake(), rig.now.boot);
  const Event end = ExpectEnd(rig, since + milliseconds(7300));
  EXPECT_EQ(end.cause.lasted, milliseconds(7300));
}

TEST(EngineHold, ItGrowsWithTheGroupWhereThatIsMoreThanTheFloor) {
  for (const std::size_t confirmations : {0u, 1u, 3u}) {
    Config config = Rig::Lan();
    config.hold_alpha = 10;  // at least 10 * log10(10) periods
    config.forget_after = seconds(600);
    Rig rig(config);
    rig.Know(9);
    const Instant since = SuspectByARound(rig);
    rig.Gossip(rig[2], {Suspect(rig[1], FromM2(rig, confirmations))});
    ExpectEnd(rig, since + seconds(confirmations == 0 ? 40 : confirmations == 1 ? 25 : 10));
  }
}

// Its terms are those of the group in which it began.
TEST(EngineHold, WhoComesOrGoesMeanwhileChangesItNot) {
  for (const bool more : {false, true}) {
    Rig rig;
    rig.Know(4);
    const Instant since = SuspectByARound(rig);
    rig.Gossip(rig[2], {Suspect(rig[1], {&rig[2]})});
    if (more) {
      for (int i = 0; i < 20; ++i) rig.NewPeer();
      for (std::size_t i = 5; i <= 24; ++i) rig.Gossip(rig[2], {Alive(rig[i])});
    } else {
      rig.Gossip(rig[2], {Left(rig[3]), Left(rig[4])});
    }
    ExpectEnd(rig, since + milliseconds(6250));
  }
}

// ---- Refused ports. ----

TEST(EngineHold, OneRefusalAloneShortensNothing) {
  for (const std::size_t members : {2u, 3u, 4u, 5u, 13u}) {
    SCOPED_TRACE(members);
    Rig rig;
    rig.Know(members - 1);
    const Instant since = SuspectByRefusal(rig);
    ExpectEnd(rig, since + kLongest);
  }
}

// One fewer than could confirm, and we: they confirm, and no more.
TEST(EngineHold, OneMarkTooFewShortensNothingFurther) {
  for (const HoldLengthCase& c : kHoldLengths) {
    if (c.confirmations + 1 != std::min<std::size_t>(3, c.members - 2)) continue;
    SCOPED_TRACE(Text(c));
    Rig rig;
    rig.Know(c.members - 1);
    const Instant since = SuspectByRefusal(rig);
    rig.Gossip(rig[2], {Refused(Suspect(rig[1], FromM2(rig, c.confirmations)))});
    ExpectEnd(rig, since + c.length);
  }
  Rig rig;  // others who were not refused are no marks
  rig.Know(12);
  const Instant since = SuspectByRefusal(rig);
  rig.Gossip(rig[2], {Refused(Suspect(rig[1], FromM2(rig, 2))), Suspect(rig[1], {&rig[4], &rig[5], &rig[6]})});
  ExpectEnd(rig, since + kShortest);
}

TEST(EngineHold, MarksOfAllWhoCouldConfirmAndOneMoreEndItAPeriodAfterItBegan) {
  for (const std::size_t members : {3u, 4u, 5u, 13u}) {
    for (const Duration heard : {milliseconds(100), milliseconds(999), milliseconds(1000), milliseconds(1750)}) {
      SCOPED_TRACE(std::to_string(members) + " members, heard after " + std::to_string(heard.count()));
      Rig rig;
      rig.Know(members - 1);
      const Instant since = SuspectByRefusal(rig);
      rig.Run(heard);
      for (const Peer* by : FromM2(rig, std::min<std::size_t>(3, members - 2))) {
        rig.Gossip(*by, {Refused(Suspect(rig[1], {by}))});
      }
      EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
      ExpectEnd(rig, since + std::max<Duration>(heard, seconds(1)), Transition::kRefused);
    }
  }
}

TEST(EngineHold, AHearersToo) {
  Rig rig;
  rig.Know(12);
  Kill(rig[1]);
  rig.Gossip(rig[2], {Refused(Suspect(rig[1], FromM2(rig, 4)))});
  const Instant since = rig.now.boot;
  rig.Clear();
  ExpectEnd(rig, since + seconds(1), Transition::kRefused);
  for (const Said& question : Questions(rig)) EXPECT_EQ(question.at, since + seconds(1) - kMargin / 2);
  EXPECT_THAT(Questions(rig), SizeIs(2));
}

// First it was silent; then its port refuses us. The mark counts from there, and is told.
TEST(EngineHold, AMarkOfOursThatComesLaterCountsAndIsToldToo) {
  Rig rig;
  rig.Know(12);
  const Instant since = SuspectByARound(rig);
  rig.Gossip(rig[2], {Refused(Suspect(rig[1], FromM2(rig, 3)))});
  rig.RunUntil(since + milliseconds(1300));
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0") << "three marks are too few";
  rig.Clear();
  rig.Report(rig[1].address, Trouble::kRefused);
  rig.RunUntil(since + milliseconds(1300));
  EXPECT_EQ(rig.Events(), "failed m1");
  EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");

  Rig alone;
  alone.Know(12);
  const Instant began = SuspectByARound(alone);
  alone.RunUntil(began + milliseconds(1300));
  alone.Clear();
  alone.Report(alone[1].address, Trouble::kRefused);
  alone.Run(milliseconds(200));
  ASSERT_FALSE(Gossiped(alone).empty());
  EXPECT_THAT(Gossiped(alone), Each(ElementsAre("self refused")));
  ExpectEnd(alone, began + kLongest);
}

// ---- Verdicts. ----

TEST(EngineHold, AVerdictEndsAnAccusersHoldAfterTheShortestTime) {
  for (const std::size_t members : {3u, 4u, 5u, 13u}) {
    for (const Duration heard : {milliseconds(100), milliseconds(2499), milliseconds(2500), milliseconds(4100)}) {
      SCOPED_TRACE(std::to_string(members) + " members, heard after " + std::to_string(heard.count()));
      Rig rig;
      rig.Know(members - 1);
      const Instant since = SuspectByARound(rig);
      rig.Run(heard);
      rig.Gossip(rig[2], {Dead(rig[1], {&rig[2]})});
      EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
      ExpectEnd(rig, since + std::max<Duration>(heard, kShortest), Transition::kGossip);
    }
  }
}

TEST(EngineHold, AVerdictThatNamesOnlyOurselvesEndsNothing) {
  Rig rig;
  rig.Know(12);
  const Instant since = SuspectByARound(rig);
  rig.Gossip(rig[2], {Dead(rig[1], {&rig.self})});
  ExpectEnd(rig, since + kLongest);
}

// A hearer needs two; which of them says dead does not matter, nor the order.
TEST(EngineHold, AHearerNeedsASecondWitnessBesideAVerdict) {
  for (const bool first : {false, true}) {
    for (const bool second : {false, true}) {
      Rig rig(Quiet());
      rig.Know(12);
      Kill(rig[1]);
      const Instant since = rig.now.boot;
      rig.Gossip(rig[2], {first ? Dead(rig[1], {&rig[2]}) : Suspect(rig[1], {&rig[2]})});
      rig.Run(milliseconds(700));
      rig.Gossip(rig[3], {second ? Dead(rig[1], {&rig[3]}) : Suspect(rig[1], {&rig[3]})});
      if (first || second) {
        ExpectEnd(rig, since + kShortest, Transition::kGossip);
      } else {
        ExpectEnd(rig, since + milliseconds(6250) + kMargin);
      }
    }
  }
}

// Our own failed round is a second witness.
TEST(EngineHold, AHearerWhoseRoundFailsStandsBesideAVerdict) {
  Rig rig;
  rig.Know(2);
  Kill(rig[1]);
  rig.Gossip(rig[2], {Dead(rig[1], {&rig[2]})});
  const Instant since = rig.now.boot;
  while (rig.Count(Counter::kRoundsFailed) == 0) rig.Step();
  const Instant failed = rig.now.boot;
  ASSERT_LT(failed, since + kLongest + kMargin);
  rig.RunUntil(std::max(failed, since + kShortest));
  EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
  ASSERT_FALSE(rig.events.empty());
  EXPECT_EQ(rig.events.back().cause.transition, Transition::kGossip);
  EXPECT_EQ(rig.events.back().at, std::max(failed, since + kShortest));
}

// ---- A word that is taken back. ----

// How m2, the accuser, stops to count here.
struct Fall {
  std::string how;
  std::function<void(Rig&)> happen;
};
std::vector<Fall> Falls() {
  return {
      {"suspected", [](Rig& rig) { rig.Gossip(rig[5], {Suspect(rig[2], {&rig[5]})}); }},
      {"said to be dead", [](Rig& rig) { rig.Gossip(rig[5], {Dead(rig[2], {&rig[5]})}); }},
      {"left", [](Rig& rig) { rig.Gossip(rig[2], {Left(rig[2])}); }},
      {"restarted",
       [](Rig& rig) {
         rig[2].key.generation += 1;
         rig.Gossip(rig[2], {Alive(rig[2])});
       }},
      {"replaced",
       [](Rig& rig) {
         rig.Gossip(rig[5], {Alive(Peer{"heir", rig[2].address, {Rig::kGeneration + 1, 0}})});
       }},
  };
}

// What is said of m1 to anyone but itself, in datagrams and over streams.
void ExpectToldNoMore(Rig& rig) {
  for (const Said& said : rig.sent) EXPECT_FALSE(said.to != rig[1].address && said.Accuses("m1"));
  const Said reply = rig.Serve(rig[6], Rig::Of(FrameType::kSync), {Alive(rig[6])});
  ASSERT_NE(reply.Of("m1"), nullptr);
  EXPECT_EQ(reply.Of("m1")->kind, UpdateKind::kAlive);
}

TEST(EngineHold, AHoldThatNobodyStandsBehindAnyMoreIsCancelledAndToldNoMore) {
  for (const Fall& fall : Falls()) {
    for (const Duration later : {milliseconds(0), milliseconds(9000)}) {
      SCOPED_TRACE(fall.how);
      Rig rig(Quiet());
      rig.Know(6);
      SuspectByHearsay(rig);
      rig.Run(later);
      fall.happen(rig);
      rig.Clear();
      rig.Run(seconds(40));
      EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0") << "the next signals decide";
      ExpectToldNoMore(rig);
    }
  }
}

TEST(EngineHold, OfSeveralAccusersTheOthersStandBehindItStill) {
  for (const Fall& fall : Falls()) {
    SCOPED_TRACE(fall.how);
    Rig rig(Quiet());
    rig.Know(6);
    const Instant since = SuspectByHearsay(rig, 2);
    rig.Run(seconds(1));
    fall.happen(rig);
    rig.Clear();
    const Event end = ExpectEnd(rig, since + kLongest + kMargin);  // as m3 alone says
    EXPECT_THAT(end.cause.observers, ElementsAre("m3"));
    for (const Said& question : Questions(rig)) {
      if (!question.Accuses("m1")) continue;
      EXPECT_THAT(AccusersIn(rig, *question.Of("m1")), ElementsAre("m3"));
    }
  }
}

TEST(EngineHold, AnAccusersHoldGrowsBackToWhatItHasSeenItself) {
  for (const Fall& fall : Falls()) {
    SCOPED_TRACE(fall.how);
    Rig rig;
    rig.Know(12);
    const Instant since = SuspectByARound(rig);
    rig.Gossip(rig[3], {Suspect(rig[1], FromM2(rig, 2))});
    rig.Run(seconds(1));
    fall.happen(rig);
    rig.Clear();
    rig.Run(seconds(1));
    ASSERT_FALSE(rig.SentTo(rig[1], FrameType::kPing).empty());
    for (const Said& ping : rig.SentTo(rig[1], FrameType::kPing)) {
      EXPECT_THAT(AccusersIn(rig, *ping.Of("m1")), ElementsAre("m3", "self"));
    }
    rig.Gossip(rig[5], {Left(rig[3])});
    const Event end = ExpectEnd(rig, since + kLongest);
    EXPECT_THAT(end.cause.observers, ElementsAre("self"));
  }
}

// A verdict is a word like another.
TEST(EngineHold, AVerdictIsTakenBackToo) {
  for (const Fall& fall : Falls()) {
    SCOPED_TRACE(fall.how);
    Rig rig;
    rig.Know(12);
    const Instant since = SuspectByARound(rig);
    rig.Gossip(rig[2], {Dead(rig[1], {&rig[2]})});
    rig.Run(seconds(2));
    fall.happen(rig);
    ExpectEnd(rig, since + kLongest);
  }
}

// Our own failed round takes back what its target said.
TEST(EngineHold, WhomWeSuspectOurselvesCountsNoMore) {
  Rig rig;
  rig.Know(60);
  Kill(rig[2]);
  rig.NextRound(&rig[2]);
  rig.Run(milliseconds(900));
  SuspectByHearsay(rig);
  rig.Run(milliseconds(100));
  EXPECT_EQ(rig.StateOf(rig[2]), "SUSPECT 0");
  rig.Clear();
  rig.Run(milliseconds(1500));
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  ExpectToldNoMore(rig);
}

// Back in good standing it may say so again, and the hold begins again.
TEST(EngineHold, WhoRefutesMaySayItAgain) {
  Rig rig(Quiet());
  rig.Know(6);
  SuspectByHearsay(rig);
  rig.Gossip(rig[5], {Suspect(rig[2], {&rig[5]})});
  rig.Run(seconds(5));
  rig.Gossip(rig[2], {Alive(rig[2], 1)});
  rig.Clear();
  rig.Run(seconds(5));
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  ExpectToldNoMore(rig);
  rig.Gossip(rig[2], {Suspect(rig[1], {&rig[2]})});
  const Instant again = rig.now.boot;
  rig.Run(milliseconds(500));
  ASSERT_FALSE(Gossiped(rig).empty());
  EXPECT_THAT(Gossiped(rig), Each(ElementsAre("m2")));
  rig.Clear();
  ExpectEnd(rig, again + kLongest + kMargin);
}

// With the hold cancelled our own rounds decide.
TEST(EngineHold, AfterACancelOurOwnRoundsDecide) {
  for (const bool alive : {false, true}) {
    Rig rig;
    rig.Know(6);
    SuspectByHearsay(rig);
    rig.Gossip(rig[2], {Left(rig[2])});
    rig.Clear();
    rig[1].answers = rig[1].answers_relays = alive;
    if (alive) {
      rig.Run(seconds(30));
      EXPECT_EQ(rig.Events(), "recovered m1") << "by two acks";
      EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
      continue;
    }
    while (rig.Count(Counter::kRoundsFailed) == 0) rig.Step();
    const Event end = ExpectEnd(rig, rig.now.boot + kLongest);
    EXPECT_THAT(end.cause.observers, ElementsAre("self"));
  }
}

// A death that has been committed is history.
TEST(EngineHold, NobodyTakesADeathBack) {
  for (const Fall& fall : Falls()) {
    SCOPED_TRACE(fall.how);
    Rig rig(Quiet());
    rig.Know(6);
    SuspectByHearsay(rig);
    rig.Run(seconds(12));
    ASSERT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
    const std::uint64_t accuser = rig[2].id();
    fall.happen(rig);
    rig.Run(seconds(12));
    EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
    const Said reply = rig.Serve(rig[6], Rig::Of(FrameType::kSync), {Alive(rig[6])});
    ASSERT_NE(reply.Of("m1"), nullptr);
    EXPECT_EQ(reply.Of("m1")->kind, UpdateKind::kDead);
    ASSERT_EQ(reply.Of("m1")->accuser_count, 1u);
    EXPECT_EQ(reply.Of("m1")->accusers[0].id, accuser);
  }
}

}  // namespace
}  // namespace nekton
