#include "transport/uv_lone_transport.h"

#include <uv.h>

#include <memory>
#include <utility>

namespace nekton {

void UvLoneTransport::Open(Receiver* receiver) { *receiver_ = receiver; }

void UvLoneTransport::Send(const Address&, std::span<const std::byte>) {}

void UvLoneTransport::Exchange(ExchangeId id, const Address&, Duration, std::vector<std::byte>) {
  InALaterTurn([id, receiver = receiver_] {
    if (*receiver != nullptr) (*receiver)->OnAnswer(id, absl::UnavailableError("a standalone node reaches nobody"), {});
  });
}

void UvLoneTransport::Reply(ExchangeId, std::vector<std::byte>) {}

void UvLoneTransport::Close(std::function<void()> done) {
  if (std::exchange(closed_, true)) return;
  *receiver_ = nullptr;
  InALaterTurn(std::move(done));
}

// A handle that is made only to be closed: that ends in the next turn.
void UvLoneTransport::InALaterTurn(std::function<void()> call) {
  struct Later {
    uv_idle_t handle;
    std::function<void()> call;
  };
  auto later = std::make_unique<Later>(Later{{}, std::move(call)});
  uv_idle_init(loop_, &later->handle);
  later->handle.data = later.get();
  uv_close(reinterpret_cast<uv_handle_t*>(&later->handle), [](uv_handle_t* handle) {
    const std::unique_ptr<Later> ended(static_cast<Later*>(handle->data));
    ended->call();
  });
  later.release();  // owned by the handle
}

}  // namespace nekton
