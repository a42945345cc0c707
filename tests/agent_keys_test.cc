// The keys of a group of three processes, changed from one of them.
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/child_process.h"
#include "transport/seal_key.h"

namespace nekton {
namespace {

using testing::HasSubstr;

TEST(AgentKeysTest, AKeyIsRotatedAtAllMembersFromOne) {
  std::vector<std::unique_ptr<ChildProcess>> agents;
  std::vector<std::string> files;
  std::string seed;
  Keyring first;
  ASSERT_TRUE(first.Add(SealKey::Generate()).ok());
  const std::string old_id = KeyIdText(first.primary().id());
  for (int i = 0; i < 3; ++i) {
    files.push_back(absl::StrCat(testing::TempDir(), "nekton_agent_keys_", getpid(), "_", i));
    ASSERT_TRUE(SaveKeyring(files.back(), first).ok());
    std::vector<std::string> command = {NEKTON_COMMAND, "agent",       "--name",     absl::StrCat("n", i),
                                        "--bind",       "127.0.0.1:0", "--profile",  "local",
                                        "--sealing",    "require",     "--key-file", files.back()};
    if (!seed.empty()) command.insert(command.end(), {"--join", seed});
    agents.push_back(std::make_unique<ChildProcess>(command));
    const auto line = agents.back()->LineWith("listens on ");
    ASSERT_TRUE(line.has_value()) << agents.back()->errors();
    if (seed.empty()) {
      const std::size_t at = line->find("listens on ") + 11;
      seed = line->substr(at, line->find_first_of(" ,", at) - at);
    } else {
      ASSERT_TRUE(agents[0]->LineWith(absl::StrCat("n", i, " (generation")).has_value());
    }
  }
  ASSERT_TRUE(agents[1]->LineWith("n2 (generation").has_value()) << "they are asked for all others, too";
  const auto ask = [&](std::size_t agent, const std::string& words) {
    agents[agent]->Write(words + "\n");
    return agents[agent]->LineWith("keys: ").value_or("nothing");
  };
  EXPECT_THAT(ask(0, "keys"), HasSubstr(old_id));
  EXPECT_THAT(ask(0, "keys use 12345678"), HasSubstr("does not have it"));
  EXPECT_THAT(ask(0, absl::StrCat("keys remove ", old_id)), HasSubstr("seals with it"));
  const std::string added = ask(1, "keys new");
  ASSERT_THAT(added, HasSubstr("done at 3 members"));
  const std::size_t at = added.find("add ") + 4;
  const std::string new_id = added.substr(at, 8);
  EXPECT_THAT(ask(2, absl::StrCat("keys use ", new_id)), HasSubstr("done at 3 members"));
  EXPECT_THAT(ask(0, absl::StrCat("keys remove ", old_id)), HasSubstr("done at 3 members"));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_THAT(ask(i, "keys"), HasSubstr(new_id));
    const auto ring = LoadKeyring(files[i]);
    ASSERT_TRUE(ring.ok()) << ring.status();
    EXPECT_EQ(ring->keys().size(), 1U);
    EXPECT_EQ(KeyIdText(ring->primary().id()), new_id);
    unlink(files[i].c_str());
  }
  for (auto& agent : agents) {
    agent->Write("leave\n");
    EXPECT_EQ(agent->Wait(), 0);
  }
}

}  // namespace
}  // namespace nekton
