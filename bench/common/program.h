// What all measuring programs do alike: --help, flags, where output goes, and the status at the end.
//
//   status 0; 1: failed, or an unknown flag; 2: wrong arguments
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace nekton::bench {

// `fill` reads the flags once they are parsed, and says what is wrong with them: nothing is. `run` then measures, and
// returns whether all could be shown.
struct Program {
  std::string_view name;
  std::function<std::string()> help;
  std::function<std::string()> fill;
  std::function<bool()> run;
};
int RunProgram(int argc, char** argv, const Program& program);

// To standard output, at once. False: it cannot be written.
bool Show(std::string_view text);
// Whether progress goes to standard error: when asked for, and on a terminal beside output that goes elsewhere.
bool ShowsProgress(bool asked);

}  // namespace nekton::bench
