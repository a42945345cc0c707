// Frames on a stream: 4 bytes of length, little endian, then that many bytes; at least 1, at most kSyncBytesMax.
// Both ends work on a non-blocking socket, never raise SIGPIPE, and are fed whenever the socket is ready.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace nekton {

// Bytes that all streams of a transport may hold together while their frames come in.
class ByteBudget {
 public:
  explicit ByteBudget(std::size_t max) : max_(max) {}
  bool Take(std::size_t bytes) {
    if (bytes > max_ - used_) return false;
    used_ += bytes;
    return true;
  }
  void Give(std::size_t bytes) { used_ -= bytes; }
  std::size_t used() const { return used_; }

 private:
  std::size_t max_;
  std::size_t used_ = 0;
};

enum class FrameStep : std::uint8_t {
  kMore,        // call again when the socket is ready
  kComplete,    // the whole frame is through
  kEof,         // the peer closed before it was
  kError,       // error() tells
  kBadLength,   // a length that no frame has, or the greeting of a TLS client: no peer of ours
  kOverBudget,  // no room for it now
};

class FrameSender {
 public:
  // `bytes`: 1 to kSyncBytesMax of them.
  void Begin(std::vector<std::byte> bytes);
  FrameStep Write(int fd);
  int error() const { return error_; }

 private:
  std::array<std::byte, 4> header_{};
  std::vector<std::byte> bytes_;
  std::size_t sent_ = 0;  // header included
  int error_ = 0;
};

class FrameReceiver {
 public:
  explicit FrameReceiver(ByteBudget& budget) : budget_(budget) {}
  FrameReceiver(const FrameReceiver&) = delete;
  FrameReceiver& operator=(const FrameReceiver&) = delete;
  ~FrameReceiver() { budget_.Give(bytes_.size()); }

  // Reads what is there, about `limit` bytes at most: other sockets want their turn, too. Memory grows with what has
  // come, not with what the length promises.
  FrameStep Read(int fd, std::size_t limit = std::size_t{1} << 20);
  const std::vector<std::byte>& bytes() const { return bytes_; }  // once complete
  std::size_t received() const { return received_; }              // header included
  std::uint32_t length() const { return length_; }                // once the header is there
  int error() const { return error_; }

 private:
  FrameStep ReadHeader(int fd);
  FrameStep Ended(ssize_t got);
  bool Grow();
  bool IsTls() const;

  ByteBudget& budget_;
  std::array<std::byte, 4> header_{};
  std::vector<std::byte> bytes_;
  std::size_t received_ = 0;
  std::uint32_t length_ = 0;
  int error_ = 0;
};

}  // namespace nekton
