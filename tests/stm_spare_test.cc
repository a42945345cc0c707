// Members that are spared: no hold of theirs ends before that is over, and what was left of it is left then.
#include <chrono>

#include <gtest/gtest.h>

#include "stm/stm.h"
#include "tests/stm_scene.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

constexpr PeerId kPeer = Scene::kPeer;
constexpr Duration kOne{1};

HoldTerms Terms() { return {.min = 2500ms, .max = 10s, .confirmers = 3, .margin = 1s, .refused = 1s}; }

// The hold of a member that only we accuse ends at 10 s.
struct Spared : Scene {
  explicit Spared(const StmConfig& config = Scene::Swim()) : Scene(config) {
    terms = Terms();
    At({});
  }
  void SpareUntil(Duration since_start) { stm.Spare(now, kPeer, kStart + since_start); }
  void ExpectEnd(Duration at, const char* why = "confirm_dead_hold_elapsed") {
    Changes();
    At(at - kOne);
    Advance();
    EXPECT_EQ(Changes(), "") << at / 1ms;
    At(at);
    Advance();
    EXPECT_EQ(Changes(), std::string("SUSPECT>INACTIVE ") + why) << at / 1ms;
  }
};

TEST(StmSpare, WhatWasLeftOfAHoldIsLeftAfterwards) {
  Spared s;
  s.MakeSuspect();
  s.At(4s);
  s.SpareUntil(34s);
  EXPECT_TRUE(s.stm.IsSpared(s.now.boot, kPeer));
  s.ExpectEnd(40s);
}

TEST(StmSpare, AHoldThatBeginsMeanwhileBeginsAfterwards) {
  Spared s;
  s.SpareUntil(30s);
  s.At(20s);
  s.MakeSuspect();
  s.ExpectEnd(40s);
}

TEST(StmSpare, ItIsReplacedAndEndedEarly) {
  Spared s;
  s.MakeSuspect();
  s.At(4s);
  s.SpareUntil(60s);
  s.At(5s);
  s.SpareUntil(3600s);
  s.At(14s);
  s.SpareUntil(0s);
  EXPECT_FALSE(s.stm.IsSpared(s.now.boot, kPeer));
  s.ExpectEnd(20s);
}

TEST(StmSpare, ASecondTimeOfItCountsToo) {
  Spared s;
  s.MakeSuspect();
  s.At(1s);
  s.SpareUntil(11s);
  s.At(13s);  // 3 s of the hold have passed
  s.SpareUntil(23s);
  s.ExpectEnd(30s);
}

TEST(StmSpare, NoVerdictAndNoRefusedPortEndsIt) {
  Spared s;
  s.MakeSuspect();
  s.At(3s);
  s.SpareUntil(30s);
  for (const PeerId observer : {2u, 3u, 4u, 5u}) s.Verdict(observer, Scene::kKey, /*refused=*/true);
  s.Refused();
  s.At(30s - kOne);
  s.Advance();
  EXPECT_EQ(s.stm.StateOf(kPeer), State::kSuspect);
  s.At(31s);
  s.Advance();
  EXPECT_EQ(s.stm.StateOf(kPeer), State::kInactive) << "and then they do";
}

TEST(StmSpare, WhoObeysEveryVerdictSparesToo) {
  StmConfig config = Scene::Swim();
  config.obey_verdicts = true;
  Spared s(config);
  s.SpareUntil(30s);
  s.Verdict(2);
  EXPECT_EQ(s.stm.StateOf(kPeer), State::kSuspect);
  s.At(30s);
  s.Verdict(3);
  EXPECT_EQ(s.stm.StateOf(kPeer), State::kInactive);
}

TEST(StmSpare, APauseOfOursMeanwhileIsNotCountedTwice) {
  Spared s;
  s.MakeSuspect();
  s.At(4s);
  s.SpareUntil(34s);
  s.At(20s);
  s.stm.Paused(s.now, 10s);
  s.Suspect();
  s.ExpectEnd(40s);
}

TEST(StmSpare, APauseBeyondItCountsForWhatIsBeyond) {
  Spared s;
  s.MakeSuspect();
  s.At(4s);
  s.SpareUntil(34s);
  s.At(39s);
  s.stm.Paused(s.now, 15s);
  s.Suspect();
  s.ExpectEnd(45s);
}

TEST(StmSpare, AGoodbyeAndAnExpulsionWaitForNothing) {
  for (const bool left : {true, false}) {
    Spared s;
    s.MakeSuspect();
    s.SpareUntil(30s);
    s.Changes();
    if (left) {
      s.Left();
    } else {
      s.stm.Expelled(s.now, kPeer, Scene::kKey, s.changes);
    }
    EXPECT_EQ(s.Changes(), left ? "SUSPECT>INACTIVE left" : "SUSPECT>INACTIVE expelled");
  }
}

TEST(StmSpare, AnExpelledOneStaysGoneUntilAHigherKey) {
  Spared s;
  s.stm.Expelled(s.now, kPeer, Scene::kKey, s.changes);
  EXPECT_EQ(s.Changes(), "ACTIVE>INACTIVE expelled");
  EXPECT_EQ(s.Healthy(), Outcome::kLeft);
  EXPECT_EQ(s.Refute(Scene::kKey), Outcome::kLeft);
  s.Restarted(kPeer, {Scene::kKey.generation + 1, 0});
  EXPECT_EQ(s.Changes(), "INACTIVE>ACTIVE restarted");
}

TEST(StmSpare, ForgettingEndsItAndOthersAreNotSpared) {
  Spared s;
  s.SpareUntil(30s);
  EXPECT_FALSE(s.stm.IsSpared(s.now.boot, kPeer + 1));
  s.stm.Forget(kPeer);
  EXPECT_FALSE(s.stm.IsSpared(s.now.boot, kPeer)) << "its handle may be another's";
}

}  // namespace
}  // namespace nekton
