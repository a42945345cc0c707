// The failover that corrupts nothing (examples/failover.sh), and the corruption that its fence prevents.
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

std::vector<std::string> Command(std::vector<std::string> more) {
  std::vector<std::string> command = {SourceDir() + "/examples/failover.sh", "--no-build", "--binary", NEKTON_FAILOVER};
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

Finished RunFailover(std::vector<std::string> more) { return RunToEnd(Command(std::move(more))); }

struct Shown {
  std::vector<Json> lines;
  std::vector<std::string> checks;  // that were met
  bool refused = false;
  bool went_back = false;
};

Shown Parse(const Finished& run) {
  Shown shown;
  std::istringstream lines(run.out);
  for (std::string line; std::getline(lines, line);) {
    const Json object = Json::parse(line, nullptr, false);
    EXPECT_TRUE(object.is_object()) << line;
    if (!object.is_object()) continue;
    shown.lines.push_back(object);
    if (object.value("ok", false) && object.contains("check")) shown.checks.push_back(object["check"]);
    shown.refused = shown.refused || object.value("event", "") == "refused";
    shown.went_back = shown.went_back || object.contains("past");
  }
  return shown;
}

void ExpectFailover(const std::string& backend) {
  const Finished run = RunFailover({"--json", "--backend", backend});
  if (run.status == 77) GTEST_SKIP() << run.err;
  EXPECT_EQ(run.status, 0) << run.out << run.err;
  const Shown shown = Parse(run);
  EXPECT_EQ(shown.checks.size(), 4u) << run.out;
  EXPECT_TRUE(shown.refused);
  EXPECT_FALSE(shown.went_back);
}

TEST(FailoverTest, OverSqliteTheOldLeaderIsRefused) { ExpectFailover("sqlite"); }
TEST(FailoverTest, OverEtcdTheOldLeaderIsRefused) { ExpectFailover("etcd"); }

TEST(FailoverTest, WithoutTheFenceTheTableGoesBack) {
  const Finished run = RunFailover({"--json", "--no-fence"});
  EXPECT_EQ(run.status, 0) << run.out << run.err;
  const Shown shown = Parse(run);
  EXPECT_TRUE(shown.went_back) << run.out;
  EXPECT_FALSE(shown.refused);
  EXPECT_THAT(run.out, HasSubstr("CORRUPTED"));
}

TEST(FailoverTest, WhoeverEndsItNothingIsLeft) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ExpectNothingIsLeft(Command({"--json"}), "wrote", number);
}

TEST(FailoverTest, ItExplainsItselfAndRefusesWhatItDoesNotKnow) {
  const Finished help = RunFailover({"--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.out, HasSubstr("--no-fence"));
  EXPECT_EQ(RunFailover({"--backend", "zookeeper"}).status, 2);
  EXPECT_EQ(RunFailover({"--nonsense"}).status, 2);
}

}  // namespace
}  // namespace nekton
