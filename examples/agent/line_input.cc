#include "examples/agent/line_input.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace nekton {

int LineInput::fd() const {
  if (ended_) return -1;
  return isatty(fd_) == 1 && tcgetpgrp(fd_) != getpgrp() ? -1 : fd_;
}

std::vector<std::string> LineInput::Read() {
  std::vector<std::string> lines;
  std::array<char, 4096> buffer;
  const ssize_t size = read(fd_, buffer.data(), buffer.size());
  if (size < 0 && (errno == EINTR || errno == EAGAIN)) return lines;
  if (size <= 0) {
    ended_ = true;
    if (!begun_.empty()) lines.push_back(std::move(begun_));
    return lines;
  }
  for (const char c : std::string(buffer.data(), static_cast<std::size_t>(size))) {
    if (c == '\n') {
      lines.push_back(std::move(begun_));
      begun_.clear();
    } else if (c != '\r' && begun_.size() < kLineMax) {
      begun_ += c;
    }
  }
  return lines;
}

}  // namespace nekton
