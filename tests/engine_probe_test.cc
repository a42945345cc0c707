// The graded round: who is asked, when, what ends it, and what a failed one says.
#include <algorithm>
#include <chrono>
#include <functional>
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
using testing::ElementsAre;
using testing::SizeIs;

void Kill(Peer& peer) { peer.answers = peer.answers_relays = peer.relays = false; }

std::vector<Said> OfRound(std::vector<Said> said, std::uint32_t serial) {
  std::erase_if(said, [&](const Said& one) { return one.serial() != serial; });
  return said;
}

TEST(EngineProbe, OneMemberAPeriodAtEveryN) {
  for (const std::size_t n : {1u, 2u, 3u, 9u, 50u}) {
    Rig rig;
    rig.Know(n);
    const Instant start = rig.NextRound().at;
    rig.Clear();
    rig.RunUntil(start + seconds(200));
    const std::vector<Said> rounds = rig.Rounds();
    ASSERT_THAT(rounds, SizeIs(200)) << n;
    EXPECT_THAT(rig.sent, SizeIs(200)) << "where all answer there is nothing but pings";
    EXPECT_TRUE(rig.requests.empty());
    std::map<Address, std::size_t> last;
    for (std::size_t i = 0; i < rounds.size(); ++i) {
      ASSERT_EQ(rounds[i].at, start + seconds(i + 1));
      if (last.contains(rounds[i].to)) {
        ASSERT_LE(i - last[rounds[i].to], 2 * n - 1) << n;
      }
      last[rounds[i].to] = i;
    }
    EXPECT_THAT(last, SizeIs(n)) << "somebody was never probed";
    EXPECT_EQ(rig.Events(), "");
  }
}

TEST(EngineProbe, AloneItProbesNobody) {
  Rig rig;
  rig.Run(seconds(20));
  EXPECT_TRUE(rig.sent.empty());
  EXPECT_EQ(rig.Count(Counter::kRounds), 0u);
}

TEST(EngineProbe, AnUnansweredRoundTriesAgainAtEachShareOfThePeriod) {
  Rig rig;
  rig.Know(12);
  Kill(rig[1]);
  const Said first = rig.NextRound(&rig[1]);
  rig.RunUntil(first.at + milliseconds(999));
  const std::vector<Said> pings = OfRound(rig.SentTo(rig[1], FrameType::kPing), first.serial());
  ASSERT_THAT(pings, SizeIs(5));
  for (std::uint32_t i = 0; i < 5; ++i) {
    EXPECT_EQ(pings[i].at, first.at + i * milliseconds(200));
    EXPECT_EQ(pings[i].attempt(), i);
    EXPECT_TRUE(pings[i].updates.empty());
  }
  const std::vector<Said> asked = rig.Sent(FrameType::kPingReq);
  ASSERT_THAT(asked, SizeIs(8)) << "two relays with each further attempt";
  std::set<Address> relays;
  for (std::uint32_t i = 0; i < 8; ++i) {
    const std::uint32_t attempt = 1 + i / 2;
    EXPECT_EQ(asked[i].at, first.at + attempt * milliseconds(200));
    EXPECT_EQ(asked[i].frame.sequence, pings[attempt].frame.sequence);
    EXPECT_EQ(asked[i].frame.target, rig[1].id());
    EXPECT_EQ(asked[i].frame.target_address, rig[1].address);
    EXPECT_EQ(asked[i].frame.budget, milliseconds(1000) - attempt * milliseconds(200)) << "the time that is left";
    EXPECT_NE(asked[i].to, rig[1].address);
    relays.insert(asked[i].to);
  }
  EXPECT_THAT(relays, SizeIs(8)) << "none is asked twice";
  ASSERT_THAT(rig.requests, SizeIs(1)) << "the last attempt goes over the stream, too";
  EXPECT_EQ(rig.requests[0].at, pings[4].at);
  EXPECT_EQ(rig.requests[0].to, rig[1].address);
  EXPECT_EQ(rig.requests[0].limit, milliseconds(200));
  EXPECT_EQ(rig.requests[0].frame.type, FrameType::kPing);
  EXPECT_EQ(rig.requests[0].frame.sequence, pings[4].frame.sequence);
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0") << "no quicker conviction than the period";
}

TEST(EngineProbe, TheStreamPingCanBeSwitchedOff) {
  Config config = Rig::Lan();
  config.stream_ping = false;
  Rig rig(config);
  rig.Know(4);
  Kill(rig[1]);
  rig.NextRound(&rig[1]);
  rig.Run(seconds(1));
  EXPECT_EQ(rig.Events(), "suspected m1");
  EXPECT_TRUE(rig.requests.empty());
}

TEST(EngineProbe, RelaysAreActiveMembersAndFewerWhereNoneIsLeft) {
  Rig rig;
  rig.Know(6);
  rig.Gossip(rig[2], {Suspect(rig[5], {&rig[2]}), Left(rig[6])});  // neither is ACTIVE here
  Kill(rig[1]);
  rig.Clear();
  const Said first = rig.NextRound(&rig[1]);
  rig.RunUntil(first.at + milliseconds(999));
  std::map<std::uint32_t, int> per_attempt;
  std::set<Address> relays;
  for (const Said& asked : rig.Sent(FrameType::kPingReq)) {
    if (asked.frame.target != rig[1].id()) continue;
    ++per_attempt[asked.attempt()];
    relays.insert(asked.to);
  }
  EXPECT_THAT(per_attempt, ElementsAre(std::pair(1u, 2), std::pair(2u, 1)));
  EXPECT_EQ(relays, (std::set<Address>{rig[2].address, rig[3].address, rig[4].address}));
}

// Swim paper, section 3.1: one ping; at half time the relays alone; one signal at the end of the period.
TEST(EngineProbe, OneAttemptIsClassicSwim) {
  Config config = Rig::Lan();
  config.attempts = 1;
  config.rumour_weight = 1;
  config.stream_ping = false;
  Rig rig(config);
  rig.Know(5);
  Kill(rig[1]);
  rig.Clear();
  const Said first = rig.NextRound(&rig[1]);
  rig.RunUntil(first.at + milliseconds(999));
  EXPECT_THAT(rig.SentTo(rig[1], FrameType::kPing), SizeIs(1));
  const std::vector<Said> asked = rig.Sent(FrameType::kPingReq);
  ASSERT_THAT(asked, SizeIs(2));
  EXPECT_EQ(asked[0].at, first.at + milliseconds(500));
  EXPECT_EQ(asked[0].frame.budget, milliseconds(500));
  EXPECT_EQ(rig.Events(), "");
  rig.RunUntil(first.at + seconds(1));
  EXPECT_EQ(rig.Events(), "suspected m1");
}

// ---- What ends a round. ----

TEST(EngineProbe, AnAckOfAnyAttemptEndsTheRound) {
  for (std::uint32_t attempt = 0; attempt < 5; ++attempt) {
    Rig rig;
    rig.Know(12);
    Kill(rig[1]);
    const Said first = rig.NextRound(&rig[1]);
    rig.RunUntil(first.at + attempt * milliseconds(200) + milliseconds(150));
    rig.Clear();
    rig.Ack(rig[1], first.frame.sequence + attempt);
    rig.RunUntil(first.at + milliseconds(1999));
    EXPECT_TRUE(OfRound(rig.sent, first.serial()).empty());
    EXPECT_TRUE(rig.requests.empty());
    EXPECT_EQ(rig.Events(), "");
    EXPECT_EQ(rig.Count(Counter::kRoundsFailed), 0u);
    EXPECT_EQ(rig.Count(Counter::kAcksLate), 0u);
  }
}

// Seen in the field: a direct path that is cut costs nobody its good name while a relay gets through.
TEST(EngineProbe, AnAckByARelayEndsTheRound) {
  Rig rig;
  rig.Know(5);
  rig[1].answers = false;
  for (int i = 0; i < 60; ++i) {
    const Said first = rig.NextRound(&rig[1]);
    rig.RunUntil(first.at + milliseconds(999));
    EXPECT_THAT(OfRound(rig.SentTo(rig[1], FrameType::kPing), first.serial()), SizeIs(2));
    EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
  }
  EXPECT_EQ(rig.Events(), "");
  EXPECT_FALSE(rig.Spread("m1", UpdateKind::kSuspect));
  EXPECT_EQ(rig.Count(Counter::kSuspicionsOwn), 0u);
  EXPECT_TRUE(rig.requests.empty());
}

TEST(EngineProbe, AnAckByStreamEndsTheRoundAndIsReported) {
  Rig rig;
  rig.Know(5);
  Kill(rig[1]);
  for (int round = 0; round < 3; ++round) {
    const Said first = rig.NextRound(&rig[1]);
    rig.RunUntil(first.at + milliseconds(900));
    ASSERT_FALSE(rig.requests.empty());
    rig.Answer(rig.requests.back(), rig[1], Rig::Of(FrameType::kAck, rig.requests.back().frame.sequence));
    rig.RunUntil(first.at + seconds(1));
    EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
  }
  EXPECT_EQ(rig.Count(Counter::kAcksStream), 3u);
  ASSERT_THAT(rig.events, SizeIs(1)) << "reported once, not each time";
  EXPECT_EQ(rig.events[0].kind, EventKind::kStreamOnly);
  EXPECT_EQ(rig.events[0].member->name, "m1");
}

TEST(EngineProbe, AStreamPingThatFailsProvesNothing) {
  Rig rig;
  rig.Know(5);
  rig.Silence();  // and no relay says that it had no answer either
  const Said first = rig.NextRound();
  rig.RunUntil(first.at + milliseconds(900));
  ASSERT_THAT(rig.requests, SizeIs(1));
  rig.AnswerBytes(rig.requests[0].id, absl::DeadlineExceededError("no answer"), {});
  rig.RunUntil(first.at + seconds(1));
  EXPECT_EQ(rig.Events(), "");
}

TEST(EngineProbe, ForeignAnswersAreCountedAndEndNothing) {
  struct Case {
    std::string what;
    std::function<void(Rig&, const Said& first)> answer;
  };
  const auto asked = [](Rig& rig) { return rig.Find(rig.Sent(FrameType::kPingReq).front().to); };
  const std::vector<Case> cases = {
      {"another member's ack", [](Rig& rig, const Said& first) { rig.Ack(rig[2], first.frame.sequence); }},
      {"another generation's ack",
       [](Rig& rig, const Said& first) {
         Peer former = rig[1];
         former.key.generation -= 1;
         rig.Ack(former, first.frame.sequence);
       }},
      {"an attempt not made", [](Rig& rig, const Said& first) { rig.Ack(rig[1], first.frame.sequence + 4); }},
      {"another round", [](Rig& rig, const Said& first) { rig.Ack(rig[1], first.frame.sequence + 8); }},
      {"the round that had the slot before",
       [](Rig& rig, const Said& first) { rig.Ack(rig[1], first.frame.sequence - 32 * 8); }},
      {"a relayed ping of ours", [](Rig& rig, const Said& first) { rig.Ack(rig[1], first.frame.sequence | 1u << 31); }},
      {"a relay that was not asked",
       [&](Rig& rig, const Said& first) {
         const std::vector<Said> reqs = rig.Sent(FrameType::kPingReq);
         for (std::size_t i = 2; i <= 12; ++i) {
           const bool was = std::any_of(reqs.begin(), reqs.end(), [&](auto& r) { return r.to == rig[i].address; });
           if (!was) return rig.RelayedAck(rig[i], first.frame.sequence + 1, rig[1]);
         }
         FAIL();
       }},
      {"a relay's ack of another member",
       [&](Rig& rig, const Said& first) { rig.RelayedAck(*asked(rig), first.frame.sequence + 1, rig[9]); }},
      {"the target as its own relay",
       [&](Rig& rig, const Said& first) { rig.RelayedAck(rig[1], first.frame.sequence + 1, rig[1]); }},
      {"a nack of one not asked", [](Rig& rig, const Said& first) { rig.Nack(rig[1], first.frame.sequence + 1); }},
  };
  for (const Case& c : cases) {
    Rig rig;
    rig.Know(12);
    Kill(rig[1]);
    const Said first = rig.NextRound(&rig[1]);
    rig.RunUntil(first.at + milliseconds(300));
    ASSERT_THAT(rig.Sent(FrameType::kPingReq), SizeIs(2));
    const std::uint64_t strays = rig.Count(Counter::kAcksStray);
    c.answer(rig, first);
    EXPECT_EQ(rig.Count(Counter::kAcksStray), strays + 1) << c.what;
    rig.RunUntil(first.at + seconds(1));
    EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0") << c.what;
  }
}

TEST(EngineProbe, AnAckOverTheStreamMustBeItsOwn) {
  for (const bool other_member : {true, false}) {
    Rig rig;
    rig.Know(5);
    Kill(rig[1]);
    const Said first = rig.NextRound(&rig[1]);
    rig.RunUntil(first.at + milliseconds(900));
    ASSERT_THAT(rig.requests, SizeIs(1));
    const std::uint32_t sequence = rig.requests[0].frame.sequence;
    rig.Answer(rig.requests[0], other_member ? rig[2] : rig[1],
               Rig::Of(FrameType::kAck, other_member ? sequence : sequence - 1));
    EXPECT_EQ(rig.Count(Counter::kAcksStray), 1u);
    rig.RunUntil(first.at + seconds(1));
    EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  }
}

// Seen in the field: a probe is bound to one sequence, target and generation.
TEST(EngineProbe, OnlyTheOneRightAckHasAnEffect) {
  Rig rig;
  rig.Know(2);
  rig.Silence();
  const Said seven = rig.NextRound();
  Peer& b = *rig.Find(seven.to);
  Peer& c = b.name == "m1" ? rig[2] : rig[1];
  const Said eight = rig.NextRound(&c);
  EXPECT_EQ(rig.Count(Counter::kRoundsVoid), 1u) << "with its only relay silent the lost ping accused nobody";
  const std::uint64_t digest = rig.engine->digest();

  rig.Ack(c, seven.frame.sequence);
  EXPECT_EQ(rig.Count(Counter::kAcksStray), 1u);
  rig.Ack(c, eight.frame.sequence);
  rig.Ack(c, eight.frame.sequence);
  EXPECT_EQ(rig.Count(Counter::kAcksLate), 1u) << "the second is only counted";
  b.answers = c.answers = true;
  rig.RunUntil(seven.at + seconds(20));
  EXPECT_EQ(rig.Count(Counter::kRoundsVoid), 1u) << "the ack ended the round";

  const std::uint64_t version = rig.engine->version();
  const std::uint64_t fingerprint = rig.engine->Fingerprint();
  rig.Ack(b, seven.frame.sequence);
  EXPECT_EQ(rig.Count(Counter::kAcksLate) + rig.Count(Counter::kAcksStray), 3u);
  EXPECT_EQ(rig.engine->version(), version);
  EXPECT_EQ(rig.engine->Fingerprint(), fingerprint);
  EXPECT_EQ(rig.engine->digest(), digest);
  EXPECT_EQ(rig.Events(), "");

  std::map<Instant, int> at_once;
  for (const Said& round : rig.Rounds()) EXPECT_EQ(++at_once[round.at], 1) << "more than one open probe of a period";
}

TEST(EngineProbe, ALateAckCountsUntilTheEndOfThePeriodAfterItsRound) {
  for (const bool in_time : {true, false}) {
    Rig rig;
    rig.Know(5);
    Kill(rig[1]);
    const Said first = rig.NextRound(&rig[1]);
    rig.RunUntil(first.at + seconds(1));
    ASSERT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
    rig.RunUntil(first.at + seconds(2) - nanoseconds(in_time ? 1 : 0));
    rig.Ack(rig[1], first.frame.sequence);
    EXPECT_EQ(rig.Count(Counter::kAcksLate), 1u);
    // The ack cancelled the hold; the round of the second period then failed, and a new hold began at its end.
    const Instant end = first.at + seconds(in_time ? 2 : 1) + seconds(10);
    rig.RunUntil(end - nanoseconds(1));
    EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
    rig.RunUntil(end);
    EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
  }
}

// Rule D: it has answered everybody; that our own ping was lost is no evidence any more.
TEST(EngineProbe, ARefutationHeardMeanwhileEndsTheRoundWithoutASignal) {
  Rig rig;
  rig.Know(5);
  Kill(rig[1]);
  const Said first = rig.NextRound(&rig[1]);
  rig.RunUntil(first.at + milliseconds(450));
  rig.Gossip(rig[2], {Alive(rig[1], 1)});
  rig.Clear();
  rig.RunUntil(first.at + milliseconds(1500));
  EXPECT_TRUE(OfRound(rig.sent, first.serial()).empty());
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 1");
  EXPECT_EQ(rig.Count(Counter::kRoundsFailed), 0u);
}

// ---- What a failed round says. ----

TEST(EngineProbe, AFailedRoundSuspectsWhenThePeriodEndsAndTellsWhy) {
  Rig rig;
  rig.Know(12);
  Kill(rig[1]);
  const Said first = rig.NextRound(&rig[1]);
  rig.RunUntil(first.at + seconds(1) - nanoseconds(1));
  EXPECT_EQ(rig.Events(), "");
  rig.RunUntil(first.at + seconds(1));
  ASSERT_THAT(rig.events, SizeIs(1));
  const Event& event = rig.events[0];
  EXPECT_EQ(event.kind, EventKind::kSuspected);
  EXPECT_EQ(event.at, first.at + seconds(1));
  EXPECT_EQ(event.before, MemberStatus::kActive);
  EXPECT_EQ(event.member->status, MemberStatus::kSuspect);
  EXPECT_TRUE(event.cause.own);
  EXPECT_EQ(event.cause.transition, Transition::kDemotionThreshold);
  EXPECT_EQ(event.cause.reason, Reason::kProbeTimeout);
  EXPECT_THAT(event.cause.observers, ElementsAre("self"));
  ASSERT_THAT(event.cause.attempts, SizeIs(5));
  for (std::uint32_t i = 0; i < 5; ++i) {
    const AttemptReport& report = event.cause.attempts[i];
    EXPECT_EQ(report.after, i * milliseconds(200));
    EXPECT_EQ(report.relays, i == 0 ? 0u : 2u);
    EXPECT_EQ(report.nacks, i == 0 ? 0u : 2u);
    EXPECT_EQ(report.stream, i == 4);
    EXPECT_FALSE(report.refused);
  }
  EXPECT_EQ(rig.Count(Counter::kRoundsFailed), 1u);
  EXPECT_EQ(rig.Count(Counter::kAttemptsFailed), 5u);
  EXPECT_EQ(rig.Count(Counter::kSuspicionsOwn), 1u);
}

// A round that began late has fewer attempts, and its last signal the weight of those that are missing.
TEST(EngineProbe, AShorterRoundCommitsAsWell) {
  Rig rig;
  rig.Know(5);
  rig.NextRound();
  for (Peer& peer : rig.peers) peer.answers = peer.answers_relays = false;
  const Instant end = rig.now.boot + seconds(2);
  rig.RunUntil(end - seconds(1) - nanoseconds(1));
  rig.Clear();
  rig.SetTime(end - milliseconds(550));  // 450 ms after it asked for a wake
  rig.Wake();
  ASSERT_THAT(rig.Rounds(), SizeIs(1));
  rig.RunUntil(end);
  EXPECT_EQ(rig.Count(Counter::kSuspicionsOwn), 1u);
  ASSERT_THAT(rig.events, SizeIs(1));
  EXPECT_THAT(rig.events[0].cause.attempts, SizeIs(3));
}

// Rule A: with every relay silent too, we are the deaf one.
TEST(EngineProbe, ARoundWhoseRelaysAreAllSilentIsVoid) {
  Rig rig;
  rig.Know(6);
  rig.Silence();
  rig.NextRound();
  rig.Run(seconds(10));
  EXPECT_EQ(rig.Count(Counter::kRoundsVoid), 10u);
  EXPECT_EQ(rig.Count(Counter::kRoundsFailed), 0u);
  EXPECT_EQ(rig.Events(), "isolated self") << "that is all that it proves";
  EXPECT_TRUE(rig.Sent(FrameType::kGossip).empty());
}

TEST(EngineProbe, OneNackMakesTheRoundCount) {
  Rig rig;
  rig.Know(6);
  rig.Silence();
  const Said first = rig.NextRound();
  rig.RunUntil(first.at + milliseconds(950));
  rig.Nack(*rig.Find(rig.Sent(FrameType::kPingReq).front().to), first.frame.sequence + 1);
  EXPECT_EQ(rig.Count(Counter::kNacksReceived), 1u);
  rig.RunUntil(first.at + seconds(1));
  EXPECT_EQ(rig.Events(), "suspected " + rig.Find(first.to)->name);
}

// In a group of two there is nobody to ask.
TEST(EngineProbe, WithoutRelaysSilenceCounts) {
  Rig rig;
  rig.Know(1);
  rig.Silence();
  const Said first = rig.NextRound();
  rig.RunUntil(first.at + seconds(1));
  EXPECT_EQ(rig.Events(), "suspected m1");
}

TEST(EngineProbe, ARefusedPortFailsTheRoundAtOnceThoughAllRelaysAreSilent) {
  Rig rig;
  rig.Know(6);
  rig.Silence();
  const Said first = rig.NextRound();
  Peer& target = *rig.Find(first.to);
  rig.RunUntil(first.at + milliseconds(850));
  for (const Peer& peer : rig.peers) {
    if (peer.name != target.name) rig.Report(peer.address, Trouble::kRefused);
  }
  rig.Report(target.address, Trouble::kClosed);
  EXPECT_EQ(rig.Events(), "") << "nothing that refused was being probed";
  rig.Report(target.address, Trouble::kRefused);
  ASSERT_THAT(rig.events, SizeIs(1));
  EXPECT_EQ(rig.events[0].kind, EventKind::kSuspected);
  EXPECT_EQ(rig.events[0].at, first.at + milliseconds(850));
  EXPECT_EQ(rig.events[0].cause.reason, Reason::kRefused);
  EXPECT_TRUE(rig.events[0].cause.attempts.back().refused);
  const Update* told = rig.sent.back().Of(target.name);
  ASSERT_NE(told, nullptr);
  EXPECT_TRUE(told->accusers[0].refused) << "whoever hears of it hears that its port refused";
}

TEST(EngineProbe, WhatWeCouldNotSendIsNoMissedProbe) {
  for (const Trouble trouble : {Trouble::kSendFailed, Trouble::kTooBig}) {
    Rig rig;
    rig.Know(6);
    Kill(rig[1]);
    const Said first = rig.NextRound(&rig[1]);
    rig.Report(rig[1].address, trouble);
    rig.RunUntil(first.at + seconds(1));
    EXPECT_EQ(rig.Events(), "");
    EXPECT_EQ(rig.Count(Counter::kRoundsVoid), 1u);
    EXPECT_EQ(rig.Count(trouble == Trouble::kTooBig ? Counter::kSendTooBig : Counter::kSendFailed), 1u);
  }
}

// Rule A excuses at most 60 periods without hearing anyone.
TEST(EngineProbe, ALoneSurvivorLearnsItInTheEnd) {
  Rig rig;
  rig.Know(2);
  rig.Silence();
  rig.Run(seconds(59));
  EXPECT_EQ(rig.Events(), "isolated self") << "at once";
  rig.Run(seconds(30));
  EXPECT_EQ(rig.engine->alive(), 1u);
}

}  // namespace
}  // namespace nekton
