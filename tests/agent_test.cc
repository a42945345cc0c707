// The command `nekton`, run as its users run it.
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/nekton_command.h"

namespace nekton {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
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
    return Next("answer", command.substr(0, command.find(' ')));
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
      {{"agent", "--name", "a", "--bootstrap-expect", "few"}, "--bootstrap-expect \"few\""},
      {{"agent", "--name", "a", "--standalone", "--join", "10.0.0.1:1"}, "a standalone node joins nobody"},
      {{"agent", "--name", "a", "--standalone", "--bootstrap-expect", "2"}, "a standalone node is alone for good"},
      {{"agent", "--name", "a", "--speed", "9"}, "--speed \"9\": must be from 1 to 8"},
      {{"agent", "--name", "a", "--store", "x"}, "--authority is missing"},
      {{"agent", "--name", "a", "--authority", "a"},
       "--authority-key public key \"\": must have 64 hexadecimal digits"},
      {{"agent", "--name", "a", "--authority", "b", "--authority-key", std::string(64, '0'), "--store", "x"},
       "--authority-secret and --store belong together"},
      {{"agent", "--name", "a", "--authority", "a", "--authority-key", std::string(64, '0'), "--authority-secret",
        "/no/key", "--store", "x"},
       "key file \"/no/key\": No such file"},
      {{"agent", "--name", "a", "--authority", "b", "--authority-key", std::string(64, '0'), "--capabilities", "/none"},
       "--capabilities \"/none\": cannot be read"},
      {{"keygen"}, "--out is missing"},
      {{"capability", "--key", "k", "--object", "a b"}, "--object \"a b\""},
      {{"capability", "--key", "k", "--object", "a", "--operations", "stat,eat"}, "must be stat, commit or both"},
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

TEST(AgentTest, ChangesTagsAndBroadcasts) {
  Agent alpha("alpha", {});
  Agent beta("beta", {"--join", alpha.address()});
  alpha.Next("event", "joined");
  for (const char* wrong : {"tag", "tag x", "tag =x"}) {
    alpha.Write(std::string(wrong) + "\n");
    EXPECT_THAT(alpha.Next("answer", "tag").value("message", ""), HasSubstr("KEY=VALUE"));
  }
  alpha.Write("untag\n");
  EXPECT_THAT(alpha.Next("answer", "untag").value("message", ""), HasSubstr("untag KEY"));
  alpha.Write("broadcast\n");
  EXPECT_THAT(alpha.Next("answer", "broadcast").value("message", ""), HasSubstr("KEY TEXT"));
  beta.Write("tag role=a=b c\n");
  EXPECT_EQ(beta.Next("answer", "tag")["result"], "OK");
  EXPECT_EQ(alpha.Next("event", "updated")["tags"], Json({{"role", "a=b c"}}));
  beta.Write("untag role\n");
  EXPECT_EQ(beta.Next("answer", "untag")["key"], "role");
  EXPECT_EQ(alpha.Next("event", "updated")["tags"], Json::object());
  beta.Write("broadcast config two words\n");
  EXPECT_EQ(beta.Next("answer", "broadcast")["result"], "OK");
  const Json told = alpha.Next("event", "broadcast");
  EXPECT_EQ(told["origin"], "beta");
  EXPECT_EQ(told["key"], "config");
  EXPECT_EQ(told["text"], "two words");
  beta.Write("broadcast " + std::string(65, 'k') + "\n");
  EXPECT_EQ(beta.Next("answer", "broadcast")["result"], "INVALID_ARGUMENT");
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
  EXPECT_EQ(alpha.Ask("help")["commands"].size(), 18U);
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

TEST(AgentTest, WaitsForAsManyAsItExpects) {
  Agent alpha("alpha", {});
  const Finished run = Nekton({"agent", "--name", "beta", "--bind", "127.0.0.1:0", "--join", alpha.address(),
                               "--bootstrap-expect", "3", "--join-timeout", "2s"});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, AllOf(HasSubstr(" of 3 members are there after 2 s"), HasSubstr(alpha.address() + ": joined")));
}

TEST(AgentTest, StandsAlone) {
  Agent alpha("alpha", {"--standalone", "--join-timeout", "60s"});
  const Json members = alpha.Ask("members");
  EXPECT_EQ(members["active"], 1);
  EXPECT_EQ(members["reachable"], 1);
  EXPECT_EQ(members["known"], 1);
  EXPECT_EQ(members["isolated"], false);
  alpha.Signal(SIGTERM);
  EXPECT_EQ(alpha.Next("event", "leave_done")["result"], "OK");
  EXPECT_EQ(alpha.Wait(), 0);
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

Words WithCommand(const std::string& command, Words words) {
  words.insert(words.begin(), command);
  return words;
}

// A directory of its own with an authority's key and rights to two objects.
class AuthorityTest : public testing::Test {
 protected:
  AuthorityTest() {
    std::string name = testing::TempDir() + "nekton-agent-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) std::abort();
    directory_ = name;
    const Finished made = Nekton({"keygen", "--out", File("key")});
    key_ = made.out.substr(0, made.out.find('\n'));
    std::ofstream rights(File("rights"));
    for (const char* object : {"ledger", "index"}) {
      rights << Nekton({"capability", "--key", File("key"), "--object", object}).out;
    }
  }
  ~AuthorityTest() override {
    for (const char* file : {"key", "rights", "view.db", "view.db-wal"}) std::filesystem::remove(File(file));
    std::filesystem::remove(directory_);
  }
  std::string File(const std::string& name) const { return directory_ + "/" + name; }
  Words Root(Words more = {}) const {
    Words words = {"--authority", "alpha",   "--authority-key", key_,
                   "--speed",     "4",       "--evidence",      "--authority-secret",
                   File("key"),   "--store", File("view.db"),   "--capabilities",
                   File("rights")};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  std::string directory_;
  std::string key_;
};

TEST_F(AuthorityTest, KeysAreSecretAndNeverOverwritten) {
  EXPECT_THAT(key_, testing::MatchesRegex("[0-9a-f]{64}"));
  struct stat info {};
  ASSERT_EQ(stat(File("key").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  const Finished again = Nekton({"keygen", "--out", File("key")});
  EXPECT_EQ(again.status, 1);
  EXPECT_THAT(again.err, HasSubstr("File exists"));
  chmod(File("key").c_str(), 0644);
  const Finished open = Nekton({"capability", "--key", File("key"), "--object", "ledger"});
  EXPECT_EQ(open.status, 1);
  EXPECT_THAT(open.err, HasSubstr("others can read it"));
}

TEST_F(AuthorityTest, AnswersRoutesAndHomesAndUsesObjects) {
  Agent alpha("alpha", Root());
  const Json joined = alpha.Next("evidence", "joined");
  EXPECT_THAT(
      joined["row"].get<std::string>(),
      testing::MatchesRegex("mesh-fail: joined node=alpha epoch=1 members=1 digest=[0-9a-f]{32} snapshot=alpha"));
  const Json homes = alpha.Ask("homes");
  EXPECT_EQ(homes["epoch"], 1);
  EXPECT_EQ(homes["members"], Json({"alpha"}));
  ASSERT_EQ(homes["homes"].size(), 2U);
  EXPECT_EQ(homes["homes"][0]["name"], "ledger");
  EXPECT_EQ(homes["homes"][0]["home"], "alpha");
  EXPECT_EQ(homes["homes"][0]["state"], "active");
  EXPECT_EQ(alpha.Ask("replay ledger")["message"], "this service has committed nothing to the object");
  const Json commit = alpha.Ask("commit ledger all that follows");
  EXPECT_EQ(commit["status"], "served");
  EXPECT_EQ(commit["version"], 1);
  EXPECT_THAT(commit["row"].get<std::string>(),
              HasSubstr(" home=alpha epoch=1 attempts=1 moved=0 timeouts=0 op=commit "));
  EXPECT_EQ(alpha.Ask("get ledger")["value"], "all that follows");
  EXPECT_EQ(alpha.Ask("replay ledger")["version"], 1) << "the first answer again, and no second commit";
  EXPECT_EQ(alpha.Ask("stat index")["version"], 0);
  EXPECT_THAT(alpha.Ask("stat other")["message"].get<std::string>(), HasSubstr("needs an object of --capabilities"));
  const Json routes = alpha.Ask("routes");
  EXPECT_EQ(routes["authority"]["state"], "current");
  EXPECT_EQ(routes["authority"]["mutable"], true);
  EXPECT_EQ(routes["routes"].size(), 2U);
  EXPECT_EQ(routes["counters"]["commits"], 1);
  EXPECT_EQ(routes["counters"]["last_replay"], "replay");
  EXPECT_THAT(routes["rows"][0].get<std::string>(),
              StartsWith("mesh-route: authority state=current epoch=1 mutable=1 "));
}

TEST_F(AuthorityTest, GoesOnFromItsStoreAfterSigkill) {
  {
    Agent alpha("alpha", Root());
    alpha.Next("evidence", "joined");
    alpha.Signal(SIGKILL);
    EXPECT_EQ(alpha.Wait(), 128 + SIGKILL);
  }
  Agent again("alpha", Root());
  const Json joined = again.Next("evidence", "joined");
  EXPECT_GT(joined["epoch"], 0);
  Json homes;
  do {
    homes = again.Ask("homes");
  } while (homes["epoch"] == 1);
  EXPECT_EQ(homes["epoch"], 2) << "its new life is a step of the epoch";
}

TEST_F(AuthorityTest, SaysThatAnotherHasTheStore) {
  Agent alpha("alpha", Root());
  const Finished other = Nekton(WithCommand("agent", Root({"--name", "alpha", "--bind", "127.0.0.1:0"})));
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.err, HasSubstr("in use, perhaps by another process"));
}

TEST(AgentTest, WithoutAnAuthorityItSaysSo) {
  Agent alpha("alpha", {"--evidence"});
  EXPECT_EQ(alpha.Next("evidence", "disabled")["row"], "mesh-fail: disabled reason=config");
  for (const char* command : {"routes", "homes"}) {
    EXPECT_EQ(alpha.Ask(command)["message"], "this member has no authority (--authority)");
  }
}

}  // namespace
}  // namespace nekton
