// The rig (examples/rig.sh): every fault, at four times the speed; what it says, and the rows that it shows.
#include <algorithm>
#include <sstream>
#include <string>
#include <utility>
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
using testing::StartsWith;
using Words = std::vector<std::string>;

struct RigRun {
  Finished finished;
  std::vector<std::pair<std::string, std::string>> rows;  // whose, and the row
  std::vector<std::string> unmet;
  Json verdict = Json::object();

  // The index of the first row of `member` that begins so, from `from` on; -1: there is none.
  int Find(const std::string& member, const std::string& begin, int from = 0) const {
    for (auto i = static_cast<std::size_t>(from); i < rows.size(); ++i) {
      if (rows[i].first == member && rows[i].second.starts_with(begin)) return static_cast<int>(i);
    }
    return -1;
  }
};

Words Command(Words more) {
  Words command = {SourceDir() + "/examples/rig.sh", "--no-build", "--binary", NEKTON_COMMAND, "--json"};
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

RigRun Rig(Words more) {
  RigRun run;
  run.finished = RunToEnd(Command(std::move(more)));
  std::istringstream lines(run.finished.out);
  for (std::string line; std::getline(lines, line);) {
    const Json object = Json::parse(line, nullptr, false);
    if (!object.is_object()) {
      ADD_FAILURE() << "no JSON: " << line;
      continue;
    }
    if (object.contains("row")) run.rows.emplace_back(object["member"], object["row"]);
    if (object.contains("check") && object["ok"] != true) run.unmet.push_back(object["check"]);
    run.verdict = object;
  }
  return run;
}

void ExpectOk(const RigRun& run, std::size_t checks) {
  EXPECT_EQ(run.finished.status, 0) << run.finished.out << run.finished.err;
  EXPECT_EQ(run.verdict.value("verdict", ""), "ok");
  EXPECT_EQ(run.verdict.value("checks", std::size_t{0}), checks) << "none is passed over";
}

// suspect, failed, removed, the fences, in this order; then back at epoch 4.
void ExpectTheSequence(const RigRun& run) {
  const int suspect = run.Find("root", "mesh-fail: suspect node=m1 epoch=2");
  const int failed = run.Find("root", "mesh-fail: failed node=m1 epoch=2", std::max(suspect, 0));
  const int removed = run.Find("root", "mesh-fail: removed node=m1 epoch=3 members=1", std::max(failed, 0));
  EXPECT_GE(suspect, 0);
  EXPECT_GT(failed, suspect);
  EXPECT_GT(removed, failed);
  EXPECT_GT(run.Find("root", "mesh-route: fence object="), failed);
  EXPECT_GT(run.Find("root", "mesh-fail: joined node=m1 epoch=4 members=2"), removed);
}

TEST(RigTest, KillPeer) {
  const RigRun run = Rig({"--fault", "kill-peer", "--speed", "4"});
  ExpectOk(run, 33);
  ExpectTheSequence(run);
}

TEST(RigTest, Partition) {
  const RigRun run = Rig({"--fault", "partition", "--speed", "4"});
  ExpectOk(run, 44);
  ExpectTheSequence(run);
  const int lost = run.Find("m1", "mesh-fail: authority state=lost epoch=2 root=root mutable=0 reads=lease");
  EXPECT_GE(lost, 0);
  EXPECT_GT(run.Find("m1", "mesh-fail: authority state=restored epoch=4 root=root mutable=1"), lost);
  EXPECT_EQ(run.Find("m1", "mesh-fail: removed node=root"), -1);
}

TEST(RigTest, NoPeer) {
  const RigRun run = Rig({"--fault", "no-peer", "--speed", "4"});
  ExpectOk(run, 5);
  EXPECT_GE(run.Find("m1", "mesh-fail: disabled reason=config"), 0);
}

TEST(RigTest, WrongAuthority) {
  const RigRun run = Rig({"--fault", "wrong-authority", "--speed", "4"});
  ExpectOk(run, 7);
  EXPECT_GE(run.Find("m1", "mesh-fail: view-refused"), 0);
  EXPECT_EQ(run.Find("m1", "mesh-fail: joined"), -1);
}

TEST(RigTest, NoRoute) {
  const RigRun run = Rig({"--fault", "no-route", "--speed", "4"});
  ExpectOk(run, 7);
  EXPECT_GE(run.Find("m1", "mesh-route: result"), 0);
}

// All are candidates: the root is killed, and another member follows at a higher epoch; `backend` keeps the seat.
void KillRoot(const std::string& backend) {
  const RigRun run = Rig({"--fault", "kill-root", "--speed", "4", "--backend", backend});
  if (run.finished.status == 77) GTEST_SKIP() << run.finished.err;
  ExpectOk(run, 19);
  const int first = run.Find("root", "mesh-fail: seat state=taken epoch=0 token=1");
  EXPECT_GE(first, 0);
  const int m1 = run.Find("m1", "mesh-fail: seat state=taken", std::max(first, 0));
  const int m2 = run.Find("m2", "mesh-fail: seat state=taken", std::max(first, 0));
  EXPECT_TRUE((m1 >= 0) != (m2 >= 0)) << "one of them, and one alone";
  for (const std::string member : {"m1", "m2"}) {
    EXPECT_GT(run.Find(member, "mesh-fail: removed node=root"), std::max(m1, m2)) << member;
  }
}
TEST(RigTest, KillRootOverSqlite) { KillRoot("sqlite"); }
TEST(RigTest, KillRootOverEtcd) { KillRoot("etcd"); }

// A group that probes, of more than two.
TEST(RigTest, PartitionOfThree) {
  const RigRun run = Rig({"--fault", "partition", "--speed", "4", "--members", "3"});
  ExpectOk(run, 40);
}

// The rig sees what is missing.
TEST(RigTest, AKindOfRowsThatIsMissingFailsTheRun) {
  const RigRun run = Rig({"--fault", "kill-peer", "--speed", "4", "--ignore", "fence"});
  EXPECT_EQ(run.finished.status, 1);
  EXPECT_EQ(run.verdict.value("verdict", ""), "not ok");
  ASSERT_EQ(run.unmet.size(), 1U);
  EXPECT_THAT(run.unmet[0], StartsWith("one fence for each"));
}

TEST(RigTest, AnAgentThatCannotRunFailsTheRun) {
  const Finished run =
      RunToEnd({SourceDir() + "/examples/rig.py", "--json", "--fault", "no-peer", "--binary", "/bin/false"});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.out, HasSubstr("\"verdict\": \"not ok\""));
}

TEST(RigTest, WhoeverEndsItNothingIsLeft) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    ExpectNothingIsLeft(Command({"--fault", "kill-peer"}), "\"row\"", number);
  }
}

TEST(RigTest, WrongArguments) {
  const std::string rig = SourceDir() + "/examples/rig.sh";
  EXPECT_EQ(RunToEnd({rig, "--help"}).status, 0);
  for (const Words& wrong : {Words{}, Words{"--fault", "fire"}, Words{"--fault", "no-peer", "--speed", "9"},
                             Words{"--fault", "no-peer", "--members", "1"}, Words{"--fault"}, Words{"--colour"}}) {
    Words command = {rig, "--no-build"};
    command.insert(command.end(), wrong.begin(), wrong.end());
    EXPECT_EQ(RunToEnd(command).status, 2);
  }
}

}  // namespace
}  // namespace nekton
