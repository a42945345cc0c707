// Whoever only hears of a suspicion asks before it believes (rule E); and the dead are tried again.
#include <algorithm>
#include <chrono>
#include <map>
#include <set>
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
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;
using testing::UnorderedElementsAre;

TEST(EngineHearer, ItDoesNotProbeForIt) {
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

TEST(EngineHearer, HalfTheMarginBeforeItsEndItAsksAnAccuserAndAnother) {
  for (const std::size_t others : {3u, 4u, 20u}) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      Config config = Quiet();
      config.seed = seed;
      Rig rig(config);
      rig.Know(others);
      const Instant since = SuspectByHearsay(rig);
      rig.RunUntil(since + kLongest + kMargin - nanoseconds(1));
      std::set<Address> asked;
      for (const Said& question : Questions(rig)) {
        EXPECT_EQ(question.at, since + kLongest + kMargin / 2);
        ASSERT_TRUE(question.Accuses("m1"));
        EXPECT_THAT(AccusersIn(rig, *question.Of("m1")), ElementsAre("m2")) << "a hearer adds nobody";
        EXPECT_TRUE(asked.insert(question.to).second);
      }
      EXPECT_THAT(asked, SizeIs(2)) << others << " others, seed " << seed;
      EXPECT_TRUE(asked.contains(rig[2].address));
      EXPECT_FALSE(asked.contains(rig[1].address));
    }
  }
}

// Confirmations move the end, and the question with it.
TEST(EngineHearer, TheQuestionMovesWithTheEnd) {
  for (const HoldLengthCase& c : kHoldLengths) {
    if (c.confirmations + 1 > c.members - 2) continue;
    Rig rig(Quiet());
    rig.Know(c.members - 1);
    const Instant since = SuspectByHearsay(rig);
    for (std::size_t i = 1; i <= c.confirmations; ++i) {
      rig.Run(milliseconds(100));
      rig.Gossip(rig[2 + i], {Suspect(rig[1], {&rig[2 + i]})});
    }
    rig.RunUntil(since + c.length + kMargin / 2 - nanoseconds(1));
    EXPECT_THAT(Questions(rig), SizeIs(0));
    rig.RunUntil(since + c.length + kMargin / 2);
    EXPECT_THAT(Questions(rig), SizeIs(std::min<std::size_t>(2, c.members - 2))) << c.members << " " << c.confirmations;
    rig.Clear();
    ExpectEnd(rig, since + c.length + kMargin);
    EXPECT_THAT(Questions(rig), SizeIs(0)) << "it asks once";
  }
}

// Where a word that is taken back gives the suspect more time, the question is asked before the end that holds then.
TEST(EngineHearer, TheQuestionMovesWithAnEndThatIsLaterAgain) {
  Rig rig(Quiet());
  rig.Know(6);
  const Instant since = SuspectByHearsay(rig, 2);
  rig.Run(seconds(1));
  rig.Gossip(rig[4], {Left(rig[3])});
  rig.RunUntil(since + kLongest + kMargin / 2 - nanoseconds(1));
  EXPECT_THAT(Questions(rig), SizeIs(0));
  rig.RunUntil(since + kLongest + kMargin / 2);
  EXPECT_THAT(Questions(rig), SizeIs(2));
  ExpectEnd(rig, since + kLongest + kMargin);
}

TEST(EngineHearer, AnAccuserThatIsActiveNoMoreIsNotAsked) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Config config = Quiet();
    config.seed = seed;
    Rig rig(config);
    rig.Know(6);
    SuspectByHearsay(rig, 2);
    rig.Gossip(rig[3], {Left(rig[2])});
    rig.Run(seconds(20));
    const std::vector<Said> questions = Questions(rig);
    ASSERT_THAT(questions, SizeIs(2));
    EXPECT_EQ(questions[0].to, rig[3].address) << "the one accuser that is left";
    EXPECT_NE(questions[1].to, rig[2].address);
  }
}

TEST(EngineHearer, AnAckWithNothingNewerChangesNothing) {
  Rig rig(Quiet());
  rig.Know(5);
  const Instant since = SuspectByHearsay(rig);
  rig[2].tells = {Suspect(rig[1], {&rig[2]})};
  rig[3].tells = {Alive(rig[1])};
  ExpectEnd(rig, since + kLongest + kMargin);
}

TEST(EngineHearer, ARefutationThatOneOfThemKnowsBringsItBack) {
  Rig rig(Quiet());
  rig.Know(3);  // so that both others are asked
  const Instant since = SuspectByHearsay(rig);
  rig[3].tells = {Alive(rig[1], 1)};
  rig.RunUntil(since + kLongest + kMargin / 2 - nanoseconds(1));
  EXPECT_EQ(rig.Events(), "");
  rig.RunUntil(since + kLongest + kMargin / 2);
  EXPECT_EQ(rig.Events(), "recovered m1");
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 1");
}

// Where two stand behind the death it is believed at once; one member's word, however strong, waits for the end.
TEST(EngineHearer, TheDeathThatTheAccuserKnowsIsBelievedWhereAnotherConfirmsIt) {
  for (const bool confirmed : {false, true}) {
    Rig rig(Quiet());
    rig.Know(5);
    const Instant since = SuspectByHearsay(rig);
    rig[2].tells = {Dead(rig[1], FromM2(rig, confirmed ? 2 : 1))};
    if (!confirmed) {
      ExpectEnd(rig, since + kLongest + kMargin);
      continue;
    }
    const Event end = ExpectEnd(rig, since + kLongest + kMargin / 2, Transition::kGossip);
    EXPECT_THAT(end.cause.observers, UnorderedElementsAre("m2", "m3"));
  }
}

// A confirm takes away the hearer's margin; the question comes before the new end all the same.
TEST(EngineHearer, AConfirmMovesTheQuestionToo) {
  Rig rig(Quiet());
  rig.Know(12);
  const Instant since = SuspectByHearsay(rig);
  rig.RunUntil(since + seconds(1));
  rig.Gossip(rig[3], {Dead(rig[1], {&rig[3]})});
  rig.Clear();
  rig.RunUntil(since + kShortest - nanoseconds(1));
  const std::vector<Said> questions = Questions(rig);
  ASSERT_THAT(questions, SizeIs(2));
  for (const Said& question : questions) EXPECT_EQ(question.at, since + kShortest - kMargin / 2);
  ExpectEnd(rig, since + kShortest, Transition::kGossip);
}

TEST(EngineHearer, BackBeforeTheEndNobodyIsAsked) {
  Rig rig;
  rig.Know(5);
  const Instant since = SuspectByHearsay(rig);
  rig.RunUntil(since + seconds(1));
  rig[1].answers = true;
  rig.Gossip(rig[1], {Alive(rig[1], 1)});
  rig.RunUntil(since + seconds(20));
  EXPECT_TRUE(Questions(rig).empty());
  EXPECT_EQ(rig.Events(), "recovered m1");
}

TEST(EngineHearer, EveryFurtherConfirmationIsGossipedOnOnce) {
  Rig rig(Quiet());
  rig.Know(12);
  SuspectByHearsay(rig);
  rig.Run(seconds(1));
  rig.Clear();
  rig.Gossip(rig[5], {Suspect(rig[1], {&rig[3]})});
  rig.Run(milliseconds(500));
  EXPECT_THAT(Gossiped(rig), AllOf(SizeIs(testing::Gt(0u)), Each(ElementsAre("m2", "m3"))));
  rig.Clear();
  rig.Gossip(rig[6], {Suspect(rig[1], {&rig[3], &rig[2]})});
  rig.Run(milliseconds(500));
  EXPECT_THAT(Gossiped(rig), SizeIs(0));
}

// ---- The dead. ----

TEST(EngineDead, ADeadMemberIsTriedEveryTenthPeriodUntilItIsForgotten) {
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

TEST(EngineDead, ADeadMemberThatLivesComesBackByTheTry) {
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
