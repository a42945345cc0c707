#include "transport/uv_frame.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

#include "swim/message.h"

namespace nekton {
namespace {

constexpr std::size_t kHeader = 4;
constexpr std::size_t kFirstPiece = std::size_t{16} << 10;

bool WouldBlock(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

ssize_t Receive(int fd, std::byte* to, std::size_t size) {
  ssize_t got = 0;
  do got = recv(fd, to, size, 0);
  while (got < 0 && errno == EINTR);
  return got;
}

}  // namespace

void FrameSender::Begin(std::vector<std::byte> bytes) {
  for (std::size_t i = 0; i < kHeader; ++i) header_[i] = static_cast<std::byte>(bytes.size() >> (8 * i));
  bytes_ = std::move(bytes);
  sent_ = 0;
}

FrameStep FrameSender::Write(int fd) {
  while (sent_ < kHeader + bytes_.size()) {
    std::array<iovec, 2> parts{};
    std::size_t count = 0;
    if (sent_ < kHeader) parts[count++] = {header_.data() + sent_, kHeader - sent_};
    const std::size_t body = sent_ < kHeader ? 0 : sent_ - kHeader;
    parts[count++] = {bytes_.data() + body, bytes_.size() - body};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = count;
    const ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (WouldBlock(errno)) return FrameStep::kMore;
      error_ = errno;
      return FrameStep::kError;
    }
    sent_ += static_cast<std::size_t>(sent);
  }
  return FrameStep::kComplete;
}

FrameStep FrameReceiver::ReadHeader(int fd) {
  while (received_ < kHeader) {
    const ssize_t got = Receive(fd, header_.data() + received_, kHeader - received_);
    if (got <= 0) return Ended(got);
    received_ += static_cast<std::size_t>(got);
  }
  length_ = 0;
  for (std::size_t i = 0; i < kHeader; ++i) length_ |= static_cast<std::uint32_t>(header_[i]) << (8 * i);
  return length_ == 0 || length_ > kSyncBytesMax ? FrameStep::kBadLength : FrameStep::kComplete;
}

// What a recv() that gave no bytes means.
FrameStep FrameReceiver::Ended(ssize_t got) {
  if (got == 0) return FrameStep::kEof;
  if (WouldBlock(errno)) return FrameStep::kMore;
  error_ = errno;
  return FrameStep::kError;
}

// A TLS client says 16 03 0x, two bytes of length, 01 for its greeting; the first four are a length that a frame of ours
// could have. None of ours begins as what follows does.
bool FrameReceiver::IsTls() const {
  const auto at = [](std::byte b) { return std::to_integer<unsigned>(b); };
  const unsigned first = at(bytes_[0]) >> 4;
  return at(header_[0]) == 0x16 && at(header_[1]) == 3 && at(header_[2]) <= 4 && at(bytes_[1]) == 1 && first != 1 &&
         first != 0xe;
}

bool FrameReceiver::Grow() {
  const std::size_t size = std::min<std::size_t>(length_, std::max(kFirstPiece, 2 * bytes_.size()));
  if (!budget_.Take(size - bytes_.size())) return false;
  bytes_.resize(size);
  return true;
}

FrameStep FrameReceiver::Read(int fd, std::size_t limit) {
  if (const FrameStep step = ReadHeader(fd); step != FrameStep::kComplete) return step;
  std::size_t read = 0;
  while (received_ < kHeader + length_) {
    if (read >= limit) return FrameStep::kMore;
    const std::size_t have = received_ - kHeader;
    if (have == bytes_.size() && !Grow()) return FrameStep::kOverBudget;
    const ssize_t got = Receive(fd, bytes_.data() + have, bytes_.size() - have);
    if (got <= 0) return Ended(got);
    received_ += static_cast<std::size_t>(got);
    read += static_cast<std::size_t>(got);
    if (have < 2 && received_ >= kHeader + 2 && IsTls()) return FrameStep::kBadLength;
  }
  return FrameStep::kComplete;
}

}  // namespace nekton
