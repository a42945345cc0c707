// The command `nekton`, run as its users run it.
#include <algorithm>
#include <csignal>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/child_process.h"

namespace nekton {
namespace {

using Json = nlohmann::json;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using Words = std::vector<std::string>;

Words Command(Words arguments) {
  arguments.insert(arguments.begin(), NEKTON_COMMAND);
  return arguments;
}

Finished Nekton(Words arguments) { return RunToEnd(Command(std::move(arguments))); }

// An agent on a port of the system's choice.
class Agent : public ChildProcess {
 public:
  Agent(const std::string& name, Words more)
      : ChildProcess(Command(With({"agent", "--name", name, "--bind", "127.0.0.1:0", "--json"}, std::move(more)))) {
    started_ = Next("event", "started");
  }

  // Goes on to the next object with this member.
  Json Next(const std::string& key, const Json& value) {
    while (const std::optional<std::string> line = NextLine()) {
      Json object = Json::parse(*line, nullptr, false);
      if (object.is_discarded()) {
        ADD_FAILURE() << "no JSON: " << *line;
      } else if (object.contains(key) && object[key] == value) {
        return object;
      }
    }
    ADD_FAILURE() << "no " << key << " = " << value << "; standard error: " << errors();
    return Json::object();
  }
  Json Ask(const std::string& command) {
    Write(command + "\n");
    return Next("answer", command);
  }
  std::string address() const { return started_.value("address", ""); }
  const Json& started() const { return started_; }

 private:
  static Words With(Words words, Words more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  Json started_;
};

std::size_t Lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(CommandTest, HelpIsEverywhere) {
  for (const Words& arguments : {Words{"--help"}, Words{"help"}, Words{"agent", "--help"}, Words{"sim", "-h"},
                                 Words{"sim", "--nodes", "nonsense", "--help"}}) {
    const Finished run = Nekton(arguments);
    EXPECT_EQ(run.status, 0);
    EXPECT_THAT(run.out, StartsWith("usage: nekton "));
    EXPECT_THAT(run.err, IsEmpty());
  }
}

struct Mistake {
  Words arguments;
  std::string says;
};

TEST(CommandTest, WrongArgumentsAreOneLineAndStatus2) {
  const std::string long_label(65, 'x');
  const Mistake mistakes[] = {
      {{}, "the command is missing"},
      {{"serve"}, "unknown command \"serve\""},
      {{"agent"}, "--name is missing"},
      {{"agent", "--name"}, "--name: needs a value"},
      {{"agent", "--name", "a", "--name", "b"}, "--name: given twice"},
      {{"agent", "--name", "a", "--json=yes"}, "--json: takes no value"},
      {{"agent", "--name", "a", "--colour", "red"}, "\"--colour\": unknown option"},
      {{"agent", "--name", "a", "stray"}, "\"stray\": not an option"},
      {{"agent", "--name", "with blank"}, "name = \"with blank\""},
      {{"agent", "--name", "a", "--label", long_label}, "must not be longer than 64 bytes"},
      {{"agent", "--name", "a", "--bind", "nowhere"}, "bind = \"nowhere\""},
      {{"agent", "--name", "a", "--join", "host"}, "seeds[0] = \"host\""},
      {{"agent", "--name", "a", "--tag", "novalue"}, "must be KEY=VALUE"},
      {{"agent", "--name", "a", "--tag", "k=1", "--tag", "k=2"}, "key given twice"},
      {{"agent", "--name", "a", "--generation", "0"}, "--generation \"0\""},
      {{"agent", "--name", "a", "--join-timeout", "soon"}, "--join-timeout \"soon\""},
      {{"agent", "--name", "a", "--profile", "moon"}, "--profile \"moon\": no such profile"},
      {{"agent", "--name", "a", "--detector", "psi"}, "no such detector"},
      {{"sim", "--nodes", "1"}, "--nodes \"1\": must be a whole number from 2 to 10000"},
      {{"sim", "--loss", "1.5"}, "--loss \"1.5\": must be a probability"},
      {{"sim", "--seconds", "0"}, "--seconds: must be above 0"},
      {{"sim", "--kill", "3"}, "must be ID@T"},
      {{"sim", "--pause", "3@5s"}, "must be ID@T+D"},
      {{"sim", "--profile", "mesh", "--nodes", "65"}, "profile mesh has at most 64 members"},
      {{"sim", "--bands"}, "--bands: needs --profile mesh"},
      {{"sim", "--profile", "mesh", "--runs", "5"}, "--runs: is of --bands"},
      {{"sim", "--profile", "pair", "--nodes", "3"}, "profile pair has at most 2 members"},
      {{"sim", "--profile", "mesh", "--runs", "0"}, "--runs \"0\""},
      {{"sim", "--nodes", "3", "--kill", "3@5s"}, "--kill 3@...: there is no such member"},
      {{"sim", "--seconds", "5", "--leave", "1@5s"}, "the run has ended by then"},
      {{"sim", "--seconds", "5", "--warmup", "5s"}, "--warmup: must be below --seconds"},
  };
  for (const Mistake& mistake : mistakes) {
    const Finished run = Nekton(mistake.arguments);
    EXPECT_EQ(run.status, 2) << mistake.says;
    EXPECT_THAT(run.err, HasSubstr(mistake.says));
    EXPECT_EQ(Lines(run.err), 1U) << run.err;
    EXPECT_THAT(run.out, IsEmpty()) << mistake.says;
  }
}

TEST(AgentTest, TwoFindEachOther) {
  Agent alpha("alpha", {});
  Agent beta("beta", {"--join", alpha.address(), "--tag", "role=db", "--generation", "17"});
  EXPECT_EQ(beta.started()["generation"], 17);
  const Json joined = alpha.Next("event", "joined");
  EXPECT_EQ(joined["name"], "beta");
  EXPECT_EQ(joined["address"], beta.address());
  EXPECT_EQ(joined["generation"], 17);
  EXPECT_EQ(joined["tags"], Json({{"role", "db"}}));
  EXPECT_EQ(joined["observer"], "alpha");
  EXPECT_THAT(joined["time"].get<std::string>(), ContainsRegex("^20..-..-..T..:..:..\\.......Z$"));
  const Json result = beta.Next("event", "join_result");
  EXPECT_EQ(result["result"], "OK");
  EXPECT_EQ(result["other_address"], alpha.address());
}

TEST(AgentTest, WatchesAMember) {
  Agent alpha("alpha", {});
  Agent beta("beta", {"--join", alpha.address()});
  alpha.Next("event", "joined");
  for (const char* wrong : {"watch", "watch beta", "watch beta 100", "watch beta x 3", "watch beta 100 3 y"}) {
    alpha.Write(std::string(wrong) + "\n");
    EXPECT_THAT(alpha.Next("answer", "watch").value("message", ""), HasSubstr("NAME MS LEVEL"));
  }
  alpha.Write("watch beta 5 3\n");
  EXPECT_EQ(alpha.Next("answer", "watch")["result"], "INVALID_ARGUMENT");
  alpha.Write("watch beta 20 3 8\n");
  EXPECT_EQ(alpha.Next("answer", "watch")["result"], "OK");
  alpha.Write("level beta\n");
  EXPECT_GE(alpha.Next("answer", "level").value("level", -1.0), 0);
  alpha.Write("level nobody\n");
  EXPECT_EQ(alpha.Next("answer", "level")["result"], "NOT_FOUND");
  alpha.Write("unwatch beta\n");
  EXPECT_EQ(alpha.Next("answer", "unwatch")["result"], "OK");
}

TEST(AgentTest, AnswersCommands) {
  Agent alpha("alpha", {});
  Agent beta("beta", {"--join", alpha.address()});
  alpha.Next("event", "joined");
  const Json members = alpha.Ask("members");
  EXPECT_EQ(members["active"], 2);
  ASSERT_EQ(members["members"].size(), 2U);
  EXPECT_EQ(members["members"][0]["name"], "alpha");
  EXPECT_EQ(members["members"][0]["self"], true);
  EXPECT_EQ(members["members"][1]["name"], "beta");
  EXPECT_EQ(members["members"][1]["status"], "ACTIVE");
  alpha.Write("explain beta\n");
  const Json why = alpha.Next("answer", "explain");
  EXPECT_EQ(why["member"], "beta");
  EXPECT_EQ(why["explanation"]["state"], "ACTIVE");
  EXPECT_EQ(why["explanation"]["recorded"], false);
  alpha.Write("explain nobody\n");
  EXPECT_THAT(alpha.Next("answer", "explain").value("message", ""), HasSubstr("no member is called"));
  // Counters are of the last turn, and this may still be the turn of the join.
  int served = 0;
  for (int i = 0; i < 1000 && served == 0; ++i) served = alpha.Ask("counters")["counters"].value("syncs_served", -1);
  EXPECT_GE(served, 1);
  EXPECT_EQ(alpha.Ask("help")["commands"].size(), 8U);
  alpha.Write("dance\n");
  EXPECT_EQ(alpha.Next("answer", "unknown")["command"], "dance");
  alpha.Write("leave\n");
  EXPECT_EQ(alpha.Next("event", "leave_done")["heard_by"], 1);
  EXPECT_EQ(alpha.Wait(), 0);
  EXPECT_THAT(alpha.errors(), IsEmpty());
}

TEST(AgentTest, InterruptAndTerminationLeave) {
  for (const int signal : {SIGINT, SIGTERM}) {
    Agent alpha("alpha", {});
    Agent beta("beta", {"--join", alpha.address()});
    alpha.Next("event", "joined");
    beta.Next("event", "joined");
    beta.Signal(signal);
    EXPECT_EQ(beta.Next("event", "leave_done")["heard_by"], 1);
    EXPECT_EQ(beta.Wait(), 0);
    const Json left = alpha.Next("event", "left");
    EXPECT_EQ(left["name"], "beta");
    EXPECT_EQ(left["status"], "LEFT");
    EXPECT_EQ(left["before"], "ACTIVE");
  }
}

TEST(AgentTest, ASecondInterruptEndsAtOnce) {
  Agent alpha("alpha", {});
  alpha.Signal(SIGSTOP);
  alpha.Signal(SIGINT);
  alpha.Signal(SIGTERM);
  alpha.Signal(SIGCONT);  // it finds both waiting
  EXPECT_EQ(alpha.Wait(), 130);
}

// A process that was really stopped wakes up among people whom it has not heard for longer than any deadline.
TEST(AgentTest, AStoppedProcessAccusesNobodyWhenItWakes) {
  for (const char* detector : {"fixed", "phi"}) {
    SCOPED_TRACE(detector);
    const Words common = {"--profile", "local", "--detector", detector};
    Agent alpha("alpha", common);
    Agent beta("beta", Words{"--profile", "local", "--detector", detector, "--join", alpha.address()});
    Agent gamma("gamma", Words{"--profile", "local", "--detector", detector, "--join", alpha.address()});
    for (const Agent* one : {&beta, &gamma}) {
      Json joined;
      while (joined["name"] != (one == &beta ? "beta" : "gamma")) joined = alpha.Next("event", "joined");
    }
    alpha.Signal(SIGSTOP);
    EXPECT_EQ(beta.Next("event", "suspected")["name"], "alpha");
    gamma.Signal(SIGKILL);  // so that alpha has something to find out while its first rounds pass
    alpha.Signal(SIGCONT);
    bool paused = false;
    for (bool found = false; !found;) {
      const std::optional<std::string> line = alpha.NextLine();
      ASSERT_TRUE(line.has_value());
      const Json object = Json::parse(*line, nullptr, false);
      const std::string event = object.value("event", "");
      paused |= event == "paused";
      if (event == "suspected" || event == "failed") {
        EXPECT_EQ(object["name"], "gamma");
      }
      found = event == "failed";
    }
    EXPECT_TRUE(paused);
    EXPECT_EQ(alpha.Ask("members")["active"], 2);
  }
}

TEST(AgentTest, SaysThatThePortIsInUse) {
  Agent alpha("alpha", {});
  const Finished second = Nekton({"agent", "--name", "beta", "--bind", alpha.address()});
  EXPECT_EQ(second.status, 1);
  EXPECT_THAT(second.err, HasSubstr("address in use: " + alpha.address()));
  EXPECT_EQ(Lines(second.err), 1U) << second.err;
  EXPECT_THAT(second.out, IsEmpty());
}

TEST(AgentTest, SaysThatASeedBelongsToAnotherClusterAndGoesOn) {
  Agent alpha("alpha", {"--label", "blue"});
  Agent beta("beta", {"--label", "red", "--join", alpha.address()});
  const Json result = beta.Next("event", "join_result");
  EXPECT_EQ(result["result"], "FAILED_PRECONDITION");
  EXPECT_THAT(result["message"].get<std::string>(), HasSubstr("other cluster"));
  EXPECT_EQ(result["note"], "it is retried");
  EXPECT_EQ(beta.Ask("members")["active"], 1);
  EXPECT_EQ(alpha.Ask("members")["active"], 1);
}

TEST(AgentTest, GivesUpAfterTheJoinTimeout) {
  Agent alpha("alpha", {"--label", "blue"});
  const Finished run = Nekton({"agent", "--name", "beta", "--bind", "127.0.0.1:0", "--label", "red", "--join",
                               alpha.address(), "--join-timeout", "300ms"});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, AllOf(HasSubstr("not joined within --join-timeout"), HasSubstr("0.3 s")));
  EXPECT_EQ(Lines(run.err), 1U) << run.err;
}

TEST(AgentTest, ReachesASeedThatComesUpLater) {
  std::string address;
  {
    Agent first("alpha", {});
    address = first.address();
    first.Signal(SIGKILL);
    EXPECT_EQ(first.Wait(), 128 + SIGKILL);
  }
  Agent beta("beta", {"--join", address});
  const Json result = beta.Next("event", "join_result");
  EXPECT_EQ(result["result"], "UNAVAILABLE");
  EXPECT_EQ(result["note"], "it is retried");
  ChildProcess alpha(Command({"agent", "--name", "alpha", "--bind", address}));
  EXPECT_EQ(beta.Next("event", "joined")["name"], "alpha");
}

TEST(AgentTest, SaysThatASeedDoesNotResolve) {
  // No name has a part longer than 63 bytes, so nobody is asked.
  const std::string seed = std::string(64, 'x') + ":7946";
  Agent alpha("alpha", {"--join", seed});
  const Json result = alpha.Next("event", "join_result");
  EXPECT_NE(result["result"], "OK");
  EXPECT_THAT(result["message"].get<std::string>(), HasSubstr(seed));
  EXPECT_EQ(result["note"], "it is retried");
}

TEST(AgentTest, LeavesWhenNobodyReadsWhatItSays) {
  Agent alpha("alpha", {});
  const std::string pipeline =
      std::string(NEKTON_COMMAND) + " agent --name beta --bind 127.0.0.1:0 --join " + alpha.address() + " | head -n 1";
  ChildProcess beta({"/bin/sh", "-c", pipeline});
  EXPECT_TRUE(beta.LineWith("beta listens on").has_value());
  // It may have said all that it had to say before its reader was gone: gamma is one thing more.
  const Agent gamma("gamma", {"--join", alpha.address()});
  EXPECT_EQ(alpha.Next("event", "left")["name"], "beta");
}

TEST(AgentTest, SpeaksToPeople) {
  ChildProcess alpha(Command({"agent", "--name", "alpha", "--bind", "127.0.0.1:0", "--label", "blue"}));
  const auto started = alpha.NextLine();
  ASSERT_TRUE(started.has_value());
  EXPECT_THAT(*started, ContainsRegex("^ +[0-9.]+s  alpha listens on 127.0.0.1:[0-9]+ \\(profile lan, .*label blue"));
  alpha.Write("members\n");
  EXPECT_TRUE(alpha.LineWith("1 ACTIVE of 1 members").has_value());
  EXPECT_TRUE(alpha.LineWith("alpha ACTIVE at 127.0.0.1").has_value());
  alpha.Write("explain alpha\n");
  EXPECT_TRUE(alpha.LineWith("alpha is ACTIVE: nothing is held against it").has_value());
  alpha.Signal(SIGINT);
  EXPECT_TRUE(alpha.LineWith("leave done, heard by 0 members").has_value());
  EXPECT_EQ(alpha.Wait(), 0);
}

// The simulator.

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
