#include "transport/uv_hub.h"

#include <uv.h>

#include <functional>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "transport/uv_clock.h"

namespace nekton {
namespace {

// Two handles of the loop. They close in later turns, so they belong to nobody but themselves.
struct Handles {
  uv_async_t async{};
  uv_timer_t timer{};
  int open = 2;
  std::function<void()> turn;
  std::function<void()> closed;
  std::mutex mutex;  // over what other threads do with `async`
  bool closing = false;
};

class UvHubTransport final : public Transport {
 public:
  static absl::StatusOr<std::unique_ptr<Transport>> Create(uv_loop_t* loop, Hub& hub, const Address& bind) {
    auto handles = std::make_shared<Handles>();
    if (const int error = uv_async_init(loop, &handles->async, OnAsync); error != 0) {
      return absl::InternalError(absl::StrCat("cannot watch a wake-up channel: ", uv_strerror(error)));
    }
    uv_timer_init(loop, &handles->timer);
    handles->async.data = handles->timer.data = new std::shared_ptr<Handles>(handles);  // until both are closed
    const auto wake = [handles] {
      const std::lock_guard lock(handles->mutex);
      if (!handles->closing) uv_async_send(&handles->async);
    };
    auto below = hub.Attach(bind, wake, [] { return ReadClocks().boot; });
    if (!below.ok()) {
      CloseHandles(*handles);
      return below.status();
    }
    return std::unique_ptr<Transport>(new UvHubTransport(std::move(handles), *std::move(below)));
  }
  ~UvHubTransport() override { End({}); }

  void Open(Receiver* receiver) override { below_->Open(receiver); }
  void Send(const Address& to, std::span<const std::byte> bytes) override { below_->Send(to, bytes); }
  void Exchange(ExchangeId id, const Address& to, Duration limit, std::vector<std::byte> request) override {
    below_->Exchange(id, to, limit, std::move(request));
  }
  void Reply(ExchangeId id, std::vector<std::byte> answer) override { below_->Reply(id, std::move(answer)); }
  Address local() const override { return local_; }
  std::size_t mtu() const override { return Hub::kMtu; }
  void Close(std::function<void()> done) override { End(std::move(done)); }

 private:
  UvHubTransport(std::shared_ptr<Handles> handles, std::unique_ptr<HubTransport> below)
      : handles_(std::move(handles)), below_(std::move(below)), local_(below_->local()) {
    handles_->turn = [this] { Turn(); };
  }

  static void OnAsync(uv_async_t* async) { OnTurn(async->data); }
  static void OnTurn(void* data) {
    const std::shared_ptr<Handles> handles = *static_cast<std::shared_ptr<Handles>*>(data);
    if (handles->turn) {
      const auto turn = handles->turn;  // it may be taken away meanwhile
      turn();
    }
  }

  void Turn() {
    const std::shared_ptr<Handles> handles = handles_;
    const std::shared_ptr<HubTransport> below = below_;  // a callback may destroy us
    below->Turn();
    if (!handles->turn) return;
    const Instant next = below->NextTurn();
    if (next == kNever) {
      uv_timer_stop(&handles->timer);
      return;
    }
    const Instant now = ReadClocks().boot;
    StartTimerAt(&handles->timer, HrtimeIn(next > now ? next - now : Duration::zero()),
                 [](uv_timer_t* timer) { OnTurn(timer->data); });
  }

  void End(std::function<void()> done) {
    if (std::exchange(ended_, true)) return;
    below_->Close({});
    handles_->turn = nullptr;
    handles_->closed = std::move(done);
    CloseHandles(*handles_);
  }

  static void CloseHandles(Handles& handles) {
    {
      const std::lock_guard lock(handles.mutex);
      handles.closing = true;
    }
    const auto closed = [](uv_handle_t* handle) {
      auto* kept = static_cast<std::shared_ptr<Handles>*>(handle->data);
      if (--(*kept)->open > 0) return;
      const std::shared_ptr<Handles> last = *kept;
      delete kept;
      if (const auto done = std::exchange(last->closed, {})) done();
    };
    uv_close(reinterpret_cast<uv_handle_t*>(&handles.async), closed);
    uv_close(reinterpret_cast<uv_handle_t*>(&handles.timer), closed);
  }

  const std::shared_ptr<Handles> handles_;
  const std::shared_ptr<HubTransport> below_;
  const Address local_;
  bool ended_ = false;
};

}  // namespace

TransportFactory HubOnUv(std::shared_ptr<Hub> hub) {
  return
      [hub = std::move(hub)](uv_loop_t* loop, const Address& bind) { return UvHubTransport::Create(loop, *hub, bind); };
}

}  // namespace nekton
