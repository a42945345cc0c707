// The datagram half of the libuv transport against raw sockets, and its shutdown.
#include "transport/uv_transport.h"

#include <array>
#include <chrono>
#include <memory>
#include <string>

#include "tests/uv_fixture.h"
#include "transport/uv_clock.h"
#include "transport/uv_udp.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class UvTransportTest : public UvTest {
 protected:
  std::unique_ptr<UvTransport> Make(Recorder* recorder, const Address& bind = Any()) {
    auto made = UvTransport::Create(&loop_, bind);
    EXPECT_TRUE(made.ok()) << made.status();
    (*made)->Open(recorder);
    return *std::move(made);
  }
};

TEST_F(UvTransportTest, DatagramsGoBothWays) {
  Recorder a, b;
  auto alpha = Make(&a), beta = Make(&b);
  alpha->Send(beta->local(), Bytes("ping"));
  ASSERT_TRUE(RunUntil([&] { return b.datagrams.size() == 1; }));
  EXPECT_EQ(b.datagrams[0].from, alpha->local());
  EXPECT_EQ(b.datagrams[0].bytes, "ping");
  beta->Send(b.datagrams[0].from, Bytes("ack"));
  ASSERT_TRUE(RunUntil([&] { return a.datagrams.size() == 1; }));
  EXPECT_EQ(a.datagrams[0].bytes, "ack");
}

TEST_F(UvTransportTest, TheLargestDatagramPassesWhole) {
  Recorder a, b;
  auto alpha = Make(&a), beta = Make(&b);
  const std::string large(alpha->mtu(), 'x');
  alpha->Send(beta->local(), Bytes(large));
  ASSERT_TRUE(RunUntil([&] { return b.datagrams.size() == 1; }));
  EXPECT_EQ(b.datagrams[0].bytes, large);
}

TEST_F(UvTransportTest, ADualStackNodeKnowsAV4PeerByItsV4Address) {
  Recorder a, b;
  auto made = UvTransport::Create(&loop_, Address::Parse("[::]:0").value());
  if (!made.ok()) GTEST_SKIP() << "no IPv6 here: " << made.status();
  auto alpha = *std::move(made);
  alpha->Open(&a);
  auto beta = Make(&b);
  beta->Send(Address::V4(127, 0, 0, 1, alpha->local().port), Bytes("from v4"));
  ASSERT_TRUE(RunUntil([&] { return a.datagrams.size() == 1; }));
  EXPECT_EQ(a.datagrams[0].from, beta->local());
  alpha->Send(a.datagrams[0].from, Bytes("back"));
  ASSERT_TRUE(RunUntil([&] { return b.datagrams.size() == 1; }));
  a.on_request = [&](ExchangeId id) { alpha->Reply(id, Bytes("over v6")); };
  beta->Exchange(1, Address::V4(127, 0, 0, 1, alpha->local().port), 30s, Bytes("stream"));
  ASSERT_TRUE(RunUntil([&] { return b.answers.size() == 1; }));
  EXPECT_EQ(b.answers[0].bytes, "over v6");
}

TEST_F(UvTransportTest, EmptyDatagramsArePassedOnAndReceptionGoesOn) {
  Recorder a;
  auto alpha = Make(&a);
  RawSocket stranger(SOCK_DGRAM);
  // In portions that surely fit the socket's buffer.
  for (std::size_t sent = 0; sent < 1000; sent += 100) {
    for (int i = 0; i < 100; ++i) stranger.SendTo(alpha->local(), "");
    ASSERT_TRUE(RunUntil([&] { return a.datagrams.size() == sent + 100; })) << a.datagrams.size();
  }
  for (const auto& d : a.datagrams) EXPECT_EQ(d.bytes, "");
  stranger.SendTo(alpha->local(), "more");
  ASSERT_TRUE(RunUntil([&] { return a.datagrams.size() == 1001; }));
  EXPECT_EQ(a.datagrams.back().bytes, "more");
  EXPECT_EQ(a.datagrams.back().from, stranger.local());
}

struct UdpRecorder : UvUdp::Owner {
  void OnUdp(const Address&, std::span<const std::byte> bytes) override { received.push_back(Text(bytes)); }
  void OnUdpTrouble(const Address&, Trouble trouble) override { troubles.push_back(trouble); }
  void OnUdpClosed() override { closed = true; }
  std::vector<std::string> received;
  std::vector<Trouble> troubles;
  bool closed = false;
};

// What a receive callback of libuv may be called with.
TEST(UvUdpTest, EveryFormOfReceiveIsToldApart) {
  UdpRecorder owner;
  TransportCounters counters;
  UvUdp udp(owner, counters);
  sockaddr_storage from{};
  ToSockaddr(Address::V4(127, 0, 0, 1, 7), true, &from);
  const auto* address = reinterpret_cast<const sockaddr*>(&from);
  const auto bytes = Bytes("abcdef");

  udp.Received(0, bytes.data(), nullptr, 0);
  udp.Received(0, bytes.data(), nullptr, UV_UDP_MMSG_FREE);
  EXPECT_TRUE(owner.received.empty());
  udp.Received(UV_ECONNREFUSED, nullptr, nullptr, 0);
  EXPECT_EQ(counters[TransportCounter::kReceiveErrors], 1U);
  udp.Received(6, bytes.data(), address, UV_UDP_MMSG_CHUNK | UV_UDP_PARTIAL);
  EXPECT_EQ(counters[TransportCounter::kTruncated], 1U);
  EXPECT_TRUE(owner.received.empty());
  udp.Received(0, bytes.data(), address, UV_UDP_MMSG_CHUNK);
  udp.Received(3, bytes.data(), address, UV_UDP_MMSG_CHUNK);
  EXPECT_EQ(owner.received, (std::vector<std::string>{"", "abc"}));
  udp.Close();
  EXPECT_TRUE(owner.closed);
  udp.Received(3, bytes.data(), address, 0);
  EXPECT_EQ(owner.received.size(), 2U);
}

TEST(UvUdpTest, EveryFailureToSendIsCountedByItsCause) {
  UdpRecorder owner;
  TransportCounters counters;
  UvUdp udp(owner, counters);
  const Address to = Address::V4(127, 0, 0, 1, 7);
  const std::vector<std::pair<int, TransportCounter>> causes = {
      {UV_EAGAIN, TransportCounter::kSendBlocked},
      {UV_ENOBUFS, TransportCounter::kSendBlocked},
      {UV_EPERM, TransportCounter::kSendDenied},
      {UV_EACCES, TransportCounter::kSendDenied},
      {UV_ENETUNREACH, TransportCounter::kSendUnreachable},
      {UV_EHOSTUNREACH, TransportCounter::kSendUnreachable},
      {UV_EINVAL, TransportCounter::kSendOther},
      {UV_EMSGSIZE, TransportCounter::kSendTooBig},
  };
  for (const auto& [error, counter] : causes) {
    const std::uint64_t before = counters[counter];
    owner.troubles.clear();
    udp.Sent(to, error);
    EXPECT_EQ(counters[counter], before + 1) << uv_strerror(error);
    EXPECT_EQ(owner.troubles, std::vector<Trouble>{error == UV_EMSGSIZE ? Trouble::kTooBig : Trouble::kSendFailed});
  }
  owner.troubles.clear();
  udp.Sent(to, 100);
  EXPECT_TRUE(owner.troubles.empty());
}

TEST_F(UvTransportTest, AFailedSendIsReportedInALaterTurnAndOthersArriveAllTheSame) {
  Recorder a, b;
  auto alpha = Make(&a), beta = Make(&b);
  const Address denied = Address::V4(255, 255, 255, 255, 9);  // broadcast is off: EACCES, and nothing leaves
  const Address v6 = Address::Parse("[::1]:9").value();       // no way there from a v4 socket
  alpha->Send(denied, Bytes("x"));
  alpha->Send(beta->local(), Bytes("healthy"));
  alpha->Send(beta->local(), std::vector<std::byte>(65508));
  alpha->Send(v6, Bytes("x"));
  EXPECT_EQ(a.calls(), 0U) << "no callback from inside a call";
  ASSERT_TRUE(RunUntil([&] { return a.troubles.size() == 3 && b.datagrams.size() == 1; }));
  EXPECT_EQ(a.troubles[0], (std::pair{denied, Trouble::kSendFailed}));
  EXPECT_EQ(a.troubles[1], (std::pair{beta->local(), Trouble::kTooBig}));
  EXPECT_EQ(a.troubles[2], (std::pair{v6, Trouble::kSendFailed}));
  EXPECT_EQ(alpha->counters()[TransportCounter::kSendDenied], 1U);
  EXPECT_EQ(alpha->counters()[TransportCounter::kSendTooBig], 1U);
  EXPECT_EQ(alpha->counters()[TransportCounter::kSendOther], 1U);
}

// A receiver that answers each report with a further send must not spin.
TEST_F(UvTransportTest, TroubleThatBreedsTroubleLeavesTheLoopItsTurns) {
  Recorder a;
  auto alpha = Make(&a);
  const Address denied = Address::V4(255, 255, 255, 255, 9);
  struct Stubborn : Recorder {
    void OnTrouble(const Address& about, Trouble trouble) override {
      Recorder::OnTrouble(about, trouble);
      transport->Send(about, Bytes("again"));
    }
    UvTransport* transport = nullptr;
  } stubborn;
  auto beta = Make(&stubborn);
  stubborn.transport = beta.get();
  beta->Send(denied, Bytes("x"));
  const std::uint64_t begin = uv_hrtime();
  ASSERT_TRUE(RunUntil([&] { return stubborn.troubles.size() >= 20; }));
  EXPECT_GE(uv_hrtime() - begin, 19U * 900000) << "at most one round a millisecond";
}

TEST_F(UvTransportTest, ReportsOfOneTurnAreBounded) {
  Recorder a;
  auto alpha = Make(&a);
  for (int i = 0; i < 1000; ++i) alpha->Send(Address::V4(255, 255, 255, 255, 9), Bytes("x"));
  ASSERT_TRUE(RunUntil([&] { return !a.troubles.empty(); }));
  EXPECT_EQ(a.troubles.size() + alpha->counters()[TransportCounter::kTroublesDropped], 1000U);
  EXPECT_LE(a.troubles.size(), 256U);
  EXPECT_EQ(alpha->counters()[TransportCounter::kSendDenied], 1000U);
}

// All of it due in one turn.
TEST_F(UvTransportTest, ClosesWithEverythingInFlightAndCallsNobodyAfterwards) {
  Recorder a, b;
  auto alpha = Make(&a), beta = Make(&b);
  b.on_request = [](ExchangeId) {};  // never answered
  alpha->Exchange(1, beta->local(), 30s, Bytes("request"));
  ASSERT_TRUE(RunUntil([&] { return b.requests.size() == 1; }));
  for (int i = 0; i < 50; ++i) beta->Send(alpha->local(), Bytes("x"));
  alpha->Send(Address::V4(255, 255, 255, 255, 9), Bytes("x"));
  alpha->Exchange(2, Address::V4(127, 0, 0, 1, 1), 1ms, Bytes("request"));
  int done = 0;
  alpha->Close([&] { ++done; });
  alpha->Close([&] { done += 100; });
  EXPECT_EQ(done, 0) << "later, not now";
  alpha->Send(beta->local(), Bytes("after"));
  alpha->Exchange(3, beta->local(), 30s, Bytes("after"));
  ASSERT_TRUE(RunUntil([&] { return done == 1; }));
  RunTurns(10);
  EXPECT_EQ(done, 1);
  EXPECT_EQ(a.calls(), 0U);
  EXPECT_TRUE(b.datagrams.empty());
}

TEST_F(UvTransportTest, ClosingInsideAReceiveCallbackWaitsForItsEnd) {
  Recorder a;
  auto alpha = Make(&a);
  RawSocket stranger(SOCK_DGRAM);
  for (int i = 0; i < 20; ++i) stranger.SendTo(alpha->local(), "x");
  bool done = false;
  a.on_datagram = [&] { alpha->Close([&] { done = true; }); };
  ASSERT_TRUE(RunUntil([&] { return done; }));
  EXPECT_EQ(a.datagrams.size(), 1U) << "the rest of the batch belongs to nobody";
}

TEST_F(UvTransportTest, DestroyedInsideItsCallbacks) {
  Recorder a, b;
  auto alpha = Make(&a), beta = Make(&b);
  RawSocket stranger(SOCK_DGRAM);
  for (int i = 0; i < 20; ++i) stranger.SendTo(alpha->local(), "x");
  a.on_datagram = [&] { alpha.reset(); };
  ASSERT_TRUE(RunUntil([&] { return alpha == nullptr; }));
  RunTurns(10);
  EXPECT_EQ(a.calls(), 1U);

  Recorder c;
  auto gamma = Make(&c);
  b.on_request = [&](ExchangeId) { beta.reset(); };
  c.on_answer = [&] { gamma.reset(); };
  gamma->Exchange(1, beta->local(), 30s, Bytes("request"));
  ASSERT_TRUE(RunUntil([&] { return gamma == nullptr; }));
  EXPECT_EQ(c.answers[0].status.code(), absl::StatusCode::kUnavailable);
}

TEST_F(UvTransportTest, NoTimerFiresEarlyAfterALongCallback) {
  struct Timed {
    uv_timer_t timer{};
    std::uint64_t due = 0;
    std::uint64_t fired = 0;
  };
  std::array<Timed, 20> timed;
  uv_update_time(&loop_);
  StandStillUntil(uv_hrtime() + 100000000);  // the loop's cached time is 100 ms old from here on
  for (std::size_t i = 0; i < timed.size(); ++i) {
    Timed& t = timed[i];
    uv_timer_init(&loop_, &t.timer);
    t.timer.data = &t;
    t.due = HrtimeIn(Duration(1ms) + i * Duration(1337us));
    StartTimerAt(&t.timer, t.due, [](uv_timer_t* timer) { static_cast<Timed*>(timer->data)->fired = uv_hrtime(); });
  }
  const auto all_fired = [&] {
    return std::all_of(timed.begin(), timed.end(), [](const Timed& t) { return t.fired != 0; });
  };
  ASSERT_TRUE(RunUntil(all_fired));
  for (Timed& t : timed) {
    EXPECT_GE(t.fired, t.due);
    uv_close(reinterpret_cast<uv_handle_t*>(&t.timer), nullptr);
  }
  RunTurns(2);  // the handles are this function's
}

TEST(UvClockTest, ClocksAreThoseOfTheSystem) {
  const auto read = [](clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
  };
  const auto boot = read(CLOCK_BOOTTIME), raw = read(CLOCK_MONOTONIC_RAW), wall = read(CLOCK_REALTIME);
  const Tick tick = ReadClocks();
  EXPECT_GE(tick.boot.time_since_epoch(), boot);
  EXPECT_LE(tick.boot.time_since_epoch(), read(CLOCK_BOOTTIME));
  EXPECT_GE(tick.raw.time_since_epoch(), raw);
  EXPECT_LE(tick.raw.time_since_epoch(), read(CLOCK_MONOTONIC_RAW));
  EXPECT_LT(tick.wall.time_since_epoch() - wall, 60s);
}

}  // namespace
}  // namespace nekton
