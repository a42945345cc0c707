// Directories for files of a test, removed when the test program ends.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace nekton {

// A new directory of its own. Not for several threads at once.
inline std::string ScratchDir() {
  struct Dirs {
    const pid_t owner = getpid();  // not the children that tests fork
    std::vector<std::string> all;
    ~Dirs() {
      std::error_code ignored;
      for (const std::string& dir : all) {
        if (getpid() == owner) std::filesystem::remove_all(dir, ignored);
      }
    }
  };
  static Dirs dirs;
  const std::string dir = absl::StrCat(testing::TempDir(), "nekton_", getpid(), "_", dirs.all.size());
  std::filesystem::create_directories(dir);
  dirs.all.push_back(dir);
  return dir;
}

inline std::string ScratchPath(const std::string& file) { return absl::StrCat(ScratchDir(), "/", file); }

}  // namespace nekton
