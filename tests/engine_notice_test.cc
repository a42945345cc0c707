// Members in maintenance, and expelled ones, as one engine orders, hears and obeys it.
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "swim/notice.h"
#include "tests/engine_rig.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = Notice::Kind;

// What an operator on `origin` said, as it comes with gossip of `from`.
void Hear(Rig& rig, const Peer& from, const Peer& origin, const Notice& notice, Duration left,
          std::uint64_t counter = 1) {
  const std::string key = KeyOf(notice.kind, notice.name);
  const std::string bytes = BytesOf(notice);
  BroadcastPart part;
  part.key = key;
  part.bytes = bytes;
  part.origin = origin.name;
  part.generation = origin.key.generation;
  part.counter = counter;
  part.left = left;
  Frame frame = Rig::Of(FrameType::kGossip);
  frame.label = LabelTag(rig.config.label);
  frame.sender = from.id();
  frame.incarnation = static_cast<std::uint16_t>(from.key.incarnation);
  std::vector<std::byte> framed;
  FrameWriter writer(frame, kSyncBytesMax, framed);
  EXPECT_TRUE(writer.Add(part));
  writer.Finish();
  rig.ReceiveBytes(from.address, framed);
}
Notice About(Kind kind, const Peer& peer, bool over = false) {
  return {.kind = kind, .name = peer.name, .generation = peer.key.generation, .over = over};
}

// The notices of this kind in what was sent to a member: "m1" and so on.
std::vector<std::string> Carried(const Rig& rig, const Peer& to, Kind kind) {
  std::vector<std::string> names;
  for (const Said& said : rig.sent) {
    if (said.to != to.address) continue;
    PartReader reader(said.frame.updates);
    for (BroadcastPart part; reader.Next(&part);) {
      if (part.kind != PartKind::kBroadcast) continue;
      const auto notice = ReadNotice(part.key, part.bytes);
      if (notice.has_value() && notice->kind == kind) names.emplace_back(notice->name);
    }
  }
  return names;
}
absl::StatusCode CodeOf(Rig& rig, const Command& command) { return rig.Order(command).code(); }
std::string TextOf(Rig& rig, const Command& command) { return std::string(rig.Order(command).message()); }
void Kill(Peer& peer) { peer.answers = peer.answers_relays = peer.relays = false; }

TEST(NoticeTest, IsReadAsItWasWrittenAndNothingElseIs) {
  const Notice notice{.kind = Kind::kMaintenance, .name = "alpha", .generation = 300, .over = true};
  const std::string key = KeyOf(notice.kind, notice.name);
  const std::string bytes = BytesOf(notice);
  const auto read = ReadNotice(key, bytes);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->name, "alpha");
  EXPECT_EQ(read->generation, 300u);
  EXPECT_TRUE(read->over);
  EXPECT_TRUE(IsReserved(key));
  EXPECT_FALSE(IsReserved(""));
  EXPECT_FALSE(IsReserved("m"));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(ReadNotice(key, std::string_view(bytes).substr(0, size)).has_value()) << size;
  }
  EXPECT_FALSE(ReadNotice(KeyOf(Kind::kMaintenance, "beta"), bytes).has_value()) << "the key is another's";
  EXPECT_FALSE(ReadNotice(std::string("\0z", 2) + key.substr(2), bytes).has_value()) << "of a later version";
  EXPECT_FALSE(ReadNotice(key, BytesOf({.kind = Kind::kMaintenance, .name = "alpha"})).has_value()) << "generation 0";
}

// The example in swim/FORMAT.md.
TEST(NoticeTest, TheBytesAreThoseOfTheFormat) {
  const Notice notice{.kind = Kind::kMaintenance, .name = "beta", .generation = 1};
  EXPECT_EQ(absl::BytesToHexString(KeyOf(notice.kind, notice.name)), "006d41f6df977ffffa28");
  EXPECT_EQ(absl::BytesToHexString(BytesOf(notice)), "01000462657461");
}

TEST(EngineNotice, TheirKeysAreNoUsers) {
  Rig rig;
  rig.Know(2);
  EXPECT_THAT(TextOf(rig, Broadcast{std::string("\0k", 2), "v"}), HasSubstr("byte 0"));
  ASSERT_TRUE(rig.Order(Maintenance{"m1", 1min}).ok());
  EXPECT_THAT(rig.engine->HeldBroadcasts(rig.now), IsEmpty());
  EXPECT_EQ(rig.Events(), "maintenance m1") << "and no broadcast";
}

TEST(EngineMaintenance, OursGoesOutAtOnce) {
  Rig rig;
  rig.Know(3);
  ASSERT_TRUE(rig.Order(Maintenance{"self", 90s}).ok());
  ASSERT_THAT(rig.events, SizeIs(1));
  EXPECT_EQ(rig.events[0].kind, EventKind::kMaintenance);
  EXPECT_TRUE(rig.events[0].member->self);
  EXPECT_EQ(rig.events[0].duration, 90s);
  EXPECT_EQ(rig.events[0].cause.observers, std::vector<std::string>{"self"});
  for (std::size_t m = 1; m <= 3; ++m) EXPECT_THAT(Carried(rig, rig[m], Kind::kMaintenance), SizeIs(1)) << m;
}

TEST(EngineMaintenance, MistakesAreToldWithTheLimit) {
  Rig rig;
  rig.Know(70);
  EXPECT_EQ(CodeOf(rig, Maintenance{"nobody", 1min}), absl::StatusCode::kNotFound);
  EXPECT_THAT(TextOf(rig, Maintenance{"m1", 1h + 1ns}), HasSubstr("must be from 0 to"));
  EXPECT_EQ(CodeOf(rig, Maintenance{"m1", -1ns}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(rig, Maintenance{"m1", 0s}), absl::StatusCode::kNotFound) << "it is in none";
  rig.Gossip(rig[2], {Left(rig[70])});
  EXPECT_EQ(CodeOf(rig, Maintenance{"m70", 1min}), absl::StatusCode::kNotFound);
  for (int m = 1; m <= 64; ++m) ASSERT_TRUE(rig.Order(Maintenance{absl::StrCat("m", m), 1min}).ok()) << m;
  EXPECT_EQ(CodeOf(rig, Maintenance{"m65", 1min}), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(TextOf(rig, Maintenance{"m65", 1min}), HasSubstr("64"));
  EXPECT_TRUE(rig.Order(Maintenance{"m64", 2min}).ok()) << "it takes the place of its own";
  ASSERT_TRUE(rig.Order(Maintenance{"m1", 0s}).ok());
  EXPECT_EQ(CodeOf(rig, Maintenance{"m1", 0s}), absl::StatusCode::kNotFound) << "it is over";
  EXPECT_TRUE(rig.Order(Maintenance{"m65", 1min}).ok());
  ASSERT_TRUE(rig.Order(Leave{}).ok());
  EXPECT_EQ(CodeOf(rig, Maintenance{"m2", 1min}), absl::StatusCode::kFailedPrecondition);
}

// Of whom nobody says so it is a failure 14 s after the last answer at most; here it is 2 min later.
TEST(EngineMaintenance, ASilentMemberIsSuspectAndNoMore) {
  for (const bool spared : {false, true}) {
    Rig rig;
    rig.Know(4);
    if (spared) Hear(rig, rig[2], rig[1], About(Kind::kMaintenance, rig[1]), 2min);
    EXPECT_EQ(rig.Events(), spared ? "maintenance m1" : "");
    Kill(rig[1]);
    rig.Run(2min - 1s);
    EXPECT_EQ(rig.Events(), spared ? "suspected m1" : "suspected m1, failed m1, forgotten m1");
    if (!spared) continue;
    rig.Run(3s);
    EXPECT_EQ(rig.Events(), "") << "what was left of its hold goes on";
    rig.Run(10s);
    EXPECT_EQ(rig.Events(), "failed m1");
  }
}

TEST(EngineMaintenance, ItEndsEarlyWhereItIsOver) {
  Rig rig;
  rig.Know(4);
  Hear(rig, rig[2], rig[1], About(Kind::kMaintenance, rig[1]), 1h);
  Kill(rig[1]);
  rig.Run(1min);
  EXPECT_EQ(rig.Events(), "maintenance m1, suspected m1");
  Hear(rig, rig[2], rig[3], About(Kind::kMaintenance, rig[1], /*over=*/true), 59min, 2);
  ASSERT_THAT(rig.events, SizeIs(1));
  EXPECT_EQ(rig.events[0].duration, 0s);
  Hear(rig, rig[2], rig[1], About(Kind::kMaintenance, rig[1]), 59min, 1);  // a late copy
  rig.Run(15s);
  EXPECT_EQ(rig.Events(), "maintenance m1, failed m1");
}

TEST(EngineMaintenance, NobodyIsSparedForLongerThanTheLimitWhateverIsSaid) {
  Rig rig;
  rig.Know(4);
  Hear(rig, rig[2], rig[1], About(Kind::kMaintenance, rig[1]), 24h);
  EXPECT_EQ(rig.events[0].duration, 1h);
  Kill(rig[1]);
  rig.Run(1h + 15s);
  EXPECT_EQ(rig.Events(), "maintenance m1, suspected m1, failed m1");
}

TEST(EngineMaintenance, ARestartIsOneAndTheNewLifeIsSparedToo) {
  Rig rig;
  rig.Know(4);
  Hear(rig, rig[2], rig[1], About(Kind::kMaintenance, rig[1]), 10min);
  rig.Events();
  ++rig[1].key.generation;
  rig.Gossip(rig[2], {Alive(rig[1])});
  EXPECT_EQ(rig.Events(), "restarted m1");
  Kill(rig[1]);
  rig.Run(9min);
  EXPECT_EQ(rig.Events(), "suspected m1");
}

TEST(EngineMaintenance, AMemberThatIsHeardOfLaterIsSparedAsWell) {
  Rig rig;
  rig.Know(3);
  Peer& fourth = rig.NewPeer();
  Hear(rig, rig[2], rig[1], About(Kind::kMaintenance, fourth), 10min);
  EXPECT_EQ(rig.Events(), "") << "nobody knows whom it is about";
  rig.Gossip(rig[2], {Alive(fourth)});
  Kill(fourth);
  rig.Run(9min);
  EXPECT_EQ(rig.Events(), "joined m4, suspected m4");
}

TEST(EngineMaintenance, ItIsForALifeAndLaterOnesAlone) {
  Rig rig;
  rig.Know(4);
  Notice later = About(Kind::kMaintenance, rig[1]);
  ++later.generation;
  Hear(rig, rig[2], rig[1], later, 10min);
  Kill(rig[1]);
  rig.Run(20s);
  EXPECT_EQ(rig.Events(), "maintenance m1, suspected m1, failed m1");
}

TEST(EngineExpel, MistakesAreTold) {
  Rig rig;
  rig.Know(2);
  EXPECT_EQ(CodeOf(rig, Expel{"nobody"}), absl::StatusCode::kNotFound);
  EXPECT_EQ(CodeOf(rig, Expel{"self"}), absl::StatusCode::kInvalidArgument);
  rig.Gossip(rig[1], {Left(rig[2])});
  EXPECT_EQ(CodeOf(rig, Expel{"m2"}), absl::StatusCode::kNotFound);
}

TEST(EngineExpel, AtMostSoManyAreKept) {
  Rig rig;
  rig.Know(65);
  for (int m = 1; m <= 64; ++m) ASSERT_TRUE(rig.Order(Expel{absl::StrCat("m", m)}).ok()) << m;
  EXPECT_THAT(TextOf(rig, Expel{"m65"}), HasSubstr("64 expulsions"));
}

TEST(EngineExpel, OursIsCommittedAtOnceAndToldToThatMemberItself) {
  Rig rig;
  rig.Know(4);
  ASSERT_TRUE(rig.Order(Expel{"m1"}).ok());
  ASSERT_THAT(rig.events, SizeIs(1));
  EXPECT_EQ(rig.events[0].kind, EventKind::kFailed);
  EXPECT_EQ(rig.events[0].cause.transition, Transition::kExpelled);
  EXPECT_EQ(rig.events[0].cause.observers, std::vector<std::string>{"self"});
  EXPECT_THAT(Describe(rig.events[0]), HasSubstr("expelled; by self"));
  EXPECT_EQ(rig.Member("m1")->status, MemberStatus::kInactive);
  EXPECT_FALSE(Carried(rig, rig[1], Kind::kExpelled).empty());
  EXPECT_FALSE(rig.Spread("m1", UpdateKind::kDead)) << "that is nobody's evidence";
  std::size_t others = 0;
  for (std::size_t m = 2; m <= 4; ++m) others += Carried(rig, rig[m], Kind::kExpelled).size();
  EXPECT_EQ(others, 3u);
}

TEST(EngineExpel, WhatIsHeardIsCommittedAtOnceInEveryState) {
  for (const bool suspect : {false, true}) {
    Rig rig;
    rig.Know(4);
    if (suspect) rig.Gossip(rig[3], {Suspect(rig[1], {&rig[2], &rig[3]})});
    EXPECT_EQ(rig.Events(), suspect ? "suspected m1" : "");
    Hear(rig, rig[3], rig[2], About(Kind::kExpelled, rig[1]), 1h);
    EXPECT_EQ(rig.Events(), "failed m1");
    Hear(rig, rig[4], rig[2], About(Kind::kExpelled, rig[1]), 1h);
    EXPECT_EQ(rig.Events(), "");
  }
}

TEST(EngineExpel, NoNewsBringsThatLifeBackAndALaterOneIsWelcome) {
  Rig rig;
  rig.Know(4);
  Hear(rig, rig[3], rig[2], About(Kind::kExpelled, rig[1]), 1h);
  EXPECT_EQ(rig.Events(), "failed m1");
  rig.Gossip(rig[4], {Alive(rig[1], 7)});
  rig.Gossip(rig[4], {Suspect(rig[1], {&rig[4]}, 9)});
  EXPECT_EQ(rig.Events(), "");
  rig.Run(rig.config.forget_after + 1s);
  EXPECT_EQ(rig.Events(), "forgotten m1");
  rig.Gossip(rig[4], {Alive(rig[1], 11)});
  EXPECT_EQ(rig.Events(), "") << "its row is forgotten, the notice is not";
  ++rig[1].key.generation;
  rig.Gossip(rig[4], {Alive(rig[1], 0)});
  EXPECT_EQ(rig.Events(), "joined m1");
  Hear(rig, rig[3], rig[2], {.kind = Kind::kExpelled, .name = "m1", .generation = Rig::kGeneration}, 1h, 2);
  EXPECT_EQ(rig.Events(), "") << "that is about the life before";
}

TEST(EngineExpel, AfterTheNoticeHasEndedItIsNoneAnyMore) {
  Rig rig;
  rig.Know(4);
  Hear(rig, rig[3], rig[2], About(Kind::kExpelled, rig[1]), 2min);
  rig.Run(2min + 1s);
  rig.Events();
  rig.Gossip(rig[4], {Alive(rig[1], 7)});
  EXPECT_EQ(rig.Events(), "joined m1");
}

// It did not hear of it: whatever it says to us is answered with the notice, and with no accusation that it would refute.
TEST(EngineExpel, WhoWasExpelledIsToldWhenItSpeaks) {
  Rig rig;
  rig.Know(4);
  Hear(rig, rig[3], rig[2], About(Kind::kExpelled, rig[1]), 1h);
  rig.Run(10s);
  rig.Clear();
  rig.Receive(rig[1], Rig::Of(FrameType::kPing, 77));
  ASSERT_THAT(rig.SentTo(rig[1], FrameType::kAck), SizeIs(1));
  EXPECT_EQ(rig.sent[0].Of("m1"), nullptr);
  EXPECT_THAT(Carried(rig, rig[1], Kind::kExpelled), SizeIs(1));
  EXPECT_EQ(rig.Events(), "");
}

TEST(EngineExpel, WhoHearsItOfItselfIsSilentFromThenOn) {
  Rig rig;
  rig.Know(4);
  const Notice older{.kind = Kind::kExpelled, .name = "self", .generation = Rig::kGeneration - 1};
  Hear(rig, rig[3], rig[2], older, 1h);
  EXPECT_EQ(rig.Events(), "") << "of a life before";
  Hear(rig, rig[3], rig[2], {.kind = Kind::kExpelled, .name = "self", .generation = Rig::kGeneration}, 1h, 2);
  ASSERT_THAT(rig.events, SizeIs(1));
  EXPECT_EQ(rig.events[0].kind, EventKind::kExpelled);
  EXPECT_EQ(rig.events[0].cause.observers, std::vector<std::string>{"m2"});
  EXPECT_THAT(Describe(rig.events[0]), HasSubstr("expelled by m2"));
  EXPECT_EQ(rig.engine->NextWake(), kNever);
  rig.Clear();
  EXPECT_EQ(CodeOf(rig, Expel{"m1"}), absl::StatusCode::kFailedPrecondition);
  rig.Receive(rig[1], Rig::Of(FrameType::kPing, 77));
  EXPECT_THAT(rig.sent, IsEmpty());
  EXPECT_EQ(rig.Count(Counter::kRefutations), 0u);
}

// A notice of all lives that may ever come would lock a name out, and would be kept by everybody.
TEST(EngineNotice, OneOfALifeThatCannotBeIsNeitherKeptNorPassedOn) {
  for (const Kind kind : {Kind::kExpelled, Kind::kMaintenance}) {
    Rig rig;
    rig.Know(4);
    std::uint64_t counter = 0;
    const auto hear = [&](const std::string& name, std::uint64_t generation) {
      Hear(rig, rig[2], rig[2], {.kind = kind, .name = name, .generation = generation}, 60s, ++counter);
    };
    const std::uint64_t most = std::max(Rig::kGeneration, rig[1].key.generation) + kGenerationAheadMax;
    for (const std::uint64_t generation :
         {~std::uint64_t{0}, ~std::uint64_t{0} - 1, std::uint64_t{1} << 63, 2 * most}) {
      hear("m1", generation);
      hear("nobody", generation);
      hear("self", generation);
    }
    EXPECT_EQ(rig.Events(), "");
    EXPECT_EQ(rig.Count(Counter::kBroadcastsRefused), 12u);
    rig.Clear();
    rig.Run(5s);
    for (std::size_t i = 1; i <= 4; ++i) EXPECT_THAT(Carried(rig, rig[i], kind), IsEmpty());
    hear("m1", rig[1].key.generation);
    EXPECT_EQ(rig.Events(), kind == Kind::kExpelled ? "failed m1" : "maintenance m1") << "a sound one is heard";
  }
}

}  // namespace
}  // namespace nekton
