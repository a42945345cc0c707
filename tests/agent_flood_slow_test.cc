// Garbage at one member of a live group of five processes: nobody is declared dead, memory stays flat, and the counters
// tell what came. NEKTON_FLOOD: datagrams a second, else 20,000 (a machine that builds has no more to give); NEKTON_FLOOD_S:
// seconds, else 4.
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "swim/random.h"
#include "tests/child_process.h"
#include "tests/uv_fixture.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

double Setting(const char* name, double usual) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atof(text) : usual;
}

// Sends `rate` datagrams a second for `seconds`, 32 at a system call; how many went out.
std::uint64_t Flood(const Address& to, double rate, double seconds) {
  RawSocket socket(SOCK_DGRAM);
  sockaddr_storage target{};
  const socklen_t size = ToSockaddr(to, true, &target);
  EXPECT_EQ(connect(socket.fd(), reinterpret_cast<sockaddr*>(&target), size), 0);
  Random random(1);
  constexpr std::size_t kBatch = 32;
  std::vector<std::vector<std::uint64_t>> garbage(kBatch);
  std::vector<iovec> pieces(kBatch);
  std::vector<mmsghdr> messages(kBatch);
  for (std::size_t i = 0; i < kBatch; ++i) {
    garbage[i].resize(3 + i);
    for (std::uint64_t& word : garbage[i]) word = random.Next();
    pieces[i] = {garbage[i].data(), garbage[i].size() * sizeof(std::uint64_t)};
    messages[i].msg_hdr.msg_iov = &pieces[i];
    messages[i].msg_hdr.msg_iovlen = 1;
  }
  std::uint64_t sent = 0;
  const auto begin = Clock::now();
  for (;;) {
    const double elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
    if (elapsed >= seconds) return sent;
    if (static_cast<double>(sent) >= elapsed * rate) {
      std::this_thread::sleep_for(1ms);
      continue;
    }
    const int count = sendmmsg(socket.fd(), messages.data(), kBatch, 0);
    if (count > 0) sent += static_cast<std::uint64_t>(count);
  }
}

std::size_t ResidentKiB(ChildProcess& process) {
  std::ifstream in(absl::StrCat("/proc/", process.pid(), "/statm"));
  std::size_t all = 0;
  std::size_t resident = 0;
  in >> all >> resident;
  return resident * 4;
}

TEST(AgentFlood, NobodyIsDeclaredDeadForIt) {
  std::vector<std::unique_ptr<ChildProcess>> agents;
  std::string seed;
  for (int i = 0; i < 5; ++i) {
    std::vector<std::string> command = {NEKTON_COMMAND,       "agent",  "--name",
                                        absl::StrCat("n", i), "--bind", "127.0.0.1:0"};
    if (!seed.empty()) command.insert(command.end(), {"--join", seed});
    agents.push_back(std::make_unique<ChildProcess>(command));
    const auto line = agents.back()->LineWith("listens on ");
    ASSERT_TRUE(line.has_value());
    if (!seed.empty()) continue;
    const std::size_t at = line->find("listens on ") + 11;
    seed = line->substr(at, line->find_first_of(" ,", at) - at);
  }
  const auto target = Address::Parse(seed);
  ASSERT_TRUE(target.ok()) << seed;
  for (int i = 1; i < 5; ++i) ASSERT_TRUE(agents[0]->LineWith(" joined at ").has_value());
  const std::size_t before = ResidentKiB(*agents[0]);
  const double rate = Setting("NEKTON_FLOOD", 20'000);
  const double seconds = Setting("NEKTON_FLOOD_S", 4);
  const std::uint64_t sent = Flood(*target, rate, seconds);
  const std::size_t after = ResidentKiB(*agents[0]);
  std::this_thread::sleep_for(
      8s);  // so long it is watched: whoever was suspected in the flood is dead or refuted by then
  std::string text;
  for (auto& agent : agents) {
    agent->Write("counters\n");
    agent->Write("leave\n");
    for (auto line = agent->NextLine(); line.has_value(); line = agent->NextLine()) text += *line + '\n';
  }
  EXPECT_EQ(text.find(" INACTIVE (generation"), std::string::npos) << text;
  EXPECT_NE(text.find("bad_"), std::string::npos) << text;
  EXPECT_LT(after, before + 16 * 1024) << "KiB";
  std::cout << sent << " datagrams in " << seconds << " s, wanted " << rate << " a second; resident " << before
            << " KiB before, " << after << " KiB after\n";
}

}  // namespace
}  // namespace nekton
