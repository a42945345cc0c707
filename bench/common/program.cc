#include "bench/common/program.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <span>

#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"

namespace nekton::bench {
namespace {

constexpr int kFailed = 1;
constexpr int kWrongArguments = 2;

int Refuse(std::string_view name, absl::string_view what, int status) {
  const std::string line = absl::StrCat(absl::string_view(name.data(), name.size()), ": ", what, "\n");
  std::fputs(line.c_str(), stderr);
  return status;
}

}  // namespace

bool Show(std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
}

bool ShowsProgress(bool asked) { return asked || (isatty(STDERR_FILENO) != 0 && isatty(STDOUT_FILENO) == 0); }

int RunProgram(int argc, char** argv, const Program& program) {
  const std::span<char*> arguments(argv, static_cast<std::size_t>(argc));
  const auto asks = [](std::string_view argument) { return argument == "--help" || argument == "-h"; };
  if (std::any_of(arguments.begin(), arguments.end(), asks)) return Show(program.help()) ? 0 : kFailed;
  if (absl::ParseCommandLine(argc, argv).size() > 1) {
    return Refuse(program.name, "takes only flags; see --help", kWrongArguments);
  }
  if (const std::string wrong = program.fill(); !wrong.empty()) return Refuse(program.name, wrong, kWrongArguments);
  return program.run() ? 0 : Refuse(program.name, "standard output cannot be written", kFailed);
}

}  // namespace nekton::bench
