// Messages and requests, frame by frame: what the engine says to what it hears.
#include <array>
#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "swim/bytes.h"
#include "tests/engine_rig.h"
#include "tests/mail_group.h"
#include "tests/wire_samples.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using absl::StatusCode;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class EngineMailTest : public testing::Test {
 protected:
  EngineMailTest() { rig.Know(3); }

  // A frame of a peer to us.
  Frame Letter(nekton::Letter letter, std::uint32_t number, std::string_view body = "", Duration budget = 1s) {
    Frame frame = Rig::Of(FrameType::kMail, number);
    frame.target = rig.self.id();
    frame.letter = letter;
    frame.body = std::as_bytes(std::span(body));
    frame.budget = budget;
    return frame;
  }
  Frame AnswerTo(const Said& request, std::uint8_t code, std::string_view body) {
    Frame frame = Letter(nekton::Letter::kAnswer, request.frame.sequence, body);
    frame.code = code;
    return frame;
  }
  nekton::Request Asking(std::string_view body, Duration budget = 1s) {
    return {.id = 5, .member = "m1", .body = ToBytes(body), .budget = budget};
  }
  // The mail since the last call that is of one kind.
  std::vector<Mail> Got(MailKind kind) {
    std::vector<Mail> found;
    for (const Mail& mail : rig.mail) {
      if (mail.kind == kind) found.push_back(mail);
    }
    return found;
  }
  std::vector<Said> SentMail(nekton::Letter letter) {
    std::vector<Said> found = rig.Sent(FrameType::kMail);
    std::erase_if(found, [&](const Said& said) { return said.frame.letter != letter; });
    return found;
  }

  Rig rig;
};

TEST_F(EngineMailTest, ARequestCarriesWhatIsLeftOfItsBudget) {
  ASSERT_TRUE(rig.Order(Asking("x", 999'999us)).ok());
  ASSERT_THAT(SentMail(Letter::kRequest), SizeIs(1));
  EXPECT_EQ(SentMail(Letter::kRequest)[0].frame.budget, 999ms);  // rounded down
  EXPECT_EQ(SentMail(Letter::kRequest)[0].frame.target, rig[1].id());
  const Instant begun = rig.now.boot;
  rig.Run(300ms);
  const std::vector<Said> sent = SentMail(Letter::kRequest);
  ASSERT_THAT(sent, SizeIs(testing::Ge(2u)));
  for (const Said& said : sent) {
    EXPECT_EQ(said.frame.sequence, sent[0].frame.sequence);
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(begun + 999'999us - said.at);
    EXPECT_EQ(said.frame.budget, left);
  }
}

TEST_F(EngineMailTest, ARequestThatWasReceivedIsAskedAboutAndNotSentAgain) {
  ASSERT_TRUE(rig.Order(Asking(std::string(1000, 'x'), 10s)).ok());
  const std::uint32_t number = SentMail(Letter::kRequest).at(0).frame.sequence;
  rig.Receive(rig[1], Letter(Letter::kReceipt, number));
  rig.Clear();
  rig.Run(5s);
  EXPECT_THAT(SentMail(Letter::kRequest), IsEmpty());
  ASSERT_THAT(SentMail(Letter::kRepeat), SizeIs(testing::Ge(3u)));
  EXPECT_EQ(SentMail(Letter::kRepeat)[0].bytes->size(), 37u);
}

TEST_F(EngineMailTest, OnlyTheOneThatWasAskedAnswers) {
  ASSERT_TRUE(rig.Order(Asking("x")).ok());
  const Said request = SentMail(Letter::kRequest).at(0);
  rig.Receive(rig[2], AnswerTo(request, 0, "from another"));
  Frame other = AnswerTo(request, 0, "of another request");
  ++other.sequence;
  rig.Receive(rig[1], other);
  Frame for_another_life = AnswerTo(request, 0, "for another life of ours");
  ++for_another_life.target;
  rig.Receive(rig[1], for_another_life);
  rig.Receive(rig[2], AnswerTo(request, kCodeOtherLife, ""));  // not from m1's address
  EXPECT_THAT(rig.mail, IsEmpty());
  EXPECT_EQ(rig.Count(Counter::kMailStray), 4u);
  rig.Receive(rig[1], AnswerTo(request, 0, "yes"));
  rig.Receive(rig[1], AnswerTo(request, 0, "yes again"));
  ASSERT_THAT(rig.mail, SizeIs(1));
  EXPECT_EQ(rig.mail[0].id, 5u);
  EXPECT_EQ(ToText(rig.mail[0].body), "yes");
  EXPECT_EQ(rig.Count(Counter::kMailStray), 5u);
}

// The other's deadline may be later than ours, by what the way there took.
TEST_F(EngineMailTest, AtTheDeadlineTheOtherIsToldOnce) {
  ASSERT_TRUE(rig.Order(Asking("x")).ok());
  const Instant begun = rig.now.boot;
  rig.Run(5s);
  const std::vector<Said> cancels = SentMail(Letter::kCancel);
  ASSERT_THAT(cancels, SizeIs(1));
  EXPECT_EQ(cancels[0].at, begun + 1s);
  EXPECT_EQ(cancels[0].frame.sequence, SentMail(Letter::kRequest).at(0).frame.sequence);
  EXPECT_EQ(Got(MailKind::kDone).at(0).at, begun + 1s);
}

// We slept, and input is handled before timers.
TEST_F(EngineMailTest, AnAnswerThatIsHeardTooLateIsNone) {
  ASSERT_TRUE(rig.Order(Asking("x", 100ms)).ok());
  rig.Pass(100ms);
  rig.Receive(rig[1], AnswerTo(SentMail(Letter::kRequest).at(0), 0, "yes"));
  rig.Wake();
  ASSERT_THAT(rig.mail, SizeIs(1));
  EXPECT_EQ(rig.mail[0].status.code(), StatusCode::kDeadlineExceeded);
}

TEST_F(EngineMailTest, StatusesComeThroughWithTheirTexts) {
  ASSERT_TRUE(rig.Order(Asking("x")).ok());
  rig.Receive(rig[1], AnswerTo(SentMail(Letter::kRequest).at(0), 9, "not in this state"));
  ASSERT_THAT(rig.mail, SizeIs(1));
  EXPECT_EQ(rig.mail[0].status, absl::FailedPreconditionError("not in this state"));
  EXPECT_THAT(rig.mail[0].body, IsEmpty());
}

TEST_F(EngineMailTest, WhoIsAStrangerThereGoesOnAsking) {
  ASSERT_TRUE(rig.Order(Asking("x")).ok());
  rig.Receive(rig[1], AnswerTo(SentMail(Letter::kRequest).at(0), kCodeStranger, ""));
  EXPECT_THAT(rig.mail, IsEmpty());
  rig.Run(200ms);
  EXPECT_THAT(SentMail(Letter::kRequest), SizeIs(testing::Ge(2u)));
}

TEST_F(EngineMailTest, StrangersAndOtherLivesAreToldSoAndNotServed) {
  Peer& stranger = rig.NewPeer();
  rig.Receive(stranger, Letter(Letter::kRequest, 7, "x"));
  rig.Receive(stranger, Letter(Letter::kMessage, 0, "x"));
  Frame for_another = Letter(Letter::kRequest, 8, "x");
  ++for_another.target;
  rig.Receive(rig[1], for_another);
  EXPECT_THAT(rig.mail, IsEmpty());
  ASSERT_THAT(SentMail(Letter::kAnswer), SizeIs(2));
  EXPECT_EQ(SentMail(Letter::kAnswer)[0].frame.code, kCodeStranger);
  EXPECT_EQ(SentMail(Letter::kAnswer)[0].to, stranger.address);
  EXPECT_EQ(SentMail(Letter::kAnswer)[1].frame.code, kCodeOtherLife);
  EXPECT_EQ(rig.Count(Counter::kMailStray), 3u);
}

TEST_F(EngineMailTest, AnswersGoToWhereTheMemberIsAndNotToWhereTheFrameSaysItCameFrom) {
  const Address elsewhere = Rig::At(99);
  Frame frame = Letter(Letter::kRequest, 7, "x");
  frame.label = LabelTag(rig.config.label);
  frame.sender = rig[1].id();
  rig.ReceiveBytes(elsewhere, Encode(frame));
  ASSERT_THAT(Got(MailKind::kRequest), SizeIs(1));
  ASSERT_TRUE(rig.Order(Respond{.id = rig.mail[0].id, .status = {}, .body = ToBytes("y")}).ok());
  rig.ReceiveBytes(elsewhere, Encode(frame));
  ASSERT_THAT(SentMail(Letter::kAnswer), SizeIs(2));
  for (const Said& said : SentMail(Letter::kAnswer)) EXPECT_EQ(said.to, rig[1].address);
}

TEST_F(EngineMailTest, ACancellationThatOvertakesItsRequestIsRemembered) {
  rig.Receive(rig[1], Letter(Letter::kCancel, 7));
  ASSERT_THAT(SentMail(Letter::kReceipt), SizeIs(1));
  EXPECT_EQ(SentMail(Letter::kReceipt)[0].frame.code, 1);
  rig.Receive(rig[1], Letter(Letter::kRequest, 7, "x"));
  EXPECT_THAT(rig.mail, IsEmpty());
  rig.Receive(rig[1], Letter(Letter::kRequest, 8, "y"));
  EXPECT_THAT(Got(MailKind::kRequest), SizeIs(1));
}

TEST_F(EngineMailTest, ARequestWithoutTimeIsNotServed) {
  rig.Receive(rig[1], Letter(Letter::kRequest, 7, "x", 0ms));
  EXPECT_THAT(rig.mail, IsEmpty());
  EXPECT_THAT(rig.Sent(FrameType::kMail), IsEmpty());
  EXPECT_EQ(rig.Count(Counter::kRequestsExpired), 1u);
}

TEST_F(EngineMailTest, ARepetitionAfterTheDeadlineIsNeitherDoneNorAnswered) {
  rig.Receive(rig[1], Letter(Letter::kRequest, 7, "x", 100ms));
  ASSERT_TRUE(rig.Order(Respond{.id = rig.mail.at(0).id, .status = {}, .body = {}}).ok());
  rig.Run(100ms);
  rig.Clear();
  rig.Receive(rig[1], Letter(Letter::kRequest, 7, "x", 100ms));
  rig.Run(4s);
  rig.Receive(rig[1], Letter(Letter::kRequest, 7, "x", 100ms));
  EXPECT_THAT(rig.mail, IsEmpty());
  EXPECT_THAT(rig.Sent(FrameType::kMail), IsEmpty());
  // Then it has been forgotten; a copy that was held back for as long as that, or longer, is told that it is too late.
  for (const Duration later : {Duration(1s), Duration(24h)}) {
    rig.Pass(later);
    rig.Wake();
    rig.Clear();
    rig.Receive(rig[1], Letter(Letter::kRequest, 7, "x", 100ms));
    EXPECT_THAT(rig.mail, IsEmpty());
    ASSERT_THAT(SentMail(Letter::kAnswer), SizeIs(1));
    EXPECT_EQ(SentMail(Letter::kAnswer)[0].frame.code, kCodeLate);
    EXPECT_EQ(SentMail(Letter::kAnswer)[0].frame.body.size(), 4u);
    EXPECT_EQ(ByteReader(SentMail(Letter::kAnswer)[0].frame.body).Fixed<std::uint32_t>(), 7u);
  }
  EXPECT_EQ(rig.Count(Counter::kRequestsLate), 2u);
  rig.ServeLater(rig[1], Letter(Letter::kReliable, 6, "x"), {});
  EXPECT_THAT(rig.mail, IsEmpty()) << "nor is what came before it";
  rig.Receive(rig[1], Letter(Letter::kRequest, 8, "x"));
  EXPECT_THAT(Got(MailKind::kRequest), SizeIs(1));
}

// It was lost, again and again, while a later one came and was forgotten.
TEST_F(EngineMailTest, ARequestThatIsToldToBeLateGetsANumberThatIsNot) {
  ASSERT_TRUE(rig.Order(Asking("x", 60s)).ok());
  const Said request = SentMail(Letter::kRequest).at(0);
  std::array<std::byte, 4> past{};
  ByteWriter(past.data()).Fixed(request.frame.sequence + 1000);
  Frame late = AnswerTo(request, kCodeLate, "");
  late.body = past;
  rig.Clear();
  rig.Receive(rig[2], late);  // not the one that was asked
  rig.Run(1ms);
  EXPECT_THAT(SentMail(Letter::kRequest), IsEmpty());
  rig.Receive(rig[1], late);
  rig.Run(1ms);
  ASSERT_THAT(SentMail(Letter::kRequest), SizeIs(1));
  const Said again = SentMail(Letter::kRequest)[0];
  EXPECT_EQ(again.frame.sequence, request.frame.sequence + 1001);
  EXPECT_THAT(rig.mail, IsEmpty()) << "it goes on";
  rig.Receive(rig[1], late);  // a copy, of a number that is not in use any more
  EXPECT_EQ(rig.Count(Counter::kMailStray), 2u);
  // Once it is known there it is not begun anew, whatever is said.
  rig.Receive(rig[1], Letter(Letter::kReceipt, again.frame.sequence));
  rig.Clear();
  late.sequence = again.frame.sequence;
  rig.Receive(rig[1], late);
  rig.Run(5s);
  EXPECT_THAT(SentMail(Letter::kRequest), IsEmpty());
  rig.Receive(rig[1], AnswerTo(again, 0, "yes"));
  ASSERT_THAT(Got(MailKind::kDone), SizeIs(1));
  EXPECT_EQ(ToText(Got(MailKind::kDone)[0].body), "yes");
}

TEST_F(EngineMailTest, ALateCopyOfWhatWasRefusedIsNotDone) {
  MailLimits limits;
  limits.served_per_member = 1;
  ASSERT_TRUE(rig.Order(Reconfigure{.mail = limits}).ok());
  rig.Receive(rig[1], Letter(Letter::kRequest, 7, "x"));
  rig.Receive(rig[1], Letter(Letter::kRequest, 8, "y"));  // its sender is told ResourceExhausted
  EXPECT_EQ(rig.Count(Counter::kRequestsRefused), 1u);
  ASSERT_TRUE(rig.Order(Respond{.id = Got(MailKind::kRequest).at(0).id, .status = {}, .body = {}}).ok());
  rig.Receive(rig[1], Letter(Letter::kRequest, 8, "y"));
  EXPECT_THAT(Got(MailKind::kRequest), SizeIs(1));
}

TEST_F(EngineMailTest, AnAnswerThatItIsLateHasANumber) {
  ASSERT_TRUE(rig.Order(Asking("x")).ok());
  for (const char* body : {"", "abc", "abcde"}) {
    rig.Receive(rig[1], AnswerTo(SentMail(Letter::kRequest).at(0), kCodeLate, body));
  }
  EXPECT_EQ(rig.Count(Counter::kBadBody), 3u);
}

TEST_F(EngineMailTest, AQuestionAboutWhatIsNotKnownIsAnswered) {
  rig.Receive(rig[1], Letter(Letter::kRepeat, 7));
  ASSERT_THAT(SentMail(Letter::kAnswer), SizeIs(1));
  EXPECT_EQ(SentMail(Letter::kAnswer)[0].frame.code, static_cast<std::uint8_t>(StatusCode::kUnavailable));
}

TEST_F(EngineMailTest, AReliableMessageIsAnsweredOnItsStreamWhenItWasTaken) {
  rig.ServeLater(rig[1], Letter(Letter::kReliable, 7, "x"), {});
  EXPECT_THAT(rig.replies, IsEmpty());
  ASSERT_THAT(Got(MailKind::kMessage), SizeIs(1));
  const std::uint64_t id = rig.mail[0].id;
  ASSERT_NE(id, 0u);
  // Its sender lost patience with the first stream: that one is closed.
  rig.ServeLater(rig[1], Letter(Letter::kReliable, 7, "x"), {});
  ASSERT_THAT(rig.replies, SizeIs(1));
  EXPECT_TRUE(rig.replies[0].empty);
  ASSERT_TRUE(rig.Order(Respond{.id = id, .status = {}, .body = {}}).ok());
  ASSERT_THAT(rig.replies, SizeIs(2));
  EXPECT_EQ(rig.replies[1].frame.letter, Letter::kAnswer);
  EXPECT_EQ(rig.replies[1].frame.code, 0);
  EXPECT_NE(rig.replies[0].id, rig.replies[1].id);
  EXPECT_THAT(Got(MailKind::kMessage), SizeIs(1));
  // A third time it is there already.
  EXPECT_EQ(rig.Serve(rig[1], Letter(Letter::kReliable, 7, "x"), {}).frame.letter, Letter::kAnswer);
}

TEST_F(EngineMailTest, AReliableMessageThatNobodyTakesEndsWithItsDeadline) {
  rig.ServeLater(rig[1], Letter(Letter::kReliable, 7, "x", 100ms), {});
  rig.Run(100ms);
  ASSERT_THAT(rig.replies, SizeIs(1));
  EXPECT_TRUE(rig.replies[0].empty);
  EXPECT_THAT(Got(MailKind::kCancelled), SizeIs(1));
}

TEST_F(EngineMailTest, ARequestOverAStreamIsAcknowledgedAndAnsweredByItself) {
  const Said receipt = rig.Serve(rig[1], Letter(Letter::kRequest, 7, std::string(5000, 'x')), {});
  EXPECT_EQ(receipt.frame.letter, Letter::kReceipt);
  EXPECT_EQ(receipt.frame.code, 0);
  ASSERT_THAT(Got(MailKind::kRequest), SizeIs(1));
  const std::string large(5000, 'y');
  ASSERT_TRUE(rig.Order(Respond{.id = rig.mail[0].id, .status = {}, .body = ToBytes(large)}).ok());
  ASSERT_THAT(rig.requests, SizeIs(1));
  EXPECT_EQ(rig.requests[0].to, rig[1].address);
  EXPECT_EQ(ToText(rig.requests[0].frame.body), large);
  // While that is on its way a question about it starts no second one; when it was lost, it does.
  rig.Receive(rig[1], Letter(Letter::kRepeat, 7));
  EXPECT_THAT(rig.requests, SizeIs(1));
  rig.AnswerBytes(rig.requests[0].id, absl::UnavailableError("reset"), {});
  rig.Receive(rig[1], Letter(Letter::kRepeat, 7));
  EXPECT_THAT(rig.requests, SizeIs(2));
}

TEST_F(EngineMailTest, AnAnswerOverAStreamIsAcknowledged) {
  ASSERT_TRUE(rig.Order(Asking("x")).ok());
  const Said request = SentMail(Letter::kRequest).at(0);
  const std::string large(5000, 'y');
  EXPECT_EQ(rig.Serve(rig[1], AnswerTo(request, 0, large), {}).frame.letter, Letter::kReceipt);
  ASSERT_THAT(Got(MailKind::kDone), SizeIs(1));
  EXPECT_EQ(ToText(rig.mail[0].body), large);
}

TEST_F(EngineMailTest, StreamsOfMailAreBoundedSoThatOthersHaveTheirs) {
  for (std::uint64_t id = 1; id <= 20; ++id) {
    ASSERT_TRUE(rig.Order(SendReliable{id, "m1", ToBytes("x"), 10s}).ok());
  }
  ASSERT_THAT(rig.requests, SizeIs(16));
  // The others get their turns when there is room.
  const std::vector<Said> first = rig.requests;
  for (const Said& said : first) rig.Answer(said, rig[1], AnswerTo(said, 0, ""));
  rig.Run(1s);
  EXPECT_THAT(rig.requests, SizeIs(20));
  EXPECT_EQ(rig.Count(Counter::kRequestsRetried), 0u);
  EXPECT_THAT(Got(MailKind::kDone), SizeIs(16));
}

TEST_F(EngineMailTest, AStreamThatFailsIsTriedAgainWithinTheBudget) {
  ASSERT_TRUE(rig.Order(SendReliable{1, "m1", ToBytes("x"), 1s}).ok());
  ASSERT_THAT(rig.requests, SizeIs(1));
  EXPECT_EQ(rig.requests[0].limit, 1s);
  const Instant begun = rig.now.boot;
  rig.Pass(100ms);
  rig.AnswerBytes(rig.requests[0].id, absl::UnavailableError("refused"), {});
  rig.Run(200ms);
  ASSERT_THAT(rig.requests, SizeIs(2));
  EXPECT_EQ(rig.requests[1].limit, begun + 1s - rig.requests[1].at);
  EXPECT_EQ(rig.requests[1].frame.sequence, rig.requests[0].frame.sequence);
  rig.Run(2s);
  ASSERT_THAT(Got(MailKind::kDone), SizeIs(1));
  EXPECT_EQ(rig.mail[0].status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(rig.mail[0].at, begun + 1s);
}

TEST_F(EngineMailTest, WhatIsMalformedIsCountedAndChangesNothing) {
  const std::uint64_t version = rig.engine->version();
  const auto feed = [&](Frame frame, std::ptrdiff_t at, std::uint8_t value) {
    frame.label = LabelTag(rig.config.label);
    frame.sender = rig[1].id();
    std::vector<std::byte> bytes = Encode(frame);
    bytes[static_cast<std::size_t>(at)] = static_cast<std::byte>(value);
    Reseal(bytes);
    rig.ReceiveBytes(rig[1].address, bytes);
  };
  feed(Letter(Letter::kRequest, 7, "x"), 28, 0);    // no such letter
  feed(Letter(Letter::kRequest, 7, "x"), 28, 8);    // nor this
  feed(Letter(Letter::kRequest, 7, "x"), 35, 1);    // a body of 64 KiB that is not there
  feed(Letter(Letter::kRequest, 7, "xyz"), 33, 2);  // something behind the body
  feed(Letter(Letter::kAnswer, 7, "x"), 29, 17);    // no such code
  feed(Letter(Letter::kReceipt, 7), 29, 2);         // nor this
  EXPECT_EQ(rig.Count(Counter::kBadBody) + rig.Count(Counter::kBadShort), 6u);
  EXPECT_THAT(rig.mail, IsEmpty());
  EXPECT_THAT(rig.Sent(FrameType::kMail), IsEmpty());
  EXPECT_EQ(rig.engine->version(), version);
}

TEST_F(EngineMailTest, WithoutMailThereIsNeitherTimerNorByte) {
  const Instant next = rig.engine->NextWake();
  ASSERT_TRUE(rig.Order(Asking("x", 1ms)).ok());
  rig.Receive(rig[1], AnswerTo(SentMail(Letter::kRequest).at(0), 0, ""));
  EXPECT_EQ(rig.engine->NextWake(), next);  // it has ended, and nothing of it is left
  EXPECT_EQ(rig.Count(Counter::kMailDatagramsSent), 1u);
}

}  // namespace
}  // namespace nekton
