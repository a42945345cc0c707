// Joining, syncing and what goes over streams, as the asker and as the one who is asked.
#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "swim/join_addresses.h"
#include "swim/tags.h"
#include "tests/engine_rig.h"

namespace nekton {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

void Kill(Peer& peer) { peer.answers = peer.answers_relays = peer.relays = false; }

Frame JoinFrame() {
  Frame sync = Rig::Of(FrameType::kSync);
  sync.flags = kFlagJoin;
  return sync;
}

// ---- Joining. ----

TEST(EngineJoin, EachAddressGetsOneRequestAtOnce) {
  Config config = Rig::Lan();
  config.label = "blue";
  config.tags = {{"zone", "a"}};
  Rig rig(config);
  ASSERT_TRUE(rig.Order(Join{{Rig::At(1), Rig::At(2), Rig::At(1), rig.self.address}}).ok());
  ASSERT_THAT(rig.requests, SizeIs(2)) << "twice the same, and ourselves";
  EXPECT_EQ(rig.requests[0].to, Rig::At(1));
  EXPECT_EQ(rig.requests[1].to, Rig::At(2));
  const Said& request = rig.requests[0];
  EXPECT_EQ(request.frame.type, FrameType::kSync);
  EXPECT_EQ(request.frame.flags, kFlagJoin);
  EXPECT_EQ(request.frame.label_text, "blue");
  EXPECT_EQ(request.frame.version_min, kProtocolVersion);
  EXPECT_EQ(request.frame.version_max, kProtocolVersion);
  EXPECT_EQ(request.frame.sender, rig.self.id());
  EXPECT_EQ(request.limit, config.stream_timeout);
  ASSERT_THAT(request.updates, SizeIs(1));
  EXPECT_EQ(request.updates[0].kind, UpdateKind::kAlive);
  EXPECT_EQ(request.updates[0].name, "self");
  EXPECT_EQ(request.updates[0].tags, EncodeTags(config.tags).value());
  EXPECT_THAT(rig.sent, IsEmpty());
}

TEST(EngineJoin, AnAddressThatCannotBeReachedIsRefusedInWordsAndNothingIsTried) {
  Rig rig;
  Address portless = Rig::At(1);
  portless.port = 0;
  for (const Address& bad : {portless, Address::V4(0, 0, 0, 0, 7946)}) {
    const absl::Status status = rig.Order(Join{{Rig::At(2), bad}});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("addresses"));
  }
  EXPECT_THAT(rig.requests, IsEmpty());
}

// The alive rows first, then the suspects as rumours, then the dead as confirms; it is news to nobody else.
TEST(EngineJoin, TheReplyIsTakenInAndNotGossiped) {
  Rig rig;
  for (int i = 0; i < 5; ++i) rig.NewPeer();
  ASSERT_TRUE(rig.Order(Join{{rig[1].address}}).ok());
  Update dead = Dead(rig[4], {&rig[1]});
  dead.age = seconds(30);
  rig.Answer(rig.requests[0], rig[1], Rig::Of(FrameType::kSyncReply),
             {Alive(rig[1]), Alive(rig[2]), Alive(rig.self), Suspect(rig[3], {&rig[1]}), dead, Left(rig[5])});
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
  EXPECT_EQ(rig.StateOf(rig[2]), "ACTIVE 0");
  EXPECT_EQ(rig.StateOf(rig[3]), "SUSPECT 0");
  EXPECT_EQ(rig.StateOf(rig[4]), "INACTIVE 0");
  EXPECT_EQ(rig.StateOf(rig[5]), "LEFT 0");
  ASSERT_FALSE(rig.events.empty());
  const Event result = rig.events.back();
  EXPECT_EQ(rig.Events(), "joined m1, joined m2, joined m3, suspected m3, join_result");
  EXPECT_TRUE(result.status.ok());
  EXPECT_EQ(result.address, rig[1].address);
  rig.Run(milliseconds(900));
  for (const Said& said : rig.sent) {
    for (const char* name : {"m1", "m2", "m4", "m5"}) {
      EXPECT_EQ(said.Of(name), nullptr) << name << " is news to nobody but us";
    }
  }
  rig.Run(seconds(59));
  EXPECT_EQ(rig.StateOf(rig[4]), "INACTIVE 0");
  rig.Run(seconds(2));
  EXPECT_EQ(rig.StateOf(rig[4]), "") << "90 s after the first verdict, of which 30 s had gone by";
}

TEST(EngineJoin, EachWayOfFailingHasAResultOfItsOwn) {
  const auto result = [](auto answer) {
    Config config = Rig::Lan();
    config.label = "blue";
    Rig rig(config);
    Peer& peer = rig.NewPeer();
    EXPECT_TRUE(rig.Order(Join{{peer.address}}).ok());
    answer(rig, peer);
    EXPECT_THAT(rig.events, SizeIs(1));
    EXPECT_EQ(rig.Count(Counter::kSyncsFailed), 1u);
    EXPECT_EQ(rig.engine->size(), 1u);
    return rig.events.at(0).status;
  };
  const auto refused = [&](Refusal refusal, std::string_view text) {
    return result([&](Rig& rig, Peer& peer) {
      Frame frame = Rig::Of(FrameType::kRefusal);
      frame.refusal = refusal;
      frame.text = text;
      rig.Answer(rig.requests[0], peer, frame);
    });
  };
  EXPECT_EQ(refused(Refusal::kNameInUse, "by m9"), absl::AlreadyExistsError("by m9"));
  EXPECT_EQ(refused(Refusal::kBusy, "later").code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(refused(Refusal::kVersion, "no").code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(refused(Refusal::kFull, "full").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(refused(Refusal::kOtherCluster, "red").code(), absl::StatusCode::kFailedPrecondition);

  const absl::Status broken = absl::UnavailableError("connection refused");
  EXPECT_EQ(result([&](Rig& rig, Peer&) { rig.AnswerBytes(rig.requests[0].id, broken, {}); }), broken);
  EXPECT_EQ(result([](Rig& rig, Peer&) { rig.AnswerBytes(rig.requests[0].id, absl::OkStatus(), {}); }).code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(result([](Rig& rig, Peer& peer) {
              rig.Answer(rig.requests[0], peer, Rig::Of(FrameType::kAck), {Alive(peer)});
            }).code(),
            absl::StatusCode::kDataLoss);
  const absl::Status foreign = result([](Rig& rig, Peer& peer) {
    Frame reply = Rig::Of(FrameType::kSyncReply);
    reply.label = LabelTag("red");
    reply.sender = peer.id();
    rig.AnswerBytes(rig.requests[0].id, absl::OkStatus(), Encode(reply, {Alive(peer)}));
    EXPECT_EQ(rig.Count(Counter::kBadLabel), 1u);
  });
  EXPECT_EQ(foreign.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(foreign.message()), HasSubstr("other cluster"));
}

TEST(EngineJoin, AnAnswerCountsOnceAndOnlyToARequestOfOurs) {
  Rig rig;
  Peer& peer = rig.NewPeer();
  ASSERT_TRUE(rig.Order(Join{{peer.address}}).ok());
  rig.AnswerBytes(rig.requests[0].id + 1, absl::OkStatus(), {});
  EXPECT_EQ(rig.Events(), "");
  rig.AnswerBytes(rig.requests[0].id, absl::UnavailableError("no"), {});
  rig.Answer(rig.requests[0], peer, Rig::Of(FrameType::kSyncReply), {Alive(peer)});
  EXPECT_EQ(rig.Events(), "join_result");
  EXPECT_EQ(rig.engine->size(), 1u);
}

// With backoff and jitter, for ever; seeds may come up later.
TEST(EngineJoin, AFailedAttemptIsMadeAgainLaterAndLaterUpToABound) {
  Rig rig;
  Peer& peer = rig.NewPeer();
  ASSERT_TRUE(rig.Order(Join{{peer.address}}).ok());
  Duration base = milliseconds(250);
  for (std::size_t attempt = 1; attempt <= 20; ++attempt) {
    ASSERT_THAT(rig.requests, SizeIs(attempt));
    const Instant failed = rig.now.boot;
    rig.AnswerBytes(rig.requests.back().id, absl::UnavailableError("no"), {});
    while (rig.requests.size() == attempt) rig.Step();
    EXPECT_GE(rig.now.boot - failed, base / 2);
    EXPECT_LE(rig.now.boot - failed, base * 3 / 2);
    EXPECT_EQ(rig.requests.back().frame.flags, kFlagJoin) << "still no member";
    base = std::min<Duration>(base * 2, seconds(5));
  }
  rig.Answer(rig.requests.back(), peer, Rig::Of(FrameType::kSyncReply), {Alive(peer)});
  EXPECT_EQ(rig.StateOf(peer), "ACTIVE 0");
}

// Else a seed that is down for a night would be worth thousands of events.
TEST(EngineJoin, AResultIsReportedWhenItIsAnotherThanTheOneBefore) {
  Rig rig;
  Peer& peer = rig.NewPeer();
  ASSERT_TRUE(rig.Order(Join{{peer.address}}).ok());
  std::vector<absl::StatusCode> reported;
  for (const absl::StatusCode code : {absl::StatusCode::kUnavailable, absl::StatusCode::kUnavailable,
                                      absl::StatusCode::kDeadlineExceeded, absl::StatusCode::kUnavailable}) {
    const std::size_t attempts = rig.requests.size();
    rig.AnswerBytes(rig.requests.back().id, absl::Status(code, "no"), {});
    while (rig.requests.size() == attempts) rig.Step();
  }
  for (const Event& event : rig.events) reported.push_back(event.status.code());
  EXPECT_THAT(reported, testing::ElementsAre(absl::StatusCode::kUnavailable, absl::StatusCode::kDeadlineExceeded,
                                             absl::StatusCode::kUnavailable));
}

TEST(EngineJoin, WhileAnExchangeIsUnderWayNoSecondOneBegins) {
  Rig rig;
  rig.NewPeer();
  ASSERT_TRUE(rig.Order(Join{{rig[1].address}}).ok());
  rig.Run(seconds(20));
  ASSERT_TRUE(rig.Order(Join{{rig[1].address}}).ok());
  EXPECT_THAT(rig.requests, SizeIs(1));
}

TEST(EngineJoin, AMemberThatIsActiveIsNotAskedAgain) {
  Rig rig;
  rig.NewPeer();
  ASSERT_TRUE(rig.Order(Join{{rig[1].address}}).ok());
  rig.Answer(rig.requests[0], rig[1], Rig::Of(FrameType::kSyncReply), {Alive(rig[1])});
  rig.Run(seconds(2));
  rig.Clear();  // the question of a newcomer is among it
  rig.Run(seconds(300));
  EXPECT_THAT(rig.requests, SizeIs(0));
}

// A dead seed is tried for ever: quickly while it is the only one, slowly beside another.
TEST(EngineJoin, ADeadSeedIsTriedForEver) {
  for (const bool another : {false, true}) {
    Rig rig;
    rig.NewPeer();
    rig.NewPeer();
    std::vector<Address> seeds = {rig[1].address};
    if (another) seeds.push_back(rig[2].address);
    ASSERT_TRUE(rig.Order(Join{seeds}).ok());
    for (std::size_t i = 0; i < seeds.size(); ++i) {
      rig.Answer(rig.requests[i], rig[i + 1], Rig::Of(FrameType::kSyncReply), {Alive(rig[1]), Alive(rig[2])});
    }
    rig.Run(seconds(2));  // the questions of a newcomer
    Kill(rig[1]);
    std::size_t tried = 0;
    const auto step = [&] {
      rig.requests.clear();
      rig.Step();
      for (const Said& request : std::exchange(rig.requests, {})) {
        if (request.frame.type == FrameType::kSync) {
          ++tried;
          EXPECT_EQ(request.to, rig[1].address);
          EXPECT_EQ(request.frame.flags, kFlagReunion) << "what it brings may be news to all";
        }
        rig.AnswerBytes(request.id, absl::UnavailableError("no"), {});
      }
    };
    while (!rig.StateOf(rig[1]).starts_with("INACTIVE")) step();
    while (rig.StateOf(rig[1]) != "") step();  // until its tombstone ends
    EXPECT_GT(tried, 0u);
    tried = 0;
    for (const Instant from = rig.now.boot; rig.now.boot < from + seconds(300);) step();
    // Every 5 s on average, or every 30 s.
    EXPECT_GE(tried, another ? 9u : 40u);
    EXPECT_LE(tried, another ? 11u : 80u);
  }
}

// ---- Being asked. ----

TEST(EngineServe, AJoinerIsAMemberAndGetsAllRowsItselfAmongThem) {
  Rig rig;
  rig.Know(4);
  rig.Gossip(rig[1], {Suspect(rig[2], {&rig[1]}), Left(rig[3])});
  rig.Run(milliseconds(900));
  rig.Clear();
  Peer& joiner = rig.NewPeer();
  joiner.tags = EncodeTags({{"zone", "b"}}).value();
  const std::uint64_t served = rig.Count(Counter::kSyncsServed);
  const Said reply = rig.Serve(joiner, JoinFrame(), {Alive(joiner)});
  EXPECT_EQ(reply.frame.type, FrameType::kSyncReply);
  std::vector<std::string> rows;
  for (const Update& update : reply.updates) rows.emplace_back(update.name);
  EXPECT_THAT(rows, testing::ElementsAre("self", "m1", "m4", "m5", "m2", "m3"));
  EXPECT_EQ(reply.Of("m2")->kind, UpdateKind::kSuspect);
  EXPECT_EQ(reply.Of("m2")->accusers[0].id, rig[1].id());
  EXPECT_EQ(reply.Of("m3")->kind, UpdateKind::kLeft);
  EXPECT_EQ(reply.Of("m3")->age, milliseconds(900)) << "how long ago, for no two clocks agree";
  EXPECT_EQ(reply.Of("m5")->tags, joiner.tags);
  EXPECT_EQ(rig.Events(), "joined m5");
  EXPECT_TRUE(rig.Spread("m5", UpdateKind::kAlive)) << "and the others hear of it";
  EXPECT_EQ(rig.Count(Counter::kSyncsServed), served + 1);
}

// Two engines.
TEST(EngineServe, BothSidesOfASyncAgree) {
  Rig server;
  for (std::uint64_t i = 1; i <= 30; ++i) server.NewPeer().key.incarnation = i % 4;
  server.Know(30);
  server.Gossip(server[2], {Left(server[5]), Suspect(server[6], {&server[2]})});
  Config config = Rig::Lan();
  config.name = "joiner";
  config.tags = {{"zone", "b"}};
  Rig joiner(config, /*wants_events=*/true, /*host=*/900);
  ASSERT_TRUE(joiner.Order(Join{{server.self.address}}).ok());
  ASSERT_THAT(joiner.requests, SizeIs(1));
  const Said reply = server.ServeBytes(joiner.self.address, *joiner.requests[0].bytes);
  joiner.AnswerBytes(joiner.requests[0].id, absl::OkStatus(), *reply.bytes);
  EXPECT_EQ(joiner.engine->size(), 32u);
  EXPECT_EQ(joiner.engine->digest(), server.engine->digest());
  for (const MemberPtr& row : server.engine->Members()) {
    const MemberPtr same = joiner.Member(row->name);
    ASSERT_NE(same, nullptr) << row->name;
    EXPECT_EQ(same->address, row->address);
    EXPECT_EQ(same->key, row->key);
    EXPECT_EQ(same->status, row->status);
    EXPECT_EQ(same->tags, row->tags);
  }
}

TEST(EngineServe, ANameThatIsAliveElsewhereIsRefused) {
  for (const bool suspect : {false, true}) {
    Rig rig;
    rig.Know(4);
    if (suspect) rig.Gossip(rig[2], {Suspect(rig[1], {&rig[2]})});
    rig.Clear();
    Peer newcomer = rig[1];
    newcomer.address = Rig::At(200);
    newcomer.key = {Rig::kGeneration + 9, 0};
    const std::uint64_t version = rig.engine->version();
    const Said reply = rig.Serve(newcomer, JoinFrame(), {Alive(newcomer)});
    EXPECT_EQ(reply.frame.type, FrameType::kRefusal);
    EXPECT_EQ(reply.frame.refusal, Refusal::kNameInUse);
    EXPECT_THAT(std::string(reply.frame.text), HasSubstr("m1"));
    EXPECT_THAT(std::string(reply.frame.text), HasSubstr(rig[1].address.ToString()));
    EXPECT_EQ(rig.engine->version(), version) << "nobody flaps";
    ASSERT_THAT(rig.events, SizeIs(1));
    EXPECT_EQ(rig.events[0].kind, EventKind::kNameConflict);
    EXPECT_EQ(rig.events[0].member->name, "m1");
    EXPECT_EQ(rig.events[0].address, newcomer.address);
  }
}

TEST(EngineServe, ANameOfTheGoneIsFreeAtAnyAddress) {
  for (const bool left : {false, true}) {
    Rig rig;
    rig.Know(4);
    Kill(rig[1]);
    if (left) rig.Gossip(rig[1], {Left(rig[1])});
    while (!left && rig.StateOf(rig[1]) != "INACTIVE 0") rig.Step();
    rig.Clear();
    Peer newcomer = rig[1];
    newcomer.address = Rig::At(200);
    newcomer.key = {Rig::kGeneration + 9, 0};
    const Said reply = rig.Serve(newcomer, JoinFrame(), {Alive(newcomer)});
    EXPECT_EQ(reply.frame.type, FrameType::kSyncReply);
    EXPECT_EQ(rig.Events(), "restarted m1");
    EXPECT_EQ(rig.Member("m1")->address, newcomer.address);
  }
}

TEST(EngineServe, ARestartFromTheSameAddressIsAdmittedAtOnce) {
  Rig rig;
  rig.Know(4);
  rig[1].key = {Rig::kGeneration + 9, 0};
  const Said reply = rig.Serve(rig[1], JoinFrame(), {Alive(rig[1])});
  EXPECT_EQ(reply.frame.type, FrameType::kSyncReply);
  EXPECT_EQ(rig.Events(), "restarted m1");
}

// It reads there that the group knows more of it, and takes a generation above.
TEST(EngineServe, ARestartBelowTheKnownGenerationIsToldOfIt) {
  Rig rig;
  rig.Know(4);
  Peer restarted = rig[1];
  restarted.key = {Rig::kGeneration - 9, 0};
  const Said reply = rig.Serve(restarted, JoinFrame(), {Alive(restarted)});
  ASSERT_NE(reply.Of("m1"), nullptr);
  EXPECT_EQ(reply.Of("m1")->key, rig[1].key);
  EXPECT_EQ(rig.Events(), "");
}

TEST(EngineServe, WithoutACommonVersionOrRoomItIsRefusedInWords) {
  Config config = Rig::Lan();
  config.members_max = 4;
  Rig rig(config);
  rig.Know(3);
  Peer& joiner = rig.NewPeer();
  Frame future = JoinFrame();
  future.version_min = kProtocolVersion + 1;
  future.version_max = kProtocolVersion + 3;
  EXPECT_EQ(rig.Serve(joiner, future, {Alive(joiner)}).frame.refusal, Refusal::kVersion);
  const Said full = rig.Serve(joiner, JoinFrame(), {Alive(joiner)});
  EXPECT_EQ(full.frame.refusal, Refusal::kFull);
  EXPECT_THAT(std::string(full.frame.text), HasSubstr("4"));
  EXPECT_EQ(rig.Count(Counter::kMembersRefused), 1u);
  EXPECT_EQ(rig.engine->size(), 4u);
  future.version_min = kProtocolVersion;
  EXPECT_EQ(rig.Serve(rig[1], future, {Alive(rig[1])}).frame.type, FrameType::kSyncReply);
}

// A sync that only makes up for what one side missed is no news; one after a separation is.
TEST(EngineServe, WhatASyncBringsIsPassedOnOnlyAfterASeparation) {
  for (const bool reunion : {false, true}) {
    Rig rig;
    rig.Know(4);
    Peer& missed = rig.NewPeer();
    Frame sync = Rig::Of(FrameType::kSync);
    sync.flags = reunion ? kFlagReunion : std::uint8_t{0};
    rig.Serve(rig[1], sync, {Alive(rig[1]), Alive(missed)});
    EXPECT_EQ(rig.Events(), "joined m5");
    rig.Run(seconds(2));
    EXPECT_EQ(rig.Spread("m5", UpdateKind::kAlive), reunion);
  }
}

TEST(EngineServe, AThousandRowsFitIntoOneReply) {
  Rig rig;
  rig.Know(1000);
  Peer& joiner = rig.NewPeer();
  EXPECT_THAT(rig.Serve(joiner, JoinFrame(), {Alive(joiner)}).updates, SizeIs(1002));
}

// ---- Anti-entropy. ----

// A table of six, no newcomer any more, that changed just before the round that is returned; all say that theirs differ.
Said BeginQuietly(Rig& rig) {
  rig.Know(5);
  rig.Run(seconds(15));
  rig[2].key.incarnation = 1;
  rig.Gossip(rig[1], {Alive(rig[2])});
  rig.Clear();
  for (Peer& peer : rig.peers) peer.differs = true;
  return rig.NextRound();
}

TEST(EngineRepair, ADifferingDigestAndAQuietTableCauseExactlyOneSync) {
  Rig rig;
  const Said first = BeginQuietly(rig);
  rig.RunUntil(first.at + seconds(5) - nanoseconds(1));
  EXPECT_THAT(rig.requests, IsEmpty());
  rig.RunUntil(first.at + seconds(30));
  ASSERT_THAT(rig.requests, SizeIs(1)) << "no second one while it is under way";
  EXPECT_EQ(rig.requests[0].frame.type, FrameType::kSync);
  EXPECT_EQ(rig.requests[0].frame.flags, 0u);
  EXPECT_THAT(rig.requests[0].updates, SizeIs(6));
  EXPECT_EQ(rig.requests[0].at, first.at + seconds(5));
  for (Peer& peer : rig.peers) peer.differs = false;
  Peer& asked = *rig.Find(rig.requests[0].to);
  Peer& missed = rig.NewPeer();
  rig.Answer(rig.requests[0], asked, Rig::Of(FrameType::kSyncReply), {Alive(asked), Alive(missed)});
  EXPECT_EQ(rig.Events(), "joined m6") << "it repaired the table, and is no result of a join";
  rig.Run(seconds(60));
  EXPECT_THAT(rig.requests, SizeIs(1));
}

// Its table is the likeliest to lack something.
TEST(EngineRepair, ANewcomerLooksSooner) {
  Rig rig;
  rig.Know(5);
  for (Peer& peer : rig.peers) peer.differs = true;
  const Said first = rig.NextRound();
  rig.RunUntil(first.at + seconds(1) - nanoseconds(1));
  EXPECT_THAT(rig.requests, IsEmpty());
  rig.RunUntil(first.at + seconds(5));
  ASSERT_THAT(rig.requests, SizeIs(1));
  EXPECT_EQ(rig.requests[0].at, first.at + seconds(1));
}

TEST(EngineRepair, ADifferenceThatPersistsCausesNoMoreThanOneInSoManyPeriods) {
  Rig rig;
  const Said first = BeginQuietly(rig);
  while (rig.now.boot < first.at + seconds(100)) {
    rig.Step();
    if (!rig.requests.empty() && rig.requests.back().at == rig.now.boot) {
      rig.AnswerBytes(rig.requests.back().id, absl::UnavailableError("no"), {});
    }
  }
  EXPECT_THAT(rig.requests, SizeIs(20));
}

TEST(EngineRepair, WhileTheTableChangesItIsGossipThatMendsIt) {
  Rig rig;
  BeginQuietly(rig);
  for (std::uint64_t i = 2; i <= 30; ++i) {
    rig.Run(seconds(2));
    rig[2].key.incarnation = i;
    rig.Gossip(rig[1], {Alive(rig[2])});
  }
  EXPECT_THAT(rig.requests, IsEmpty());
}

TEST(EngineRepair, EqualTablesAreNeverSynced) {
  Rig rig;
  rig.Know(5);
  rig.Run(seconds(600));
  EXPECT_THAT(rig.requests, IsEmpty());
}

}  // namespace
}  // namespace nekton
