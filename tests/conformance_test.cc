// Every transport that is shipped, each decorator around them, and the example's, held to what transport.h promises.
#include "transport/conformance.h"

#include <stdlib.h>

#include <filesystem>
#include <set>

#include "examples/custom_transport/unix_transport.h"
#include "tests/seal_net.h"
#include "transport/decorators.h"
#include "transport/seal_transport.h"
#include "transport/uv_clock.h"
#include "transport/uv_hub.h"
#include "transport/uv_transport.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

using Decorate = std::function<std::unique_ptr<Transport>(std::unique_ptr<Transport>, const FaultTransport::Later&)>;
using OnLoop = std::function<absl::StatusOr<std::unique_ptr<Transport>>(uv_loop_t*)>;

// Transports on one libuv loop.
class UvWorld final : public TransportWorld {
 public:
  UvWorld(OnLoop make, Decorate decorate, std::size_t request_max)
      : make_(std::move(make)), decorate_(std::move(decorate)), request_max_(request_max) {
    EXPECT_EQ(uv_loop_init(&loop_), 0);
    uv_timer_init(&loop_, &pulse_);
    uv_timer_start(
        &pulse_, [](uv_timer_t*) {}, 2, 2);
  }
  ~UvWorld() override {
    uv_close(reinterpret_cast<uv_handle_t*>(&pulse_), nullptr);
    EXPECT_EQ(uv_run(&loop_, UV_RUN_DEFAULT), 0);
    EXPECT_EQ(uv_loop_close(&loop_), 0) << "handles are left";
  }
  std::unique_ptr<Transport> Make() override {
    auto made = make_(&loop_);
    if (!made.ok()) {
      ADD_FAILURE() << made.status();
      return nullptr;
    }
    return decorate_(*std::move(made), [this](Duration delay, std::function<void()> work) { Later(delay, work); });
  }
  Address Nobody() override { return Address::V4(127, 0, 0, 1, 1); }
  bool RunUntil(const std::function<bool()>& done) override { return Run(done, 10s); }
  void RunFor(Duration time) override {
    Run([] { return false; }, time);
  }
  std::size_t request_max() const override { return request_max_; }

 private:
  bool Run(const std::function<bool()>& done, Duration limit) {
    const Instant end = ReadClocks().boot + limit;
    while (!done()) {
      if (ReadClocks().boot > end) return false;
      uv_run(&loop_, UV_RUN_ONCE);
    }
    return true;
  }
  struct Timer {
    uv_timer_t handle{};
    std::function<void()> work;
  };
  void Later(Duration delay, const std::function<void()>& work) {
    auto* timer = new Timer{{}, work};
    uv_timer_init(&loop_, &timer->handle);
    timer->handle.data = timer;
    StartTimerAt(&timer->handle, HrtimeIn(delay), [](uv_timer_t* handle) {
      static_cast<Timer*>(handle->data)->work();
      uv_close(reinterpret_cast<uv_handle_t*>(handle), [](uv_handle_t* h) { delete static_cast<Timer*>(h->data); });
    });
  }

  uv_loop_t loop_{};
  uv_timer_t pulse_{};
  OnLoop make_;
  Decorate decorate_;
  std::size_t request_max_;
};

// Transports that want turns, in a set that each leaves when it goes.
template <typename T>
class Registered final : public Transport {
 public:
  Registered(std::unique_ptr<T> below, std::set<T*>& all) : below_(std::move(below)), all_(all) {
    all_.insert(below_.get());
  }
  ~Registered() override { all_.erase(below_.get()); }
  void Open(Receiver* receiver) override { below_->Open(receiver); }
  void Send(const Address& to, std::span<const std::byte> bytes) override { below_->Send(to, bytes); }
  void Exchange(ExchangeId id, const Address& to, Duration limit, std::vector<std::byte> request) override {
    below_->Exchange(id, to, limit, std::move(request));
  }
  void Reply(ExchangeId id, std::vector<std::byte> answer) override { below_->Reply(id, std::move(answer)); }
  Address local() const override { return below_->local(); }
  std::size_t mtu() const override { return below_->mtu(); }
  void Close(std::function<void()> done) override { below_->Close(std::move(done)); }

 private:
  std::unique_ptr<T> below_;
  std::set<T*>& all_;
};

// A world whose time is a number: turns cost nothing.
template <typename T>
class TurnWorld : public TransportWorld {
 public:
  bool RunUntil(const std::function<bool()>& done) override {
    for (int i = 0; i < 10'000 && !done(); ++i) Turn();
    return done();
  }
  void RunFor(Duration time) override {
    const Instant end = now_ + time;
    while (now_ < end) Turn();
  }

 protected:
  void Turn() {
    now_ += 1ms;
    const std::set<T*> all = all_;
    for (T* one : all) {
      if (all_.contains(one)) one->Turn();
    }
  }
  Instant now_ = Instant(1h);
  std::set<T*> all_;
};

class HubWorld final : public TurnWorld<HubTransport> {
 public:
  std::unique_ptr<Transport> Make() override {
    auto made = hub_.Attach({}, {}, [this] { return now_; });
    EXPECT_TRUE(made.ok());
    return std::make_unique<Registered<HubTransport>>(*std::move(made), all_);
  }
  Address Nobody() override { return Address::V4(127, 0, 0, 1, 1); }

 private:
  Hub hub_;
};

class UnixWorld final : public TurnWorld<example::UnixTransport> {
 public:
  UnixWorld() { EXPECT_NE(mkdtemp(folder_.data()), nullptr); }
  ~UnixWorld() override {
    std::error_code error;
    EXPECT_TRUE(std::filesystem::remove(folder_, error)) << "files are left";
  }
  std::unique_ptr<Transport> Make() override {
    auto made =
        std::make_unique<example::UnixTransport>(folder_, Address::V4(127, 0, 0, 1, ++port_), [this] { return now_; });
    return std::make_unique<Registered<example::UnixTransport>>(std::move(made), all_);
  }
  Address Nobody() override { return Address::V4(127, 0, 0, 1, 9999); }
  std::size_t request_max() const override { return 100'000; }

 private:
  std::string folder_ = "/tmp/nekton_unix_XXXXXX";
  std::uint16_t port_ = 1;
};

absl::StatusOr<std::unique_ptr<Transport>> OnSockets(uv_loop_t* loop) {
  auto made = UvTransport::Create(loop, Any());
  if (!made.ok()) return made.status();
  return std::unique_ptr<Transport>(*std::move(made));
}
std::unique_ptr<Transport> Bare(std::unique_ptr<Transport> below, const FaultTransport::Later&) { return below; }
std::unique_ptr<Transport> Counted(std::unique_ptr<Transport> below, const FaultTransport::Later&) {
  return std::make_unique<CountingTransport>(std::move(below));
}
std::unique_ptr<Transport> Faulty(std::unique_ptr<Transport> below, const FaultTransport::Later& later) {
  return std::make_unique<FaultTransport>(std::move(below), 1, later);
}
std::unique_ptr<Transport> Delayed(std::unique_ptr<Transport> below, const FaultTransport::Later& later) {
  auto made = std::make_unique<FaultTransport>(std::move(below), 1, later);
  made->SetFaults({.delay_min = 3ms, .delay_max = 3ms});
  return made;
}
std::unique_ptr<Transport> SealedOne(std::unique_ptr<Transport> below, const FaultTransport::Later&) {
  static int number = 0;
  SealOptions options;
  options.name = "n" + std::to_string(++number);
  options.keys = RingOf({1});
  return std::make_unique<SealTransport>(std::move(below), std::move(options), [] { return ReadClocks().boot; });
}
std::unique_ptr<Transport> All(std::unique_ptr<Transport> below, const FaultTransport::Later& later) {
  return Counted(SealedOne(Faulty(std::move(below), later), later), later);
}

WorldFactory OnUv(std::string name, OnLoop make, Decorate decorate, std::size_t request_max = kSyncBytesMax) {
  return {std::move(name), [make = std::move(make), decorate = std::move(decorate), request_max] {
            return std::make_unique<UvWorld>(make, decorate, request_max);
          }};
}
OnLoop NodesHub() {
  return [factory = HubOnUv(std::make_shared<Hub>())](uv_loop_t* loop) { return factory(loop, Any()); };
}
constexpr std::size_t kMedium = std::size_t{1} << 20;
// What one frame on a stream may have, less what sealing adds.
constexpr std::size_t kSealedRequestMax = kSyncBytesMax - kSealHeaderSize - 321 * kSealTagSize;

INSTANTIATE_TEST_SUITE_P(
    Shipped, TransportConformance,
    testing::Values(OnUv("libuv", OnSockets, Bare), OnUv("hub_on_libuv", NodesHub(), Bare, kMedium),
                    WorldFactory{"hub", [] { return std::make_unique<HubWorld>(); }},
                    OnUv("counting", OnSockets, Counted, kMedium), OnUv("faults_none", OnSockets, Faulty, kMedium),
                    OnUv("faults_delay", NodesHub(), Delayed, kMedium),
                    OnUv("sealed", OnSockets, SealedOne, kSealedRequestMax),
                    OnUv("sealed_hub", NodesHub(), SealedOne, kMedium), OnUv("all_decorators", OnSockets, All, kMedium),
                    WorldFactory{"custom_example", [] { return std::make_unique<UnixWorld>(); }}),
    [](const testing::TestParamInfo<WorldFactory>& world) { return world.param.name; });

// ---- what the decorators add

class DecoratorTest : public testing::Test {
 protected:
  std::unique_ptr<Transport> Attach() {
    auto made = hub_.Attach({}, {}, [this] { return now_; });
    return std::make_unique<Registered<HubTransport>>(*std::move(made), all_);
  }
  void RunFor(Duration time) {
    for (const Instant end = now_ + time; now_ < end; now_ += 1ms) {
      std::vector<std::function<void()>> due;
      while (!later_.empty() && later_.begin()->first <= now_) {
        due.push_back(later_.begin()->second);
        later_.erase(later_.begin());
      }
      for (const auto& work : due) work();
      for (HubTransport* one : std::set<HubTransport*>(all_)) one->Turn();
    }
  }
  FaultTransport::Later Later() {
    return [this](Duration delay, std::function<void()> work) { later_.emplace(now_ + delay, std::move(work)); };
  }
  Instant now_ = Instant(1h);
  Hub hub_;
  std::set<HubTransport*> all_;
  std::multimap<Instant, std::function<void()>> later_;
};

TEST_F(DecoratorTest, LossIsOfItsRateAndTheSameForTheSameSeed) {
  const auto run = [&](std::uint64_t seed) {
    Recorder recorder;
    Recorder other;
    FaultTransport a(Attach(), seed, Later());
    auto b = Attach();
    a.Open(&other);
    b->Open(&recorder);
    a.SetFaults({.loss_out = 0.3, .duplicate = 0.1});
    for (int i = 0; i < 2000; ++i) {
      a.Send(b->local(), Bytes(std::to_string(i)));
      if (i % 100 == 0) RunFor(1ms);
    }
    RunFor(5ms);
    std::vector<std::string> got;
    for (const auto& d : recorder.datagrams) got.push_back(d.bytes);
    return got;
  };
  const auto first = run(1);
  EXPECT_NEAR(static_cast<double>(first.size()), 2000 * 0.7 * 1.1, 100);
  EXPECT_EQ(run(1), first);
  EXPECT_NE(run(2), first);
}

TEST_F(DecoratorTest, DelaysAreWithinTheirBoundsAndOvertakeEachOther) {
  Recorder recorder;
  Recorder other;
  FaultTransport a(Attach(), 1, Later());
  auto b = Attach();
  a.Open(&other);
  b->Open(&recorder);
  a.SetFaults({.delay_min = 10ms, .delay_max = 30ms});
  for (int i = 100; i < 200; ++i) a.Send(b->local(), Bytes(std::to_string(i)));
  RunFor(9ms);
  EXPECT_EQ(recorder.datagrams.size(), 0U);
  RunFor(25ms);
  ASSERT_EQ(recorder.datagrams.size(), 100U);
  std::vector<std::string> got;
  for (const auto& d : recorder.datagrams) got.push_back(d.bytes);
  EXPECT_FALSE(std::is_sorted(got.begin(), got.end()));
}

TEST_F(DecoratorTest, ACutStopsDatagramsBothWaysAndExchanges) {
  Recorder ra;
  Recorder rb;
  FaultTransport a(Attach(), 1, Later());
  auto b = Attach();
  a.Open(&ra);
  b->Open(&rb);
  rb.on_request = [&](ExchangeId id) { b->Reply(id, Bytes("yes")); };
  a.Cut(b->local());
  a.Send(b->local(), Bytes("x"));
  b->Send(a.local(), Bytes("y"));
  a.Exchange(1, b->local(), 100ms, Bytes("z"));
  RunFor(50ms);
  EXPECT_EQ(ra.calls() + rb.calls(), 0U);
  RunFor(100ms);
  ASSERT_EQ(ra.answers.size(), 1U);
  EXPECT_EQ(ra.answers[0].status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(a.dropped(), 3U);
  a.HealAll();
  a.Send(b->local(), Bytes("x"));
  a.Exchange(2, b->local(), 100ms, Bytes("z"));
  RunFor(50ms);
  EXPECT_EQ(rb.datagrams.size(), 1U);
  EXPECT_TRUE(ra.answers.back().status.ok());
}

TEST_F(DecoratorTest, CountsWhatPasses) {
  Recorder ra;
  Recorder rb;
  CountingTransport a(Attach());
  CountingTransport b(Attach());
  a.Open(&ra);
  b.Open(&rb);
  rb.on_request = [&](ExchangeId id) { b.Reply(id, Bytes("four")); };
  a.Send(b.local(), Bytes("abc"));
  a.Exchange(1, b.local(), 100ms, Bytes("12345"));
  a.Exchange(2, Address::V4(127, 0, 0, 1, 1), 100ms, Bytes("12345"));
  RunFor(5ms);
  EXPECT_EQ(a.counts().datagrams_sent, 1U);
  EXPECT_EQ(a.counts().bytes_sent, 3U);
  EXPECT_EQ(b.counts().datagrams_received, 1U);
  EXPECT_EQ(b.counts().bytes_received, 3U);
  EXPECT_EQ(a.counts().exchanges, 2U);
  EXPECT_EQ(a.counts().answers, 1U);
  EXPECT_EQ(a.counts().failures, 1U);
  EXPECT_EQ(a.counts().troubles, 1U);
  EXPECT_EQ(b.counts().served, 1U);
  EXPECT_EQ(b.counts().replies, 1U);
  EXPECT_EQ(b.counts().exchange_bytes, 9U);
}

TEST(HubTest, AnInboxIsBoundedAndAnAddressIsTakenOnce) {
  Hub hub;
  const auto clock = [] { return Instant(1h); };
  auto a = *hub.Attach({}, {}, clock);
  auto b = *hub.Attach({}, {}, clock);
  EXPECT_EQ(hub.Attach(a->local(), {}, clock).status().code(), absl::StatusCode::kAlreadyExists);
  Recorder recorder;
  b->Open(&recorder);
  for (std::size_t i = 0; i < Hub::kInboxMax + 100; ++i) a->Send(b->local(), Bytes("x"));
  EXPECT_EQ(hub.dropped(), 100U);
  b->Turn();
  EXPECT_EQ(recorder.datagrams.size(), Hub::kInboxMax);
}

}  // namespace
}  // namespace nekton
