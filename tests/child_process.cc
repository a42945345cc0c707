#include "tests/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <utility>

extern char** environ;

namespace nekton {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  std::array<int, 2> ends = {-1, -1};
  Pipe() {
    if (pipe2(ends.data(), O_CLOEXEC) != 0) std::abort();
  }
};

// Appends what there is; false at the end.
bool ReadSome(int fd, std::string* to) {
  std::array<char, 4096> buffer;
  const ssize_t size = read(fd, buffer.data(), buffer.size());
  if (size <= 0) return false;
  to->append(buffer.data(), static_cast<std::size_t>(size));
  return true;
}

void CloseFd(int* fd) {
  if (*fd >= 0) close(std::exchange(*fd, -1));
}

}  // namespace

ChildProcess::ChildProcess(std::vector<std::string> command) {
  const Pipe in;
  const Pipe out;
  const Pipe err;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.ends[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.ends[1], STDERR_FILENO);
  std::vector<char*> arguments;
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  if (posix_spawn(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ) != 0) {
    std::perror(arguments[0]);
    std::abort();
  }
  posix_spawn_file_actions_destroy(&actions);
  for (const int fd : {in.ends[0], out.ends[1], err.ends[1]}) close(fd);
  in_ = in.ends[1];
  out_ = out.ends[0];
  err_ = err.ends[0];
}

ChildProcess::~ChildProcess() {
  if (!ended_) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  for (int* fd : {&in_, &out_, &err_}) CloseFd(fd);
}

bool ChildProcess::Pump(Clock::time_point deadline) {
  if (out_ < 0 && err_ < 0) return false;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  if (left <= 0) return false;
  std::array<pollfd, 2> waits = {{{out_, POLLIN, 0}, {err_, POLLIN, 0}}};
  if (poll(waits.data(), waits.size(), static_cast<int>(left)) <= 0) return true;
  if (waits[0].revents != 0 && !ReadSome(out_, &output_)) CloseFd(&out_);
  if (waits[1].revents != 0 && !ReadSome(err_, &errors_)) CloseFd(&err_);
  return true;
}

std::optional<std::string> ChildProcess::NextLine() {
  const Clock::time_point deadline = Clock::now() + kPatience;
  std::size_t end;
  while ((end = output_.find('\n')) == std::string::npos) {
    if (out_ < 0 || !Pump(deadline)) return std::nullopt;
  }
  std::string line = output_.substr(0, end);
  output_.erase(0, end + 1);
  return line;
}

std::optional<std::string> ChildProcess::LineWith(std::string_view part) {
  std::optional<std::string> line;
  do {
    line = NextLine();
  } while (line.has_value() && line->find(part) == std::string::npos);
  return line;
}

void ChildProcess::Write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = write(in_, text.data(), text.size());
    if (size <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(size));
  }
}

void ChildProcess::Signal(int number) {
  if (!ended_) kill(pid_, number);
}

int ChildProcess::Wait() {
  if (ended_) return status_;
  const Clock::time_point deadline = Clock::now() + kPatience;
  while (Pump(deadline)) {
  }
  if (out_ >= 0 || err_ >= 0) return -1;  // too long
  // Both ends closed: it is ending.
  int status = 0;
  if (waitpid(pid_, &status, 0) != pid_) return -1;
  ended_ = true;
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return status_;
}

Finished RunToEnd(std::vector<std::string> command) {
  ChildProcess process(std::move(command));
  Finished finished;
  while (const std::optional<std::string> line = process.NextLine()) finished.out += *line + '\n';
  finished.status = process.Wait();
  finished.err = process.errors();
  return finished;
}

}  // namespace nekton
