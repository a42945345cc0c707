// Does a transport keep to what transport.h promises? A suite for GoogleTest, which every transport of nekton passes, and
// which yours can:
//
//   #include "transport/conformance.h"   // in one .cc file of the test program
//
//   class MyWorld final : public nekton::TransportWorld { ... };
//   INSTANTIATE_TEST_SUITE_P(Mine, TransportConformance,
//                            testing::Values(nekton::WorldFactory{"Mine", [] { return std::make_unique<MyWorld>(); }}));
//
// Each test makes a world of its own, with two or three transports in it, on a network without faults.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "swim/message.h"
#include "transport/transport.h"

namespace nekton {

// What the tests need around the transports.
class TransportWorld {
 public:
  virtual ~TransportWorld() = default;
  // A new transport with an address of its own, not open yet. Null fails the test.
  virtual std::unique_ptr<Transport> Make() = 0;
  // An address, as those of Make() are, at which nobody is.
  virtual Address Nobody() = 0;
  // Gives the transports their turns until `done`; false: it did not become true within about 10 s of the world's time.
  virtual bool RunUntil(const std::function<bool()>& done) = 0;
  // The same for about so long, whatever happens.
  virtual void RunFor(Duration time) = 0;

  // What not every transport can do.
  virtual std::size_t request_max() const { return std::size_t{1} << 20; }  // bytes of a request that must pass
  virtual bool tells_refusal() const { return true; }  // of an exchange with nobody: Unavailable, and no waiting
};

struct WorldFactory {
  std::string name;
  std::function<std::unique_ptr<TransportWorld>()> make;
  friend std::ostream& operator<<(std::ostream& out, const WorldFactory& factory) { return out << factory.name; }
};

class TransportConformance : public testing::TestWithParam<WorldFactory> {
 protected:
  using Bytes = std::vector<std::byte>;

  // One end: a transport, and who is told what comes. Every callback from inside a call fails the test.
  class End final : public Transport::Receiver {
   public:
    explicit End(std::unique_ptr<Transport> made) : transport(std::move(made)) {}
    void OnDatagram(const Address& from, std::span<const std::byte> bytes) override {
      Called();
      datagrams.emplace_back(from, Bytes(bytes.begin(), bytes.end()));
      if (on_datagram) on_datagram();
    }
    void OnRequest(const Address& from, ExchangeId id, std::span<const std::byte> bytes, bool busy) override {
      Called();
      (void)from;
      (void)busy;
      requests.emplace_back(id, Bytes(bytes.begin(), bytes.end()));
      if (on_request) on_request(id);
    }
    void OnAnswer(ExchangeId id, const absl::Status& status, std::span<const std::byte> bytes) override {
      Called();
      answers.push_back({id, status, Bytes(bytes.begin(), bytes.end())});
    }
    void OnTrouble(const Address& about, Trouble trouble) override {
      Called();
      troubles.emplace_back(about, trouble);
      answers_before_trouble = answers.size();
    }

    void Open() {
      Call([this] { transport->Open(this); });
    }
    void Send(const Address& to, std::span<const std::byte> bytes) {
      Call([&] { transport->Send(to, bytes); });
    }
    void Exchange(ExchangeId id, const Address& to, Duration limit, Bytes request) {
      Call([&] { transport->Exchange(id, to, limit, std::move(request)); });
    }
    void Reply(ExchangeId id, Bytes answer) {
      Call([&] { transport->Reply(id, std::move(answer)); });
    }
    void Close() {
      Call([this] {
        transport->Close([this] {
          EXPECT_FALSE(in_call_) << "`done` comes later";
          ++closed;
        });
      });
      silent_ = true;
    }
    Address at() const { return transport->local(); }
    std::size_t calls() const { return datagrams.size() + requests.size() + answers.size() + troubles.size(); }

    struct Answered {
      ExchangeId id;
      absl::Status status;
      Bytes bytes;
    };
    std::unique_ptr<Transport> transport;
    std::vector<std::pair<Address, Bytes>> datagrams;
    std::vector<std::pair<ExchangeId, Bytes>> requests;
    std::vector<Answered> answers;
    std::vector<std::pair<Address, Trouble>> troubles;
    std::size_t answers_before_trouble = 0;
    int closed = 0;
    std::function<void()> on_datagram;
    std::function<void(ExchangeId)> on_request;

   private:
    template <typename Work>
    void Call(Work work) {
      const bool before = std::exchange(in_call_, true);
      work();
      in_call_ = before;
    }
    void Called() const {
      EXPECT_FALSE(in_call_) << "a callback from inside a call";
      EXPECT_FALSE(silent_) << "a callback after Close()";
    }
    bool in_call_ = false;
    bool silent_ = false;
  };

  void SetUp() override { world_ = GetParam().make(); }
  void TearDown() override {
    for (const auto& end : ends_) {
      if (end->closed == 0 && end->transport != nullptr) end->transport->Close({});
    }
    if (world_ != nullptr) world_->RunFor(std::chrono::milliseconds(20));
    ends_.clear();
    world_.reset();
  }
  End& Make() {
    ends_.push_back(std::make_unique<End>(world_->Make()));
    EXPECT_NE(ends_.back()->transport, nullptr);
    ends_.back()->Open();
    return *ends_.back();
  }
  bool Until(const std::function<bool()>& done) { return world_->RunUntil(done); }
  // Bytes that differ everywhere, so that a cut or a shift shows.
  static Bytes Pattern(std::size_t size, unsigned salt = 0) {
    Bytes bytes(size);
    unsigned state = salt * 2654435761U + 12345;
    for (std::byte& byte : bytes) {
      state = state * 1664525U + 1013904223U;
      byte = static_cast<std::byte>(state >> 24);
    }
    return bytes;
  }
  static constexpr Duration kLong = std::chrono::seconds(8);
  static constexpr Duration kShort = std::chrono::milliseconds(60);

  std::unique_ptr<TransportWorld> world_;
  std::vector<std::unique_ptr<End>> ends_;
};

TEST_P(TransportConformance, AddressesAreDefiniteAndDifferent) {
  End &a = Make(), &b = Make();
  EXPECT_NE(a.at().port, 0);
  EXPECT_FALSE(a.at().is_unspecified());
  EXPECT_NE(a.at(), b.at());
}

TEST_P(TransportConformance, DatagramsComeFromTheAddressOfTheirSender) {
  End &a = Make(), &b = Make();
  a.Send(b.at(), Pattern(100, 1));
  ASSERT_TRUE(Until([&] { return b.datagrams.size() == 1; }));
  EXPECT_EQ(b.datagrams[0].first, a.at());
  EXPECT_EQ(b.datagrams[0].second, Pattern(100, 1));
  b.Send(a.at(), Pattern(200, 2));
  ASSERT_TRUE(Until([&] { return a.datagrams.size() == 1; }));
  EXPECT_EQ(a.datagrams[0].first, b.at());
  EXPECT_EQ(a.datagrams[0].second, Pattern(200, 2));
}

TEST_P(TransportConformance, TheBytesAreUsedUpWhenSendReturns) {
  End &a = Make(), &b = Make();
  Bytes bytes = Pattern(300, 3);
  a.Send(b.at(), bytes);
  std::fill(bytes.begin(), bytes.end(), std::byte{0xee});
  ASSERT_TRUE(Until([&] { return !b.datagrams.empty(); }));
  EXPECT_EQ(b.datagrams[0].second, Pattern(300, 3));
}

TEST_P(TransportConformance, DatagramsOfAllSizesArriveWhole) {
  End &a = Make(), &b = Make();
  std::set<std::size_t> sizes = {1, 2, 57, 512, 1200, 1400};
  sizes.insert(a.transport->mtu());
  for (const std::size_t size : sizes) {
    ASSERT_LE(size, a.transport->mtu()) << "a transport has to carry 1,400 bytes";
    const std::size_t before = b.datagrams.size();
    a.Send(b.at(), Pattern(size, 4));
    ASSERT_TRUE(Until([&] { return b.datagrams.size() > before; })) << size << " bytes";
    EXPECT_TRUE(b.datagrams.back().second == Pattern(size, 4)) << size << " bytes";
  }
}

TEST_P(TransportConformance, WhatIsTooLargeNeverArrivesCut) {
  End &a = Make(), &b = Make();
  const Bytes large = Pattern(a.transport->mtu() + 1, 5);
  a.Send(b.at(), large);
  a.Send(b.at(), Pattern(10, 6));
  ASSERT_TRUE(Until([&] { return !b.datagrams.empty() && b.datagrams.back().second.size() == 10; }));
  for (const auto& [from, bytes] : b.datagrams) EXPECT_TRUE(bytes.size() == 10 || bytes == large);
}

TEST_P(TransportConformance, WhatIsSentToNobodyHarmsNobody) {
  End &a = Make(), &b = Make();
  for (int i = 0; i < 20; ++i) a.Send(world_->Nobody(), Pattern(100));
  for (int i = 0; i < 20; ++i) {
    a.Send(b.at(), Pattern(100));
    world_->RunFor(std::chrono::milliseconds(1));
  }
  ASSERT_TRUE(Until([&] { return b.datagrams.size() == 20; })) << b.datagrams.size();
}

TEST_P(TransportConformance, ARequestIsAnsweredAtOnceOrLater) {
  End &a = Make(), &b = Make();
  b.on_request = [&](ExchangeId id) {
    if (b.requests.size() == 1) b.Reply(id, Pattern(50, 8));
  };
  a.Exchange(7, b.at(), kLong, Pattern(40, 7));
  ASSERT_TRUE(Until([&] { return a.answers.size() == 1; }));
  EXPECT_EQ(b.requests[0].second, Pattern(40, 7));
  EXPECT_EQ(a.answers[0].id, 7U);
  EXPECT_TRUE(a.answers[0].status.ok()) << a.answers[0].status;
  EXPECT_EQ(a.answers[0].bytes, Pattern(50, 8));
  a.Exchange(8, b.at(), kLong, Pattern(41, 7));
  ASSERT_TRUE(Until([&] { return b.requests.size() == 2; }));
  world_->RunFor(std::chrono::milliseconds(20));
  b.Reply(b.requests[1].first, Pattern(51, 8));
  ASSERT_TRUE(Until([&] { return a.answers.size() == 2; }));
  EXPECT_EQ(a.answers[1].bytes, Pattern(51, 8));
}

TEST_P(TransportConformance, RequestsAndAnswersOfAllSizesArriveWhole) {
  End &a = Make(), &b = Make();
  ExchangeId id = 0;
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{1000}, std::size_t{65'536}, std::size_t{70'000}, world_->request_max()}) {
    const std::size_t fits = std::min(size, world_->request_max());
    b.on_request = [&](ExchangeId served) { b.Reply(served, Pattern(fits, 10)); };
    a.Exchange(++id, b.at(), kLong, Pattern(fits, 9));
    ASSERT_TRUE(Until([&] { return a.answers.size() == id; })) << fits;
    EXPECT_TRUE(a.answers.back().status.ok()) << a.answers.back().status;
    EXPECT_TRUE(b.requests.back().second == Pattern(fits, 9)) << fits;
    EXPECT_TRUE(a.answers.back().bytes == Pattern(fits, 10)) << fits;
  }
}

TEST_P(TransportConformance, ManyExchangesAtOnceAreToldApart) {
  End &a = Make(), &b = Make(), &c = Make();
  for (End* server : {&b, &c}) {
    server->on_request = [server](ExchangeId id) {
      Bytes answer = server->requests.back().second;
      std::reverse(answer.begin(), answer.end());
      server->Reply(id, std::move(answer));
    };
  }
  for (unsigned i = 1; i <= 24; ++i) a.Exchange(i, i % 2 == 0 ? b.at() : c.at(), kLong, Pattern(100 + i, i));
  ASSERT_TRUE(Until([&] { return a.answers.size() == 24; })) << a.answers.size();
  std::set<ExchangeId> ids;
  for (const End::Answered& answer : a.answers) {
    EXPECT_TRUE(answer.status.ok()) << answer.status;
    ids.insert(answer.id);
    Bytes want = Pattern(100 + answer.id, static_cast<unsigned>(answer.id));
    std::reverse(want.begin(), want.end());
    EXPECT_EQ(answer.bytes, want);
  }
  EXPECT_EQ(ids.size(), 24U);
}

TEST_P(TransportConformance, AnExchangeWithNobodyEndsOnce) {
  End& a = Make();
  a.Exchange(1, world_->Nobody(), world_->tells_refusal() ? kLong : kShort, Pattern(10));
  ASSERT_TRUE(Until([&] { return a.answers.size() == 1; }));
  EXPECT_FALSE(a.answers[0].status.ok());
  if (world_->tells_refusal()) {
    EXPECT_EQ(a.answers[0].status.code(), absl::StatusCode::kUnavailable) << a.answers[0].status;
    ASSERT_EQ(a.troubles.size(), 1U);
    EXPECT_EQ(a.troubles[0].second, Trouble::kRefused);
    EXPECT_EQ(a.answers_before_trouble, 0U) << "the trouble comes first";
  }
  world_->RunFor(2 * kShort);
  EXPECT_EQ(a.answers.size(), 1U);
}

TEST_P(TransportConformance, AnExchangeEndsAtItsDeadline) {
  End &a = Make(), &b = Make();
  a.Exchange(1, b.at(), kShort, Pattern(10));
  ASSERT_TRUE(Until([&] { return a.answers.size() == 1; }));
  EXPECT_EQ(a.answers[0].status.code(), absl::StatusCode::kDeadlineExceeded) << a.answers[0].status;
  ASSERT_FALSE(b.requests.empty());
  b.Reply(b.requests.back().first, Pattern(10));  // too late
  world_->RunFor(kShort);
  EXPECT_EQ(a.answers.size(), 1U);
}

TEST_P(TransportConformance, AnEmptyReplyEndsTheExchange) {
  End &a = Make(), &b = Make();
  b.on_request = [&](ExchangeId id) { b.Reply(id, {}); };
  a.Exchange(1, b.at(), kLong, Pattern(10));
  ASSERT_TRUE(Until([&] { return a.answers.size() == 1; }));
  EXPECT_EQ(a.answers[0].status.code(), absl::StatusCode::kUnavailable) << a.answers[0].status;
}

TEST_P(TransportConformance, RepliesToWhatIsGoneAreIgnored) {
  End &a = Make(), &b = Make();
  b.on_request = [&](ExchangeId id) {
    b.Reply(id + 1'000'000, Pattern(5));
    b.Reply(id, Pattern(20, 1));
    b.Reply(id, Pattern(20, 2));
  };
  a.Exchange(1, b.at(), kLong, Pattern(10));
  ASSERT_TRUE(Until([&] { return a.answers.size() == 1; }));
  EXPECT_EQ(a.answers[0].bytes, Pattern(20, 1));
  world_->RunFor(kShort);
  EXPECT_EQ(a.answers.size(), 1U);
}

TEST_P(TransportConformance, ARequestThatIsTooLargeIsRefusedNotCut) {
  End &a = Make(), &b = Make();
  a.Exchange(1, b.at(), kLong, Bytes(kSyncBytesMax + 1));
  ASSERT_TRUE(Until([&] { return a.answers.size() == 1; }));
  EXPECT_EQ(a.answers[0].status.code(), absl::StatusCode::kResourceExhausted) << a.answers[0].status;
  EXPECT_TRUE(b.requests.empty());
}

TEST_P(TransportConformance, AfterCloseNobodyIsCalledButDoneOnce) {
  End &a = Make(), &b = Make();
  a.Exchange(1, b.at(), kShort, Pattern(10));
  b.Exchange(2, a.at(), kLong, Pattern(10));
  for (int i = 0; i < 5; ++i) b.Send(a.at(), Pattern(10));
  a.Close();
  EXPECT_EQ(a.closed, 0) << "later";
  const std::size_t calls = a.calls();
  ASSERT_TRUE(Until([&] { return a.closed == 1; }));
  world_->RunFor(2 * kShort);
  EXPECT_EQ(a.calls(), calls);
  EXPECT_EQ(a.closed, 1);
  // The other one is told that its exchange came to nothing, and lives on.
  ASSERT_TRUE(Until([&] { return !b.answers.empty(); }));
  EXPECT_FALSE(b.answers[0].status.ok());
  End& c = Make();
  b.Send(c.at(), Pattern(10));
  ASSERT_TRUE(Until([&] { return c.datagrams.size() == 1; }));
}

TEST_P(TransportConformance, MayBeClosedInsideACallback) {
  End &a = Make(), &b = Make();
  b.on_datagram = [&] { b.Close(); };
  a.Send(b.at(), Pattern(10));
  ASSERT_TRUE(Until([&] { return b.closed == 1; }));
  EXPECT_EQ(b.datagrams.size(), 1U);
}

TEST_P(TransportConformance, MayBeDestroyedWithAllInFlight) {
  End &a = Make(), &b = Make();
  for (unsigned i = 1; i <= 5; ++i) {
    a.Send(b.at(), Pattern(10));
    a.Exchange(i, b.at(), kLong, Pattern(10));
    b.Exchange(i, a.at(), kShort, Pattern(10));
  }
  a.transport.reset();
  const std::size_t calls = a.calls();
  ASSERT_TRUE(Until([&] { return b.answers.size() == 5; }));
  EXPECT_EQ(a.calls(), calls);
}

// A datagram inside a callback, and requests from inside answers: what a member does all the time.
TEST_P(TransportConformance, CallsInsideCallbacksAreLegal) {
  End &a = Make(), &b = Make();
  b.on_datagram = [&] { b.Exchange(b.datagrams.size(), a.at(), kLong, Pattern(10)); };
  a.on_request = [&](ExchangeId id) {
    a.Reply(id, Pattern(10));
    if (b.datagrams.size() < 10) a.Send(b.at(), Pattern(10));
  };
  a.Send(b.at(), Pattern(10));
  ASSERT_TRUE(Until([&] { return b.answers.size() == 10; })) << b.answers.size();
}

// Instantiate it once for each transport; a program that includes this and has none is fine.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TransportConformance);

}  // namespace nekton
