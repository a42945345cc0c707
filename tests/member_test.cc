// The composed member: without an authority it is its engine, byte for byte; and what members say to each other about views
// reaches no user.
#include "lease/member.h"

#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lease/lease_message.h"
#include "swim/random.h"
#include "tests/cluster.h"
#include "tests/count_allocations.h"
#include "tests/wire_samples.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;

Tick At(Duration time) { return {Instant(time), RawInstant(time), WallTime(1'767'225'600s + time)}; }

// Two of a kind that talk to each other, the first joined by the second; and all bytes that they ever sent.
template <typename M>
struct Two {
  std::vector<M> members;
  Outbox out;
  std::vector<std::byte> sent;
  std::uint64_t allocated = 0;
  std::vector<Address> at = {Address::V4(10, 0, 0, 1, 7946), Address::V4(10, 0, 0, 2, 7946)};

  Two() {
    for (int i = 0; i < 2; ++i) {
      Config config = Config::Lan();
      config.name = i == 0 ? "alpha" : "beta";
      config.generation = 1'767'225'600'000;
      config.seed = 7;
      members.push_back(*M::Create(config, at[static_cast<std::size_t>(i)]));
    }
  }
  void Run() {
    Duration now = 1000s;
    for (std::size_t i = 0; i < 2; ++i) Do(i, now, [&](M& m) { m.Wake(At(now), out); });
    Do(1, now, [&](M& m) { (void)m.Order(At(now), Join{{at[0]}}, out); });
    while (now < 1060s) {
      now = std::min(members[0].NextWake(), members[1].NextWake()).time_since_epoch();
      for (std::size_t i = 0; i < 2; ++i) {
        if (members[i].NextWake().time_since_epoch() <= now) Do(i, now, [&](M& m) { m.Wake(At(now), out); });
      }
    }
  }
  void Do(std::size_t i, Duration now, const std::function<void(M&)>& input) {
    const std::uint64_t before = allocations;
    input(members[i]);
    allocated += allocations - before;
    std::vector<std::vector<std::byte>> datagrams;
    for (const Outbox::Datagram& d : out.datagrams()) datagrams.emplace_back(out.bytes(d).begin(), out.bytes(d).end());
    std::vector<Outbox::Request> requests(out.requests().begin(), out.requests().end());
    EXPECT_TRUE(out.stores().empty());
    EXPECT_TRUE(out.inner().empty());
    out.Clear();
    const std::size_t other = 1 - i;
    for (const std::vector<std::byte>& bytes : datagrams) {
      sent.insert(sent.end(), bytes.begin(), bytes.end());
      Do(other, now, [&](M& m) { m.Receive(At(now), at[i], bytes, out); });
    }
    for (const Outbox::Request& request : requests) {
      sent.insert(sent.end(), request.bytes.begin(), request.bytes.end());
      members[other].Serve(At(now), at[i], 1, request.bytes, out);
      std::vector<std::byte> answer;
      if (!out.replies().empty()) answer = out.replies()[0].bytes;
      out.Clear();
      Do(i, now, [&](M& m) { m.Answer(At(now), request.id, absl::OkStatus(), answer, out); });
    }
  }
};

TEST(MemberTest, WithoutAnAuthorityItIsItsEngine) {
  Two<Engine> engines;
  engines.Run();
  Two<Member> members;
  members.Run();
  EXPECT_GT(engines.sent.size(), 1000u);
  EXPECT_EQ(engines.sent, members.sent);
  EXPECT_EQ(engines.allocated, members.allocated);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(engines.members[i].Fingerprint(), members.members[i].Fingerprint());
    EXPECT_EQ(engines.members[i].alive(), 2u);
    EXPECT_EQ(members.members[i].leases(), nullptr);
    EXPECT_THAT(members.members[i].evidence(), IsEmpty());
    for (std::size_t c = 0; c < Counters::size(); ++c) {
      const auto counter = static_cast<Counter>(c);
      EXPECT_EQ(engines.members[i].counters()[counter], members.members[i].counters()[counter]);
    }
  }
}

// What is said about views is nobody else's: no event, no message, no broadcast of a user, none of his frames grows.
TEST(MemberTest, UsersHearNothingOfTheInnerChannel) {
  Cluster with({.nodes = 3, .seed = 2, .authority = true});
  std::size_t mails = 0;
  with.sim().SetMailHandler([&](SimId, const Mail& mail) {
    ++mails;
    EXPECT_FALSE(mail.inner);
  });
  with.RunFor(20s);
  ASSERT_EQ(with.leases(2).view().members.size(), 3u);
  EXPECT_EQ(mails, 0u);
  EXPECT_EQ(with.Count(EventKind::kBroadcast), 0u);
  EXPECT_THAT(with.member(1).HeldBroadcasts(with.sim().Clock(1)), IsEmpty());
  ASSERT_TRUE(with.sim().Order(1, Send{"n2", std::vector<std::byte>(3)}).ok());
  with.RunFor(1s);
  EXPECT_EQ(mails, 1u);
  Request request;
  request.id = kInnerRequests;
  request.member = "n2";
  request.budget = 1s;
  EXPECT_EQ(with.sim().Order(1, request).code(), absl::StatusCode::kInvalidArgument);
}

// A member that is told of no authority, among others that are, owns nothing and is bothered with nothing.
TEST(MemberTest, AmongOthersWithAnAuthorityOneWithoutIsAMemberLikeAny) {
  Cluster c({.nodes = 2, .seed = 2, .authority = true});
  Config config = Config::Lan();
  config.seeds = {"10.0.0.1:7946"};
  const SimId lone = c.AddNode(config);
  c.RunFor(20s);
  ASSERT_TRUE(c.sim().Converged());
  EXPECT_EQ(c.sim().leases(lone), nullptr);
  EXPECT_EQ(c.leases(0).view().Find("n2"), nullptr);
  EXPECT_EQ(c.leases(0).view().members.size(), 2u);
}

LeaseConfig Root() {
  LeaseConfig leases;
  leases.authority = "n0";
  leases.key = ClusterKey().public_key();
  leases.signing = ClusterKey();
  return leases;
}

TEST(MemberTest, EveryMistakeOfTheConfigurationIsNamed) {
  Config config = Config::Lan();
  config.name = "n0";
  EXPECT_THAT(ProblemsOf(LeaseConfig(), config), IsEmpty());
  EXPECT_THAT(ProblemsOf(Root(), config), IsEmpty());
  LeaseConfig bad = Root();
  bad.terms.write = 0s;
  bad.terms.drift_ppm = -1;
  bad.key = {};
  bad.authority = "n 1";
  bad.admit = {"n2"};
  config.name = "";
  config.generation = 1;
  const absl::Status status = Member::Create(config, Address::V4(10, 0, 0, 1, 1), nullptr, bad).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  for (const char* field :
       {"name", "write_lease", "drift_ppm", "authority key", "authority = ", "signing key", "admit"}) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(field));
  }
  config.name = "n0";
  View other = SignView(SigningKey(std::array<std::byte, 32>{}), "", 3, {{"n0", 1, {}}});
  EXPECT_EQ(Member::Create(config, Address::V4(10, 0, 0, 1, 1), nullptr, Root(), other).status().code(),
            absl::StatusCode::kDataLoss);
}

// A beat and a write lease have to be over before a silence is a failure, to the nanosecond.
TEST(MemberTest, TheWindowOfAPairIsExact) {
  Config config = Config::Pair();
  config.name = "n0";
  EXPECT_THAT(ProblemsOf(Root(), config), IsEmpty());
  const LeaseTerms terms;
  const Duration longest = WaitOf(config.period + config.jitter + terms.write, terms.drift_ppm);
  config.fail_after = longest;
  EXPECT_THAT(ProblemsOf(Root(), config), testing::ElementsAre(HasSubstr("fail_after")));
  config.fail_after = longest + 1ns;
  EXPECT_THAT(ProblemsOf(Root(), config), IsEmpty());
}

std::vector<LeaseMessage> Samples() {
  using Kind = LeaseMessage::Kind;
  std::vector<LeaseMessage> all(6);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].kind = static_cast<Kind>(i + 1);
  all[0].nonce = 5;
  all[0].write = 6s;
  all[1].nonce = ~std::uint64_t{0};
  all[1].head = SignView(ClusterKey(), "g", 9, {}).head;
  all[2].epoch = 9;
  all[2].settled = 8;
  all[2].result = LeaseMessage::Result::kRefused;
  all[2].text = std::string(LeaseMessage::kTextMax, 'x');
  all[2].signature = ClusterKey().Sign("test", {});
  all[3].epoch = 77;
  all[3].digest = all[1].head.digest;
  all[4].move = SignMove(ClusterKey(), "g", {ObjectNamed("a"), 3, "n1", "n2", {}});
  all[5].move.object = ObjectNamed("b");
  all[5].epoch = all[5].move.epoch = 4;
  return all;
}

TEST(MemberTest, MessagesReadAsTheyAreWritten) {
  for (const LeaseMessage& message : Samples()) {
    const std::vector<std::byte> bytes = Encode(message);
    const absl::StatusOr<LeaseMessage> read = DecodeLeaseMessage(bytes);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(Encode(*read), bytes);
    EXPECT_EQ(read->kind, message.kind);
    EXPECT_EQ(read->nonce, message.nonce);
    EXPECT_EQ(read->head, message.head);
    EXPECT_EQ(read->epoch, message.epoch);
    EXPECT_EQ(read->move, message.move);
    EXPECT_EQ(read->digest, message.digest);
    EXPECT_EQ(read->signature, message.signature);
    EXPECT_EQ(read->text, message.text);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(DecodeLeaseMessage(std::span(bytes).first(size)).ok());
    }
    std::vector<std::byte> longer = bytes;
    longer.push_back({});
    EXPECT_FALSE(DecodeLeaseMessage(longer).ok());
  }
}

TEST(MemberTest, NoBytesAreReadWrongly) {
  Random random(3);
  const std::vector<LeaseMessage> samples = Samples();
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::byte> bytes = Encode(samples[random.Below(6)]);
    for (std::uint32_t n = 1 + random.Below(4); n > 0; --n) {
      bytes[random.Below(static_cast<std::uint32_t>(bytes.size()))] = static_cast<std::byte>(random.Below(256));
    }
    const absl::StatusOr<LeaseMessage> read = DecodeLeaseMessage(bytes);
    if (!read.ok()) continue;
    EXPECT_EQ(Encode(*read), bytes);
  }
}

}  // namespace
}  // namespace nekton
