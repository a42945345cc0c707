// `nekton sim`, run as its users run it.
#include <map>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/nekton_command.h"

namespace nekton {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;

Json SummaryOf(const Finished& run) {
  const std::size_t end = run.out.find_last_not_of('\n');
  if (end == std::string::npos) return Json::object();
  const std::size_t begin = run.out.rfind('\n', end);
  return Json::parse(run.out.substr(begin == std::string::npos ? 0 : begin + 1), nullptr, false);
}

Json Sim(Words arguments) {
  arguments.insert(arguments.begin(), {"sim", "--json", "--quiet"});
  const Finished run = Nekton(std::move(arguments));
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(Lines(run.out), 1U);
  return SummaryOf(run);
}

TEST(SimTest, AQuietGroupCostsOnePingAndOneAck) {
  const Json run = Sim({"--nodes", "8", "--seconds", "40", "--seed", "3"});
  EXPECT_EQ(run["nodes"], 8);
  EXPECT_EQ(run["seconds"], 40.0);
  EXPECT_EQ(run["seed"], 3);
  EXPECT_NEAR(run["datagrams_per_member_period"].get<double>(), 2.0, 0.1);
  EXPECT_NEAR(run["bytes_per_member_period"].get<double>(), 52, 3);  // 28 and 24 (FORMAT.md)
  EXPECT_NEAR(run["datagrams_by_purpose"]["probe"].get<double>(), 2.0, 0.1);
  EXPECT_EQ(run["datagrams_by_purpose"]["gossip"], 0.0);
  EXPECT_TRUE(run["converged_s"].is_number());
  EXPECT_EQ(run["converged_at_end"], true);
  EXPECT_GT(run["events_per_second"], 0);
  for (const char* none : {"first_suspect_s", "last_confirm_s"}) {
    ASSERT_TRUE(run.contains(none));
    EXPECT_TRUE(run[none].is_null());
  }
  EXPECT_EQ(run["false_suspicions"], 0);
  EXPECT_EQ(run["false_inactive"], 0);
  EXPECT_THAT(run["fingerprint"].get<std::string>(), ContainsRegex("^[0-9a-f]{16}$"));
}

TEST(SimTest, TheSeedDecidesAll) {
  const Words same = {"--nodes", "8", "--seconds", "20", "--loss", "0.1", "--kill", "3@8s", "--seed"};
  const auto run = [&](const char* seed) {
    Words arguments = same;
    arguments.emplace_back(seed);
    return Sim(arguments);
  };
  const Json first = run("7");
  EXPECT_EQ(run("7")["fingerprint"], first["fingerprint"]);
  EXPECT_EQ(run("7")["last_confirm_s"], first["last_confirm_s"]);
  EXPECT_NE(run("8")["fingerprint"], first["fingerprint"]);
}

TEST(SimTest, AKillIsMeasuredFromTheKill) {
  for (const char* how : {"--kill", "--silent-kill"}) {
    const Json run = Sim({"--nodes", "8", "--seconds", "60", how, "n3@20s"});
    ASSERT_EQ(run["kills"].size(), 1U);
    const Json& kill = run["kills"][0];
    EXPECT_EQ(kill["id"], 3);
    EXPECT_EQ(kill["at_s"], 20.0);
    EXPECT_EQ(kill["others"], 7);
    EXPECT_EQ(kill["suspected_by"], 7);
    EXPECT_EQ(kill["confirmed_by"], 7);
    ASSERT_TRUE(run["first_suspect_s"].is_number());
    ASSERT_TRUE(run["last_confirm_s"].is_number());
    EXPECT_GT(run["first_suspect_s"], 0.0);
    EXPECT_LT(run["first_suspect_s"], run["last_confirm_s"]);
    EXPECT_LT(run["last_confirm_s"], 30.0);
    EXPECT_EQ(run["false_suspicions"], 0);
    EXPECT_EQ(run["converged_at_end"], true);
  }
}

TEST(SimTest, APauseIsNoFalseSuspicionAndALeaveNone) {
  const Json run = Sim({"--nodes", "8", "--seconds", "60", "--pause", "2@20s+3s", "--leave", "5@40s"});
  EXPECT_TRUE(run["kills"].empty());
  EXPECT_TRUE(run["last_confirm_s"].is_null());
  EXPECT_EQ(run["paused_inactive"], 0);
  EXPECT_EQ(run["false_suspicions"], 0);
  EXPECT_EQ(run["false_inactive"], 0);
  EXPECT_EQ(run["converged_at_end"], true);
}

TEST(SimTest, PrintsEventsAndActionsInTheirOrder) {
  const Finished run = Nekton({"sim", "--json", "--nodes", "5", "--seconds", "40", "--kill", "2@10s", "--restart",
                               "2@25s", "--leave", "4@30s"});
  ASSERT_EQ(run.status, 0) << run.err;
  std::map<std::string, int> seen;
  double last = 0;
  std::istringstream lines(run.out);
  for (std::string line; std::getline(lines, line);) {
    const Json object = Json::parse(line, nullptr, false);
    ASSERT_FALSE(object.is_discarded()) << line;
    if (object.contains("summary")) continue;
    EXPECT_GE(object["at_s"], last);
    last = object["at_s"];
    if (object.contains("action")) ++seen["action " + object["action"].get<std::string>()];
    if (object.contains("event")) ++seen[object["event"].get<std::string>()];
  }
  EXPECT_EQ(seen["action kill"], 1);
  EXPECT_EQ(seen["action restart"], 1);
  EXPECT_EQ(seen["action leave"], 1);
  EXPECT_EQ(seen["suspected"], 4);
  EXPECT_EQ(seen["failed"], 4);
  EXPECT_EQ(seen["restarted"], 4);
  EXPECT_EQ(seen["left"], 4);
  EXPECT_EQ(seen["leave_done"], 1);
  EXPECT_EQ(SummaryOf(run)["summary"], true);
}

TEST(SimTest, AnActionThatMakesNoSenseSaysSo) {
  const Finished run = Nekton({"sim", "--nodes", "3", "--seconds", "10", "--kill", "1@2s", "--leave", "1@5s"});
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.out, HasSubstr("*** leave n1: n1 does not run"));
}

TEST(SimTest, ALargeGroupGetsADigestUnlessAskedFor) {
  const Words arguments = {"sim", "--nodes", "51", "--seconds", "30"};
  const Finished digest = Nekton(arguments);
  EXPECT_EQ(digest.status, 0);
  EXPECT_THAT(digest.out, HasSubstr("all: joined "));
  EXPECT_LT(Lines(digest.out), 50U);
  Words all = arguments;
  all.emplace_back("--events");
  EXPECT_GT(Lines(Nekton(all).out), 51U * 50U);  // each sees each join
}

TEST(SimTest, AMeshCostsOneHeartbeatToEveryOther) {
  const Json run = Sim({"--profile", "mesh", "--nodes", "8", "--seconds", "3600", "--seed", "3"});
  EXPECT_NEAR(run["datagrams_per_member_period"].get<double>(), 7.0, 0.1);
  EXPECT_NEAR(run["bytes_per_member_period"].get<double>(), 7 * 32, 8);  // FORMAT.md
  EXPECT_NEAR(run["datagrams_by_purpose"]["heartbeat"].get<double>(), 7.0, 0.1);
  EXPECT_EQ(run["datagrams_by_purpose"]["probe"], 0.0);
  EXPECT_EQ(run["false_suspicions"], 0);
}

// What the source promises: not one run of a thousand may leave its band.
TEST(SimTest, TheBandsOfTheMeshHold) {
  // Among two, with the two-way gate besides.
  const Finished two = Nekton({"sim", "--profile", "mesh", "--bands", "--nodes", "2", "--runs", "1000"});
  EXPECT_EQ(two.status, 0) << two.out;
  EXPECT_THAT(two.out, HasSubstr("every run is within its bands"));
  const Finished run = Nekton({"sim", "--profile", "mesh", "--bands", "--runs", "1000", "--json"});
  EXPECT_EQ(run.status, 0) << run.out;
  EXPECT_EQ(Lines(run.out), 7U);
  std::istringstream lines(run.out);
  for (std::string line; std::getline(lines, line);) {
    const Json band = Json::parse(line, nullptr, false);
    ASSERT_FALSE(band.is_discarded()) << line;
    if (band.contains("summary")) {
      EXPECT_EQ(band["held"], true);
      continue;
    }
    EXPECT_EQ(band["times"], 2000) << line;  // two observers
    EXPECT_TRUE(band["outside_seeds"].empty()) << line;
    EXPECT_GE(band["min_s"], band["band_s"][0]) << line;
    EXPECT_LE(band["max_s"], band["band_s"][1]) << line;
  }
}

// Under phi, silence is told from the rhythm and sooner than HB's 30 s: the bands are not its own, and it shows.
TEST(SimTest, ARunOutsideItsBandFailsWithItsSeed) {
  const Finished run =
      Nekton({"sim", "--profile", "mesh", "--detector", "phi", "--bands", "--runs", "2", "--seed", "9"});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.out, HasSubstr("ideal raw: 2 outside its band, seeds 9 10"));
  EXPECT_THAT(run.out, HasSubstr("NOT every run is within its bands"));
}

TEST(SimTest, ShowsProgressWhenAsked) {
  const Finished run = Nekton({"sim", "--nodes", "3", "--seconds", "5", "--quiet", "--progress"});
  EXPECT_THAT(run.err, HasSubstr("\r"));
  EXPECT_THAT(Nekton({"sim", "--nodes", "3", "--seconds", "5", "--quiet"}).err, IsEmpty());
}

}  // namespace
}  // namespace nekton
