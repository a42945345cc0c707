// Making tables equal: what it costs depends on what differs, not on the size of the table; who has slept listens first.
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "swim/terms.h"
#include "swim/wire.h"
#include "tests/engine_rig.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::SizeIs;

Address AddressOf(std::uint32_t i) {
  return Address::V4(10, static_cast<std::uint8_t>(i >> 16), static_cast<std::uint8_t>(i >> 8),
                     static_cast<std::uint8_t>(i), 7946);
}

// A member of a large group whose other members are made up. It hears of them by one sync.
class Side {
 public:
  struct Row {
    std::string name;
    Address address;
    LifeKey key;
  };
  static Row Make(std::uint32_t i) { return {"n" + std::to_string(i), AddressOf(i), {Rig::kGeneration, 0}}; }

  explicit Side(std::uint32_t number) : row(Make(number)) {
    Config config = Config::Lan();
    config.name = row.name;
    config.generation = Rig::kGeneration;
    config.seed = number;
    engine_ = Engine::Create(config, row.address).value();
    now.boot = Instant(1000s);
    now.wall = WallTime(std::chrono::milliseconds(Rig::kGeneration));
    engine_->Wake(now, out);
    out.Clear();
  }

  static std::vector<std::byte> Frames(FrameType type, const Row& from, const std::vector<Row>& rows,
                                       std::uint8_t flags = 0) {
    Frame frame;
    frame.type = type;
    frame.flags = flags;
    frame.label = LabelTag("");
    frame.sender = MemberId(from.name, from.key.generation);
    frame.version_min = frame.version_max = kProtocolVersion;
    std::vector<std::byte> bytes;
    FrameWriter writer(frame, kSyncBytesMax, bytes);
    const auto add = [&](const Row& r) {
      Update update;
      update.name = r.name;
      update.address = r.address;
      update.key = r.key;
      update.detailed = true;
      update.version_min = update.version_max = kProtocolVersion;
      EXPECT_TRUE(writer.Add(update));
    };
    add(from);
    for (const Row& r : rows) add(r);
    writer.Finish();
    return bytes;
  }
  void Learn(const Row& from, const std::vector<Row>& rows) {
    engine_->Serve(now, from.address, 1, Frames(FrameType::kSync, from, rows), out);
    out.Clear();
  }
  // An ack that says that the tables differ, after so long a quiet time that a sync follows.
  void Differs(const Row& from) {
    const auto ack = Frames(FrameType::kAck, from, {}, kFlagDiffers);
    for (int i = 0; i < 2; ++i) {
      engine_->Receive(now, from.address, ack, out);
      if (i == 0) now.boot += 6s, now.raw += 6s, now.wall += 6s;
    }
  }
  Engine& engine() { return *engine_; }

  const Row row;
  Tick now;
  Outbox out;

 private:
  absl::StatusOr<Engine> engine_{absl::UnknownError("")};
};

struct Cost {
  std::size_t exchanges = 0;
  std::size_t bytes = 0;
};

// Carries what a asks b, and b's answers, until nothing is asked any more. `lost`: that exchange gets no answer.
Cost Carry(Side& a, Side& b, std::size_t lost = SIZE_MAX) {
  Cost cost;
  while (!a.out.requests().empty()) {
    const Outbox::Request request = a.out.requests().front();
    a.out.Clear();
    EXPECT_EQ(request.to, b.row.address);
    b.now = a.now;
    b.engine().Serve(b.now, a.row.address, 7, request.bytes, b.out);
    EXPECT_EQ(b.out.replies().size(), 1u);
    const std::vector<std::byte> reply = b.out.replies().front().bytes;
    b.out.Clear();
    cost.bytes += request.bytes.size() + reply.size();
    if (cost.exchanges++ == lost) {
      a.engine().Answer(a.now, request.id, absl::UnavailableError("lost"), {}, a.out);
    } else {
      a.engine().Answer(a.now, request.id, absl::OkStatus(), reply, a.out);
    }
  }
  return cost;
}

enum class Kind { kAMisses, kBMisses, kAIsOlder, kBIsOlder };

// Two members of n, whose tables differ in d of them.
struct Pair {
  Pair(std::uint32_t n, std::uint32_t d, Kind kind) : a(1), b(2) {
    std::vector<Side::Row> left = {b.row};
    std::vector<Side::Row> right = {a.row};
    for (std::uint32_t i = 3; i <= n; ++i) {
      Side::Row row = Side::Make(i);
      Side::Row newer = row;
      newer.key.incarnation = 1;
      const bool differs = (i - 3) % (n / (d + 1)) == 0 && differing < d;
      if (differs) ++differing;
      if (!differs || kind != Kind::kAMisses) left.push_back(differs && kind == Kind::kBIsOlder ? newer : row);
      if (!differs || kind != Kind::kBMisses) right.push_back(differs && kind == Kind::kAIsOlder ? newer : row);
    }
    a.Learn(b.row, left);
    b.Learn(a.row, right);
  }
  bool equal() { return a.engine().digest() == b.engine().digest() && a.engine().size() == b.engine().size(); }

  Side a, b;
  std::uint32_t differing = 0;
};

TEST(EngineSync, CostsWhatDiffersAndNotWhatIsThere) {
  for (const Kind kind : {Kind::kAMisses, Kind::kBMisses, Kind::kAIsOlder, Kind::kBIsOlder}) {
    for (const std::uint32_t d : {1u, 10u, 100u}) {
      Pair small(2'000, d, kind);
      Pair large(10'000, d, kind);
      ASSERT_EQ(large.differing, d);
      ASSERT_FALSE(large.equal());
      small.a.Differs(small.b.row);
      large.a.Differs(large.b.row);
      const Cost of_small = Carry(small.a, small.b);
      const Cost of_large = Carry(large.a, large.b);
      EXPECT_TRUE(small.equal() && large.equal()) << d;
      EXPECT_EQ(of_large.exchanges, 2u);
      // The sums of a group's leaves, and the few rows of a leaf, of which a large table has more.
      EXPECT_LT(of_large.bytes, 600 + 750 * d) << d;
      EXPECT_LT(of_large.bytes, 2 * of_small.bytes) << d;
      RecordProperty("bytes_of_" + std::to_string(d), static_cast<int>(of_large.bytes));
    }
  }
}

TEST(EngineSync, TablesThatAreEqualAreFoundSoByTheirSums) {
  Pair pair(1'000, 0, Kind::kAMisses);
  ASSERT_TRUE(pair.equal());
  pair.a.Differs(pair.b.row);
  const Cost cost = Carry(pair.a, pair.b);
  EXPECT_EQ(cost.exchanges, 1u);
  EXPECT_LT(cost.bytes, 500u);
}

TEST(EngineSync, WhatIsLostIsBegunAnew) {
  for (const std::size_t lost : {0u, 1u}) {
    Pair pair(1'000, 3, Kind::kAMisses);
    pair.a.Differs(pair.b.row);
    Carry(pair.a, pair.b, lost);
    EXPECT_FALSE(pair.equal());
    pair.a.Differs(pair.b.row);
    Carry(pair.a, pair.b);
    EXPECT_TRUE(pair.equal());
  }
}

TEST(EngineSync, SmallTablesGoWhole) {
  Pair pair(100, 1, Kind::kAMisses);
  pair.a.Differs(pair.b.row);
  EXPECT_EQ(Carry(pair.a, pair.b).exchanges, 1u);
  EXPECT_TRUE(pair.equal());
}

// ---- Who has slept. ----

constexpr Duration kLong = 40s;  // more than a third of forget_after

void Sleep(Rig& rig, Duration time) {
  rig.Silence();  // an ack of theirs would say that the tables agree
  rig.Pass(time);
  rig.Wake();
  rig.Clear();
}

void HearOfDifference(Rig& rig) {
  Frame ack = Rig::Of(FrameType::kAck, 1);
  ack.flags = kFlagDiffers;
  rig.Receive(rig[2], ack);
}

// News of many is on its way then, and some of it gets lost.
TEST(EngineSync, WhoMeetsOthersLooksSoonerWhereTablesDiffer) {
  for (const bool again : {false, true}) {
    Rig rig;
    rig.Know(5);
    rig.Run(15s);
    if (again) {
      rig[3].answers = rig[3].answers_relays = false;
      rig.Run(60s);
      ASSERT_EQ(rig.StateOf(rig[3]), "INACTIVE 0");
      rig[3].answers = rig[3].answers_relays = true;
      ++rig[3].key.incarnation;
    }
    rig.Clear();
    Peer& met = again ? rig[3] : rig.NewPeer();
    rig.Gossip(rig[1], {Alive(met)});
    ASSERT_THAT(rig.requests, SizeIs(again ? 1 : 0));
    if (again) rig.AnswerBytes(rig.requests[0].id, absl::UnavailableError("no"), {});
    rig.Clear();
    for (Peer& peer : rig.peers) peer.differs = true;
    rig.Run(1s - 1ns);
    EXPECT_THAT(rig.requests, SizeIs(0));
    rig.Run(2s);
    EXPECT_THAT(rig.requests, SizeIs(1));
  }
}

TEST(EngineSync, WhoHasSleptLongTellsNobodyButItself) {
  for (const bool longer : {false, true}) {
    Rig rig;
    rig.Know(4);
    Sleep(rig, longer ? kLong : 20s);
    HearOfDifference(rig);
    if (!longer) {
      EXPECT_THAT(rig.requests, SizeIs(0)) << "a table is quiet for some time before it is repaired";
      EXPECT_THAT(rig.Serve(rig[1], Rig::Of(FrameType::kSync), {Alive(rig[1])}).updates, SizeIs(5));
      continue;
    }
    ASSERT_THAT(rig.requests, SizeIs(1)) << "at once";
    EXPECT_THAT(rig.requests[0].updates, SizeIs(1));
    EXPECT_EQ(rig.requests[0].updates[0].name, "self");
    const Said refusal = rig.Serve(rig[1], Rig::Of(FrameType::kSync), {Alive(rig[1])});
    EXPECT_EQ(refusal.frame.type, FrameType::kRefusal);
    EXPECT_EQ(refusal.frame.refusal, Refusal::kBusy);
  }
}

TEST(EngineSync, WhatWasForgottenMeanwhileIsDropped) {
  Rig rig;
  rig.Know(4);
  Sleep(rig, kLong);
  HearOfDifference(rig);
  ASSERT_THAT(rig.requests, SizeIs(1));
  rig.Answer(rig.requests[0], rig[2], Rig::Of(FrameType::kSyncReply), {Alive(rig[2]), Alive(rig.self), Alive(rig[3])});
  EXPECT_EQ(rig.StateOf(rig[1]), "");
  EXPECT_EQ(rig.StateOf(rig[2]), "ACTIVE 0");
  EXPECT_EQ(rig.StateOf(rig[3]), "ACTIVE 0");
  EXPECT_EQ(rig.StateOf(rig[4]), "");
  // Once tables agree it is a member like the others.
  rig.Receive(rig[2], Rig::Of(FrameType::kAck, 1));
  EXPECT_EQ(rig.Serve(rig[2], Rig::Of(FrameType::kSync), {Alive(rig[2])}).frame.type, FrameType::kSyncReply);
}

TEST(EngineSync, ANewcomersTableDropsNobody) {
  Rig rig;
  rig.Know(8);
  Sleep(rig, kLong);
  HearOfDifference(rig);
  ASSERT_THAT(rig.requests, SizeIs(1));
  rig.Answer(rig.requests[0], rig[2], Rig::Of(FrameType::kSyncReply), {Alive(rig[2]), Alive(rig.self), Alive(rig[3])});
  EXPECT_EQ(rig.engine->size(), 9u);
}

TEST(EngineSync, WhereAllHaveSleptItEnds) {
  Rig rig;
  rig.Know(4);
  Sleep(rig, kLong);
  EXPECT_EQ(rig.Serve(rig[1], Rig::Of(FrameType::kSync), {Alive(rig[1])}).frame.type, FrameType::kRefusal);
  rig.Run(rig.config.forget_after);
  EXPECT_EQ(rig.Serve(rig[1], Rig::Of(FrameType::kSync), {Alive(rig[1])}).frame.type, FrameType::kSyncReply);
}

// ---- Who must not join. ----

TEST(EngineSync, OtherTermsAreRefusedByName) {
  Rig rig;
  rig.Know(2);
  Config wan = Config::Wan();
  const std::vector<std::byte> terms = EncodeTerms(wan);
  Frame join = Rig::Of(FrameType::kSync);
  join.flags = kFlagJoin;
  join.terms = terms;
  rig.NewPeer();
  const Said refusal = rig.Serve(rig[3], join, {Alive(rig[3])});
  ASSERT_EQ(refusal.frame.type, FrameType::kRefusal);
  EXPECT_EQ(refusal.frame.refusal, Refusal::kTerms);
  EXPECT_THAT(std::string(refusal.frame.text), HasSubstr("period: 1 s here, 5 s there"));
  EXPECT_EQ(rig.StateOf(rig[3]), "");
  const std::vector<std::byte> same = EncodeTerms(rig.config);
  join.terms = same;
  EXPECT_EQ(rig.Serve(rig[3], join, {Alive(rig[3])}).frame.type, FrameType::kSyncReply);
}

}  // namespace
}  // namespace nekton
