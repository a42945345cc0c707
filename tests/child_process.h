// A program that a test runs: its output by lines, its status, and never longer than the test.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nekton {

class ChildProcess {
 public:
  // Every wait ends after this, so that nothing hangs; far longer than any machine should need.
  static constexpr std::chrono::seconds kPatience{60};

  explicit ChildProcess(std::vector<std::string> command);
  ~ChildProcess();  // kills it if it still runs
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // The next line of its standard output, without its end. Nothing at its end, or when it took too long.
  std::optional<std::string> NextLine();
  // Goes on to the next line with `part` in it. Nothing if there is none.
  std::optional<std::string> LineWith(std::string_view part);
  void Write(std::string_view text);  // to its standard input
  void Signal(int number);
  pid_t pid() const { return pid_; }
  // Its exit status, 128 and the number if a signal ended it; -1 when it took too long.
  int Wait();
  // All of its standard error so far; after Wait() all there is.
  const std::string& errors() const { return errors_; }

 private:
  bool Pump(std::chrono::steady_clock::time_point deadline);  // false: nothing more comes

  pid_t pid_ = -1;
  bool ended_ = false;
  int status_ = -1;
  int in_ = -1;
  int out_ = -1;
  int err_ = -1;
  std::string output_;
  std::string errors_;
};

// Runs a program to its end.
struct Finished {
  int status = -1;
  std::string out;
  std::string err;
};
Finished RunToEnd(std::vector<std::string> command);

}  // namespace nekton
