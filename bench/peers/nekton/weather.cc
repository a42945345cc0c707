#include "bench/peers/nekton/weather.h"

#include <chrono>
#include <utility>

namespace nekton::bench {
namespace {

using std::chrono::milliseconds;

constexpr Duration kPatience = std::chrono::minutes(2);  // longer than the limit of any exchange

}  // namespace

// One node's transport. What it does later ends with it.
class Weathered final : public Transport {
 public:
  Weathered(Weather* weather, std::unique_ptr<Transport> inner) : weather_(weather), inner_(std::move(inner)) {}

  void Open(Receiver* receiver) override {
    receiver_ = receiver;
    inner_->Open(receiver);
  }
  void Send(const Address& to, std::span<const std::byte> bytes) override {
    ++weather_->datagrams_;
    weather_->bytes_ += bytes.size();
    if (weather_->Cut(local(), to) || weather_->Lost(local(), to)) return;
    inner_->Send(to, bytes);
  }
  void Exchange(ExchangeId id, const Address& to, Duration limit, std::vector<std::byte> request) override {
    Duration late{};
    const auto lost = [&] { return weather_->SegmentLost(local(), to); };
    for (Duration again = std::chrono::seconds(1); late < limit && (lost() || lost()); again *= 2) late += again;
    late += Resent(to);
    if (late >= limit || weather_->Cut(local(), to)) {
      Later(limit, [this, id] { receiver_->OnAnswer(id, absl::DeadlineExceededError("no answer"), {}); });
      return;
    }
    Later(late, [this, id, to, rest = limit - late, request = std::move(request)]() mutable {
      inner_->Exchange(id, to, rest, std::move(request));
    });
  }
  void Reply(ExchangeId id, std::vector<std::byte> answer) override {
    Later(Resent(local()), [this, id, answer = std::move(answer)]() mutable { inner_->Reply(id, std::move(answer)); });
  }
  Address local() const override { return inner_->local(); }
  std::size_t mtu() const override { return inner_->mtu(); }
  void Close(std::function<void()> done) override {
    alive_.reset();
    inner_->Close(std::move(done));
  }

 private:
  // How much later a segment arrives, for the times that it is lost. To itself: to an asker who is not told here.
  Duration Resent(const Address& to) {
    Duration late{};
    for (Duration again = milliseconds(200); late < kPatience && weather_->SegmentLost(local(), to); again *= 2) {
      late += again;
    }
    return late;
  }
  void Later(Duration delay, std::function<void()> work) {
    if (delay == Duration::zero()) return work();
    weather_->Later(delay, [alive = std::weak_ptr<int>(alive_), work = std::move(work)] {
      if (!alive.expired()) work();
    });
  }

  Weather* weather_;
  std::unique_ptr<Transport> inner_;
  Receiver* receiver_ = nullptr;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

std::unique_ptr<Transport> Weather::Around(std::unique_ptr<Transport> inner, int side) {
  at_[inner->local()].side = side;
  return std::make_unique<Weathered>(this, std::move(inner));
}

double Weather::LossOf(const Address& address) const {
  const auto at = at_.find(address);
  return at == at_.end() ? 0 : at->second.loss;
}

bool Weather::Lost(const Address& from, const Address& to) {
  double kept = (1 - loss_) * (1 - LossOf(from));
  if (to != from) kept *= 1 - LossOf(to);
  return kept < 1 && random_.Unit() >= kept;
}

bool Weather::Cut(const Address& from, const Address& to) const {
  const auto a = at_.find(from);
  const auto b = at_.find(to);
  if (a == at_.end() || b == at_.end()) return false;
  return a->second.mute || b->second.mute || (split_ && a->second.side != b->second.side);
}

void Weather::Later(Duration delay, std::function<void()> work) {
  struct Timer {
    uv_timer_t handle;
    std::function<void()> work;
  };
  auto* timer = new Timer{{}, std::move(work)};
  uv_timer_init(loop_, &timer->handle);
  timer->handle.data = timer;
  const auto ms = static_cast<std::uint64_t>(std::chrono::ceil<milliseconds>(delay).count());
  uv_timer_start(
      &timer->handle,
      [](uv_timer_t* handle) {
        auto* due = static_cast<Timer*>(handle->data);
        const std::function<void()> run = std::move(due->work);
        uv_close(reinterpret_cast<uv_handle_t*>(handle),
                 [](uv_handle_t* closed) { delete static_cast<Timer*>(closed->data); });
        run();
      },
      ms, 0);
}

}  // namespace nekton::bench
