// Messages and requests in a simulated group: loss, deadlines, cancellation, overload, and lives that end.
#include <chrono>
#include <map>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "swim/message.h"
#include "tests/mail_group.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using absl::StatusCode;
using testing::AllOf;
using testing::AnyOf;
using testing::Ge;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;
using testing::SizeIs;

std::string Text(const absl::Status& status) { return std::string(status.message()); }

TEST(MailScenario, AMessageARequestAndAReliableMessageArrive) {
  MailGroup g;
  g.AnswerAfter(0s);
  ASSERT_TRUE(g.c.sim().Order(0, Send{.member = "n1", .body = ToBytes("hello")}).ok());
  const std::uint64_t asked = g.Ask(0, 2, "what?", 1s);
  ASSERT_TRUE(g.c.sim().Order(2, SendReliable{.id = 99, .member = "n0", .body = ToBytes("sure"), .budget = 1s}).ok());
  const std::uint64_t probes = g.c.member(0).counters()[Counter::kRounds];
  g.c.RunFor(100ms);
  ASSERT_THAT(g.All(MailKind::kMessage, 1), SizeIs(1));
  EXPECT_EQ(ToText(g.All(MailKind::kMessage, 1)[0].mail.body), "hello");
  EXPECT_EQ(g.All(MailKind::kMessage, 1)[0].mail.member, "n0");
  ASSERT_NE(g.Done(asked), nullptr);
  EXPECT_TRUE(g.Done(asked)->mail.status.ok());
  EXPECT_EQ(ToText(g.Done(asked)->mail.body), "re: what?");
  EXPECT_EQ(g.Done(asked)->mail.member, "n2");
  ASSERT_THAT(g.All(MailKind::kMessage, 0), SizeIs(1));
  EXPECT_EQ(ToText(g.All(MailKind::kMessage, 0)[0].mail.body), "sure");
  ASSERT_NE(g.Done(99), nullptr);
  EXPECT_TRUE(g.Done(99)->mail.status.ok());
  // One datagram each for message, request and answer; the reliable one went over a stream.
  EXPECT_EQ(g.c.Sum(Counter::kMailDatagramsSent), 3u);
  EXPECT_EQ(g.c.Sum(Counter::kMailStreamsSent), 1u);
  EXPECT_EQ(g.c.Sum(Counter::kRequestsRetried), 0u);
  EXPECT_LE(g.c.member(0).counters()[Counter::kRounds], probes + 1);
}

TEST(MailScenario, WithoutAHandlerTheAnswerSaysSo) {
  MailGroup g;
  g.c.sim().SetMailHandler(nullptr);
  ASSERT_TRUE(g.c.sim().Order(0, g.For(1, "x", 1s)).ok());
  bool ended = false;
  g.c.RunFor(10ms);
  g.c.sim().SetMailHandler([&](SimId, const Mail&) { ended = true; });
  g.c.RunFor(2s);
  EXPECT_FALSE(ended);  // it had ended before
  EXPECT_EQ(g.c.member(1).counters()[Counter::kRequestsServed], 1u);
}

// The chance that all tries of a second are lost is about 0.51^5 = 3.4 %.
TEST(MailScenario, AtThirtyPercentLossEachIsDoneOnceOrFailsAtItsDeadline) {
  ClusterOptions options{.nodes = 5, .seed = 11};
  MailGroup g(options);
  LinkLaw law;
  law.loss.rate = 0.3;
  law.duplicate = 0.1;
  law.reorder = 0.1;
  law.reorder_delay = 80ms;
  g.c.network().SetLaw(law);
  std::map<std::string, int> runs;
  g.serve = [&](SimId who, const Mail& mail) {
    ++runs[ToText(mail.body)];
    const auto answer = [&g, who, id = mail.id, body = ToText(mail.body)] { g.Respond(who, id, body).IgnoreError(); };
    g.c.sim().At(g.c.now() + runs.size() % 3 * 40ms, answer);
  };
  std::map<std::uint64_t, Duration> begun;
  for (int i = 0; i < 300; ++i) {
    const std::uint64_t id = g.Ask(0, 1 + static_cast<SimId>(i) % 4, "request " + std::to_string(i), 1s);
    begun[id] = g.c.now();
    g.c.RunFor(20ms);
  }
  g.c.RunFor(10s);
  int done = 0;
  for (const auto& [id, at] : begun) {
    const MailGroup::Seen* end = g.Done(id);
    ASSERT_NE(end, nullptr);
    if (end->mail.status.ok()) {
      ++done;
      EXPECT_EQ(runs[ToText(end->mail.body)], 1);
    } else {
      EXPECT_EQ(end->mail.status.code(), StatusCode::kDeadlineExceeded);
      EXPECT_EQ(end->at, at + 1s) << "not at its deadline";
    }
  }
  EXPECT_GE(done, 270);
  for (const auto& [body, count] : runs) EXPECT_EQ(count, 1) << body << " was done twice";
  EXPECT_GT(g.c.Sum(Counter::kRequestsRetried), 100u);
  EXPECT_GT(g.c.Sum(Counter::kRequestsRepeated), 50u);
}

TEST(MailScenario, TheSameSeedGivesTheSameRun) {
  const auto run = [](std::uint64_t seed) {
    MailGroup g({.nodes = 3, .seed = seed});
    g.AnswerAfter(10ms);
    g.c.Lose(0.3);
    for (int i = 0; i < 20; ++i) {
      g.Ask(0, 1, "x", 500ms);
      g.Ask(1, 2, std::string(5000, 'y'), 500ms);
      g.c.RunFor(30ms);
    }
    g.c.RunFor(5s);
    return g.c.sim().Fingerprint();
  };
  EXPECT_EQ(run(7), run(7));
  EXPECT_NE(run(7), run(8));
}

TEST(MailScenario, WhenTheAnswerIsLostTheFirstOneIsGivenAgain) {
  MailGroup g;
  int answers = 0;
  // The first three frames that n1 sends to n0 about it are lost.
  g.c.sim().SetFilter([&](const SimDatagram& d) {
    const bool mail = (std::to_integer<unsigned>(d.bytes[0]) & 0xf) == static_cast<unsigned>(FrameType::kMail);
    return !(mail && d.from == 1 && d.to == 0 && ++answers <= 3);
  });
  int runs = 0;
  g.serve = [&](SimId who, const Mail& mail) {
    EXPECT_TRUE(g.Respond(who, mail.id, "answer " + std::to_string(++runs)).ok());
    EXPECT_EQ(g.Respond(who, mail.id, "second thoughts").code(), StatusCode::kFailedPrecondition);
  };
  const std::uint64_t id = g.Ask(0, 1, "x", 2s);
  g.c.RunFor(3s);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(answers, 4);
  EXPECT_EQ(ToText(g.Done(id)->mail.body), "answer 1");
}

// What a handler needs longer for than the caller waits between its tries is done once, and not asked about for ever.
TEST(MailScenario, RepetitionsAreAbsorbedWhileTheHandlerWorks) {
  MailGroup g;
  g.AnswerAfter(8s);
  const std::uint64_t id = g.Ask(0, 1, std::string(1000, 'x'), 10s);
  g.c.RunFor(7s);
  const std::uint64_t repeated = g.c.member(1).counters()[Counter::kRequestsRepeated];
  EXPECT_THAT(repeated, AllOf(Ge(5u), Le(12u)));
  // All but the first two copies are short questions.
  EXPECT_LT(g.c.member(0).counters()[Counter::kMailBytesSent], 2 * 1041u + 11 * 37u);
  g.c.RunFor(2s);
  EXPECT_TRUE(g.Done(id)->mail.status.ok());
  EXPECT_THAT(g.All(MailKind::kRequest), SizeIs(1));
}

// A has spent 80 of its 100 ms when B is asked: B has 20.
TEST(MailScenario, TheSecondHopHasWhatTheFirstHasLeft) {
  MailGroup g;
  std::uint64_t nested = 0;
  g.serve = [&](SimId who, const Mail& mail) {
    if (who == 2) return;  // works without end
    g.c.sim().At(g.c.now() + 80ms, [&g, &nested, id = mail.id] {
      nekton::Request request = g.For(2, "second hop", 100ms);
      request.on_behalf_of = id;
      nested = g.Ask(1, request);
    });
  };
  const Duration begun = g.c.now();
  const std::uint64_t first = g.Ask(0, 1, "first hop", 100ms);
  g.c.RunFor(500ms);
  ASSERT_THAT(g.All(MailKind::kRequest, 1), SizeIs(1));
  ASSERT_THAT(g.All(MailKind::kRequest, 2), SizeIs(1));
  const Mail hop1 = g.All(MailKind::kRequest, 1)[0].mail;
  const Mail hop2 = g.All(MailKind::kRequest, 2)[0].mail;
  EXPECT_EQ(hop1.deadline - hop1.at, 100ms);
  EXPECT_EQ(hop2.deadline - hop2.at, 20ms);
  // Each ends at its own deadline, and the handlers hear of it.
  EXPECT_EQ(g.Done(first)->at, begun + 100ms);
  EXPECT_EQ(g.CodeOf(first), StatusCode::kDeadlineExceeded);
  // By its own clock, or because n0 says that its time is over: both come at about the same time.
  EXPECT_THAT(g.CodeOf(nested), AnyOf(StatusCode::kDeadlineExceeded, StatusCode::kCancelled));
  EXPECT_LE(g.Done(nested)->at, begun + 101ms);  // 100 ms after the arrival at n1
  ASSERT_THAT(g.All(MailKind::kCancelled, 1), SizeIs(1));
  ASSERT_THAT(g.All(MailKind::kCancelled, 2), SizeIs(1));
  EXPECT_LE(g.All(MailKind::kCancelled, 2)[0].at, begun + 102ms);
  EXPECT_THAT(Text(g.c.sim().Order(1,
                                   [&] {
                                     nekton::Request late = g.For(2, "too late", 100ms);
                                     late.on_behalf_of = hop1.id;
                                     return late;
                                   }())),
              HasSubstr("on_behalf_of"));
}

TEST(MailScenario, NoClockReadingGoesOverTheWire) {
  MailGroup g;
  g.c.sim().StepWall(0, 24h);
  g.c.sim().StepWall(1, -24h);
  g.AnswerAfter(10ms);
  const std::uint64_t id = g.Ask(0, 1, "x", 100ms);
  g.c.RunFor(200ms);
  const Mail mail = g.All(MailKind::kRequest, 1).at(0).mail;
  EXPECT_EQ(mail.deadline - mail.at, 100ms);
  EXPECT_TRUE(g.Done(id)->mail.status.ok());
}

TEST(MailScenario, AHandlerPastItsDeadlineDoesNotAnswer) {
  MailGroup g;
  absl::Status late;
  g.serve = [&](SimId who, const Mail& mail) {
    g.c.sim().At(g.c.now() + 150ms, [&g, &late, who, id = mail.id] { late = g.Respond(who, id, "late"); });
  };
  g.Ask(0, 1, "x", 100ms);
  g.c.RunFor(140ms);
  const auto cancelled = g.All(MailKind::kCancelled, 1);
  ASSERT_THAT(cancelled, SizeIs(1));
  EXPECT_EQ(cancelled[0].mail.id, g.All(MailKind::kRequest, 1).at(0).mail.id);
  const std::uint64_t sent = g.c.member(1).counters()[Counter::kMailDatagramsSent];
  g.c.RunFor(1s);
  EXPECT_THAT(late.code(), AnyOf(StatusCode::kDeadlineExceeded, StatusCode::kCancelled));
  EXPECT_EQ(g.c.member(1).counters()[Counter::kMailDatagramsSent], sent);
}

class CancelScenario : public testing::TestWithParam<std::uint64_t> {};

// Through two hops, at 30 % loss.
TEST_P(CancelScenario, ACancellationReachesTheHandlerAndWhatItAskedFor) {
  MailGroup g({.nodes = 3, .seed = GetParam()});
  g.serve = [&](SimId who, const Mail& mail) {
    if (who != 1) return;
    nekton::Request request = g.For(2, "for n0", 60s);
    request.on_behalf_of = mail.id;
    g.Ask(1, request);
  };
  const std::uint64_t id = g.Ask(0, 1, "x", 60s);
  g.c.RunFor(1s);
  ASSERT_THAT(g.All(MailKind::kRequest, 2), SizeIs(1));
  g.c.Lose(0.3);
  ASSERT_TRUE(g.c.sim().Order(0, CancelRequest{id}).ok());
  EXPECT_EQ(g.CodeOf(id), StatusCode::kCancelled);  // at once
  EXPECT_EQ(g.c.sim().Order(0, CancelRequest{id}).code(), StatusCode::kNotFound);
  g.c.RunFor(20s);
  for (const SimId who : {1u, 2u}) {
    const auto cancelled = g.All(MailKind::kCancelled, who);
    ASSERT_THAT(cancelled, SizeIs(1)) << who;
    EXPECT_EQ(cancelled[0].mail.status.code(), StatusCode::kCancelled);
    EXPECT_EQ(g.Respond(who, cancelled[0].mail.id, "late").code(), StatusCode::kCancelled);
  }
  EXPECT_EQ(g.c.member(1).counters()[Counter::kRequestsCancelled], 1u);
  // Nobody goes on about it.
  const std::uint64_t sent = g.c.Sum(Counter::kMailDatagramsSent);
  g.c.RunFor(20s);
  EXPECT_EQ(g.c.Sum(Counter::kMailDatagramsSent), sent);
}
INSTANTIATE_TEST_SUITE_P(Seeds, CancelScenario, testing::Range<std::uint64_t>(1, 9));

TEST(MailScenario, AnOverloadedMemberSaysSoAndIsNotAskedAgain) {
  ClusterOptions options{.nodes = 3, .seed = 1};
  options.config.mail.served_per_member = 2;
  options.config.mail.open_per_member = 3;
  MailGroup g(options);
  const std::uint64_t first = g.Ask(0, 1, "a", 5s);
  g.c.RunFor(10ms);
  g.Ask(0, 1, "b", 5s);
  g.c.RunFor(10ms);
  const std::uint64_t sent = g.c.member(0).counters()[Counter::kMailDatagramsSent];
  const std::uint64_t third = g.Ask(0, 1, "c", 5s);
  EXPECT_THAT(Text(g.c.sim().Order(0, g.For(1, "d", 5s))), HasSubstr("MailLimits::open_per_member"));
  g.c.RunFor(10ms);
  ASSERT_NE(g.Done(third), nullptr);
  EXPECT_EQ(g.CodeOf(third), StatusCode::kResourceExhausted);
  EXPECT_THAT(Text(g.Done(third)->mail.status), HasSubstr("MailLimits::served_per_member"));
  EXPECT_EQ(g.c.member(0).counters()[Counter::kMailDatagramsSent], sent + 1);
  EXPECT_EQ(g.c.member(1).counters()[Counter::kRequestsRefused], 1u);
  // Others are served, and so is n0 when it has room again.
  g.Ask(2, 1, "e", 5s);
  g.c.RunFor(10ms);
  EXPECT_THAT(g.All(MailKind::kRequest, 1), SizeIs(3));
  EXPECT_TRUE(g.Respond(1, g.All(MailKind::kRequest, 1)[0].mail.id, "done").ok());
  g.c.RunFor(100ms);
  EXPECT_EQ(g.CodeOf(first), StatusCode::kOk);
  const std::uint64_t fifth = g.Ask(0, 1, "f", 5s);
  g.c.RunFor(10ms);
  EXPECT_THAT(g.All(MailKind::kRequest, 1), SizeIs(4));
  EXPECT_EQ(g.Done(fifth), nullptr);
}

// A thousand requests to a member that stands still: their repetitions are bounded together.
TEST(MailScenario, RepetitionsOfAllRequestsAreBoundedTogether) {
  ClusterOptions options{.nodes = 3, .seed = 1};
  options.config.mail.open_per_member = 1000;
  options.config.mail.retries_per_second = 20;
  MailGroup g(options);
  g.c.Pause(1, {.keep_input = false});
  for (int i = 0; i < 1000; ++i) g.Ask(0, 1, "x", 1s);
  g.c.RunFor(2s);
  EXPECT_THAT(g.c.member(0).counters()[Counter::kRequestsRetried], AllOf(Ge(20u), Le(41u)));
  EXPECT_GT(g.c.member(0).counters()[Counter::kRetriesHeld], 1000u);
  EXPECT_THAT(g.All(MailKind::kDone, 0), SizeIs(1000));
}

TEST(MailScenario, SizesAreBoundedAndTheLimitIsNamed) {
  MailGroup g;
  g.AnswerAfter(0s);
  const std::size_t most = Config::Lan().datagram_max - kMailHeadMax;
  EXPECT_TRUE(g.c.sim().Order(0, Send{.member = "n1", .body = std::vector<std::byte>(most)}).ok());
  const absl::Status over = g.c.sim().Order(0, Send{.member = "n1", .body = std::vector<std::byte>(most + 1)});
  EXPECT_EQ(over.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Text(over), HasSubstr("at most 1359"));
  const std::uint64_t large = g.Ask(0, 1, std::string(kMailBytesMax - 4, 'x'), 10s);
  const absl::Status larger = g.c.sim().Order(0, g.For(1, std::string(kMailBytesMax + 1, 'x'), 10s));
  EXPECT_EQ(larger.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Text(larger), HasSubstr("at most 1048576"));
  for (const Duration budget : {Duration(0), Duration(-1s), Duration(1ms - 1ns), Duration(1h + 1ns)}) {
    EXPECT_THAT(Text(g.c.sim().Order(0, g.For(1, "x", budget))), HasSubstr("budget"));
  }
  g.c.RunFor(1s);
  EXPECT_EQ(g.All(MailKind::kMessage, 1).at(0).mail.body.size(), most);
  // The request went over a stream, and its answer, which is as large, over another.
  EXPECT_EQ(g.CodeOf(large), StatusCode::kOk);
  EXPECT_EQ(g.Done(large)->mail.body.size(), kMailBytesMax);
  EXPECT_EQ(g.c.Sum(Counter::kMailStreamsSent), 2u);
  EXPECT_THAT(g.All(MailKind::kRequest, 1), SizeIs(1));
}

TEST(MailScenario, AnAnswerThatIsTooLargeMayBeGivenAgain) {
  MailGroup g;
  g.serve = [&](SimId who, const Mail& mail) {
    const absl::Status over = g.Respond(who, mail.id, std::string(kMailBytesMax + 1, 'x'));
    EXPECT_EQ(over.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(Text(over), HasSubstr("at most 1048576"));
    EXPECT_TRUE(g.Respond(who, mail.id, "short").ok());
  };
  const std::uint64_t id = g.Ask(0, 1, "x", 1s);
  g.c.RunFor(1s);
  EXPECT_EQ(ToText(g.Done(id)->mail.body), "short");
}

TEST(MailScenario, LargeOnesGetThroughLossyStreamsOnce) {
  ClusterOptions options{.nodes = 3, .seed = 5};
  options.sim.lossy_streams = true;
  MailGroup g(options);
  g.AnswerAfter(100ms);
  g.c.Lose(0.1);
  std::set<std::uint64_t> ids;
  for (int i = 0; i < 20; ++i) {
    ids.insert(g.Ask(0, 1, std::string(100'000, 'x') + std::to_string(i), 60s));
    const std::uint64_t id = ++g.last_id;
    ASSERT_TRUE(g.c.sim().Order(0, SendReliable{id, "n2", ToBytes(std::to_string(i)), 60s}).ok());
    ids.insert(id);
  }
  g.c.RunFor(70s);
  for (const std::uint64_t id : ids) EXPECT_EQ(g.CodeOf(id), StatusCode::kOk);
  EXPECT_EQ(g.All(MailKind::kRequest, 1).size(), 20u);
  EXPECT_EQ(g.All(MailKind::kMessage, 2).size(), 20u);
  EXPECT_THAT(g.All(MailKind::kCancelled), IsEmpty());
}

TEST(MailScenario, AddresseesThatCannotBeReachedAreTypedErrors) {
  MailGroup g({.nodes = 4, .seed = 1});
  g.c.Leave(2);
  g.c.Crash(3);
  g.c.RunFor(40s);
  const auto order = [&](const std::string& member) {
    return g.c.sim().Order(0, Send{.member = member, .body = {}}).code();
  };
  EXPECT_EQ(order("n1"), StatusCode::kOk);
  EXPECT_EQ(order("nobody"), StatusCode::kNotFound);
  EXPECT_EQ(order("n2"), StatusCode::kNotFound);
  EXPECT_EQ(order("n3"), StatusCode::kUnavailable);
  EXPECT_EQ(order("n0"), StatusCode::kInvalidArgument);
  nekton::Request request = g.For(3, "x", 1s);
  EXPECT_EQ(g.c.sim().Order(0, request).code(), StatusCode::kUnavailable);
  request.member = "nobody";
  EXPECT_EQ(g.c.sim().Order(0, request).code(), StatusCode::kNotFound);
  request = g.For(1, "x", 1s);
  request.on_behalf_of = 12345;
  EXPECT_EQ(g.c.sim().Order(0, request).code(), StatusCode::kNotFound);
}

TEST(MailScenario, ARequestEndsWhenItsMemberIsFoundDead) {
  MailGroup g;
  const std::uint64_t id = g.Ask(0, 1, "x", 10min);
  nekton::Request twice = g.For(1, "y", 10min);
  twice.idempotent = true;
  g.Ask(0, twice);
  g.c.RunFor(1s);
  g.c.Crash(1);
  ASSERT_TRUE(g.c.RunUntil([&] { return g.Done(id) != nullptr; }, 60s));
  EXPECT_EQ(g.CodeOf(id), StatusCode::kUnavailable);
  EXPECT_THAT(Text(g.Done(id)->mail.status), HasSubstr("may have been done or not"));
  EXPECT_EQ(g.c.Sees(0, 1), MemberStatus::kInactive);
  EXPECT_EQ(g.c.First({.kind = EventKind::kFailed, .observer = 0, .subject = 1}), g.Done(id)->at);
  // One that may be done twice waits for the member's next life.
  EXPECT_EQ(g.Done(twice.id), nullptr);
  g.AnswerAfter(0s);
  g.c.Restart(1);
  g.c.RunFor(30s);
  EXPECT_EQ(g.CodeOf(twice.id), StatusCode::kOk);
  EXPECT_THAT(g.All(MailKind::kRequest, 1), SizeIs(3));
}

TEST(MailScenario, ARestartMidwayIsReportedUnlessItMayBeDoneTwice) {
  MailGroup g;
  const std::uint64_t once = g.Ask(0, 1, "once", 60s);
  nekton::Request twice = g.For(1, "twice", 60s);
  twice.idempotent = true;
  g.Ask(0, twice);
  g.c.RunFor(1s);
  ASSERT_THAT(g.All(MailKind::kRequest, 1), SizeIs(2));
  g.seen.clear();
  g.c.Crash(1, Port::kRefuses);
  g.c.Restart(1);
  g.AnswerAfter(0s);
  g.c.RunFor(10s);
  EXPECT_EQ(g.CodeOf(once), StatusCode::kUnavailable);
  EXPECT_THAT(Text(g.Done(once)->mail.status), HasSubstr("another life"));
  EXPECT_EQ(g.CodeOf(twice.id), StatusCode::kOk);
  const auto served = g.All(MailKind::kRequest, 1);
  ASSERT_THAT(served, SizeIs(1));
  EXPECT_EQ(ToText(served[0].mail.body), "twice");
}

TEST(MailScenario, WhoLeavesEndsItsRequestsAndSaysSo) {
  MailGroup g;
  const std::uint64_t ours = g.Ask(0, 1, "x", 60s);
  g.Ask(1, 0, "y", 60s);
  g.c.RunFor(10ms);
  g.c.Leave(0);
  EXPECT_EQ(g.c.sim().Order(0, Send{.member = "n1", .body = {}}).code(), StatusCode::kFailedPrecondition);
  g.c.RunFor(5s);
  EXPECT_EQ(g.CodeOf(ours), StatusCode::kCancelled);
  ASSERT_THAT(g.All(MailKind::kCancelled, 0), SizeIs(1));
  EXPECT_EQ(g.CodeOf(2), StatusCode::kUnavailable);  // of n1, to whom n0 has left
}

// The failure detector's business goes on as if there were no mail, and it finds a member that only answers mail.
TEST(MailScenario, MailProvesNothing) {
  MailGroup g({.nodes = 5, .seed = 3});
  g.AnswerAfter(0s);
  g.c.sim().SetFilter([](const SimDatagram& d) {
    const bool mail = (std::to_integer<unsigned>(d.bytes[0]) & 0xf) == static_cast<unsigned>(FrameType::kMail);
    return mail || (d.from != 1 && d.to != 1);
  });
  g.c.network().CutOut(1, Traffic::kStreams);
  g.c.network().CutIn(1, Traffic::kStreams);
  int answered = 0;
  for (int i = 0; i < 100 && g.c.Sees(0, 1) != MemberStatus::kInactive; ++i) {
    const std::uint64_t id = g.Ask(0, 1, "are you there?", 300ms);
    g.c.RunFor(500ms);
    const MailGroup::Seen* end = g.Done(id);
    answered += end != nullptr && end->mail.status.ok() ? 1 : 0;
  }
  EXPECT_EQ(g.c.Sees(0, 1), MemberStatus::kInactive);
  EXPECT_GT(answered, 5);
}

// Nothing is remembered beyond a deadline, and the network holds copies back for longer than any budget. Who asks waits for
// it, or is told; nothing is done twice.
TEST(MailScenario, CopiesThatAreHeldBackForLongerThanAnythingIsRememberedAreNotDone) {
  Config config = Config::Lan();
  config.mail.keep = 0s;
  MailGroup g({.nodes = 3, .seed = 4, .config = config});
  LinkLaw law;
  law.loss.rate = 0.2;
  law.duplicate = 0.5;
  law.reorder = 0.3;
  law.reorder_delay = 3s;
  for (const auto& [from, to] : {std::pair<SimId, SimId>{0, 1}, {1, 0}}) g.c.network().SetLink(from, to, law);
  std::map<std::string, int> runs;
  g.serve = [&](SimId who, const Mail& mail) {
    ++runs[ToText(mail.body)];
    g.Respond(who, mail.id, "yes").IgnoreError();
  };
  std::vector<std::uint64_t> ids;
  std::vector<std::uint64_t> patient;
  for (int i = 0; i < 400; ++i) {
    ids.push_back(g.Ask(0, 1, "request " + std::to_string(i), 300ms));
    if (i % 10 == 0) patient.push_back(g.Ask(0, 1, "patient " + std::to_string(i), 30s));
    g.c.RunFor(37ms);
  }
  g.c.RunFor(60s);
  for (const auto& [body, count] : runs) EXPECT_EQ(count, 1) << body << " was done so often";
  for (const std::uint64_t id : ids) ASSERT_NE(g.Done(id), nullptr);
  for (const std::uint64_t id : patient) EXPECT_EQ(g.CodeOf(id), StatusCode::kOk);
  EXPECT_GT(g.c.Sum(Counter::kRequestsLate), 50u) << "it is what this is about";
}

}  // namespace
}  // namespace nekton
