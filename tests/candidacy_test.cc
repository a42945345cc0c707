// A candidate and its register: the fence before the seat, what a deposed one can still do, and answers that are lost.
#include "lease/candidacy.h"

#include <array>
#include <chrono>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lease/memory_register.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

SigningKey Key() {
  std::array<std::byte, 32> seed{};
  seed[0] = std::byte{7};
  return SigningKey(seed);
}

View ViewOf(std::uint64_t epoch, const std::string& member) {
  return SignView(Key(), "group", epoch, {{member, 1, Address::V4(10, 0, 0, 1, 7946)}});
}

RegisterRequest ReadOf(const std::string& label) {
  RegisterRequest read;
  read.key = SeatViewKey(label);
  return read;
}

// Candidates over one table. Requests stand in `open` until Do() has them done, so each can be late or lost.
class CandidacyTest : public testing::Test {
 protected:
  struct One {
    std::unique_ptr<Candidacy> candidacy;
    std::deque<RegisterRequest> open;
    std::vector<CandidacyOutput::Seat> seats;
    std::vector<CandidacyOutput::Stored> stored;
    int lost = 0;
  };

  Tick Now() const { return {Instant(now_), RawInstant(now_), WallTime(now_)}; }
  One& Add(const std::string& name) {
    One& one = all_.emplace_back();
    NamedLeaseOptions lease;
    lease.name = SeatKey("group");
    lease.holder = name;
    lease.spread = 1ms;
    one.candidacy = std::make_unique<Candidacy>(lease, SeatViewKey("group"), all_.size());
    return one;
  }
  template <typename What>
  void Feed(One& one, What what) {
    CandidacyOutput out;
    what(out);
    std::move(out.requests.begin(), out.requests.end(), std::back_inserter(one.open));
    if (out.taken) one.seats.push_back(*out.taken);
    if (out.stored) one.stored.push_back(*out.stored);
    one.lost += out.lost ? 1 : 0;
  }
  void Begin(One& one) {
    Feed(one, [&](CandidacyOutput& out) { one.candidacy->Begin(Now(), out); });
  }
  void Wake(One& one) {
    Feed(one, [&](CandidacyOutput& out) { one.candidacy->Wake(Now(), out); });
  }
  // The oldest open request is done; its answer arrives, or not.
  void Do(One& one, bool answered = true) {
    ASSERT_FALSE(one.open.empty());
    const RegisterRequest request = one.open.front();
    one.open.pop_front();
    const RegisterAnswer answer = table_.Do(request);
    if (answered) Answer(one, request.id, answer);
  }
  void Answer(One& one, std::uint64_t id, const RegisterAnswer& answer) {
    Feed(one, [&](CandidacyOutput& out) { one.candidacy->Answer(Now(), id, answer, out); });
  }
  void DoAll(One& one) {
    while (!one.open.empty()) Do(one);
  }
  // Time passes, each step looked at, and whatever is asked is answered at once.
  void Run(Duration time, std::vector<One*> who) {
    for (const Duration end = now_ + time; now_ < end;) {
      now_ += 50ms;
      for (One* one : who) {
        Wake(*one);
        DoAll(*one);
      }
    }
  }
  void Store(One& one, View view) {
    Feed(one, [&](CandidacyOutput& out) { one.candidacy->Store(Now(), std::move(view), out); });
  }
  void Put(std::string value) {
    RegisterRequest write = ReadOf("group");
    write.write = true;
    write.value = std::move(value);
    table_.Do(write);
  }
  ViewRecord There() { return *DecodeViewRecord(table_.Do(ReadOf("group")).value); }

  MemoryTable table_;
  Duration now_ = 100s;
  std::deque<One> all_;
};

TEST_F(CandidacyTest, TheFirstOneSitsOnNothingAndWritesUnderItsToken) {
  One& a = Add("a");
  Begin(a);
  DoAll(a);
  ASSERT_EQ(a.seats.size(), 1u);
  EXPECT_EQ(a.seats[0].view.epoch(), 0u);
  EXPECT_TRUE(a.seats[0].mandate.Stands(Now()));
  EXPECT_EQ(a.candidacy->holder(), "a");
  EXPECT_EQ(There().token, a.seats[0].mandate.token) << "fenced before anything else";
  Store(a, ViewOf(1, "a"));
  EXPECT_TRUE(a.stored.empty()) << "not before it is durable";
  DoAll(a);
  ASSERT_EQ(a.stored.size(), 1u);
  EXPECT_EQ(a.stored[0].epoch, 1u);
  EXPECT_EQ(There().view.epoch(), 1u);
}

TEST_F(CandidacyTest, ADeposedOnesWriteFailsHoweverLateItComes) {
  One& a = Add("a");
  One& b = Add("b");
  Begin(a);
  DoAll(a);
  Store(a, ViewOf(1, "a"));
  DoAll(a);
  Begin(b);
  DoAll(b);
  // It is stopped with a write on its way.
  Store(a, ViewOf(2, "a"));
  ASSERT_EQ(a.open.size(), 1u);
  const RegisterRequest late = a.open.front();
  Run(30s, {&b});
  ASSERT_EQ(b.seats.size(), 1u);
  EXPECT_GT(b.seats[0].mandate.token, a.seats[0].mandate.token);
  EXPECT_EQ(b.seats[0].view.epoch(), 1u);
  EXPECT_FALSE(a.seats[0].mandate.Stands(Now()));
  const RegisterAnswer answer = table_.Do(late);
  EXPECT_EQ(answer.verdict, RegisterVerdict::kNo);
  Store(b, ViewOf(2, "b"));
  DoAll(b);
  EXPECT_EQ(There().view.head, ViewOf(2, "b").head);
  a.open.clear();
  Answer(a, late.id, answer);
  EXPECT_EQ(a.stored.size(), 1u) << "that of epoch 1";
  EXPECT_EQ(a.lost, 1);
  EXPECT_FALSE(a.candidacy->sits());
}

// The write lands after the lease is another's, but before that one has fenced: then it is what that one goes on from.
TEST_F(CandidacyTest, WhatWasWrittenBeforeTheFenceIsWhatTheNextOneGoesOnFrom) {
  One& a = Add("a");
  One& b = Add("b");
  Begin(a);
  DoAll(a);
  Store(a, ViewOf(1, "a"));
  DoAll(a);
  Begin(b);
  DoAll(b);
  Store(a, ViewOf(2, "a"));
  while (b.candidacy->holder() != "b") {
    now_ += 50ms;
    Wake(b);
    if (!b.open.empty()) Do(b);
  }
  ASSERT_TRUE(b.seats.empty());
  ASSERT_FALSE(b.open.empty());
  Do(b);  // it has read, and is about to write
  ASSERT_FALSE(b.open.empty());
  Do(a, false);
  EXPECT_EQ(There().view.epoch(), 2u);
  DoAll(b);
  ASSERT_EQ(b.seats.size(), 1u);
  EXPECT_EQ(b.seats[0].view.head, ViewOf(2, "a").head);
  EXPECT_EQ(There().token, b.seats[0].mandate.token);
}

TEST_F(CandidacyTest, AWriteWithoutAnAnswerIsRepeatedAndFoundDone) {
  One& a = Add("a");
  Begin(a);
  DoAll(a);
  Store(a, ViewOf(1, "a"));
  Do(a, false);
  ASSERT_TRUE(a.stored.empty());
  Run(3s, {&a});
  ASSERT_EQ(a.stored.size(), 1u);
  EXPECT_TRUE(a.stored[0].status.ok());
  Store(a, ViewOf(2, "a"));
  DoAll(a);
  ASSERT_EQ(a.stored.size(), 2u);
  EXPECT_EQ(There().view.epoch(), 2u);
  // The same with the fence.
  One& b = Add("b");
  CandidacyOutput end;
  a.candidacy->End(Now(), end);
  EXPECT_TRUE(end.lost);
  for (const RegisterRequest& request : end.requests) table_.Do(request);
  Begin(b);
  Do(b);  // reads the record
  Do(b);  // takes the lease, for it was released
  Do(b);  // reads the view
  Do(b, false);
  EXPECT_TRUE(b.seats.empty());
  Run(3s, {&b});
  ASSERT_EQ(b.seats.size(), 1u);
  EXPECT_EQ(b.seats[0].view.epoch(), 2u);
}

// The leases of a register that was restored from a backup begin below what stands there.
TEST_F(CandidacyTest, ATokenBelowTheRecordsIsNoneAndTheNextIsAbove) {
  View view = ViewOf(5, "x");
  Put(Encode(ViewRecord{FencingToken{40}, view}));
  One& a = Add("a");
  Begin(a);
  Run(3s, {&a});
  ASSERT_EQ(a.seats.size(), 1u);
  EXPECT_EQ(a.seats[0].mandate.token.value, 41u);
  EXPECT_EQ(a.seats[0].view.head, view.head);
  EXPECT_EQ(a.lost, 0) << "it had no seat before";
}

TEST_F(CandidacyTest, WhatIsNoViewIsNotReplaced) {
  Put("somebody's");
  One& a = Add("a");
  Begin(a);
  Run(30s, {&a});
  EXPECT_TRUE(a.seats.empty());
  EXPECT_EQ(table_.Do(ReadOf("group")).value, "somebody's");
}

TEST_F(CandidacyTest, ASeatIsLostWithItsLease) {
  One& a = Add("a");
  Begin(a);
  DoAll(a);
  ASSERT_EQ(a.seats.size(), 1u);
  Run(5s, {&a});
  EXPECT_TRUE(a.seats[0].mandate.Stands(Now()));
  EXPECT_EQ(a.lost, 0);
  // The register is silent.
  for (int i = 0; i < 400; ++i) {
    now_ += 50ms;
    Wake(a);
  }
  EXPECT_EQ(a.lost, 1);
  EXPECT_FALSE(a.seats[0].mandate.Stands(Now()));
}

TEST(ViewRecordTest, ItIsReadBackAndWhatIsWrongIsNamed) {
  const ViewRecord record{FencingToken{9}, ViewOf(3, "a")};
  const std::string text = Encode(record);
  EXPECT_TRUE(text.starts_with("nekton-view 1 9 3\n"));
  const absl::StatusOr<ViewRecord> back = DecodeViewRecord(text);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->token, record.token);
  EXPECT_EQ(back->view.head, record.view.head);
  EXPECT_EQ(DecodeViewRecord(Encode(ViewRecord{FencingToken{9}, View()}))->view.epoch(), 0u);
  for (const std::string& wrong : {std::string(), std::string("nekton-view 1 9 3"), std::string("nekton-view 2 9 0\n"),
                                   std::string("nekton-lease 1 9 0\n"), std::string("nekton-view 1 x 0\n"),
                                   std::string("nekton-view 1 9 0\nmore"), text.substr(0, text.size() - 1)}) {
    EXPECT_FALSE(DecodeViewRecord(wrong).ok()) << wrong;
  }
  std::string other = text;
  other[16] = '4';
  EXPECT_FALSE(DecodeViewRecord(other).ok()) << "of another epoch";
}

}  // namespace
}  // namespace nekton
