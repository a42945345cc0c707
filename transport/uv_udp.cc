#include "transport/uv_udp.h"

namespace nekton {
namespace {

thread_local int receiving = 0;  // callbacks that may still read from the thread's buffer

}  // namespace

std::byte* UvUdp::Buffer() {
  thread_local std::unique_ptr<std::byte[]> shared;
  std::unique_ptr<std::byte[]>& buffer = receiving == 0 ? shared : nested_;
  if (buffer == nullptr) buffer = std::make_unique_for_overwrite<std::byte[]>(kChunk * kChunks);
  return buffer.get();
}

int UvUdp::Open(uv_loop_t* loop, Socket socket, bool v4) {
  v4_ = v4;
  if (const int error = uv_udp_init_ex(loop, &handle_, AF_UNSPEC | UV_UDP_RECVMMSG); error != 0) return error;
  inited_ = true;
  handle_.data = this;
  if (const int error = uv_udp_open(&handle_, socket.fd()); error != 0) return error;
  // uv_udp_open() sets it; with it another process could bind the port, too, and take the traffic.
  const int off = 0;
  setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &off, sizeof(off));
  socket.Release();  // the handle's from here on
  return 0;
}

int UvUdp::Listen() {
  return uv_udp_recv_start(
      &handle_,
      [](uv_handle_t* handle, std::size_t, uv_buf_t* buf) {
        auto* self = static_cast<UvUdp*>(handle->data);
        *buf = uv_buf_init(reinterpret_cast<char*>(self->Buffer()), kChunk * kChunks);
      },
      [](uv_udp_t* handle, ssize_t size, const uv_buf_t* buf, const sockaddr* from, unsigned flags) {
        static_cast<UvUdp*>(handle->data)->Received(size, reinterpret_cast<const std::byte*>(buf->base), from, flags);
      });
}

void UvUdp::Received(ssize_t size, const std::byte* bytes, const sockaddr* from, unsigned flags) {
  if (closing_) return;
  if (size < 0) {
    ++counters_[TransportCounter::kReceiveErrors];
    return;
  }
  if (from == nullptr) return;  // nothing was there to read, or libuv hands the buffer back
  if ((flags & UV_UDP_PARTIAL) != 0) {
    ++counters_[TransportCounter::kTruncated];
    return;
  }
  // An empty datagram is passed on as one: the engine counts it as malformed.
  ++receiving;
  owner_.OnUdp(FromSockaddr(from), {bytes, static_cast<std::size_t>(size)});
  --receiving;
}

void UvUdp::Send(const Address& to, std::span<const std::byte> bytes) {
  if (closing_) return;
  sockaddr_storage storage{};
  if (ToSockaddr(to, v4_, &storage) == 0) {
    Sent(to, UV_EAFNOSUPPORT);
    return;
  }
  // libuv writes to no buffer that it sends.
  const uv_buf_t buf =
      uv_buf_init(reinterpret_cast<char*>(const_cast<std::byte*>(bytes.data())), static_cast<unsigned>(bytes.size()));
  Sent(to, uv_udp_try_send(&handle_, &buf, 1, reinterpret_cast<const sockaddr*>(&storage)));
}

void UvUdp::Sent(const Address& to, int result) {
  if (result >= 0) return;
  Trouble trouble = Trouble::kSendFailed;
  switch (result) {
    case UV_EAGAIN:
    case UV_ENOBUFS:
      ++counters_[TransportCounter::kSendBlocked];
      break;
    case UV_EMSGSIZE:
      ++counters_[TransportCounter::kSendTooBig];
      trouble = Trouble::kTooBig;
      break;
    case UV_EPERM:
    case UV_EACCES:
      ++counters_[TransportCounter::kSendDenied];
      break;
    case UV_ENETUNREACH:
    case UV_EHOSTUNREACH:
    case UV_ENETDOWN:
      ++counters_[TransportCounter::kSendUnreachable];
      break;
    default:
      ++counters_[TransportCounter::kSendOther];
  }
  owner_.OnUdpTrouble(to, trouble);
}

void UvUdp::Close() {
  if (closing_) return;
  closing_ = true;
  if (!inited_) return owner_.OnUdpClosed();
  uv_close(reinterpret_cast<uv_handle_t*>(&handle_),
           [](uv_handle_t* handle) { static_cast<UvUdp*>(handle->data)->owner_.OnUdpClosed(); });
}

}  // namespace nekton
