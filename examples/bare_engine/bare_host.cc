#include "examples/bare_engine/bare_host.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iostream>
#include <span>
#include <utility>

#include "swim/message.h"

namespace bare {
namespace {

using nekton::Address;

constexpr std::size_t kHeader = 4;
constexpr std::size_t kStreamsMax = 32;
constexpr std::chrono::seconds kServeLimit(5);

sockaddr_in ToSockaddr(const Address& address) {
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_port = htons(address.port);
  std::memcpy(&in.sin_addr, address.ip.data() + 12, 4);
  return in;
}

Address FromSockaddr(const sockaddr_in& in) {
  std::array<std::uint8_t, 4> ip{};
  std::memcpy(ip.data(), &in.sin_addr, ip.size());
  return Address::V4(ip[0], ip[1], ip[2], ip[3], ntohs(in.sin_port));
}

const sockaddr* Generic(const sockaddr_in& in) { return reinterpret_cast<const sockaddr*>(&in); }

int Bound(int type, const Address& address) {
  const int fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const sockaddr_in in = ToSockaddr(address);
  if (fd >= 0 && bind(fd, Generic(in), sizeof(in)) == 0) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

std::vector<std::byte> Framed(const std::vector<std::byte>& bytes) {
  std::vector<std::byte> framed(kHeader + bytes.size());
  for (std::size_t i = 0; i < kHeader; ++i) framed[i] = static_cast<std::byte>(bytes.size() >> (8 * i));
  std::copy(bytes.begin(), bytes.end(), framed.begin() + kHeader);
  return framed;
}

// Length of the frame that begins in `in`, header included; 0: its header is not there yet.
std::size_t FrameSize(const std::vector<std::byte>& in) {
  if (in.size() < kHeader) return 0;
  std::size_t length = 0;
  for (std::size_t i = 0; i < kHeader; ++i) length |= std::to_integer<std::size_t>(in[i]) << (8 * i);
  return kHeader + length;
}

// Sends and takes in what the socket allows. False once the stream has ended or failed.
bool Pump(Stream& stream) {
  while (!stream.out.empty()) {
    const ssize_t sent = send(stream.fd, stream.out.data(), stream.out.size(), MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN || errno == ENOTCONN;
    stream.out.erase(stream.out.begin(), stream.out.begin() + sent);
  }
  std::array<std::byte, 65536> piece{};
  for (;;) {
    const ssize_t got = recv(stream.fd, piece.data(), piece.size(), 0);
    if (got < 0) return errno == EAGAIN || errno == ENOTCONN;
    if (got == 0) return false;
    stream.in.insert(stream.in.end(), piece.begin(), piece.begin() + got);
    if (FrameSize(stream.in) > kHeader + nekton::kSyncBytesMax) return false;
  }
}

}  // namespace

nekton::Tick Now() {
  const auto read = [](clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
  };
  return {.boot = nekton::Instant(read(CLOCK_BOOTTIME)),
          .raw = nekton::RawInstant(read(CLOCK_MONOTONIC_RAW)),
          .wall = nekton::WallTime(read(CLOCK_REALTIME))};
}

Stream::~Stream() {
  if (fd >= 0) close(fd);
}

absl::StatusOr<std::unique_ptr<Host>> Host::Begin(const std::string& name) {
  auto config = nekton::Config::Local();
  config.name = name;
  config.generation = static_cast<std::uint64_t>(Now().wall.time_since_epoch().count() / 1000000);
  config.seed = config.generation;  // of the randomness; a service takes it from the system
  return Create(config);
}

absl::StatusOr<std::unique_ptr<Host>> Host::Create(const nekton::Config& config) {
  const int listener = Bound(SOCK_STREAM, Address::V4(127, 0, 0, 1, 0));
  sockaddr_in in{};
  socklen_t size = sizeof(in);
  int datagrams = -1;
  if (listener >= 0 && getsockname(listener, reinterpret_cast<sockaddr*>(&in), &size) == 0 &&
      listen(listener, 16) == 0) {
    datagrams = Bound(SOCK_DGRAM, FromSockaddr(in));
  }
  if (datagrams < 0) {
    if (listener >= 0) close(listener);
    return absl::UnavailableError("no port for both datagrams and streams; try again");
  }
  absl::StatusOr<nekton::Member> member = nekton::Member::Create(config, FromSockaddr(in));
  if (!member.ok()) {
    close(listener);
    close(datagrams);
    return member.status();
  }
  return std::unique_ptr<Host>(new Host(*std::move(member), FromSockaddr(in), datagrams, listener));
}

Host::Host(nekton::Member member, const Address& address, int datagrams, int listener)
    : member_(std::move(member)), address_(address), datagrams_(datagrams), listener_(listener) {}

Host::~Host() {
  close(datagrams_);
  close(listener_);
}

void Host::AddPolled(std::vector<pollfd>& polled) const {
  polled.push_back({datagrams_, POLLIN, 0});
  polled.push_back({listener_, POLLIN, 0});
  for (const auto& stream : streams_) {
    const int events = stream->out.empty() ? POLLIN : POLLIN | POLLOUT;
    polled.push_back({stream->fd, static_cast<short>(events), 0});
  }
}

nekton::Instant Host::NextWake() const {
  nekton::Instant next = member_.NextWake();
  for (const auto& stream : streams_) next = std::min(next, stream->deadline);
  return next;
}

void Host::Join(const Address& seed) {
  const absl::Status status = member_.Order(Now(), nekton::Join{{seed}}, out_);
  if (!status.ok()) std::cerr << status << '\n';
  Drain();
}

// A round ends before the next begins, and none has failed.
bool Host::probed() const {
  const nekton::Counters& counters = member_.counters();
  return counters[nekton::Counter::kRounds] > 1 && counters[nekton::Counter::kRoundsFailed] == 0;
}

void Host::HandleInput() {
  ReadDatagrams();
  AcceptStreams();
  // A finished exchange may open another, which is looked at in the next turn.
  const std::size_t count = streams_.size();
  for (std::size_t i = 0; i < count; ++i) Advance(*streams_[i]);
  std::erase_if(streams_, [](const auto& s) { return s->done; });
}

void Host::HandleTime() {
  const nekton::Tick now = Now();
  const std::size_t count = streams_.size();
  for (std::size_t i = 0; i < count; ++i) {
    Stream& stream = *streams_[i];
    if (!stream.done && stream.deadline <= now.boot) Finish(stream, absl::DeadlineExceededError("no answer in time"));
  }
  std::erase_if(streams_, [](const auto& s) { return s->done; });
  if (member_.NextWake() > now.boot) return;
  member_.Wake(now, out_);
  Drain();
}

void Host::ReadDatagrams() {
  std::array<std::byte, 65536> buffer{};
  for (;;) {
    sockaddr_in from{};
    socklen_t size = sizeof(from);
    const ssize_t got =
        recvfrom(datagrams_, buffer.data(), buffer.size(), 0, reinterpret_cast<sockaddr*>(&from), &size);
    if (got < 0) return;
    member_.Receive(Now(), FromSockaddr(from), std::span(buffer).first(static_cast<std::size_t>(got)), out_);
    Drain();
  }
}

void Host::AcceptStreams() {
  for (;;) {
    sockaddr_in from{};
    socklen_t size = sizeof(from);
    const int fd = accept4(listener_, reinterpret_cast<sockaddr*>(&from), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    auto stream = std::make_unique<Stream>();
    stream->fd = fd;
    if (streams_.size() >= kStreamsMax) continue;  // closed at once
    stream->served = true;
    stream->id = next_served_++;
    stream->peer = FromSockaddr(from);
    stream->deadline = Now().boot + kServeLimit;
    streams_.push_back(std::move(stream));
  }
}

void Host::Advance(Stream& stream) {
  const bool open = Pump(stream);
  const std::size_t size = FrameSize(stream.in);
  const bool complete = size > 0 && stream.in.size() >= size;
  if (!stream.served && complete) return Finish(stream, absl::OkStatus());
  if (!open) return Finish(stream, absl::UnavailableError("the stream was closed"));
  // The answer may come later than this call; the asker closes when it has it.
  if (!stream.served || !complete || stream.asked) return;
  stream.asked = true;
  member_.Serve(Now(), stream.peer, stream.id, std::span(stream.in).subspan(kHeader, size - kHeader), out_);
  Drain();
}

// Ends a stream; one of ours tells the member how.
void Host::Finish(Stream& stream, const absl::Status& status) {
  stream.done = true;
  if (stream.served) return;
  const std::span<const std::byte> answer =
      status.ok() ? std::span<const std::byte>(stream.in).subspan(kHeader, FrameSize(stream.in) - kHeader)
                  : std::span<const std::byte>();
  member_.Answer(Now(), stream.id, status, answer, out_);
  Drain();
}

void Host::Open(nekton::Outbox::Request& request) {
  auto stream = std::make_unique<Stream>();
  stream->id = request.id;
  stream->peer = request.to;
  stream->deadline = Now().boot + request.limit;
  stream->out = Framed(request.bytes);
  stream->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const sockaddr_in in = ToSockaddr(request.to);
  // A connection that fails shows as a failed write in the next turn.
  if (connect(stream->fd, Generic(in), sizeof(in)) != 0 && errno != EINPROGRESS) {
    std::cerr << "connect: " << std::strerror(errno) << '\n';
  }
  streams_.push_back(std::move(stream));
}

// Carries out what the last input caused, and clears the outbox for the next.
void Host::Drain() {
  for (const nekton::Outbox::Datagram& d : out_.datagrams()) {
    const sockaddr_in in = ToSockaddr(d.to);
    sendto(datagrams_, out_.bytes(d).data(), d.size, 0, Generic(in), sizeof(in));  // a lost datagram is no error
  }
  for (nekton::Outbox::Request& request : out_.requests()) Open(request);
  for (nekton::Outbox::Reply& reply : out_.replies()) {
    for (const auto& stream : streams_) {
      if (!stream->served || stream->id != reply.id) continue;
      stream->out = Framed(reply.bytes);
      stream->done = reply.bytes.empty();  // closes the stream without an answer
    }
  }
  for (const nekton::Event& event : out_.events()) std::cout << address_.ToString() << ": " << event << '\n';
  out_.Clear();
}

}  // namespace bare
