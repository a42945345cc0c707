#include "transport/uv_streams.h"

#include <netinet/tcp.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "transport/uv_clock.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

constexpr Duration kSlow = 1s;            // silence after which a served stream may be evicted
constexpr Duration kAcceptPause = 100ms;  // after the process ran out of descriptors
constexpr int kAcceptsPerTurn = 64;

absl::Status Broken(const Address& peer, std::string_view why) {
  return absl::UnavailableError(absl::StrCat(peer.ToString(), ": ", absl::string_view(why.data(), why.size())));
}

int TakeError(int fd) {
  int error = 0;
  socklen_t size = sizeof(error);
  return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

template <typename Handle>
uv_handle_t* AsHandle(Handle* handle) {
  return reinterpret_cast<uv_handle_t*>(handle);
}

}  // namespace

struct UvStreams::Stream {
  enum class State : std::uint8_t { kConnecting, kSending, kReceiving, kWaiting };
  Stream(UvStreams* o, ByteBudget& budget) : owner(o), in(budget) {}

  UvStreams* owner;
  uv_poll_t poll{};
  Socket socket;
  State state = State::kReceiving;
  bool served = false;
  ExchangeId id = 0;
  Address peer;
  std::uint64_t born = 0;      // uv_hrtime
  std::uint64_t deadline = 0;  // uv_hrtime
  FrameSender out;
  FrameReceiver in;
};

int UvStreams::Open(uv_loop_t* loop, Socket listener, const Address& bound, bool v4) {
  loop_ = loop;
  bound_ = bound;
  v4_ = v4;
  listener_ = std::move(listener);
  uv_timer_init(loop, &timer_);  // always 0
  timer_.data = this;
  ++handles_;
  const int error = uv_poll_init(loop, &acceptable_, listener_.fd());
  if (error != 0) return error;
  acceptable_.data = this;
  ++handles_;
  served_.reserve(limits_.served_max);
  outgoing_.reserve(limits_.outgoing_max);
  return 0;
}

int UvStreams::Listen() {
  return uv_poll_start(&acceptable_, UV_READABLE,
                       [](uv_poll_t* poll, int, int) { static_cast<UvStreams*>(poll->data)->OnAcceptable(); });
}

void UvStreams::OnAcceptable() {
  for (int i = 0; i < kAcceptsPerTurn && !closing_; ++i) {
    sockaddr_storage from{};
    socklen_t size = sizeof(from);
    Socket socket(accept4(listener_.fd(), reinterpret_cast<sockaddr*>(&from), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.open()) {
      Admit(std::move(socket), FromSockaddr(reinterpret_cast<const sockaddr*>(&from)));
      continue;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) return;
    ++counters_[TransportCounter::kAcceptErrors];
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
      // The connection stays in the backlog and would wake us in a tight loop.
      uv_poll_stop(&acceptable_);
      accept_again_ = HrtimeIn(kAcceptPause);
      Rearm();
      return;
    }
  }
}

void UvStreams::Admit(Socket socket, const Address& from) {
  if (served_.size() >= limits_.served_max && !EvictSlow()) {
    ++counters_[TransportCounter::kServedFull];
    return;
  }
  const int on = 1;
  setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  Stream* s = Watch(std::move(socket), true, from);
  if (s == nullptr) {
    ++counters_[TransportCounter::kAcceptErrors];
    return;
  }
  ++counters_[TransportCounter::kServed];
  s->id = next_served_++;
  s->deadline = HrtimeIn(limits_.served);
  Poll(s, UV_READABLE);
  Rearm();
}

bool UvStreams::EvictSlow() {
  const std::uint64_t now = uv_hrtime();
  const auto slow = std::find_if(served_.begin(), served_.end(), [now](const Stream* s) {
    return s->state == Stream::State::kReceiving && now - s->born >= static_cast<std::uint64_t>(kSlow.count());
  });
  if (slow == served_.end()) return false;
  ++counters_[TransportCounter::kServedEvicted];
  Drop(*slow);
  return true;
}

bool UvStreams::Busy() const {
  const auto answers = std::count_if(served_.begin(), served_.end(),
                                     [](const Stream* s) { return s->state != Stream::State::kReceiving; });
  return static_cast<std::size_t>(answers) >= limits_.answers_max;
}

void UvStreams::Exchange(ExchangeId id, const Address& to, Duration limit, std::vector<std::byte> request) {
  if (closing_) return;
  ++counters_[TransportCounter::kExchanges];
  const auto stillborn = [&](absl::Status status, bool refused = false) {
    stillborn_.push_back({id, to, refused, std::move(status)});
    Rearm();
  };
  if (outgoing_.size() >= limits_.outgoing_max) {
    ++counters_[TransportCounter::kExchangesFull];
    return stillborn(absl::ResourceExhaustedError(absl::StrCat("more than ", limits_.outgoing_max, " exchanges")));
  }
  if (request.empty() || request.size() > kSyncBytesMax) {
    ++counters_[TransportCounter::kExchangesFull];
    return stillborn(absl::ResourceExhaustedError(
        absl::StrCat("a request of ", request.size(), " bytes; allowed are 1 to ", kSyncBytesMax)));
  }
  sockaddr_storage storage{};
  const socklen_t size = ToSockaddr(to, v4_, &storage);
  Socket socket = size == 0 ? Socket() : NewStream(bound_, v4_);
  int error = size == 0 ? EAFNOSUPPORT : (socket.open() ? 0 : errno);
  if (error == 0 && connect(socket.fd(), reinterpret_cast<const sockaddr*>(&storage), size) != 0 &&
      errno != EINPROGRESS) {
    error = errno;
  }
  Stream* s = error == 0 ? Watch(std::move(socket), false, to) : nullptr;
  if (s == nullptr) {
    ++counters_[error == ECONNREFUSED ? TransportCounter::kExchangesRefused : TransportCounter::kExchangesBroken];
    return stillborn(Broken(to, error == 0 ? "cannot be polled" : std::strerror(error)), error == ECONNREFUSED);
  }
  s->id = id;
  s->state = Stream::State::kConnecting;
  s->deadline = HrtimeIn(limit);
  s->out.Begin(std::move(request));
  Poll(s, UV_WRITABLE);
  Rearm();
}

void UvStreams::Reply(ExchangeId id, std::vector<std::byte> answer) {
  const auto found = std::find_if(served_.begin(), served_.end(), [id](const Stream* s) { return s->id == id; });
  if (found == served_.end() || (*found)->state != Stream::State::kWaiting) return;
  Stream* s = *found;
  if (answer.empty() || answer.size() > kSyncBytesMax) return Drop(s);
  s->state = Stream::State::kSending;
  s->out.Begin(std::move(answer));
  Send(s);
}

void UvStreams::OnReady(Stream* s, int status) {
  switch (s->state) {
    case Stream::State::kConnecting:
      return Connected(s);
    case Stream::State::kSending:
      Send(s);
      break;
    case Stream::State::kReceiving:
      // After an error libuv has stopped polling: what is there must be read now.
      Receive(s, status < 0 ? std::numeric_limits<std::size_t>::max() : std::size_t{1} << 20);
      break;
    case Stream::State::kWaiting: {
      // While we work on its request a peer has nothing to say; if it hangs up, nobody waits for the answer.
      std::byte extra{};
      const ssize_t got = recv(s->socket.fd(), &extra, 1, 0);
      if (got < 0 && status == 0 && (errno == EAGAIN || errno == EINTR)) return;
      ++counters_[got > 0 ? TransportCounter::kServedMalformed : TransportCounter::kServedBroken];
      return Drop(s);
    }
  }
}

void UvStreams::Connected(Stream* s) {
  if (const int error = TakeError(s->socket.fd()); error != 0) return Refused(s, error);
  s->state = Stream::State::kSending;
  Send(s);
}

void UvStreams::Refused(Stream* s, int error) {
  const absl::Status status = Broken(s->peer, std::strerror(error));
  const Address peer = s->peer;
  const ExchangeId id = s->id;
  const bool refused = error == ECONNREFUSED;
  ++counters_[refused ? TransportCounter::kExchangesRefused : TransportCounter::kExchangesBroken];
  Drop(s);
  if (refused) owner_.OnStreamRefused(peer);
  if (!closing_) owner_.OnStreamAnswer(id, status, {});
}

void UvStreams::Send(Stream* s) {
  const FrameStep step = s->out.Write(s->socket.fd());
  if (step == FrameStep::kMore) return Poll(s, UV_WRITABLE);
  if (step != FrameStep::kComplete) return Failed(s, step, s->out.error());
  if (s->served) return Drop(s);  // the kernel sends what is in its buffer
  s->state = Stream::State::kReceiving;
  Poll(s, UV_READABLE);
}

void UvStreams::Receive(Stream* s, std::size_t limit) {
  const FrameStep step = s->in.Read(s->socket.fd(), limit);
  if (step == FrameStep::kMore) return Poll(s, UV_READABLE);
  if (step == FrameStep::kComplete) return Finished(s);
  Failed(s, step, s->in.error());
}

void UvStreams::Finished(Stream* s) {
  if (!s->served) return End(s, absl::OkStatus());
  const bool busy = Busy();
  if (busy) ++counters_[TransportCounter::kServedBusy];
  s->state = Stream::State::kWaiting;
  Poll(s, UV_READABLE | UV_DISCONNECT);
  // A reply may come in there and end the stream; its memory lives until libuv is done with the handle.
  owner_.OnStreamRequest(s->peer, s->id, s->in.bytes(), busy);
}

void UvStreams::Failed(Stream* s, FrameStep step, int error) {
  if (s->served) return FailedServed(s, step);
  if (step == FrameStep::kBadLength || step == FrameStep::kOverBudget) {
    ++counters_[TransportCounter::kExchangesTooLarge];
    return End(s, absl::ResourceExhaustedError(
                      absl::StrCat(s->peer.ToString(), ": an answer of ", s->in.length(), " bytes is too large")));
  }
  ++counters_[TransportCounter::kExchangesBroken];
  End(s, Broken(s->peer, step == FrameStep::kEof ? "closed without an answer" : std::strerror(error)));
}

void UvStreams::FailedServed(Stream* s, FrameStep step) {
  const Address peer = s->peer;
  const TransportCounter counter = step == FrameStep::kBadLength    ? TransportCounter::kServedMalformed
                                   : step == FrameStep::kOverBudget ? TransportCounter::kServedFull
                                                                    : TransportCounter::kServedBroken;
  ++counters_[counter];
  Drop(s);
  if (step == FrameStep::kBadLength) owner_.OnStranger(peer, "a stream that does not begin with a frame");
}

void UvStreams::End(Stream* s, const absl::Status& status) {
  const ExchangeId id = s->id;
  Drop(s);
  owner_.OnStreamAnswer(id, status, s->in.bytes());
}

UvStreams::Stream* UvStreams::Watch(Socket socket, bool served, const Address& peer) {
  auto s = std::make_unique<Stream>(this, budget_);
  if (uv_poll_init(loop_, &s->poll, socket.fd()) != 0) return nullptr;
  s->poll.data = s.get();
  ++handles_;
  s->socket = std::move(socket);
  s->served = served;
  s->peer = peer;
  s->born = uv_hrtime();
  (served ? served_ : outgoing_).push_back(s.get());
  return s.release();  // Drop() and its close callback own it
}

void UvStreams::Poll(Stream* s, int events) {
  uv_poll_start(&s->poll, events, [](uv_poll_t* poll, int status, int) {
    auto* stream = static_cast<Stream*>(poll->data);
    stream->owner->OnReady(stream, status);
  });
}

// Takes the stream out of its table. Its memory lives until libuv has let go of the handle, in a later turn.
void UvStreams::Drop(Stream* s) {
  std::erase(s->served ? served_ : outgoing_, s);
  uv_close(AsHandle(&s->poll), [](uv_handle_t* handle) {
    auto* stream = static_cast<Stream*>(handle->data);
    UvStreams* owner = stream->owner;
    delete stream;
    owner->HandleClosed();
  });
  s->socket.Reset();  // after uv_close(), which takes it out of the poll set
}

void UvStreams::OnTimer() {
  for (const Stillborn& dead : std::exchange(stillborn_, {})) {
    if (closing_) return;
    if (dead.refused) owner_.OnStreamRefused(dead.to);
    if (!closing_) owner_.OnStreamAnswer(dead.id, dead.status, {});
  }
  if (closing_) return;
  const std::uint64_t now = uv_hrtime();
  if (accept_again_ != 0 && accept_again_ <= now) {
    accept_again_ = 0;
    Listen();
  }
  const auto expired = [now](const Stream* s) { return s->deadline <= now; };
  for (std::vector<Stream*>* table : {&outgoing_, &served_}) {
    for (;;) {
      const auto found = std::find_if(table->begin(), table->end(), expired);
      if (found == table->end()) break;
      Expire(*found);
      if (closing_) return;
    }
  }
  Rearm();
}

void UvStreams::Expire(Stream* s) {
  if (s->served) {
    ++counters_[TransportCounter::kServedTimedOut];
    return Drop(s);
  }
  // A process that was stopped has its answers waiting in the socket: they come before the verdict.
  if (s->state == Stream::State::kReceiving &&
      s->in.Read(s->socket.fd(), std::numeric_limits<std::size_t>::max()) == FrameStep::kComplete) {
    return End(s, absl::OkStatus());
  }
  ++counters_[TransportCounter::kExchangesTimedOut];
  End(s, absl::DeadlineExceededError(absl::StrCat(s->peer.ToString(), ": no answer in time")));
}

void UvStreams::Rearm() {
  std::uint64_t due = accept_again_ != 0 ? accept_again_ : std::numeric_limits<std::uint64_t>::max();
  if (!stillborn_.empty()) due = 0;
  for (const Stream* s : served_) due = std::min(due, s->deadline);
  for (const Stream* s : outgoing_) due = std::min(due, s->deadline);
  if (due == std::numeric_limits<std::uint64_t>::max()) {
    uv_timer_stop(&timer_);
    return;
  }
  StartTimerAt(&timer_, due, [](uv_timer_t* timer) { static_cast<UvStreams*>(timer->data)->OnTimer(); });
}

void UvStreams::Close() {
  if (closing_) return;
  closing_ = true;
  while (!served_.empty()) Drop(served_.back());
  while (!outgoing_.empty()) Drop(outgoing_.back());
  if (loop_ == nullptr) return owner_.OnStreamsClosed();
  const auto closed = [](uv_handle_t* handle) { static_cast<UvStreams*>(handle->data)->HandleClosed(); };
  uv_close(AsHandle(&timer_), closed);
  if (acceptable_.data != nullptr) uv_close(AsHandle(&acceptable_), closed);
  listener_.Reset();
}

void UvStreams::HandleClosed() {
  --handles_;
  if (closing_ && handles_ == 0) owner_.OnStreamsClosed();
}

}  // namespace nekton
