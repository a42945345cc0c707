#include "transport/uv_transport.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "transport/uv_clock.h"
#include "transport/uv_udp.h"

namespace nekton {
namespace {

// Send failures that wait to be reported. More in one turn tell the engine nothing new.
constexpr std::size_t kTroublesMax = 256;

}  // namespace

// Keeps itself alive from Start() until its last handle is closed.
class UvTransport::Impl final : public UvUdp::Owner,
                                public UvStreams::Owner,
                                public std::enable_shared_from_this<UvTransport::Impl> {
 public:
  explicit Impl(UvTransportOptions options)
      : on_stranger_(std::move(options.on_stranger)),
        udp_(*this, counters_),
        streams_(*this, counters_, options.streams) {}

  absl::Status Start(uv_loop_t* loop, BoundPair pair) {
    self_ = shared_from_this();
    local_ = pair.address;
    uv_timer_init(loop, &later_);  // always 0
    later_.data = this;
    int error = udp_.Open(loop, std::move(pair.datagram), pair.v4);
    if (error == 0) error = streams_.Open(loop, std::move(pair.stream), local_, pair.v4);
    if (error == 0) return absl::OkStatus();
    Close({});
    return absl::InternalError(
        absl::StrCat("cannot watch the sockets of ", local_.ToString(), ": ", uv_strerror(error)));
  }

  void Open(Receiver* receiver) {
    if (closed_) return;
    receiver_ = receiver;
    // They fail only on a closed handle, or on one that receives already.
    udp_.Listen();
    streams_.Listen();
  }

  void Close(std::function<void()> done) {
    if (closed_) return;
    closed_ = true;
    receiver_ = nullptr;
    done_ = std::move(done);
    troubles_.clear();
    // libuv before 1.49 must not see its UDP handle closed inside its own receive callback; that turn ends first.
    if (in_udp_) {
      StartTimerAt(&later_, 0, [](uv_timer_t* timer) { static_cast<Impl*>(timer->data)->CloseHandles(); });
    } else {
      CloseHandles();
    }
  }

  void OnUdp(const Address& from, std::span<const std::byte> bytes) override {
    if (receiver_ == nullptr) return;
    in_udp_ = true;
    receiver_->OnDatagram(from, bytes);
    in_udp_ = false;
  }

  // Comes from inside Send(), where the port promises no callback: it waits for the next turn.
  void OnUdpTrouble(const Address& to, Trouble trouble) override {
    if (receiver_ == nullptr) return;
    if (troubles_.size() >= kTroublesMax) {
      ++counters_[TransportCounter::kTroublesDropped];
      return;
    }
    if (troubles_.empty()) {
      StartTimerAt(&later_, 0, [](uv_timer_t* timer) { static_cast<Impl*>(timer->data)->Report(); });
    }
    troubles_.emplace_back(to, trouble);
  }

  void OnStreamRequest(const Address& from, ExchangeId id, std::span<const std::byte> bytes, bool busy) override {
    if (receiver_ != nullptr) receiver_->OnRequest(from, id, bytes, busy);
  }
  void OnStreamAnswer(ExchangeId id, const absl::Status& status, std::span<const std::byte> bytes) override {
    if (receiver_ != nullptr) receiver_->OnAnswer(id, status, bytes);
  }
  void OnStreamRefused(const Address& to) override {
    if (receiver_ != nullptr) receiver_->OnTrouble(to, Trouble::kRefused);
  }
  void OnStranger(const Address& from, std::string_view what) override {
    if (receiver_ != nullptr && on_stranger_) on_stranger_(from, what);
  }
  void OnUdpClosed() override { PartClosed(); }
  void OnStreamsClosed() override { PartClosed(); }

  TransportCounters counters_;
  std::function<void(const Address&, std::string_view)> on_stranger_;
  UvUdp udp_;
  UvStreams streams_;
  Address local_;

 private:
  void Report() {
    const std::vector<std::pair<Address, Trouble>> troubles = std::exchange(troubles_, {});
    for (const auto& [about, trouble] : troubles) {
      if (receiver_ != nullptr) receiver_->OnTrouble(about, trouble);
    }
  }

  void CloseHandles() {
    udp_.Close();
    streams_.Close();
    uv_close(reinterpret_cast<uv_handle_t*>(&later_),
             [](uv_handle_t* handle) { static_cast<Impl*>(handle->data)->PartClosed(); });
  }

  void PartClosed() {
    if (--open_parts_ > 0) return;
    const std::shared_ptr<Impl> self = std::move(self_);  // the last one may go at the end of this function
    if (const auto done = std::exchange(done_, {})) done();
  }

  Receiver* receiver_ = nullptr;
  bool closed_ = false;
  bool in_udp_ = false;
  int open_parts_ = 3;
  uv_timer_t later_{};
  std::vector<std::pair<Address, Trouble>> troubles_;
  std::function<void()> done_;
  std::shared_ptr<Impl> self_;
};

absl::StatusOr<std::unique_ptr<UvTransport>> UvTransport::Create(uv_loop_t* loop, const Address& bind,
                                                                 UvTransportOptions options) {
  // The sockets first: the usual mistake, a port in use, leaves no handle behind in the loop.
  absl::StatusOr<BoundPair> pair = BindPair(bind);
  if (!pair.ok()) return pair.status();
  auto impl = std::make_shared<Impl>(std::move(options));
  if (absl::Status status = impl->Start(loop, *std::move(pair)); !status.ok()) return status;
  return std::unique_ptr<UvTransport>(new UvTransport(std::move(impl)));
}

UvTransport::UvTransport(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
UvTransport::~UvTransport() { impl_->Close({}); }
void UvTransport::Open(Receiver* receiver) { impl_->Open(receiver); }
void UvTransport::Send(const Address& to, std::span<const std::byte> bytes) { impl_->udp_.Send(to, bytes); }
void UvTransport::Exchange(ExchangeId id, const Address& to, Duration limit, std::vector<std::byte> request) {
  impl_->streams_.Exchange(id, to, limit, std::move(request));
}
void UvTransport::Reply(ExchangeId id, std::vector<std::byte> answer) { impl_->streams_.Reply(id, std::move(answer)); }
Address UvTransport::local() const { return impl_->local_; }
std::size_t UvTransport::mtu() const { return UvUdp::kDatagramMax; }
void UvTransport::Close(std::function<void()> done) { impl_->Close(std::move(done)); }
const TransportCounters& UvTransport::counters() const { return impl_->counters_; }

}  // namespace nekton
