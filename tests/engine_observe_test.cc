// What the application has seen of members (Order(Observe)), and why a member is in its state (Explain).
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "swim/event_json.h"
#include "tests/engine_holds.h"

namespace nekton {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using Json = nlohmann::json;

// Our own observation.
PeerObservation Seen(const std::string& peer, Signal signal) { return {.peer = peer, .signal = signal}; }

// Another member's, made just now.
PeerObservation SeenBy(const Rig& rig, const std::string& observer, const std::string& peer, Signal signal,
                       std::uint64_t sequence) {
  return {.peer = peer,
          .signal = signal,
          .observer = observer,
          .sequence = sequence,
          .nonce = 1000 + sequence,
          .timestamp = rig.now.wall};
}

absl::Status Order(Rig& rig, std::vector<PeerObservation> observations) {
  return rig.Order(Observe{std::move(observations)});
}

std::uint64_t Count(const Rig& rig, Outcome outcome) { return rig.engine->stm_counters().of(outcome); }

MemberExplanation Why(const Rig& rig, const std::string& name = "m1") {
  return rig.engine->Explain(rig.now, name).value();
}

// ---- Our own observations. ----

TEST(EngineObserve, OursCountLikeSignalsOfWeightOne) {
  for (const std::uint32_t attempts : {1u, 3u, 5u, 8u}) {
    Config config = Quiet();
    config.attempts = attempts;
    config.rumour_weight = attempts;
    config.stream_ping = attempts > 1;
    Rig rig(config);
    rig.Know(4);
    for (std::uint32_t i = 1; i < attempts; ++i) {
      ASSERT_TRUE(Order(rig, {Seen("m1", Signal::kSuspect)}).ok());
      EXPECT_EQ(Why(rig).why.count, i);
      rig.Run(seconds(1));
    }
    EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
    EXPECT_EQ(rig.Events(), "");
    ASSERT_TRUE(Order(rig, {Seen("m1", Signal::kSuspect)}).ok());
    EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
    EXPECT_EQ(rig.Events(), "suspected m1");
    EXPECT_EQ(Count(rig, Outcome::kApplied), attempts);
  }
}

TEST(EngineObserve, AHealthyOneBeginsTheCountAnew) {
  Rig rig(Quiet());
  rig.Know(4);
  const std::vector<PeerObservation> four(4, Seen("m1", Signal::kSuspect));
  ASSERT_TRUE(Order(rig, four).ok());
  ASSERT_TRUE(Order(rig, {Seen("m1", Signal::kHealthy)}).ok());
  EXPECT_EQ(Why(rig).why.count, 0u);
  ASSERT_TRUE(Order(rig, four).ok());
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
  ASSERT_TRUE(Order(rig, {Seen("m2", Signal::kSuspect)}).ok());
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0") << "each member has a count of its own";
  ASSERT_TRUE(Order(rig, {Seen("m1", Signal::kSuspect)}).ok());
  EXPECT_EQ(rig.Events(), "suspected m1");
}

TEST(EngineObserve, ADeadOneSuspectsAtOnceAndBuriesNobody) {
  Rig rig(Quiet());
  rig.Know(4);
  Kill(rig[1]);
  ASSERT_TRUE(Order(rig, {Seen("m1", Signal::kDead), Seen("m1", Signal::kDead)}).ok());
  EXPECT_EQ(rig.Events(), "suspected m1");
  const Instant since = rig.now.boot;
  ASSERT_TRUE(Order(rig, std::vector<PeerObservation>(20, Seen("m1", Signal::kDead))).ok());
  ExpectEnd(rig, since + kLongest);
}

TEST(EngineObserve, TheEventSaysWhoAndThatTheApplicationSaidSo) {
  Rig rig(Quiet());
  rig.Know(4);
  ASSERT_TRUE(Order(rig, std::vector<PeerObservation>(5, Seen("m1", Signal::kSuspect))).ok());
  ASSERT_THAT(rig.events, SizeIs(1));
  const Event event = rig.events[0];
  EXPECT_EQ(event.kind, EventKind::kSuspected);
  EXPECT_EQ(event.at, rig.now.boot);
  EXPECT_EQ(event.cause.transition, Transition::kDemotionThreshold);
  EXPECT_TRUE(event.cause.own);
  EXPECT_EQ(event.cause.reason, Reason::kApplication);
  EXPECT_THAT(event.cause.observers, ElementsAre("self"));
  EXPECT_THAT(event.cause.attempts, SizeIs(0));
  EXPECT_EQ(Json::parse(ToJson(event)).at("reason"), Name(Reason::kApplication));
  // And back by two more: the first stops the hold, the second commits.
  rig.Clear();
  ASSERT_TRUE(Order(rig, {Seen("m1", Signal::kHealthy)}).ok());
  rig.Run(seconds(30));
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  ASSERT_TRUE(Order(rig, {Seen("m1", Signal::kHealthy)}).ok());
  ASSERT_THAT(rig.events, SizeIs(1));
  EXPECT_EQ(rig.events[0].kind, EventKind::kRecovered);
  EXPECT_EQ(rig.events[0].cause.transition, Transition::kPromotionThreshold);
  EXPECT_EQ(rig.events[0].cause.reason, Reason::kApplication);
  EXPECT_THAT(rig.events[0].cause.observers, ElementsAre("self"));
}

// As if a round of ours had failed: we tell, and go on probing.
TEST(EngineObserve, WhomItSuspectsIsAccusedByUsAndProbedOn) {
  Rig rig;
  rig.Know(12);
  rig.NextRound();
  Kill(rig[1]);
  rig.Clear();
  ASSERT_TRUE(Order(rig, {Seen("m1", Signal::kDead)}).ok());
  const Instant since = rig.now.boot;
  rig.Run(milliseconds(500));
  EXPECT_THAT(Gossiped(rig), AllOf(SizeIs(testing::Gt(0u)), Each(ElementsAre("self"))));
  rig.RunUntil(since + seconds(9));
  const std::vector<Said> rounds = rig.Rounds();
  EXPECT_EQ(std::count_if(rounds.begin(), rounds.end(), [&](const Said& r) { return r.to == rig[1].address; }), 9);
  for (const Said& ping : rig.SentTo(rig[1], FrameType::kPing)) EXPECT_TRUE(ping.Accuses("m1"));
  EXPECT_EQ(rig.Count(Counter::kSuspicionsOwn), 1u);
  ExpectEnd(rig, since + kLongest);
  EXPECT_THAT(Questions(rig), SizeIs(0)) << "who accuses asks nobody";
}

TEST(EngineObserve, AWrongOneIsRefutedByItsSubject) {
  Rig rig;
  rig.Know(12);
  rig[1].refutes = true;
  ASSERT_TRUE(Order(rig, {Seen("m1", Signal::kDead)}).ok());
  rig.Run(seconds(2));
  EXPECT_EQ(rig.Events(), "suspected m1, recovered m1");
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 1");
}

// Whom we had only heard of: what we saw ourselves stands beside the others' word.
TEST(EngineObserve, OursOfASuspectStandsBesideTheWordOfOthers) {
  Rig rig(Quiet());
  rig.Know(12);
  const Instant since = SuspectByHearsay(rig);
  ASSERT_TRUE(Order(rig, std::vector<PeerObservation>(5, Seen("m1", Signal::kSuspect))).ok());
  EXPECT_EQ(rig.Events(), "");
  EXPECT_TRUE(Why(rig).why.hold->own);
  ExpectEnd(rig, since + milliseconds(6250));
}

// And we accuse it from then on, as if a round of ours had failed; else nobody asks before so short a hold ends.
TEST(EngineObserve, OursOfASuspectWeHadHeardOfIsToldAndProbedOn) {
  Rig rig;
  rig.Know(60);
  const Instant since = SuspectByHearsay(rig);
  rig.Run(seconds(1));
  rig.Clear();
  ASSERT_TRUE(Order(rig, std::vector<PeerObservation>(5, Seen("m1", Signal::kSuspect))).ok());
  rig.RunUntil(since + milliseconds(6249));
  EXPECT_THAT(Gossiped(rig), AllOf(SizeIs(testing::Gt(0u)), Each(ElementsAre("m2", "self"))));
  const std::vector<Said> rounds = rig.Rounds();
  EXPECT_GE(std::count_if(rounds.begin(), rounds.end(), [&](const Said& r) { return r.to == rig[1].address; }), 5);
}

// A cancelled hold that ours starts again is told again, in our name.
TEST(EngineObserve, OursThatStartsACancelledHoldAgainIsTold) {
  Rig rig(Quiet());
  rig.Know(12);
  SuspectByHearsay(rig);
  rig.Run(seconds(2));
  rig.Gossip(rig[2], {Left(rig[2])});
  rig.Run(seconds(1));
  rig.Clear();
  ASSERT_TRUE(Order(rig, {Seen("m1", Signal::kSuspect)}).ok());
  EXPECT_TRUE(Why(rig).why.hold->running);
  const Instant again = rig.now.boot;
  rig.Run(seconds(1));
  EXPECT_THAT(Gossiped(rig), AllOf(SizeIs(testing::Gt(0u)), Each(ElementsAre("self"))));
  const Event end = ExpectEnd(rig, again + kLongest);
  EXPECT_THAT(end.cause.observers, ElementsAre("self"));
}

// ---- Observations of others. ----

TEST(EngineObserve, ThoseOfOthersCountLikeOurs) {
  Rig rig(Quiet());
  rig.Know(12);
  std::vector<PeerObservation> batch;
  for (std::uint64_t i = 1; i <= 2; ++i) {
    batch.push_back(SeenBy(rig, "m2", "m1", Signal::kSuspect, 10 + i));
    batch.push_back(SeenBy(rig, "m3", "m1", Signal::kSuspect, i));  // an order of its own
  }
  ASSERT_TRUE(Order(rig, batch).ok());
  EXPECT_EQ(Why(rig).why.count, 4u);
  EXPECT_EQ(Count(rig, Outcome::kApplied), 4u);
  ASSERT_TRUE(Order(rig, {SeenBy(rig, "m4", "m1", Signal::kSuspect, 1)}).ok());
  ASSERT_THAT(rig.events, SizeIs(1));
  EXPECT_EQ(rig.events[0].kind, EventKind::kSuspected);
  EXPECT_EQ(rig.events[0].cause.reason, Reason::kApplication);
  EXPECT_THAT(rig.events[0].cause.observers, ElementsAre("m4")) << "whose completed it";
  rig.Run(milliseconds(200));
  EXPECT_THAT(Gossiped(rig), AllOf(SizeIs(testing::Gt(0u)), Each(ElementsAre("m4")))) << "its one voice, not ours";
}

// An observer that falls counts no more; only what the others saw is left.
TEST(EngineObserve, WhatAnObserverSaidIsTakenBackWhenItFalls) {
  Rig rig(Quiet());
  rig.Know(12);
  for (std::uint64_t i = 1; i <= 2; ++i) {
    ASSERT_TRUE(
        Order(rig, {SeenBy(rig, "m2", "m1", Signal::kSuspect, i), SeenBy(rig, "m3", "m1", Signal::kSuspect, i)}).ok());
  }
  rig.Gossip(rig[2], {Left(rig[2])});
  EXPECT_EQ(Why(rig).why.count, 2u);
  EXPECT_EQ(rig.engine->stm_counters().taken_back, 1u);
}

TEST(EngineObserve, WhatIsNoNewsIsCountedAndIsNoMistake) {
  struct Case {
    std::string what;
    PeerObservation one;
    Outcome outcome;
  };
  Rig probe(Quiet());
  PeerObservation base = SeenBy(probe, "m2", "m1", Signal::kSuspect, 10);
  base.epoch = Rig::kGeneration;
  const auto with = [&](auto change) {
    PeerObservation one = base;
    one.nonce = 77;
    change(one);
    return one;
  };
  const std::vector<Case> cases = {
      {"the same again", base, Outcome::kDuplicate},
      {"the same nonce with another sequence", with([](auto& o) { o.sequence = 11, o.nonce = 1010; }),
       Outcome::kDuplicate},
      {"a lower sequence", with([](auto& o) { o.sequence = 9; }), Outcome::kOutOfOrder},
      {"an older stamp of the same sequence", with([](auto& o) { o.timestamp -= nanoseconds(1); }),
       Outcome::kOutOfOrder},
      {"a larger nonce of the same sequence", with([](auto& o) { o.nonce = 1011; }), Outcome::kSuperseded},
      {"too old", with([](auto& o) { o.sequence = 11, o.timestamp -= seconds(90) + nanoseconds(1); }), Outcome::kStale},
      {"as old as may be", with([](auto& o) { o.sequence = 11, o.timestamp -= seconds(90); }), Outcome::kApplied},
      {"ahead as far as may be", with([](auto& o) { o.sequence = 11, o.timestamp += seconds(30); }), Outcome::kApplied},
      {"of a former life", with([](auto& o) { o.sequence = 11, o.epoch -= 1; }), Outcome::kOldEpoch},
      {"of the life that is known, unnamed", with([](auto& o) { o.sequence = 11, o.epoch = 0; }), Outcome::kApplied},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    Rig rig(Quiet());
    rig.Know(4);
    ASSERT_TRUE(Order(rig, {base}).ok());
    const std::uint64_t before = Count(rig, c.outcome);
    EXPECT_TRUE(Order(rig, {c.one}).ok());
    EXPECT_EQ(Count(rig, c.outcome), before + 1);
    EXPECT_EQ(Why(rig).why.count, c.outcome == Outcome::kApplied ? 2u : 1u);
    EXPECT_EQ(rig.Events(), "");
  }
}

TEST(EngineObserve, OursNeedNoStampSequenceOrNonce) {
  Rig rig(Quiet());
  rig.Know(4);
  PeerObservation odd = Seen("m1", Signal::kSuspect);
  odd.epoch = 3;
  odd.timestamp = rig.now.wall + hours(1000);
  ASSERT_TRUE(Order(rig, {odd, odd, odd}).ok());
  EXPECT_EQ(Why(rig).why.count, 3u);
}

// A program may hand in with our name as the observer what it kept elsewhere: our own rounds must go on counting.
TEST(EngineObserve, WhatIsHandedInInOurNameBlindsUsNot) {
  Rig rig;
  rig.Know(12);
  const absl::Status status = Order(rig, {SeenBy(rig, "self", "m1", Signal::kSuspect, std::uint64_t{1} << 40)});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(status.message()), "observations[0].observer: leave it empty for ourselves");
  Kill(rig[1]);
  while (rig.Count(Counter::kRoundsFailed) == 0) rig.Step();
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  EXPECT_EQ(Count(rig, Outcome::kOutOfOrder), 0u) << "our own probes";
}

// Nor may an epoch that nobody else has heard of: only the member itself says that it lives anew.
TEST(EngineObserve, AnEpochThatIsUnknownHereBlindsUsNot) {
  Rig rig;
  rig.Know(12);
  PeerObservation one = SeenBy(rig, "m2", "m1", Signal::kSuspect, 1);
  one.epoch = Rig::kGeneration + 1;
  const absl::Status status = Order(rig, {one});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), testing::StartsWith("observations[0].epoch = "));
  Kill(rig[1]);
  while (rig.Count(Counter::kRoundsFailed) == 0) rig.Step();
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  EXPECT_EQ(Count(rig, Outcome::kOldEpoch), 0u) << "our own probes";
}

// What the state is about and what the table shows are one life, whatever epoch an observer claims to have seen.
TEST(EngineObserve, AnEpochThatIsUnknownHerePartsNoStateFromItsMember) {
  for (const Signal signal : {Signal::kHealthy, Signal::kSuspect}) {
    for (const MemberStatus status : {MemberStatus::kSuspect, MemberStatus::kInactive}) {
      Rig rig(Quiet());
      rig.Know(6);
      SuspectByHearsay(rig);
      if (status == MemberStatus::kInactive) rig.Run(seconds(12));
      rig.Clear();
      PeerObservation one = SeenBy(rig, "m2", "m1", signal, 1);
      one.epoch = Rig::kGeneration + 1;
      EXPECT_FALSE(Order(rig, {one}).ok());
      EXPECT_EQ(Why(rig).why.key.generation, Why(rig).member->key.generation);
      for (const Event& event : rig.events) EXPECT_NE(event.generation_before, event.member->key.generation);
    }
  }
}

// ---- Mistakes. ----

TEST(EngineObserve, OneMistakeAndNothingOfTheBatchIsApplied) {
  for (std::size_t at = 0; at < 3; ++at) {
    Rig rig(Quiet());
    rig.Know(4);
    std::vector<PeerObservation> batch(3, Seen("m1", Signal::kDead));
    batch[at].peer = "nobody";
    const std::uint64_t version = rig.engine->version();
    const absl::Status status = Order(rig, batch);
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
    EXPECT_EQ(std::string(status.message()),
              "observations[" + std::to_string(at) + "].peer = \"nobody\": no such member");
    EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
    EXPECT_FALSE(Why(rig).why.recorded);
    EXPECT_EQ(rig.engine->version(), version);
    EXPECT_EQ(Count(rig, Outcome::kApplied), 0u);
    EXPECT_EQ(rig.Events(), "");
    EXPECT_THAT(rig.sent, SizeIs(0));
  }
}

TEST(EngineObserve, EachMistakeIsNamed) {
  struct Case {
    PeerObservation one;
    absl::StatusCode code;
    std::string text;
  };
  Rig rig(Quiet());
  rig.Know(4);
  PeerObservation future = SeenBy(rig, "m2", "m1", Signal::kSuspect, 1);
  future.timestamp += seconds(30) + nanoseconds(1);
  const std::vector<Case> cases = {
      {Seen("", Signal::kSuspect), absl::StatusCode::kNotFound, "observations[0].peer = \"\""},
      {Seen("m9", Signal::kSuspect), absl::StatusCode::kNotFound, "observations[0].peer = \"m9\""},
      {Seen("m\n9", Signal::kSuspect), absl::StatusCode::kNotFound, "observations[0].peer = \"m\\n9\""},
      {Seen("self", Signal::kSuspect), absl::StatusCode::kInvalidArgument, "observations[0].peer"},
      {SeenBy(rig, "m9", "m1", Signal::kSuspect, 1), absl::StatusCode::kNotFound, "observations[0].observer = \"m9\""},
      {Seen("m1", static_cast<Signal>(3)), absl::StatusCode::kInvalidArgument, "observations[0].signal = 3"},
      {future, absl::StatusCode::kInvalidArgument, "observations[0].timestamp"},
  };
  for (const Case& c : cases) {
    const absl::Status status = Order(rig, {c.one});
    EXPECT_EQ(status.code(), c.code) << status;
    EXPECT_THAT(std::string(status.message()), testing::StartsWith(c.text));
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("\n")));
  }
  EXPECT_FALSE(Why(rig).why.recorded);
}

TEST(EngineObserve, AllMistakesAreToldAtOnceOneALine) {
  Rig rig(Quiet());
  rig.Know(4);
  PeerObservation future = SeenBy(rig, "m2", "m1", Signal::kSuspect, 1);
  future.timestamp += hours(1);
  const absl::Status status = Order(rig, {Seen("m9", Signal::kDead), Seen("m1", Signal::kDead), future,
                                          Seen("self", Signal::kDead), SeenBy(rig, "x", "m2", Signal::kDead, 1)});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << "one of them is more than a name not found";
  std::vector<std::string> lines;
  std::string text(status.message());
  for (std::size_t end; !text.empty(); text.erase(0, end == std::string::npos ? end : end + 1)) {
    end = text.find('\n');
    lines.push_back(text.substr(0, end));
  }
  EXPECT_THAT(
      lines, ElementsAre(testing::StartsWith("observations[0].peer"), testing::StartsWith("observations[2].timestamp"),
                         testing::StartsWith("observations[3].peer"), testing::StartsWith("observations[4].observer")));
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
}

TEST(EngineObserve, AnEmptyBatchIsInOrderAndChangesNothing) {
  Rig rig(Quiet());
  rig.Know(4);
  const std::uint64_t fingerprint = rig.engine->Fingerprint();
  const std::uint64_t version = rig.engine->version();
  EXPECT_TRUE(Order(rig, {}).ok());
  EXPECT_EQ(rig.engine->Fingerprint(), fingerprint);
  EXPECT_EQ(rig.engine->version(), version);
  EXPECT_EQ(rig.Events(), "");
}

TEST(EngineObserve, AfterALeaveItIsRefused) {
  Rig rig(Quiet());
  rig.Know(4);
  ASSERT_TRUE(rig.Order(Leave{}).ok());
  EXPECT_EQ(Order(rig, {Seen("m1", Signal::kSuspect)}).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(EngineObserve, OfWhoHasLeftNothingCounts) {
  Rig rig(Quiet());
  rig.Know(4);
  rig.Gossip(rig[1], {Left(rig[1])});
  rig.Clear();
  EXPECT_TRUE(Order(rig, {Seen("m1", Signal::kHealthy), Seen("m1", Signal::kDead)}).ok());
  EXPECT_EQ(Count(rig, Outcome::kLeft), 2u);
  EXPECT_EQ(rig.StateOf(rig[1]), "LEFT 0");
  EXPECT_EQ(rig.Events(), "");
}

// With Lan's rule of revival only the dead one itself comes back.
TEST(EngineObserve, HealthyOnesReviveNoDeadMember) {
  Rig rig(Quiet());
  rig.Know(4);
  SuspectByHearsay(rig);
  rig.Run(seconds(12));
  ASSERT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
  ASSERT_TRUE(Order(rig, std::vector<PeerObservation>(10, Seen("m1", Signal::kHealthy))).ok());
  EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
}

}  // namespace
}  // namespace nekton
