// The pair: every heartbeat asks, one that is not answered is sent again, and only a join revives.
#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine_beats.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Instant kStart = Rig::kStart;

TEST(EngineBeatPair, EveryHeartbeatAsks) {
  BeatRig rig(PairConfig());
  rig.Meet(1);
  rig.Live(60s, {&rig[1]}, 5s);
  std::vector<Said> asks = rig.BeatsTo(rig[1]);
  std::erase_if(asks, [](const Said& said) { return said.frame.flags == kFlagExtra; });  // answers
  EXPECT_THAT(BeatRig::Times(asks, kStart), ElementsAre(5s, 10s, 15s, 20s, 25s, 30s, 35s, 40s, 45s, 50s, 55s, 60s));
  for (const Said& ask : asks) EXPECT_EQ(ask.frame.flags, kFlagAsks);
  EXPECT_EQ(rig.Events(), "");
}

TEST(EngineBeatPair, OneThatIsNotAnsweredIsSentAgain) {
  BeatRig rig(PairConfig());
  rig.Meet(1);
  rig.RunUntil(kStart + 5s + 700ms);
  EXPECT_THAT(BeatRig::Times(rig.AsksTo(rig[1]), kStart), ElementsAre(5250ms, 5500ms));
  EXPECT_THAT(rig.Signals(rig[1]), IsEmpty()) << "none of that is a signal yet";
  rig.Beat(rig[1], {.flags = kFlagExtra});
  rig.Clear();
  rig.RunUntil(kStart + 10s);
  ASSERT_THAT(rig.sent, SizeIs(1)) << "answered: nothing until the next of the rhythm";
  EXPECT_EQ(rig.sent[0].at, kStart + 10s);
  EXPECT_EQ(rig.sent[0].frame.flags, kFlagAsks);
}

// One of the other's own that crosses ours has not seen it: that is no answer, though it acknowledges something else.
TEST(EngineBeatPair, OnlyAnAcknowledgementOfItIsAnAnswer) {
  BeatRig rig(PairConfig());
  rig.Meet(1);
  rig.RunUntil(kStart + 4s);
  rig.Beat(rig[1], {.flags = kFlagAsks});
  rig.RunUntil(kStart + 5100ms);
  ASSERT_THAT(rig.BeatsTo(rig[1]), SizeIs(2));
  const std::uint32_t asked = rig.BeatsTo(rig[1])[1].frame.sequence;
  rig.Beat(rig[1], {.watermark = asked - 1});
  rig.RunUntil(kStart + 5300ms);
  EXPECT_THAT(BeatRig::Times(rig.AsksTo(rig[1]), kStart), ElementsAre(5250ms));
}

// An answer of ours that goes out meanwhile has a higher sequence, and nobody answers that.
TEST(EngineBeatPair, AnAnswerIsOneThoughWeHaveSentSomethingSince) {
  BeatRig rig(PairConfig());
  rig.Meet(1);
  rig.RunUntil(kStart + 5s);
  ASSERT_THAT(rig.BeatsTo(rig[1]), SizeIs(1));
  const std::uint32_t asked = rig.BeatsTo(rig[1])[0].frame.sequence;
  rig.Beat(rig[1], {.flags = kFlagAsks, .watermark = asked - 1});  // it crosses ours
  ASSERT_EQ(rig.BeatsTo(rig[1]).back().frame.flags, kFlagExtra);
  rig.Pass(1ms);
  rig.Beat(rig[1], {.flags = kFlagExtra, .watermark = asked});
  rig.Clear();
  rig.RunUntil(kStart + 10s - 1ns);
  EXPECT_THAT(rig.sent, IsEmpty());
}

// A way of 300 ms there and back: the answer to the first comes after it was sent again.
TEST(EngineBeatPair, ASlowAnswerIsOneToo) {
  BeatRig rig(PairConfig());
  rig.Meet(1);
  rig.RunUntil(kStart + 5300ms);
  ASSERT_THAT(rig.BeatsTo(rig[1]), SizeIs(2));
  rig.Beat(rig[1], {.flags = kFlagExtra, .watermark = rig.BeatsTo(rig[1])[0].frame.sequence});
  rig.Clear();
  rig.RunUntil(kStart + 10s - 1ns);
  EXPECT_THAT(rig.sent, IsEmpty());
}

TEST(EngineBeatPair, SilenceIsSuspectAtSixSecondsAndFailedAtTwelve) {
  BeatRig rig(PairConfig());
  rig.Meet(1);
  rig.RunUntil(kStart + 6s - 1ns);
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
  rig.Run(1ns);
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  EXPECT_EQ(rig.Only(EventKind::kSuspected).cause.reason, Reason::kDeadline);
  rig.Clear();
  rig.RunUntil(kStart + 12s - 1ns);
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  EXPECT_EQ(rig.AsksTo(rig[1]).size(), 23u) << "every 250 ms after the conviction";
  rig.Run(1ns);
  EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
  EXPECT_EQ(rig.Only(EventKind::kFailed).cause.transition, Transition::kConfirmDeadHoldElapsed);
}

TEST(EngineBeatPair, OneHealthySignalBringsASuspectBack) {
  BeatRig rig(PairConfig());
  rig.Meet(1);
  rig.RunUntil(kStart + 11s);
  ASSERT_EQ(rig.Events(), "suspected m1");
  rig.Beat(rig[1], {.flags = kFlagExtra});
  EXPECT_EQ(rig.Events(), "recovered m1");
}

TEST(EngineBeatPair, WhatOthersSayCountsForNothing) {
  BeatRig rig(PairConfig());
  rig.Meet(3);
  rig.Gossip(rig[2], {Suspect(rig[1], {&rig[2], &rig[3]})});
  rig.Gossip(rig[2], {Dead(rig[1], {&rig[2], &rig[3]})});
  rig.Live(4s, {});
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
  EXPECT_FALSE(rig.Spread("m1", UpdateKind::kSuspect));
  EXPECT_FALSE(rig.Spread("m1", UpdateKind::kDead));
}

TEST(EngineBeatPair, OurOwnSuspicionIsToldToNobodyElse) {
  BeatRig rig(PairConfig());
  rig.Meet(2);
  rig.Live(7s, {&rig[2]}, 1s);
  ASSERT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  rig.Live(20s, {&rig[2]}, 1s);
  ASSERT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
  for (const Said& said : rig.sent) {
    if (said.to == rig[2].address) {
      EXPECT_EQ(said.Of("m1"), nullptr);
    }
  }
}

// ---- Coming back. ----

BeatRig& Bury(BeatRig& rig) {
  rig.Meet(1);
  rig.Run(13s);
  EXPECT_EQ(rig.Events(), "suspected m1, failed m1");
  rig.Clear();
  return rig;
}

TEST(EngineBeatPair, ABareHeartbeatRevivesNobody) {
  BeatRig rig(PairConfig());
  Bury(rig).Live(3600s, {&rig[1]}, 5s);
  EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
  rig.Gossip(rig[1], {Alive(rig[1], 7)});
  EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 7") << "nor does a refutation";
  rig[1].key.incarnation = 7;
  rig.Live(3600s, {&rig[1]}, 5s);
  EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 7");
  EXPECT_EQ(rig.Events(), "isolated self") << "it is one of two";
}

TEST(EngineBeatPair, TheDeadIsToldWhenItSpeaks) {
  BeatRig rig(PairConfig());
  Bury(rig).Beat(rig[1], {.flags = kFlagAsks});
  ASSERT_THAT(rig.sent, SizeIs(1));
  ASSERT_NE(rig.sent[0].Of("m1"), nullptr);
  EXPECT_EQ(rig.sent[0].Of("m1")->kind, UpdateKind::kDead);
}

TEST(EngineBeatPair, AJoinOfItsOwnRevives) {
  BeatRig rig(PairConfig());
  Bury(rig);
  Frame sync = Rig::Of(FrameType::kSync);
  rig.Serve(rig[1], sync, {Alive(rig[1], 1)});
  EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 1") << "that was no join";
  sync.flags = kFlagJoin;
  rig[1].key.incarnation = 1;
  rig.Serve(rig[1], sync, {Alive(rig[1])});
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 1");
  EXPECT_EQ(rig.Events(), "recovered m1");
  rig.Serve(rig[1], sync, {Alive(rig[1])});
  EXPECT_EQ(rig.Events(), "") << "once more is no news";
  rig.Live(60s, {&rig[1]}, 5s);
  EXPECT_EQ(rig.Events(), "");
}

// Nothing of the conviction before is left, however soon it comes.
TEST(EngineBeatPair, AJoinRightAfterTheVerdictBeginsAnew) {
  BeatRig rig(PairConfig());
  rig.Meet(1);
  rig.RunUntil(kStart + 12s);
  ASSERT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
  Frame sync = Rig::Of(FrameType::kSync);
  sync.flags = kFlagJoin;
  rig.Serve(rig[1], sync, {Alive(rig[1])});
  rig.Clear();
  rig.RunUntil(kStart + 18s - 1ns);
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
  rig.Run(1ns);
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0") << "its grace is as long as that of a newcomer";
  EXPECT_EQ(rig.Only(EventKind::kSuspected).cause.reason, Reason::kDeadline);
}

// Told that we are dead there, we join again, whatever we hold of the one who says so.
TEST(EngineBeatPair, WhoIsToldThatItIsDeadJoinsAgain) {
  for (const bool both : {false, true}) {
    BeatRig rig(PairConfig());
    if (both) {
      Bury(rig);
    } else {
      rig.Meet(1);
    }
    rig.Beat(rig[1], {.flags = kFlagExtra, .tells = {Dead(rig.self, {&rig[1]})}});
    ASSERT_THAT(rig.requests, SizeIs(1)) << both;
    const Said request = rig.requests[0];
    EXPECT_EQ(request.frame.type, FrameType::kSync);
    EXPECT_NE(request.frame.flags & kFlagJoin, 0);
    EXPECT_EQ(request.to, rig[1].address);
    EXPECT_EQ(rig.engine->Self()->key.incarnation, 0u) << "a refutation would be of no use";
    rig.events.clear();
    rig.Answer(request, rig[1], Rig::Of(FrameType::kSyncReply), {Alive(rig[1])});
    EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
    EXPECT_EQ(rig.Events().find("recovered m1") != std::string::npos, both);
    rig.Live(60s, {&rig[1]}, 5s);
    EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
  }
}

TEST(EngineBeatPair, AJoinThatFailsIsTriedAgain) {
  BeatRig rig(PairConfig());
  Bury(rig).Beat(rig[1], {.flags = kFlagExtra, .tells = {Dead(rig.self, {&rig[1]})}});
  ASSERT_THAT(rig.requests, SizeIs(1));
  rig.AnswerBytes(rig.requests[0].id, absl::UnavailableError("refused"), {});
  for (std::uint64_t incarnation = 1; incarnation < 4 && rig.requests.size() < 2; ++incarnation) {
    rig.Run(5s);
    rig.Beat(rig[1], {.flags = kFlagExtra, .tells = {Dead(rig.self, {&rig[1]}, incarnation)}});
  }
  ASSERT_THAT(rig.requests, SizeIs(2));
  EXPECT_NE(rig.requests[1].frame.flags & kFlagJoin, 0);
}

TEST(EngineBeatPair, AContactThatIsDeadIsJoinedAgain) {
  BeatRig rig(PairConfig());
  rig.Meet(1);
  ASSERT_TRUE(rig.Order(Join{{rig[1].address}}).ok());
  rig.Run(13s);
  ASSERT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
  ASSERT_THAT(rig.requests, testing::Not(IsEmpty()));
  const Said request = rig.requests.back();
  EXPECT_NE(request.frame.flags & kFlagJoin, 0);
  rig.Answer(request, rig[1], Rig::Of(FrameType::kSyncReply), {Alive(rig[1])});
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
}

TEST(EngineBeatPair, ARestartComesBackAtOnce) {
  BeatRig rig(PairConfig());
  Bury(rig).Reborn(rig[1]);
  rig.Gossip(rig[1], {Alive(rig[1])});
  EXPECT_EQ(rig.Events(), "restarted m1");
  rig.Live(60s, {&rig[1]}, 5s);
  EXPECT_EQ(rig.Events(), "");
}

// The other one goes on with what it has heard of us: our sequences must go on, too. And what was heard before is heard.
TEST(EngineBeatPair, SequencesGoOnThroughARejoin) {
  BeatRig rig(PairConfig());
  rig.Meet(1);
  rig.Live(100s, {&rig[1]}, 5s);
  const std::uint32_t seen = rig.SeenBy(rig[1]);
  ASSERT_GT(seen, 20u);
  rig.Run(13s);
  ASSERT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
  const std::uint32_t sent = rig.SeenBy(rig[1]);
  rig.Clear();
  Frame sync = Rig::Of(FrameType::kSync);
  sync.flags = kFlagJoin;
  rig.Serve(rig[1], sync, {Alive(rig[1])});
  rig.Wake();
  ASSERT_THAT(rig.BeatsTo(rig[1]), testing::Not(IsEmpty())) << "at once";
  EXPECT_GT(rig.BeatsTo(rig[1])[0].frame.sequence, sent);
  const Instant joined = rig.now.boot;
  for (std::uint32_t old = 1; old <= 20; ++old) {
    rig.Run(100ms);
    rig.Beat(rig[1], {.flags = kFlagExtra, .sequence = old});
  }
  rig.RunUntil(joined + 6s);
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0") << "replays of the time before prove nothing";
}

// The same for whoever was forgotten and is met again, in the mesh too: it may have kept what it heard of us.
TEST(EngineBeatPair, SequencesGoOnWhenAForgottenOneIsMetAgain) {
  Config config = MeshConfig();
  config.forget_after = 100s;
  BeatRig rig(config);
  rig.Meet(3);
  rig.Live(131s, {&rig[2], &rig[3]});
  ASSERT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
  rig.Live(100s, {&rig[2], &rig[3]});
  ASSERT_EQ(rig.StateOf(rig[1]), "");
  const std::uint32_t sent = rig.SeenBy(rig[1]);
  ASSERT_GT(sent, 10u);
  rig.Clear();
  rig.Gossip(rig[1], {Alive(rig[1])});
  rig.Wake();
  ASSERT_THAT(rig.BeatsTo(rig[1]), SizeIs(1));
  EXPECT_GT(rig.BeatsTo(rig[1])[0].frame.sequence, sent);
}

TEST(EngineBeatPair, DuplicateFailuresAreIdempotent) {
  BeatRig rig(PairConfig());
  Bury(rig);
  for (int i = 0; i < 3; ++i) {
    rig.Gossip(rig[1], {Dead(rig[1], {&rig.self})});
    rig.Report(rig[1].address, Trouble::kClosed);
    rig.Report(rig[1].address, Trouble::kRefused);
    rig.Run(20s);
  }
  EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
  EXPECT_EQ(rig.Events(), "isolated self") << "it is one of two";
}

}  // namespace
}  // namespace nekton
