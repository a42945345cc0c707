// Calls of Join with a limit: one event each, with what became of every address; and how many attempts there are at once.
#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "swim/join_addresses.h"
#include "swim/join_calls.h"
#include "tests/engine_rig.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using absl::StatusCode;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// The only kJoinDone so far; takes all events away.
Event Done(Rig& rig) {
  std::vector<Event> done;
  for (const Event& event : std::exchange(rig.events, {})) {
    if (event.kind == EventKind::kJoinDone) done.push_back(event);
  }
  EXPECT_THAT(done, SizeIs(1));
  return done.empty() ? Event{} : done[0];
}
bool Open(const Rig& rig) {
  return std::none_of(rig.events.begin(), rig.events.end(),
                      [](const Event& e) { return e.kind == EventKind::kJoinDone; });
}
std::vector<StatusCode> Codes(const Event& event) {
  std::vector<StatusCode> codes;
  for (const JoinOutcome& outcome : event.outcomes) codes.push_back(outcome.status.code());
  return codes;
}
void Fail(Rig& rig, const Said& request, const std::string& why = "connection refused") {
  rig.AnswerBytes(request.id, absl::UnavailableError(why), {});
}
void Refuse(Rig& rig, const Said& request, const Peer& by, Refusal refusal, std::string_view text) {
  Frame frame = Rig::Of(FrameType::kRefusal);
  frame.refusal = refusal;
  frame.text = text;
  rig.Answer(request, by, frame);
}
void Accept(Rig& rig, const Said& request, const Peer& by) {
  rig.Answer(request, by, Rig::Of(FrameType::kSyncReply), {Alive(by)});
}
// Every attempt fails until then; when they were made.
std::vector<Instant> FailUntil(Rig& rig, Instant until) {
  std::vector<Instant> attempts;
  for (;;) {
    for (const Said& request : std::exchange(rig.requests, {})) {
      attempts.push_back(rig.now.boot);
      Fail(rig, request);
    }
    if (rig.engine->NextWake() > until) break;
    rig.Step();
  }
  rig.SetTime(until);
  return attempts;
}

TEST(EngineJoinCall, SucceedsWithOneAndTellsOfAll) {
  Rig rig;
  for (int i = 0; i < 3; ++i) rig.NewPeer();
  ASSERT_TRUE(rig.Order(Join{{rig[1].address, rig[2].address, rig[3].address}, 10s, 77}).ok());
  ASSERT_THAT(rig.requests, SizeIs(3));
  Fail(rig, rig.requests[0]);
  EXPECT_TRUE(Open(rig));
  Accept(rig, rig.requests[1], rig[2]);
  const Event done = Done(rig);
  EXPECT_TRUE(done.status.ok()) << done.status;
  EXPECT_EQ(done.call, 77u);
  ASSERT_THAT(done.outcomes, SizeIs(3));
  EXPECT_EQ(done.outcomes[0], (JoinOutcome{rig[1].address, absl::UnavailableError("connection refused")}));
  EXPECT_EQ(done.outcomes[1], (JoinOutcome{rig[2].address, absl::OkStatus()}));
  EXPECT_EQ(done.outcomes[2].status.code(), StatusCode::kDeadlineExceeded) << "it was still tried";
  EXPECT_THAT(Describe(done), HasSubstr("join 77 done through 10.0.0.2:7946: OK"));
  rig.Run(60s);
  EXPECT_TRUE(Open(rig)) << "one event for one call";
}

TEST(EngineJoinCall, WhereAllAreDeadTheDeadlineComesWithEveryReason) {
  Rig rig;
  const Instant from = rig.now.boot;
  ASSERT_TRUE(rig.Order(Join{{Rig::At(1), Rig::At(2)}, 20s, 5}).ok());
  const std::vector<Instant> attempts = FailUntil(rig, from + 20s - 1ns);
  EXPECT_TRUE(Open(rig));
  EXPECT_GE(attempts.size(), 10u) << "retried within the one budget";
  EXPECT_LE(attempts.size(), 30u) << "with backoff";
  FailUntil(rig, from + 20s);
  const Event done = Done(rig);
  EXPECT_EQ(done.at, from + 20s);
  EXPECT_EQ(done.status.code(), StatusCode::kDeadlineExceeded);
  for (const char* part : {"10.0.0.1:7946: connection refused", "10.0.0.2:7946: connection refused"}) {
    EXPECT_THAT(std::string(done.status.message()), HasSubstr(part));
  }
  EXPECT_THAT(Codes(done), ElementsAre(StatusCode::kUnavailable, StatusCode::kUnavailable));
  EXPECT_GE(FailUntil(rig, from + 60s).size(), 8u) << "they are seeds for ever";
}

TEST(EngineJoinCall, ASeedMayComeUpBeforeTheDeadline) {
  Rig rig;
  rig.NewPeer();
  const Instant from = rig.now.boot;
  ASSERT_TRUE(rig.Order(Join{{rig[1].address}, 30s}).ok());
  FailUntil(rig, from + 12s);
  while (rig.requests.empty()) rig.Step();
  EXPECT_LE(rig.now.boot, from + 12s + 7500ms) << "backoff 5 s and jitter";
  Accept(rig, rig.requests[0], rig[1]);
  EXPECT_TRUE(Done(rig).status.ok());
}

TEST(EngineJoinCall, EndsAtOnceWhereEveryAddressRefusesForGood) {
  const auto refused = [](Refusal refusal, std::string_view text) {
    Rig rig;
    rig.NewPeer();
    rig.NewPeer();
    EXPECT_TRUE(rig.Order(Join{{rig[1].address, rig.self.address, rig[2].address}, 30s}).ok());
    Refuse(rig, rig.requests[0], rig[1], refusal, text);
    EXPECT_TRUE(Open(rig)) << "the other one may let us in";
    Refuse(rig, rig.requests[1], rig[2], refusal, text);
    if (Open(rig)) return absl::Status();
    const Event done = Done(rig);
    EXPECT_EQ(Codes(done)[1], StatusCode::kFailedPrecondition) << "ourselves";
    return done.status;
  };
  const absl::Status terms = refused(Refusal::kTerms, "period: 1s here, 5s there");
  EXPECT_EQ(terms.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(terms.message()), HasSubstr("10.0.0.1:7946: period: 1s here, 5s there"));
  EXPECT_EQ(refused(Refusal::kOtherCluster, "red").code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused(Refusal::kImplausible, "far").code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused(Refusal::kVersion, "old").code(), StatusCode::kUnimplemented);
  // These may be over a moment later.
  for (const Refusal refusal : {Refusal::kNameInUse, Refusal::kBusy, Refusal::kFull}) {
    EXPECT_TRUE(refused(refusal, "now").ok()) << static_cast<int>(refusal);
  }
}

TEST(EngineJoinCall, OurOwnAddressAloneIsNobodyToJoin) {
  Rig rig;
  ASSERT_TRUE(rig.Order(Join{{rig.self.address, rig.self.address}, 30s}).ok());
  const Event done = Done(rig);
  EXPECT_EQ(done.status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(done.outcomes, SizeIs(1));
}

TEST(EngineJoinCall, WhoIsAMemberAlreadyHasLetUsIn) {
  Rig rig;
  rig.Know(3);
  ASSERT_TRUE(rig.Order(Join{{Rig::At(99), rig[2].address}, 30s}).ok());
  EXPECT_THAT(Codes(Done(rig)), ElementsAre(StatusCode::kDeadlineExceeded, StatusCode::kOk));
}

TEST(EngineJoinCall, WhoBecomesAMemberMeanwhileHasLetUsIn) {
  Rig rig;
  rig.Know(3);
  Peer& late = rig.NewPeer();
  const Instant from = rig.now.boot;
  ASSERT_TRUE(rig.Order(Join{{late.address}, 60s}).ok());
  FailUntil(rig, from + 10s);
  EXPECT_TRUE(Open(rig));
  rig.Gossip(rig[1], {Alive(late)});
  FailUntil(rig, from + 18s);
  EXPECT_TRUE(Done(rig).status.ok()) << "within a backoff, and not at the end";
}

// A seed is asked every 30 s where another member is there; for a call that is not often enough.
TEST(EngineJoinCall, RetriesQuicklyAlsoInsideAGroup) {
  Rig rig;
  rig.Know(3);
  ASSERT_TRUE(rig.Order(Join{{rig[1].address}}).ok());
  const Instant from = rig.now.boot;
  ASSERT_TRUE(rig.Order(Join{{Rig::At(99)}, 20s}).ok());
  EXPECT_GE(FailUntil(rig, from + 20s).size(), 5u);
  EXPECT_EQ(Done(rig).status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_LE(FailUntil(rig, from + 80s).size(), 4u);
}

TEST(EngineJoinCall, CallsDoNotDisturbEachOther) {
  Rig rig;
  rig.NewPeer();
  const Instant from = rig.now.boot;
  ASSERT_TRUE(rig.Order(Join{{rig[1].address}, 5s, 1}).ok());
  FailUntil(rig, from + 4s);
  ASSERT_TRUE(rig.Order(Join{{rig[1].address, Rig::At(9)}, 5s, 2}).ok());
  EXPECT_FALSE(rig.requests.empty()) << "a new call does not wait for what is left of an old one's backoff";
  FailUntil(rig, from + 6s);
  EXPECT_EQ(Done(rig).call, 1u);
  while (rig.requests.empty()) rig.Step();
  Accept(rig, rig.requests[0], rig[1]);
  const Event done = Done(rig);
  EXPECT_EQ(done.call, 2u);
  EXPECT_TRUE(done.status.ok()) << done.status;
}

TEST(EngineJoinCall, LeavingCancelsIt) {
  Rig rig;
  ASSERT_TRUE(rig.Order(Join{{Rig::At(1)}, 30s, 3}).ok());
  ASSERT_TRUE(rig.Order(Leave{}).ok());
  const Event done = Done(rig);
  EXPECT_EQ(done.call, 3u);
  EXPECT_EQ(done.status.code(), StatusCode::kCancelled);
}

TEST(EngineJoinCall, BeingDisplacedCancelsIt) {
  Rig rig;
  rig.Know(3);
  ASSERT_TRUE(rig.Order(Join{{Rig::At(99)}, 30s, 3}).ok());
  Peer thief = rig.self;
  thief.address = Rig::At(77);
  thief.key.generation += 9;
  rig.Gossip(rig[1], {Alive(thief)});
  EXPECT_EQ(Done(rig).status.code(), StatusCode::kCancelled);
  EXPECT_EQ(rig.engine->NextWake(), kNever);
}

TEST(EngineJoinCall, MistakesAndBoundsAreStatusesAndNothingIsTried) {
  Rig rig;
  EXPECT_THAT(std::string(rig.Order(Join{{Rig::At(1)}, -1s}).message()), HasSubstr("limit"));
  EXPECT_THAT(std::string(rig.Order(Join{{}, 1s}).message()), HasSubstr("addresses"));
  Join many{{}, 1s};
  for (std::uint32_t i = 1; i <= JoinAddresses::kMax + 1; ++i) many.addresses.push_back(Rig::At(i));
  EXPECT_EQ(rig.Order(many).code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(rig.requests, SizeIs(0));
  for (std::size_t i = 0; i < JoinCalls::kMax; ++i) ASSERT_TRUE(rig.Order(Join{{Rig::At(1)}, 1s, i}).ok());
  EXPECT_EQ(rig.Order(Join{{Rig::At(2)}, 1s}).code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(rig.requests, SizeIs(1));
  rig.Run(1s);
  EXPECT_THAT(rig.events, SizeIs(JoinCalls::kMax)) << "each has its end";
  EXPECT_TRUE(rig.Order(Join{{Rig::At(2)}, 1s}).ok());
}

// ---- How much there is at once. ----

TEST(EngineJoin, MoreAddressesThanTheBoundAreRefusedInWords) {
  Rig rig;
  Join join;
  for (std::uint32_t i = 1; i <= JoinAddresses::kMax + 3; ++i) join.addresses.push_back(Rig::At(i));
  const absl::Status status = rig.Order(join);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("256"));
  // 32 at once; each that ends lets another have its turn, and those first that have waited longest.
  ASSERT_THAT(rig.requests, SizeIs(32));
  for (std::size_t i = 32; i < JoinAddresses::kMax; ++i) {
    rig.SetTime(rig.now.boot + 5s / 32);
    Fail(rig, rig.requests[i - 32]);
    rig.Wake();
    ASSERT_THAT(rig.requests, SizeIs(i + 1));
    EXPECT_EQ(rig.requests.back().to, Rig::At(static_cast<std::uint32_t>(i + 1)));
  }
}

// A member that has as many answers under way as its transport takes says so, in a few bytes.
TEST(EngineServe, WhoIsBusyRefusesRowsAndAnswersPings) {
  Rig rig;
  rig.Know(40);
  const Peer& joiner = rig.NewPeer();
  Frame join = Rig::Of(FrameType::kSync);
  join.flags = kFlagJoin;
  join.sender = joiner.id();
  join.label = LabelTag(rig.config.label);
  join.terms = {};
  const std::vector<std::byte> request = Encode(join, {Alive(joiner)});
  const Said busy = rig.ServeBytes(joiner.address, request, /*busy=*/true);
  EXPECT_EQ(busy.frame.type, FrameType::kRefusal);
  EXPECT_EQ(busy.frame.refusal, Refusal::kBusy);
  EXPECT_LE(busy.bytes->size(), 200u);
  EXPECT_EQ(rig.Count(Counter::kSyncsDeclined), 1u);
  EXPECT_EQ(rig.StateOf(joiner), "") << "it is no member for that";
  Frame ping = Rig::Of(FrameType::kPing, 9);
  ping.sender = rig[1].id();
  ping.label = join.label;
  EXPECT_EQ(rig.ServeBytes(rig[1].address, Encode(ping, {}), /*busy=*/true).frame.type, FrameType::kAck);
  EXPECT_EQ(rig.ServeBytes(joiner.address, request).frame.type, FrameType::kSyncReply);
  EXPECT_EQ(rig.Count(Counter::kSyncsDeclined), 1u);
}

TEST(EngineJoin, WhoIsToldBusyComesAgainWithJitter) {
  std::vector<Duration> waits;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Rig rig(Rig::Lan(seed));
    rig.NewPeer();
    ASSERT_TRUE(rig.Order(Join{{rig[1].address}, 30s}).ok());
    Refuse(rig, rig.requests[0], rig[1], Refusal::kBusy, "come again");
    const Instant from = rig.now.boot;
    while (rig.requests.size() == 1) rig.Step();
    waits.push_back(rig.now.boot - from);
    Accept(rig, rig.requests[1], rig[1]);
    EXPECT_TRUE(Done(rig).status.ok());
  }
  const auto [least, most] = std::minmax_element(waits.begin(), waits.end());
  EXPECT_GE(*least, 125ms);
  EXPECT_LE(*most, 375ms);
  EXPECT_GE(*most - *least, 100ms) << "they do not come all at once again";
}

// What a newcomer asks a second time is worth a third try.
TEST(EngineJoin, AQuestionThatFindsItsContactBusyIsAskedAgain) {
  Rig rig;
  rig.NewPeer();
  ASSERT_TRUE(rig.Order(Join{{rig[1].address}}).ok());
  Accept(rig, rig.requests[0], rig[1]);
  for (std::size_t asked = 2; asked <= 4; ++asked) {
    const Instant from = rig.now.boot;
    while (rig.requests.size() < asked && rig.now.boot < from + 2s) rig.Step();
    ASSERT_THAT(rig.requests, SizeIs(asked));
    Refuse(rig, rig.requests.back(), rig[1], Refusal::kBusy, "come again");
  }
  rig.Run(60s);
  EXPECT_LE(rig.requests.size(), 4u + 2 * 10u) << "it is new for ten periods";
}

}  // namespace
}  // namespace nekton
