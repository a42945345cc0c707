// Field: the way between two members. One kind of traffic is filtered and the other is not; an address is translated on
// the way; a connection hangs without an end; members that were replaced are dialled for ever; probes overlap.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cluster.h"
#include "tests/engine_rig.h"
#include "tests/forged_frames.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

constexpr SimId kB = 2;

void Block(Cluster& c, SimId member, Traffic what) {
  c.network().CutIn(member, what);
  c.network().CutOut(member, what);
}

// ---- hashicorp/serf#283, hashicorp/memberlist PR#37: datagrams are filtered, streams are not, and the member joins and
// fails every 30 s: the sync revives what the detector kills. ----

TEST(FieldPath, WithoutDatagramsAMemberLivesByItsStreamsAndIsReportedOnceAMinute) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Cluster c({.nodes = 4, .seed = seed});
    ASSERT_TRUE(c.Converge(30s));
    c.RunFor(5s);
    const Duration at = c.now();
    Block(c, kB, Traffic::kDatagrams);
    c.RunFor(10min);
    for (SimId id = 0; id < 4; ++id) {
      std::vector<Duration> last(4, Duration{-60s});
      std::size_t warnings = 0;
      for (const SimEvent& e : c.Events({.observer = id, .since = at})) {
        ASSERT_EQ(e.event.kind, EventKind::kStreamOnly) << e;
        ASSERT_TRUE(id == kB || e.event.member->name == "n2") << e;
        const auto about = static_cast<std::size_t>(e.event.member->name[1] - '0');
        EXPECT_GE(e.at - last[about], 60s) << e;
        last[about] = e.at;
        ++warnings;
      }
      EXPECT_GE(warnings, id == kB ? 27u : 9u) << "each of its ways is reported every minute";
    }
    c.Heal();
    EXPECT_TRUE(c.Converge(10s));
  }
}

TEST(FieldPath, WithoutStreamsAMemberLivesByItsDatagrams) {
  Cluster c({.nodes = 4});
  ASSERT_TRUE(c.Converge(30s));
  c.RunFor(5s);
  const Duration at = c.now();
  Block(c, kB, Traffic::kStreams);
  c.RunFor(5min);
  // News reaches it, and it is in everybody's table.
  c.Crash(3);
  c.RunFor(30s);
  EXPECT_EQ(c.Sees(kB, 3), MemberStatus::kInactive);
  c.Restart(3);
  c.RunFor(30s);
  EXPECT_EQ(c.Sees(kB, 3), MemberStatus::kActive);
  c.RunFor(4min);
  for (const SimId id : {0u, 1u}) EXPECT_TRUE(c.Events({.observer = id, .subject = kB, .since = at}).empty()) << id;
  EXPECT_EQ(c.Count({.kind = EventKind::kFailed, .observer = kB}), 1u) << "that crash";
}

TEST(FieldPath, WithoutStreamsNobodyJoinsAndTheErrorSaysWhy) {
  Cluster c({.nodes = 4});
  ASSERT_TRUE(c.Converge(30s));
  c.network().CutIn(0, Traffic::kStreams);
  const SimId late = c.AddNode();
  c.RunFor(60s);
  const auto results = c.Events({.kind = EventKind::kJoinResult, .observer = late});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].event.status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(results[0].event.address, c.sim().address(0));
  EXPECT_GE(c.member(late).counters()[Counter::kSyncsFailed], 3u) << "it goes on trying";
  EXPECT_EQ(c.member(late).size(), 1u);
  c.Heal();
  EXPECT_TRUE(c.Converge(15s));
}

// A sync that is lost is not lost in silence either.
TEST(FieldPath, WithoutStreamsASyncThatIsNeededFailsAndIsCounted) {
  Cluster c({.nodes = 4});
  ASSERT_TRUE(c.Converge(30s));
  c.RunFor(15s);
  Block(c, kB, Traffic::kStreams);
  // Nothing about the newcomer reaches B by datagram either, so its table differs.
  const auto news_of_late = [&](const SimDatagram& datagram) {
    if (datagram.to != kB) return true;
    Frame frame;
    std::vector<Update> updates;
    if (datagram.from == 4 || !ReadDatagram(datagram, &frame, &updates)) return false;
    for (const Update& update : updates) {
      if (update.name == "n4") return false;
    }
    return true;
  };
  c.sim().SetFilter(news_of_late);
  const SimId late = c.AddNode();
  c.RunFor(40s);
  EXPECT_EQ(c.Sees(kB, late), std::nullopt);
  EXPECT_GE(c.member(kB).counters()[Counter::kSyncsFailed], 2u);
  // hazelcast/hazelcast#6108, moby/moby#47728: one record is missing in one table, and stays missing. The gossip is long
  // over; only a comparison finds it.
  c.sim().SetFilter({});
  c.Heal();
  EXPECT_TRUE(c.Converge(20s));
  EXPECT_EQ(c.Sees(kB, late), MemberStatus::kActive);
}

// ---- weaviate/weaviate#2985, openobserve/openobserve#4558, moby/moby#30119: a member behind a translated address is
// known by one that nobody can reach. ----

// B is reached at what it advertises; what it sends comes from another port, and answers to that port reach it.
class Translator {
 public:
  Translator(Cluster& c, SimId inside, const Address& outside) : c_(c), inside_(inside), outside_(outside) {
    c.sim().SetFilter([this](const SimDatagram& d) {
      if (d.from != inside_ || d.from_address == outside_) return true;
      if (d.to != kNobody) Forward(d.to, outside_, d);
      return false;
    });
    c.sim().SetTap([this](const SimDatagram& d) {
      if (d.moment != SimDatagram::Moment::kSent) return;
      Read(d);
      if (d.to_address == outside_) Forward(inside_, d.from_address, d);
    });
  }
  ~Translator() {
    c_.sim().SetFilter({});
    c_.sim().SetTap({});
  }
  Translator(const Translator&) = delete;
  Translator& operator=(const Translator&) = delete;
  std::size_t translated() const { return translated_; }
  std::size_t named() const { return named_; }
  std::size_t wrong() const { return wrong_; }

 private:
  void Forward(SimId to, const Address& from, const SimDatagram& d) {
    ++translated_;
    c_.sim().At(c_.now() + 1ms, [this, to, from, bytes = std::vector<std::byte>(d.bytes.begin(), d.bytes.end())] {
      c_.sim().Inject(to, from, bytes);
    });
  }
  void Read(const SimDatagram& d) {
    Frame frame;
    std::vector<Update> updates;
    if (!ReadDatagram(d, &frame, &updates)) return;
    const Address& right = c_.sim().address(inside_);
    if (frame.type == FrameType::kPingReq && frame.target == IdOf(c_, inside_)) {
      ++named_;
      wrong_ += frame.target_address != right;
    }
    for (const Update& update : updates) {
      if (update.name != c_.sim().name(inside_)) continue;
      ++named_;
      wrong_ += update.address != right;
    }
  }

  Cluster& c_;
  const SimId inside_;
  const Address outside_;
  std::size_t translated_ = 0;
  std::size_t named_ = 0;
  std::size_t wrong_ = 0;
};

TEST(FieldPath, ATranslatedMemberIsKnownByWhatItAdvertises) {
  Cluster c({.nodes = 3});
  ASSERT_TRUE(c.Converge(30s));
  Config config = Config::Lan();
  config.seeds = {"10.0.0.1:7946"};
  const Address advertised = Address::V4(198, 51, 100, 9, 17946);
  const SimId b = c.sim().Add(config, {.address = advertised});
  Translator translator(c, b, Address::V4(198, 51, 100, 9, 40001));
  ASSERT_TRUE(c.sim().Start(b).ok());
  ASSERT_TRUE(c.Converge(10s));
  c.RunFor(30s);
  c.Cut(0, 1);  // relays are needed, and one that is asked is B,
  c.RunFor(30s);
  c.Cut(0, b);  // or it is B that is asked for
  c.RunFor(60s);
  c.Heal();
  // A refutation of its own carries its address, too.
  Tell(c, b, 1, {Accuse(c, UpdateKind::kSuspect, b, 0, 1)});
  c.RunFor(30s);
  EXPECT_GE(c.member(b).Self()->key.incarnation, 1u);
  EXPECT_TRUE(c.Converge(1s));
  for (const SimId id : {0u, 1u, 2u}) {
    for (const MemberPtr& row : c.member(id).Members()) {
      EXPECT_TRUE(row->name != "n3" || row->address == advertised) << *row;
    }
  }
  EXPECT_GE(translator.translated(), 300u);
  EXPECT_GE(translator.named(), 20u);
  EXPECT_EQ(translator.wrong(), 0u);
  EXPECT_EQ(c.Count(EventKind::kSuspected) + c.Count(EventKind::kFailed) + c.Count(EventKind::kUpdated), 0u);
}

// ---- nats-io/nats-server#1399: who comes back is refused as a duplicate of its own connection that still hangs. ----

TEST(FieldPath, AStreamThatHangsStandsInNobodysWay) {
  for (const bool restarts : {false, true}) {
    Cluster c({.nodes = 3});
    ASSERT_TRUE(c.Converge(30s));
    const SimId b = c.AddNode();
    c.network().CutOneWay(0, b, Traffic::kStreams);  // its request arrives, the answer does not, and nobody says so
    c.RunFor(2s);
    EXPECT_EQ(c.Count({.kind = EventKind::kJoinResult, .observer = b}), 0u);
    const Duration at = c.now();
    if (restarts) {
      c.Crash(b, Port::kSilent);
      c.Heal();
      c.Restart(b);
    } else {  // it tries another way while the first one hangs
      ASSERT_TRUE(c.sim().Order(b, Join{{c.sim().address(1)}}).ok());
    }
    c.RunFor(1s);
    const auto results = c.Events({.kind = EventKind::kJoinResult, .observer = b, .since = at});
    ASSERT_EQ(results.size(), 1u) << restarts;
    EXPECT_TRUE(results[0].event.status.ok()) << results[0].event.status;
    EXPECT_TRUE(c.AllSee(b, MemberStatus::kActive));
    c.Heal();
    c.RunFor(60s);
    EXPECT_EQ(c.Count({.kind = EventKind::kSuspected}) + c.Count({.kind = EventKind::kFailed}), 0u);
    EXPECT_EQ(c.Count({.kind = EventKind::kNameConflict}), 0u);
    EXPECT_TRUE(c.Converge(1s));
  }
}

// ---- prometheus/alertmanager#1722, #2775, #1820: addresses of members that are gone are dialled for hours, and are
// counted as failed peers for as long. ----

TEST(FieldPath, TheAddressOfWhoWasReplacedIsDialledNoMore) {
  for (const bool same_name : {true, false}) {
    Cluster c({.nodes = 5});
    ASSERT_TRUE(c.Converge(30s));
    c.RunFor(5s);
    const Address old = c.sim().address(3);
    c.Crash(3, Port::kRefuses);
    c.RunFor(5s);
    const Address moved = Address::V4(10, 9, 9, 11, 7946);
    if (same_name) {
      c.Restart(3, {.address = moved});
    } else {
      Config config = Config::Lan();
      config.name = "b2";
      config.seeds = {"10.0.0.1:7946"};
      c.AddNode(config, {.address = moved});
    }
    ASSERT_TRUE(c.Converge(30s));
    c.RunFor(100s);  // the dead are tried until their tombstones end
    std::size_t dials = 0;
    c.sim().SetTap(
        [&](const SimDatagram& d) { dials += d.moment == SimDatagram::Moment::kSent && d.to_address == old ? 1 : 0; });
    const std::uint64_t refused = c.sim().counters().streams_refused;
    const std::uint64_t streams = c.sim().counters().streams;
    c.RunFor(10min);
    EXPECT_EQ(dials, 0u) << same_name;
    EXPECT_EQ(c.sim().counters().streams_refused, refused);
    EXPECT_EQ(c.sim().counters().streams, streams);
    for (const SimId id : {0u, 1u, 2u, 4u}) {
      EXPECT_EQ(c.member(id).size(), 5u) << "no failed one is kept";
      EXPECT_EQ(c.member(id).alive(), 5u);
    }
  }
}

// ---- al8n/memberlist PR#188, #165; caio/foca PR#13: who is slow to believe others stretches its probes, the next one of
// the same member begins before the last is over, and answers are taken for those of the other. ----

TEST(FieldProbe, AMemberIsNeverProbedTwiceAtOnceHoweverPeriodsStretchAndShrink) {
  Config config = Rig::Lan();
  config.local_health_max = 7;
  config.rules.excuse_deafness = true;
  Rig rig(config);
  rig.Know(3);
  rig.Run(3s);
  rig.Silence();
  rig.Run(20s);  // nobody says a word: it doubts itself, and its periods grow
  const std::vector<Said> slow = rig.Rounds();
  ASSERT_GE(slow.size(), 3u);
  EXPECT_GE(slow.back().at - slow[slow.size() - 2].at, 3s);
  for (const std::size_t back : {2u, 3u}) rig[back].answers = rig[back].answers_relays = rig[back].relays = true;
  rig.Run(60s);  // two are back, and so is its trust in itself, while a long round at the third may be open
  std::map<Address, std::vector<std::uint32_t>> serials;
  for (const Said& said : rig.sent) {
    if (!said.is_round()) continue;
    std::vector<std::uint32_t>& of = serials[said.to];
    if (of.empty() || of.back() != said.serial()) of.push_back(said.serial());
  }
  for (auto& [target, of] : serials) {
    EXPECT_GE(of.size(), 3u) << target.ToString();
    std::sort(of.begin(), of.end());
    EXPECT_EQ(std::adjacent_find(of.begin(), of.end()), of.end()) << "two rounds took turns at " << target.ToString();
  }
}

}  // namespace
}  // namespace nekton
