// What a member asks the authority for, and what it believes of the answers: differences of views, and signed answers.
#include "lease/lease_room.h"

#include <array>
#include <chrono>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "lease/fetched_view.h"
#include "lease/lease_answer.h"
#include "tests/lease_room_fixture.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kNothing = 0;

// A hundred and two, beta among them.
void Form(TwoRooms& rooms) {
  rooms.Admit(3, 100);
  rooms.RunFor(8s);  // the others say nothing, so that they could hold a write lease for so long
  ASSERT_EQ(rooms.beta.view().members.size(), 102u);
  ASSERT_EQ(rooms.beta.view().head, rooms.root.view().head);
  ASSERT_TRUE(rooms.beta.leases().MayCommit(rooms.Now()));
}

// Removes the member, so that beta has to fetch the view.
void Remove(TwoRooms& rooms, int member) {
  const std::uint64_t epoch = rooms.root.view().epoch();
  rooms.Kill(member);
  rooms.RunFor(8s);
  ASSERT_EQ(rooms.root.view().epoch(), epoch + 1);
}

TEST(LeaseRoomTest, ARemovalIsFetchedAsTheDifference) {
  TwoRooms rooms;
  Form(rooms);
  const std::size_t whole = EncodeFetched(rooms.root.view()).size();
  const std::uint64_t before = rooms.beta.counters().deltas;
  rooms.fetched.clear();
  Remove(rooms, 50);
  EXPECT_EQ(rooms.beta.view().head, rooms.root.view().head);
  EXPECT_EQ(rooms.beta.view().members, rooms.root.view().members);
  EXPECT_EQ(rooms.beta.counters().deltas, before + 1);
  ASSERT_EQ(rooms.fetched.size(), 1u);
  EXPECT_LT(rooms.fetched[0], 128u);
  EXPECT_GT(whole, 4000u);
  testing::Test::RecordProperty("delta_bytes", std::to_string(rooms.fetched[0]));
  testing::Test::RecordProperty("whole_bytes", std::to_string(whole));
}

TEST(LeaseRoomTest, SeveralEpochsAreOneDifference) {
  TwoRooms rooms;
  Form(rooms);
  rooms.deaf = true;
  Remove(rooms, 10);
  Remove(rooms, 11);
  rooms.Admit(200, 2);
  rooms.RunFor(1s);
  rooms.fetched.clear();
  rooms.deaf = false;
  rooms.RunFor(1s);
  EXPECT_EQ(rooms.beta.view().head, rooms.root.view().head);
  EXPECT_EQ(rooms.beta.view().members, rooms.root.view().members);
  ASSERT_EQ(rooms.fetched.size(), 1u);
  EXPECT_LT(rooms.fetched[0], 300u);
}

// A member that holds another view of the epoch (which cannot be), and one whose epoch is forgotten, get the whole.
TEST(LeaseRoomTest, AnotherBaseIsAnsweredWithTheWhole) {
  TwoRooms rooms;
  Form(rooms);
  const View before = rooms.root.view();
  Remove(rooms, 50);
  for (const bool known : {true, false}) {
    LeaseMessage question;
    question.kind = LeaseMessage::Kind::kFetch;
    question.epoch = before.epoch();
    question.digest = before.head.digest;
    if (!known) question.digest.bytes[3] ^= std::byte{1};
    Mail mail = TwoRooms::MailOf("member-20", question);
    mail.kind = MailKind::kRequest;
    mail.id = 9;
    LeaseOutput out;
    rooms.root.Hear(
        rooms.Now(), mail, [&](std::string_view name) { return rooms.Peer(name); }, out);
    ASSERT_EQ(out.answers.size(), 1u);
    const absl::StatusOr<FetchedView> fetched = DecodeFetched(out.answers[0].body);
    ASSERT_TRUE(fetched.ok());
    EXPECT_EQ(std::holds_alternative<ViewDelta>(*fetched), known);
    EXPECT_EQ(HeadOf(*fetched), rooms.root.view().head);
  }
}

// Whoever answers a fetch cannot make beta hold anything but the view that was signed: what does not come to it is
// refused, counted and told, and the whole is fetched.
void IsRefused(const std::function<void(ViewDelta&)>& change, bool bad_signature) {
  TwoRooms rooms;
  Form(rooms);
  rooms.on_fetched = [&](std::vector<std::byte>& body) {
    if (!IsDelta(body)) return;
    ViewDelta delta = std::get<ViewDelta>(*DecodeFetched(body));
    change(delta);
    body = EncodeFetched(delta);
  };
  rooms.asked.clear();
  Remove(rooms, 50);
  const LeaseCounters& counters = rooms.beta.counters();
  EXPECT_EQ(counters.bad_deltas, 1u);
  EXPECT_EQ(counters.bad_signature, bad_signature ? 1u : kNothing);
  EXPECT_EQ(counters.bad_body, bad_signature ? kNothing : 1u);
  EXPECT_EQ(rooms.beta.view().head, rooms.root.view().head);
  EXPECT_EQ(rooms.beta.view().members, rooms.root.view().members);
  ASSERT_EQ(rooms.asked.size(), 2u);
  EXPECT_NE(rooms.asked[0].digest, ViewDigest());
  EXPECT_EQ(rooms.asked[1].digest, ViewDigest()) << "the whole, please";
}

TEST(LeaseRoomTest, ADifferenceThatKeepsWhoWentIsRefused) {
  IsRefused([](ViewDelta& delta) { delta.changes.clear(); }, false);
}
TEST(LeaseRoomTest, ADifferenceThatTakesSomebodyInIsRefused) {
  IsRefused([](ViewDelta& delta) { delta.changes.push_back({{"zoe", 1, Address::V4(10, 0, 0, 9, 1)}, false}); }, false);
}
TEST(LeaseRoomTest, ADifferenceFromAnotherEpochIsRefused) {
  IsRefused([](ViewDelta& delta) { --delta.base; }, false);
}
TEST(LeaseRoomTest, ADifferenceThatHidesThatMovesEndIsRefused) {
  IsRefused([](ViewDelta& delta) { delta.ends_moves = !delta.ends_moves; }, false);
}
TEST(LeaseRoomTest, ADifferenceToAForgedHeadIsRefused) {
  IsRefused(
      [](ViewDelta& delta) {
        std::array<std::byte, 32> seed{};
        delta.head = SignView(SigningKey(seed), "", delta.head.epoch, {}).head;
      },
      true);
}
TEST(LeaseRoomTest, BytesThatAreNoDifferenceAreRefused) {
  TwoRooms rooms;
  Form(rooms);
  rooms.on_fetched = [&](std::vector<std::byte>& body) {
    if (IsDelta(body)) body.resize(body.size() - 1);
  };
  Remove(rooms, 50);
  EXPECT_EQ(rooms.beta.counters().bad_deltas, 1u);
  EXPECT_EQ(rooms.beta.counters().bad_body, 1u);
  EXPECT_EQ(rooms.beta.view().head, rooms.root.view().head);
}

// Who answers with a view that is no newer is asked again later, not at once and for ever.
TEST(LeaseRoomTest, AnOldViewInAnswerIsNoReasonToAskWithoutEnd) {
  TwoRooms rooms;
  Form(rooms);
  const std::vector<std::byte> old = EncodeFetched(rooms.root.view());
  rooms.on_fetched = [&](std::vector<std::byte>& body) { body = old; };
  rooms.asked.clear();
  Remove(rooms, 50);
  EXPECT_GE(rooms.asked.size(), 2u);
  EXPECT_LE(rooms.asked.size(), 10u);
}

// --- answers

// Each of these alone is enough for an answer not to count; and the ping stays open for the true one.
TEST(LeaseRoomTest, AnAnswerThatTheAuthorityDidNotSignIsCountedAndRenewsNothing) {
  const std::vector<std::function<void(LeaseMessage&)>> forgeries = {
      [](LeaseMessage& answer) { answer.settled += 1; },
      [](LeaseMessage& answer) { answer.epoch += 1; },
      [](LeaseMessage& answer) { answer.result = LeaseMessage::Result::kOtherTerms; },
      [](LeaseMessage& answer) { answer.text += "x"; },
      [](LeaseMessage& answer) { answer.signature = {}; },
      [](LeaseMessage& answer) {
        const LeaseTerms terms;
        const AnswerTo other{"gamma", 1, terms.write, terms.drift_ppm};
        answer.signature = SignAnswer(ClusterKey(), "", other, answer);
      },
      [](LeaseMessage& answer) {
        const LeaseTerms terms;
        const AnswerTo earlier_life{"beta", 0, terms.write, terms.drift_ppm};
        answer.signature = SignAnswer(ClusterKey(), "", earlier_life, answer);
      },
      [](LeaseMessage& answer) {
        const LeaseTerms terms;
        answer.signature = SignAnswer(ClusterKey(), "", {"beta", 1, terms.write + 1ns, terms.drift_ppm}, answer);
      },
      [](LeaseMessage& answer) {
        const LeaseTerms terms;
        answer.signature = SignAnswer(ClusterKey(), "another group", {"beta", 1, terms.write, terms.drift_ppm}, answer);
      },
      [](LeaseMessage& answer) {
        std::array<std::byte, 32> seed{};
        const LeaseTerms terms;
        answer.signature = SignAnswer(SigningKey(seed), "", {"beta", 1, terms.write, terms.drift_ppm}, answer);
      },
  };
  for (std::size_t i = 0; i < forgeries.size(); ++i) {
    SCOPED_TRACE(i);
    TwoRooms rooms;
    Form(rooms);
    const std::uint64_t renewals = rooms.beta.counters().renewals;
    rooms.on_answer = forgeries[i];
    rooms.RunFor(7s);
    EXPECT_EQ(rooms.beta.counters().renewals, renewals);
    EXPECT_GT(rooms.beta.counters().forged_answers, 3u);
    EXPECT_EQ(rooms.beta.counters().stray_answers, kNothing);
    EXPECT_EQ(rooms.beta.counters().other_terms, kNothing);
    EXPECT_FALSE(rooms.beta.leases().WriteRuns(rooms.Now())) << "a lease that nobody renews ends";
    rooms.on_answer = nullptr;
    rooms.RunFor(1s);
    EXPECT_TRUE(rooms.beta.leases().MayCommit(rooms.Now()));
  }
}

// An authority of another key cannot sign what this member believes. Its words are passed on once, and are words alone.
TEST(LeaseRoomTest, WhoBelievesAnotherAuthorityIsToldSo) {
  TwoRooms rooms;
  int answers = 0;
  rooms.on_answer = [&](LeaseMessage& answer) {
    answer.result = LeaseMessage::Result::kOtherTerms;
    answer.text = absl::StrCat("another authority, ", ++answers);
    answer.signature = {};
  };
  rooms.RunFor(60s);
  EXPECT_GT(answers, 3);
  std::vector<std::string> refused;
  for (const Evidence& evidence : rooms.told) {
    const auto* join = std::get_if<JoinEvidence>(&evidence.what);
    if (join != nullptr && join->state == JoinEvidence::State::kRefused) refused.push_back(join->reason);
  }
  EXPECT_EQ(refused, std::vector<std::string>{"another authority, 1"});
  EXPECT_EQ(rooms.beta.view().epoch(), kNothing);
  rooms.on_answer = nullptr;
  rooms.RunFor(30s);
  EXPECT_TRUE(rooms.beta.leases().MayCommit(rooms.Now())) << "it went on asking";
}

TEST(LeaseRoomTest, AForgedAnswerDoesNotTakeThePingFromTheTrueOne) {
  TwoRooms rooms;
  Form(rooms);
  std::vector<LeaseMessage> answers;
  rooms.on_answer = [&](LeaseMessage& answer) {
    answers.push_back(answer);
    answer.signature.bytes[0] ^= std::byte{1};
  };
  while (answers.empty()) rooms.RunFor(10ms);
  const std::uint64_t renewals = rooms.beta.counters().renewals;
  EXPECT_EQ(rooms.beta.counters().forged_answers, 1u);
  rooms.Hear(rooms.beta, TwoRooms::MailOf("root", answers[0]));
  EXPECT_EQ(rooms.beta.counters().renewals, renewals + 1);
  rooms.Hear(rooms.beta, TwoRooms::MailOf("root", answers[0]));
  EXPECT_EQ(rooms.beta.counters().renewals, renewals + 1) << "an answer counts once";
  EXPECT_EQ(rooms.beta.counters().stray_answers, 1u);
}

}  // namespace
}  // namespace nekton
