// Views, homes and leases are opt-in: a group whose members are told of no authority sends what a group of bare engines
// sends, byte for byte, through loss, a crash, a restart, a leave, messages and broadcasts; and one that has an authority
// adds what the formats say and nothing else.
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "lease/lease_message.h"
#include "lease/member.h"
#include "swim/notice.h"
#include "swim/random.h"
#include "tests/cluster.h"
#include "tests/wire_samples.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

// A group of engines, or of members, on a network of its own that is late and loses things; and all that was ever sent.
template <typename M>
class Group {
 public:
  explicit Group(std::size_t size) : random_(11), all_(size) {
    for (std::size_t i = 0; i < size; ++i) Start(i);
  }

  void RunTo(Duration end) {
    while (true) {
      Duration next = flights_.empty() ? end : flights_.begin()->first;
      for (const One& one : all_) {
        if (one.runs) next = std::min(next, one.runs->NextWake().time_since_epoch());
      }
      if (next >= end) break;
      now_ = std::max(now_, next);
      while (!flights_.empty() && flights_.begin()->first <= now_) flights_.extract(flights_.begin()).mapped()();
      for (std::size_t i = 0; i < all_.size(); ++i) {
        if (!all_[i].runs || all_[i].runs->NextWake().time_since_epoch() > now_) continue;
        Do(i, [&](M& m) { m.Wake(Now(), out_); });
      }
    }
    now_ = end;
  }
  void Crash(std::size_t i) {
    Note(*all_[i].runs);
    all_[i].runs.reset();
  }
  void Start(std::size_t i) {
    Config config = Config::Lan();
    config.name = absl::StrCat("n", i);
    config.generation = 1'767'225'600'000 + static_cast<std::uint64_t>(now_.count() / 1'000'000);
    config.seed = 7;
    ++all_[i].life;
    all_[i].runs = std::make_unique<M>(*M::Create(config, At(i)));
    Do(i, [&](M& m) { m.Wake(Now(), out_); });
    if (i != 0) Order(i, Join{{At(0)}});
  }
  void Order(std::size_t i, const Command& command) {
    Do(i, [&](M& m) { said.push_back(m.Order(Now(), command, out_).ToString()); });
  }
  // What of each member is worth comparing.
  void Note(const M& m) {
    said.push_back(absl::StrCat(m.Fingerprint(), " ", m.alive(), " of ", m.size(), ", digest ", m.digest()));
    for (std::size_t c = 0; c < Counters::size(); ++c) counted.push_back(m.counters()[static_cast<Counter>(c)]);
  }
  void NoteAll() {
    for (const One& one : all_) {
      if (one.runs) Note(*one.runs);
    }
  }
  const M& of(std::size_t i) const { return *all_[i].runs; }

  std::vector<std::vector<std::byte>> sent;
  std::vector<std::string> said;  // statuses, events, mail
  std::vector<std::uint64_t> counted;
  std::uint64_t lost = 0;

 private:
  struct One {
    std::unique_ptr<M> runs;
    int life = 0;
  };

  static Address At(std::size_t i) { return Address::V4(10, 0, 0, static_cast<std::uint8_t>(i + 1), 7946); }
  Tick Now() const { return {Instant(now_), RawInstant(now_), WallTime(1'767'225'600s + now_)}; }

  void Do(std::size_t i, const std::function<void(M&)>& input) {
    input(*all_[i].runs);
    Outbox out = std::exchange(out_, Outbox());
    for (const Outbox::Datagram& d : out.datagrams()) {
      std::vector<std::byte> bytes(out.bytes(d).begin(), out.bytes(d).end());
      sent.push_back(bytes);
      if (random_.Below(50) == 0) {
        ++lost;
        continue;
      }
      Fly(IndexOf(d.to), [this, i, to = IndexOf(d.to), bytes = std::move(bytes)] {
        Do(to, [&](M& m) { m.Receive(Now(), At(i), bytes, out_); });
      });
    }
    for (Outbox::Request& request : out.requests()) {
      sent.push_back(request.bytes);
      const ExchangeId id = ++exchanges_;
      asking_[id] = {i, all_[i].life, request.id};
      if (!all_[IndexOf(request.to)].runs) {
        Finish(id, absl::UnavailableError("refused"), {});
        continue;
      }
      Fly(IndexOf(request.to), [this, i, id, to = IndexOf(request.to), bytes = std::move(request.bytes)] {
        Do(to, [&](M& m) { m.Serve(Now(), At(i), id, bytes, out_); });
      });
    }
    for (Outbox::Reply& reply : out.replies()) {
      sent.push_back(reply.bytes);
      Finish(reply.id, reply.bytes.empty() ? absl::UnavailableError("closed") : absl::OkStatus(), reply.bytes);
    }
    for (const Event& event : out.events()) said.push_back(absl::StrCat(i, " ", static_cast<int>(event.kind)));
    for (const Mail& mail : out.mail()) {
      said.push_back(absl::StrCat(i, " mail ", mail.member, " ", mail.body.size(), " ", mail.status.ToString()));
      if (mail.kind != MailKind::kRequest) continue;
      Fly(i, [this, i, id = mail.id, body = mail.body] { Order(i, Respond{id, absl::OkStatus(), body}); });
    }
    EXPECT_TRUE(out.stores().empty());
    EXPECT_TRUE(out.inner().empty());
    EXPECT_TRUE(out.inner_broadcasts().empty());
  }

  struct Asking {
    std::size_t who = 0;
    int life = 0;
    ExchangeId id = 0;
  };
  void Finish(ExchangeId id, const absl::Status& status, const std::vector<std::byte>& bytes) {
    const auto found = asking_.find(id);
    if (found == asking_.end()) return;
    const Asking asking = found->second;
    asking_.erase(found);
    Fly(asking.who, [this, asking, status, bytes] {
      if (all_[asking.who].life != asking.life) return;
      Do(asking.who, [&](M& m) { m.Answer(Now(), asking.id, status, bytes, out_); });
    });
  }
  void Fly(std::size_t to, std::function<void()> arrive) {
    const Duration delay(500'000 + random_.Below(20'000'000));
    flights_.emplace(now_ + delay, [this, to, arrive = std::move(arrive)] {
      if (all_[to].runs) arrive();
    });
  }
  static std::size_t IndexOf(const Address& at) { return static_cast<std::size_t>(at.ip[15]) - 1; }

  Random random_;
  std::vector<One> all_;
  Outbox out_;
  Duration now_ = 1000s;
  std::multimap<Duration, std::function<void()>> flights_;
  std::map<ExchangeId, Asking> asking_;
  ExchangeId exchanges_ = 0;
};

template <typename M>
std::unique_ptr<Group<M>> Played() {
  auto group = std::make_unique<Group<M>>(7);
  group->RunTo(1010s);
  group->Order(1, Broadcast{"colour", "green"});
  group->Order(2, Send{"n3", std::vector<std::byte>(20)});
  group->Order(3, SetTag{"role", "db"});
  Request request;
  request.id = 5;
  request.member = "n4";
  request.body = std::vector<std::byte>(3000);
  request.budget = 5s;
  group->Order(2, request);
  group->RunTo(1020s);
  group->Crash(5);
  group->RunTo(1045s);
  group->Start(5);
  group->RunTo(1060s);
  group->Order(6, Leave{});
  group->Order(1, Expel{"n4"});
  group->RunTo(1090s);
  group->NoteAll();
  return group;
}

TEST(OptInTest, WithoutAnAuthorityAGroupSendsWhatBareEnginesSend) {
  const auto engines = Played<Engine>();
  const auto members = Played<Member>();
  EXPECT_GT(engines->sent.size(), 1000u);
  EXPECT_GT(engines->lost, 20u);
  EXPECT_GE(engines->of(0).alive(), 4u);
  ASSERT_EQ(engines->sent.size(), members->sent.size());
  for (std::size_t i = 0; i < engines->sent.size(); ++i) ASSERT_EQ(engines->sent[i], members->sent[i]) << i;
  EXPECT_EQ(engines->said, members->said);
  EXPECT_EQ(engines->counted, members->counted);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(members->of(i).leases(), nullptr);
}

// The datagrams of a group, by what is in them.
struct Sorted {
  std::uint64_t plain = 0;     // frames in which nothing stands of views
  std::uint64_t grown = 0;     // frames that carry a head, or say something of the broadcasts that are held
  std::uint64_t inner = 0;     // mail of members beneath their users
  std::uint64_t other = 0;     // mail and broadcasts of users, of whom there are none here
  std::size_t growth_max = 0;  // by which a frame grew
  std::set<int> grown_types;
  std::set<std::pair<SimId, std::uint64_t>> asked;  // inner requests: by whom, and their numbers
};

bool IsOurs(const BroadcastPart& part) { return part.kind != PartKind::kBroadcast || IsInnerKey(part.key); }

void Sort(const SimDatagram& datagram, Sorted& traffic) {
  if (datagram.moment != SimDatagram::Moment::kSent) return;
  Frame frame;
  ASSERT_EQ(DecodeDatagram(datagram.bytes, LabelTag(""), &frame), Fault::kNone);
  if (frame.type == FrameType::kMail) {
    // An answer says only what it is the answer to.
    const bool answers = frame.letter == Letter::kAnswer && traffic.asked.contains({datagram.to, frame.sequence});
    const bool is_ours = answers || (frame.flags & kFlagInner) != 0;
    if (is_ours && frame.letter == Letter::kRequest) traffic.asked.insert({datagram.from, frame.sequence});
    ++(is_ours ? traffic.inner : traffic.other);
    return;
  }
  PartReader parts(frame.updates);
  std::size_t growth = 0;
  for (BroadcastPart part; parts.Next(&part);) {
    growth += EncodedSize(part);
    if (!IsOurs(part)) ++traffic.other;
  }
  ++(growth == 0 ? traffic.plain : traffic.grown);
  if (growth == 0) return;
  traffic.growth_max = std::max(traffic.growth_max, growth);
  traffic.grown_types.insert(static_cast<int>(frame.type));
}

struct Ran {
  Sorted traffic;
  std::uint64_t mail = 0;
  std::uint64_t pings = 0;
  SimCounters counters;
};

Ran RunGroup(bool authority) {
  Ran ran;
  Cluster c({.nodes = 6, .seed = 9, .start = false, .authority = authority});
  c.sim().SetTap([&](const SimDatagram& datagram) { Sort(datagram, ran.traffic); });
  for (SimId id = 0; id < c.size(); ++id) EXPECT_TRUE(c.sim().Start(id).ok());
  c.RunFor(20s);
  c.Crash(5);
  c.RunFor(25s);
  c.Restart(5);
  c.RunFor(30s);
  EXPECT_TRUE(c.Converge(10s));
  for (SimId id = 0; id < c.size(); ++id) {
    EXPECT_EQ(c.sim().leases(id) != nullptr, authority);
    if (authority) ran.pings += c.leases(id).counters().pings;
  }
  EXPECT_EQ(c.sim().evidence().empty(), !authority);
  ran.counters = c.sim().counters();
  return ran;
}

TEST(OptInTest, WithAnAuthorityOnlyWhatTheFormatsSayGrows) {
  const Ran without = RunGroup(false);
  EXPECT_GT(without.traffic.plain, 500u);
  EXPECT_EQ(without.traffic.grown, 0u);
  EXPECT_EQ(without.traffic.inner, 0u);
  EXPECT_EQ(without.traffic.other, 0u);

  const Ran with = RunGroup(true);
  EXPECT_EQ(with.traffic.other, 0u) << "no frame carries anything else";
  EXPECT_GT(with.traffic.grown, 10u);
  // A head with the key, origin and ages of its broadcast, and a digest of what is held.
  EXPECT_LE(with.traffic.growth_max, kViewHeadSize + 64 + kDigestPartSize);
  // Of pings, acks and gossip alone.
  for (const int type : with.traffic.grown_types) {
    EXPECT_TRUE(type == static_cast<int>(FrameType::kPing) || type == static_cast<int>(FrameType::kAck) ||
                type == static_cast<int>(FrameType::kPingReq) || type == static_cast<int>(FrameType::kRelayedAck) ||
                type == static_cast<int>(FrameType::kNack) || type == static_cast<int>(FrameType::kGossip))
        << type;
  }
  // Pings, their answers, fetches: two letters for each ping, and some.
  EXPECT_GE(with.traffic.inner, with.pings);
  EXPECT_LE(with.traffic.inner, 3 * with.pings + 50);
  // The failure detector sends as many frames as before, but for what a head in each of them has it gossip.
  const auto frames = [](const Ran& ran) { return static_cast<double>(ran.traffic.plain + ran.traffic.grown); };
  EXPECT_NEAR(frames(with) / frames(without), 1.0, 0.15);
}

}  // namespace
}  // namespace nekton
