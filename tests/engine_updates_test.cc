// News about other members: who is new, restarted, moved, replaced, forgotten; and what is refused.
#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "swim/tags.h"
#include "tests/engine_rig.h"

namespace nekton {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::SizeIs;

constexpr std::uint64_t kIncarnationJump = std::uint64_t{1} << 32;
constexpr std::uint64_t kDay = std::uint64_t{24} * 3600 * 1000;  // in ms, as generations are

// No round of our own falls into a test: a period is an hour. A hearer's hold is then 2 s + 1 s.
Config Patient() {
  Config config = Rig::Lan();
  config.period = config.tolerated_pause = std::chrono::hours(1);
  config.hold_alpha = 0;
  return config;
}
constexpr Duration kHold = seconds(3);  // that one member alone accuses it

// Brings m1 from ACTIVE to another status by news.
void Bring(Rig& rig, MemberStatus status) {
  if (status == MemberStatus::kSuspect || status == MemberStatus::kInactive) {
    rig.Gossip(rig[2], {Suspect(rig[1], {&rig[2]})});
  }
  if (status == MemberStatus::kInactive) rig.Run(seconds(4));
  if (status == MemberStatus::kLeft) rig.Gossip(rig[2], {Left(rig[1])});
  ASSERT_EQ(rig.Member("m1")->status, status);
  rig.Clear();
}
constexpr MemberStatus kAllStatuses[] = {MemberStatus::kActive, MemberStatus::kSuspect, MemberStatus::kInactive,
                                         MemberStatus::kLeft};

// ---- Newcomers. ----

TEST(EngineUpdates, AnUnknownAliveIsANewMemberAndPassedOn) {
  Rig rig(Patient());
  rig.Know(3);
  Peer& fresh = rig.NewPeer();
  fresh.tags = EncodeTags({{"zone", "b"}}).value();
  rig.Gossip(rig[1], {Alive(fresh)});
  EXPECT_EQ(rig.Events(), "joined m4");
  const MemberPtr member = rig.Member("m4");
  ASSERT_NE(member, nullptr);
  EXPECT_EQ(member->address, fresh.address);
  EXPECT_EQ(member->key, fresh.key);
  EXPECT_EQ(member->status, MemberStatus::kActive);
  EXPECT_THAT(member->tags, ElementsAre(std::pair("zone", "b")));
  ASSERT_TRUE(rig.Spread("m4", UpdateKind::kAlive));
  EXPECT_EQ(rig.sent[0].Of("m4")->tags, fresh.tags);
}

TEST(EngineUpdates, AnUnknownSuspectIsAMemberFirstThenSuspected) {
  Rig rig(Patient());
  rig.Know(3);
  Peer& fresh = rig.NewPeer();
  rig.Gossip(rig[1], {Suspect(fresh, {&rig[2]})});
  EXPECT_EQ(rig.Events(), "joined m4, suspected m4");
  rig.Run(kHold - nanoseconds(1));
  EXPECT_EQ(rig.StateOf(fresh), "SUSPECT 0");
  rig.Run(nanoseconds(1));
  EXPECT_EQ(rig.StateOf(fresh), "INACTIVE 0") << "with a hearer's hold of its own";
}

// What was first heard of by an accusation has no tags yet; an alive at the same key brings them.
TEST(EngineUpdates, TagsThatWereMissingAreTakenAtTheSameKey) {
  Rig rig(Patient());
  rig.Know(3);
  Peer& fresh = rig.NewPeer();
  fresh.tags = EncodeTags({{"zone", "b"}}).value();
  rig.Gossip(rig[1], {Suspect(fresh, {&rig[2]})});
  rig.Gossip(rig[1], {Alive(fresh)});
  EXPECT_EQ(rig.Member("m4")->tags.size(), 1u);
  EXPECT_EQ(rig.StateOf(fresh), "SUSPECT 0");
}

TEST(EngineUpdates, AnUnknownDeadOrLeftIsATombstoneWithoutAnEvent) {
  for (const UpdateKind kind : {UpdateKind::kDead, UpdateKind::kLeft}) {
    Rig rig(Patient());
    rig.Know(3);
    Peer& gone = rig.NewPeer();
    Update update = Accused(kind, gone, kind == UpdateKind::kDead ? Accusers{&rig[2]} : Accusers{}, 7);
    update.age = seconds(40);
    rig.Gossip(rig[1], {update});
    EXPECT_EQ(rig.Events(), "");
    EXPECT_EQ(rig.StateOf(gone), kind == UpdateKind::kDead ? "INACTIVE 7" : "LEFT 7");
    rig.Gossip(rig[1], {Alive(gone, 6), Alive(gone, 7)});
    EXPECT_EQ(rig.StateOf(gone), kind == UpdateKind::kDead ? "INACTIVE 7" : "LEFT 7") << "nothing older brings it in";
    rig.Run(seconds(50) - nanoseconds(1));
    EXPECT_NE(rig.StateOf(gone), "");
    rig.Run(nanoseconds(1));
    EXPECT_EQ(rig.StateOf(gone), "") << "its tombstone ends everywhere together";
  }
}

TEST(EngineUpdates, AHigherIncarnationRevivesATombstone) {
  for (const UpdateKind kind : {UpdateKind::kDead, UpdateKind::kLeft}) {
    Rig rig(Patient());
    rig.Know(3);
    Peer& gone = rig.NewPeer();
    rig.Gossip(rig[1], {Accused(kind, gone, {}, 7), Alive(gone, 8)});
    EXPECT_EQ(rig.StateOf(gone), "ACTIVE 8");
    EXPECT_EQ(rig.Events(), "recovered m4");
    rig.Run(seconds(100));
    EXPECT_EQ(rig.StateOf(gone), "ACTIVE 8");
  }
}

TEST(EngineUpdates, ATombstoneThatHasEndedElsewhereIsNotTakenIn) {
  Rig rig(Patient());
  rig.Know(3);
  Peer& gone = rig.NewPeer();
  Update update = Dead(gone, {&rig[2]});
  update.age = seconds(90);
  rig.Gossip(rig[1], {update});
  EXPECT_EQ(rig.StateOf(gone), "");
  update.age -= milliseconds(1);
  rig.Gossip(rig[1], {update});
  EXPECT_EQ(rig.StateOf(gone), "INACTIVE 0");
}

// ---- Tombstones of those we knew. ----

TEST(EngineUpdates, ATombstoneIsNotExtendedByWhatIsHeardMeanwhile) {
  for (const MemberStatus status : {MemberStatus::kInactive, MemberStatus::kLeft}) {
    Rig rig(Patient());
    rig.Know(4);
    const Instant from = rig.now.boot;
    Bring(rig, status);
    const Instant died = status == MemberStatus::kLeft ? from : from + kHold;
    for (std::uint64_t i = 1; i <= 8; ++i) {
      rig.Run(seconds(10));
      rig.Gossip(rig[3], {Dead(rig[1], {&rig[2]}, i), Suspect(rig[1], {&rig[2]}, i)});
    }
    if (status == MemberStatus::kInactive) rig.Gossip(rig[3], {Left(rig[1], 8)});
    rig.RunUntil(died + seconds(90) - nanoseconds(1));
    EXPECT_NE(rig.StateOf(rig[1]), "");
    rig.Clear();
    rig.RunUntil(died + seconds(90));
    EXPECT_EQ(rig.Events(), "forgotten m1");
    EXPECT_EQ(rig.engine->size(), 4u);
    EXPECT_EQ(rig.engine->alive(), 4u);
  }
}

TEST(EngineUpdates, OnceForgottenItIsANewMember) {
  Rig rig(Patient());
  rig.Know(3);
  Bring(rig, MemberStatus::kLeft);
  rig.Run(seconds(91));
  rig.Clear();
  rig.Gossip(rig[2], {Alive(rig[1])});
  EXPECT_EQ(rig.Events(), "joined m1");
}

TEST(EngineUpdates, ARevivedMemberIsNotForgotten) {
  Rig rig(Patient());
  rig.Know(3);
  Bring(rig, MemberStatus::kInactive);
  rig.Run(seconds(80));
  rig.Gossip(rig[2], {Alive(rig[1], 1)});
  rig.Run(seconds(300));
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 1");
}

// ---- Bounds of numbers. ----

TEST(EngineUpdates, AnIncarnationBeyondTheJumpIsRefusedAndCounted) {
  Rig rig(Patient());
  rig.Know(3);
  Peer& fresh = rig.NewPeer();
  const std::uint64_t version = rig.engine->version();
  for (const Update& update : {Alive(rig[1], kIncarnationJump + 1), Suspect(rig[1], {&rig[2]}, kIncarnationJump + 1),
                               Dead(rig[1], {&rig[2]}, ~std::uint64_t{0}), Left(rig[1], kIncarnationJump + 1),
                               Alive(fresh, kIncarnationJump + 1), Dead(rig.self, {&rig[2]}, kIncarnationJump + 1)}) {
    rig.Gossip(rig[2], {update});
  }
  EXPECT_EQ(rig.Count(Counter::kUpdatesRefused), 6u);
  EXPECT_EQ(rig.engine->version(), version);
  EXPECT_EQ(rig.Events(), "");
  EXPECT_TRUE(rig.sent.empty());
  rig.Gossip(rig[2], {Alive(rig[1], kIncarnationJump), Alive(fresh, kIncarnationJump)});
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 4294967296");
  EXPECT_EQ(rig.StateOf(fresh), "ACTIVE 4294967296");
  rig.Gossip(rig[2], {Alive(rig[1], 2 * kIncarnationJump)});
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 8589934592") << "above the known one";
}

// Who does not know it yet would refuse more, so nobody goes beyond the jump within one generation.
TEST(EngineUpdates, WhoWouldRefuteBeyondTheJumpBeginsANewGeneration) {
  Rig rig(Patient());
  rig.Know(3);
  rig.Gossip(rig[2], {Dead(rig.self, {&rig[2]}, kIncarnationJump - 1)});
  EXPECT_EQ(rig.engine->Self()->key, (LifeKey{Rig::kGeneration, kIncarnationJump}));
  Peer self = rig.self;
  rig.Gossip(rig[2], {Suspect(self, {&rig[2]}, kIncarnationJump)});
  self.key = {Rig::kGeneration + 1, 0};
  EXPECT_EQ(rig.engine->Self()->key, self.key);
  rig.Gossip(rig[2], {Suspect(self, {&rig[2]})});
  EXPECT_EQ(rig.engine->Self()->key, (LifeKey{Rig::kGeneration + 1, 1}));
}

TEST(EngineUpdates, AGenerationMoreThanTenYearsAheadIsRefusedAndCounted) {
  for (const bool known : {true, false}) {
    Rig rig(Patient());
    rig.Know(3);
    Peer& peer = known ? rig[1] : rig.NewPeer();
    peer.key.generation = Rig::kGeneration + 3661 * kDay;
    rig.Gossip(rig[2], {Alive(peer)});
    EXPECT_EQ(rig.Count(Counter::kUpdatesRefused), 1u);
    EXPECT_EQ(rig.Events(), "");
    peer.key.generation = Rig::kGeneration + 3650 * kDay;
    rig.Gossip(rig[2], {Alive(peer)});
    EXPECT_EQ(rig.Events(), known ? "restarted m1" : "joined m4");
  }
}

// ---- Restarts. ----

TEST(EngineUpdates, AHigherGenerationIsARestartWhateverWasBelieved) {
  for (const MemberStatus status : kAllStatuses) {
    Rig rig(Patient());
    rig.Know(4);
    Bring(rig, status);
    rig[1].key = {Rig::kGeneration + 5, 0};
    rig.Gossip(rig[1], {Alive(rig[1])});
    ASSERT_THAT(rig.events, SizeIs(1)) << Name(status);
    const Event& event = rig.events[0];
    EXPECT_EQ(event.kind, EventKind::kRestarted);
    EXPECT_EQ(event.before, status);
    EXPECT_EQ(event.cause.transition, Transition::kRestarted);
    EXPECT_EQ(event.generation_before, Rig::kGeneration);
    EXPECT_EQ(event.member->key, rig[1].key);
    EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
    EXPECT_EQ(rig.Member("m1")->key.generation, Rig::kGeneration + 5);
    rig.Run(seconds(1));
    EXPECT_TRUE(rig.Spread("m1", UpdateKind::kAlive));
    rig.Run(seconds(300));
    EXPECT_THAT(rig.events, SizeIs(1)) << "nothing of its former life is left: no hold, no tombstone";
  }
}

TEST(EngineUpdates, TheRoundsOfAFormerLifeAreVoid) {
  Rig rig;
  rig.Know(4);
  rig.Silence();
  const Said first = rig.NextRound(&rig[1]);
  Peer former = rig[1];
  rig[1].key.generation += 1;
  rig.Gossip(rig[2], {Alive(rig[1])});
  rig.Ack(former, first.frame.sequence);
  EXPECT_EQ(rig.Count(Counter::kAcksStray), 1u);
  rig.RunUntil(first.at + milliseconds(2500));
  EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
}

TEST(EngineUpdates, AnAccusationOfANewLifeSuspectsAMemberThatWasThere) {
  for (const MemberStatus status : {MemberStatus::kActive, MemberStatus::kSuspect}) {
    Rig rig(Patient());
    rig.Know(4);
    Bring(rig, status);
    rig[1].key = {Rig::kGeneration + 5, 2};
    rig.Gossip(rig[2], {Suspect(rig[1], {&rig[3]})});
    EXPECT_EQ(rig.Events(), "restarted m1, suspected m1");
    EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 2");
  }
}

// It revives nobody; what is stored of the dead rises all the same. Of one that left it does not: else it would be told as
// if the new life had left, and a leave outranks all that the living can say.
TEST(EngineUpdates, AnAccusationOfANewLifeRevivesNobody) {
  for (const MemberStatus status : {MemberStatus::kInactive, MemberStatus::kLeft}) {
    for (const UpdateKind kind : {UpdateKind::kSuspect, UpdateKind::kDead}) {
      Rig rig(Patient());
      rig.Know(4);
      Bring(rig, status);
      const LifeKey before = rig[1].key;
      rig[1].key = {Rig::kGeneration + 5, 2};
      rig.Gossip(rig[2], {Accused(kind, rig[1], {&rig[3]}, 2)});
      EXPECT_EQ(rig.Events(), "");
      EXPECT_EQ(rig.Member("m1")->status, status);
      EXPECT_EQ(rig.Member("m1")->key, status == MemberStatus::kLeft ? before : rig[1].key);
      if (status == MemberStatus::kInactive) {
        rig.Gossip(rig[2], {Alive(rig[1], 1)});
        EXPECT_EQ(rig.Events(), "");
      }
      rig.Gossip(rig[2], {Alive(rig[1], 3)});
      EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 3");
    }
  }
}

TEST(EngineUpdates, NewsOfAFormerLifeIsStaleHoweverBad) {
  Rig rig(Patient());
  rig.Know(4);
  const Peer former = {"m1", rig[1].address, {Rig::kGeneration - 1, 50}};
  for (const Update& update : {Alive(former), Suspect(former, {&rig[3]}), Dead(former, {&rig[3]}), Left(former)}) {
    rig.Clear();
    rig.Gossip(rig[2], {update});
    EXPECT_EQ(rig.StateOf(rig[1]), "ACTIVE 0");
    ASSERT_THAT(rig.sent, SizeIs(1)) << "answered with newer";
    EXPECT_EQ(rig.sent[0].Of("m1")->key, rig[1].key);
  }
  EXPECT_EQ(rig.Count(Counter::kUpdatesStale), 4u);
}

// ---- Addresses and tags. ----

TEST(EngineUpdates, ANewNameOnAnAddressEndsTheOldOne) {
  for (const MemberStatus status : {MemberStatus::kActive, MemberStatus::kSuspect}) {
    Rig rig(Patient());
    rig.Know(4);
    Bring(rig, status);
    const Peer heir = {"heir", rig[1].address, {Rig::kGeneration + 1, 0}};
    rig.Gossip(rig[2], {Alive(heir)});
    ASSERT_THAT(rig.events, SizeIs(2));
    EXPECT_EQ(rig.events[0].kind, EventKind::kReplaced);
    EXPECT_EQ(rig.events[0].member->name, "m1");
    EXPECT_EQ(rig.events[0].before, status);
    EXPECT_EQ(rig.events[0].cause.transition, Transition::kReplaced);
    EXPECT_EQ(rig.events[1].kind, EventKind::kJoined);
    EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
    EXPECT_EQ(rig.StateOf(heir), "ACTIVE 0");
  }
}

TEST(EngineUpdates, TheEarlierStartedNameOnAnAddressIsRefused) {
  Rig rig(Patient());
  rig.Know(4);
  for (const Address& address : {rig[1].address, rig.self.address}) {
    const Peer ghost = {"ghost", address, {Rig::kGeneration - 1, 0}};
    rig.Gossip(rig[2], {Alive(ghost)});
    EXPECT_EQ(rig.StateOf(ghost), "");
  }
  const Peer usurper = {"usurper", rig.self.address, {Rig::kGeneration + 1, 0}};
  rig.Gossip(rig[2], {Alive(usurper)});
  EXPECT_EQ(rig.StateOf(usurper), "") << "we know better who is at our address";
  EXPECT_EQ(rig.Count(Counter::kUpdatesRefused), 3u);
  EXPECT_EQ(rig.Events(), "");
  EXPECT_EQ(rig.engine->alive(), 5u);
}

TEST(EngineUpdates, AnAddressOfTheGoneIsFree) {
  for (const MemberStatus status : {MemberStatus::kInactive, MemberStatus::kLeft}) {
    Rig rig(Patient());
    rig.Know(4);
    Bring(rig, status);
    const Peer heir = {"heir", rig[1].address, {Rig::kGeneration - 1, 0}};
    rig.Gossip(rig[2], {Alive(heir)});
    EXPECT_EQ(rig.Events(), "joined heir");
  }
}

TEST(EngineUpdates, AMemberMayMoveWithAHigherIncarnation) {
  Rig rig;
  rig.Know(1);
  const Address lower = Address::V4(9, 0, 0, 1, 7946);
  rig[1].address = lower;
  rig.Gossip(rig[1], {Alive(rig[1])});
  EXPECT_EQ(rig.Member("m1")->address, Rig::At(1)) << "not at the same key";
  rig[1].key.incarnation = 1;
  rig.Gossip(rig[1], {Alive(rig[1])});
  EXPECT_EQ(rig.Events(), "updated m1");
  EXPECT_EQ(rig.Member("m1")->address, lower);
  EXPECT_EQ(rig.NextRound().to, lower);
}

// Two processes of one name that were started in the same millisecond: everywhere the larger address has it.
TEST(EngineUpdates, OfTwoEqualKeysTheLargerAddressHolds) {
  for (const bool larger_first : {false, true}) {
    Rig rig;
    rig.Know(2);
    Peer one = {"twin", Rig::At(70), {Rig::kGeneration, 0}};
    Peer other = {"twin", Rig::At(71), {Rig::kGeneration, 0}};
    if (larger_first) std::swap(one, other);
    rig.Gossip(rig[1], {Alive(one)});
    rig.Gossip(rig[2], {Alive(other)});
    EXPECT_EQ(rig.Member("twin")->address, Rig::At(71)) << larger_first;
    EXPECT_EQ(rig.engine->size(), 4u);
  }
}

TEST(EngineUpdates, TheNewestTagsWin) {
  Rig rig(Patient());
  rig.Know(2);
  rig[1].tags = EncodeTags({{"zone", "a"}}).value();
  rig.Gossip(rig[1], {Alive(rig[1], 2)});
  EXPECT_EQ(rig.Events(), "updated m1");
  rig[1].tags = EncodeTags({{"zone", "b"}}).value();
  rig.Gossip(rig[1], {Alive(rig[1], 1), Alive(rig[1], 2)});
  EXPECT_EQ(rig.Member("m1")->tags.at("zone"), "a");
  rig.Gossip(rig[1], {Alive(rig[1], 3)});
  EXPECT_EQ(rig.Events(), "updated m1");
  EXPECT_EQ(rig.Member("m1")->tags.at("zone"), "b");
}

// ---- Leaving, and the bound of the table. ----

TEST(EngineUpdates, ALeaveIsNoFailureAndOutranksOne) {
  for (const MemberStatus status : {MemberStatus::kActive, MemberStatus::kSuspect, MemberStatus::kInactive}) {
    Rig rig(Patient());
    rig.Know(4);
    Bring(rig, status);
    rig.Gossip(rig[1], {Left(rig[1])});
    ASSERT_THAT(rig.events, SizeIs(1));
    EXPECT_EQ(rig.events[0].kind, EventKind::kLeft);
    EXPECT_EQ(rig.events[0].before, status);
    EXPECT_EQ(rig.StateOf(rig[1]), "LEFT 0");
    rig.Run(seconds(1));
    EXPECT_TRUE(rig.Spread("m1", UpdateKind::kLeft));
    rig.Gossip(rig[2], {Dead(rig[1], {&rig[2]}), Suspect(rig[1], {&rig[2]}), Alive(rig[1]), Left(rig[1])});
    EXPECT_THAT(rig.events, SizeIs(1));
    EXPECT_EQ(rig.StateOf(rig[1]), "LEFT 0");
  }
}

TEST(EngineUpdates, AFullTableRefusesAFurtherMemberAndCounts) {
  Config config = Patient();
  config.members_max = 4;
  Rig rig(config);
  rig.Know(3);
  Peer& fourth = rig.NewPeer();
  rig.Gossip(rig[1], {Alive(fourth), Alive(rig[2], 1)});
  EXPECT_EQ(rig.Count(Counter::kMembersRefused), 1u);
  EXPECT_EQ(rig.engine->size(), 4u);
  EXPECT_EQ(rig.Events(), "");
  EXPECT_EQ(rig.StateOf(rig[2]), "ACTIVE 1") << "news of the known is taken all the same";
  rig.Gossip(rig[3], {Left(rig[3])});
  rig.Run(seconds(91));
  rig.Clear();
  rig.Gossip(rig[1], {Alive(fourth)});
  EXPECT_EQ(rig.Events(), "joined m4") << "the forgotten make room";
}

}  // namespace
}  // namespace nekton
