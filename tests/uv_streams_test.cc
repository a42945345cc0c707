// The stream half of the libuv transport against well-behaved peers, strangers and enemies.
#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <string>

#include "tests/uv_fixture.h"
#include "transport/uv_transport.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class UvStreamsTest : public UvTest {
 protected:
  std::unique_ptr<UvTransport> Make(Recorder* recorder, StreamLimits limits = {}) {
    UvTransportOptions options;
    options.streams = limits;
    options.on_stranger = [this](const Address& from, std::string_view what) {
      strangers_.push_back(from.ToString() + ": " + std::string(what));
    };
    auto made = UvTransport::Create(&loop_, Any(), std::move(options));
    EXPECT_TRUE(made.ok()) << made.status();
    (*made)->Open(recorder);
    return *std::move(made);
  }
  static RawSocket Client(const UvTransport& to) {
    RawSocket client(SOCK_STREAM);
    client.Connect(to.local());
    return client;
  }
  static RawSocket Listener() {
    RawSocket listener(SOCK_STREAM);
    EXPECT_EQ(listen(listener.fd(), 16), 0);
    return listener;
  }
  std::vector<std::string> strangers_;
};

TEST_F(UvStreamsTest, ARequestIsAnsweredAtOnceOrLater) {
  Recorder a, b;
  auto alpha = Make(&a), beta = Make(&b);
  alpha->Exchange(7, beta->local(), 30s, Bytes("question"));
  ASSERT_TRUE(RunUntil([&] { return b.requests.size() == 1; }));
  EXPECT_EQ(b.requests[0].bytes, "question");
  RunTurns(5);
  EXPECT_TRUE(a.answers.empty());
  beta->Reply(b.requests[0].id, Bytes("answer"));
  beta->Reply(b.requests[0].id, Bytes("a second one"));
  ASSERT_TRUE(RunUntil([&] { return a.answers.size() == 1; }));
  EXPECT_EQ(a.answers[0].id, 7U);
  EXPECT_TRUE(a.answers[0].status.ok());
  EXPECT_EQ(a.answers[0].bytes, "answer");

  b.on_request = [&](ExchangeId id) { beta->Reply(id, Bytes("at once")); };
  alpha->Exchange(8, beta->local(), 30s, Bytes("question"));
  ASSERT_TRUE(RunUntil([&] { return a.answers.size() == 2; }));
  EXPECT_EQ(a.answers[1].bytes, "at once");
  RunTurns(10);
  EXPECT_EQ(a.calls(), 2U) << "exactly one answer each";
}

TEST_F(UvStreamsTest, TheLargestFramePassesWholeBothWays) {
  Recorder a, b;
  const StreamLimits patient{.served = 60s};  // the thread sanitizer takes seconds for so many bytes
  auto alpha = Make(&a, patient), beta = Make(&b, patient);
  std::string large(kSyncBytesMax, '\0');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 2654435761U >> 13);
  b.on_request = [&](ExchangeId id) { beta->Reply(id, Bytes(b.requests.back().bytes)); };
  alpha->Exchange(1, beta->local(), 60s, Bytes(large));
  ASSERT_TRUE(RunUntil([&] { return a.answers.size() == 1; }));
  ASSERT_TRUE(a.answers[0].status.ok()) << a.answers[0].status;
  EXPECT_TRUE(b.requests[0].bytes == large);
  EXPECT_TRUE(a.answers[0].bytes == large);
}

TEST_F(UvStreamsTest, WhatNoFrameCanHoldIsRefusedBeforeItIsSent) {
  Recorder a, b;
  auto alpha = Make(&a), beta = Make(&b);
  alpha->Exchange(1, beta->local(), 30s, std::vector<std::byte>(kSyncBytesMax + 1));
  alpha->Exchange(2, beta->local(), 30s, {});
  EXPECT_EQ(a.calls(), 0U) << "no callback from inside a call";
  ASSERT_TRUE(RunUntil([&] { return a.answers.size() == 2; }));
  EXPECT_TRUE(absl::IsResourceExhausted(a.answers[0].status));
  EXPECT_TRUE(absl::IsResourceExhausted(a.answers[1].status));
  EXPECT_TRUE(b.requests.empty());
}

TEST_F(UvStreamsTest, ARefusedConnectionIsTroubleFirstAndThenAnAnswer) {
  Recorder a;
  auto alpha = Make(&a);
  Address closed;
  {
    const RawSocket gone(SOCK_STREAM);
    closed = gone.local();
  }
  alpha->Exchange(3, closed, 30s, Bytes("x"));
  ASSERT_TRUE(RunUntil([&] { return a.answers.size() == 1; }));
  ASSERT_EQ(a.troubles.size(), 1U);
  EXPECT_EQ(a.troubles[0], (std::pair{closed, Trouble::kRefused}));
  EXPECT_EQ(a.answers_before_trouble, 0U);
  EXPECT_TRUE(absl::IsUnavailable(a.answers[0].status)) << a.answers[0].status;
  EXPECT_THAT(std::string(a.answers[0].status.message()), HasSubstr(closed.ToString()));
  EXPECT_EQ(alpha->counters()[TransportCounter::kExchangesRefused], 1U);
}

// A listener that accepts and says nothing, or a byte now and then.
TEST_F(UvStreamsTest, AnExchangeEndsAtItsDeadlineWhateverTrickles) {
  Recorder a;
  auto alpha = Make(&a);
  RawSocket listener = Listener();
  const std::uint64_t begin = uv_hrtime();
  alpha->Exchange(1, listener.local(), 200ms, Bytes("x"));
  RawSocket silent = listener.Accept();
  alpha->Exchange(2, listener.local(), 200ms, Bytes("x"));
  RawSocket slow = listener.Accept();
  slow.Write(Framed("", 10000000));
  ASSERT_TRUE(RunUntil([&] {
    if (a.answers.size() < 2) send(slow.fd(), "x", 1, MSG_NOSIGNAL);
    return a.answers.size() == 2;
  }));
  EXPECT_GE(uv_hrtime() - begin, 200000000U);
  for (const auto& answer : a.answers) EXPECT_TRUE(absl::IsDeadlineExceeded(answer.status)) << answer.status;
  EXPECT_EQ(alpha->counters()[TransportCounter::kExchangesTimedOut], 2U);
}

// The order rule: what waits in the socket of a stopped process comes before the deadline that passed meanwhile.
TEST_F(UvStreamsTest, AnAnswerThatCameWhileWeStoodStillIsAnAnswer) {
  Recorder a;
  auto alpha = Make(&a);
  RawSocket listener = Listener();
  alpha->Exchange(1, listener.local(), 300ms, Bytes("x"));
  RawSocket peer = listener.Accept();
  const std::uint64_t deadline = uv_hrtime() + 300000000;
  std::array<char, 5> request{};
  ASSERT_TRUE(RunUntil([&] { return recv(peer.fd(), request.data(), 5, MSG_DONTWAIT | MSG_PEEK) == 5; }));
  RunTurns(2);
  peer.Write(Framed("in time"));
  StandStillUntil(deadline + 1000000);
  ASSERT_TRUE(RunUntil([&] { return a.answers.size() == 1; }));
  EXPECT_TRUE(a.answers[0].status.ok()) << a.answers[0].status;
  EXPECT_EQ(a.answers[0].bytes, "in time");
}

TEST_F(UvStreamsTest, EveryWayInWhichAPeerFailsIsToldApart) {
  Recorder a;
  StreamLimits limits;
  limits.inbound_bytes_max = 100000;
  auto alpha = Make(&a, limits);
  RawSocket listener = Listener();
  const auto ask = [&](const std::function<void(RawSocket&)>& peer_does) -> absl::Status {
    a.answers.clear();
    alpha->Exchange(1, listener.local(), 60s, Bytes("x"));
    RawSocket peer = listener.Accept();
    std::array<char, 5> request{};
    EXPECT_TRUE(RunUntil([&] { return recv(peer.fd(), request.data(), 5, MSG_DONTWAIT) == 5; }));
    peer_does(peer);
    EXPECT_TRUE(RunUntil([&] { return a.answers.size() == 1; }));
    return a.answers.empty() ? absl::UnknownError("none") : a.answers[0].status;
  };
  EXPECT_TRUE(absl::IsUnavailable(ask([](RawSocket& p) { p = RawSocket(Socket()); }))) << "closed without an answer";
  EXPECT_TRUE(absl::IsUnavailable(ask([](RawSocket& p) {
    p.Write(Framed("half", 8));
    p = RawSocket(Socket());
  })));
  EXPECT_TRUE(absl::IsUnavailable(ask([](RawSocket& p) { p.Reset(); }))) << "reset";
  EXPECT_EQ(alpha->counters()[TransportCounter::kExchangesBroken], 3U);
  EXPECT_TRUE(absl::IsResourceExhausted(ask([](RawSocket& p) { p.Write(Framed("x", kSyncBytesMax + 1)); })));
  EXPECT_TRUE(absl::IsResourceExhausted(ask([](RawSocket& p) { p.Write(Framed("", 0)); })));
  EXPECT_TRUE(absl::IsResourceExhausted(ask([](RawSocket& p) { p.Write(Framed(std::string(90000, 'x'), 200000)); })))
      << "more than all streams together may hold";
  EXPECT_EQ(alpha->counters()[TransportCounter::kExchangesTooLarge], 3U);
  EXPECT_TRUE(ask([](RawSocket& p) { p.Write(Framed(std::string(60000, 'x'))); }).ok()) << "memory was given back";
}

TEST_F(UvStreamsTest, ExchangesAreBoundedAndOthersGoOn) {
  Recorder a;
  StreamLimits limits;
  limits.outgoing_max = 3;
  auto alpha = Make(&a, limits);
  RawSocket listener = Listener();
  for (ExchangeId id = 1; id <= 4; ++id) alpha->Exchange(id, listener.local(), 60s, Bytes("x"));
  EXPECT_EQ(a.calls(), 0U) << "no callback from inside a call";
  ASSERT_TRUE(RunUntil([&] { return a.answers.size() == 1; }));
  EXPECT_EQ(a.answers[0].id, 4U);
  EXPECT_TRUE(absl::IsResourceExhausted(a.answers[0].status));
  std::vector<RawSocket> peers;
  for (int i = 0; i < 3; ++i) peers.push_back(listener.Accept());
  for (RawSocket& peer : peers) peer.Write(Framed("ok"));
  ASSERT_TRUE(RunUntil([&] { return a.answers.size() == 4; }));
  alpha->Exchange(5, listener.local(), 60s, Bytes("x"));
  RawSocket peer = listener.Accept();
  peer.Write(Framed("ok"));
  ASSERT_TRUE(RunUntil([&] { return a.answers.size() == 5; }));
  EXPECT_TRUE(a.answers[4].status.ok());
}

TEST_F(UvStreamsTest, StrangersAreClosedAtOnceAndCounted) {
  Recorder a;
  auto alpha = Make(&a);
  const std::vector<std::string> greetings = {"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
                                              std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11),
                                              "SSH-2.0-OpenSSH_9.2\r\n", std::string(4, '\0'), std::string(4, '\xff')};
  for (const std::string& greeting : greetings) {
    RawSocket client = Client(*alpha);
    client.Write(greeting);
    EXPECT_TRUE(RunUntil([&] { return client.Closed(); })) << greeting;
  }
  EXPECT_EQ(alpha->counters()[TransportCounter::kServedMalformed], greetings.size());
  EXPECT_EQ(strangers_.size(), greetings.size());
  EXPECT_TRUE(a.requests.empty());
}

TEST_F(UvStreamsTest, SilentAndTricklingStreamsEndAtTheirDeadline) {
  Recorder a;
  StreamLimits limits;
  limits.served = 200ms;
  auto alpha = Make(&a, limits);
  const std::uint64_t begin = uv_hrtime();
  RawSocket silent = Client(*alpha), slow = Client(*alpha);
  slow.Write(Framed("", 10000000));
  ASSERT_TRUE(RunUntil([&] {
    send(slow.fd(), "x", 1, MSG_NOSIGNAL);
    return silent.Closed() && slow.Closed();
  }));
  EXPECT_GE(uv_hrtime() - begin, 200000000U);
  EXPECT_EQ(alpha->counters()[TransportCounter::kServedTimedOut], 2U);
}

TEST_F(UvStreamsTest, ARequestThatNobodyAnswersEndsAtItsDeadlineToo) {
  Recorder a;
  StreamLimits limits;
  limits.served = 200ms;
  auto alpha = Make(&a, limits);
  RawSocket client = Client(*alpha);
  client.Write(Framed("hello"));
  ASSERT_TRUE(RunUntil([&] { return client.Closed(); }));
  ASSERT_EQ(a.requests.size(), 1U);
  alpha->Reply(a.requests[0].id, Bytes("too late"));
  EXPECT_EQ(alpha->counters()[TransportCounter::kServedTimedOut], 1U);
}

// 200 silent connections, and one that has something to say.
TEST_F(UvStreamsTest, SilentStreamsDoNotLockAJoinerOut) {
  Recorder a, b;
  auto alpha = Make(&a), beta = Make(&b);  // 5 s per stream, 64 streams
  a.on_request = [&](ExchangeId id) { alpha->Reply(id, Bytes("welcome")); };
  std::vector<RawSocket> silent;
  for (int i = 0; i < 200; ++i) {
    silent.push_back(Client(*alpha));
    RunTurns(2);
  }
  const auto& counters = alpha->counters();
  ASSERT_TRUE(
      RunUntil([&] { return counters[TransportCounter::kServed] + counters[TransportCounter::kServedFull] >= 200; }));
  EXPECT_GE(counters[TransportCounter::kServedFull], 1U) << "the bound was reached";
  ExchangeId asked = 0;
  ASSERT_TRUE(RunUntil([&] {
    if (!b.answers.empty() && b.answers.back().status.ok()) return true;
    if (b.answers.size() == asked) beta->Exchange(++asked, alpha->local(), 2s, Bytes("join"));
    return false;
  }));
  EXPECT_EQ(b.answers.back().bytes, "welcome");
  EXPECT_GE(counters[TransportCounter::kServedEvicted], 1U);
  EXPECT_EQ(counters[TransportCounter::kServedTimedOut], 0U) << "the joiner did not have to wait for the deadline";
}

TEST_F(UvStreamsTest, BeyondTheBoundANewStreamIsClosedAtOnce) {
  Recorder a;
  StreamLimits limits;
  limits.served_max = 2;
  auto alpha = Make(&a, limits);
  RawSocket one = Client(*alpha), two = Client(*alpha);
  one.Write(Framed("request"));
  two.Write(Framed("request"));
  ASSERT_TRUE(RunUntil([&] { return a.requests.size() == 2; }));
  RawSocket three = Client(*alpha);
  ASSERT_TRUE(RunUntil([&] { return three.Closed(); }));
  EXPECT_EQ(alpha->counters()[TransportCounter::kServedFull], 1U);
  alpha->Reply(a.requests[0].id, Bytes("done"));
  RawSocket four = Client(*alpha);
  four.Write(Framed("request"));
  ASSERT_TRUE(RunUntil([&] { return a.requests.size() == 3; })) << "a place is free again";
}

// Whole answers that wait to be taken are what costs memory: who asks for one more is told so, and gets an answer.
TEST_F(UvStreamsTest, BeyondSoManyAnswersUnderWayARequestIsMarkedBusy) {
  Recorder a;
  auto alpha = Make(&a);
  const std::string large(8 << 20, 'x');  // more than the buffers of a socket hold
  std::vector<RawSocket> slow;
  for (std::size_t i = 0; i < 32; ++i) {
    slow.push_back(Client(*alpha));
    slow.back().Write(Framed("request"));
    ASSERT_TRUE(RunUntil([&] { return a.requests.size() == i + 1; }));
    EXPECT_FALSE(a.requests[i].busy) << i;
    // Most wait for their answer, two for their client to read it.
    if (i < 2) alpha->Reply(a.requests[i].id, Bytes(large));
  }
  RawSocket next = Client(*alpha);
  next.Write(Framed("request"));
  ASSERT_TRUE(RunUntil([&] { return a.requests.size() == 33; }));
  EXPECT_TRUE(a.requests[32].busy);
  EXPECT_EQ(alpha->counters()[TransportCounter::kServedBusy], 1U);
  alpha->Reply(a.requests[32].id, Bytes("busy"));
  ASSERT_TRUE(RunUntil([&] { return next.Closed(); })) << "it has its answer";
  // A small answer makes room at once, silent connections take none.
  alpha->Reply(a.requests[5].id, Bytes("small"));
  for (int i = 0; i < 10; ++i) slow.push_back(Client(*alpha));
  slow.back().Write(Framed("request"));
  ASSERT_TRUE(RunUntil([&] { return a.requests.size() == 34; }));
  EXPECT_FALSE(a.requests[33].busy);
}

TEST_F(UvStreamsTest, InboundBytesOfAllStreamsAreBounded) {
  Recorder a;
  StreamLimits limits;
  limits.inbound_bytes_max = 100000;
  auto alpha = Make(&a, limits);
  RawSocket first = Client(*alpha);
  first.Write(Framed(std::string(60000, 'x'), 70000));
  RawSocket second = Client(*alpha);
  ASSERT_TRUE(RunUntil([&] { return alpha->counters()[TransportCounter::kServed] == 2; }));
  RunTurns(5);
  second.Write(Framed(std::string(60000, 'x'), 70000));
  ASSERT_TRUE(RunUntil([&] { return second.Closed(); }));
  EXPECT_EQ(alpha->counters()[TransportCounter::kServedFull], 1U);
  first.Write(std::string(10000, 'x'));
  ASSERT_TRUE(RunUntil([&] { return a.requests.size() == 1; }));
  EXPECT_EQ(a.requests[0].bytes.size(), 70000U);
}

TEST_F(UvStreamsTest, AnAskerThatHangsUpIsForgotten) {
  Recorder a;
  auto alpha = Make(&a);
  {
    RawSocket client = Client(*alpha);
    client.Write(Framed("request"));
    ASSERT_TRUE(RunUntil([&] { return a.requests.size() == 1; }));
  }
  ASSERT_TRUE(RunUntil([&] { return alpha->counters()[TransportCounter::kServedBroken] == 1; }));
  alpha->Reply(a.requests[0].id, Bytes("nobody hears it"));
  alpha->Reply(12345, Bytes("never asked"));
  RawSocket chatty = Client(*alpha);
  chatty.Write(Framed("request"));
  ASSERT_TRUE(RunUntil([&] { return a.requests.size() == 2; }));
  chatty.Write("and another thing");
  ASSERT_TRUE(RunUntil([&] { return chatty.Closed(); }));
  EXPECT_EQ(alpha->counters()[TransportCounter::kServedMalformed], 1U);
  RunTurns(5);
}

TEST_F(UvStreamsTest, AnEmptyReplyClosesTheStream) {
  Recorder a, b;
  auto alpha = Make(&a), beta = Make(&b);
  b.on_request = [&](ExchangeId id) { beta->Reply(id, {}); };
  alpha->Exchange(1, beta->local(), 60s, Bytes("x"));
  ASSERT_TRUE(RunUntil([&] { return a.answers.size() == 1; }));
  EXPECT_TRUE(absl::IsUnavailable(a.answers[0].status));
}

// A host program that never heard of SIGPIPE survives a peer that resets a stream under our writes.
TEST_F(UvStreamsTest, WritingToAResetStreamRaisesNoSignal) {
  const auto before = std::signal(SIGPIPE, SIG_DFL);
  Recorder a;
  auto alpha = Make(&a);
  for (int i = 0; i < 3; ++i) {
    RawSocket client = Client(*alpha);
    client.Write(Framed("request"));
    const std::size_t requests = a.requests.size();
    ASSERT_TRUE(RunUntil([&] { return a.requests.size() == requests + 1; }));
    const std::uint64_t broken = alpha->counters()[TransportCounter::kServedBroken];
    alpha->Reply(a.requests.back().id, std::vector<std::byte>(kSyncBytesMax));  // more than the buffers hold
    // After a half-close the kernel reports the reset as EPIPE, which is what comes with the signal.
    if (i != 0) shutdown(client.fd(), SHUT_WR);
    client.Reset();
    ASSERT_TRUE(RunUntil([&] { return alpha->counters()[TransportCounter::kServedBroken] == broken + 1; }));
  }
  std::signal(SIGPIPE, before);
}

TEST_F(UvStreamsTest, WithoutDescriptorsTheListenerRestsAndComesBack) {
  Recorder a;
  auto alpha = Make(&a);
  RawSocket client = Client(*alpha);  // in the backlog, not yet accepted
  client.Write(Framed("request"));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int highest = dup(client.fd());  // the lowest free number
  close(highest);
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(highest);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  // Nothing but the loop: the sanitizers' checks of calls need a descriptor, too.
  for (int turn = 0; turn < 2000; ++turn) uv_run(&loop_, UV_RUN_NOWAIT);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  const std::uint64_t errors = alpha->counters()[TransportCounter::kAcceptErrors];
  EXPECT_GE(errors, 1U);
  EXPECT_LE(errors, 100U) << "it does not spin";
  EXPECT_TRUE(RunUntil([&] { return a.requests.size() == 1; })) << "accepted when descriptors are there again";
}

}  // namespace
}  // namespace nekton
