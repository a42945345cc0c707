// Lines from a file descriptor that others wait on, too.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace nekton {

class LineInput {
 public:
  explicit LineInput(int fd) : fd_(fd) {}
  // To be polled for input; -1 once it has ended, or while this process is in the background of its terminal, where
  // reading would stop it.
  int fd() const;
  // To be called when fd() is readable: the lines that are whole now, without their ends. A line beyond 4 KiB is cut.
  std::vector<std::string> Read();

 private:
  static constexpr std::size_t kLineMax = 4096;

  int fd_;
  bool ended_ = false;
  std::string begun_;
};

}  // namespace nekton
