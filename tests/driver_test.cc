// The driver over a network made of a queue and a clock that the test moves.
#include "transport/driver.h"

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/node_fixture.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

// Everything arrives, in order, when the test says so.
class Hub {
 public:
  class Port final : public Transport {
   public:
    Port(Hub& hub, const Address& address) : hub_(hub), address_(address) {}
    void Open(Receiver* receiver) override { hub_.receivers_[address_] = receiver; }
    void Send(const Address& to, std::span<const std::byte> bytes) override {
      hub_.Later([=, this, copy = std::vector<std::byte>(bytes.begin(), bytes.end())] {
        if (const auto r = hub_.receivers_.find(to); r != hub_.receivers_.end()) r->second->OnDatagram(address_, copy);
      });
    }
    void Exchange(ExchangeId id, const Address& to, Duration, std::vector<std::byte> request) override {
      const ExchangeId there = hub_.next_++;
      hub_.asked_[there] = {address_, id};
      hub_.Later([=, this, r = std::move(request)] {
        if (const auto receiver = hub_.receivers_.find(to); receiver != hub_.receivers_.end()) {
          receiver->second->OnRequest(address_, there, r, hub_.busy);
        } else {
          hub_.receivers_[address_]->OnTrouble(to, Trouble::kRefused);
          hub_.receivers_[address_]->OnAnswer(id, absl::UnavailableError("refused"), {});
        }
      });
    }
    void Reply(ExchangeId id, std::vector<std::byte> answer) override {
      const auto [to, theirs] = hub_.asked_.at(id);
      hub_.Later([this, to = to, theirs = theirs, a = std::move(answer)] {
        hub_.receivers_[to]->OnAnswer(theirs, absl::OkStatus(), a);
      });
    }
    Address local() const override { return address_; }
    std::size_t mtu() const override { return 65507; }
    void Close(std::function<void()> done) override { hub_.Later(std::move(done)); }

   private:
    Hub& hub_;
    Address address_;
  };

  bool busy = false;  // as every port says of the requests it hands over

  void Later(std::function<void()> what) { queue_.push_back(std::move(what)); }
  bool Deliver() {
    if (queue_.empty()) return false;
    const auto what = std::move(queue_.front());
    queue_.pop_front();
    what();
    return true;
  }

 private:
  std::map<Address, Transport::Receiver*> receivers_;
  std::map<ExchangeId, std::pair<Address, ExchangeId>> asked_;
  ExchangeId next_ = 1;
  std::deque<std::function<void()>> queue_;
};

struct Party {
  Party(Hub& hub, const std::string& name, std::uint16_t number, const Tick& time)
      : port(hub, Address::V4(10, 0, 0, 1, number)), driver(Make(name, port.local()), port, [&time] { return time; }) {
    port.Open(&driver);
  }
  static Member Make(const std::string& name, const Address& self) {
    Config config = FastConfig(name);
    config.generation = 1;
    config.seed = 1;
    return *Member::Create(config, self);
  }
  Hub::Port port;
  Driver driver;
};

TEST(DriverTest, TwoMembersMeetAndTheirEventsComeUpInOrder) {
  Hub hub;
  Tick time{Instant(1000s), RawInstant(1000s), WallTime(1000s)};
  Party alpha(hub, "alpha", 1, time), beta(hub, "beta", 2, time);
  EXPECT_TRUE(beta.driver.Order(Join{{alpha.port.local(), Address::V4(10, 0, 0, 1, 3)}}).ok());
  EXPECT_FALSE(beta.driver.Order(Leave{Duration(-1)}).ok()) << "statuses come back";
  for (int step = 0; step < 200; ++step) {
    while (hub.Deliver()) {
    }
    const Instant next = std::min(alpha.driver.NextWake(), beta.driver.NextWake());
    if (next > time.boot) time.boot = next;
    if (alpha.driver.NextWake() <= time.boot) alpha.driver.Wake();
    if (beta.driver.NextWake() <= time.boot) beta.driver.Wake();
  }
  EXPECT_EQ(alpha.driver.member().alive(), 2U);
  EXPECT_EQ(beta.driver.member().alive(), 2U);
  EXPECT_EQ(beta.driver.member().counters()[Counter::kRoundsFailed], 0U);
  EXPECT_GT(beta.driver.member().counters()[Counter::kRounds], 5U);

  std::vector<Event> events(1);  // what is there stays
  beta.driver.TakeEvents(events);
  std::size_t joined = 0, ok = 0, failed = 0;
  for (const Event& event : events) {
    if (event.kind == EventKind::kJoined && event.member != nullptr) ++joined;
    if (event.kind != EventKind::kJoinResult) continue;
    ++(event.status.ok() ? ok : failed);
  }
  EXPECT_EQ(joined, 1U);
  EXPECT_EQ(ok, 1U);
  EXPECT_GE(failed, 1U) << "nobody is at the second address";
  const std::size_t taken = events.size();
  beta.driver.TakeEvents(events);
  EXPECT_EQ(events.size(), taken) << "each once";
}

TEST(DriverTest, WhoFindsABusyMemberComesAgain) {
  Hub hub;
  hub.busy = true;
  Tick time{Instant(1000s), RawInstant(1000s), WallTime(1000s)};
  Party alpha(hub, "alpha", 1, time), beta(hub, "beta", 2, time);
  EXPECT_TRUE(beta.driver.Order(Join{{alpha.port.local()}, 60s}).ok());
  const auto run = [&](Duration length) {
    for (const Instant end = time.boot + length; time.boot < end;) {
      while (hub.Deliver()) {
      }
      time.boot = std::min({end, alpha.driver.NextWake(), beta.driver.NextWake()});
      alpha.driver.Wake();
      beta.driver.Wake();
    }
  };
  run(2s);
  EXPECT_GE(alpha.driver.member().counters()[Counter::kSyncsDeclined], 3U);
  EXPECT_EQ(alpha.driver.member().alive(), 1U);
  hub.busy = false;
  run(2s);
  EXPECT_EQ(alpha.driver.member().alive(), 2U);
  EXPECT_EQ(beta.driver.member().alive(), 2U);
}

TEST(DriverTest, InputsAndChangesAreCountedApart) {
  Hub hub;
  const Tick time{Instant(1000s), RawInstant(1000s), WallTime(1000s)};
  Party alpha(hub, "alpha", 1, time);
  alpha.driver.Wake();
  EXPECT_EQ(alpha.driver.inputs(), 0U);
  EXPECT_EQ(alpha.driver.changes(), 1U);
  alpha.driver.OnDatagram(Address::V4(10, 0, 0, 1, 9), {});
  alpha.driver.OnTrouble(Address::V4(10, 0, 0, 1, 9), Trouble::kSendFailed);
  EXPECT_EQ(alpha.driver.inputs(), 2U);
  EXPECT_EQ(alpha.driver.changes(), 3U);
  EXPECT_EQ(alpha.driver.member().counters()[Counter::kBadShort], 1U) << "an empty datagram";
}

}  // namespace
}  // namespace nekton
