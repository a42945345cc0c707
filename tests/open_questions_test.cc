// A hearer believes no death before its question was answered (rule J).
#include "swim/open_questions.h"

#include <chrono>
#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine_holds.h"

namespace nekton {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::SizeIs;
using State = OpenQuestions::State;

TEST(OpenQuestionsTest, TheAnswerOfAnyThatWasAskedLastCounts) {
  OpenQuestions questions;
  EXPECT_EQ(questions.StateOf(1), State::kNone);
  const std::uint64_t first[] = {10, 11};
  const std::uint64_t second[] = {12};
  questions.Asked(1, first);
  questions.Asked(2, second);
  EXPECT_EQ(questions.StateOf(1), State::kOpen);
  questions.AnsweredBy(13);
  EXPECT_EQ(questions.StateOf(1), State::kOpen);
  questions.AnsweredBy(11);
  EXPECT_EQ(questions.StateOf(1), State::kAnswered);
  EXPECT_EQ(questions.StateOf(2), State::kOpen);
  EXPECT_EQ(questions.Times(2), 1u);
  questions.Asked(2, second);
  EXPECT_EQ(questions.Times(2), 2u);
  questions.Forget(2);
  EXPECT_EQ(questions.StateOf(2), State::kNone);
  questions.Asked(3, {});
  EXPECT_EQ(questions.StateOf(3), State::kAnswered) << "nobody to wait for";
}

Config Periods() {
  Config config = Rig::Lan();
  config.rules.void_deaf_rounds = true;
  return config;
}

// Nobody answers. Its end is put off, by more each time, and others are asked each time.
TEST(EngineQuestions, ADeathThatNobodySpeaksOfIsNotBelieved) {
  for (const bool rule : {true, false}) {
    Config config = Periods();
    config.rules.await_answers = rule;
    Rig rig(config);
    rig.Know(20);
    const Instant since = SuspectByHearsay(rig);
    rig.Silence();
    rig.RunUntil(since + kLongest + kMargin + seconds(5));
    EXPECT_EQ(rig.StateOf(rig[1]), rule ? "SUSPECT 0" : "INACTIVE 0");
    EXPECT_THAT(Questions(rig), SizeIs(rule ? 24 : 2));
    if (!rule) continue;
    // One answers; what it says is nothing new.
    rig.Clear();
    for (Peer& peer : rig.peers) peer.answers = peer.name != "m1";
    const Instant from = rig.now.boot;
    while (rig.StateOf(rig[1]) == "SUSPECT 0" && rig.now.boot < from + seconds(5)) rig.Step();
    EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
    EXPECT_LE(rig.now.boot - from, seconds(1));
  }
}

// It has heard nobody for a minute of periods: then it is the others who are gone.
TEST(EngineQuestions, TheWaitHasAnEnd) {
  Rig rig(Periods());
  rig.Know(20);
  const Instant since = SuspectByHearsay(rig);
  rig.Silence();
  while (rig.StateOf(rig[1]) == "SUSPECT 0" && rig.now.boot < since + seconds(300)) rig.Step();
  EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
  EXPECT_GE(rig.now.boot - since, seconds(60));
  EXPECT_LE(rig.now.boot - since, seconds(120));
}

// The refutation that it missed comes with a late answer.
TEST(EngineQuestions, ALateAnswerBringsItBack) {
  Rig rig(Periods());
  rig.Know(20);
  const Instant since = SuspectByHearsay(rig);
  rig.Silence();
  rig.RunUntil(since + kLongest + kMargin + seconds(10));
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  for (Peer& peer : rig.peers) {
    peer.answers = true;
    peer.tells = {Alive(rig[1], 1)};
  }
  rig.Run(seconds(1));
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 1");
}

}  // namespace
}  // namespace nekton
