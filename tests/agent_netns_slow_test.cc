// Three members in three network namespaces of one user namespace, joined by veth pairs and a bridge: links are taken down
// and up again. Skipped where the kernel does not allow it.
#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace nekton {
namespace {

struct Ended {
  int status = -1;
  std::string output;
};

Ended RunShell(const std::string& command) {
  Ended run;
  FILE* pipe = popen(absl::StrCat("{ ", command, "; } 2>&1").c_str(), "r");
  if (pipe == nullptr) return run;
  std::array<char, 4096> piece{};
  while (const std::size_t got = std::fread(piece.data(), 1, piece.size(), pipe)) run.output.append(piece.data(), got);
  const int ended = pclose(pipe);
  run.status = WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
  return run;
}

// What the kernel must allow: a network namespace with a veth pair in it, as an ordinary user.
std::string WhyNot() {
  const Ended tools = RunShell("command -v unshare nsenter ip");
  if (tools.status != 0) return "unshare, nsenter or ip is missing";
  const Ended made = RunShell("unshare -Urn ip link add name va0 type veth peer name vb0");
  return made.status == 0 ? "" : absl::StrCat("unshare -Urn with a veth pair: ", made.output);
}

// The whole run in one user namespace: three network namespaces hang at a bridge of the first. Each member writes its events
// to a file; the script prints what members say of each other at each stage.
constexpr const char* kScript = R"sh(
set -e
agent=$1; work=$2
end() { for i in 1 2 3; do kill ${agents[$i]} ${pids[$i]} 2>/dev/null || true; done; }
trap end EXIT
# Until it holds, for a minute at most; says whether it came to hold.
await() {
  for _ in $(seq 600); do
    if eval "$1"; then return 0; fi
    sleep 0.1
  done
  return 1
}
ip link set lo up
ip link add name br0 type bridge; ip link set br0 up
for i in 1 2 3; do
  unshare -n sleep 300 & pids[$i]=$!
  await "[[ \$(readlink /proc/${pids[$i]}/ns/net) != \$(readlink /proc/self/ns/net) ]]"
  ip link add name vup$i type veth peer name eth$i
  ip link set eth$i netns ${pids[$i]}
  ip link set vup$i master br0 up
  nsenter -n -t ${pids[$i]} ip link set lo up
  nsenter -n -t ${pids[$i]} ip addr add 10.99.0.$i/24 dev eth$i
  nsenter -n -t ${pids[$i]} ip link set eth$i up
done
for i in 1 2 3; do
  mkfifo $work/in$i
  nsenter -n -t ${pids[$i]} $agent agent --name n$i --bind 10.99.0.$i:7946 --profile local --join 10.99.0.1:7946 \
    < $work/in$i > $work/out$i 2>&1 & agents[$i]=$!
  eval "exec $((10 + i))> $work/in$i"
done
says() { grep -q "$2" $work/out$1; }
await "says 1 'n2 .* joined' && says 1 'n3 .* joined' && says 2 'n3 .* joined'" && echo joined
ip link set vup3 down
await "says 1 'n3 INACTIVE' && says 2 'n3 INACTIVE'" && echo failed
ip link set vup3 up
await "says 1 'n3 ACTIVE .* as INACTIVE' && says 2 'n3 ACTIVE .* as INACTIVE'" && echo back
for i in 1 2 3; do eval "echo members >&$((10 + i))"; done
for i in 1 2 3; do await "says $i '3 ACTIVE of 3 members'" && echo n$i whole; done
)sh";

TEST(NetnsTest, ALinkThatIsCutAndRestored) {
  if (const std::string why = WhyNot(); !why.empty()) GTEST_SKIP() << "no network namespaces here: " << why;
  std::string work = testing::TempDir() + "nekton_netns_XXXXXX";
  ASSERT_NE(mkdtemp(work.data()), nullptr);
  const std::string script = work + "/run.sh";
  FILE* file = std::fopen(script.c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::fputs(kScript, file);
  std::fclose(file);
  const Ended run = RunShell(absl::StrCat("unshare -Urn bash ", script, " ", NEKTON_COMMAND, " ", work));
  EXPECT_EQ(run.status, 0) << run.output;
  for (const char* line : {"joined", "failed", "back", "n1 whole", "n2 whole", "n3 whole"}) {
    EXPECT_NE(run.output.find(line), std::string::npos) << line << " is missing in:\n" << run.output;
  }
}

}  // namespace
}  // namespace nekton
