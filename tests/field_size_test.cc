// Field: a member with a long but legal name is suspected because what must name it does not fit into a packet; a new
// member passes on all that it has just learned; and each period costs more in a larger group.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "swim/tags.h"
#include "swim/wire.h"
#include "tests/cluster.h"
#include "tests/engine_rig.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// ---- The longest identity. ----

Address Longest(std::uint16_t host) {
  Address address;
  address.ip.fill(0xfe);
  address.ip[1] = 0x80;
  address.ip[14] = static_cast<std::uint8_t>(host >> 8);
  address.ip[15] = static_cast<std::uint8_t>(host);
  address.scope = 0xffffffff;
  address.port = 65535;
  return address;
}
std::string LongName(char last) {
  std::string name(kNameMax, 'n');
  name.back() = last;
  return name;
}
// Tags of the largest size; the bytes are as hard to pack as any.
std::string MostTags() { return EncodeTags({{"t", std::string(508, '\xff')}}).value(); }

// Everybody has the longest name and address, the greatest incarnation there can be, and all the tags.
struct LongRig {
  explicit LongRig(std::size_t datagram, std::size_t members = 12, bool excuses = true) : rig(Long(datagram, excuses)) {
    while (rig.peers.size() < members) {
      Peer& peer = rig.NewPeer();
      peer.name = LongName(static_cast<char>('a' + rig.peers.size()));
      peer.address = Longest(static_cast<std::uint16_t>(rig.peers.size()));
      peer.key.incarnation = std::uint64_t{1} << 32;
      peer.tags = MostTags();
    }
    rig.Know(members);
    EXPECT_EQ(rig.engine->alive(), members + 1);
  }
  static Config Long(std::size_t datagram, bool excuses = true) {
    Config config = Rig::Lan();
    config.name = LongName('z');
    config.datagram_max = datagram;
    config.confirmers = 7;  // so that an accusation names eight
    config.stream_ping = false;
    config.rules.void_deaf_rounds = excuses;
    return config;
  }
  Rig rig;
};

class FieldLongName : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Datagrams, FieldLongName, testing::Values(512u, 1400u));

TEST(FieldLongNameConfig, TagsThatDoNotFitBesideTheNameAreRefusedInWords) {
  for (const std::size_t tags : {0u, 100u, 240u, 300u, 508u}) {
    Config config = LongRig::Long(512);
    config.generation = Rig::kGeneration;
    config.tags = {{"t", std::string(tags, '\xff')}};
    if (tags == 0) config.tags.clear();
    const absl::StatusOr<Engine> engine = Engine::Create(config, Longest(1));
    if (tags < 240) {
      EXPECT_TRUE(engine.ok()) << engine.status();
    }
    if (tags <= 300) continue;
    ASSERT_FALSE(engine.ok()) << tags;
    EXPECT_EQ(engine.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(engine.status().message()), HasSubstr("datagram_max"));
    EXPECT_THAT(std::string(engine.status().message()), HasSubstr("name"));
  }
}

// Of a round: the ping, the ping-reqs that name it, and once it is SUSPECT the same with its accusation in them.
TEST_P(FieldLongName, EveryFrameOfARoundNamesIt) {
  LongRig l(GetParam());
  Rig& rig = l.rig;
  rig[1].answers = rig[1].answers_relays = false;
  rig.NextRound(&rig[1]);
  rig.Run(1s);
  ASSERT_EQ(rig.Member(rig[1].name)->status, MemberStatus::kSuspect);
  std::size_t asked = 0;
  for (const Said& said : rig.Sent(FrameType::kPingReq)) {
    ++asked;
    EXPECT_EQ(said.frame.target, rig[1].id());
    EXPECT_EQ(said.frame.target_address, rig[1].address);
  }
  EXPECT_EQ(asked, 8u) << "the last four attempts, two relays each";
  // Seven more accuse it.
  for (std::size_t i = 2; i <= 8; ++i) rig.Gossip(rig[i], {Suspect(rig[1], {&rig[i]})});
  rig.Run(100ms);
  ASSERT_EQ(rig.Member(rig[1].name)->status, MemberStatus::kSuspect);
  rig.Clear();
  rig.Run(1500ms);
  std::size_t pings = 0;
  std::size_t requests = 0;
  for (const Said& said : rig.sent) {
    const bool ping = said.frame.type == FrameType::kPing && said.to == rig[1].address;
    if (!ping && said.frame.type != FrameType::kPingReq) continue;
    (ping ? pings : requests) += 1;
    ASSERT_TRUE(said.Accuses(rig[1].name));
    EXPECT_EQ(said.Of(rig[1].name)->accuser_count, 8u);
  }
  EXPECT_GE(pings, 5u);
  EXPECT_GE(requests, 8u);
}

// Suspicion, verdict, leave and return are passed on, and told to whoever says otherwise; the accused hears of it.
TEST_P(FieldLongName, EveryPieceOfNewsAboutItFits) {
  LongRig l(GetParam());
  Rig& rig = l.rig;
  Peer& subject = rig[1];
  subject.answers = subject.answers_relays = false;
  const auto expect_spread = [&](UpdateKind kind) {
    rig.Run(5s);
    std::size_t copies = 0;
    for (const Said& said : rig.sent) {
      const Update* update = said.Of(subject.name);
      copies += update != nullptr && update->kind == kind ? 1 : 0;
    }
    EXPECT_GE(copies, 5u) << static_cast<int>(kind);
    // An answer to one who is behind.
    rig.Clear();
    Peer old = subject;
    --old.key.incarnation;
    rig.Receive(rig[2], Rig::Of(FrameType::kPing, 77), {Alive(old)});
    ASSERT_FALSE(rig.sent.empty());
    ASSERT_NE(rig.sent[0].Of(subject.name), nullptr) << static_cast<int>(kind);
    EXPECT_EQ(rig.sent[0].Of(subject.name)->kind, kind);
  };
  ++subject.key.incarnation;
  rig.Gossip(rig[2], {Alive(subject)});
  expect_spread(UpdateKind::kAlive);
  for (std::size_t i = 2; i <= 9; ++i) rig.Gossip(rig[i], {Suspect(subject, {&rig[i]})});
  rig.Clear();
  rig.Receive(subject, Rig::Of(FrameType::kPing, 78));
  ASSERT_FALSE(rig.sent.empty());
  EXPECT_TRUE(rig.sent[0].Accuses(subject.name)) << "it hears that it is accused";
  expect_spread(UpdateKind::kDead);
  subject.key.incarnation += 1;
  rig.Gossip(rig[2], {Alive(subject)});
  rig.Gossip(rig[2], {Left(subject)});
  expect_spread(UpdateKind::kLeft);
}

// A whole group of them on links that take no more than the bound; one path of it needs relays.
TEST_P(FieldLongName, AGroupOfThemLivesAndSeesADeath) {
  Config config = Config::Lan();
  config.datagram_max = GetParam();
  config.tags = {{"t", std::string(GetParam() == 512 ? 200 : 508, '\xff')}};
  config.seeds = {Longest(0).ToString()};
  LinkLaw link;
  link.mtu = GetParam();
  Cluster c({.nodes = 0, .config = config, .sim = {.link = link}});
  for (std::uint16_t i = 0; i < 6; ++i) {
    config.name = LongName(static_cast<char>('a' + i));
    c.AddNode(config, {.address = Longest(i)});
  }
  ASSERT_TRUE(c.Converge(30s));
  c.RunFor(10s);
  c.Cut(1, 2, Traffic::kDatagrams);
  c.RunFor(60s);
  EXPECT_EQ(c.Count(EventKind::kSuspected), 0u);
  for (const MemberPtr& member : c.member(0).Members()) EXPECT_EQ(member->tags.at("t"), config.tags.at("t"));
  c.Crash(3);
  c.RunFor(20s);
  EXPECT_TRUE(c.AllSee(3, MemberStatus::kInactive));
  EXPECT_EQ(c.Count(EventKind::kFailed), 5u);
  EXPECT_EQ(c.sim().counters().of(Drop::kMtu), 0u);
  EXPECT_EQ(c.Sum(Counter::kSendTooBig), 0u);
}

// What the system finds too large for the path: neither the ping nor the requests to relays count against anybody.
TEST_P(FieldLongName, ALocalSizeErrorIsNoMissedProbe) {
  LongRig l(GetParam(), 12, /*excuses=*/false);
  Rig& rig = l.rig;
  rig.Silence();
  std::size_t reported = 0;
  for (const Instant end = rig.now.boot + 30s; rig.now.boot < end;) {
    const std::size_t from = rig.sent.size();
    rig.Step();
    for (std::size_t i = from; i < rig.sent.size(); ++i, ++reported) rig.Report(rig.sent[i].to, Trouble::kTooBig);
  }
  EXPECT_GE(reported, 100u);
  EXPECT_EQ(rig.Events(), "");
  EXPECT_EQ(rig.Count(Counter::kRoundsFailed), 0u);
  EXPECT_EQ(rig.Count(Counter::kSendTooBig), reported);
}

// ---- The cost of news. ----

TEST(FieldSize, ANewMemberIsTheOnlyNewsOfItsJoin) {
  constexpr std::size_t kOld = 64;
  Cluster c({.nodes = kOld, .seed = 3});
  ASSERT_TRUE(c.Converge(60s));
  c.RunFor(60s);
  std::map<std::string, std::size_t> about;
  std::map<SimId, std::size_t> by;  // about the new one
  c.sim().SetTap([&](const SimDatagram& datagram) {
    if (datagram.moment != SimDatagram::Moment::kSent) return;
    Frame frame;
    ASSERT_EQ(DecodeDatagram(datagram.bytes, LabelTag(""), &frame), Fault::kNone);
    UpdateReader reader(frame.updates);
    for (Update update; reader.Next(&update);) {
      ++about[std::string(update.name)];
      if (update.name == "n64") ++by[datagram.from];
    }
  });
  c.RunFor(20s);
  EXPECT_THAT(about, testing::IsEmpty()) << "it was quiet";
  c.AddNode();
  c.RunFor(60s);
  ASSERT_TRUE(c.Converge(1s));
  const std::size_t new_news = about["n64"];
  about.erase("n64");
  EXPECT_THAT(about, testing::IsEmpty()) << "about the old";
  const double lambda = Config::Lan().retransmit;
  const auto most = static_cast<std::size_t>(lambda * std::ceil(std::log10(kOld + 2)));
  for (const auto& [who, copies] : by) EXPECT_LE(copies, most) << who;
  EXPECT_GE(new_news, kOld) << "it is told at all";
}

// ---- The cost of size. ----

double Cpu() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// One member of a quiet group: a ping of its own with its ack, and one that it answers, each period.
class QuietMember {
 public:
  explicit QuietMember(std::size_t members) : rig_(Rig::Lan(), false), out_(false) {
    rig_.Know(members - 1);
    for (const Peer& peer : rig_.peers) by_address_[peer.address.Hash()] = &peer;
  }
  const Rig& rig() const { return rig_; }

  // CPU time of one period: the shortest of many batches, so that what else runs does not show.
  double Period() {
    double best = std::numeric_limits<double>::max();
    for (int batch = 0; batch < 20; ++batch) {
      const double from = Cpu();
      for (int i = 0; i < 500; ++i) OnePeriod();
      best = std::min(best, Cpu() - from);
    }
    return best;
  }

 private:
  void OnePeriod() {
    const Instant end = rig_.now.boot + 1s;
    Hear(rig_[1 + ++turn_ % rig_.peers.size()], FrameType::kPing, 77);
    while (rig_.engine->NextWake() <= end) {
      rig_.SetTime(std::max(rig_.now.boot, rig_.engine->NextWake()));
      rig_.engine->Wake(rig_.now, out_);
      pings_.clear();
      for (const Outbox::Datagram& datagram : out_.datagrams()) {
        Frame frame;
        if (DecodeDatagram(out_.bytes(datagram), LabelTag(""), &frame) != Fault::kNone) continue;
        if (frame.type == FrameType::kPing) pings_.emplace_back(by_address_.at(datagram.to.Hash()), frame.sequence);
      }
      out_.Clear();
      for (const auto& [peer, sequence] : pings_) Hear(*peer, FrameType::kAck, sequence);
    }
    rig_.SetTime(end);
  }
  void Hear(const Peer& from, FrameType type, std::uint32_t sequence) {
    Frame frame = Rig::Of(type, sequence);
    frame.label = LabelTag("");
    frame.sender = from.id();
    frame.digest = rig_.engine->digest();
    bytes_.clear();
    FrameWriter(frame, 1400, bytes_).Finish();
    rig_.engine->Receive(rig_.now, from.address, bytes_, out_);
    out_.Clear();
  }

  Rig rig_;
  Outbox out_;
  std::map<std::uint64_t, const Peer*> by_address_;
  std::vector<std::pair<const Peer*, std::uint32_t>> pings_;
  std::vector<std::byte> bytes_;
  std::size_t turn_ = 0;
};

// Caches are small, so that a large table costs a little more; what is done row by row would cost twenty times as much.
TEST(FieldSize, APeriodOfAMemberCostsTheSameInALargeGroup) {
  constexpr std::size_t kMembers = 20'000;
  QuietMember small(1000);
  QuietMember large(kMembers);
  const double of_small = small.Period();
  EXPECT_LT(large.Period(), 6 * of_small);
  EXPECT_EQ(large.rig().engine->alive(), kMembers);
  EXPECT_EQ(large.rig().Count(Counter::kRoundsFailed), 0u);
  EXPECT_GE(large.rig().Count(Counter::kRounds), 9000u);
}

// To list the members is to copy pointers, for they are kept; and linear.
TEST(FieldSize, ListingAllMembersIsLinearAndMakesNoneOfThemAnew) {
  QuietMember small(1000);
  QuietMember large(5000);
  const auto list = [](const QuietMember& of) {
    double best = std::numeric_limits<double>::max();
    for (int batch = 0; batch < 10; ++batch) {
      const double from = Cpu();
      for (int i = 0; i < 5; ++i) EXPECT_GE(of.rig().engine->Members().size(), 1000u);
      best = std::min(best, Cpu() - from);
    }
    return best;
  };
  EXPECT_LT(list(large), 15 * list(small)) << "of five times as many";
  const std::vector<MemberPtr> first = large.rig().engine->Members();
  large.Period();
  EXPECT_EQ(large.rig().engine->Members(), first) << "the same objects";
}

}  // namespace
}  // namespace nekton
