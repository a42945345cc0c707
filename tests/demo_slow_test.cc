// The demonstration (examples/demo.sh): every step of it, from what it prints as JSON.
#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/child_process.h"
#include "tests/nothing_left.h"
#include "tests/source_dir.h"

namespace nekton {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using Names = std::set<std::string>;

class DemoTest : public testing::Test {
 protected:
  static std::vector<std::string> Command(std::vector<std::string> more) {
    std::vector<std::string> command = {SourceDir() + "/examples/demo.sh", "--no-build", "--binary", NEKTON_COMMAND};
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }

  void Run(int nodes) {
    const Finished run = RunToEnd(Command({"--json", "--nodes", std::to_string(nodes)}));
    EXPECT_EQ(run.status, 0) << run.out << run.err;
    std::istringstream lines(run.out);
    for (std::string line; std::getline(lines, line);) {
      const Json object = Json::parse(line, nullptr, false);
      ASSERT_TRUE(object.is_object()) << line;
      if (object.contains("step") && object.contains("ok")) steps_[object["step"]] = object;
      if (object.contains("observation")) observations_.push_back(object);
      last_ = object;
    }
  }

  // Who observed `kind` of `member` in a step.
  Names Observers(const std::string& step, const std::string& kind, const std::string& member) const {
    Names names;
    for (const Json& o : observations_) {
      if (o["step"] == step && o["observation"] == kind && o.value("member", "") == member) names.insert(o["observer"]);
    }
    return names;
  }
  int Count(const std::string& kind) const {
    return static_cast<int>(std::count_if(observations_.begin(), observations_.end(),
                                          [&](const Json& o) { return o["observation"] == kind; }));
  }

  std::map<std::string, Json> steps_;
  std::vector<Json> observations_;
  Json last_;
};

TEST_F(DemoTest, EveryStepIsMet) {
  Run(5);
  ASSERT_EQ(steps_.size(), 6U);
  for (const auto& [name, step] : steps_) {
    EXPECT_EQ(step["ok"], true) << name << ": " << step;
    EXPECT_FALSE(step["expectations"].empty()) << name;
  }
  EXPECT_EQ(last_["summary"], true);
  EXPECT_EQ(last_["ok"], true);

  EXPECT_EQ(steps_["form"]["agents"].size(), 5U);

  const Names survivors = {"alpha", "gamma", "delta", "epsilon"};
  EXPECT_EQ(steps_["kill"]["member"], "beta");
  EXPECT_EQ(Observers("kill", "suspected", "beta"), survivors);
  EXPECT_EQ(Observers("kill", "failed", "beta"), survivors);
  EXPECT_LT(steps_["kill"]["first_suspect_s"], steps_["kill"]["last_inactive_s"]);
  EXPECT_EQ(Count("failed"), 4);  // in the whole run
  for (const Json& o : observations_) {
    if (o["observation"] != "failed") continue;
    EXPECT_THAT(o["why"].get<std::string>(), HasSubstr("accused by"));
  }

  EXPECT_EQ(Observers("restart", "restarted", "beta"), survivors);
  EXPECT_GT(steps_["restart"]["generation"], steps_["restart"]["generation_before"]);
  EXPECT_LE(steps_["restart"]["active_s"], 3.0);

  EXPECT_EQ(steps_["freeze"]["member"], "gamma");
  EXPECT_EQ(Observers("freeze", "suspected", "gamma"), Observers("freeze", "recovered", "gamma"));
  for (const Json& o : observations_) {
    if (o["step"] != "freeze" || o["observation"] != "suspected") continue;
    EXPECT_NE(o["observer"], "gamma");
  }

  EXPECT_EQ(steps_["leave"]["member"], "epsilon");
  EXPECT_EQ(Observers("leave", "left", "epsilon"), (Names{"alpha", "beta", "gamma", "delta"}));
  EXPECT_EQ(steps_["leave"]["status"], 0);
}

TEST_F(DemoTest, TheSmallestGroup) {
  Run(3);
  EXPECT_EQ(steps_.size(), 6U);
  EXPECT_EQ(last_["ok"], true) << last_;
}

TEST_F(DemoTest, AnAgentThatCannotRunFailsTheDemonstration) {
  const Finished run = RunToEnd({SourceDir() + "/examples/demo.py", "--json", "--binary", "/bin/true"});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.out, HasSubstr("\"ok\": false"));
}

TEST_F(DemoTest, WrongArguments) {
  EXPECT_EQ(RunToEnd(Command({"--help"})).status, 0);
  const std::vector<std::vector<std::string>> mistakes = {
      {"--detector", "psi"}, {"--nodes", "2"}, {"--nodes", "21"}, {"--nodes"}, {"--colour"}};
  for (const std::vector<std::string>& wrong : mistakes) EXPECT_EQ(RunToEnd(Command(wrong)).status, 2) << wrong[0];
}

TEST_F(DemoTest, WhoeverEndsItNothingIsLeft) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ExpectNothingIsLeft(Command({"--json"}), "observation", number);
}

}  // namespace
}  // namespace nekton
