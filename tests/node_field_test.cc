// Failures of other systems in the field, against nodes on real sockets: one identity for one address in whatever form,
// link-local zones, floods of garbage and of silent streams, names that resolve to the wrong thing first.
#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "swim/random.h"
#include "tests/node_fixture.h"
#include "tests/seal_net.h"
#include "tests/uv_fixture.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

bool HasIPv6() { return BindPair(Address::Parse("[::1]:0").value()).ok(); }

// 49: a dual-stack socket hears a v4 peer as ::ffff:127.0.0.1; both are one.
TEST(NodeFieldTest, AV4PeerOfADualStackNodeIsOneMember) {
  if (!HasIPv6()) GTEST_SKIP() << "no IPv6 here";
  std::string port;
  auto dual = StartAtSomePort([&port] {
    auto probe = MustStart(FastConfig("probe"));
    port = absl::StrCat(probe->local().port);
    probe->Stop();
    Config config = FastConfig("dual");
    config.bind = absl::StrCat("[::]:", port);
    config.advertise = absl::StrCat("127.0.0.1:", port);
    return Node::Start(config);
  });
  ASSERT_NE(dual, nullptr);
  EventLog log;
  const Subscription watch = dual->Subscribe(log.Handler());
  auto v4 = MustStart(FastConfig("v4", {absl::StrCat("127.0.0.1:", port)}));
  auto mapped = MustStart(FastConfig("mapped", {absl::StrCat("[::ffff:127.0.0.1]:", port)}));
  ASSERT_TRUE(WaitFor([&] { return v4->Members().Alive().size() == 3 && mapped->Members().Alive().size() == 3; }));
  EXPECT_EQ(dual->Members().Find("v4")->address, v4->advertised());
  EXPECT_EQ(dual->Members().Alive().size(), 3U);
  EXPECT_EQ(log.Count(EventKind::kNameConflict), 0U);
  EXPECT_EQ(log.Count(EventKind::kRestarted), 0U) << log.text();
}

TEST(NodeFieldTest, NodesMeetOverIPv6) {
  if (!HasIPv6()) GTEST_SKIP() << "no IPv6 here";
  Config config = FastConfig("alpha");
  config.bind = "[::1]:0";
  auto alpha = MustStart(config);
  Config other = FastConfig("beta", {alpha->local().ToString()});
  other.bind = "[::1]:0";
  auto beta = MustStart(other);
  EXPECT_TRUE(WaitFor(
      [&] { return Has(*alpha, "beta", MemberStatus::kActive) && Has(*beta, "alpha", MemberStatus::kActive); }));
  EXPECT_TRUE(beta->Leave(10s).ok());
}

// 50: zones by the name of an interface, and back.
TEST(NodeFieldTest, ZonesMayBeNamesOfInterfaces) {
  EXPECT_EQ(WithNumericZone("fe80::1%lo"), "fe80::1%1");
  EXPECT_EQ(WithNumericZone("[fe80::1%lo]:7000"), "[fe80::1%1]:7000");
  EXPECT_EQ(WithNumericZone("[fe80::1%1]:7000"), "[fe80::1%1]:7000");
  EXPECT_EQ(WithNumericZone("2001:db8::1"), "2001:db8::1");
  EXPECT_EQ(WithNumericZone("fe80::1%no-such"), "fe80::1%no-such");
  EXPECT_EQ(WithNumericZone("%"), "%");
  const auto address = Address::Parse(WithNumericZone("[fe80::1%lo]:7000"));
  ASSERT_TRUE(address.ok()) << address.status();
  EXPECT_EQ(address->scope, 1U);
  EXPECT_EQ(address->ToString(), "[fe80::1%1]:7000");
  Config config = FastConfig("alpha", {"[fe80::1%lo]:7000"});
  config.advertise = "127.0.0.1:1";  // else its bind address cannot be answered from there
  const auto started = Node::Start(config);
  EXPECT_TRUE(started.ok()) << started.status();
  config.seeds = {"[fe80::1%no-such]:7000"};
  EXPECT_THAT(std::string(Node::Start(config).status().message()), HasSubstr("seeds[0]"));
  auto node = MustStart(FastConfig("beta"));
  EXPECT_TRUE(node->Join({"[fe80::1%lo]:7000"}).ok());
}

// 48: the first address of a name is the node itself, the second is dead, the third lives.
TEST(NodeFieldTest, ANameWhoseFirstAddressesAreUselessIsFollowedToTheLast) {
  NodeOptions options;
  std::atomic<int> lookups = 0;
  options.resolve = [&](const std::string&) -> absl::StatusOr<std::vector<Address>> {
    if (++lookups <= 3) return absl::UnavailableError("not yet");
    return std::vector<Address>{Address::V4(127, 0, 0, 1, 0), Address::V4(127, 0, 0, 2, 0),
                                Address::V4(127, 0, 0, 3, 0)};
  };
  std::unique_ptr<Node> live;
  std::string port;  // one for all, as with names
  auto node = StartAtSomePort([&] {
    Config config = FastConfig("live");
    config.bind = "127.0.0.3:0";
    live = MustStart(config);
    port = absl::StrCat(live->local().port);
    config = FastConfig("node");
    config.bind = absl::StrCat("127.0.0.1:", port);
    return Node::Start(config, options);
  });
  ASSERT_NE(node, nullptr);
  EventLog log;
  const Subscription watch = node->Subscribe(log.Handler());
  ASSERT_TRUE(node->Join({absl::StrCat("cluster.internal:", port)}).ok());
  EXPECT_TRUE(WaitFor([&] { return Has(*node, "live", MemberStatus::kActive); }));
  EXPECT_GE(lookups, 4);
  for (const Event& event : log.all()) {
    if (event.kind == EventKind::kJoinResult && event.status.ok()) {
      EXPECT_NE(event.address, node->local()) << "joined itself";
    }
  }
}

// 57: what other systems call compressed, or anything else that is no type of ours.
TEST(NodeFieldTest, UnknownTypesAreDroppedAndCounted) {
  auto node = MustStart(FastConfig("node"));
  RawSocket stranger(SOCK_DGRAM);
  for (const char type : {'\x1e', '\x1f', '\x09', '\x10', '\xff'})
    stranger.SendTo(node->local(), type + std::string(40, 'x'));
  EXPECT_TRUE(WaitFor([&] {
    std::uint64_t sum = 0;
    for (const CounterValue& c : node->Counters()) sum += c.name.find("bad_") == 0 ? c.value : 0;
    return sum >= 5;
  }));
  // And whose they were.
  ASSERT_TRUE(WaitFor([&] { return !node->Refused().empty() && node->Refused()[0].second == 5; }));
  EXPECT_EQ(node->Refused().size(), 1U);
  EXPECT_EQ(node->Refused()[0].first, Address::V4(127, 0, 0, 1, 0));
  EXPECT_EQ(node->Members().Alive().size(), 1U);
}

// 54: every cut and every flipped byte of a recorded conversation, at a node that lives on.
TEST(NodeFieldTest, BrokenCopiesOfRealFramesChangeNothing) {
  auto alpha = MustStart(FastConfig("alpha"));
  RawSocket tap(SOCK_DGRAM);
  // What a member says to an address that it is told of: real frames.
  auto speaker = MustStart(FastConfig("speaker", {alpha->local().ToString()}));
  ASSERT_TRUE(WaitFor([&] { return Has(*alpha, "speaker", MemberStatus::kActive); }));
  EventLog log;
  const Subscription watch = alpha->Subscribe(log.Handler());
  const std::string frame = absl::StrCat(std::string("\x11\x00", 2), std::string(26, 'a'));
  for (std::size_t size = 0; size <= frame.size(); ++size) tap.SendTo(alpha->local(), frame.substr(0, size));
  Random random(1);
  for (int i = 0; i < 3000; ++i) {
    std::string garbage(random.Below(1400), '\0');
    for (char& c : garbage) c = static_cast<char>(random.Next() >> 56);
    tap.SendTo(alpha->local(), garbage);
    if (i % 100 == 0) std::this_thread::sleep_for(1ms);
  }
  std::this_thread::sleep_for(300ms);
  EXPECT_TRUE(Has(*alpha, "speaker", MemberStatus::kActive));
  EXPECT_EQ(log.Count(EventKind::kSuspected), 0U) << log.text();
}

// 64: hundreds of silent and of trickling streams, and a join in the middle of them.
TEST(NodeFieldTest, SilentStreamsKeepNobodyOut) {
  Config config = FastConfig("seed");
  config.stream_timeout = 2s;
  auto seed = MustStart(config);
  std::vector<RawSocket> silent;
  for (int i = 0; i < 200; ++i) {
    silent.emplace_back(SOCK_STREAM);
    silent.back().Connect(seed->local());
  }
  auto joiner = MustStart(FastConfig("joiner"));
  const JoinReport report = joiner->Join({seed->local().ToString()}, 20s);
  EXPECT_TRUE(report.status.ok()) << report.status;
  EXPECT_TRUE(
      WaitFor([&] { return std::all_of(silent.begin(), silent.end(), [](RawSocket& s) { return s.Closed(); }); }));
  EXPECT_TRUE(WaitFor([&] {
    return CounterOf(*seed, "transport_streams_refused_full") + CounterOf(*seed, "transport_streams_timed_out") +
               CounterOf(*seed, "transport_streams_evicted_slow") >=
           200;
  })) << "each is counted; the joiner's own tries, too, where there was no room";
  EXPECT_TRUE(Has(*seed, "joiner", MemberStatus::kActive));
}

// 63: a scraper and a TLS client on the stream port.
TEST(NodeFieldTest, HttpAndTlsAreClosedAndCountedEachOnce) {
  auto node = MustStart(FastConfig("node"));
  std::vector<RawSocket> scrapers;
  for (int i = 0; i < 30; ++i) {
    scrapers.emplace_back(SOCK_STREAM);
    scrapers.back().Connect(node->local());
    scrapers.back().Write(i % 10 == 0 ? std::string("\x16\x03\x01\x00\xa5\x01\x00\x00\xa1", 9)
                                      : "GET /metrics HTTP/1.1\r\nHost: node\r\n\r\n");
  }
  for (RawSocket& s : scrapers) EXPECT_TRUE(WaitFor([&] { return s.Closed(); }, 10s));
  EXPECT_TRUE(WaitFor([&] { return CounterOf(*node, "transport_streams_malformed") == 30; }, 15s));
}

// 77, and where the transport is the user's: a port is one node's.
TEST(NodeFieldTest, ASecondNodeOnAPortIsToldSo) {
  auto first = MustStart(FastConfig("first"));
  Config config = FastConfig("second");
  config.bind = first->local().ToString();
  EXPECT_EQ(Node::Start(config).status().code(), absl::StatusCode::kAlreadyExists);
}

}  // namespace
}  // namespace nekton
