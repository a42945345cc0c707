// The command `nekton`: a member on real sockets, whole groups in the simulator, and the keys of an authority.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "examples/agent/agent.h"
#include "examples/agent/keys.h"
#include "examples/agent/sim.h"
#include "examples/agent/words.h"

namespace nekton {
namespace {

constexpr int kWrongArguments = 2;

constexpr std::string_view kHelp = R"(usage: nekton COMMAND [option...]

  agent       runs one member of a group and prints what happens in it
  sim         runs a whole group on virtual time and a simulated network
  keygen      makes the key of an authority
  capability  signs the right to use an object

"nekton COMMAND --help" explains the options.
)";

int Show(std::string_view text) {
  const bool shown = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  return shown ? 0 : 1;
}

int Refuse(std::string_view command, absl::string_view what) {
  const std::string name = absl::StrCat("nekton", command.empty() ? "" : " ", Absl(command));
  const std::string line = absl::StrCat(name, ": ", what, "; see ", name, " --help\n");
  std::fputs(line.c_str(), stderr);
  return kWrongArguments;
}

// A socket must not get the number of a standard stream that was closed.
void OpenStandardStreams() {
  int fd;
  do {
    fd = open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) close(fd);
}

template <typename Options>
int Command(std::string_view name, std::string_view help, const absl::StatusOr<Options>& options,
            int (*run)(const Options&)) {
  if (!options.ok()) return Refuse(name, options.status().message());
  return options->help ? Show(help) : run(*options);
}

int Main(std::span<const char* const> arguments) {
  OpenStandardStreams();
  if (arguments.size() < 2) return Refuse("", "the command is missing: agent, sim, keygen or capability");
  const std::string_view command = arguments[1];
  const auto rest = arguments.subspan(2);
  if (command == "--help" || command == "-h" || command == "help") return Show(kHelp);
  if (command == "agent") return Command(command, kAgentHelp, ParseAgentOptions(rest), RunAgent);
  if (command == "sim") return Command(command, kSimHelp, ParseSimOptions(rest), RunSim);
  if (command == "keygen") return Command(command, kKeygenHelp, ParseKeygenOptions(rest), RunKeygen);
  if (command == "capability") return Command(command, kCapabilityHelp, ParseCapabilityOptions(rest), RunCapability);
  return Refuse("", absl::StrCat("unknown command ", Quoted(command)));
}

}  // namespace
}  // namespace nekton

int main(int argc, char** argv) { return nekton::Main({argv, static_cast<std::size_t>(argc)}); }
