// Whether a program that starts others ends them when it is ended itself.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/child_process.h"

namespace nekton {

inline std::vector<pid_t> ChildrenOf(pid_t parent) {
  std::ifstream file(absl::StrCat("/proc/", parent, "/task/", parent, "/children"));
  std::vector<pid_t> children;
  for (pid_t child = 0; file >> child;) children.push_back(child);
  return children;
}

// Runs the command until a line with `part` in it, ends it by the signal, and looks at what it had started.
inline void ExpectNothingIsLeft(std::vector<std::string> command, std::string_view part, int number) {
  ChildProcess program(std::move(command));
  ASSERT_TRUE(program.LineWith(part).has_value()) << program.errors();
  const std::vector<pid_t> children = ChildrenOf(program.pid());
  ASSERT_FALSE(children.empty());
  program.Signal(number);
  EXPECT_EQ(program.Wait(), 128 + number) << program.errors();
  // It has waited for them: they are not about to end, they are gone.
  for (const pid_t child : children) {
    if (kill(child, 0) != 0) continue;
    ADD_FAILURE() << child << " was left";
    kill(child, SIGKILL);
  }
}

}  // namespace nekton
